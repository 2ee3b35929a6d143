"""Writes the files through which a Linux desktop knows the program, under a prefix such as /usr."""

from __future__ import annotations

import shutil
from pathlib import Path

from release import ADDRESS, DATE, DEVELOPERS, PROBLEMS, RESOURCES, SUMMARY, VERSION
from steps import ROOT

OWN = ROOT / "packaging" / "linux"


def write(prefix: Path) -> None:
    share = prefix / "share"
    copy(OWN / "chickadee.desktop", share / "applications" / "chickadee.desktop")
    copy(OWN / "chickadee-mime.xml", share / "mime" / "packages" / "chickadee.xml")
    copy(ROOT / "assets" / "chickadee.svg", share / "icons/hicolor/scalable/apps/chickadee.svg")
    for picture in RESOURCES.glob("chickadee-*.png"):
        size = picture.stem.removeprefix("chickadee-")
        copy(picture, share / f"icons/hicolor/{size}x{size}/apps/chickadee.png")
    about = (OWN / "metainfo.xml").read_text(encoding="utf-8")
    place = share / "metainfo" / "org.chickadee.Chickadee.metainfo.xml"
    place.parent.mkdir(parents=True, exist_ok=True)
    values = {"summary": SUMMARY, "version": VERSION, "date": DATE, "address": ADDRESS, "problems": PROBLEMS}
    place.write_text(about.format(developers=DEVELOPERS, **values), encoding="utf-8")


def copy(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, to)
