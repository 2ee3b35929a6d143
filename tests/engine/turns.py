"""Two chats that take turns in a real engine, as two programs do that send no ids."""

from __future__ import annotations

from engine.engine import Engine
from engine.protocol.requests import Message
from tests.engine.asking import ask, assert_same_but_for_near_ties

STARTS = ("Tell me of " + "tit, wren, robin; " * 40, "Count on: " + "one, two, three, four, " * 30)


def assert_turns_read_little(engine: Engine) -> None:
    """Assert that each turn reads its new tokens and few others, and gives the answer of an empty cache."""
    chats = [[Message("user", start)] for start in STARTS]
    known, asked = [0, 0], list[tuple[list[Message], tuple[int, ...]]]()
    for turn in range(3):
        for i, chat in enumerate(chats):
            text, finished = ask(engine, *chat, max_tokens=6, draft="off")
            numbers = finished.statistics
            if turn:
                assert numbers.prompt_tokens - numbers.reused_tokens <= numbers.prompt_tokens - known[i] + 64
            known[i] = numbers.context_tokens
            asked.append((list(chat), finished.tokens))
            chat += [Message("assistant", text or "Yes."), Message("user", f"And what comes after number {turn}?")]
    assert engine.kept_chats.count == 1
    for messages, tokens in asked:
        engine.forget()
        alone = ask(engine, *messages, max_tokens=6, draft="off")[1].tokens
        assert_same_but_for_near_ties(engine, messages, alone, tokens)
    engine.forget()
    assert engine.kept_chats.count == 0
