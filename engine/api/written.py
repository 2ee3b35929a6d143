"""What an answer consists of: its text, its reasoning, its calls of tools, and the end."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Literal

from engine.protocol.events import (
    Event,
    Finished,
    Logprobs,
    Text,
    Thinking,
    ThinkingEnded,
    ThinkingStarted,
    TokenLogprob,
    ToolCallArguments,
    ToolCallStarted,
)

BlockKind = Literal["reasoning", "text", "call"]
KINDS: dict[type, BlockKind] = {
    Thinking: "reasoning", Text: "text", ToolCallStarted: "call", ToolCallArguments: "call",
}  # fmt: skip
Events = AsyncIterator[tuple[int, Event | None]]  # of several answers, each with its answer's number; None: still waits


@dataclass(slots=True)
class Block:
    """Part of an answer that is one thing: reasoning, text, or a call of the tool `name`.

    `text` grows; of a call, it is the arguments as JSON text. `call`: the call's id. `index`: number in a stream.
    """

    kind: BlockKind
    text: str = ""
    call: str = ""
    name: str = ""
    index: int = 0
    id: str = field(default_factory=lambda: uuid.uuid4().hex)


@dataclass(frozen=True, slots=True)
class BlockChange:
    """Change of a block: it opens, grows by `text`, or closes."""

    block: Block
    change: Literal["open", "grow", "close"]
    text: str = ""


@dataclass(slots=True)
class Written:
    """An answer as far as it is written; `finished` is there once it is complete.

    `plain`: whether `text` is all that the model wrote, with the reasoning and its marks. `streamed`: the blocks that
    `changes` has told, of which the last one is `open` or none is.
    """

    plain: bool = False
    text: str = ""
    reasoning: str = ""
    calls: list[Block] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finished: Finished = field(init=False)
    streamed: list[Block] = field(default_factory=list)
    open: Block | None = None

    def add(self, event: Event) -> None:
        """Append what an event adds to the answer."""
        match event:
            case ThinkingStarted() | Thinking() | ThinkingEnded() if self.plain:
                self.text += event.text
            case Text():
                self.text += event.text
            case Thinking():
                self.reasoning += event.text
            case ThinkingEnded() if not event.opened:  # what looked like the answer was the reasoning
                self.reasoning, self.text = self.text, ""
            case ToolCallStarted():
                self.calls.append(Block("call", "", event.call, event.name))
            case ToolCallArguments():
                self.calls[-1].text += event.text
            case Logprobs():
                self.logprobs += event.tokens
            case Finished():
                self.finished = event

    def take_logprobs(self) -> list[TokenLogprob]:
        """Return and remove the probabilities of the tokens, so that each is told once."""
        logprobs, self.logprobs = self.logprobs, []
        return logprobs

    def blocks(self) -> list[Block]:
        """Return the blocks of a complete answer."""
        blocks = [Block("reasoning", self.reasoning.strip())] if self.reasoning.strip() else []
        if self.text or not self.calls:
            blocks.append(Block("text", self.text))
        return blocks + self.calls

    def changes(self, event: Event) -> Iterator[BlockChange]:
        """Yield how an event changes the blocks of a stream, of which one is open at a time."""
        kind = KINDS.get(type(event))
        begins = isinstance(event, ToolCallStarted) or (kind and (self.open is None or self.open.kind != kind))
        if self.open and (begins or isinstance(event, Finished)):
            yield BlockChange(self.open, "close")
            self.open = None
        if begins and kind:
            self.open = Block(kind, index=len(self.streamed))
            self.streamed.append(self.open)
            if isinstance(event, ToolCallStarted):
                self.open.call, self.open.name = event.call, event.name
            yield BlockChange(self.open, "open")
        if self.open and isinstance(event, Text | Thinking | ToolCallArguments):
            self.open.text += event.text
            yield BlockChange(self.open, "grow", event.text)


async def trimmed(events: Events) -> Events:
    """Yield an answer's events without the blank lines around reasoning, which separate it from the answer."""
    started = {Text: True, Thinking: False}  # whether something other than blanks has come
    async for index, event in events:
        match event:
            case ThinkingEnded():
                started[Text] = False
            case Text() | Thinking() if not started[type(event)]:
                if not (text := event.text.lstrip()):
                    continue
                started[type(event)] = True
                yield index, type(event)(event.id, text)
                continue
        yield index, event
