"""A process that claims a data folder as the program does when it starts, without a window.

`python -m tests.app.claims FOLDER GO` waits for the file GO, claims the folder, prints whether it was the first to
claim it, and keeps running if it was.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.services.single_instance import SingleInstance


def main() -> int:
    folder, go = map(Path, sys.argv[1:])
    application = QCoreApplication(sys.argv[:1])
    instance = SingleInstance(folder)
    say("here")
    while not go.exists():
        time.sleep(0.001)
    first = instance.claim()
    say("first" if first else "told")
    return application.exec() if first else 0


def say(word: str) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
