"""What the palette offers for what was typed: commands by their titles, chats by title and text. Knows no Qt."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from app.commands.commands import BY_NAME, plain
from app.words import tr

UNSEEN = ("palette",)  # it is open already


@dataclass(frozen=True, slots=True)
class Entry:
    """One line: `id` is the command's name or the chat's id, `note` its keys or the place in the text.

    `message_id` is the message in which the words were found, "" for a title."""

    kind: Literal["command", "chat"]
    id: str
    title: str
    note: str = ""
    message_id: str = ""


def command_entries(usable: Iterable[str], keys: dict[str, str]) -> list[Entry]:
    """The commands named `usable` as lines, each with its keys."""
    return [Entry("command", name, plain(tr(BY_NAME[name].title)), keys[name]) for name in usable if name not in UNSEEN]


def matching(query: str, entries: Iterable[Entry]) -> list[Entry]:
    """The entries whose titles have all words of `query`; those with a word that begins so come first."""
    words = query.casefold().split()
    ranked = [(rank, entry) for entry in entries if (rank := _rank(words, entry)) is not None]
    return [entry for _, entry in sorted(ranked, key=lambda pair: pair[0])]


def _rank(words: list[str], entry: Entry) -> int | None:
    """0 where each word begins a word of the title, 1 where each is in it; None where one is missing."""
    titles = [entry.title.casefold()]
    if entry.kind == "command":  # who knows the English name finds it in every language
        titles.append(plain(BY_NAME[entry.id].title).casefold())
    ranks = [_rank_in(words, title) for title in titles]
    return min((rank for rank in ranks if rank is not None), default=None)


def _rank_in(words: list[str], title: str) -> int | None:
    if not all(word in title for word in words):
        return None
    return 0 if all(re.search(r"\b" + re.escape(word), title) for word in words) else 1
