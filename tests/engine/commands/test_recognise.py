"""The process that recognises speech: what it refuses in sentences, and what it hears with a real model."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import wave
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from app.services.dictation_processes import can_dictate
from common.failures import Failure
from engine.commands import recognise
from engine.machine import Memory
from engine.protocol.speech import SAMPLE_RATE, Recognise, Recognised, joined_text
from models.part_file import SPEECH_MAGIC
from models.speech import MODELS, SpeechModel

pytestmark = pytest.mark.skipif(not can_dictate(), reason="this computer has no libraries for dictation")
CONTENT = SPEECH_MAGIC + bytes(1000)
MODEL = replace(MODELS["tiny"], size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest())
REAL = os.environ.get("CHICKADEE_SPEECH_MODEL", "")  # path of one of whisper.cpp's multilingual files
SAID = "The weather is nice today. Please remind me to buy bread and milk on Friday."
# Runs the command with the file of `CHICKADEE_SPEECH_MODEL`, which need not be the one that the hub has.
COMMAND = """
import hashlib, pathlib, sys
from dataclasses import replace
from engine.__main__ import start
from models import speech
file = pathlib.Path(sys.argv[-1])
digest = hashlib.sha256(file.read_bytes()).hexdigest()
speech.MODELS["base"] = replace(speech.MODELS["base"], size=file.stat().st_size, sha256=digest)
sys.exit(start())
"""


def path_of(folder: Path, content: bytes = CONTENT) -> Path:
    path = folder / MODEL.file
    path.write_bytes(content)
    return path


def refusal(model: SpeechModel, path: Path) -> str:
    with pytest.raises(Failure) as failed:
        recognise.load(model, path)
    return failed.value.sentence.id


def test_a_damaged_file_is_refused_before_the_library_reads_it(tmp_path):
    assert refusal(MODEL, path_of(tmp_path, CONTENT[:-1] + b"?")) == "dictation.damaged"
    assert refusal(MODEL, tmp_path / "missing.bin") == "dictation.unreadable"
    assert "pywhispercpp" not in sys.modules


def test_too_little_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(recognise, "memory", lambda: Memory(8 << 30, MODEL.memory_bytes - 1))
    assert refusal(MODEL, path_of(tmp_path)) == "dictation.memory"


def test_a_processor_without_its_instructions_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(recognise, "processor_features", lambda: frozenset({"avx", "f16c"}))
    with pytest.raises(Failure) as failed:
        recognise.load(MODEL, path_of(tmp_path))
    assert str(failed.value) == "This processor has no AVX2, FMA, which dictation needs."


def test_the_process_says_what_it_refuses(tmp_path):
    command = [sys.executable, "-m", "engine", "recognise", "tiny", str(path_of(tmp_path))]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=120)
    (line,) = done.stdout.splitlines()
    answer = msgspec.json.decode(line, type=Recognised)
    assert answer.problem is not None
    assert (done.returncode, answer.problem.id) == (0, "dictation.damaged")


@pytest.mark.parametrize(
    ("segments", "text"),
    [
        (["The dog.", "Please, buy bread."], "The dog. Please, buy bread."),
        ([" The dog.", " ", " Buy bread. "], "The dog. Buy bread."),
        (["今天很好。", "我们走吧。"], "今天很好。我们走吧。"),
        ([], ""),
    ],
)
def test_sentences_are_set_apart_where_their_script_does_so(segments, text):
    assert joined_text(segments) == text


@pytest.mark.slow
@pytest.mark.skipif(not (REAL and shutil.which("espeak-ng")), reason="needs a speech model and espeak-ng")
def test_a_real_model_writes_down_what_was_said(tmp_path):
    wav = tmp_path / "said.wav"
    subprocess.run(["espeak-ng", "-v", "en-us", "-s", "150", "-w", str(wav), SAID], check=True)
    request = msgspec.json.encode(Recognise(samples_of(wav))) + b"\n"
    command = [sys.executable, "-c", COMMAND, "recognise", "base", REAL]
    done = subprocess.run(command, input=request, capture_output=True, timeout=300)
    ready, answer = (json.loads(line) for line in done.stdout.splitlines())
    assert ready["is_answer"] is False, done.stderr.decode()
    heard = set(answer["text"].lower().replace(".", "").split())
    assert len(heard & set(SAID.lower().replace(".", "").split())) >= 9, answer


def samples_of(wav: Path) -> bytes:
    """Return a WAV file's samples at the rate that the recogniser wants."""
    with wave.open(str(wav)) as file:
        rate, samples = file.getframerate(), np.frombuffer(file.readframes(file.getnframes()), "<i2")
    places = np.arange(0, len(samples), rate / SAMPLE_RATE)
    heard: bytes = np.interp(places, np.arange(len(samples)), samples).astype("<i2").tobytes()
    return heard
