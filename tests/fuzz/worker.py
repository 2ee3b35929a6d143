"""Worker process that runs case after case: `python -m tests.fuzz.worker KIND FOLDER`, JSON lines in and out."""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from tests.fuzz.harness import Broken, Child, Limits, Recipe


class Worker:
    """Client of the worker process, which is started again after a case that it did not survive."""

    def __init__(self, kind: str, folder: Path, home: Path, limits: Limits) -> None:
        self._arguments = ["tests.fuzz.worker", kind, str(folder)]
        self._home, self.limits = home, limits
        self._child: Child | None = None
        self._peak = 0

    @property
    def peak(self) -> int:
        """Bytes of memory of the largest process so far."""
        return max(self._peak, self._child.peak if self._child else 0)

    def run_case(self, recipe: Recipe) -> str:
        """Run a case with `run_case` of the kind's module, and return its result. Raises Broken."""
        if self._child is None or not self._child.alive:
            self.close()
            self._child = Child(self._arguments, self._home, self.limits)
        child = self._child
        child.send(json.dumps(recipe).encode() + b"\n")
        answer: dict[str, Any] = json.loads(child.answer(child.deadline()))
        if answer["broken"]:
            raise Broken(answer["broken"], answer["detail"])
        child.check()
        return str(answer["said"])

    def close(self) -> None:
        if self._child is not None:
            self._child.close()
            self._peak, self._child = self.peak, None


def main(kind: str, folder: str) -> None:
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # printed text must not be taken for an answer
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)  # `check` finds logged tracebacks on stderr
    module = importlib.import_module(f"tests.fuzz.{kind}")
    for line in sys.stdin.buffer:
        output.write(json.dumps(_answer(module, json.loads(line), Path(folder))).encode() + b"\n")
        output.flush()


def _answer(module: Any, recipe: Recipe, folder: Path) -> dict[str, str]:
    try:
        return {"said": module.run_case(recipe, folder), "broken": "", "detail": ""}
    except Broken as broken:
        return {"said": "", "broken": str(broken), "detail": broken.detail}
    except BaseException as error:  # noqa: BLE001  whatever it is: it reached the top
        shown = f"{type(error).__name__}: {error}"[:300]
        return {"said": "", "broken": shown, "detail": "".join(traceback.format_exception(error))[-4000:]}


if __name__ == "__main__":
    main(*sys.argv[1:])
