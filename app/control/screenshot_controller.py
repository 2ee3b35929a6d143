"""The command that takes a picture of the screen and attaches it. It is offered where the desktop allows it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QImage

from app.control.draft_controller import DraftController
from app.services import screen
from app.services.background import Background
from app.window import Window
from app.words import mark, tr
from common.failures import Failure

TOPIC = "screenshot"  # of problems with taking one
NONE_TAKEN = mark("The screen could not be read. Your system may forbid it: check its privacy settings.")


class ScreenshotController(QObject):
    """Controller of “Take a screenshot”."""

    def __init__(self, window: Window, drafts: DraftController) -> None:
        super().__init__(window)
        self._window, self._drafts = window, drafts
        self._background = Background(self)
        self._grabs = screen.can_grab()
        if self._grabs or screen.has_portal():
            window.commands.bind("screenshot", self.take)
        else:
            window.commands.actions["screenshot"].setVisible(False)

    def take(self) -> None:
        """Take a picture, unless the model cannot see: then say so."""
        self._window.notice.solve(TOPIC)
        if not self._drafts.files.can_attach_picture(self._drafts.current):
            return
        if self._grabs:
            screen.grab_behind(self._window, self._taken)
        else:
            self._background.run(screen.screenshot_by_portal, self._taken, self._failed)

    def _taken(self, taken: QImage | Path | None) -> None:
        if isinstance(taken, Path):
            self._drafts.attach([taken])
        elif taken is not None and not taken.isNull():
            self._drafts.files.attach_image(self._drafts.current, taken, tr("Screenshot"))
        elif taken is not None:
            self._window.notice.post(lambda: tr(NONE_TAKEN), kind="problem", topic=TOPIC)

    def _failed(self, failure: Failure) -> None:
        self._window.notice.post_failure(failure, TOPIC)
