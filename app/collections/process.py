"""The two processes of collections: `python -m app.collections.process VERB FOLDER`, with VERB one of the options.

The indexing process reads a Begin, indexes at low priority, reports a FolderProgress now and then, and ends when all is
done. It may read the folders and write the index, nothing else; a file over which it dies, or that takes too much time
or memory, is refused when it runs again. The searching process answers Questions and Surveys until its stdin ends; it
reads nothing but the index.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sqlite3
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import psutil

from app.collections import INDEX_FILES, SEARCH_INDEX, VECTORS_NAME
from app.collections.messages import DAMAGED, Answer, Begin, Damaged, Question, Rest, Survey, Surveyed
from common.confinement import Rights, confine
from common.failures import Failure
from common.log_format import kind_of, traceback_of

if TYPE_CHECKING:
    from app.collections.embedding import WordVectors
    from app.collections.indexing import Watch
    from app.collections.search import Searcher

MOST_SECONDS = 60.0  # for one file, as for an attachment
MOST_MEMORY = 1 << 30  # bytes
LOOK_SECONDS = 0.1
NICENESS = 10
OVER = "over.json"  # why the watchdog ended the process
LONGEST_REST = 600.0  # should the window forget to say that the computer is free again
ONE_THREAD = "OPENBLAS_NUM_THREADS"  # more would take memory each, and all cores from other programs
log = logging.getLogger(__name__)


def main(verb: str, folder: str) -> int:
    os.environ.setdefault(ONE_THREAD, "1")  # read when numpy is imported, below
    if verb == INDEX_FILES:
        code = 1
        try:
            code = index_files(Path(folder))
        except Exception as error:  # noqa: BLE001 - the window starts it again and sees how far it got
            log.error("indexing ended:\n%s", traceback_of(error))
        os._exit(code)  # the thread that waits for stdin must not hold up the end
    if verb == SEARCH_INDEX:
        return search_index(Path(folder))
    raise ValueError(verb)


def index_files(folder: Path) -> int:
    """Index as the first line of stdin says; return the exit code."""
    begin = msgspec.json.decode(sys.stdin.buffer.readline(), type=Begin)
    model = (Path(begin.model),) if begin.model else ()
    folders = tuple(map(Path, (*begin.folders, *begin.kept)))
    confine(Rights(read=(*folders, *model), write=(folder,), processes=False, memory=MOST_MEMORY))
    _be_modest()
    from app.collections.index import is_damaged, open_index, remove_index
    from app.collections.indexing import Indexer, Watch
    from app.collections.texts import DamagedBlock

    rest, watch = _Rest(), Watch()
    threading.Thread(target=rest.listen, daemon=True).start()
    threading.Thread(target=_watch, args=(watch, folder), daemon=True).start()
    if begin.anew:
        remove_index(folder)
    try:
        with contextlib.closing(open_index(folder, writes=True)) as db:
            vectors = _vectors(folder, model[0] if model else None)
            Indexer(db, vectors, _write, rest.wait, watch).run(begin, _why_over(folder))
    except (sqlite3.Error, DamagedBlock) as error:
        if is_damaged(error):
            _write(Damaged())
        raise
    return 0


def search_index(folder: Path) -> int:
    """Answer the lines of stdin until it ends."""
    confine(Rights(write=(folder,), processes=False, memory=MOST_MEMORY))
    from app.collections.index import is_damaged
    from app.collections.texts import DamagedBlock

    index = _SearchedIndex(folder)
    for line in sys.stdin.buffer:
        asked = msgspec.json.decode(line, type=Question | Survey)
        failed = Answer(asked.id) if isinstance(asked, Question) else Surveyed(asked.id)
        try:
            searcher = index.searcher()
            if searcher is None:
                _write(failed)
            else:
                _write(searcher.answer(asked) if isinstance(asked, Question) else searcher.survey(asked))
        except (sqlite3.Error, DamagedBlock, OSError, ValueError) as error:
            log.error("a question could not be answered:\n%s", traceback_of(error))
            problem = DAMAGED if is_damaged(error) else kind_of(error)
            _write(msgspec.structs.replace(failed, problem=problem))
    return 0


class _SearchedIndex:
    """The index in a folder as it is now: opened when it is there, and again after it was made anew."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._identity: tuple[int, int] | None = None
        self._db: sqlite3.Connection | None = None
        self._searcher: Searcher | None = None

    def searcher(self) -> Searcher | None:
        """Return what searches the index; None if there is none of this version. Raises sqlite3.Error and OSError."""
        from app.collections.index import VERSION, identity_of, open_index, version_of
        from app.collections.search import Searcher

        identity = identity_of(self._folder)
        if identity != self._identity and self._db is not None:
            self._db.close()
            self._db = self._searcher = None
        self._identity = identity
        if self._db is None and identity is not None:
            if version_of(self._folder) != VERSION:
                return None
            self._db = open_index(self._folder)
        if self._db is not None and (self._searcher is None or self._searcher.blind):
            self._searcher = Searcher(self._db, _stored_vectors(self._folder))
        return self._searcher


class _Rest:
    """Reader of stdin's lines, which say whether this process is to rest; ends the process when stdin ends."""

    def __init__(self) -> None:
        self._free = threading.Event()
        self._free.set()

    def listen(self) -> None:
        for line in sys.stdin.buffer:
            if msgspec.json.decode(line, type=Rest).rest:
                self._free.clear()
            else:
                self._free.set()
        os._exit(0)  # the window has closed; what is not stored is indexed the next time

    def wait(self) -> None:
        self._free.wait(LONGEST_REST)


def _be_modest() -> None:
    """Give other programs precedence, for the processor and the disk."""
    process = psutil.Process()
    with contextlib.suppress(psutil.Error, OSError):
        if sys.platform == "win32":
            process.nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
            process.ionice(psutil.IOPRIO_LOW)
        else:
            process.nice(NICENESS)
            if sys.platform == "linux":
                process.ionice(psutil.IOPRIO_CLASS_IDLE)


def _watch(watch: Watch, folder: Path) -> None:
    """End the process when one file takes too long or too much memory, and leave a note why."""
    process = psutil.Process()
    while True:
        time.sleep(LOOK_SECONDS)
        path, since = watch.path, watch.since
        if not path:
            continue
        seconds = time.monotonic() - since
        over = "slow" if seconds > MOST_SECONDS else "memory" if process.memory_info().rss > MOST_MEMORY else ""
        if over:
            (folder / OVER).write_text(json.dumps(over), encoding="utf-8")
            os._exit(1)


def _why_over(folder: Path) -> str:
    """Return why the last run ended over a file: what the watchdog noted, else `crashed`."""
    note = folder / OVER
    try:
        why = json.loads(note.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "crashed"
    note.unlink(missing_ok=True)
    return why if why in ("slow", "memory") else "crashed"


def _vectors(folder: Path, model: Path | None) -> WordVectors | None:
    """Return the stored table of word vectors, or make and store it; None without a model that has one."""
    stored = _stored_vectors(folder)
    if stored is not None or model is None:
        return stored
    from app.collections.embedding import make_vectors

    try:
        vectors = make_vectors(model)
        vectors.save(folder / VECTORS_NAME)
    except (Failure, OSError) as error:
        log.warning("no word vectors: %s", kind_of(error))
        return None
    return vectors


def _stored_vectors(folder: Path) -> WordVectors | None:
    from app.collections.embedding import load_vectors

    try:
        return load_vectors(folder / VECTORS_NAME)
    except (OSError, ValueError, EOFError):
        return None


_writing = threading.Lock()


def _write(message: msgspec.Struct) -> None:
    with _writing:
        sys.stdout.buffer.write(msgspec.json.encode(message) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
