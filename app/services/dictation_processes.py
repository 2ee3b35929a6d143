"""The two processes of a dictation: one records the microphone, the other recognises what was said."""

from __future__ import annotations

import logging
import sys
from importlib.util import find_spec
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from app.events import Event
from app.services import RECORD_SOUND
from app.services.json_line_process import JsonLineProcess, decoded
from app.services.microphone import Sound
from common.engine_program import engine_command
from common.paths import path_text
from common.process_end import ProcessEnd
from common.sentences import Sentence
from engine.protocol.speech import Recognise, Recognised
from models.speech import SpeechModel

log = logging.getLogger(__name__)
LIBRARIES = ("miniaudio", "pywhispercpp")
PATIENCE_MS = 3_000  # for a recorder that was asked to end


def can_dictate() -> bool:
    """Return whether this installation has the libraries; there are none for some kinds of processors."""
    return all(find_spec(name) for name in LIBRARIES)


def recorder_command() -> list[str]:
    """Return the command that records the microphone."""
    return [sys.executable, *([RECORD_SOUND] if getattr(sys, "frozen", False) else ["-m", "app.services.microphone"])]


class DictationProcesses(QObject):
    """The `Parts` of `app.state.dictation`, whose events are these processes' words and ends.

    `recorder` and `recogniser` are the commands; the microphone's name, or the model's id and path, is added.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.recorder, self.recogniser = recorder_command(), engine_command("recognise")
        self.microphone, self.language = "", ""
        self.model: SpeechModel | None = None
        self.heard: Event[bytes] = Event()
        self.recorder_ended: Event[Sentence | None, str] = Event()
        self.recognised: Event[str] = Event()
        self.recogniser_ended: Event[Sentence, str] = Event()
        self._recorder = JsonLineProcess(self, self._hear, self._recorder_gone, errors=log)
        self._recogniser = JsonLineProcess(self, self._read, self._recogniser_gone, errors=log)
        self._late = QTimer(self)
        self._late.setSingleShot(True)
        self._late.timeout.connect(self._recorder.kill)

    def start_recorder(self) -> None:
        self._recorder.start([*self.recorder, self.microphone])

    def start_recogniser(self, model: Path) -> None:
        assert self.model is not None
        self._recogniser.start([*self.recogniser, self.model.id, path_text(model)])

    def stop_recorder(self) -> None:
        self._recorder.close_input()
        self._late.start(PATIENCE_MS)

    def recognise(self, audio: bytes) -> None:
        self._recogniser.send(Recognise(audio, self.language))

    def close(self) -> None:
        self._late.stop()
        self._recorder.close()
        self._recogniser.close()

    def _hear(self, lines: list[bytes]) -> None:
        for sound in decoded(lines, Sound):
            if sound.problem is not None:
                self._recorder.close()
                self.recorder_ended.emit(sound.problem, sound.detail)
                return
            self.heard.emit(sound.audio)

    def _recorder_gone(self, end: ProcessEnd) -> None:
        """Report the recorder's end; one that was asked to end, or had to be killed then, has no problem."""
        asked = self._late.isActive() or end.killed
        self._late.stop()
        problem = None if asked or end.exit_code == 0 else Sentence.of("dictation.recorder")
        self.recorder_ended.emit(problem, "" if problem is None else f"{end}\n{end.output}".strip())

    def _read(self, lines: list[bytes]) -> None:
        for answer in decoded(lines, Recognised):
            if answer.problem is not None:
                self._recogniser.close()
                self.recogniser_ended.emit(answer.problem, answer.detail)
                return
            if answer.is_answer:
                self.recognised.emit(answer.text)

    def _recogniser_gone(self, end: ProcessEnd) -> None:
        self.recogniser_ended.emit(Sentence.of("dictation.recogniser"), f"{end}\n{end.output}".strip())
