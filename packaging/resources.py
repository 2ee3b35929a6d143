"""Icons for the desktops, drawn from assets/chickadee.svg, and Windows' version texts: into build/resources.

Run by the environment that packs, for its Qt.
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
    image = QImage(size, size, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(0)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, b"PNG")
    return bytes(buffer.data().data())


def ico(pictures: dict[int, bytes]) -> bytes:
    """Windows' icon: a table of PNGs; 256 is written as 0."""
    place, table = 6 + 16 * len(pictures), struct.pack("<HHH", 0, 1, len(pictures))
    for size, data in pictures.items():
        table += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(data), place)
        place += len(data)
    return table + b"".join(pictures.values())


def icns(pictures: dict[bytes, bytes]) -> bytes:
    """macOS's icon: PNGs, each after its kind and length."""
    body = b"".join(struct.pack(">4sI", kind, 8 + len(data)) + data for kind, data in pictures.items())
    return struct.pack(">4sI", b"icns", 8 + len(body)) + body


def version_text(program: str, description: str) -> str:
    numbers = (*(int(part) for part in VERSION.split(".")), 0)
    return VERSION_TEXT.format(numbers=numbers, version=VERSION, program=program, description=description)


def main() -> None:
    application = QGuiApplication(["resources", "-platform", "offscreen"])
    renderer = QSvgRenderer(str(ROOT / "assets" / "chickadee.svg"))
    RESOURCES.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        (RESOURCES / f"chickadee-{size}.png").write_bytes(png(renderer, size))
    if sys.platform == "win32":
        (RESOURCES / "chickadee.ico").write_bytes(ico({size: png(renderer, size) for size in WINDOWS}))
    if sys.platform == "darwin":
        (RESOURCES / "chickadee.icns").write_bytes(icns({kind: png(renderer, size) for kind, size in MAC.items()}))
    (RESOURCES / "version.txt").write_text(VERSION)
    (RESOURCES / "chickadee.version").write_text(version_text("chickadee", SUMMARY))
    (RESOURCES / "chickadee-engine.version").write_text(version_text("chickadee-engine", f"{SUMMARY}: its engine"))
    del application


if __name__ == "__main__":
    main()
