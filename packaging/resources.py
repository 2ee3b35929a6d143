"""Icons for the desktops, drawn from assets/chickadee.svg, and version texts for Windows' programs.

`make package` runs this file in its own environment, which has Qt, and finds the results in build/resources.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

from PySide6.QtCore import QBuffer, QIODevice
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

sys.path.insert(0, str(Path(__file__).parent))

from release import RESOURCES, SUMMARY, VERSION
from steps import ROOT

SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
WINDOWS = (16, 24, 32, 48, 64, 256)
MAC = {b"icp4": 16, b"icp5": 32, b"ic07": 128, b"ic08": 256, b"ic09": 512, b"ic10": 1024}  # PNG each

VERSION_TEXT = """VSVersionInfo(
  ffi=FixedFileInfo(filevers={numbers}, prodvers={numbers}, mask=0x3F, OS=0x40004, fileType=0x1),
  kids=[
    StringFileInfo([StringTable("040904B0", [
      StringStruct("FileDescription", "{description}"),
      StringStruct("FileVersion", "{version}"),
      StringStruct("OriginalFilename", "{program}.exe"),
      StringStruct("ProductName", "Chickadee"),
      StringStruct("ProductVersion", "{version}"),
      StringStruct("LegalCopyright", "MIT licence"),
    ])]),
    VarFileInfo([VarStruct("Translation", [0x409, 1200])]),
  ],
)
"""


def png(renderer: QSvgRenderer, size: int) -> bytes:
    """Draw the picture as a PNG of `size` x `size` pixels. Raises RuntimeError if Qt cannot write PNG."""
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    # PySide6's type stub demands bytes for the format; at run time PySide6 accepts only str.
    if not image.save(buffer, "PNG"):  # type: ignore[call-overload]
        raise RuntimeError("Qt did not write the icon as PNG")
    return bytes(buffer.data().data())


def ico(pictures: dict[int, bytes]) -> bytes:
    """Return a Windows icon: a table of sizes and offsets, then the PNGs. The format writes the size 256 as 0."""
    place, table = 6 + 16 * len(pictures), struct.pack("<HHH", 0, 1, len(pictures))
    for size, data in pictures.items():
        table += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(data), place)
        place += len(data)
    return table + b"".join(pictures.values())


def icns(pictures: dict[bytes, bytes]) -> bytes:
    """Return a macOS icon: each PNG follows its four-letter kind and its length."""
    body = b"".join(struct.pack(">4sI", kind, 8 + len(data)) + data for kind, data in pictures.items())
    return struct.pack(">4sI", b"icns", 8 + len(body)) + body


def version_text(program: str, description: str) -> str:
    """Return the version resource of a Windows program, in the form that PyInstaller reads."""
    numbers = (*(int(part) for part in VERSION.split(".")), 0)
    return VERSION_TEXT.format(numbers=numbers, version=VERSION, program=program, description=description)


def write_resources(folder: Path, system: str) -> None:
    """Write all icons and version texts into `folder`. `system`, a `sys.platform`, decides which icon file is made.

    Needs a QGuiApplication.
    """
    renderer = QSvgRenderer(str(ROOT / "assets" / "chickadee.svg"))
    folder.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        (folder / f"chickadee-{size}.png").write_bytes(png(renderer, size))
    if system == "win32":
        (folder / "chickadee.ico").write_bytes(ico({size: png(renderer, size) for size in WINDOWS}))
    if system == "darwin":
        (folder / "chickadee.icns").write_bytes(icns({kind: png(renderer, size) for kind, size in MAC.items()}))
    (folder / "version.txt").write_text(VERSION)
    (folder / "chickadee.version").write_text(version_text("chickadee", SUMMARY))
    (folder / "chickadee-engine.version").write_text(version_text("chickadee-engine", f"{SUMMARY}: its engine"))


def main() -> None:
    application = QGuiApplication(["resources", "-platform", "offscreen"])
    write_resources(RESOURCES, sys.platform)
    del application


if __name__ == "__main__":
    main()
