"""How a chat fills the context: what always stays, what is left out, what would be left out next. Knows no Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.state.prompt import without_oldest
from app.words import tr, tr_n
from engine.protocol import Counted, Message

TITLE_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Parts:
    """What of a chat is to be counted: texts. `turns` are left out; `next_title` begins the one that would be next."""

    pinned: str
    forgotten: str
    next: str
    turns: int
    next_title: str

    def texts(self) -> tuple[str, ...]:
        return (self.pinned, self.forgotten, self.next)


def parts_of(instructions: str, prompt: Sequence[Message], turns: int) -> Parts:
    """`prompt`: the chat without its instructions, of which the `turns` oldest turns are left out."""
    starts = [number for number, message in enumerate(prompt) if message.role == "user"]
    left_out = min(turns, max(len(starts) - 1, 0))
    kept = without_oldest(prompt, left_out)
    later = without_oldest(prompt, left_out + 1)
    oldest = kept[: len(kept) - len(later)] if later else ()  # the last turn is never left out
    title = " ".join(oldest[0].content.split()) if oldest else ""
    title = title if len(title) <= TITLE_LENGTH else title[: TITLE_LENGTH - 1] + "…"
    return Parts(instructions, _text(prompt[: len(prompt) - len(kept)]), _text(oldest), left_out, title)


def lines_of(parts: Parts, used: int, n_ctx: int, counted: Counted | None) -> list[str]:
    """What the menu says; without numbers of tokens until they are counted."""
    pinned, forgotten, after = counted.texts if counted else (None, None, None)
    lines = [tr("{used:,} of {n_ctx:,} tokens of context used", used=used, n_ctx=n_ctx)]
    if parts.pinned:
        lines.append(tr("Always kept: the instructions{size}", size=_size(pinned)))
    if parts.turns:
        which = tr_n("the oldest turn", "the oldest {n} turns", parts.turns)
        lines.append(tr("Left out, as you chose: {which}{size}", which=which, size=_size(forgotten)))
    if parts.next_title:
        lines.append(tr("Left out next, if you agree: “{title}”{size}", title=parts.next_title, size=_size(after)))
    return lines


def _size(tokens: int | None) -> str:
    return "" if tokens is None else ", " + tr_n("{n} token", "{n} tokens", tokens)


def _text(messages: Sequence[Message]) -> str:
    return "\n\n".join(message.content for message in messages)
