"""`--self-test`: asks the model used last one question through the real window; finds the answer in the database."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from app.folders import open_folders
from app.foundation import Foundation
from app.state.conversation import Conversation
from app.state.engine_state import EngineState
from app.store.chat import ChatMessage
from app.wiring import Chickadee
from common.failures import CommandFailure
from common.folders import data_folder
from common.paths import path_of
from common.sentences import decode_sentence

QUESTION = "Say hello in one short sentence."
PATIENCE_MS = 100_000  # an old, busy processor takes half a minute
MAX_TOKENS = 16  # few, so that a busy machine answers in time too


def run(application: QApplication, model: Path | None, data: Path | None) -> str:
    """Run the self-test and return the line to print on success; raise Failure with the problem otherwise.

    `data` is the user's folder (None: the usual one). Only the recent models are read there: the test has a folder of
    its own, and its start chooses the model as the user's next start will.
    """
    recent = recent_models(data or data_folder())
    with tempfile.TemporaryDirectory(prefix="chickadee-") as folder:
        os.environ["CHICKADEE_CACHE_DIR"] = str(Path(folder) / "cache")  # deleted with the folder when the test ends
        chickadee = Chickadee(Foundation(open_folders(Path(folder)), model, max_tokens=MAX_TOKENS))
        for path in reversed(recent):
            chickadee.store.remember_model(path)
        try:
            chickadee.window.show()
            _ask(chickadee)
        finally:
            chickadee.window.quit()
            application.processEvents()
        return _stored(Path(folder) / "library.sqlite3")


def recent_models(data: Path) -> list[Path]:
    """Return the models that the user has used, the latest first; none without a readable store. Writes nothing."""
    store = data / "library.sqlite3"
    if not store.is_file():
        return []
    with contextlib.closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True)) as db:
        try:
            return [path_of(path) for (path,) in db.execute("SELECT path FROM recent_models ORDER BY opened_at DESC")]
        except sqlite3.Error:  # damaged, or of a version without the table: the start repairs it and says so
            return []


def _ask(chickadee: Chickadee) -> None:
    loop, problems = QEventLoop(), ["No answer came in time."]

    def note_problem(state: EngineState) -> None:
        if state.problem:
            problems[:] = [str(state.problem.sentence)]
            loop.quit()

    def note_end(_conversation: Conversation, answer: ChatMessage) -> None:
        problems[:] = [str(decode_sentence(answer.problem))] if answer.problem else []
        loop.quit()

    chickadee.engine.state.problem_changed.connect(note_problem)
    chickadee.open_chats.answer_ended.connect(note_end)
    chickadee.start()
    chickadee.window.composer.text.setPlainText(QUESTION)
    chickadee.window.composer.button.click()
    QTimer.singleShot(PATIENCE_MS, loop, loop.quit)
    loop.exec()
    if problems:
        raise CommandFailure("self_test", problems[0])


def _stored(path: Path) -> str:
    with sqlite3.connect(path) as db:
        rows = db.execute("SELECT role, content, stop_reason, model FROM messages ORDER BY number").fetchall()
    db.close()
    if len(rows) != 2 or rows[0][:2] != ("user", QUESTION) or rows[1][0] != "assistant" or not rows[1][1].strip():
        raise CommandFailure("self_test", f"The question and its answer were not stored as they should be: {rows!r}")
    _, text, ending, model = rows[1]
    return f"self-test passed: {model} answered ({len(text)} characters, {ending}), question and answer are stored"
