"""`python -m engine recognise`: writes down what was said, by whisper.cpp in a process of its own. Not in the help.

The process answers one request and ends, so that its memory is free afterwards. Nothing of the audio reaches a disk. It
never shares a process with llama.cpp, whose libraries have the same names.
"""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from common.failures import Failure
from engine.commands.look import crash_quietly
from engine.machine import default_threads, memory, processor_features
from engine.protocol.lines import claim_stdout
from engine.protocol.speech import Recognise, Recognised, joined_text
from models.speech import MODELS, SpeechModel

X86 = ("avx", "avx2", "fma", "f16c")  # instructions that the library's wheels contain (1.5.1, disassembled)
MOST_THREADS = 8  # whisper.cpp gets slower with more
# A sentence with the punctuation that is wanted; without it Chinese often comes without, or in traditional characters.
BEGINNINGS = {"zh": "以下是普通话的句子。"}
LOUDEST = 32_768  # of a sample


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("recognise")
    parser.add_argument("kind", choices=tuple(MODELS))
    parser.add_argument("model", type=Path)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load the model, tell so, and answer the one request; a failure is the answer too."""
    output = claim_stdout()
    crash_quietly()

    def reply(answer: Recognised) -> None:
        output.write(msgspec.json.encode(answer) + b"\n")
        output.flush()

    try:
        library = load(MODELS[options.kind], options.model)
        reply(Recognised(is_answer=False))
        if line := sys.stdin.buffer.readline():
            reply(Recognised(recognise(library, msgspec.json.decode(line, type=Recognise))))
    except Failure as failure:
        reply(Recognised(problem=failure.sentence, detail=failure.detail))
    return 0


def load(model: SpeechModel, path: Path) -> Any:
    """Return the loaded model. Raises Failure if processor, memory or file do not allow it."""
    check_processor()
    free = memory().available
    if free < model.memory_bytes:
        raise Failure("dictation.memory", needed=model.memory_bytes, free=free)
    if not model.is_intact(path):
        raise Failure("dictation.damaged", name=path.name)
    from pywhispercpp.model import Model  # late: nothing is loaded that is not used

    return Model(
        str(path),
        context_params={"use_gpu": False},
        n_threads=min(default_threads(), MOST_THREADS),
        print_progress=False,
        suppress_nst=True,  # no "[Music]" and the like
    )


def check_processor() -> None:
    """Raise Failure if the processor lacks an instruction that the library would end the process for."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return
    missing = [feature for feature in X86 if feature not in processor_features()]
    if missing:
        raise Failure("dictation.processor", features=", ".join(missing).upper())


def recognise(library: Any, request: Recognise) -> str:
    """Return what was said in the request's audio."""
    samples = np.frombuffer(request.audio, "<i2").astype(np.float32) / LOUDEST
    beginning = BEGINNINGS.get(request.language, "")
    segments = library.transcribe(samples, language=request.language, initial_prompt=beginning)
    return joined_text([segment.text for segment in segments])
