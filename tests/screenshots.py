"""`make screenshots`: the main states of the window as pictures, with the scripted engine.

A person looks at the pictures: alignment, spacing, what is cut off. Tests check texts, colours and keys.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication, QWidget

from app.attachments.attachment import Attachment, parts_of
from app.collections.messages import FolderProgress
from app.composer.chips import Chip
from app.composer.picture_view import PictureWindow
from app.dialogs.collections_dialog import CollectionRow
from app.dialogs.models_dialog import ModelsDialog
from app.dialogs.source_dialog import SourceDialog
from app.folders import open_folders
from app.foundation import Foundation
from app.services.worker_service import math_service
from app.state.answer_facts import sources_of
from app.state.draft import DraftFile
from app.store.chat import Chat, ChatMessage
from app.store.chat_store import ChatStore
from app.transcript.source_links import SourceLink
from app.wiring import Chickadee
from benchmarks.retrieval import DOCUMENTS
from engine.protocol.front import Served, Serving
from models.default import default_model
from tests.app.store.readers.sample_files import open_webui, write_all, write_json
from tests.screenshot_chats import fill
from tests.screenshot_tools import many_calls, tool_question, tool_server_dialog, tools_page

ENGINE = [sys.executable, "-m", "tests.app.fake_engine"]
TIMEOUT_SECONDS = 60.0
PAUSE_SECONDS = 0.6
SEES = "Qwen2.5-VL-3B-Instruct-Q4_K_M.gguf"
PAGE, OTHER_PAGE = "https://en.wikipedia.org/wiki/Mountain_hut", "https://www.alpenverein.de/huts"
USUAL, SMALL, WIDE, LEAST = (1280, 800), (700, 600), (1920, 1080), (800, 600)
Arrange = Callable[[Chickadee, dict[str, str]], QWidget | None]


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: `arrange` brings the window into a state and returns the widget to show, None for the window."""

    name: str
    arrange: Arrange
    size: tuple[int, int] = USUAL
    theme: str = "light"
    language: str = "en"
    percent: int = 100
    filled: bool = True
    model: str = "SmolLM2-135M-Instruct.gguf"


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        QApplication.processEvents()
        time.sleep(0.005)
        if time.monotonic() > end:
            raise SystemExit("the window did not come into the wanted state")


def wait(seconds: float = PAUSE_SECONDS) -> None:
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end)


# --- states ---------------------------------------------------------------------------------------------------------


def chat(name: str) -> Arrange:
    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.chats.chat.open(ids[name])

    return arrange


def new_chat(chickadee: Chickadee, _ids: dict[str, str]) -> None:
    chickadee.window.commands.run("new_chat")


def as_opened(_chickadee: Chickadee, _ids: dict[str, str]) -> None:
    """Leave the window as it opens."""


def offers(chickadee: Chickadee, _ids: dict[str, str]) -> None:
    """Show the welcome page with the models that suit this computer."""
    chickadee.window.commands.run("new_chat")
    wait_until(lambda: chickadee.window.welcome.offers.isVisible())


def ask(words: str, done: bool = True) -> Arrange:
    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.window.composer.text.setPlainText(words)
        chickadee.window.composer.submit()
        if done:
            wait_until(lambda: not chickadee.open_chats.current.busy)
        else:
            wait()

    return arrange


def branch(chickadee: Chickadee, ids: dict[str, str]) -> None:
    ask("hello")(chickadee, ids)
    chickadee.chats.messages.answer_again()
    wait_until(lambda: not chickadee.open_chats.current.busy)
    chickadee.window.transcript.focus_message(chickadee.open_chats.current.messages[-1].id)


def attachment(chickadee: Chickadee, ids: dict[str, str]) -> None:
    chickadee.chats.chat.open(ids["trip"])
    notes = Path(chickadee.store.path).with_name("packing list.md")
    notes.write_text("- boots\n- map\n" * 60, encoding="utf-8")
    chickadee.chats.drafts.attach([notes])
    wait()
    chickadee.window.composer.text.setPlainText("What is missing in this list?")


def receipt(folder: Path) -> Path:
    """Draw a receipt as a telephone takes it, and return its file."""
    image = QImage(1500, 2000, QImage.Format.Format_RGB32)
    image.fill(QColor("#6b5c4c"))
    painter = QPainter(image)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.translate(750, 1000)
    painter.rotate(-3)
    painter.fillRect(-480, -860, 960, 1720, QColor("#faf8f2"))
    font = painter.font()
    font.setPixelSize(64)
    painter.setFont(font)
    painter.setPen(QColor("#222222"))
    lines = ("Bakery Meisenhaus", "", "Rye bread      4.20", "2 rolls           1.30", "Plum cake     3.60")
    for number, line in enumerate((*lines, "", "Total              9.10", "", "25 Nov 2026, 08:14")):
        painter.drawText(-400, -680 + 130 * number, line)
    painter.end()
    image.save(str(folder / "receipt.jpg"))
    return folder / "receipt.jpg"


def picture(words: str, sends: bool = False, done: bool = True, view: bool = False) -> Arrange:
    """Attach a picture of a receipt and type `words`; send them if `sends`, and show the picture itself if `view`."""

    def arrange(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
        chickadee.window.commands.run("new_chat")
        chickadee.chats.drafts.attach([receipt(Path(chickadee.store.path).parent)])
        wait_until(lambda: chickadee.open_chats.current.draft and chickadee.open_chats.current.draft.fit == "all")
        chickadee.window.composer.text.setPlainText(words)
        chip = chickadee.window.composer.tray.chips.widgets[0]
        if view and isinstance(chip, Chip):
            chip.face.click()
            return chickadee.window.findChild(PictureWindow)
        if sends:
            ask(words, done)(chickadee, {})
        return None

    return arrange


def opened_by(command: str) -> Arrange:
    """Show the dialog that a command opens."""

    def arrange(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
        before = set(QApplication.topLevelWidgets())
        chickadee.window.commands.run(command)
        wait()
        opened = [part for part in QApplication.topLevelWidgets() if part.isVisible() and part not in before]
        return opened[0] if opened else None

    return arrange


def at_top(arrange: Arrange) -> Arrange:
    def arrange_at_top(chickadee: Chickadee, ids: dict[str, str]) -> None:
        arrange(chickadee, ids)
        wait()
        chickadee.window.commands.run("to_start")

    return arrange_at_top


def settings(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
    chickadee.settings_controller.open()
    return chickadee.settings_controller.dialog


def local_api(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    """Show the local API with a key and some requests."""
    chickadee.settings.change({"api.enabled": "on", "api.key": "sk-4f9Q2x"})
    front = chickadee.api.front
    for served in (
        Served(1, "OpenAI/Python 3.57.0", "POST", "/v1/chat/completions", 1_790_000_000.0, 4.25, 200, 1_204, 311),
        Served(2, "Anthropic/Python 0.90", "POST", "/v1/messages", 1_790_000_060.0, 0.8, 200, 88, 42),
        Served(3, "Continue/1.2", "POST", "/v1/completions", 1_790_000_090.0),
    ):
        front.told.emit(served)
    front.told.emit(Serving("http://127.0.0.1:8765"))
    chickadee.api.open()
    return chickadee.settings_controller.dialog


def importing(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    """Show the chats of other programs, those of one of them in part checked."""
    home = chickadee.store.path.parent / "home"
    write_all(home)
    os.environ["HOME"], usual = str(home), os.environ["HOME"]
    chickadee.window.commands.run("import")
    dialog = chickadee.chats.importing.dialog
    assert dialog
    wait_until(lambda: len(dialog.model.previews) == 5)
    os.environ["HOME"] = usual
    path = write_json(home / "export.json", [open_webui() | {"id": str(n), "title": f"Bird {n}"} for n in range(4)])
    chickadee.chats.importing.look_at_file(str(path))
    wait_until(lambda: len(dialog.model.previews) == 6)
    tree = dialog.model
    tree.setData(tree.index(0, 0, tree.index(5, 0)), Qt.CheckState.Unchecked.value, Qt.ItemDataRole.CheckStateRole)
    return dialog


def help_sheet(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    chickadee.window.commands.run("help")
    return chickadee.chats.palette.help.open


def about(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    chickadee.chats.palette.open_about()
    return chickadee.chats.palette.about.open


def palette(query: str) -> Arrange:
    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.chats.chat.open(ids["trip"])
        chickadee.chats.palette.palette.open()
        chickadee.chats.palette.palette.line.setText(query)

    return arrange


def folders(chickadee: Chickadee, ids: dict[str, str]) -> None:
    """Show an open folder, a folded folder and a pinned chat."""
    open_chats = chickadee.open_chats
    for name, inside in (("Garden and house", ["long"]), ("Work", ["table", "code"])):
        open_chats.move([ids[one] for one in inside], open_chats.add_folder(name).id)
    open_chats.fold(open_chats.folders()[1].id, folded=True)
    open_chats.pin([ids["trip"]])
    chickadee.chats.chat.open(ids["trip"])


def searched(words: str) -> Arrange:
    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.chats.chat.open(ids["trip"])
        chickadee.window.commands.run("find")
        chickadee.window.sidebar.field.setText(words)

    return arrange


def found_in_chat(chickadee: Chickadee, ids: dict[str, str]) -> None:
    chickadee.chats.chat.open(ids["trip"])
    chickadee.window.commands.run("find_in_chat")
    chickadee.window.find_bar.field.setText("the")


def marks(chickadee: Chickadee, ids: dict[str, str]) -> None:
    """Show a temporary chat beside chats that are being answered and one with an answer that nobody has seen."""
    for name, words in (("table", "hello"), ("long", "slow please")):
        chickadee.chats.chat.open(ids[name])
        chickadee.window.composer.text.setPlainText(words)
        chickadee.window.composer.submit()
    chickadee.window.commands.run("new_temporary_chat")
    ask("hello", done=False)(chickadee, ids)


def recently_deleted(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
    chickadee.chats.list.delete([ids["long"], ids["table"], ids["code"]])
    return opened_by("bin")(chickadee, ids)


def edit(chickadee: Chickadee, ids: dict[str, str]) -> None:
    chickadee.chats.chat.open(ids["trip"])
    wait()
    chickadee.window.commands.run("to_start")
    wait()
    chickadee.chats.messages.edit(chickadee.open_chats.current.messages[0].id)


def sidebar(chickadee: Chickadee, ids: dict[str, str]) -> None:
    chickadee.chats.chat.open(ids["trip"])
    chickadee.window.toggle_sidebar()


def undo(chickadee: Chickadee, ids: dict[str, str]) -> None:
    chickadee.chats.chat.open(ids["trip"])
    chickadee.window.commands.run("delete_chat")


def draft(chickadee: Chickadee, ids: dict[str, str]) -> None:
    chickadee.chats.chat.open(ids["trip"])
    chickadee.window.composer.text.setPlainText("Dear all,\n\nthis message has several lines,\nand grows.\n\nRegards")


def attach(name: str) -> Arrange:
    """Attach files to the next message: a `note` fits into the context, a `book` does not."""

    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.chats.chat.open(ids["trip"])
        files = [chickadee.store.path.with_name("Timetable of all ferries, summer.csv")]
        files[0].write_text("harbour,time\nNorth,08:15\n" * 40)
        if name == "book":
            files.append(chickadee.store.path.with_name("Guide to the islands.txt"))
            files[1].write_text("\n\n".join(f"Island {n} has a harbour. " + "It is quiet. " * 40 for n in range(200)))
        chickadee.window.composer.text.attached.emit(files)
        draft = chickadee.open_chats.current.draft
        wait_until(lambda: draft is not None and draft.fit != "unknown" and not draft.reading)

    return arrange


def with_file(chickadee: Chickadee, ids: dict[str, str]) -> None:
    attach("book")(chickadee, ids)
    chickadee.window.composer.tray.chosen.emit("best", None)
    ask("Which harbour is near island 77?")(chickadee, ids)
    chickadee.window.commands.run("to_end")


def model_options(size: tuple[int, int] | None = None) -> Arrange:
    """Show the options of the built-in model, in a dialog of this size."""

    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
        dialog, key = opened_by("models")(chickadee, ids), ("here", default_model())
        assert isinstance(dialog, ModelsDialog)
        wait_until(lambda: key in dialog.rows)
        dialog.action_requested.emit(key, "options")
        sheet = chickadee.models.controller.options
        assert sheet
        wait_until(lambda: sheet.plan.verdict.property("tone"))
        if size:
            sheet.resize(*size)
        return sheet

    return arrange


def page_offered(chickadee: Chickadee, ids: dict[str, str]) -> None:
    """Show the offer to read a page whose link stands in the message."""
    chickadee.chats.chat.open(ids["trip"])
    chickadee.window.composer.text.setPlainText(f"What does it say about huts?\n{PAGE}")
    wait_until(lambda: chickadee.window.composer.offers.isVisible())


def page_read(chickadee: Chickadee, ids: dict[str, str]) -> None:
    """Show a page that was read, beside the offer of another one."""
    page_offered(chickadee, ids)
    text = "# Alpine huts\n\n" + "Most huts open in June and close in October. " * 60
    attachment = Attachment(
        "Alpine huts", "web", len(text), text, parts_of(text), address=PAGE, read_at=1_790_000_000.0
    )

    drafts, conversation = chickadee.chats.drafts, chickadee.open_chats.current
    draft = drafts.keeper.draft_of(conversation)
    draft.items.append(DraftFile(attachment.name, attachment))
    drafts.files.changed.emit(conversation, draft)
    chickadee.window.composer.text.setPlainText(f"What do these say about huts?\n{PAGE} {OTHER_PAGE}")
    wait_until(lambda: chickadee.window.composer.offers.addresses == (OTHER_PAGE,))
    wait_until(lambda: chickadee.open_chats.current.draft.fit == "all")  # type: ignore[union-attr]


def titled(chickadee: Chickadee, ids: dict[str, str]) -> None:
    """Show the titles that the model gave some chats, with the menu's entry for the first line."""
    for name, title in (("trip", "Packing for a hut trip"), ("code", "A ring buffer in Python")):
        chickadee.open_chats.open(ids[name]).update_entry(title=title, title_from="model")
    chickadee.chats.chat.open(ids["trip"])
    chickadee.chats.titles.use_first_line(ids["trip"])


def snippets(chickadee: Chickadee, ids: dict[str, str]) -> None:
    """Show the list of prompt snippets above the composer."""
    chickadee.chats.chat.open(ids["trip"])
    chickadee.window.composer.setFocus()
    wait()
    chickadee.window.composer.text.insertPlainText("/")


def snippet_form(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
    """Show the form that asks for the variables of the last snippet."""
    snippets(chickadee, ids)
    popup = chickadee.chats.snippets.popup
    popup.chosen.emit(popup.shown_entries()[-2])
    return chickadee.chats.snippets.form


def quick(question: str = "") -> Arrange:
    """Show the quick window, with an answer if something is asked."""

    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
        chickadee.ask(question)
        conversation = chickadee.chats.quick.conversation
        wait_until(lambda: conversation and not conversation.busy)
        return chickadee.chats.quick.quick

    return arrange


def library(chickadee: Chickadee) -> Path:
    """Make two collections, of documents and of notes, and wait until they are indexed."""
    folder = chickadee.store.path.parent / "Documents"
    for name, source in (("Fables", "fables.txt"), ("Countries", "countries.txt")):
        (folder / name).mkdir(parents=True)
        (folder / name / source).write_bytes((DOCUMENTS / source).read_bytes())
    (folder / "Fables" / "scan.pdf").write_bytes(b"%PDF-1.4 nothing")
    for each in sorted(folder.iterdir()):
        chickadee.chats.collections.add(each)
    wait_until(lambda: not any(row.state.working or not row.state.known for row in collection_rows(chickadee)))
    return folder


def collection_rows(chickadee: Chickadee) -> list[CollectionRow]:
    collections = chickadee.chats.collections._collections
    return [CollectionRow(each, collections.state_of(each)) for each in collections.all()]


def collections(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    """Show two collections, one of which is paused and has a second folder."""
    folder = library(chickadee)
    store = chickadee.chats.collections._collections
    countries, _ = store.all()
    store.add_folder(countries.id, folder / "Fables")
    store.pause(countries.id, True)
    wait_until(lambda: all(row.state.known and not row.state.working for row in collection_rows(chickadee)))
    chickadee.window.commands.run("collections")
    dialog = chickadee.chats.collections.dialog
    assert dialog
    list(dialog.views.values())[1].buttons["unreadable"].click()
    wait_until(lambda: dialog.note.isVisible())
    return dialog


def indexing(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    """Show a collection that is being indexed, and one that was just removed."""
    folder = library(chickadee)
    store = chickadee.chats.collections._collections
    chickadee.window.commands.run("collections")
    dialog = chickadee.chats.collections.dialog
    assert dialog
    next(iter(dialog.views.values())).buttons["remove"].click()
    store.update_progress(FolderProgress(str(folder / "Fables"), "indexing", 10_000, 3_217, 12))
    return dialog


def collection_menu(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    library(chickadee)
    menu = chickadee.chats.collections.menu()
    menu.popup(chickadee.window.pos())
    return menu


def from_collection(question: str, answer: str) -> Arrange:
    """Show an answer from a collection: what is found is really searched for, the answer is given."""

    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.window.commands.run("new_chat")
        library(chickadee)
        controller, conversation = chickadee.chats.collections, chickadee.open_chats.current
        countries, fables = controller._collections.all()
        controller._collections.switch(conversation, countries.id, False)
        found: list[tuple[Attachment, ...]] = []
        controller._retriever.find(conversation, question, (), found.append)
        wait_until(lambda: bool(found))
        chat = Chat(title="A fable about an axe", collections=fables.id)
        asked = ChatMessage(chat.id, None, "user", question, stop_reason="end", attachments=found[0])
        said = ChatMessage(chat.id, asked.id, "assistant", answer, stop_reason="end", sources=sources_of(found[0]))
        chickadee.store.save(replace(chat, leaf_id=said.id), [asked, said])
        chickadee.open_chats.reload()
        chickadee.chats.chat.open(chat.id)
        ids["found"] = said.id

    return arrange


FABLE = from_collection(
    "Which fable is about honesty with a lost tool, and what is its moral?",
    "That is **Mercury and the Woodman**: a woodman drops his axe into a river, and Mercury offers him a golden and a"
    " silver one. Because the woodman refuses both and claims only his own, he gets all three.\n\n"
    "Its moral: *Honesty is the best policy.*",
)


def source(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
    FABLE(chickadee, ids)
    wait()
    links = chickadee.window.transcript.views[-1].source_links
    assert links
    link = links.widgets[0]
    assert isinstance(link, SourceLink)
    link.click()
    dialog = chickadee.window.findChild(SourceDialog)
    assert dialog
    wait_until(lambda: dialog.note.isHidden())
    return dialog


def resized(arrange: Arrange, size: tuple[int, int]) -> Arrange:
    """Show a dialog in this size."""

    def arrange_resized(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
        dialog = arrange(chickadee, ids)
        assert dialog
        wait()
        dialog.resize(*size)
        return dialog

    return arrange_resized


def persona(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
    chickadee.chats.chat.open(ids["trip"])
    chickadee.window.commands.run("chat_options")
    chickadee.chats.options.choose_persona("Editor")
    return chickadee.chats.options.panel


SHOTS = (
    Shot("first-run", as_opened, filled=False),
    Shot("first-run-chinese-150", as_opened, filled=False, language="zh_CN", percent=150),
    Shot("offers-first", offers, filled=False, model=default_model().name),
    Shot("offers", offers, model=default_model().name),
    Shot("offers-chinese-dark", offers, language="zh_CN", theme="dark", model=default_model().name),
    Shot("offers-small-150", offers, size=SMALL, percent=150, model=default_model().name),
    Shot("empty", new_chat),
    Shot("empty-dark", new_chat, theme="dark"),
    Shot("empty-small", new_chat, size=SMALL),
    Shot("empty-small-200", new_chat, size=SMALL, percent=200),
    Shot("empty-chinese", new_chat, language="zh_CN"),
    Shot("empty-coder", new_chat, model="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
    Shot("chat", chat("trip")),
    Shot("chat-dark", chat("trip"), theme="dark"),
    Shot("chat-chinese", chat("trip"), language="zh_CN"),
    Shot("chat-150", chat("trip"), percent=150),
    Shot("chat-80", chat("trip"), percent=80),
    Shot("chat-200-wide", chat("trip"), percent=200, size=WIDE),
    Shot("chat-small", chat("trip"), size=SMALL),
    Shot("chat-small-dark-150", chat("trip"), size=SMALL, theme="dark", percent=150),
    Shot("chat-wide", chat("trip"), size=WIDE),
    Shot("sidebar-small", sidebar, size=SMALL),
    Shot("long-title", chat("long")),
    Shot("long-title-small", chat("long"), size=SMALL),
    Shot("table", chat("table")),
    Shot("table-small-dark", chat("table"), size=SMALL, theme="dark"),
    Shot("code", at_top(chat("code"))),
    Shot("code-dark", at_top(chat("code")), theme="dark"),
    Shot("code-150", at_top(chat("code")), percent=150),
    Shot("draft", draft),
    Shot("attached", attach("note")),
    Shot("attached-too-much", attach("book")),
    Shot("attached-too-much-small-dark", attach("book"), size=SMALL, theme="dark"),
    Shot("attached-too-much-chinese-150", attach("book"), language="zh_CN", percent=150),
    Shot("attached-answer", with_file),
    Shot("picture", picture("What did the cake cost?"), model=SEES),
    Shot("picture-chinese-dark", picture("小票上写了什么？"), language="zh_CN", theme="dark", model=SEES),
    Shot("picture-chinese", picture("小票上写了什么？"), language="zh_CN", model=SEES),
    Shot("picture-small-150", picture("What did the cake cost?"), size=SMALL, percent=150, model=SEES),
    Shot("picture-view", picture("", view=True), model=SEES),
    Shot("picture-sent", picture("What does this receipt say?", sends=True), model=SEES),
    Shot("picture-sent-dark", picture("What does this receipt say?", sends=True), theme="dark", model=SEES),
    Shot("picture-looking", picture("How much was the cake?", sends=True, done=False), model=SEES),
    Shot("picture-looking-chinese", picture("蛋糕多少钱？", sends=True, done=False), language="zh_CN", model=SEES),
    Shot("page-offered", page_offered),
    Shot("page-offered-chinese-dark", page_offered, language="zh_CN", theme="dark"),
    Shot("page-offered-small-150", page_offered, size=SMALL, percent=150),
    Shot("page", page_read),
    Shot("page-chinese-dark", page_read, language="zh_CN", theme="dark"),
    Shot("titles", titled),
    Shot("titles-chinese-dark", titled, language="zh_CN", theme="dark"),
    Shot("snippets", snippets),
    Shot("snippets-chinese-small-dark", snippets, language="zh_CN", size=SMALL, theme="dark"),
    Shot("snippets-small-150", snippets, size=SMALL, percent=150),
    Shot("snippet-form", snippet_form),
    Shot("snippet-form-chinese-150", snippet_form, language="zh_CN", percent=150),
    Shot("snippet-dialog", opened_by("snippets")),
    Shot("snippet-dialog-small-150", resized(opened_by("snippets"), SMALL), percent=150),
    Shot("snippet-dialog-chinese-dark", opened_by("snippets"), language="zh_CN", theme="dark"),
    Shot("quick", quick("hello")),
    Shot("quick-empty-chinese-dark", quick(), language="zh_CN", theme="dark"),
    Shot("quick-150", quick("hello"), percent=150),
    Shot("collections", collections),
    Shot("collections-chinese-dark", collections, language="zh_CN", theme="dark"),
    Shot("collections-small-150", resized(collections, SMALL), percent=150),
    Shot("collections-empty", opened_by("collections")),
    Shot("collections-empty-chinese-dark", opened_by("collections"), language="zh_CN", theme="dark"),
    Shot("collections-indexing", indexing),
    Shot("collections-indexing-chinese-dark", indexing, language="zh_CN", theme="dark"),
    Shot("collection-menu", collection_menu),
    Shot("collection-menu-chinese-dark", collection_menu, language="zh_CN", theme="dark"),
    Shot("collection-answer", FABLE),
    Shot("collection-answer-chinese-small-dark", FABLE, language="zh_CN", size=SMALL, theme="dark"),
    Shot("collection-answer-small-150", FABLE, size=SMALL, percent=150),
    Shot("collection-nothing", from_collection("xyzzy plugh", "I do not know.")),
    Shot("collection-nothing-chinese-dark", from_collection("xyzzy", "?"), language="zh_CN", theme="dark"),
    Shot("collection-source", source),
    Shot("collection-source-chinese-dark", source, language="zh_CN", theme="dark"),
    Shot("persona", persona),
    Shot("persona-dark", persona, theme="dark"),
    Shot("streaming", ask("slow please", done=False)),
    Shot("reading-dark", ask("read and wait", done=False), theme="dark"),
    Shot("error", ask("refuse this")),
    Shot("error-chinese", ask("refuse this"), language="zh_CN"),
    Shot("too-long", ask("a long one")),
    Shot("too-long-chinese-dark", ask("a long one"), language="zh_CN", theme="dark"),
    Shot("engine-died", ask("die now")),
    Shot("engine-died-dark", ask("die now"), theme="dark"),
    Shot("no-model", new_chat, model="missing.gguf"),
    Shot("undo", undo),
    Shot("folders", folders),
    Shot("folders-dark-150", folders, theme="dark", percent=150),
    Shot("found", searched("weight")),
    Shot("found-nothing-chinese", searched("qqqq"), language="zh_CN"),
    Shot("found-small-dark", searched("mountains"), size=SMALL, theme="dark"),
    Shot("find", found_in_chat),
    Shot("find-chinese-dark", found_in_chat, language="zh_CN", theme="dark"),
    Shot("find-small-150", found_in_chat, size=SMALL, percent=150),
    Shot("marks", marks),
    Shot("marks-chinese-dark", marks, language="zh_CN", theme="dark"),
    Shot("bin", recently_deleted),
    Shot("bin-chinese-dark", recently_deleted, language="zh_CN", theme="dark"),
    Shot("edit", edit),
    Shot("storage", opened_by("storage")),
    Shot("chat-small-200", chat("trip"), size=SMALL, percent=200),
    Shot("long-title-chinese-dark", chat("long"), language="zh_CN", theme="dark"),
    Shot("branch", branch),
    Shot("branch-dark", branch, theme="dark"),
    Shot("attachment", attachment),
    Shot("attachment-chinese-150", attachment, language="zh_CN", percent=150),
    Shot("models", opened_by("models")),
    Shot("models-chinese-dark", opened_by("models"), language="zh_CN", theme="dark"),
    Shot("model-options", model_options()),
    Shot("model-options-dark-narrow", model_options((360, 600)), theme="dark"),
    Shot("model-options-150", model_options(), percent=150),
    Shot("model-options-chinese-200", model_options(), language="zh_CN", percent=200),
    Shot("model-options-200-narrow", model_options((560, 600)), percent=200),
    Shot("engine", opened_by("engine")),
    Shot("engine-dark", opened_by("engine"), theme="dark"),
    Shot("instructions-chinese", opened_by("chat_options"), language="zh_CN"),
    Shot("settings", settings),
    Shot("settings-dark", settings, theme="dark"),
    Shot("local-api", local_api),
    Shot("local-api-dark-chinese", local_api, theme="dark", language="zh_CN"),
    Shot("settings-chinese-150", settings, language="zh_CN", percent=150),
    Shot("import", importing),
    Shot("import-small-150", resized(importing, SMALL), percent=150),
    Shot("import-chinese-small-150", resized(importing, SMALL), language="zh_CN", percent=150),
    Shot("import-chinese-dark", importing, language="zh_CN", theme="dark"),
    Shot("help", help_sheet),
    Shot("help-chinese-dark", help_sheet, language="zh_CN", theme="dark"),
    Shot("about", about),
    Shot("about-chinese", about, language="zh_CN"),
    Shot("tools", tool_question),
    Shot("tools-small", tool_question, size=LEAST),
    Shot("tools-chinese-dark", tool_question, language="zh_CN", theme="dark"),
    Shot("tools-many-small", many_calls, size=LEAST),
    Shot("tools-many-small-150", many_calls, size=LEAST, percent=150),
    Shot("tools-page-chinese", tools_page, language="zh_CN"),
    Shot("tool-server", tool_server_dialog),
    Shot("tool-server-small-chinese", resized(tool_server_dialog, LEAST), language="zh_CN"),
    Shot("tool-server-small-150", resized(tool_server_dialog, LEAST), percent=150),
    Shot("palette", palette("")),
    Shot("palette-found-dark", palette("mou"), theme="dark"),
    Shot("palette-chinese-small", palette(""), language="zh_CN", size=SMALL),
)


def take_picture(shot: Shot, folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="chickadee-shot-") as data:
        folders = open_folders(Path(data) / "data")
        ids = {}
        if shot.filled:
            store = ChatStore(folders.store)
            ids = fill(store)
            store.close()
        folders.settings.write_text(
            f'[window]\nlanguage = "{shot.language}"\ntheme = "{shot.theme}"\ntext_size = {shot.percent}\n'
        )
        chickadee = Chickadee(Foundation(folders, Path(data) / shot.model, ENGINE))
        chickadee.window.resize(*shot.size)
        chickadee.window.show()
        chickadee.start()
        wait_until(lambda: chickadee.engine.state.phase in ("ready", "failed"))
        seen = shot.arrange(chickadee, ids) or chickadee.window
        wait()
        wait_until(lambda: not math_service().busy)
        wait(0.1)
        seen.grab().save(str(folder / f"{shot.name}.png"))
        chickadee.window.close()
        chickadee.window.deleteLater()
        wait(0.05)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description="Take pictures of the window.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("screenshots"), help="default: screenshots")
    parser.add_argument("wanted", nargs="*", metavar="WORD", help="only pictures with one of these words in their name")
    options = parser.parse_args()
    folder, wanted = options.folder, options.wanted
    folder.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    os.environ |= {"LANGUAGE": "en", "LC_ALL": "C.UTF-8"}
    application = QApplication(["chickadee"])
    application.setStyle("Fusion")
    with tempfile.TemporaryDirectory(prefix="chickadee-shots-") as cache:
        os.environ["CHICKADEE_CACHE_DIR"] = cache
        for shot in SHOTS:
            if not wanted or any(word in shot.name for word in wanted):
                take_picture(shot, folder)
                sys.stdout.write(f"{folder / shot.name}.png\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
