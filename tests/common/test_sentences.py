"""Tests that sentences are worded in every language and survive being sent and stored."""

from __future__ import annotations

import math
from pathlib import Path
from string import Formatter

import msgspec
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from common.messages import MESSAGES
from common.sentences import LONGEST_VALUE, Sentence, decode_sentence, encode_sentence, join_sentences

GERMAN = {
    "There is no file {path}. It may have been moved or renamed.": "Es gibt keine Datei {path}.",
    "This chat needs {needed} tokens, the context holds {n_ctx:,}. {first} {other}": "{needed}/{n_ctx} {other} {first}",
    "more than {tokens:,}": "mehr als {tokens}",
    "Leave out the oldest {n} turns,": "ohne die ältesten {n}",
    "Leave out the oldest turn,": "ohne die älteste",
    "Shorten the message,": "{nonsense} kürzer",
}


def german(text: str, _n: int | None = None, /) -> str | None:
    return GERMAN.get(text)


def too_long(first: Sentence) -> Sentence:
    needed, other = Sentence.of("turns.more_than", tokens=32768), Sentence.of("turns.not_trained")
    return Sentence.of("prompt_too_long.chat", needed=needed, n_ctx=4096, first=first, other=other)


def test_english_comes_from_the_table() -> None:
    path = Path("/m/a b.gguf")
    sentence = Sentence.of("no_such_file.model", path=path)
    assert sentence.code == "no_such_file"
    assert str(sentence) == f"There is no file {path}. It may have been moved or renamed."
    assert sentence.worded(german) == f"Es gibt keine Datei {path}."


def test_a_sentence_of_parts_is_worded_in_one_language_with_its_numbers() -> None:
    said = too_long(Sentence.of("turns.leave_out", n=3))
    assert str(said) == (
        "This chat needs more than 32,768 tokens, the context holds 4,096. Leave out the oldest 3 turns, or start a "
        "new chat; the model was not trained for a larger context."
    )
    german_one = too_long(Sentence.of("turns.leave_out", n=1)).worded(german)
    assert "mehr als 32768/4096 or start" in said.worded(german)
    assert said.worded(german).endswith("ohne die ältesten 3")
    assert german_one.endswith("ohne die älteste")
    assert "Leave out the oldest turn," in str(too_long(Sentence.of("turns.leave_out", n=1)))


def test_sizes_are_worded_where_they_are_shown() -> None:
    said = Sentence.of("plan.held_twice", size=np.int64(1_610_000_000))
    assert said.values == {"size": 1_610_000_000}
    assert str(said).startswith("1.61 GB of the weights")


def test_one_behind_the_other() -> None:
    parts = [Sentence.of("kind.vocabulary"), Sentence.of("owner.hub"), Sentence.of("internal.counting")]
    assert str(join_sentences(*parts)) == " ".join(map(str, parts))


@pytest.mark.parametrize(
    "sentence",
    [
        Sentence("of.a_newer_version", {"n": 3}),
        Sentence("plan.held_twice"),
        Sentence("plan.held_twice", {"size": "much"}),
        Sentence("turns.leave_out", {"n": "three"}),
        Sentence("turns.leave_out"),
        Sentence("lossy.measured", {"share": "x", "mode": "y", "ratio": "z"}),
    ],
    ids=str,
)
def test_what_another_version_said_is_shown_as_well_as_can_be(sentence: Sentence) -> None:
    assert str(sentence)
    assert sentence.worded(german)


def test_a_translation_with_a_wrong_hole_falls_back_to_english() -> None:
    assert Sentence.of("turns.shorten").worded(german) == "Shorten the message,"


# Messages without words of their own, like "{reason}": they are as empty as the values that fill them.
HOLES_ALONE = {
    id
    for id, message in MESSAGES.items()
    if isinstance(message, str) and not any(words for words, *_ in Formatter().parse(message))
}
values = st.recursive(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.integers(1 - 2**63, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.builds(
        Sentence, st.sampled_from(sorted(MESSAGES)), st.dictionaries(st.sampled_from(["a", "n"]), inner)
    ),
    max_leaves=6,
)


@settings(max_examples=200)
@example("not_supported.model", {"reason": ""})
@given(st.sampled_from(sorted(MESSAGES)), st.dictionaries(st.sampled_from(["n", "name", "size", "reason"]), values))
def test_any_sentence_survives_the_wire_and_the_database(
    id: str, filled: dict[str, str | int | float | Sentence]
) -> None:
    sentence = Sentence(id, filled)
    assert msgspec.json.decode(msgspec.json.encode(sentence), type=Sentence) == sentence
    assert str(decode_sentence(encode_sentence(sentence))) == str(sentence)
    assert sentence.worded(german) or id in HOLES_ALONE


@given(st.text(max_size=200) | st.just('{"id": 7}') | st.just('{"id":"x","values":{"a":null}}') | st.just('{"id":'))
def test_what_earlier_versions_stored_is_shown_as_it_is(text: str) -> None:
    assert str(decode_sentence(text)) == str(Sentence.plain(text))


def test_a_plain_sentence_is_stored_as_it_is() -> None:
    assert encode_sentence(Sentence.plain("The engine crashed.")) == "The engine crashed."
    assert str(decode_sentence("The engine crashed.")) == "The engine crashed."


def test_values_are_what_json_can_say() -> None:
    text = {"text": None, "path": Path("a"), "name": "caf\udce9\x1b"}
    numbers = {"yes": True, "part": np.float64(0.5), "odd": math.inf, "huge": 10**300}
    said = Sentence.of("plain.text", **text, **numbers)
    assert said.values == {"text": "None", "path": "a", "name": "caf\ufffd\ufffd"} | {
        "yes": 1, "part": 0.5, "odd": "inf", "huge": str(10**300),
    }  # fmt: skip
    assert msgspec.json.decode(msgspec.json.encode(said), type=Sentence) == said


def test_a_value_of_any_length_is_said_shortly() -> None:
    """A library repeats what a hostile file says."""
    inner = Sentence.of("plain.text", text="y" * 100_000)
    said = Sentence.of("sentences.two", first="x" * 100_000 + "end", second=inner)
    assert len(msgspec.json.encode(said)) < 3 * LONGEST_VALUE
    assert str(said).startswith("xxx")
    assert "…" in str(said)
    assert "xend yyy" in str(said)


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("it is taken", "it is taken."),
        ("roles must alternate.", "roles must alternate."),
        ("regex parse error:", "regex parse error."),
        ("really?", "really?"),
    ],
)
def test_a_value_that_ends_a_sentence_itself_is_followed_by_no_full_stop(reason: str, said: str) -> None:
    """Such values are the words of libraries and of models' templates."""
    sentence = Sentence.of("api.no_address", address="a.", reason=reason)
    assert str(sentence) == f"The API cannot listen at a.: {said}"
    assert sentence.worded(lambda _text, _n=None: "{address}：{reason}。") == f"a.：{said[:-1]}" + (
        "。" if reason[-1] not in ".?" else reason[-1]
    )
