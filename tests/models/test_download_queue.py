"""Tests of the queue of downloads: one after the other, paused, cancelled, and resumed after a restart."""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from models import part_file
from models.collection import scan_models
from models.download_queue import DownloadJob, DownloadQueue
from models.header import read_header
from models.locations import own_folder
from models.model_download import ModelDownload, plan_download, unfinished_downloads
from models.part_file import PartFile
from models.projector import find_projector
from models.removal import remove
from tests.engine.runtime.vision_models import write_projector
from tests.models.hub_server import Handler
from tests.models.make_gguf import make_gguf

CONTENT = b"GGUF" + bytes(range(252)) * 4000


@pytest.fixture
def queue(own_data) -> Iterator[DownloadQueue]:
    running = DownloadQueue()
    yield running
    running.close()


@pytest.fixture
def stalled(server) -> Iterator[threading.Event]:
    """Let the server send half of every file and then nothing until the yielded event is set."""
    go_on = threading.Event()

    def stall(handler: Handler) -> bool:
        if go_on.is_set():
            return False
        handler.answer(200, CONTENT[: len(CONTENT) // 2], len(CONTENT))
        handler.wfile.flush()
        go_on.wait(30)
        return True

    server.fault = stall
    yield go_on
    go_on.set()


def wait_until(queue: DownloadQueue, what) -> None:
    """Wait until a job satisfies the condition."""
    found = threading.Event()

    def listen(job: DownloadJob) -> None:
        if what(job):
            found.set()

    queue.listeners.append(listen)
    if not any(map(what, queue.jobs)):
        assert found.wait(30)


def end_the_wait(stalled: threading.Event) -> None:
    """Let the server go on on Windows, where shutting a socket down does not end its reads (python/cpython#91913)."""
    if sys.platform == "win32":
        stalled.set()


def stall_only(server, name: str) -> None:
    """Let the server stall only for files with `name` in their path."""
    stall = server.fault
    server.fault = lambda handler: name in handler.path and stall(handler)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def states(queue: DownloadQueue) -> list[str]:
    return [job.state for job in queue.jobs]


def test_models_arrive_one_after_the_other_and_are_found(server, hub, queue, tmp_path):
    for name in ("bird.gguf", "big-00001-of-00002.gguf", "big-00002-of-00002.gguf"):
        server.add(name, make_gguf(tmp_path / name).read_bytes())
    for model in hub.models("a/b"):
        queue.add(plan_download(model, hub))
    assert queue.wait()
    assert states(queue) == ["done", "done"]
    found = [model for model in scan_models() if model.location.kind == "own"]
    assert sorted((model.name, len(model.files)) for model in found) == [
        ("big-00001-of-00002.gguf", 2),
        ("bird.gguf", 1),
    ]
    assert found[0].path.is_relative_to(own_folder() / "a" / "b")
    assert all(job.progress.done == job.progress.total for job in queue.jobs)


def test_a_failure_is_told_and_the_next_goes_on(server, hub, queue):
    server.add("a.gguf", CONTENT, oid="0" * 64)
    server.add("b.gguf", CONTENT)
    for model in hub.models("a/b"):
        queue.add(plan_download(model, hub))
    assert queue.wait()
    assert states(queue) == ["failed", "done"]
    assert "not those that were published" in str(queue.jobs[0].problem)


@pytest.mark.parametrize("name", ["bird-00002-of-00002.gguf", "mmproj-F16.gguf"])
def test_a_page_in_place_of_a_later_file_leaves_the_model_to_be_resumed(name, server, hub, queue):
    first = "bird.gguf" if name.startswith("mmproj") else "bird-00001-of-00002.gguf"
    server.add(first, CONTENT)
    server.add(name, CONTENT)
    server.fault = lambda handler: handler.path.endswith(name) and not handler.answer(200, b"<html>Sign in</html>")
    job = queue.add(plan_download(hub.model("a/b"), hub))
    assert queue.wait()
    assert states(queue) == ["failed"]
    assert f"{name} was not saved: what 127.0.0.1 sent is no model file" in str(queue.jobs[0].problem)
    assert (own_folder() / "a/b" / first).read_bytes() == CONTENT
    server.fault = lambda handler: False
    queue.resume(job.id)
    assert queue.wait()
    assert states(queue) == ["done"]


def test_pause_and_go_on(server, hub, queue, stalled):
    server.add("bird.gguf", CONTENT)
    job = queue.add(plan_download(hub.model("a/b"), hub))
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) // 2)
    queue.pause(job.id)
    assert states(queue) == ["paused"]
    stalled.set()
    queue.resume(job.id)
    assert queue.wait()
    assert states(queue) == ["done"]
    assert (own_folder() / "a/b/bird.gguf").read_bytes() == CONTENT
    assert server.requests[-1][1] == f"bytes={len(CONTENT) // 2}-"


def test_cancelling_deletes_what_has_arrived(server, hub, queue, stalled):
    server.add("bird.gguf", CONTENT)
    server.add("wren.gguf", CONTENT)
    first, second = (queue.add(plan_download(model, hub)) for model in hub.models("a/b"))
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) // 2)
    queue.cancel(second.id)
    queue.cancel(first.id)
    end_the_wait(stalled)
    queue.close()
    assert states(queue) == ["cancelled", "cancelled"]
    assert list((own_folder() / "a/b").iterdir()) == []


def test_what_was_unfinished_goes_on_after_a_restart(server, hub, queue, stalled):
    server.add("bird.gguf", CONTENT)
    queue.add(plan_download(hub.model("a/b"), hub))
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) // 2)
    queue.close()
    stalled.set()
    (left,) = unfinished_downloads()
    assert left.bytes_on_disk() == len(CONTENT) // 2
    again = DownloadQueue()
    job = again.add(left, state="paused")
    assert (job.state, job.progress.done) == ("paused", len(CONTENT) // 2)
    again.resume(job.id)
    assert again.wait()
    again.close()
    assert (own_folder() / "a/b/bird.gguf").read_bytes() == CONTENT
    assert list(unfinished_downloads()) == []


def test_parts_that_were_not_begun_are_known_after_a_restart(server, hub, queue, stalled):
    names = [f"big-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    for name in names:
        server.add(name, CONTENT)
    queue.add(plan_download(hub.model("a/b"), hub))
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) // 2)
    queue.close()
    stalled.set()
    (left,) = unfinished_downloads()
    assert (left.name, left.size, left.bytes_on_disk()) == (names[0], 3 * len(CONTENT), len(CONTENT) // 2)
    again = DownloadQueue()
    again.add(left)
    assert again.wait()
    again.close()
    assert again.jobs[0].path == own_folder() / "a/b" / names[0]
    assert sorted(path.name for path in (own_folder() / "a/b").iterdir()) == names


def test_cancelling_in_the_second_part_deletes_the_first_too(server, hub, queue, stalled):
    for number in (1, 2):
        server.add(f"big-0000{number}-of-00002.gguf", CONTENT)
    stall = server.fault
    server.fault = lambda handler: "-00002-of" in handler.path and stall(handler)
    job = queue.add(plan_download(hub.model("a/b"), hub))
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) * 3 // 2)
    queue.cancel(job.id)
    end_the_wait(stalled)
    queue.close()
    assert list((own_folder() / "a/b").iterdir()) == []


def test_cancelling_after_a_restart_deletes_the_first_part_too(server, hub, queue, stalled):
    for number in (1, 2):
        server.add(f"big-0000{number}-of-00002.gguf", CONTENT)
    stall_only(server, "-00002-of")
    queue.add(plan_download(hub.model("a/b"), hub))
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) * 3 // 2)
    end_the_wait(stalled)
    queue.close()
    (left,) = unfinished_downloads()
    assert (left.bytes_on_disk(), left.size) == (len(CONTENT) * 3 // 2, 2 * len(CONTENT))
    again = DownloadQueue()
    again.cancel(again.add(left, "paused").id)
    assert names_in(left.path.parent) == []


def test_a_part_that_was_there_before_stays(server, hub, queue, stalled):
    for number in (1, 2):
        server.add(f"big-0000{number}-of-00002.gguf", CONTENT)
    stall_only(server, "-00002-of")
    download = plan_download(hub.model("a/b"), hub)
    download.path.parent.mkdir(parents=True)
    download.path.write_bytes(CONTENT)
    job = queue.add(download)
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) * 3 // 2)
    queue.cancel(job.id)
    end_the_wait(stalled)
    queue.close()
    assert names_in(download.path.parent) == [download.path.name]


def test_cancelling_a_finished_model_deletes_nothing(server, hub, queue):
    names = [f"big-0000{number}-of-00002.gguf" for number in (1, 2)]
    for name in names:
        server.add(name, CONTENT)
    job = queue.add(plan_download(hub.model("a/b"), hub))
    assert queue.wait()
    queue.cancel(job.id)
    assert names_in(own_folder() / "a/b") == names
    assert states(queue) == ["done"]


def test_cancelling_while_only_the_projector_loads_keeps_the_model(server, hub, queue, stalled):
    for name in ("bird.gguf", "mmproj-bird-F16.gguf"):
        server.add(name, CONTENT)
    stall_only(server, "mmproj")
    job = queue.add(plan_download(hub.model("a/b"), hub))
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) * 3 // 2)
    queue.cancel(job.id)
    end_the_wait(stalled)
    queue.close()
    assert names_in(own_folder() / "a/b") == ["bird.gguf"]


def test_cancelling_a_waiting_quantisation_leaves_the_projector_to_the_one_that_loads_it(server, hub, queue, stalled):
    for name in ("bird-4b-Q4_0.gguf", "bird-4b-Q8_0.gguf", "mmproj-F16.gguf"):
        server.add(name, CONTENT)
    stall_only(server, "mmproj")
    first, second = (queue.add(plan_download(hub.model("a/b", kind), hub)) for kind in ("q4_0", "q8_0"))
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) * 3 // 2)
    queue.cancel(second.id)
    stalled.set()
    assert queue.wait()
    assert states(queue) == ["done", "cancelled"]
    assert names_in(own_folder() / "a/b") == ["bird-4b-Q4_0.gguf", "mmproj-F16.gguf"]
    assert first.progress.total == 2 * len(CONTENT)


def test_a_shared_projector_belongs_to_all_unfinished_models_after_a_restart(server, hub, queue, stalled):
    for name in ("bird-4b-Q4_0.gguf", "bird-4b-Q8_0.gguf", "mmproj-F16.gguf"):
        server.add(name, CONTENT)
    for kind in ("q4_0", "q8_0"):
        queue.add(plan_download(hub.model("a/b", kind), hub))
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) // 2)
    end_the_wait(stalled)
    queue.close()
    left = list(unfinished_downloads())
    assert [[path.name for _, path in download.files] for download in left] == [
        ["bird-4b-Q4_0.gguf", "mmproj-F16.gguf"],
        ["bird-4b-Q8_0.gguf", "mmproj-F16.gguf"],
    ]


def test_cancelling_directly_after_a_pause_leaves_nothing(server, hub, queue, stalled):
    server.add("bird.gguf", CONTENT)
    job = queue.add(plan_download(hub.model("a/b"), hub))
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) // 2)
    queue.pause(job.id)
    queue.cancel(job.id)
    end_the_wait(stalled)
    queue.close()
    assert names_in(own_folder() / "a/b") == []


def test_cancelling_leaves_a_part_that_another_program_writes(server, hub, queue):
    server.add("bird.gguf", CONTENT)
    download = plan_download(hub.model("a/b"), hub)
    job = queue.add(download, "paused")
    with PartFile(download.path):
        queue.cancel(job.id)
        assert names_in(download.path.parent) == ["bird.gguf.part", "bird.gguf.part.json"]
    assert [left.path for left in unfinished_downloads()] == [download.path]


def test_a_model_that_is_added_again_while_it_is_being_cancelled_keeps_its_files(server, hub, queue, stalled):
    server.add("bird.gguf", CONTENT)
    download = plan_download(hub.model("a/b"), hub)
    job = queue.add(download)
    wait_until(queue, lambda job: job.progress.done == len(CONTENT) // 2)
    queue.cancel(job.id)
    queue.add(download, "paused")
    end_the_wait(stalled)
    assert queue.wait()
    assert [left.bytes_on_disk() for left in unfinished_downloads()] == [len(CONTENT) // 2]


def test_a_model_that_is_added_again_while_it_arrives_can_be_removed(server, hub, queue, tmp_path):
    class AddedAgain(ModelDownload):
        def check(self):
            queue.add(self)
            return super().check()

    server.add("bird.gguf", make_gguf(tmp_path / "bird.gguf").read_bytes())
    download = plan_download(hub.model("a/b"), hub)
    queue.add(AddedAgain(download.path, download.files))
    assert queue.wait()
    assert [job.state for job in queue.jobs] == ["done"]
    (model,) = (model for model in scan_models() if model.location.kind == "own")
    remove(model).finish()
    assert not download.path.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows locks everywhere")
def test_a_file_system_without_locks_does_not_stop_a_download(server, hub, queue, monkeypatch, caplog):
    import fcntl

    def flock(_file: object, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)
    server.add("bird.gguf", CONTENT)
    with caplog.at_level("INFO"):
        queue.add(plan_download(hub.model("a/b"), hub))
        assert queue.wait()
    assert states(queue) == ["done"]
    assert "the file system has no locks: ENOLCK" in caplog.text


def test_room_for_all_parts_is_asked_for_first(server, hub, queue, monkeypatch):
    for number in (1, 2):
        server.add(f"big-0000{number}-of-00002.gguf", CONTENT)
    model = plan_download(hub.model("a/b"), hub)
    server.requests.clear()
    monkeypatch.setattr(part_file, "SPARE", 1 << 60)
    queue.add(model)
    assert queue.wait()
    assert states(queue) == ["failed"]
    assert "not enough disk space for big-00001-of-00002.gguf: 2 MB still to download" in str(queue.jobs[0].problem)
    assert server.requests == []


def test_a_model_is_queued_once(server, hub, queue, stalled):
    server.add("bird.gguf", CONTENT)
    model = plan_download(hub.model("a/b"), hub)
    assert queue.add(model).id == queue.add(model).id
    assert len(queue.jobs) == 1


def test_senseless_notes_are_passed_over(own_data):
    own_folder().mkdir(parents=True)
    for number, text in enumerate(("", "{", "[]", '{"url": 3}', "[" * 100_000)):
        (own_folder() / f"{number}.gguf.part.json").write_text(text)
    assert list(unfinished_downloads()) == []
    assert PartFile(own_folder() / "none.gguf").read_note() is None


@pytest.fixture
def seeing(server, tmp_path) -> None:
    server.add("bird-4b-Q4_0.gguf", make_gguf(tmp_path / "bird.gguf", llama__embedding_length=576).read_bytes())
    server.add(
        "bird-4b-Q8_0.gguf",
        make_gguf(tmp_path / "bird8.gguf", llama__embedding_length=576, name="Bird 8").read_bytes(),
    )
    server.add("mmproj-F16.gguf", write_projector(tmp_path / "mmproj.gguf").read_bytes())


def test_a_projector_arrives_with_its_model_and_goes_with_it(hub, queue, seeing):
    job = queue.add(plan_download(hub.model("a/b", "q4_0"), hub))
    assert queue.wait()
    path = queue.jobs[0].path
    assert path
    projector = find_projector(read_header(path))
    assert projector
    assert job.progress.total == path.stat().st_size + projector.file_bytes
    queue.add(plan_download(hub.model("a/b", "q8_0"), hub))  # finds the projector and checks its digest
    assert queue.wait()
    assert states(queue) == ["done", "done"]
    mine = [model for model in scan_models() if model.location.kind == "own" and model.path != projector.path]
    small, large = sorted(mine, key=lambda model: model.name)
    remove(small).finish()
    assert projector.path.exists()
    remove(large).finish()
    assert not projector.path.exists()


def test_another_projector_than_published_is_refused(server, hub, queue, seeing):
    server.add("mmproj-F16.gguf", b"GGUF" + bytes(996), oid="0" * 64)
    queue.add(plan_download(hub.model("a/b", "q4_0"), hub))
    assert queue.wait()
    (job,) = queue.jobs
    assert job.state == "failed"
    assert not list(own_folder().rglob("mmproj*.gguf"))


def test_a_projector_is_part_of_what_a_restart_offers(server, hub, queue, stalled):
    for name in ("bird-4b-Q4_0.gguf", "mmproj-F16.gguf"):
        server.add(name, CONTENT)
    download = plan_download(hub.model("a/b", "q4_0"), hub)
    job = queue.add(download)
    wait_until(queue, lambda job: job.progress.done > 0)
    queue.pause(job.id)
    end_the_wait(stalled)
    queue.close()
    (unfinished,) = unfinished_downloads()
    assert {path.name for _, path in unfinished.files} == {"bird-4b-Q4_0.gguf", "mmproj-F16.gguf"}
    assert unfinished.path.name == "bird-4b-Q4_0.gguf"
