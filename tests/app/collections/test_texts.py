from __future__ import annotations

import bz2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.collections.passages import passages_of
from app.collections.texts import BLOCK, DamagedBlock, blocks_of, unpack
from tests.app.collections.test_passages import TEXTS

PLAIN = TEXTS.map(lambda text: text.encode("utf-8", "replace").decode())


@given(PLAIN, st.lists(st.integers(0, 9_000), max_size=5, unique=True).map(sorted))
def test_blocks_give_back_the_text_and_its_passages(text: str, pages: list[int]) -> None:
    passages = passages_of(text, pages=pages)
    found = [each for _, block in blocks_of(text, passages) for each in unpack(block)]
    assert [passage for passage, _ in found] == passages
    assert "".join(part for _, part in found) == (text if passages else "")


def test_a_long_text_has_several_blocks_that_can_be_read_alone() -> None:
    text = "\n\n".join(f"Paragraph {n}. " + "word " * 200 for n in range(3 * BLOCK))
    passages = passages_of(text)
    blocks = dict(blocks_of(text, passages))
    assert list(blocks) == list(range(0, len(passages), BLOCK))
    passage, part = unpack(blocks[BLOCK])[0]
    assert passage == passages[BLOCK]
    assert part.strip() == text[passage.begin : passage.end]


@pytest.mark.parametrize(
    "change", [lambda raw: raw[:-9], lambda _: b"", lambda _: bz2.compress(b"\x93\x01"), bytes.upper]
)
def test_a_damaged_block_is_noticed(change) -> None:
    text = "word " * 400
    ((_, block),) = blocks_of(text, passages_of(text))
    with pytest.raises(DamagedBlock):
        unpack(change(block))
