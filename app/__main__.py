"""Starts the window: `python -m app [--data-dir PATH] [--ask [TEXT]] [--self-test] [MODEL]`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.application import Application

from app.attachments import READ_FILE
from app.collections import INDEX_FILES, SEARCH_INDEX
from app.fatal import DISPLAYLESS, announce
from app.services import RECORD_SOUND
from app.tools.mcp import SERVE_TOOLS
from common.failures import Failure
from common.paths import path_of, path_text
from common.sentences import Sentence
from models.terminal import run_command

SIGNALS = (signal.SIGINT, signal.SIGTERM)
TERMINAL = "chickadee-engine chat" if getattr(sys, "frozen", False) else "make chat"


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code.

    0: the window was closed or the model handed to a running window; 1: the environment failed; 2: a bad model was
    named.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == [READ_FILE] and len(arguments) in (2, 3):  # a packaged app is its own child process
        from app.attachments import child

        return child.read_confined(arguments[1], *map(int, arguments[2:]))
    if arguments[:1] in ([INDEX_FILES], [SEARCH_INDEX]) and len(arguments) == 2:
        from app.collections import process

        return process.main(*arguments)
    if arguments == [SERVE_TOOLS]:
        from app.tools.mcp import child as tool_server

        return tool_server.main()
    if arguments[:1] == [RECORD_SOUND] and len(arguments) == 2:
        from app.services import microphone

        microphone.main(arguments[1])
    options = _parser().parse_args(arguments)
    if options.draw_formulas:
        from app.services import math_worker

        math_worker.main()
        return 0
    if options.colour_code:
        from app.services import colour_worker

        colour_worker.main()
        return 0
    if options.ask is not None and _asked_running(options.data_dir, " ".join(options.ask)):
        return 0
    if not _has_display():
        return _fail(Sentence.of("start.no_display", command=TERMINAL))
    try:
        model = _checked(options.model or options.file)
    except Failure as failure:
        return _fail(failure.sentence, code=2)
    try:
        return _run(options, model)
    except Failure as failure:
        return _fail(failure.sentence)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="chickadee", description="Private chat on the laptop you already have.")
    parser.add_argument("file", type=path_of, nargs="?", metavar="MODEL", help="the same as --model, for file managers")
    parser.add_argument("--model", type=path_of, metavar="PATH", help="a GGUF model file (default: the one used last)")
    parser.add_argument("--data-dir", type=Path, metavar="PATH", help="where chats are stored")
    parser.add_argument("--ask", nargs="*", metavar="TEXT", help="open the quick window, and ask TEXT there")
    parser.add_argument("--self-test", action="store_true", help="ask one question, check the answer is stored, end")
    # A packaged app starts the workers of app.services.worker_service by these options.
    parser.add_argument("--draw-formulas", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--colour-code", action="store_true", help=argparse.SUPPRESS)
    return parser


def _asked_running(data: Path | None, text: str) -> bool:
    """Ask the running program to show its quick window; return False if none is running.

    Qt is not loaded for that, so that the window is there at once.
    """
    from app.folders import open_folders
    from app.services.running_program import ask_running

    try:
        return ask_running(open_folders(data).data, text)
    except Failure:  # the start that follows says it
        return False


def _has_display() -> bool:
    if not sys.platform.startswith("linux"):
        return True
    platform = os.environ.get("QT_QPA_PLATFORM", "").split(":")[0].split(";")[0]
    return platform in DISPLAYLESS or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _checked(model: Path | None) -> Path | None:
    if model is None:
        return None
    from models.header import read_header  # imported late: only needed if a model is named

    return read_header(model.absolute()).path


def _run(options: argparse.Namespace, model: Path | None) -> int:
    from app.fatal import missing_library_failure, require_platform

    require_platform()
    try:
        from app.application import Application
    except ImportError as error:
        raise missing_library_failure(str(error)) from error
    application = Application(sys.argv[:1])
    application.setApplicationName("Chickadee")
    application.setDesktopFileName("chickadee")
    application.setStyle("Fusion")
    if options.self_test:
        from app import self_test

        _say(self_test.run(application, model, options.data_dir))
        return 0
    return _open(application, options.data_dir, model, None if options.ask is None else " ".join(options.ask))


def _open(application: Application, data: Path | None, model: Path | None, question: str | None) -> int:
    from app.folders import be_private, open_folders
    from app.services.logs import start_logging, stop_logging
    from app.services.single_instance import SingleInstance
    from app.words import in_system_language

    be_private()
    folders = open_folders(data)
    instance = SingleInstance(folders.data)
    if not instance.claim(path_text(model or ""), question):
        if question is None:
            _say(in_system_language(Sentence.of("start.already_open")))
        return 0
    start_logging(folders.logs)
    from app.foundation import Foundation

    foundation = Foundation(folders, model)
    foundation.start()
    # Imported only now: this takes as long as the engine takes to start.
    from PySide6.QtCore import QTimer

    from app.bugs import BUG, log_bugs
    from app.services.frames import FirstFrame
    from app.services.json_line_process import wait_for_children
    from app.services.preparation import remaining_command
    from app.services.signals import Signals
    from app.wiring import Chickadee

    try:
        chickadee = Chickadee(foundation, remaining_command())
        log_bugs(lambda: chickadee.window.notice.post(BUG, kind="problem"))
        instance.raised.connect(chickadee.raise_window)
        instance.asked.connect(chickadee.ask)
        chickadee.window.closing.connect(instance.stop_listening)
        application.file_opened.connect(chickadee.raise_window)
        FirstFrame(chickadee.window)
        chickadee.window.show()
        someone_is_there = True

        def end_session(*_: object) -> None:
            nonlocal someone_is_there
            someone_is_there = False
            chickadee.window.quit()

        application.commitDataRequest.connect(end_session)
        signals = Signals(application, SIGNALS, end_session)
        QTimer.singleShot(0, chickadee.start)
        if question is not None:
            QTimer.singleShot(0, lambda: chickadee.ask(question))
        code = application.exec()
        wait_for_children()  # those that `aboutToQuit` has closed
        signals.close()
        if chickadee.unsaved_sentences:
            announce("\n".join(chickadee.unsaved_sentences), waits=someone_is_there)
        return code
    finally:
        instance.release()
        stop_logging()


def _say(text: str) -> None:
    if sys.stdout is not None:  # a program without a console on Windows has none
        sys.stdout.write(text + "\n")


def _fail(sentence: Sentence, code: int = 1) -> int:
    from app.words import in_system_language

    announce(in_system_language(sentence))
    return code


if __name__ == "__main__":
    sys.exit(run_command(main))
