"""Constraints: every answer fits its grammar, drafts change nothing, and hostile grammars end as a sentence."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.tools.rounds import IN_WORDS
from common.failures import Failure
from engine.generation.constraint import AnswerConstraint, AnswerStart, GrammarCompiler, constraint_for
from engine.generation.decode import decode
from engine.generation.gbnf import convert_gbnf
from engine.generation.grammars import grammar_of
from engine.generation.sampling import Sampler
from engine.kv.session import Session
from engine.protocol.events import WRITTEN, Thinking
from engine.protocol.requests import Constraint, Generate, Message, Sampling, ThinkingOptions, Tool, ToolCall
from engine.runtime.interface import RowLogits
from engine.tokenization.tool_formats import HERMES
from tests.engine.asking import GREEDY, QUESTION, ask, assert_same_but_for_near_ties
from tests.engine.fake_runtime import END, FakeRuntime, FakeVocabulary
from tests.engine.generation.test_decode import PROMPT, kept
from tests.engine.speculative.test_drafting import Guess

COMPILER = GrammarCompiler(FakeVocabulary())
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 8},
        "age": {"type": "integer", "minimum": 0, "maximum": 99},
        "kind": {"enum": ["bird", "fish"]},
    },
    "required": ["name", "age", "kind"],
}
GRAMMARS = (
    'root ::= [a-c]{3,9} "." | "abc" root',
    'root ::= "[" ([0-9] ("," [0-9])*)? "]" | [x-z]+',
    'root ::= item{2,4}\nitem ::= "- " [^\\n]{1,9} "\\n"',
)


class Babbler(FakeRuntime):
    """A model with a number for every token, which depends on all tokens before."""

    def logits_of(self, next_tokens: Sequence[int]) -> RowLogits:
        rows = [np.random.RandomState(token).standard_normal(END + 1).astype(np.float32) for token in next_tokens]
        return RowLogits(rows)


def babble(tokens: Sequence[int]) -> int:
    """Return a number that depends on the tokens before, as a seed for the row behind them."""
    value = 7
    for token in tokens:
        value = (value * 31 + token + 1) % 1_000_003
    return value


def constrained(grammar: str, drafting=None, sampling: Sampling = GREEDY, max_tokens: int = 40) -> list[int]:
    mask = AnswerConstraint(COMPILER.matcher(grammar), FakeVocabulary().piece)
    session = Session(Babbler(babble))
    list(session.prefill(PROMPT))
    steps = list(decode(session, Sampler(sampling, PROMPT, mask), kept(), max_tokens, drafting))
    return [token for step in steps for token in step.tokens]


@given(st.sampled_from(GRAMMARS), st.integers(0, 10**6), st.sampled_from([1, 3, 5]), st.sampled_from([None, 7]))
@settings(max_examples=40, deadline=None)
def test_drafts_change_nothing_under_a_grammar(grammar, seed, branches, sampling_seed):
    """Drafted tokens that the grammar forbids are cut; the others are accepted as without a grammar."""
    sampling = GREEDY if sampling_seed is None else Sampling(temperature=1.5, seed=sampling_seed, top_k=0, min_p=0)
    plain = constrained(convert_gbnf(grammar), None, sampling)
    right = [*PROMPT, *plain]

    def often_right(tokens: Sequence[int]) -> int:
        return right[len(tokens)] if len(tokens) < len(right) else 97

    drafting = Guess(often_right, random.Random(seed), branches)
    assert constrained(convert_gbnf(grammar), drafting, sampling) == plain


def test_forbidden_drafts_are_cut_before_they_are_verified():
    drafting = Guess(lambda _tokens: ord("x"), random.Random(3), 1)
    constrained(convert_gbnf('root ::= [a-c]{30} "."'), drafting)
    assert {drafted for drafted, _ in drafting.learned} <= {0, *range(10)}
    target = Babbler(babble)
    session, mask = Session(target), AnswerConstraint(COMPILER.matcher(convert_gbnf("root ::= [x]{9}")), bytes)
    list(session.prefill(PROMPT))
    target.passes.clear()
    wrong = Guess(lambda _tokens: ord("y"), random.Random(3), 1)
    list(decode(session, Sampler(GREEDY, PROMPT, mask), kept(), 9, wrong))
    assert target.passes == [1] * len(target.passes)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_a_json_answer_fits_its_schema(seed):
    grammar = grammar_of(Constraint("json_schema", json.dumps(SCHEMA)))
    tokens = constrained(grammar, None, Sampling(temperature=2, top_k=0, top_p=1, min_p=0, seed=seed), 400)
    answer = json.loads(bytes(tokens))
    assert list(answer) == ["name", "age", "kind"]
    assert (len(answer["name"]) <= 8, 0 <= answer["age"] <= 99, answer["kind"] in ("bird", "fish")) == (
        True,
        True,
        True,
    )


def test_blanks_in_json_come_to_an_end():
    matcher = COMPILER.matcher(grammar_of(Constraint("json_object")))
    assert matcher.advance_text('{"a": 1,\n    "b": []')
    assert not matcher.advance_text("  ")
    assert not matcher.advance_text("\n\n")


def test_objects_have_no_properties_that_the_schema_does_not_name():
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "$defs": {"A": {"properties": {"b": {}}}},
    }
    for text, fits in [('{"a":{"b":1}}', True), ('{"c":1}', False), ('{"a":{"c":1}}', False)]:
        assert COMPILER.matcher(grammar_of(Constraint("json_schema", json.dumps(schema)))).advance_text(text) is fits
    schema["additionalProperties"] = True
    assert COMPILER.matcher(grammar_of(Constraint("json_schema", json.dumps(schema)))).advance_text('{"c":1}')


@pytest.mark.parametrize(
    ("constraint", "reason"),
    [
        (Constraint("json_schema", "{"), "The JSON schema cannot be used: "),
        (Constraint("json_schema", "[]"), "it must be a JSON object"),
        (Constraint("json_schema", "false"), "Unsatisfiable"),
        (Constraint("json_schema", '{"type": "foo"}'), "foo"),
        (Constraint("json_schema", '{"items":' * 5000 + "{}" + "}" * 5000), "cannot be used: "),
        (Constraint("json_schema", '{"$ref": "http://127.0.0.1/x"}'), "cannot be used: "),
        (Constraint("json_schema", json.dumps({"type": "integer", "multipleOf": 982451653})), "cannot be used: "),
        (Constraint("grammar", 'root ::= "a'), "The grammar cannot be used: line 1"),
        (Constraint("grammar", "#" * 300_000), "may have 262,144 characters"),
    ],
)
def test_a_wrong_or_hostile_constraint_is_refused(constraint, reason):
    with pytest.raises(Failure) as raised:
        COMPILER.matcher(grammar_of(constraint))
    assert raised.value.code.startswith("bad_constraint")
    assert reason in str(raised.value)


@pytest.mark.parametrize("grammar", ["root ::= root", "root ::= b | c\nb ::= c\nc ::= b"])
def test_a_grammar_that_leads_nowhere_ends_the_answer_with_a_sentence(grammar):
    with pytest.raises(Failure, match="No text fits"):
        COMPILER.matcher(convert_gbnf(grammar)).allowed()


def test_thoughts_are_free_and_the_answer_behind_them_is_not():
    matcher = COMPILER.matcher(convert_gbnf('root ::= "{}"'))
    mask = AnswerConstraint(matcher, FakeVocabulary().piece, AnswerStart(opening="<think>\n"))
    for token in b"I {think}.</think>":
        assert mask.allowed() is None
        assert mask.count_allowed([0, 1]) == 2
        mask.advance(token)
    for token in b"{}":
        allowed = mask.allowed()
        assert allowed is not None
        assert np.flatnonzero(allowed).tolist() == [token]
        mask.advance(token)
    allowed = mask.allowed()
    assert allowed is not None
    assert np.flatnonzero(allowed).tolist() == [END]


def test_a_model_may_begin_to_think_by_itself():
    def mask() -> AnswerConstraint:
        matcher = COMPILER.matcher(convert_gbnf('root ::= "{}"'))
        return AnswerConstraint(matcher, FakeVocabulary().piece, AnswerStart(thought_openings=[ord("<")]))

    thinking, answering = mask(), mask()
    allowed = thinking.allowed()
    assert allowed is not None
    assert np.flatnonzero(allowed).tolist() == [ord("<"), ord("{")]
    assert (thinking.count_allowed(b"<think>"), thinking.count_allowed(b"{x")) == (7, 1)
    assert thinking.count_allowed([]) == 0  # a draft that begins with a picture is cut to nothing
    for token in b"<think>So":
        thinking.advance(token)
        assert not thinking.holds
    answering.advance(ord("{"))
    assert answering.holds


def test_a_continued_answer_goes_on_within_its_grammar():
    matcher = COMPILER.matcher(convert_gbnf('root ::= "[" [0-9]+ "]"'))
    mask = AnswerConstraint(matcher, FakeVocabulary().piece, AnswerStart(so_far="<think>\nWell.\n</think>\n\n[12"))
    allowed = mask.allowed()
    assert allowed is not None
    assert bytes(np.flatnonzero(allowed).tolist()) == b"0123456789]"
    with pytest.raises(Failure, match="does not fit"):
        AnswerConstraint(
            COMPILER.matcher(convert_gbnf('root ::= "x"')), FakeVocabulary().piece, AnswerStart(so_far="[12")
        )


ADD = Tool("add", parameters='{"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}')


def mask_of_tools(*messages: Message) -> AnswerConstraint:
    request = Generate(1, messages, thinking=ThinkingOptions(), tools=(ADD,), parallel_tool_calls=False)
    mask = constraint_for(request, HERMES, COMPILER, AnswerStart())
    assert mask is not None
    return mask


@pytest.mark.parametrize("begin", ["<tool_call>\n{", "{", "{{", "```json\n{", " {{"])
def test_a_call_is_held_to_the_grammar_with_its_opening_or_without(begin):
    mask, written = mask_of_tools(QUESTION), begin + '"name": "'
    for token in written.encode():
        mask.advance(token)
    while (allowed := mask.allowed()) is not None and not allowed[END]:
        token = int(np.flatnonzero(allowed)[-1])  # no blanks
        mask.advance(token)
        written += chr(token)
    assert "".join(written.removeprefix(begin).split()) == '"name":"add","arguments":{"a":2}}</tool_call>'


def test_text_that_is_no_call_is_free():
    for text in ('{"nam": "', 'I write {"name": "', "{{{"):
        mask = mask_of_tools(QUESTION)
        for token in text.encode():
            mask.advance(token)
        assert mask.allowed() is None


def test_an_answer_behind_a_result_says_something():
    call = Message("assistant", "", (ToolCall("c", "add", '{"a": 1}'),))
    mask = mask_of_tools(QUESTION, call, Message("tool", "2", tool_call_id="c"))
    allowed = mask.allowed()
    assert allowed is not None
    assert not allowed[[END, ord(" "), ord("\n")]].any()
    assert allowed[[ord("a"), ord("{"), ord("<")]].all()
    mask.advance(ord("a"))
    assert mask.allowed() is None
    assert mask_of_tools(QUESTION).allowed() is None


def test_without_a_constraint_there_is_no_mask_and_no_grammar_library():
    request = Generate(1, (QUESTION,), thinking=ThinkingOptions())
    assert constraint_for(request, HERMES, COMPILER, AnswerStart()) is None


def test_the_real_model_answers_by_a_schema_with_and_without_drafts(whole):
    question, constraint = Message("user", "Name a bird."), Constraint("json_schema", json.dumps(SCHEMA))
    text, plain = ask(whole, question, max_tokens=120, constraint=constraint, draft="off")
    assert set(json.loads(text)) == {"name", "age", "kind"}
    assert plain.statistics.stop_reason == "end"
    _, drafted = ask(whole, question, max_tokens=120, constraint=constraint, draft="history-published")
    assert drafted.statistics.drafted
    assert_same_but_for_near_ties(whole, (question,), plain.tokens, drafted.tokens)


def test_a_bad_schema_is_refused_before_any_work(whole):
    with pytest.raises(Failure, match="The JSON schema cannot be used"):
        ask(whole, QUESTION, constraint=Constraint("json_schema", "nonsense"))
    assert ask(whole, QUESTION, max_tokens=2)[1].statistics.decode_tokens == 2


def test_events_of_a_constrained_answer_are_text(whole):
    events = list(
        whole.generate(Generate(1, (QUESTION,), GREEDY, constraint=Constraint("grammar", 'root ::= "yes" | "no"')))
    )
    assert "".join(event.text for event in events if isinstance(event, WRITTEN)) in ("yes", "no")
    assert not any(isinstance(event, Thinking) for event in events)


def test_an_answer_in_words_is_no_call():
    grammar = grammar_of(IN_WORDS)
    allowed = COMPILER.matcher(grammar).allowed()
    assert not allowed[[ord(each) for each in "{`<[ \n\t"]].any()
    assert allowed[[ord(each) for each in "a1('\"-"]].all()
    matcher = COMPILER.matcher(grammar)
    assert matcher.advance_text('It is {"a": [1]}.\n\n```\n<b>')
    assert matcher.allowed()[END]
