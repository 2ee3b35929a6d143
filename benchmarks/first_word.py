"""The window's program that asks a question as soon as the model is loaded, started by `benchmarks.startup`.

    python -m benchmarks.first_word STARTED FOLDER MODEL

Prints the seconds from STARTED (Unix time) until the model was loaded, and from Enter until the answer's first word.
The program makes its window only after the engine was started, so nothing of the window is imported here before that.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import TYPE_CHECKING

from app import foundation
from app.__main__ import main as run_program

if TYPE_CHECKING:
    from app.state.engine_state import EngineState
    from app.wiring import Chickadee

QUESTION = "Say hello in one short sentence."
PAUSE_MS, LOOK_MS = 300, 2  # between the loaded model and Enter, as a quick user needs; between looks for a word


class Foundation(foundation.Foundation):
    """The program's own foundation, behind which the scripted user waits for the window."""

    def start(self) -> None:
        super().start()
        import app.wiring

        class Used(app.wiring.Chickadee):
            def start(self) -> None:
                super().start()
                self.user = User(self)

        app.wiring.Chickadee = Used  # type: ignore[misc]


class User:
    """A user who types the question once the model is loaded, waits for the first word, and closes the window."""

    def __init__(self, chickadee: Chickadee) -> None:
        from PySide6.QtCore import QTimer

        self.chickadee, self.seconds = chickadee, dict[str, float]()
        self.pause = QTimer(singleShot=True, interval=PAUSE_MS)
        self.pause.timeout.connect(self.ask)
        self.look = QTimer(interval=LOOK_MS)
        self.look.timeout.connect(self.wait)
        chickadee.engine.state.phase_changed.connect(self.note_phase)

    def note_phase(self, state: EngineState) -> None:
        if state.phase == "ready" and not self.seconds:
            self.seconds["ready"] = time.time() - float(sys.argv[1])
            self.pause.start()

    def ask(self) -> None:
        self.pressed = time.time()
        self.chickadee.window.composer.text.setPlainText(QUESTION)
        self.chickadee.window.composer.button.click()
        self.look.start()

    def wait(self) -> None:
        messages = self.chickadee.open_chats.current.messages
        if messages[-1].role == "assistant" and messages[-1].content.strip():
            self.look.stop()
            self.seconds["first word"] = time.time() - self.pressed
            print(json.dumps(self.seconds), flush=True)
            self.chickadee.window.quit()


if __name__ == "__main__":
    os.environ["CHICKADEE_CACHE_DIR"] = sys.argv[2]
    foundation.Foundation = Foundation  # type: ignore[misc]
    sys.exit(run_program(["--data-dir", sys.argv[2], "--model", sys.argv[3]]))
