"""Dictation: from the microphone button to the text in the composer, and the download of the model that it needs."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from app.control.draft_controller import DraftController
from app.control.model_controller import ModelController
from app.languages import language_of
from app.look.speech import announce
from app.services.dictation_processes import DictationProcesses, can_dictate
from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.dictation import Dictation, Outcome
from app.state.open_chats import OpenChats
from app.window import Window
from app.words import mark, tr
from common.byte_sizes import show_bytes
from common.failures import Failure
from common.files import is_file
from models.download_queue import DownloadJob
from models.locations import own_folder
from models.network import offline_reason
from models.speech import LICENCE, MODELS, REPO, SpeechModel

TOPIC = "dictation"  # of its problems and questions
NEEDED = mark(
    "Dictation needs a speech model, {file}: {size} from huggingface.co/{repo}, {licence} licence, checked against a "
    "fixed digest. What you say stays on this computer and is never stored."
)
DAMAGED = "dictation.damaged"


class DictationController(QObject):
    """Controller of dictation, which `toggle` begins and ends."""

    def __init__(
        self,
        window: Window,
        open_chats: OpenChats,
        models: ModelController,
        drafts: DraftController,
        settings: Settings,
    ) -> None:
        super().__init__(window)
        self._window, self._open_chats, self._models, self._settings = window, open_chats, models, settings
        self._texts: list[tuple[Conversation, str]] = []  # those whose chat is not shown, or is locked, now
        processes = self.processes = DictationProcesses(self)
        self.dictation = Dictation(processes)
        self._target: Conversation | None = None
        if not can_dictate():
            window.commands.actions["dictate"].setVisible(False)
            window.composer.dictate_button.hide()
            return
        self._connect(drafts)

    def _connect(self, drafts: DraftController) -> None:
        dictation, processes, line = self.dictation, self.processes, self._window.composer.dictation
        processes.heard.connect(dictation.heard)
        processes.recorder_ended.connect(dictation.recorder_ended)
        processes.recognised.connect(dictation.recognised)
        processes.recogniser_ended.connect(dictation.recogniser_ended)
        dictation.changed.connect(self._show)
        line.finished.connect(dictation.finish)
        line.cancelled.connect(dictation.cancel)
        self._models.downloads.ended.connect(self._download_ended)
        self._open_chats.current_changed.connect(self._insert)
        drafts.sending.changed.connect(self._insert)
        self._window.commands.bind("dictate", self.toggle)

    def close(self) -> None:
        """End a dictation, because the window is closing."""
        self.dictation.cancel()

    def toggle(self) -> None:
        """Begin to record; or end the recording, whose text is then written into the composer."""
        if self.dictation.phase == "recording":
            self.dictation.finish()
        elif not self.dictation.busy:
            self._begin()

    def _begin(self) -> None:
        self._window.notice.solve(TOPIC)
        model, values = self._model, self._settings.values
        path = model.path(self._folder)
        self.processes.model, self.processes.microphone = model, str(values["window.microphone"]).strip()
        self.processes.language = self._language
        self.dictation.begin(path if is_file(path) else None, self._answered)
        if self.dictation.phase == "needs_model":
            self._offer(model)

    @property
    def _model(self) -> SpeechModel:
        return MODELS[str(self._settings.values["window.dictation_model"])]

    @property
    def _language(self) -> str:
        """ISO 639 code of the language that is spoken; "" if it is to be recognised."""
        values = self._settings.values
        if values["window.dictation_language"] != "window":
            return ""
        return language_of(str(values["window.language"])).partition("_")[0]

    @property
    def _folder(self) -> Path:
        return own_folder(self._settings.path)

    # --- the text ---------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        """Show the dictation; note the chat for which its text is, at the moment when the user ends it."""
        if self.dictation.phase == "recording":
            self._target = self._open_chats.current
        self._window.composer.dictation.show_dictation(self.dictation)

    def _answered(self, outcome: Outcome) -> None:
        target = self._target or self._open_chats.current
        if outcome.text:
            self._texts.append((target, outcome.text))
            announce(self._window.composer, outcome.text)
            self._insert()
        elif outcome.problem is not None and outcome.problem.id == DAMAGED:
            self._drop_damaged(outcome)
        elif outcome.problem is not None:
            self._window.notice.post_failure(Failure(outcome.problem, outcome.detail), TOPIC)

    def _insert(self, *_: object) -> None:
        """Insert the texts whose chat is shown and takes one now; the others wait until it is."""
        composer, current = self._window.composer, self._open_chats.current
        if composer.text.isReadOnly():  # a search for the message is under way, and its end clears the text
            return
        for target, text in [each for each in self._texts if each[0] is current]:
            self._texts.remove((target, text))
            composer.insert_text(text)

    # --- the model --------------------------------------------------------------------------------------------------

    def _offer(self, model: SpeechModel) -> None:
        """Say what is missing, with the button that downloads it; or why it cannot be downloaded."""
        words = {"file": model.file, "size": show_bytes(model.size), "repo": REPO, "licence": LICENCE}
        if any(job.name == model.file and not job.is_over for job in self._models.list.jobs):
            self._window.notice.post(lambda: tr("The speech model is being downloaded."), topic=TOPIC)
        elif offline := offline_reason(self._settings.path):
            self._window.notice.post(offline, kind="problem", topic=TOPIC)
        else:
            self._window.notice.post(
                lambda: tr(NEEDED, **words), lambda: tr("Download"), lambda: self._download(model), topic=TOPIC
            )

    def _download(self, model: SpeechModel) -> None:
        try:
            self._models.downloads.queue(model.download(self._models.downloads.hub, self._folder))
        except Failure as failure:
            self._window.notice.post_failure(failure, TOPIC)

    def _download_ended(self, job: DownloadJob) -> None:
        """Say that dictation is ready; what went wrong is said for all downloads alike."""
        if job.state == "done" and job.path == self._model.path(self._folder):
            self.dictation.model_arrived()
            self._window.notice.solve(TOPIC)
            self._window.notice.post(lambda: tr("You can dictate now: press the microphone."))

    def _drop_damaged(self, outcome: Outcome) -> None:
        """Delete a file that is not the model, and offer to download it again."""
        model = self._model
        try:
            model.delete(self._folder)
        except Failure as failure:
            self._window.notice.post_failure(failure, TOPIC)
            return
        assert outcome.problem is not None
        self._window.notice.post(
            outcome.problem,
            lambda: tr("Download again"),
            lambda: self._download(model),
            kind="problem",
            topic=TOPIC,
        )
