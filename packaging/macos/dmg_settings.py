"""Window of the disk image, for dmgbuild: the app beside a link to Applications. dmgbuild provides `defines`."""

from pathlib import Path

application = Path(defines["application"])  # type: ignore[name-defined]  # noqa: F821
files = [str(application)]
symlinks = {"Applications": "/Applications"}
icon_locations = {application.name: (140, 130), "Applications": (400, 130)}
window_rect = ((200, 200), (540, 300))
format = "ULMO"  # LZMA, macOS 10.15 and newer
