"""Reads the files of projects, again too, and notices which of them have changed since they were read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from app.attachments.attachment import Attachment, clean_name, sentence
from app.attachments.reader import FileReader, Outcome
from app.attachments.stamp import Stamp, has_changed, stamp_of
from app.events import Event
from app.services.background import Background
from app.state.projects import Projects
from app.store.project_store import MOST_FILES, ProjectFile
from app.words import mark, tr
from common.failures import Failure
from common.paths import path_of, path_text

TOO_MANY = mark("A project can have {most} files; the others were not added.")


@dataclass(eq=False)
class Reading:
    """Files that are being read for a folder: those that take their places, by path, and what was read so far."""

    folder_id: str
    paths: Sequence[Path]
    before: dict[Path, ProjectFile]
    files: dict[Path, ProjectFile] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    done: int = 0


class ProjectFiles(QObject):
    """Reader of projects' files. What is read is stored at once and whole, when the last file of a batch was read.

    `progressed` carries a reading; `ended` a reading that is over, and the Failure if its files could not be stored.
    """

    def __init__(self, projects: Projects, parent: QObject) -> None:
        super().__init__(parent)
        self.progressed: Event[Reading] = Event()
        self.ended: Event[Reading, Failure | None] = Event()
        self._projects, self._reader, self._background = projects, FileReader(self), Background(self)

    def close(self) -> None:
        self._reader.close()
        self._background.wait()

    def add(self, folder_id: str, paths: Sequence[Path]) -> None:
        """Read files, and add them to the folder or replace the same ones in it."""
        present = {path_of(file.path): file for file in self._projects.of_folder(folder_id).files if file.path}
        paths = list(dict.fromkeys(path.absolute() for path in paths))
        room = MOST_FILES - len(self._projects.of_folder(folder_id).files)
        new = [path for path in paths if path not in present]
        wanted = [path for path in paths if path in present or path in new[: max(0, room)]]
        reading = Reading(folder_id, wanted, present)
        if len(new) > room:
            reading.problems.append(tr(TOO_MANY, most=MOST_FILES))
        for path in wanted:
            self._background.run(partial(stamp_of, path), partial(self._read, reading, path))
        if not wanted:
            self.ended.emit(reading, None)

    def find_changed(self, files: Sequence[ProjectFile], done: Callable[[list[ProjectFile]], object]) -> None:
        """Call `done` with the files that have another content now."""
        with_path = [file for file in files if file.path]
        self._background.run(lambda: [file for file in with_path if has_changed(path_of(file.path), file.stamp)], done)

    def _read(self, reading: Reading, path: Path, stamp: Stamp) -> None:
        self._reader.read(path, partial(self._take, reading, path, stamp))

    def _take(self, reading: Reading, path: Path, stamp: Stamp, outcome: Outcome) -> None:
        reading.done += 1
        if isinstance(outcome, Attachment):
            before = reading.before.get(path)
            file = ProjectFile(reading.folder_id, outcome, path_text(path), stamp)
            reading.files[path] = ProjectFile(file.folder_id, outcome, file.path, stamp, before.id) if before else file
        else:
            scanned = sentence("no_text", clean_name(path.name))
            reading.problems.append(outcome if isinstance(outcome, str) else scanned)
        if reading.done < len(reading.paths):
            self.progressed.emit(reading)
        else:
            self._store(reading)

    def _store(self, reading: Reading) -> None:
        failed = None
        try:
            files = [reading.files[path] for path in reading.paths if path in reading.files]
            self._projects.put_files(reading.folder_id, files)
        except Failure as failure:
            failed = failure
        self.ended.emit(reading, failed)
