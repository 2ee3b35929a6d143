"""Speed, memory and disk of collections: indexing one large folder in the indexing process, then searching it.

    python -m benchmarks.collections [--megabytes N] [--files N] [--texts FOLDER] [--json]

The texts are paragraphs of the documents of benchmarks/retrieval.py in random order, in which one word in fifty is
replaced by one of 200,000 made-up words, so that the number of different words grows as in a real library. `--texts`
takes a folder of the user's instead. Processor seconds count for the speed, because other programs may be busy.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import psutil

from app.collections import INDEX_FILES, INDEX_NAME, SEARCH_INDEX, VECTORS_NAME
from app.collections.embedding import make_vectors
from app.collections.messages import Answer, Begin, FolderProgress, Question
from benchmarks.retrieval import DOCUMENTS, questions
from models.default import default_model

MB = 10**6
RARE_WORDS = 200_000
RARE_SHARE = 0.02
TOKENS = 3_000  # of an answer
QUESTIONS = 40


def write_texts(folder: Path, megabytes: int, files: int) -> int:
    """Write `files` files of equal size; return their bytes."""
    rng = random.Random(7)
    paragraphs = [text for text in re.split(r"\n\n+", _documents()) if len(text) > 80]
    size = megabytes * MB // files
    total = 0
    for number in range(files):
        place = folder / f"{number % 100:02}"
        place.mkdir(exist_ok=True)
        text = _text(rng, paragraphs, size)
        (place / f"{number}.txt").write_text(text, encoding="utf-8")
        total += len(text.encode())
    return total


def _documents() -> str:
    return "\n\n".join(path.read_text(encoding="utf-8") for path in sorted(DOCUMENTS.glob("*.txt")))


def _text(rng: random.Random, paragraphs: list[str], size: int) -> str:
    pieces: list[str] = []
    length = 0
    while length < size:
        words = rng.choice(paragraphs).split(" ")
        for at in range(len(words)):
            if rng.random() < RARE_SHARE:
                words[at] = f"w{int(RARE_WORDS ** rng.random()):x}q"
        pieces.append(" ".join(words))
        length += len(pieces[-1]) + 2
    return "\n\n".join(pieces)


def index(texts: Path, folder: Path) -> dict[str, float]:
    """Index the folder; return processor and wall seconds, and the most memory in bytes."""
    began = time.monotonic()
    process = _start(INDEX_FILES, folder)
    assert process.stdin
    assert process.stdout
    process.stdin.write(msgspec.json.encode(Begin((str(texts),), model=str(default_model()))) + b"\n")
    process.stdin.flush()
    watched = psutil.Process(process.pid)
    memory = seconds = 0.0
    for line in process.stdout:
        progress = msgspec.json.decode(line, type=FolderProgress)
        memory = max(memory, watched.memory_info().rss)
        used = watched.cpu_times()
        seconds = used.user + used.system
        if progress.step == "done":
            break
    process.stdin.close()
    process.wait()
    return {"processor_seconds": seconds, "wall_seconds": time.monotonic() - began, "memory": memory}


def search(texts: Path, folder: Path) -> dict[str, float]:
    """Ask QUESTIONS questions; return the seconds of the first, the median and the slowest later one.

    `processor` is the mean of processor seconds of the later ones, `memory` in bytes.
    """
    process = _start(SEARCH_INDEX, folder)
    assert process.stdin
    assert process.stdout
    watched, taken, used = psutil.Process(process.pid), [], []
    for number, asked in enumerate(questions()[:: len(questions()) // QUESTIONS][:QUESTIONS]):
        began = time.monotonic()
        question = Question(number, asked.question, (str(texts),), TOKENS)
        process.stdin.write(msgspec.json.encode(question) + b"\n")
        process.stdin.flush()
        answer = msgspec.json.decode(process.stdout.readline(), type=Answer)
        assert answer.files
        taken.append(time.monotonic() - began)
        used.append(sum(watched.cpu_times()[:2]))
    memory = watched.memory_info().rss
    process.stdin.close()
    process.wait()
    first, later = taken[0], sorted(taken[1:])
    processor = (used[-1] - used[0]) / len(later)
    return {
        "first": first, "median": later[len(later) // 2], "slowest": later[-1], "processor": processor,
        "memory": memory,
    }  # fmt: skip


def _start(verb: str, folder: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "app.collections.process", verb, str(folder)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _sizes(folder: Path) -> Iterator[int]:
    for path in folder.glob(f"{INDEX_NAME}*"):
        yield path.stat().st_size


def measure(texts: Path, folder: Path, size: int) -> dict[str, float]:
    """Return the figures for a folder with `size` bytes of text; `folder` is for the index."""
    make_vectors(default_model()).save(folder / VECTORS_NAME)  # once for all collections, so it is not counted
    indexed = index(texts, folder)
    asked = search(texts, folder)
    return {
        "megabytes": size / MB,
        "index_mb_per_second": size / MB / indexed["processor_seconds"],
        "index_memory_mb": indexed["memory"] / MB,
        "disk_share": sum(_sizes(folder)) / size,
        "search_first_ms": asked["first"] * 1000,
        "search_median_ms": asked["median"] * 1000,
        "search_slowest_ms": asked["slowest"] * 1000,
        "search_processor_ms": asked["processor"] * 1000,
        "search_memory_mb": asked["memory"] / MB,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collections", description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--files", type=int, default=2_000)
    parser.add_argument("--texts", type=Path, metavar="FOLDER", help="a folder with texts instead of made-up ones")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        texts, folder = Path(made) / "texts", Path(made) / "index"
        folder.mkdir()
        if options.texts:
            texts = options.texts.absolute()
            size = sum(path.stat().st_size for path in texts.rglob("*") if path.is_file())
        else:
            texts.mkdir()
            size = write_texts(texts, options.megabytes, options.files)
        rows = measure(texts, folder, size)
    if options.json:
        print(json.dumps({name: round(value, 3) for name, value in rows.items()}))
        return
    for name, value in rows.items():
        print(f"{name:24}{value:10.2f}")


if __name__ == "__main__":
    main()
