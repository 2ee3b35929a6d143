"""Speech models for dictation: whisper.cpp's multilingual ones, with size and digest, where they lie, their download.

The digests are fixed here, so a file on the disk can be checked before a library reads it, and the hub is asked for
nothing but the file.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from common.failures import system_failures
from models.hub import Hub, HubModel, RemoteFile
from models.model_download import ModelDownload, plan_download
from models.part_file import hash_into

REPO = "ggerganov/whisper.cpp"
LICENCE = "MIT"
WORKING_BYTES = 150 << 20  # beside the weights, at its peak: see docs/notes/voice.md


@dataclass(frozen=True, slots=True)
class SpeechModel:
    """Speech model of the hub: `id` is its name in the settings, `sha256` has 64 hexadecimal digits."""

    id: str
    file: str
    size: int
    sha256: str

    @property
    def memory_bytes(self) -> int:
        """Bytes of memory that recognising takes."""
        return self.size + WORKING_BYTES

    def path(self, folder: Path) -> Path:
        """Return where the file lies, or would lie, in a folder of models."""
        return folder.joinpath(*REPO.split("/"), self.file)

    def download(self, hub: Hub, folder: Path) -> ModelDownload:
        """Return the download of the model into a folder of models. Raises Failure."""
        return plan_download(HubModel((RemoteFile(REPO, self.file, self.size, self.sha256),)), hub, folder)

    def delete(self, folder: Path) -> None:
        """Delete the file from a folder of models. Raises Failure."""
        with system_failures("dictation.unreadable"):
            self.path(folder).unlink(missing_ok=True)

    def is_intact(self, path: Path) -> bool:
        """Return whether the file has this model's size and digest. Raises Failure if it cannot be read."""
        digest = hashlib.sha256()
        with system_failures("dictation.unreadable"):
            if path.stat().st_size != self.size:
                return False
            for _ in hash_into(digest, path, self.size):
                pass
        return digest.hexdigest() == self.sha256


MODELS = {
    model.id: model
    for model in (
        SpeechModel(
            "tiny",
            "ggml-tiny.bin",
            77_691_713,
            "be07e048e1e599ad46341c8d2a135645097a538221678b7acdd1b1919c6e1b21",
        ),
        SpeechModel(
            "base",
            "ggml-base.bin",
            147_951_465,
            "60ed5bc3dd14eea856493d334349b405782ddcaf0028d4b5df4088345fba2efe",
        ),
    )
}


def speech_model_of(path: Path) -> SpeechModel | None:
    """Return the speech model whose file has this name; None for any other file."""
    return next((model for model in MODELS.values() if model.file == path.name), None)
