"""`make screenshots`: the main states of the window as pictures, with the scripted engine.

They are to be looked at: alignment, spacing, what is cut off. That words, colours and keys are right is tested.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import QApplication, QWidget

from app.dialogs.models_dialog import ModelsDialog
from app.folders import open_folders
from app.services.math_service import math_service
from app.store.chat_store import ChatStore
from app.wiring import Chickadee
from models.default import default_model
from tests.screenshot_chats import fill

ENGINE = [sys.executable, "-m", "tests.app.fake_engine"]
PATIENCE = 20.0
SETTLE = 0.6
USUAL, SMALL, WIDE = (1280, 800), (700, 600), (1920, 1080)
Arrange = Callable[[Chickadee, dict[str, str]], QWidget | None]


@dataclass(frozen=True, slots=True)
class Shot:
    """`arrange` brings the window into the state, and returns what is to be seen if that is not the window."""

    name: str
    arrange: Arrange
    size: tuple[int, int] = USUAL
    theme: str = "light"
    language: str = "en"
    percent: int = 100
    filled: bool = True
    model: str = "SmolLM2-135M-Instruct.gguf"


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        QApplication.processEvents()
        time.sleep(0.005)
        if time.monotonic() > end:
            raise SystemExit("the window did not come into the wanted state")


def settle(seconds: float = SETTLE) -> None:
    end = time.monotonic() + seconds
    until(lambda: time.monotonic() > end)


# --- states ---------------------------------------------------------------------------------------------------------


def chat(name: str) -> Arrange:
    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.chats.chat.open(ids[name])

    return arrange


def new(chickadee: Chickadee, _ids: dict[str, str]) -> None:
    chickadee.window.commands.run("new_chat")


def nothing(_chickadee: Chickadee, _ids: dict[str, str]) -> None:
    """As it comes up."""


def ask(words: str, done: bool = True) -> Arrange:
    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.window.composer.text.setPlainText(words)
        chickadee.window.composer.submit()
        if done:
            until(lambda: not chickadee.open_chats.current.busy)
        else:
            settle()

    return arrange


def branch(chickadee: Chickadee, ids: dict[str, str]) -> None:
    ask("hello")(chickadee, ids)
    chickadee.chats.messages.answer_again()
    until(lambda: not chickadee.open_chats.current.busy)
    chickadee.window.transcript.focus_message(chickadee.open_chats.current.messages[-1].id)


def attachment(chickadee: Chickadee, ids: dict[str, str]) -> None:
    chickadee.chats.chat.open(ids["trip"])
    notes = Path(chickadee.store.path).with_name("packing list.md")
    notes.write_text("- boots\n- map\n" * 60, encoding="utf-8")
    chickadee.chats.drafts.attach([notes])
    settle()
    chickadee.window.composer.text.setPlainText("What is missing in this list?")


def run(command: str) -> Arrange:
    """A window of its own that a command opens."""

    def arrange(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
        before = set(QApplication.topLevelWidgets())
        chickadee.window.commands.run(command)
        settle()
        opened = [part for part in QApplication.topLevelWidgets() if part.isVisible() and part not in before]
        return opened[0] if opened else None

    return arrange


def top(arrange: Arrange) -> Arrange:
    def then_up(chickadee: Chickadee, ids: dict[str, str]) -> None:
        arrange(chickadee, ids)
        settle()
        chickadee.window.commands.run("to_start")

    return then_up


def settings(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
    chickadee.settings_controller.open()
    return chickadee.settings_controller.dialog


def help_sheet(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    chickadee.chats.palette.open_help()
    return chickadee.chats.palette.help


def about(chickadee: Chickadee, _ids: dict[str, str]) -> QWidget | None:
    chickadee.chats.palette.open_about()
    return chickadee.chats.palette.about


def palette(query: str) -> Arrange:
    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.chats.chat.open(ids["trip"])
        chickadee.chats.palette.palette.open()
        chickadee.chats.palette.palette.line.setText(query)

    return arrange


def folders(chickadee: Chickadee, ids: dict[str, str]) -> None:
    """One open, one folded, a pinned chat."""
    open_chats = chickadee.open_chats
    for name, inside in (("Garden and house", ["long"]), ("Work", ["table", "code"])):
        open_chats.move([ids[one] for one in inside], open_chats.add_folder(name).id)
    open_chats.fold(open_chats.folders()[1].id, folded=True)
    open_chats.pin([ids["trip"]])
    chickadee.chats.chat.open(ids["trip"])


def found(words: str) -> Arrange:
    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.chats.chat.open(ids["trip"])
        chickadee.window.commands.run("find")
        chickadee.window.sidebar.field.setText(words)

    return arrange


def recently_deleted(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
    chickadee.chats.list.delete([ids["long"], ids["table"], ids["code"]])
    return run("bin")(chickadee, ids)


def edit(chickadee: Chickadee, ids: dict[str, str]) -> None:
    chickadee.chats.chat.open(ids["trip"])
    settle()
    chickadee.window.commands.run("to_start")
    settle()
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
    """A file beside the next message of the trip: `note` fits, `book` does not."""

    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> None:
        chickadee.chats.chat.open(ids["trip"])
        files = [chickadee.store.path.with_name("Timetable of all ferries, summer.csv")]
        files[0].write_text("harbour,time\nNorth,08:15\n" * 40)
        if name == "book":
            files.append(chickadee.store.path.with_name("Guide to the islands.txt"))
            files[1].write_text("\n\n".join(f"Island {n} has a harbour. " + "It is quiet. " * 40 for n in range(200)))
        chickadee.window.composer.text.attached.emit(files)
        draft = chickadee.open_chats.current.draft
        until(lambda: draft is not None and draft.fit != "unknown" and not draft.reading)

    return arrange


def with_file(chickadee: Chickadee, ids: dict[str, str]) -> None:
    attach("book")(chickadee, ids)
    chickadee.window.composer.tray.chosen.emit("best", None)
    ask("Which harbour is near island 77?")(chickadee, ids)
    chickadee.window.commands.run("to_end")


def model_options(size: tuple[int, int] | None = None) -> Arrange:
    """The built-in model's, on a sheet of that size."""

    def arrange(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
        dialog, key = run("models")(chickadee, ids), ("here", default_model())
        assert isinstance(dialog, ModelsDialog)
        until(lambda: key in dialog.rows)
        dialog.asked.emit(key, "options")
        sheet = chickadee.models.controller.options
        assert sheet
        until(lambda: sheet.plan.verdict.property("tone"))
        if size:
            sheet.resize(*size)
        return sheet

    return arrange


def persona(chickadee: Chickadee, ids: dict[str, str]) -> QWidget | None:
    chickadee.chats.chat.open(ids["trip"])
    chickadee.window.commands.run("chat_options")
    chickadee.chats.options.choose("Editor")
    return chickadee.chats.options.panel


SHOTS = (
    Shot("first-run", nothing, filled=False),
    Shot("first-run-chinese-150", nothing, filled=False, language="zh_CN", percent=150),
    Shot("empty", new),
    Shot("empty-dark", new, theme="dark"),
    Shot("empty-small", new, size=SMALL),
    Shot("empty-small-200", new, size=SMALL, percent=200),
    Shot("empty-chinese", new, language="zh_CN"),
    Shot("empty-coder", new, model="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"),
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
    Shot("code", top(chat("code"))),
    Shot("code-dark", top(chat("code")), theme="dark"),
    Shot("code-150", top(chat("code")), percent=150),
    Shot("draft", draft),
    Shot("attached", attach("note")),
    Shot("attached-too-much", attach("book")),
    Shot("attached-too-much-small-dark", attach("book"), size=SMALL, theme="dark"),
    Shot("attached-too-much-chinese-150", attach("book"), language="zh_CN", percent=150),
    Shot("attached-answer", with_file),
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
    Shot("no-model", new, model="missing.gguf"),
    Shot("undo", undo),
    Shot("folders", folders),
    Shot("folders-dark-150", folders, theme="dark", percent=150),
    Shot("found", found("weight")),
    Shot("found-nothing-chinese", found("qqqq"), language="zh_CN"),
    Shot("found-small-dark", found("mountains"), size=SMALL, theme="dark"),
    Shot("bin", recently_deleted),
    Shot("bin-chinese-dark", recently_deleted, language="zh_CN", theme="dark"),
    Shot("edit", edit),
    Shot("storage", run("storage")),
    Shot("chat-small-200", chat("trip"), size=SMALL, percent=200),
    Shot("long-title-chinese-dark", chat("long"), language="zh_CN", theme="dark"),
    Shot("branch", branch),
    Shot("branch-dark", branch, theme="dark"),
    Shot("attachment", attachment),
    Shot("attachment-chinese-150", attachment, language="zh_CN", percent=150),
    Shot("models", run("models")),
    Shot("models-chinese-dark", run("models"), language="zh_CN", theme="dark"),
    Shot("model-options", model_options()),
    Shot("model-options-dark-narrow", model_options((360, 600)), theme="dark"),
    Shot("model-options-150", model_options(), percent=150),
    Shot("model-options-chinese-200", model_options(), language="zh_CN", percent=200),
    Shot("model-options-200-narrow", model_options((560, 600)), percent=200),
    Shot("engine", run("engine")),
    Shot("engine-dark", run("engine"), theme="dark"),
    Shot("instructions-chinese", run("chat_options"), language="zh_CN"),
    Shot("settings", settings),
    Shot("settings-dark", settings, theme="dark"),
    Shot("settings-chinese-150", settings, language="zh_CN", percent=150),
    Shot("help", help_sheet),
    Shot("help-chinese-dark", help_sheet, language="zh_CN", theme="dark"),
    Shot("about", about),
    Shot("about-chinese", about, language="zh_CN"),
    Shot("palette", palette("")),
    Shot("palette-found-dark", palette("mou"), theme="dark"),
    Shot("palette-chinese-small", palette(""), language="zh_CN", size=SMALL),
)


def take(shot: Shot, folder: Path) -> None:
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
        chickadee = Chickadee(folders, Path(data) / shot.model, ENGINE)
        chickadee.window.resize(*shot.size)
        chickadee.window.show()
        chickadee.start()
        until(lambda: chickadee.engine.state.phase in ("ready", "failed"))
        seen = shot.arrange(chickadee, ids) or chickadee.window
        settle()
        until(lambda: not math_service().busy)
        settle(0.1)
        seen.grab().save(str(folder / f"{shot.name}.png"))
        chickadee.window.close()
        chickadee.window.deleteLater()
        settle(0.05)


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
                take(shot, folder)
                sys.stdout.write(f"{folder / shot.name}.png\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
