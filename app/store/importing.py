"""Import of chats from files and from the places of other programs, and the look at them before. Knows no windows.

All or nothing: imported chats are hidden until everything is read. A chat that is in the store already is merged:
messages that only one side has are kept, and where both differ, the chat that changed last wins. So the same file can
be imported repeatedly without loss or duplicates.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from app.store.chat_store import ChatStore
from app.store.merging import Imported, Merging, undo_changes
from app.store.readers.json_file import ImportableChat, ImportableFolder
from app.store.readers.neutral import Program
from app.store.readers.places import Source
from app.store.readers.sources import read_source
from app.store.transfer import TransferProgress
from common.failures import Failure


@dataclass(frozen=True, slots=True)
class Choice:
    """A selection from a source: the chats with these ids, or all of them."""

    source: Source
    chat_ids: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class ListedChat:
    """A chat that can be imported; `updated_at` is Unix time, `messages` their number in all branches."""

    id: str
    title: str
    updated_at: float
    messages: int


@dataclass(frozen=True, slots=True)
class Preview:
    """The chats of a source, the latest first, and the failures of those that cannot be read.

    `program` is None if the source has no chats that show it. `folders` is the number of folders.
    """

    source: Source
    program: Program | None
    chats: tuple[ListedChat, ...] = ()
    problems: tuple[Failure, ...] = field(default=())
    folders: int = 0


def preview(source: Source, progress: TransferProgress) -> Preview:
    """Return what can be imported of a source, or the failure that nothing can. Raises Stopped."""
    chats: dict[str, ListedChat] = {}
    problems: list[Failure] = []
    program, folders = source.program, 0
    try:
        for item in read_source(source, lambda share: progress.update(share, len(chats))):
            if isinstance(item, ImportableChat):
                program = item.program
                chat = item.chat
                chats[chat.id] = ListedChat(chat.id, chat.title, chat.updated_at, len(item.messages))
            elif isinstance(item, Failure):
                problems.append(item)
            else:
                folders += 1
    except Failure as failure:
        return Preview(source, program, problems=(failure,))
    ordered = sorted(chats.values(), key=lambda chat: chat.updated_at, reverse=True)
    return Preview(source, program, tuple(ordered), tuple(problems), folders)


def import_chats(choices: Iterable[Choice], store: Path, progress: TransferProgress) -> Imported:
    """Import the chosen chats; raise Failure with a file's mistake, or Stopped, and then leave the store as it was.

    What a preview has listed as a problem is left out.
    """
    all_choices, added = list(choices), list[str]()
    with closing(ChatStore(store)) as target, Merging(target) as merging:
        for number, choice in enumerate(all_choices):

            def advance(share: float, number: int = number) -> None:
                progress.update((number + share) / len(all_choices), len(added))

            for item in read_source(choice.source, advance):
                if isinstance(item, ImportableFolder):
                    merging.add_folder(item.folder, item.files)
                elif isinstance(item, ImportableChat) and (choice.chat_ids is None or item.chat.id in choice.chat_ids):
                    merging.add(item.chat, item.messages)
                    added.append(item.chat.id)
        return merging.finish()


def undo_import(imported: Imported, store: Path) -> None:
    """Take back what an import changed of chats that were there before; raise Failure if that cannot be stored."""
    with closing(ChatStore(store)) as target:
        undo_changes(target, imported)
