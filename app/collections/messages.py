"""Messages between the window and the two processes of collections, as lines of JSON."""

from __future__ import annotations

from typing import Literal

import msgspec

from app.attachments.kinds import AttachmentKind

DAMAGED = "damaged"
Step = Literal["scanning", "indexing", "done", "missing", "full"]


class Begin(msgspec.Struct, frozen=True):
    """The first line that the indexing process reads.

    Attributes:
        folders: to index.
        kept: other folders whose files stay in the index as they are; those of no folder are forgotten.
        again: folders of which every file is read again.
        anew: whether the index is deleted first, because it is damaged.
        model: the model whose token embeddings are used; "" for none.
    """

    folders: tuple[str, ...]
    kept: tuple[str, ...] = ()
    again: tuple[str, ...] = ()
    anew: bool = False
    model: str = ""


class Rest(msgspec.Struct, frozen=True):
    """A later line: stop working for a while, or go on, because the computer is needed or is not needed any more."""

    rest: bool


class Damaged(msgspec.Struct, frozen=True, tag=True):
    """The last line of an indexing process that found the index damaged: it must be made anew."""


class FolderProgress(msgspec.Struct, frozen=True, tag=True):
    """Progress of indexing a folder: numbers of files, and the folders below it that are worth watching.

    `done` files have been read or refused, of `files` in all; `refused` of them cannot be read.
    """

    folder: str
    step: Step
    files: int = 0
    done: int = 0
    refused: int = 0
    watched: tuple[str, ...] = ()


class Question(msgspec.Struct, frozen=True, tag=True):
    """A line that the searching process reads: find up to `tokens` of text in these folders that help to answer."""

    id: int
    text: str
    folders: tuple[str, ...]
    tokens: int


class FoundPassage(msgspec.Struct, frozen=True):
    """A passage of a file: its place in the file's text (characters), and its text."""

    begin: int
    end: int
    text: str
    heading: str = ""
    page: int | None = None


class FoundFile(msgspec.Struct, frozen=True):
    """Passages of one file in their order; `whole` if the one passage is all of its text."""

    path: str
    kind: AttachmentKind
    size: int
    passages: tuple[FoundPassage, ...]
    whole: bool = False


class Answer(msgspec.Struct, frozen=True, tag=True):
    """The answer to the question `id`: files in the order of their paths, the same for the same passages.

    `searched` is the number of passages that were searched; `problem` says why nothing could be, DAMAGED that the index
    must be made anew.
    """

    id: int
    files: tuple[FoundFile, ...] = ()
    searched: int = 0
    problem: str = ""


class Survey(msgspec.Struct, frozen=True, tag=True):
    """Another line that the searching process reads: what the index has of these folders."""

    id: int
    folders: tuple[str, ...]


class Unreadable(msgspec.Struct, frozen=True):
    """A file that could not be read, and why: a key of `attachment.SENTENCES` with its values."""

    path: str
    reason: str
    details: dict[str, str] = {}


class Surveyed(msgspec.Struct, frozen=True, tag=True):
    """Content of the index about folders: numbers of files and characters, and the first files that could not be read.

    `problem` as in an Answer.
    """

    id: int
    files: int = 0
    characters: int = 0
    unreadable: tuple[Unreadable, ...] = ()
    problem: str = ""
