"""`python -m engine look`: the process in which `engine.loading.first_look` tries a file. Hidden from the help."""

from __future__ import annotations

import argparse
import ctypes
import sys
from contextlib import closing
from pathlib import Path
from typing import get_args

import msgspec

from common.failures import Failure
from common.planning import KVType
from engine.loading.crash_mark import CrashWatch
from engine.loading.first_look import EXIT_REFUSED, Refusal
from engine.loading.libraries import backend
from engine.loading.library_choice import crash_mark
from engine.protocol.lines import claim_stdout
from engine.protocol.requests import BackendName
from engine.runtime.capi.embedding import Embedder
from engine.runtime.capi.model import CDryModel
from engine.runtime.capi.vocabulary import CVocabulary
from engine.stop import StopFlag
from engine.tokenization.template import ChatTemplate
from models.header import read_header
from models.validation import checked_headers

# Bytes of all kinds, blanks, letters of several alphabets and a character beyond the first 65,536.
SAMPLE = "".join(map(chr, range(256))) + " \n\n\tHello, world’s 1234567 ελληνικά кириллица 日本語 한국어 العربية 🐦"
SMALL_CTX, N_BATCH = 512, 512
SOME_PIECES = 1000  # tokens of the vocabulary whose texts are read
MOST_CTX = 32768  # tokens, as a plan tries first
NO_ERROR_BOXES = 0x8003  # SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("look")
    parser.add_argument("--backend", choices=get_args(BackendName), required=True)
    parser.add_argument("--embeds", action="store_true")
    parser.add_argument("model", type=Path)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    output = claim_stdout()
    crash_quietly()
    try:
        (look_at_embedder if options.embeds else look)(options.model, options.backend)
    except Failure as failure:
        output.write(msgspec.json.encode(Refusal(failure.sentence, failure.detail)))
        output.flush()
        return EXIT_REFUSED
    return 0


def crash_quietly() -> None:
    """Disable core dumps, and on Windows the system's error boxes."""
    if sys.platform == "win32":
        ctypes.windll.kernel32.SetErrorMode(NO_ERROR_BOXES)
    else:
        import resource  # there is none on Windows

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def look(path: Path, name: BackendName) -> None:
    """Call everything in the library that a plan and a chat call before the weights are read.

    Raises Failure if the library refuses the file.
    """
    headers = checked_headers(path)
    watch = CrashWatch()
    watch.watch(crash_mark(headers[0], name))  # after a crash the other library computes the model
    try:
        with backend(name).dry(headers) as sizes:
            try_contexts(sizes)
            ChatTemplate(sizes.model.template, sizes.model.vocabulary)
            try_vocabulary(sizes.model.vocabulary)
    finally:
        watch.watch(None)


def look_at_embedder(path: Path, name: BackendName) -> None:
    """Call everything in the library that embedding a text calls. Raises Failure if the library refuses the file."""
    library, headers = backend(name), (read_header(path),)
    with closing(library.load_embedder(headers)) as model:
        try_vocabulary(model.vocabulary)
        with closing(Embedder(model, library.embedding_context, 1, StopFlag())) as embedder:
            embedder.vector(embedder.tokens("A bird."))


def try_contexts(sizes: CDryModel) -> None:
    """Make contexts with every type of KV cache that this library can have for this model; `sizes` makes no others."""
    for n_ctx in (SMALL_CTX, min(MOST_CTX, sizes.n_ctx_train or MOST_CTX)):
        for kv_type in get_args(KVType):
            sizes.context(n_ctx, kv_type, N_BATCH)
            sizes.own_layers(n_ctx, kv_type, N_BATCH)


def try_vocabulary(vocabulary: CVocabulary) -> None:
    for special in (False, True):
        tokens = vocabulary.tokenize(SAMPLE, special, add_bos=vocabulary.adds_bos)
    for token in (*tokens, *range(0, vocabulary.n_tokens, max(1, vocabulary.n_tokens // SOME_PIECES))):
        vocabulary.piece(token)
        vocabulary.text(token)
