"""The dialog of chats to import: looks at the places of other programs and at chosen files, in a thread of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer

from app.control.import_export_controller import ImportExportController
from app.dialogs.import_dialog import ImportDialog
from app.look.sheet import HasDialog, OneDialog
from app.services.background import Background
from app.store.importing import Choice, Preview, preview
from app.store.readers.neutral import ENDINGS
from app.store.readers.places import Source, found_sources
from app.store.transfer import Stopped, TransferProgress
from app.window import Window
from app.words import tr

log = logging.getLogger(__name__)

PROGRESS_EVERY_MS = 200


class ImportController(QObject, HasDialog[ImportDialog]):
    """Controller of the import dialog; `import_export` does what the dialog asks for."""

    def __init__(
        self,
        window: Window,
        import_export: ImportExportController,
        sources: Callable[[], list[Source]] = found_sources,
    ) -> None:
        super().__init__(window)
        self._window, self._import_export, self._sources = window, import_export, sources
        self._dialog = OneDialog[ImportDialog](self._stop_looking)
        self._background = Background(self)
        self._progress = TransferProgress()
        self._reading = 0  # places and files that are being read, or wait for that
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._show_looking)
        window.commands.bind("import", self.open)

    def close(self) -> None:
        self._stop_looking()
        self._background.wait()

    def open(self) -> None:
        """Show the dialog and look for chats."""
        self._dialog.show(lambda: ImportDialog(self._window), self._connect)

    def _connect(self, dialog: ImportDialog) -> None:
        dialog.file_requested.connect(self._ask_for_file)
        dialog.import_requested.connect(self._import_export.import_choices)
        self._look(self._sources, chosen=False)

    def look_at_file(self, path: str) -> None:
        """Show in the dialog what a file contains."""
        self._look(lambda: [Source(Path(path))], chosen=True)

    def _ask_for_file(self) -> None:
        kinds = (
            tr("Chats ({endings})", endings=" ".join(f"*{ending}" for ending in ENDINGS)) + ";;" + tr("All files (*)")
        )
        dialog = self._window.files.ask("import", tr("Choose a file with chats"), kinds, parent=self._dialog.open)
        dialog.fileSelected.connect(self.look_at_file)

    def _look(self, sources: Callable[[], list[Source]], chosen: bool) -> None:
        """Read the sources in a thread, and show each when it is read."""
        progress = self._progress

        def work() -> None:
            try:
                for source in sources():
                    previewed = preview(source, progress)
                    self._background.call_in_window(partial(self._show, previewed, chosen, progress))
            except Stopped:
                pass

        self._reading += 1
        self._background.run(work, lambda _: self._read(progress), lambda _: self._read(progress))
        self._timer.start(PROGRESS_EVERY_MS)
        self._show_looking()

    def _show(self, previewed: Preview, chosen: bool, progress: TransferProgress) -> None:
        for problem in previewed.problems:
            log.warning("%s", problem.log_text)
        if progress is not self._progress or self._dialog.open is None:
            return
        self._dialog.open.show_preview(previewed, chosen)
        if chosen and previewed.folders and not previewed.chats:  # a project without chats: nothing to choose from
            self._dialog.close()
            self._import_export.import_choices([Choice(previewed.source)])

    def _read(self, progress: TransferProgress) -> None:
        if progress is self._progress:
            self._reading -= 1
            self._show_looking()

    def _show_looking(self) -> None:
        if not self._reading:
            self._timer.stop()
        if self._dialog.open is not None:
            self._dialog.open.show_looking(bool(self._reading), self._progress.chats)

    def _stop_looking(self) -> None:
        """End the reading, because the dialog was closed."""
        self._timer.stop()
        self._progress.stop()
        self._progress, self._reading = TransferProgress(), 0
