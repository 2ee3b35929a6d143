"""What the model reads of a chat: which of its oldest turns are left out, and how it fills the context. Knows no Qt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from app.attachments.attachment import Attachment, pictures_in, with_attachments
from app.store.calls import Call, calls_of
from app.store.chat import ChatMessage
from app.words import mark, tr, tr_n
from common.reasoning import sections_of, without_thoughts
from engine.protocol.events import Counted
from engine.protocol.requests import Message, ToolCall

TITLE_LENGTH = 40
# The share of a full context's text that is kept. The rest is room for the next answers, as much as the engine leaves.
KEPT_SHARE = 0.75
UNSEEN = "[A picture, which you cannot see.]"  # for the model, in place of a picture
NO_RESULT = "[There is no result: the call was interrupted.]"  # for the model
KNOWN = "What the user wants you to know about them:\n"  # for the model, before facts
SUMMED_UP = "Earlier in this conversation, summed up:\n"  # for the model, before a summary


def prompt_of(messages: Sequence[ChatMessage], continuing: bool = False) -> tuple[Message, ...]:
    """Return the branch as the model sees it.

    Files come before the question about them, answers lose their thoughts, empty messages are left out, and neighbours
    of one role are joined: some chat templates refuse two turns of one role in a row, which a failed answer would leave
    behind. An answer that is being continued keeps its thoughts. A summary stands in a system message for the messages
    above it, so that it stays when turns are left out. Calls of tools stay as they are, each followed by its result,
    and the model is told what it thought before the calls of the last turn.
    """
    summed_up = last_summed_up(messages)
    turns = [Message("system", SUMMED_UP + messages[summed_up - 1].summary)] if summed_up else []
    last_question = max((at for at, message in enumerate(messages) if message.role == "user"), default=0)
    for at, message in enumerate(messages[summed_up:], start=summed_up):
        if message.role == "tool":
            continue
        content = message.content
        if message.role == "assistant" and not (continuing and message is messages[-1]):
            content = without_thoughts(content)
        text, pictures = with_attachments(message.attachments, content), pictures_in(message.attachments)
        if calls := calls_of(message):
            thoughts = "\n".join(part.text.strip() for part in sections_of(message.content) if part.thought)
            made = tuple(ToolCall(call.id, call.name, call.arguments) for call in calls)
            turns.append(Message("assistant", text, made, reasoning=thoughts if at > last_question else ""))
            turns += _results(calls, messages[at + 1 :])
        elif not text and not pictures:
            continue
        elif turns and turns[-1].role == message.role and not turns[-1].tool_calls:
            before = turns[-1]
            joined = "\n\n".join(filter(None, (before.content, text)))
            turns[-1] = replace(before, content=joined, pictures=(*before.pictures, *pictures))
        else:
            turns.append(Message(message.role, text, pictures=pictures))
    return tuple(turns)


def _results(calls: Sequence[Call], below: Sequence[ChatMessage]) -> list[Message]:
    """Return a result for each of an answer's calls, which are directly below it; templates refuse calls without."""
    results: dict[str, str] = {}
    for message in takewhile(lambda message: message.role == "tool", below):
        results |= {call.id: message.content for call in calls_of(message)}
    return [Message("tool", results.get(call.id) or NO_RESULT, tool_call_id=call.id) for call in calls]


def last_summed_up(messages: Sequence[ChatMessage]) -> int:
    """Return how many of the branch's first messages the last summary stands for; 0 without one."""
    return next((number for number in range(len(messages), 0, -1) if messages[number - 1].summary), 0)


def with_draft(messages: Sequence[ChatMessage], files: Sequence[Attachment]) -> tuple[Message, ...]:
    """Return the branch and what is certain of the next message: its files, up to where the question begins."""
    if not files:
        return prompt_of(messages)
    *before, last = prompt_of([*messages, ChatMessage("", None, "user", "", attachments=tuple(files))])
    return (*before, replace(last, content=f"{last.content}\n\n" if last.content else ""))


def as_seen(messages: Sequence[Message], sees: bool) -> tuple[Message, ...]:
    """Return the messages for a model that sees pictures, or does not: it is told that there is one."""
    if sees:
        return tuple(messages)
    return tuple(
        replace(m, content="\n\n".join(filter(None, (*[UNSEEN] * len(m.pictures), m.content))), pictures=())
        if m.pictures
        else m
        for m in messages
    )


def with_system(text: str, prompt: Sequence[Message]) -> tuple[Message, ...]:
    """Return the prompt with the user's instructions in front, if there are any, in one message with a summary."""
    pinned, turns = split_pinned(prompt)
    whole = "\n\n".join(filter(None, (text, *(message.content for message in pinned))))
    return (Message("system", whole), *turns) if whole else turns


def beginning_of(instructions: str, files: Sequence[Attachment], facts: Sequence[str]) -> str:
    """Return what all chats of a project begin with, and below that the facts that the user wants to be known."""
    known = KNOWN + "\n".join(f"- {fact}" for fact in facts) if facts else ""
    return "\n\n".join(filter(None, (instructions, with_attachments(files, ""), known)))


def split_pinned(prompt: Sequence[Message]) -> tuple[tuple[Message, ...], tuple[Message, ...]]:
    """Return the system messages at the beginning, which always stay, and the turns."""
    first = next((number for number, message in enumerate(prompt) if message.role != "system"), len(prompt))
    return tuple(prompt[:first]), tuple(prompt[first:])


def drop_oldest_turns(prompt: Sequence[Message], turns: int) -> tuple[Message, ...]:
    """Return the prompt without its `turns` oldest turns; without any turn if it has no more than that."""
    pinned, rest = split_pinned(prompt)
    starts = [number for number, message in enumerate(rest) if message.role == "user"]
    return (*pinned, *(rest[starts[turns] :] if turns < len(starts) else ()))


def turns_to_free(prompt: Sequence[Message], forgotten: int) -> int:
    """Return how many more of the oldest turns to drop when `prompt` has filled the context; 0 if only one is left.

    The estimate counts characters, because the window knows no tokens. If it is too low, the engine refuses and names
    the right number.
    """
    full = _characters(drop_oldest_turns(prompt, forgotten))
    most = sum(message.role == "user" for message in prompt) - forgotten - 1
    for turns in range(1, most + 1):
        if _characters(drop_oldest_turns(prompt, forgotten + turns)) <= KEPT_SHARE * full:
            return turns
    return max(0, most)


def _characters(messages: Iterable[Message]) -> int:
    return sum(len(_content(message)) for message in messages)


# --- how a chat fills the context: what always stays, what is left out, what would be left out next -------------------


@dataclass(frozen=True, slots=True)
class ContextParts:
    """The parts of a chat to be counted, as texts.

    `pinned`: the instructions, and a summary if the chat is `summed_up`. `turns` is how many turns are left out;
    `next_title` is the beginning of the turn that would be left out next.
    """

    pinned: str
    forgotten: str
    next: str
    turns: int
    next_title: str
    summed_up: bool = False

    def texts(self) -> tuple[str, ...]:
        return (self.pinned, self.forgotten, self.next)


def context_parts(instructions: str, prompt: Sequence[Message], turns: int) -> ContextParts:
    """Split a prompt, without its instructions, of which the `turns` oldest turns are left out."""
    summary, prompt = split_pinned(prompt)
    starts = [number for number, message in enumerate(prompt) if message.role == "user"]
    left_out = min(turns, max(len(starts) - 1, 0))
    kept = drop_oldest_turns(prompt, left_out)
    later = drop_oldest_turns(prompt, left_out + 1)
    oldest = kept[: len(kept) - len(later)] if later else ()  # the last turn is never left out
    title = " ".join(oldest[0].content.split()) if oldest else ""
    title = title if len(title) <= TITLE_LENGTH else title[: TITLE_LENGTH - 1] + "…"
    pinned = "\n\n".join(filter(None, (instructions, _text(summary))))
    return ContextParts(pinned, _text(prompt[: len(prompt) - len(kept)]), _text(oldest), left_out, title, bool(summary))


def context_lines(parts: ContextParts, used: int, n_ctx: int, counted: Counted | None) -> list[str]:
    """Return the menu's lines; without numbers of tokens until these are counted."""
    pinned, forgotten, after = counted.texts if counted else (None, None, None)
    lines = [tr("{used:,} of {n_ctx:,} tokens of context used", used=used, n_ctx=n_ctx)]
    if parts.pinned:
        words = mark("Always kept: what the chat begins with and the summary{size}")
        words = words if parts.summed_up else mark("Always kept: what the chat begins with{size}")
        lines.append(tr(words, size=_size(pinned)))
    if parts.turns:
        which = tr_n("the oldest turn", "the oldest {n} turns", parts.turns)
        lines.append(tr("Left out, as you chose: {which}{size}", which=which, size=_size(forgotten)))
    if parts.next_title:
        lines.append(tr("Left out next, if you agree: “{title}”{size}", title=parts.next_title, size=_size(after)))
    return lines


def _size(tokens: int | None) -> str:
    return "" if tokens is None else ", " + tr_n("{n} token", "{n} tokens", tokens)


def _text(messages: Sequence[Message]) -> str:
    return "\n\n".join(map(_content, messages))


def _content(message: Message) -> str:
    """Return what the model reads of a message, including the arguments of its calls."""
    return "\n".join(filter(None, (message.content, *(f"{call.name} {call.arguments}" for call in message.tool_calls))))
