"""Opens another program's SQLite file without changing anything in its folder."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from app.store.json_stream import LONGEST
from common.failures import Failure, system_failures

BEGINNING = b"SQLite format 3\0"
LARGEST = 8 << 30  # bytes


@contextlib.contextmanager
def opened(path: Path, program: str) -> Iterator[sqlite3.Connection]:
    """Yield a connection that only reads; errors of the file become a Failure that names the program, if it is known.

    While the program runs, its last changes are in a second file, which SQLite reads only if it may write beside it. So
    both are copied then.
    """
    try:
        with system_failures("import.unreadable", name=path.name), contextlib.ExitStack() as stack:
            changes = path.with_name(path.name + "-wal")
            options = "?mode=ro&immutable=1"
            if changes.exists() and changes.stat().st_size:
                path, options = _copied(stack, path, changes), "?mode=rw"
            db = sqlite3.connect(path.absolute().as_uri() + options, uri=True, check_same_thread=False)
            stack.callback(db.close)
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST)
            for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "query_only = ON"):
                db.execute(f"PRAGMA {pragma}")
            yield db
    except sqlite3.Error as error:
        code = "import.database" if program else "import.database_file"
        raise Failure(code, str(error), name=path.name, program=program) from error


def tables(db: sqlite3.Connection) -> set[str]:
    """Return the names of the real tables; views and virtual tables, which run code of the file, do not count."""
    return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")}


def _copied(stack: contextlib.ExitStack, path: Path, changes: Path) -> Path:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="chickadee-")))
    size = path.stat().st_size + changes.stat().st_size
    if size > min(LARGEST, shutil.disk_usage(folder).free):
        raise Failure("import.too_large", name=path.name)
    for file in (path, changes):
        shutil.copyfile(file, folder / file.name)
    return folder / path.name
