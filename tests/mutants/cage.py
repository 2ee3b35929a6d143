"""Runs a Python command that can change files only below one folder: a mutant of what deletes files deletes any.

    python cage.py FOLDER ARGUMENT …

The confinement is the checkout's own, because that of the folder may be the broken one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from common.confinement.landlock import keep_writes_below

    keep_writes_below([Path(sys.argv[1]), Path("/dev"), Path("/proc")])
    os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
