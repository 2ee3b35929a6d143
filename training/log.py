"""Log of a training, one JSON object per line: its options, steps and judgements."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from common.failures import CommandFailure
from training.weights import move_into_place


class Log:
    """Log file that grows: a new one, or an earlier one without entries after step `done`, which a kill may leave."""

    def __init__(self, path: Path, done: int) -> None:
        self.path = path
        kept = [entry for entry in read_log(path) if entry.get("number", 0) <= done] if done and path.exists() else []
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(entry) + "\n" for entry in kept)
            move_into_place(Path(name), path)
        except OSError as error:
            raise CommandFailure("unwritable", f"{path} cannot be written: {error.strerror or error}.") from error
        finally:
            Path(name).unlink(missing_ok=True)

    def add(self, kind: str, values: Mapping[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"kind": kind, **{name: _short(value) for name, value in values.items()}}) + "\n")
        except OSError as error:
            raise CommandFailure("unwritable", f"{self.path} cannot be written: {error.strerror or error}.") from error


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the log's entries; an incomplete last line, which a kill may leave, is skipped.

    Raises Failure for a file that is no training's log.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandFailure("unreadable", f"{path} cannot be read: {error}.") from error
    entries: list[dict[str, Any]] = []
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except json.JSONDecodeError as error:
            if number == len(lines):
                break
            raise CommandFailure("bad_log", f"Line {number} of {path.name} is of no training's log.") from error
        if not isinstance(entry, dict) or "kind" not in entry:
            raise CommandFailure("bad_log", f"Line {number} of {path.name} is of no training's log.")
        entries.append(entry)
    return entries


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value
