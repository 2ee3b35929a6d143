"""The rows of the list of chats: pinned ones, folders, days. Knows no windows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal, NamedTuple

from app.store.chat import Chat, Folder, days_of, group_of
from app.words import mark, tr

PINNED = mark("Pinned")


class Row(NamedTuple):  # thousands are made at each change of a list: a dataclass takes three times as long
    """`id` is the chat's or the folder's; `folder_id` the folder that a chat dropped here goes into, None for none.

    `chats` is how many chats a folder has; `indent` how many levels the row is set in.
    """

    kind: Literal["heading", "folder", "chat"]
    text: str
    id: str = ""
    folder_id: str | None = None
    indent: int = 0
    folded: bool = False
    chats: int = 0
    pinned: bool = False


def rows_of(chats: Iterable[Chat], folders: Sequence[Folder], now: float) -> list[Row]:
    """`chats` come the latest first. Every chat has one row, or none if it lies in a folded folder."""
    chats = list(chats)
    pinned = sorted((chat for chat in chats if chat.pinned_at), key=lambda chat: -(chat.pinned_at or 0))
    known = {folder.id for folder in folders}
    inside: dict[str, list[Chat]] = {folder.id: [] for folder in folders}
    loose: list[Chat] = []
    for chat in chats:
        if chat.pinned_at:
            continue
        if chat.folder_id in known:
            inside[chat.folder_id or ""].append(chat)
        else:
            loose.append(chat)
    rows = [Row("heading", tr(PINNED))] if pinned else []
    rows += [_row(chat, pinned=True) for chat in pinned]
    for folder in folders:
        rows += _folder_rows(folder, inside[folder.id])
    days_ago = days_of(now)
    for group, days in groupby(loose, key=lambda chat: group_of(chat.updated_at, days_ago)):
        rows.append(Row("heading", tr(group)))
        rows += [_row(chat) for chat in days]
    return rows


def _folder_rows(folder: Folder, chats: Sequence[Chat]) -> list[Row]:
    head = Row("folder", folder.name, folder.id, folder.id, folded=folder.folded, chats=len(chats))
    return [head] if folder.folded else [head, *(_row(chat, folder.id) for chat in chats)]


def _row(chat: Chat, folder_id: str | None = None, pinned: bool = False) -> Row:
    return Row("chat", chat.title, chat.id, folder_id, indent=int(folder_id is not None), pinned=pinned)
