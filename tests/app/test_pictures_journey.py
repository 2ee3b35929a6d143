"""Pictures with the real engine: attached, sent, seen, asked about again, exported, shown again after a restart."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QMimeData
from PySide6.QtGui import QColor, QImage, QPainter
from pytestqt.qtbot import QtBot

from app.composer.chips import Chip
from app.composer.picture_view import PictureWindow
from app.state.answer_facts import statistics_from_json
from app.store.exchange import MARKDOWN
from app.wiring import Chickadee
from app.words import worded
from common.sentences import decode_sentence
from engine.protocol.events import Statistics
from tests.app.attachments.test_scanned import jpeg_of, write_pdf
from tests.app.conftest import Opener
from tests.engine.runtime.vision_models import write_colour_projector, write_crashing_projector, write_projector
from tests.engine.shallow import shallow_model

Ask = Callable[[Chickadee, str], None]


def seeing_model(folder: Path) -> Path:
    os.link(shallow_model(), folder / "model.gguf")
    write_colour_projector(folder / "mmproj.gguf")
    return folder / "model.gguf"


def red_picture(at: int = 0) -> QImage:
    image = QImage(1200, 900, QImage.Format.Format_RGB32)
    image.fill(QColor("red"))
    painter = QPainter(image)
    painter.fillRect(at, at, 300, 300, QColor("blue"))
    painter.end()
    return image


def chips(chickadee: Chickadee) -> list[Chip]:
    return [chip for chip in chickadee.window.composer.tray.chips.widgets if isinstance(chip, Chip)]


def answered(chickadee: Chickadee, messages: int) -> bool:
    conversation = chickadee.open_chats.current
    return len(conversation.messages) == messages and not conversation.busy


def numbers(chickadee: Chickadee) -> Statistics:
    found = statistics_from_json(chickadee.open_chats.current.messages[-1].statistics)
    assert found
    return found


def test_a_chat_with_pictures(open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path) -> None:
    model = seeing_model(tmp_path)
    chickadee = open_window(model, command=None, max_tokens=4)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    assert chickadee.engine.state.sees
    red_picture().save(str(tmp_path / "red.jpg"))
    pasted = QMimeData()
    pasted.setImageData(red_picture(at=300))
    chickadee.chats.drafts.attach([tmp_path / "red.jpg"])
    chickadee.window.composer.text.insertFromMimeData(pasted)
    qtbot.waitUntil(lambda: [chip.item.tokens for chip in chips(chickadee)] == [16, 16])
    assert "about 16 tokens" in chips(chickadee)[0].face.text()
    assert "red.jpg" in chips(chickadee)[0].face.accessibleName()

    ask(chickadee, "What colour is this?")
    qtbot.waitUntil(lambda: answered(chickadee, 2))
    assert numbers(chickadee).picture_tokens == 32
    ask(chickadee, "Are you sure?")
    qtbot.waitUntil(lambda: answered(chickadee, 4))
    assert (numbers(chickadee).picture_tokens, numbers(chickadee).encoded_tokens) == (32, 0)

    sent = chickadee.window.transcript.views[0].files
    assert sent
    sent.chips[0].face.click()
    shown = chickadee.window.findChild(PictureWindow)
    assert shown
    assert shown.canvas.sizeHint().width() == 1024
    shown.close()

    chat = chickadee.open_chats.current.chat.id
    stored = chickadee.open_chats.current.messages[0].attachments
    chickadee.chats.import_export.export([chat], str(tmp_path / "chat.md"), MARKDOWN)
    qtbot.waitUntil((tmp_path / "chat.md").exists)
    beside = tmp_path / "chat files"
    assert sorted(path.read_bytes() for path in beside.iterdir()) == sorted(a.picture.data for a in stored if a.picture)
    assert "![red.jpg](<chat files/" in (tmp_path / "chat.md").read_text()
    chickadee.window.close()

    again = open_window(model, command=None)
    again.chats.chat.open(chat)
    qtbot.waitUntil(lambda: len(again.window.transcript.views) == 4)
    assert again.open_chats.current.messages[0].attachments == stored


def test_a_model_that_cannot_see_says_so(chickadee: Chickadee, qtbot: QtBot, tmp_path: Path) -> None:
    red_picture().save(str(tmp_path / "red.png"))
    chickadee.chats.drafts.attach([tmp_path / "red.png"])
    notice = chickadee.window.notice
    qtbot.waitUntil(lambda: notice.isVisible() and "Pictures need a model that can see" in notice.text.text())
    assert "red.png" in notice.text.text()
    assert notice.button.isVisible()
    wanted: list[tuple[str, object]] = []
    files = chickadee.chats.drafts.files
    files.model_wanted.connect(lambda path: wanted.append(("Use it", path)))
    downloads = chickadee.models.controller.downloads
    downloads.download_entry = lambda entry: wanted.append(("Download", entry))  # type: ignore[method-assign]
    step = notice.button.text()
    notice.button.click()
    assert [name for name, _ in wanted] == [step]
    assert not chips(chickadee)

    chickadee.chats.drafts.attach([tmp_path / "red.png"])
    qtbot.waitUntil(lambda: notice.isVisible() and "Pictures need a model that can see" in notice.text.text())
    chickadee.models.controller.use(tmp_path / "Qwen2.5-VL-3B.gguf")
    qtbot.waitUntil(notice.isHidden)


def test_full_detail_scans_and_screenshots(open_window: Opener, qtbot: QtBot, tmp_path: Path) -> None:
    os.link(shallow_model(), tmp_path / "model.gguf")
    write_projector(tmp_path / "mmproj.gguf", "qwen2vl_merger")  # larger pictures have more tokens
    chickadee = open_window(tmp_path / "model.gguf", command=None, max_tokens=4)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    red_picture().save(str(tmp_path / "red.jpg"))
    chickadee.chats.drafts.attach([tmp_path / "red.jpg"])
    qtbot.waitUntil(lambda: [chip.item.more_detail for chip in chips(chickadee)] == [True])
    (chip,) = chips(chickadee)
    assert not chip.detail_button.isHidden()
    usual = chip.item.tokens
    chip.detail_button.click()
    qtbot.waitUntil(lambda: bool(chip.item.attachment) and chip.item.tokens not in (None, usual))
    assert chip.item.attachment
    assert chip.item.attachment.picture
    assert chip.item.attachment.picture.width == 1200  # all that the file has
    assert (chip.item.tokens or 0) > 2 * (usual or 0)
    assert chip.detail.isChecked()
    chip.detail_button.click()
    qtbot.waitUntil(lambda: chip.item.tokens == usual)

    chickadee.window.commands.run("screenshot")
    qtbot.waitUntil(lambda: len(chips(chickadee)) == 2 and chips(chickadee)[1].item.attachment is not None)
    assert chips(chickadee)[1].item.name == "Screenshot"
    assert chickadee.window.isVisible()

    scan = write_pdf(tmp_path / "scan.pdf", *[jpeg_of("red")] * 21)
    chickadee.chats.drafts.attach([scan])
    qtbot.waitUntil(lambda: len(chips(chickadee)) == 20)
    assert chips(chickadee)[-1].item.name == "scan.pdf, page 18"
    assert "21 pages without text; 18 of them" in chickadee.window.notice.text.text()


def test_a_picture_that_kills_the_encoder_is_one_sentence(
    open_window: Opener, ask: Ask, qtbot: QtBot, tmp_path: Path
) -> None:
    os.link(shallow_model(), tmp_path / "model.gguf")
    write_crashing_projector(tmp_path / "mmproj.gguf")
    chickadee = open_window(tmp_path / "model.gguf", command=None, max_tokens=4)
    qtbot.waitUntil(lambda: chickadee.engine.state.phase == "ready")
    ask(chickadee, "Hello")
    qtbot.waitUntil(lambda: answered(chickadee, 2))
    red_picture().save(str(tmp_path / "red.jpg"))
    chickadee.chats.drafts.attach([tmp_path / "red.jpg"])
    qtbot.waitUntil(lambda: [chip.item.tokens for chip in chips(chickadee)] == [16])
    ask(chickadee, "What colour is this?")
    qtbot.waitUntil(lambda: answered(chickadee, 4))
    hello, greeting, question, failed = chickadee.open_chats.current.messages
    assert (hello.content, greeting.problem, question.attachments[0].name) == ("Hello", "", "red.jpg")
    sentence = worded(decode_sentence(failed.problem))
    assert "while it read a picture" in sentence
    assert sentence.count("\n") == 0

    chickadee.chats.chat.new()
    ask(chickadee, "Are you there?")  # a new engine answers
    qtbot.waitUntil(lambda: answered(chickadee, 2))
    assert chickadee.open_chats.current.messages[-1].content
