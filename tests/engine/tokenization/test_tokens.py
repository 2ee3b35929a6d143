"""Functions on lists of token ids."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.tokenization.tokens import common_prefix, tokens_that_spell


@given(st.lists(st.integers(0, 2)), st.lists(st.integers(0, 2)))
def test_common_prefix(a, b):
    n = common_prefix(a, b)
    assert common_prefix(a, tuple(b)) == n
    assert a[:n] == b[:n]
    assert n in (len(a), len(b)) or a[n] != b[n]


def test_tokens_that_spell_a_text() -> None:
    pieces = [b"a", "ä".encode()[:1], "ä".encode()[1:], b"", b"bc"]

    def spelled(text: str) -> list[int] | None:
        return tokens_that_spell(range(5), text.encode(), pieces.__getitem__)

    assert spelled("a") == [0]
    assert spelled("aä") == [0, 1, 2]
    assert spelled("aäbc") == [0, 1, 2, 3, 4]
    assert spelled("aäb") is None
    assert spelled("b") is None
    assert spelled("aäbcd") is None
