"""What can be done with a message, by who said it, how it ended and where it stands. Knows no Qt."""

from __future__ import annotations

from dataclasses import dataclass

from app.store.chat import ChatMessage
from app.words import mark


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands: `last` of the branch, number `at` of `of` siblings (from 1), its chat `busy` or not.

    `remedies`: is there a question to answer before it could go on? `deleted`: messages behind it were deleted."""

    last: bool = False
    at: int = 1
    of: int = 1
    busy: bool = False
    remedies: bool = False
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """`icon` of assets/icons; `label` is marked for translation. The `main` ones are always there, with their words.

    One that does not work `while_busy` waits for the end of the answer under way."""

    name: str
    icon: str
    label: str
    main: bool = False
    while_busy: bool = False


def actions_of(message: ChatMessage, place: Place) -> tuple[Action, ...]:
    """Main ones first, then the others in the order of their use; none while the message is being written."""
    if place.busy and place.last and message.role == "assistant":
        return ()
    return (*_main(message, place), *_others(message, place))


def _main(message: ChatMessage, place: Place) -> list[Action]:
    if place.busy or not place.last:
        return []
    if message.role == "user":
        return [Action("again", "again", mark("Answer"), main=True)]
    if message.unfinished and not place.remedies:
        again = [_again(main=True)] if message.stop_reason in ("failed", "engine") else []
        return [Action("continue", "continue", mark("Continue"), main=True), *again, *_details(message)]
    failed = message.stop_reason == "failed" or not message.content
    return [*([_again(main=True)] if failed else []), *_details(message)]


def _details(message: ChatMessage) -> list[Action]:
    """What went wrong, for the curious."""
    known = message.stop_reason in ("failed", "engine") and (message.detail or message.stop_reason == "engine")
    return [Action("details", "chevron", mark("Details"), main=True, while_busy=True)] if known else []


def _others(message: ChatMessage, place: Place) -> list[Action]:
    found = [Action("copy", "copy", mark("Copy message"), while_busy=True)] if message.content else []
    if message.role == "user":
        found.append(Action("edit", "edit", mark("Edit message")))
    elif all(action.name != "again" for action in _main(message, place)):
        found.append(_again())
    return [*found, Action("delete", "delete", mark("Delete message"))]


def _again(main: bool = False) -> Action:
    return Action("again", "again", mark("Try again" if main else "Regenerate"), main)
