"""What an answer consists of: its text, its reasoning, its calls of tools, and the end."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Literal

from engine.protocol.events import (
    Event,
    Finished,
    Logprobs,
    Text,
    Thinking,
    ThinkingEnded,
    TokenLogprob,
    ToolCallArguments,
    ToolCallStarted,
)


@dataclass(slots=True)
class Call:
    """A call of a tool; `arguments` is JSON text."""

    id: str
    name: str
    arguments: str = ""


@dataclass(slots=True)
class Written:
    """An answer as far as it is written; `end` is there once it is complete."""

    text: str = ""
    reasoning: str = ""
    calls: list[Call] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    end: Finished | None = None

    def add(self, event: Event) -> None:
        """Append what an event adds to the answer."""
        match event:
            case Text():
                self.text += event.text
            case Thinking():
                self.reasoning += event.text
            case ThinkingEnded() if not event.opened:  # what looked like the answer was the reasoning
                self.reasoning, self.text = self.text, ""
            case ToolCallStarted():
                self.calls.append(Call(event.call, event.name))
            case ToolCallArguments():
                self.calls[-1].arguments += event.text
            case Logprobs():
                self.logprobs += event.tokens
            case Finished():
                self.end = event

    @property
    def finished(self) -> Finished:
        """The last event of an answer that is complete."""
        assert self.end
        return self.end


async def gather(events: AsyncIterator[Event | None]) -> Written:
    """Return the whole answer."""
    written = Written()
    async for event in trimmed(events):
        if event is not None:
            written.add(event)
    return written


async def trimmed(events: AsyncIterator[Event | None]) -> AsyncIterator[Event | None]:
    """Yield the events without the blank lines around reasoning, which separate it from the answer."""
    started = {Text: True, Thinking: False}  # whether something other than blanks has come
    async for event in events:
        match event:
            case ThinkingEnded():
                started[Text] = False
            case Text() | Thinking() if not started[type(event)]:
                if not (text := event.text.lstrip()):
                    continue
                started[type(event)] = True
                yield type(event)(event.id, text)
                continue
        yield event


@dataclass(slots=True)
class Block:
    """Part of an answer that is one thing: reasoning, text, or a call. `text` grows; of a call, it is the arguments."""

    index: int
    kind: Literal["reasoning", "text", "call"]
    call: str = ""
    name: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class BlockChange:
    """What happens to a block: it opens, grows by `text`, or closes."""

    block: Block
    change: Literal["open", "grow", "close"]
    text: str = ""


async def block_changes(events: AsyncIterator[Event | None]) -> AsyncIterator[BlockChange | Event | None]:
    """Yield how the answer's blocks grow one after the other; what is part of no block is yielded as it is."""
    block, count = None, 0
    async for event in trimmed(events):
        kind = KINDS.get(type(event))
        begins = isinstance(event, ToolCallStarted) or (kind is not None and (block is None or block.kind != kind))
        if block and (begins or isinstance(event, Finished)):
            yield BlockChange(block, "close")
            block = None
        if begins and kind:
            block = Block(count, kind)
            count += 1
            if isinstance(event, ToolCallStarted):
                block.call, block.name = event.call, event.name
            yield BlockChange(block, "open")
        if block and isinstance(event, Text | Thinking | ToolCallArguments):
            block.text += event.text
            yield BlockChange(block, "grow", event.text)
        elif kind is None:
            yield event


KINDS: dict[type, Literal["reasoning", "text", "call"]] = {
    Thinking: "reasoning", Text: "text", ToolCallStarted: "call", ToolCallArguments: "call",
}  # fmt: skip


def blocks_of(written: Written) -> list[Block]:
    """Return the blocks of a complete answer."""
    found = [Block(0, "reasoning", text=written.reasoning.strip())] if written.reasoning.strip() else []
    if written.text or not written.calls:
        found.append(Block(len(found), "text", text=written.text))
    for call in written.calls:
        found.append(Block(len(found), "call", call.id, call.name, call.arguments))
    return found
