"""What the model reads of calls of tools: each with its result, in the order in which they were made."""

from __future__ import annotations

from app.state.prompt import NO_RESULT, context_parts, prompt_of, turns_to_free
from app.store.calls import Call, calls_of, encode_calls
from app.store.chat import ChatMessage
from engine.protocol.requests import Message, ToolCall


def answer(content: str, *ids: str) -> ChatMessage:
    calls = encode_calls(Call(id, "add", f'{{"n": "{id}"}}') for id in ids)
    return ChatMessage("c", None, "assistant", content, calls=calls, stop_reason="tool_calls")


def result(id: str, content: str) -> ChatMessage:
    return ChatMessage("c", None, "tool", content, calls=encode_calls([Call(id, "add", "{}", title="Add")]))


def call(id: str) -> ToolCall:
    return ToolCall(id, "add", f'{{"n": "{id}"}}')


QUESTION = ChatMessage("c", None, "user", "1 + 1?")


def test_calls_and_results_stay_apart_in_the_order_of_the_calls() -> None:
    chat = [QUESTION, answer("Let me see.", "a", "b"), result("b", "2"), result("a", "1"), answer("Three.")]
    assert prompt_of(chat) == (
        Message("user", "1 + 1?"),
        Message("assistant", "Let me see.", (call("a"), call("b"))),
        Message("tool", "1", tool_call_id="a"),
        Message("tool", "2", tool_call_id="b"),
        Message("assistant", "Three."),
    )


def test_a_call_that_was_interrupted_has_a_result_for_the_model() -> None:
    chat = [QUESTION, answer("", "a"), result("a", ""), ChatMessage("c", None, "user", "And?")]
    assert prompt_of(chat)[2:] == (Message("tool", NO_RESULT, tool_call_id="a"), Message("user", "And?"))
    assert prompt_of(chat[:2])[2:] == (Message("tool", NO_RESULT, tool_call_id="a"),)


def test_a_result_without_its_call_is_left_out() -> None:
    assert prompt_of([QUESTION, result("a", "1")]) == (Message("user", "1 + 1?"),)


def test_answers_in_a_row_are_not_joined_with_calls() -> None:
    first, second = prompt_of([answer("", "a"), answer("Two.")])[0::2]
    assert (first.tool_calls, second) == ((call("a"),), Message("assistant", "Two."))


def test_only_the_thoughts_before_calls_of_the_last_turn_are_told() -> None:
    thought = answer("<think>\nhm\n</think>\n\nSo:", "a")
    chat = [QUESTION, thought, result("a", "1")]
    assert prompt_of(chat)[1] == Message("assistant", "So:", (call("a"),), reasoning="hm")
    assert prompt_of([*chat, QUESTION])[1] == Message("assistant", "So:", (call("a"),))


def test_the_size_of_a_chat_includes_the_arguments_of_its_calls() -> None:
    long = encode_calls([Call("a", "add", "x" * 3000)])
    chat = [QUESTION, ChatMessage("c", None, "assistant", "", calls=long), QUESTION, answer("2"), QUESTION, answer("2")]
    assert turns_to_free(prompt_of(chat), 0) == 1
    assert "x" * 3000 in context_parts("", prompt_of(chat), 1).forgotten


def test_damaged_calls_are_none() -> None:
    assert calls_of(ChatMessage("c", None, "assistant", "", calls='[{"id": 1}]')) == ()
    assert calls_of(ChatMessage("c", None, "assistant", "", calls="[")) == ()
