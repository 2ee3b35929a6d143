"""Exports: Markdown has the shown branch; file names; modes and neighbours of a file; unwritable places."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pypdf import PdfReader
from PySide6.QtGui import QImage

from app.attachments.attachment import Attachment
from app.attachments.pictures import picture_of
from app.folders import be_private, users_umask
from app.markdown.html import render_html
from app.services.pdf import pdf_of
from app.store.calls import Call, calls_of, encode_calls
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.store.exchange import MARKDOWN, Exported, JsonExporter, exporters
from app.store.formats import decode_chat, file_name, html_of, markdown_of
from app.store.transfer import Stopped, TransferProgress
from common.failures import Failure
from tests.app.small_disk import small_disk
from tests.app.store.moved_chats import fill


def test_markdown_is_the_shown_branch(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    path = tmp_path / "one.md"
    assert MARKDOWN.export(store.path, ["c0"], path, TransferProgress()).count == 1
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# chat 0"
    assert [line for line in lines if line.startswith("## ")][1].startswith("## m · 1970-01-01")
    assert "second" in lines
    assert "first" not in lines
    assert "*Attached: notes.txt*" in lines
    assert MARKDOWN.export(store.path, None, tmp_path / "many.md", TransferProgress()).count == 3
    assert MARKDOWN.export(store.path, None, tmp_path / "many.md", TransferProgress()).count == 3
    assert {file.name for file in (tmp_path / "many 2").iterdir()} == {"chat 0.md", "chat 1.md", "chat 2.md"}


@pytest.mark.parametrize(
    ("title", "name"),
    [("a/b\\c: d?", "a b c d"), ("..", "chat"), ("CON", "_CON"), ("nul.txt", "_nul.txt"), ("x" * 99, "x" * 80),
     ("a\nb", "a b")],
)  # fmt: skip
def test_names_of_files(title: str, name: str) -> None:
    assert file_name(title) == name


def test_a_place_that_cannot_be_written_is_told(store: ChatStore, tmp_path: Path, qapp: object) -> None:
    fill(store)
    for exporter in exporters(render_html, pdf_of):
        with pytest.raises(Failure, match="could not be written"):
            exporter.export(store.path, None, tmp_path / "no such folder" / "x.json", TransferProgress())


def exports(store: ChatStore, folder: Path) -> Iterator[tuple[str, Path]]:
    """Write each kind of export into the folder; yield its name and the path of what it wrote."""
    JsonExporter().export(store.path, None, folder / "chats.json", TransferProgress())
    yield "json", folder / "chats.json"
    MARKDOWN.export(store.path, ["c0"], folder / "chats.md", TransferProgress())
    yield "one", folder / "chats.md"
    MARKDOWN.export(store.path, None, folder / "chats.md", TransferProgress())
    yield "many", folder / "chats"


def test_nothing_of_the_users_that_lies_beside_it_is_touched(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "chats.part").mkdir()
    names = ("chats.part/mine.txt", "chats.json.part", "chats.md.part", "chats.tmp", ".chats.json.part")
    for name in names:
        (folder / name).write_text(f"my {name}")
    for _, made in exports(store, folder):
        assert made.exists()
        assert {name: (folder / name).read_text() for name in names} == {name: f"my {name}" for name in names}
    assert len(list(folder.iterdir())) == 5 + 3


def test_a_name_that_is_long_is_no_obstacle(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    path = tmp_path / f"{'x' * 250}.json"
    JsonExporter().export(store.path, None, path, TransferProgress())
    assert path.stat().st_size > 0


def test_an_export_that_is_stopped_leaves_nothing(store: ChatStore, tmp_path: Path, qapp: object) -> None:
    fill(store)
    folder = tmp_path / "out"
    folder.mkdir()
    for exporter in exporters(render_html, pdf_of):
        progress = TransferProgress()
        progress.stop()
        with pytest.raises(Stopped):
            exporter.export(store.path, None, folder / "chats.json", progress)
    assert list(folder.iterdir()) == []


def test_a_full_disk_is_told_and_the_old_export_stays(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    chat = Chat("long", "long")
    store.save(chat, [ChatMessage(chat.id, None, "user", "word " * 60_000)])
    with small_disk(tmp_path / "disk", 1 << 18) as disk:
        (disk / "chats.json").write_text("the old one")
        for exporter in (MARKDOWN, JsonExporter()):
            with pytest.raises(Failure, match=r"chats(\.json)?( 2)? could not be written: No space left") as caught:
                exporter.export(store.path, None, disk / "chats.json", TransferProgress())
            assert ".chickadee" not in str(caught.value)
        assert [path.name for path in disk.iterdir()] == ["chats.json"]
        assert (disk / "chats.json").read_text() == "the old one"


def test_a_folder_in_its_place_is_told(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    (tmp_path / "x.json").mkdir()
    (tmp_path / "x.json" / "mine").touch()
    with pytest.raises(Failure, match=r"x\.json could not be written: Is a directory"):
        JsonExporter().export(store.path, None, tmp_path / "x.json", TransferProgress())
    assert [path.name for path in (tmp_path / "x.json").iterdir()] == ["mine"]


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_an_export_is_as_private_as_the_users_other_files(
    store: ChatStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store)
    before = os.umask(0o027)
    users_umask.cache_clear()
    try:
        be_private()
        modes = {kind: made.stat().st_mode & 0o777 for kind, made in exports(store, tmp_path)}
        assert modes == {"json": 0o640, "one": 0o640, "many": 0o750}
        assert {path.stat().st_mode & 0o777 for path in (tmp_path / "chats").iterdir()} == {0o640}
        (tmp_path / "chats.json").chmod(0o604)
        JsonExporter().export(store.path, None, tmp_path / "chats.json", TransferProgress())
        assert (tmp_path / "chats.json").stat().st_mode & 0o777 == 0o604
        (tmp_path / "own").touch()
        assert (tmp_path / "own").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)
        users_umask.cache_clear()


@pytest.mark.skipif(os.name != "posix", reason="links are POSIX's")
def test_a_link_stays_one(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to(tmp_path / "real" / "chats.json")
    for _ in range(2):
        JsonExporter().export(store.path, None, tmp_path / "link.json", TransferProgress())
        assert (tmp_path / "link.json").is_symlink()
        assert json.loads((tmp_path / "real" / "chats.json").read_bytes())["chats"]


@pytest.mark.skipif(os.name != "posix", reason="FIFOs are POSIX's")
def test_what_is_no_file_is_not_replaced(store: ChatStore, tmp_path: Path) -> None:
    fill(store)
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(Failure, match=r"pipe\.json could not be written"):
        JsonExporter().export(store.path, None, tmp_path / "pipe.json", TransferProgress())
    assert (tmp_path / "pipe.json").is_fifo()


@pytest.mark.parametrize("name", ["v1.2", "v1.2.md", "v1.2.MD"])
def test_a_dot_in_the_name_of_a_folder_is_no_ending(store: ChatStore, tmp_path: Path, name: str) -> None:
    fill(store)
    for _ in range(2):
        MARKDOWN.export(store.path, None, tmp_path / name, TransferProgress())
    assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {"v1.2", "v1.2 2"}


def test_thoughts_are_not_copied_and_not_exported_as_text() -> None:
    answer = ChatMessage("c", None, "assistant", "<think>\nHm.\n</think>\n\nA bird.", "a", 0.0)
    assert answer.text_to_copy == "A bird."
    assert replace(answer, role="user").text_to_copy == answer.content
    text = markdown_of(Chat("c", "Birds", 0.0, 0.0), [answer])[0]
    assert "A bird." in text
    assert "Hm." not in text


def rich_chat(store: ChatStore) -> None:
    data = picture_of(QImage(40, 30, QImage.Format.Format_RGB32), 10_000)
    attachments = (Attachment("bird.png", "picture", 1, "", picture=data),)
    chat = Chat("rich", "rich")
    question = ChatMessage(chat.id, None, "user", "What <b>is</b> it?\nTell me.", "q", attachments=attachments)
    text = "A **jay**.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\ncode <i>\n```\n![far](http://far.example/a.png)"
    store.save(chat, [question, ChatMessage(chat.id, "q", "assistant", text, model="Model")])


def exported(store: ChatStore, tmp_path: Path, extension: str) -> bytes:
    (exporter,) = (each for each in exporters(render_html, pdf_of) if each.extension == extension)
    done = exporter.export(store.path, ["rich"], tmp_path / f"rich{extension}", TransferProgress())
    assert done == Exported(1, tmp_path / f"rich{extension}")
    assert [path.name for path in tmp_path.iterdir() if "rich" in path.name] == [f"rich{extension}"]
    return done.path.read_bytes()


def test_a_web_page_has_everything_in_one_file_and_loads_nothing(store: ChatStore, tmp_path: Path) -> None:
    rich_chat(store)
    page = exported(store, tmp_path, ".html").decode()
    assert "<strong>jay</strong>" in page
    assert "<td>2</td>" in page
    assert "What &lt;b&gt;is&lt;/b&gt; it?<br" in page
    assert [source[:11] for source in re.findall(r'src="([^"]*)"', page)] == ["data:image/"]
    assert '<a href="http://far.example/a.png">far</a>' in page


def test_code_that_a_message_leaves_open_ends_with_the_message(store: ChatStore) -> None:
    chat = Chat("c", "Birds", 0.0, 0.0)
    question = ChatMessage(chat.id, None, "user", "```\nopen", "q")
    answer = ChatMessage(chat.id, "q", "assistant", "A **jay**.", "a")
    assert "<strong>jay</strong>" in html_of(chat, [question, answer], render_html)


def test_a_pdf_has_the_texts_and_the_pictures(store: ChatStore, tmp_path: Path, qapp: object) -> None:
    rich_chat(store)
    pages = PdfReader(io.BytesIO(exported(store, tmp_path, ".pdf"))).pages
    text = " ".join("".join(page.extract_text() for page in pages).split())
    for words in ("rich", "What <b>is</b> it?", "Model", "jay", "code <i>", "far"):
        assert words in text
    assert sum(len(page.images) for page in pages) == 1


def test_calls_of_tools_leave_and_come_back(store: ChatStore, tmp_path: Path) -> None:
    call = Call("1", "read", '{"url": "https://a.example"}', "Read a web page", "Chickadee", "3 passages", 0.4)
    question = ChatMessage("c", None, "user", "?", id="q")
    asked = ChatMessage("c", "q", "assistant", "", id="a", calls=encode_calls([call]), stop_reason="tool_calls")
    came = ChatMessage("c", "a", "tool", "```\n<b>x</b>\n# no heading", id="r", calls=encode_calls([call]))
    chat = Chat("t", "c", leaf_id="r", tools="mine alone")
    store.save(chat, [question, asked, came])
    JsonExporter().export(store.path, ["c"], tmp_path / "chats.json", TransferProgress())
    entry = json.loads((tmp_path / "chats.json").read_text(encoding="utf-8"))["chats"][0]
    assert "tools" not in entry
    again, messages = decode_chat({**entry, "tools": "x"}, 0.0)
    assert again.tools == ""
    assert [calls_of(message) for message in messages] == [(), (call,), (call,)]
    text, _ = markdown_of(chat, [question, asked, came])
    assert "*Tool: Read a web page · Chickadee · 3 passages*" in text
    assert f"````\n{came.content}\n````" in text
    assert "<b>" not in html_of(chat, [question, asked, came], render_html)
