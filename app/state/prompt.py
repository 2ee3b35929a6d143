"""What of a chat the model reads, which of its oldest turns are left out, and how it fills the context. Knows no Qt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.attachments.attachment import Attachment, with_attachments
from app.store.chat import ChatMessage
from app.words import tr, tr_n
from common.reasoning import without_thoughts
from engine.protocol import Counted, Message

TITLE_LENGTH = 40
KEPT_SHARE = 0.75  # of a full context's text; the rest is room for the next answers, as the engine would leave it


def prompt_of(messages: Sequence[ChatMessage], continuing: bool = False) -> tuple[Message, ...]:
    """The branch as the model sees it: files before what is asked about them, answers without their thoughts, those
    without text left out, neighbours of one role joined. An answer that goes on keeps its thought.

    Some models' templates refuse two turns of one role in a row, which a failed answer would leave behind.
    """
    turns: list[Message] = []
    for message in messages:
        content = message.content
        if message.role == "assistant" and not (continuing and message is messages[-1]):
            content = without_thoughts(content)
        text = with_attachments(message.attachments, content)
        if not text:
            continue
        if turns and turns[-1].role == message.role:
            turns[-1] = Message(message.role, f"{turns[-1].content}\n\n{text}")
        else:
            turns.append(Message(message.role, text))
    return tuple(turns)


def with_draft(messages: Sequence[ChatMessage], files: Sequence[Attachment]) -> tuple[Message, ...]:
    """The branch, and of the next message what is certain: its files, up to where the question will begin."""
    if not files:
        return prompt_of(messages)
    *before, last = prompt_of([*messages, ChatMessage("", None, "user", "", attachments=tuple(files))])
    return (*before, Message(last.role, f"{last.content}\n\n"))


def with_system(text: str, prompt: Sequence[Message]) -> tuple[Message, ...]:
    """The prompt behind the user's standing instructions, if there are any."""
    return (Message("system", text), *prompt) if text else tuple(prompt)


def without_oldest(prompt: Sequence[Message], turns: int) -> tuple[Message, ...]:
    """What is certain to be read when the next message comes and the oldest turns are left out: perhaps nothing."""
    starts = [number for number, message in enumerate(prompt) if message.role == "user"]
    return tuple(prompt[starts[turns] :] if turns < len(starts) else ())


def turns_to_free(prompt: Sequence[Message], forgotten: int) -> int:
    """How many more of the oldest turns make room in a context that `prompt` has filled; 0 when only one is left.

    By characters: the window knows no tokens. Should it not be enough, the engine refuses and names the number.
    """
    full = _characters(without_oldest(prompt, forgotten))
    most = sum(message.role == "user" for message in prompt) - forgotten - 1
    for turns in range(1, most + 1):
        if _characters(without_oldest(prompt, forgotten + turns)) <= KEPT_SHARE * full:
            return turns
    return max(0, most)


def _characters(messages: Iterable[Message]) -> int:
    return sum(len(message.content) for message in messages)


# --- how a chat fills the context: what always stays, what is left out, what would be left out next -------------------


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
