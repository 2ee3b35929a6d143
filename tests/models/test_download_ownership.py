"""Downloads, cancellations, removals and restarts in any order: no file that others need is lost, and none is left."""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from common.failures import Failure
from models import download
from models.collection import LocalModel
from models.download_queue import DownloadJob, DownloadQueue
from models.hub import Hub
from models.locations import ModelLocation, own_folder
from models.model_download import plan_download, unfinished_downloads
from models.part_file import PartFile
from models.removal import Removal, purge, remove
from models.split import group_files
from tests.models.hub_server import Handler, HubServer

SECONDS = 30
SMALL, LARGE, PROJECTOR = "bird-Q4_0.gguf", "bird-Q8_0.gguf", "mmproj-bird-F16.gguf"
PARTS = tuple(f"bird-F16-0000{number}-of-00002.gguf" for number in (1, 2))
FILES = {name: b"GGUF" + Random(name).randbytes(5000) for name in (SMALL, LARGE, *PARTS, PROJECTOR)}
MODELS = (SMALL, LARGE, PARTS[0])
STRANGER = "wren-1b.gguf"
NUMBERS = st.integers(0, 2)


def half(handler: Handler) -> bytes:
    """Return the first half of what is left of the file."""
    rest = handler.content[handler.start :]
    return rest[: max(1, len(rest) // 2)]


def send(handler: Handler, body: bytes, length: int | None = None, **headers: str) -> None:
    """Send the body as the rest that was asked for, or as the whole file."""
    size = len(handler.content)
    if "Range" in handler.headers:
        headers = {"Content-Range": f"bytes {handler.start}-{size - 1}/{size}"} | headers
    handler.answer(206 if "Range" in handler.headers else 200, body, length, **headers)


def cut(handler: Handler) -> None:
    send(handler, half(handler), len(handler.content) - handler.start)


def spoil(handler: Handler) -> None:
    body = bytearray(handler.content[handler.start :])
    body[-1] ^= 1
    send(handler, bytes(body))


def pack(handler: Handler) -> None:
    send(handler, gzip.compress(handler.content[handler.start :]), None, **{"Content-Encoding": "gzip"})


def send_other_range(handler: Handler) -> None:
    size = len(handler.content)
    handler.answer(206, handler.content[9:], None, **{"Content-Range": f"bytes 9-{size - 1}/{size}"})


def refuse_range(handler: Handler) -> None:
    handler.answer(416, b"")


def send_page(handler: Handler) -> None:
    handler.answer(200, b"<html>Sign in</html>")


def fail(handler: Handler) -> None:
    handler.answer(503, b"")


FAULTS: dict[str, Callable[[Handler], None]] = {
    each.__name__: each for each in (cut, spoil, pack, send_other_range, refuse_range, send_page, fail)
}


class Downloading(RuleBasedStateMachine):
    """A state machine of what users, servers and another program do to one folder of models."""

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp())
        self.environment = pytest.MonkeyPatch()
        self.environment.setenv("CHICKADEE_DATA_DIR", str(self.home))
        self.environment.delenv("CHICKADEE_OFFLINE", raising=False)
        self.environment.setenv("NO_PROXY", "127.0.0.1")
        self.environment.setattr(download, "MOST_WAIT", 0.01)  # between two tries
        self.server = HubServer()
        self.server.fault = self.misbehave_once
        for name, content in FILES.items():
            self.server.add(name, content)
        hub = Hub(address=self.server.address)
        self.plans = {model.name: plan_download(model, hub) for model in hub.models("a/b")}
        self.folder = own_folder() / "a" / "b"
        self.faults: list[str] = []
        self.go_on, self.stalled = threading.Event(), threading.Event()
        self.queue = DownloadQueue()
        self.removal: Removal | None = None
        self.removed: tuple[str, ...] = ()
        self.kept = {STRANGER: b"mine"}  # files that must be there: those of before, and finished models
        self.counted: set[int] = set()

    @initialize(there=st.sets(st.sampled_from([LARGE, PARTS[0], PROJECTOR]), max_size=2))
    def files_of_before(self, there: set[str]) -> None:
        self.folder.mkdir(parents=True)
        self.kept |= {name: FILES[name] for name in there}
        self.before = set(self.kept)
        for name, content in self.kept.items():
            (self.folder / name).write_bytes(content)

    # --- the server -------------------------------------------------------------------------------------------------

    def misbehave_once(self, handler: Handler) -> bool:
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "stall":
            send(handler, half(handler), len(handler.content) - handler.start)
            handler.wfile.flush()
            self.stalled.set()
            self.go_on.wait(SECONDS)
        elif fault:
            FAULTS[fault](handler)
        return bool(fault)

    @rule(fault=st.sampled_from(sorted(FAULTS)))
    def misbehave(self, fault: str) -> None:
        self.faults.append(fault)

    # --- the user ---------------------------------------------------------------------------------------------------

    @property
    def open_jobs(self) -> list[DownloadJob]:
        return [job for job in self.queue.jobs if not job.is_over]

    def job(self, number: int) -> int:
        """Return the id of one of the open jobs, or of any if none is open."""
        jobs = self.open_jobs or self.queue.jobs
        return jobs[number % len(jobs)].id

    @rule(name=st.sampled_from(MODELS))
    def add(self, name: str) -> None:
        self.queue.add(self.plans[name])

    @rule(name=st.sampled_from(MODELS), place=NUMBERS)
    def add_and_stall(self, name: str, place: int) -> None:
        """Add a download, and wait until the server stops in the midst of one of its files, or it ends before."""
        self.settle()
        self.stalled.clear()
        self.go_on.clear()
        self.faults += [*([""] * place), "stall"]
        self.queue.add(self.plans[name])
        while not self.stalled.wait(0.01) and not self.queue.wait(0.01):
            pass

    @rule(number=NUMBERS)
    def pause(self, number: int) -> None:
        if self.queue.jobs:
            self.queue.pause(self.job(number))

    @rule(number=NUMBERS)
    def resume(self, number: int) -> None:
        if self.queue.jobs:
            self.queue.resume(self.job(number))

    @rule(number=NUMBERS)
    def cancel(self, number: int) -> None:
        if self.queue.jobs:
            self.queue.cancel(self.job(number))

    @rule()
    def settle(self) -> None:
        """Let all waiting downloads come to an end."""
        self.go_on.set()
        assert self.queue.wait(SECONDS)
        assert not {job.state for job in self.queue.jobs} & {"waiting", "running"}
        self.count_finished()

    def count_finished(self) -> None:
        """Check that the files of models stay whose download has ended."""
        for job in self.queue.jobs:
            if job.state == "done" and job.id not in self.counted:
                self.counted.add(job.id)
                self.kept |= {path.name: FILES[path.name] for _, path in self.plans[job.name].files}

    @rule()
    def restart(self) -> None:
        """End the program and start it again: removed files are gone, unfinished downloads are offered."""
        self.go_on.set()
        self.queue.close()
        self.count_finished()
        self.counted.clear()
        self.finish_removal()
        purge(ModelLocation("own", own_folder()))
        self.queue = DownloadQueue()
        for unfinished in unfinished_downloads():
            self.queue.add(unfinished, "paused")

    def models_here(self) -> list[LocalModel]:
        groups = group_files(sorted(self.folder.glob("*.gguf")))
        own = ModelLocation("own", own_folder())
        models = [LocalModel(group.files[0].name, group.files, 0, own, None) for group in groups]
        return [model for model in models if model.name not in (PROJECTOR, STRANGER)]

    @rule(number=NUMBERS)
    def remove(self, number: int) -> None:
        """Remove a model: not one that is being downloaded, and no projector that others use."""
        self.settle()
        self.finish_removal()
        there, models = set(os.listdir(self.folder)), self.models_here()
        if not models:
            return
        model = models[number % len(models)]
        needed = {path.name for job in self.open_jobs for _, path in self.plans[job.name].files}
        if model.name in needed:
            with pytest.raises(Failure, match="is still being downloaded"):
                remove(model)
            return
        self.removal = remove(model)
        gone = there - set(os.listdir(self.folder))
        assert gone - {PROJECTOR} == {path.name for path in model.files}
        assert not gone & needed
        assert PROJECTOR not in gone or not self.models_here()
        self.removed = tuple(gone)
        for name in gone:
            self.kept.pop(name, None)

    @rule(is_obstructed=st.booleans())
    def undo(self, is_obstructed: bool) -> None:
        """Undo the last removal; if something is in the way first, the next start brings the rest back."""
        if not self.removal:
            return
        self.settle()
        places = [self.folder / name for name in self.removed if not (self.folder / name).exists()]
        if is_obstructed and places:
            places[-1].mkdir()
            with pytest.raises(Failure):
                self.removal.undo()
            places[-1].rmdir()
            self.removal.finish()
            purge(ModelLocation("own", own_folder()))
        else:
            self.removal.undo()
        self.kept |= {name: FILES[name] for name in self.removed}
        self.removal = None

    @rule()
    def finish_removal(self) -> None:
        if self.removal:
            self.removal.finish()
        self.removal, self.removed = None, ()

    @rule(name=st.sampled_from(sorted(FILES)))
    def let_another_program_write(self, name: str) -> None:
        """Open a part in another program while our downloads want it, then let go."""
        self.settle()
        file = PartFile(self.folder / name)
        if file.is_owned and not file.target.exists():
            with file:
                size = file.path.stat().st_size
                for job in self.open_jobs:
                    self.queue.resume(job.id)
                assert self.queue.wait(SECONDS)
                assert file.path.stat().st_size == size
                assert file.note_path.exists()

    # --- what always holds ------------------------------------------------------------------------------------------

    @invariant()
    def nothing_that_someone_needs_is_gone(self) -> None:
        for name, content in self.kept.items():
            assert (self.folder / name).read_bytes() == content

    @invariant()
    def every_complete_file_is_right(self) -> None:
        for path in self.folder.glob("*.gguf"):
            assert path.name == STRANGER or path.read_bytes() == FILES[path.name]

    @invariant()
    def every_part_has_an_owner(self) -> None:
        for path in self.folder.glob("*.part"):
            file = PartFile(path.with_name(path.name.removesuffix(".part")))
            note = file.read_note()
            if file.path.exists():
                assert note
                assert note.owners

    def teardown(self) -> None:
        try:
            self.end()
        finally:
            self.go_on.set()
            self.queue.close()
            self.server.close()
            self.environment.undo()
            shutil.rmtree(self.home)

    def end(self) -> None:
        """Cancel and remove everything: what was there before is left, and nothing else."""
        for job in self.open_jobs:
            self.queue.cancel(job.id)
        self.settle()
        self.finish_removal()
        for model in self.models_here():
            if not self.before.issuperset(path.name for path in model.files):
                remove(model).finish()
        left = set(os.listdir(self.folder))
        assert left <= self.before | ({PROJECTOR} if self.models_here() else set())


Downloading.TestCase.settings = settings(max_examples=30, stateful_step_count=20)
TestDownloading = Downloading.TestCase
