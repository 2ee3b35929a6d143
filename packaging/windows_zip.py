"""Makes the zip for Windows, which needs no setup: unpack it and start chickadee.exe."""

from __future__ import annotations

import time
import zipfile
from pathlib import Path

from release import EPOCH, VERSION


def make(bundle: Path, to: Path) -> Path:
    """Make the zip in the folder `to`: one folder, sorted names, the commit's time. Return its path."""
    top = f"Chickadee-{VERSION}"
    archive_path = to / f"{top}-windows.zip"
    moment = time.gmtime(EPOCH)[:6]
    with zipfile.ZipFile(archive_path, "w") as archive:
        for path in sorted(path for path in bundle.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{top}/{path.relative_to(bundle).as_posix()}", moment)
            # Explorer opens only deflate; a model's weights hardly become smaller, but some do.
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, compresslevel=9)
    return archive_path
