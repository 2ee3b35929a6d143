"""Speech models: downloaded by the queue as any model is, and checked before a library reads them."""

from __future__ import annotations

import hashlib
import random
from dataclasses import replace

import pytest

from common.failures import Failure
from models.download_queue import DownloadQueue
from models.locations import own_folder
from models.model_download import unfinished_downloads
from models.part_file import SPEECH_MAGIC, PartFile
from models.speech import MODELS, REPO, SpeechModel, speech_model_of

CONTENT = SPEECH_MAGIC + random.Random(1).randbytes(300_000)


@pytest.fixture
def model() -> SpeechModel:
    return replace(MODELS["tiny"], size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())


def test_a_model_arrives_and_is_intact(model, server, hub, own_data):
    server.publish(REPO, model.file, CONTENT)
    queue = DownloadQueue(hub.network)
    queue.add(model.download(hub, own_folder()))
    assert queue.wait()
    queue.close()
    (job,) = queue.jobs
    path = model.path(own_folder())
    assert (job.state, job.problem, job.path) == ("done", None, path)
    assert model.is_intact(path)
    assert list(path.parent.iterdir()) == [path]
    assert [asked for asked, _ in server.requests if asked.startswith("/api/")] == []


@pytest.mark.parametrize("content", [b"<html>Sign in</html>", CONTENT[:-1] + b"?"])
def test_another_file_never_arrives(model, server, hub, own_data, content):
    server.publish(REPO, model.file, content)
    queue = DownloadQueue(hub.network)
    queue.add(model.download(hub, own_folder()))
    assert queue.wait()
    queue.close()
    assert queue.jobs[0].state == "failed"
    assert not model.path(own_folder()).exists()


def test_an_unfinished_download_is_found_again(model, hub, own_data):
    download = model.download(hub, own_folder())
    download.claim()
    (found,) = unfinished_downloads(own_folder())
    assert (found.path, found.files) == (download.path, download.files)
    assert PartFile(download.path).is_owned


def test_a_damaged_file_is_not_intact_and_can_be_deleted(model, tmp_path):
    path = model.path(tmp_path)
    path.parent.mkdir(parents=True)
    for content in (CONTENT[:-1], CONTENT[:-1] + b"?"):
        path.write_bytes(content)
        assert not model.is_intact(path)
    model.delete(tmp_path)
    assert not path.exists()
    model.delete(tmp_path)  # it has gone already
    with pytest.raises(Failure) as failed:
        model.is_intact(path)
    assert failed.value.sentence.id == "dictation.unreadable"


def test_only_their_files_are_speech_models(tmp_path):
    assert [speech_model_of(tmp_path / model.file) for model in MODELS.values()] == list(MODELS.values())
    assert speech_model_of(tmp_path / "ggml-base.gguf") is None
