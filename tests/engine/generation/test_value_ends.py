"""Numbers and strings in JSON come to an end, although the mask forbids what the model would end them with."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from engine.generation.constraint import AnswerConstraint, AnswerStart, GrammarCompiler, constraint_for
from engine.generation.decode import decode
from engine.generation.sampling import Sampler
from engine.generation.value_ends import ValueEnds
from engine.kv.session import Session
from engine.protocol.requests import Constraint, Generate, Message
from engine.runtime.interface import RowLogits
from engine.tokenization.tool_formats import HERMES
from tests.engine.asking import GREEDY
from tests.engine.fake_runtime import END, FakeRuntime, FakeVocabulary
from tests.engine.generation.test_decode import PROMPT, kept
from tests.engine.speculative.test_drafting import Guess

COMPILER = GrammarCompiler(FakeVocabulary())


class Undecided(FakeRuntime):
    """A model that wants a certain token next, and a zero after it."""

    def logits_of(self, next_tokens: Sequence[int]) -> RowLogits:
        rows = [np.zeros(END + 1, np.float32) for _ in next_tokens]
        for row, token in zip(rows, next_tokens, strict=True):
            row[ord("0")] = 1
            row[token] = 2
        return RowLogits(rows)


def mask(constraint: Constraint) -> AnswerConstraint:
    request = Generate(1, (Message("user", "x"),), constraint=constraint)
    constrained = constraint_for(request, HERMES, COMPILER, AnswerStart())
    assert constrained
    return constrained


def answer(constraint: Constraint, choose: Callable[[bytes], str], drafting: Guess | None = None) -> str:
    """Return what a model writes that chooses by its answer so far, within 60 tokens."""
    target = Undecided(lambda tokens: ord(choose(bytes(tokens[len(PROMPT) :]))))
    session = Session(target)
    list(session.prefill(PROMPT))
    steps = list(decode(session, Sampler(GREEDY, PROMPT, mask(constraint)), kept(), 60, drafting))
    return bytes(token for step in steps for token in step.tokens if token < END).decode()


def wants(text: str) -> Callable[[bytes], str]:
    """Return the choices of a model that writes a text, then commas."""
    return lambda so_far: text[len(so_far)] if len(so_far) < len(text) else ","


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_a_value_ends_where_the_model_wants_to_go_on_and_the_object_ends(kind: str) -> None:
    schema = {"type": "object", "properties": {"n": {"type": kind}}, "required": ["n"]}
    for drafting in (None, Guess(lambda _tokens: ord("0"), random.Random(3), 1)):
        written = answer(Constraint("json_schema", json.dumps(schema)), wants('{"n":12'), drafting)
        assert json.loads(written) == {"n": 12}


@pytest.mark.parametrize(
    ("schema", "begin", "number"),
    [
        ({"type": "number"}, "1.", "1.0000000000000000"),
        ({"type": "number"}, "7", "7000000000000000"),
        ({"type": "number"}, "7e", "7e00"),
        ({"type": "integer"}, "7", "7000000000000000"),
        ({}, "0.5E-", "0.5E-00"),
    ],
)
def test_a_number_has_no_more_digits_than_count(schema: dict[str, str], begin: str, number: str) -> None:
    constraint = Constraint("json_schema", json.dumps({"type": "array", "items": schema}))
    written = answer(constraint, lambda so_far: f"[{begin}"[len(so_far)] if len(so_far) <= len(begin) else "0")
    assert written.startswith(f"[{number}")
    assert not written[len(number) + 1].isdigit()


def test_digits_in_strings_and_in_grammars_are_as_many_as_the_model_writes() -> None:
    text = '["' + "7" * 30 + '"]'
    assert answer(Constraint("json_schema", '{"items":{"type":"string"}}'), wants(text)).startswith(text)
    assert answer(Constraint("grammar", 'root ::= [0-9]+ "."'), wants("7" * 30 + ".")) == "7" * 30 + "."
    assert answer(Constraint("grammar", 'root ::= [0-9]+ "."'), wants("7")) == "7" + "0" * 59


def test_a_number_that_is_not_complete_goes_on() -> None:
    schema = {"type": "array", "items": {"type": "integer", "minimum": 100}, "minItems": 1}
    assert answer(Constraint("json_schema", json.dumps(schema)), wants("[5")).startswith("[500")


class Pieces(FakeVocabulary):
    """A vocabulary of a few tokens."""

    def __init__(self, *pieces: bytes) -> None:
        self.pieces, self.n_tokens = pieces, len(pieces)

    def piece(self, token: int) -> bytes:
        return self.pieces[token]


def test_a_string_ends_where_the_model_wants_to_end_it_with_more_than_a_quote() -> None:
    ends = ValueEnds(Pieces(b'"', b'",', b"a", b"7", b"}"))
    in_string, at_end = np.array([True, False, True, True, True]), np.array([False, False, True, True, False])
    assert ends.restrict(in_string, b'{"s":"b', 1).tolist() == [True, False, False, False, False]
    for wanted in (0, 2, None):
        assert ends.restrict(in_string, b'{"s":"b7', wanted).tolist() == in_string.tolist()
    assert ends.restrict(at_end, b'{"s":"b', 1).tolist() == at_end.tolist()  # it must be longer
