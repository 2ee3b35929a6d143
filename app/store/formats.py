"""Chats in the formats of files: our JSON (docs/chats-json.md), and Markdown and HTML to read. Knows no files."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from html import escape
from typing import Any, cast

import msgspec

from app.attachments.attachment import Attachment, clean_name
from app.store.calls import Call, calls_of
from app.store.chat import Chat, ChatMessage, Folder, storable
from app.store.project_store import MOST_FILES, ProjectFile
from app.store.tree import Tree, chosen_from
from app.words import tr, worded
from common.sentences import decode_sentence
from engine.protocol.requests import Picture

FORMAT, VERSION = "chickadee-chats", 1
LONGEST_ID = 200
# Namespace of ids that are derived from theirs, so that importing twice makes no duplicates.
SPACE = uuid.UUID("4d9b3f0e-2f53-4c7e-9d0c-6d3f1e8a7b21")
LATEST = 32_503_507_200.0  # the last days of the year 2999 as Unix time: Windows' calendar ends with 3000
LONGEST_TITLE = 300
_UNSAFE = re.compile(r'[\x00-\x1f<>:"/\\|?*\x7f]+')
_DEVICE = re.compile(r"CON|PRN|AUX|NUL|COM\d|LPT\d", re.IGNORECASE)  # devices on Windows
LONGEST_NAME = 80
STYLE = """<style>
body { font-family: sans-serif; line-height: 1.5; max-width: 48em; margin: 2em auto; }
pre { background: #f2f2f2; padding: 0.5em; white-space: pre-wrap; }
table { border-collapse: collapse; } td, th { border: 1px solid #bbb; padding: 0.2em 0.5em; }
blockquote { color: #555; } img { max-width: 100%; }
</style>"""
Piece = tuple[str, bool]  # Markdown, and whether the user has typed it, so that only code in it has marks
HtmlRenderer = Callable[[str, Mapping[str, str], bool], str]  # of a piece, with the addresses to load its images from
PICTURE_FILES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")  # how they begin


def moment(value: object, otherwise: float) -> float:
    """Return `value` as a Unix time within the calendar's range; `otherwise` if it is not a finite number."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return min(max(float(cast(float, value)), 0.0), LATEST) if usable else otherwise


def line(value: object) -> str:
    """Return a title as one line of usable length; "" if `value` is not text."""
    return storable(" ".join(value.split())[:LONGEST_TITLE]) if isinstance(value, str) else ""


# --- our own JSON, without loss ---------------------------------------------------------------------------------------


def encode_chat(chat: Chat, messages: Iterable[ChatMessage]) -> bytes:
    """Return one entry of "chats" as JSON, without deleted messages.

    The model's path is left out: it names the user's folders.
    """
    entry = msgspec.to_builtins(chat)
    for name in ("model_path", "unread_at", "agreed", "collections", "tools"):
        del entry[name]
    entry["messages"] = [_entry(message) for message in messages if message.deleted_at is None]
    return msgspec.json.encode(entry)


def encode_folder(folder: Folder, files: Sequence[Attachment] | None = None) -> bytes:
    """Return one entry of "folders" as JSON; without `files`, also without all else that the folder's chats begin with.

    Collections and the model's path are left out: they name the user's folders. So are facts about the user.
    """
    entry = {"id": folder.id, "name": folder.name, "created_at": folder.created_at, "folded": folder.folded}
    if files is not None:
        packed = [msgspec.to_builtins(replace(file, path="")) for file in files]
        entry |= {"options": folder.options, "model": folder.model, "files": packed}
    return msgspec.json.encode(entry)


def decode_chat(raw: object, now: float) -> tuple[Chat, list[ChatMessage]]:
    """Return the chat and its messages as they are in the file; raise ValueError with the mistake."""
    entry = _cleaned(raw)
    if not {"created_at", "updated_at"} <= _identified(entry).keys():
        raise ValueError("its times are missing")
    chat = msgspec.convert(entry, Chat)
    created_at = moment(chat.created_at, now)
    chat = replace(
        chat,
        title=line(chat.title) or "?",
        created_at=created_at,
        updated_at=moment(chat.updated_at, created_at),
        pinned_at=None if chat.pinned_at is None else moment(chat.pinned_at, now),
        forget_turns=max(0, min(chat.forget_turns, 1_000_000)),
        model=line(chat.model),
        unread_at=None,
        agreed="",  # only the user here can agree
        collections="",  # those of another computer
        tools="",  # only the user here can switch tools on
        model_path="",  # a file from elsewhere must not name what a click loads here
    )
    turns = entry.get("messages", [])
    if not isinstance(turns, list):
        raise ValueError("its messages are no list")
    messages = {message.id: message for message in (_message(turn, chat) for turn in turns)}
    return chat, list(messages.values())


def decode_folder(raw: object, now: float) -> tuple[Folder, list[ProjectFile]]:
    """Return the folder and the files that its chats begin with; raise ValueError with the mistake.

    Nothing in the file says what is read of this computer: the folder's files have no paths, and it has no collections.
    """
    entry = _identified(_cleaned(raw))
    folder = msgspec.convert(entry, Folder)
    folder = replace(
        folder,
        name=line(folder.name) or "?",
        created_at=moment(folder.created_at, now),
        collections="",
        model=line(folder.model),
        model_path="",
    )
    files = msgspec.convert(entry.get("files", []), tuple[Attachment, ...])
    if len(files) > MOST_FILES or any(file.picture or not file.text for file in files):
        raise ValueError("a project has too many files, or one without text")
    plain = [replace(file, name=clean_name(file.name), path="", places=(), sent=None) for file in files]
    return folder, [ProjectFile(folder.id, file) for file in plain]


def _entry(message: ChatMessage) -> dict[str, Any]:
    entry: dict[str, Any] = msgspec.to_builtins(message)
    for name in ("chat_id", "deleted_at"):
        entry.pop(name)
    for file in entry["attachments"]:
        file["path"] = ""  # it names the user's folders
    entry["problem"] = str(decode_sentence(message.problem))
    if entry["problem"] != message.problem:
        entry["problem_code"] = message.problem
    return entry


def _message(raw: object, chat: Chat) -> ChatMessage:
    entry = {"created_at": chat.created_at} | _identified(raw) | {"chat_id": chat.id, "deleted_at": None}
    entry["problem"] = entry.get("problem_code") or entry.get("problem", "")
    message = msgspec.convert(entry, ChatMessage)
    for file in message.attachments:
        if any(not 0 <= part < len(file.parts) for part in file.sent or ()):
            raise ValueError("an attachment has no such part")
        if file.places and len(file.places) != len(file.parts):
            raise ValueError("an attachment's passages have no places")
        if file.picture and not _is_whole(file.picture):
            raise ValueError("an attachment's picture is damaged")
    # A file from elsewhere must not name what a click reads or opens here.
    message = replace(message, attachments=tuple(replace(file, path="") for file in message.attachments))
    seconds = message.thought_seconds
    return replace(
        message,
        created_at=moment(message.created_at, chat.created_at),
        thought_seconds=seconds if seconds is not None and math.isfinite(seconds) else None,
    )


def _is_whole(picture: Picture) -> bool:
    """Return whether a picture of a file is one that this program made: a PNG or JPEG file with its digest."""
    return picture.data.startswith(PICTURE_FILES) and hashlib.sha256(picture.data).hexdigest() == picture.digest


def _identified(raw: object) -> dict[str, Any]:
    """Return an object that has an id, else raise ValueError; a new id would make another chat at each import."""
    if not isinstance(raw, dict):
        raise ValueError("it is no object")
    if not isinstance(raw.get("id"), str) or not 0 < len(raw["id"]) <= LONGEST_ID:
        raise ValueError("its id is missing or too long")
    return raw


def _cleaned(value: Any) -> Any:
    """Replace lone surrogates, which cannot be stored, in all strings of a JSON value."""
    return json.loads(storable(json.dumps(value, ensure_ascii=False)))


# --- Markdown ---------------------------------------------------------------------------------------------------------


def markdown_of(chat: Chat, messages: Iterable[ChatMessage], folder: str = "") -> tuple[str, dict[str, bytes]]:
    """Return the shown branch as Markdown, and its pictures' files by name, which belong into `folder` beside it."""
    pieces, files = _pieces(chat, messages, folder)
    return "\n\n".join(text for text, _ in pieces) + "\n", files


def html_of(chat: Chat, messages: Iterable[ChatMessage], render: HtmlRenderer) -> str:
    """Return the shown branch as one HTML page with its pictures, which loads nothing else.

    Each piece becomes HTML by itself: code that a message leaves open ends with the message.
    """
    pieces, files = _pieces(chat, messages, "files")
    pictures = {f"files/{name}": _data_address(data) for name, data in files.items()}
    body = "".join(render(text, pictures, is_question) for text, is_question in pieces)
    head = f'<meta charset="utf-8"><title>{escape(chat.title)}</title>{STYLE}'
    return f"<!DOCTYPE html>\n<html><head>{head}</head>\n<body>{body}</body></html>\n"


def _pieces(chat: Chat, messages: Iterable[ChatMessage], folder: str) -> tuple[list[Piece], dict[str, bytes]]:
    """Return the shown branch in pieces, and its pictures' files."""
    branch = Tree(messages, chat.leaf_id, chosen_from(chat.chosen)).branch()
    files: dict[str, bytes] = {}
    pieces = [(f"# {_line(chat.title)}", False)]
    for message in branch:
        pieces += _turn(message, folder, files)
    return pieces, files


def _data_address(picture: bytes) -> str:
    """Return an address that contains the picture."""
    kind = "png" if picture.startswith(PICTURE_FILES[0]) else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode()}"


def file_name(title: str) -> str:
    """Return a file name that every system allows, without an ending."""
    name = _UNSAFE.sub(" ", title)
    name = " ".join(name.split())[:LONGEST_NAME].strip(" .")
    return f"_{name}" if _DEVICE.fullmatch(name.split(".")[0]) else name or "chat"


def _attached(file: Attachment, folder: str, files: dict[str, bytes]) -> str:
    """Return the line about an attached file; a picture is added to `files`."""
    if file.address:
        link = f"[{_line(file.name)}](<{file.address}>)"
        return tr("*Attached: {page}, read on {day}*", page=link, day=file.read_on)
    if not file.picture:
        return tr("*Attached: {name}*", name=_line(file.name))
    ending = ".png" if file.picture.data.startswith(b"\x89PNG") else ".jpg"
    name = f"{len(files) + 1}{ending}"
    files[name] = file.picture.data
    return f"![{_line(file.name)}](<{folder}/{name}>)"


def _turn(message: ChatMessage, folder: str, files: dict[str, bytes]) -> list[Piece]:
    if message.role == "tool":
        return [(_called(message), False)]
    is_question = message.role == "user"
    who = tr("You") if is_question else message.model or tr("Assistant")
    moment = datetime.fromtimestamp(message.created_at).strftime("%Y-%m-%d %H:%M")
    pieces = [(f"## {_line(who)} · {moment}", False)]
    pieces += [(_attached(file, folder, files), False) for file in message.attachments]
    pieces += [(text, is_question)] if (text := message.text_to_copy) else []
    problem = _line(worded(decode_sentence(message.problem))) if message.problem else ""
    return [*pieces, (f"*{problem}*", False)] if problem else pieces


def _called(message: ChatMessage) -> str:
    """Return a call and its result; both are shown as code, because a stranger's text is not to become markup."""
    call = next(iter(calls_of(message)), Call("", "", ""))
    tool = " · ".join(filter(None, (call.title or call.name, call.source_title, call.summary)))
    mark = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", f"{call.arguments} {message.content}"))])
    blocks = (f"{mark}\n{text}\n{mark}" for text in (call.arguments, message.content) if text)
    return "\n\n".join((tr("*Tool: {tool}*", tool=_line(tool)), *blocks))


def _line(text: str) -> str:
    """Return the text as one line in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", " ".join(text.split()))
