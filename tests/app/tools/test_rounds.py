"""The calls of one answer: each has one result, the user is asked where needed, and a stop ends all of it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.store.calls import Call, encode_calls
from app.store.chat import ChatMessage
from app.tools.choices import Choices, Rule, agreement_of, choices_from, choices_text
from app.tools.rounds import IN_WORDS, LEAST_TOKENS, MOST_CALLS, Offer, Offered, Outcome, Round, Turn, cut_text, host_of
from app.tools.tool import ToolInfo, ToolResult
from tests.app.tools.scripted_source import ScriptedSource, tool

LOOK, ACT, READ = tool("look"), tool("act", "acts"), tool("read", "acts", host_argument="text")


class Desk:
    """A round over a scripted source, and what was told of it."""

    def __init__(
        self, calls: Sequence[Call], room: int = 1000, choices: Choices | None = None, turn: Turn | None = None
    ) -> None:
        self.source = ScriptedSource(LOOK, ACT, READ)
        self.choices = choices or Choices(("scripted",))
        self.outcomes: dict[int, Outcome] = {}
        self.ends: list[bool] = []
        by_name = {info.name: Offered(info, self.source) for info in self.source.tools()}
        offer = Offer("chat", (), by_name, self.rule_for, self.remember, lambda: room, turn or Turn())
        self.round = Round(calls, offer, lambda: 5.0)
        self.round.told.connect(self.note)
        self.round.ended.connect(self.ends.append)
        self.round.start()

    def rule_for(self, info: ToolInfo, agreement: str) -> Rule:
        return self.choices.rule_for(info, agreement)

    def remember(self, agreement: str, rule: Rule) -> None:
        self.choices = self.choices.with_rule(agreement, rule)

    def note(self, number: int, outcome: Outcome) -> None:
        assert number not in self.outcomes, "a call has two results"
        self.outcomes[number] = outcome

    def finish(self) -> list[str]:
        while self.source.calls:
            self.source.tell()
        return self.texts()

    def texts(self) -> list[str]:
        return [self.outcomes[number].result.text for number in sorted(self.outcomes)]


def call(name: str, text: str = "a") -> Call:
    return Call(f"call {name} {text}", name, f'{{"text": "{text}"}}')


def test_calls_are_made_one_after_the_other() -> None:
    desk = Desk([call("look", "a"), call("look", "b")])
    assert [arguments for _, arguments, _ in desk.source.calls] == [{"text": "a"}]
    desk.source.tell()
    assert desk.round.running == 1
    assert not desk.ends
    desk.source.tell()
    assert desk.texts() == ["a!", "b!"]
    assert desk.outcomes[0] == Outcome(ToolResult("a!", "1 result"), 0.0)
    assert desk.ends == [False]
    assert desk.round.over


def turn_of(*answers: tuple[Call, str]) -> Turn:
    """Return the turn after a question whose answers each made one call with a result; "" for a failed one."""
    messages = [
        ChatMessage("c", None, "user", "earlier?"),
        answered(call("look", "z")),
        resulted(call("look", "z"), ""),
    ]
    messages.append(ChatMessage("c", None, "user", "question?"))
    for made, text in answers:
        messages += [answered(made), resulted(made, text)]
    return Turn.of(messages)


def answered(made: Call) -> ChatMessage:
    return ChatMessage("c", None, "assistant", "", calls=encode_calls([made]))


def resulted(made: Call, text: str) -> ChatMessage:
    return ChatMessage(
        "c", None, "tool", text, calls=encode_calls([replace(made, summary="1 result", failed=not text)])
    )


def test_a_repeated_call_has_the_earlier_result_and_is_not_made_again() -> None:
    turn = turn_of((call("look", "a"), "a!"), (call("look", "b"), ""))
    desk = Desk([replace(call("look", "a"), arguments='{ "text":"a"}'), call("look", "b"), call("act", "a")], turn=turn)
    assert desk.outcomes[0] == Outcome(ToolResult("a!", "1 result"))
    assert [arguments for _, arguments, _ in desk.source.calls] == [{"text": "b"}]  # the failed one is made again
    desk.source.tell()
    assert desk.round.asked is not None  # another tool with the same arguments is another call


def test_after_calls_that_only_repeat_the_model_answers_in_words() -> None:
    def offer(*answers: tuple[Call, str]) -> Offer:
        return Offer("c", (), {}, lambda *_: "ask", lambda *_: None, lambda: 0, turn_of(*answers), 3)

    a, b = (call("look", "a"), "a!"), (call("look", "b"), "b!")
    assert [offer(*made).choice for made in ((), (a,), (a, b), (a, a), (a, b, a), (a, b, (call("act"), "")))] == [
        "auto", "auto", "auto", "none", "none", "none",
    ]  # fmt: skip
    assert offer(a).constraint is None
    assert offer(a, a).constraint == IN_WORDS


@pytest.mark.parametrize(
    ("name", "arguments", "says"),
    [
        ("unknown", "{}", "There is no tool unknown."),
        ("look", "{", "not valid JSON"),
        ("look", "[]", "must be of type object"),
        ("look", "{}", "text is missing"),
        ("look", '{"text": 1}', "text must be of type string"),
        ("read", '{"text": "file:///etc/passwd"}', "no address"),
    ],
)
def test_what_cannot_be_called_is_told_to_the_model(name: str, arguments: str, says: str) -> None:
    desk = Desk([Call("1", name, arguments)])
    (text,) = desk.texts()
    assert says in text
    assert desk.outcomes[0].result.failed
    assert desk.source.begun == 0
    assert desk.ends == [False]


def test_a_tool_that_acts_waits_for_the_user() -> None:
    desk = Desk([call("act"), call("act", "b")])
    question = desk.round.asked
    assert question is not None
    assert (question.info, question.arguments) == (ACT, {"text": "a"})
    assert desk.source.begun == 0
    desk.round.reply(question, "once")
    desk.round.reply(question, "once")  # a second press is about no question
    desk.source.tell()
    second = desk.round.asked
    assert second is not None
    assert second is not question
    desk.round.reply(question, "once")  # an answer to the question before is none to this one
    assert desk.source.begun == 1
    desk.round.reply(second, "no")
    assert desk.texts() == ["a!", "The user did not allow this call."]


def test_an_agreement_for_the_chat_holds_for_the_same_tool_alone() -> None:
    desk = Desk([call("act"), call("act", "b")])
    assert desk.round.asked
    desk.round.reply(desk.round.asked, "always")
    desk.source.tell()
    assert desk.round.running == 1
    desk.source.tell()
    assert desk.texts() == ["a!", "b!"]
    renamed = replace(ACT, description="It does harm.")
    assert desk.choices.rule_for(ACT, agreement_of(ACT, "")) == "always"
    assert desk.choices.rule_for(renamed, agreement_of(renamed, "")) == "ask"


def test_each_host_is_agreed_to_by_itself() -> None:
    desk = Desk([call("read", "https://a.example/1"), call("read", "a.example/2"), call("read", "https://b.example")])
    assert desk.round.asked
    assert desk.round.asked.host == "a.example"
    desk.round.reply(desk.round.asked, "always")
    desk.source.tell()
    desk.source.tell()
    assert desk.round.asked
    assert desk.round.asked.host == "b.example"
    desk.round.reply(desk.round.asked, "never")
    assert desk.texts()[2] == "The user did not allow this call."
    again = Desk([call("read", "https://b.example/x")], choices=desk.choices)
    assert again.texts() == ["The user does not allow this tool in this chat."]


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://Good.example./a", "good.example"),
        ("good.example:8443", "good.example"),
        ("https://g\u043eod.example", "xn--god-sed.example"),  # with a Cyrillic letter
        ("https://good.example@evil.example/", ""),
        ("https://good.example\\@evil.example/", ""),
        ("file:///home/me/secrets.txt", ""),
        ("https:///evil.example", ""),
        ("https://[evil", ""),
    ],
)
def test_the_user_is_asked_about_the_host_that_would_be_connected_to(address: str, host: str) -> None:
    if host:
        assert host_of({"text": address}, READ) == host
    else:
        with pytest.raises(ValueError, match=r"address|URL"):
            host_of({"text": address}, READ)


def test_a_stop_ends_what_runs_and_what_waits() -> None:
    desk = Desk([call("look"), call("act"), call("look", "c")])
    late = desk.source.calls[0][2]
    desk.round.stop()
    assert desk.source.cancelled == 1
    assert [outcome.stopped for outcome in desk.outcomes.values()] == [True, True, True]
    assert desk.ends == [True]
    late(ToolResult("late"))
    desk.round.stop()
    assert desk.ends == [True]
    asked = Desk([call("act")])
    question = asked.round.asked
    assert question
    asked.round.stop()
    asked.round.reply(question, "always")
    assert asked.source.begun == 0
    assert asked.choices == Choices(("scripted",))


def test_a_bug_of_a_source_is_a_result(monkeypatch: pytest.MonkeyPatch) -> None:
    reported: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, *_: reported.append(kind))
    desk = Desk([call("look", "raise")])
    assert desk.texts() == ["The tool failed."]
    assert desk.ends == [False]
    assert reported == [RuntimeError]


def test_a_long_result_is_cut_with_a_note() -> None:
    desk = Desk([call("look"), call("look", "b")], room=2 * LEAST_TOKENS)
    desk.source.tell(result=ToolResult("word " * 5000 + "\ud800"))
    desk.source.tell(result=ToolResult("short"))
    assert desk.outcomes[0].cut
    assert not desk.outcomes[1].cut
    first, second = desk.texts()
    assert len(first) < 1200
    assert first.endswith("of 25,001 characters.]")
    assert second == "short"
    assert cut_text("abc", 0)[1]


def test_an_answer_with_too_many_calls_gets_results_for_all() -> None:
    desk = Desk([Call(str(number), "unknown" if number else "look", '{"text": "a"}') for number in range(40)])
    desk.source.tell()
    assert len(desk.outcomes) == 40
    assert "at most" in Desk([call("act")] * (MOST_CALLS + 1), choices=_all(ACT)).finish()[-1]


def _all(info: ToolInfo) -> Choices:
    return Choices(("scripted",)).with_rule(agreement_of(info, ""), "always")


def test_choices_are_kept_as_text() -> None:
    choices = Choices(("own/a", "b"), ("x",), ("y",))
    assert choices_from(choices_text(choices)) == choices
    assert (choices_text(Choices()), choices_from("{"), choices_from("[1]")) == ("", Choices(), Choices())
    assert choices.uses(tool("a", source="own"))
    assert choices.uses(tool("z", source="b"))
    assert not choices.uses(tool("c", source="own"))
    assert choices.switched("own/a", False).on == ("b",)
    assert choices.switched("c", True) == Choices(("own/a", "b", "c"), ("x",), ())
    assert choices.without_agreements() == Choices(("own/a", "b"))
