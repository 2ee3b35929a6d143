"""Makes the installers from the bundle: .deb and archive, Windows' setup program and zip, disk image of macOS."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import linux_archive
import linux_deb
import windows_zip
from release import ADDRESS, DEVELOPERS, DIST, PROBLEMS, RESOURCES, VERSION
from steps import ROOT, SetupError, python, run

LARGEST = 200_000_000


def make(bundle: Path, system: str = sys.platform, to: Path = DIST) -> list[Path]:
    """Make the system's installers and the SBOM in the folder `to`, and return their paths. Raises SetupError."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    installers = windows(bundle, to) if system == "win32" else mac(bundle) if system == "darwin" else linux(bundle)
    sbom = to / f"chickadee-{VERSION}-{system}.cdx.json"
    shutil.copyfile(next(bundle.rglob("sbom.cdx.json")), sbom)
    large = [path.name for path in installers if path.stat().st_size > LARGEST]
    if large:
        raise SetupError(f"{', '.join(large)}: more than {LARGEST // 1_000_000} MB")
    return [*installers, sbom]


def linux(bundle: Path) -> list[Path]:
    return [linux_deb.make(bundle), linux_archive.make(bundle)]


def windows(bundle: Path, to: Path) -> list[Path]:
    """Make the setup program by NSIS, which runs on Linux too, and the zip."""
    setup = to / f"Chickadee-{VERSION}-setup.exe"
    kilobytes = sum(path.stat().st_size for path in bundle.rglob("*")) // 1024
    values = {
        "VERSION": VERSION, "BUNDLE": bundle, "ICON": RESOURCES / "chickadee.ico", "OUT": setup, "KILOBYTES": kilobytes,
        "ADDRESS": ADDRESS, "PROBLEMS": PROBLEMS, "DEVELOPERS": DEVELOPERS,
    }  # fmt: skip
    defined = [f"-D{name}={value}" for name, value in values.items()]
    script = ROOT / "packaging" / "windows" / "chickadee.nsi"
    run(["makensis", "-V2", *defined, script], "NSIS failed: is its makensis in the PATH?")
    return [setup, windows_zip.make(bundle, to)]


def mac(bundle: Path) -> list[Path]:
    """Make a disk image of PyInstaller's .app, adding the licences, which were written after the .app."""
    application, image = bundle.with_name("Chickadee.app"), DIST / f"Chickadee-{VERSION}.dmg"
    shutil.copytree(bundle / "licences", application / "Contents/Resources/licences", dirs_exist_ok=True)
    sign(application)
    settings = ROOT / "packaging/macos/dmg_settings.py"
    made_of = ["-s", settings, "-D", f"application={application}"]
    python("-m", "dmgbuild", *made_of, "Chickadee", image, failure="dmgbuild failed")
    return [image]


def sign(application: Path) -> None:
    """Sign the application again, because a file was added.

    As PyInstaller does, use the identity in CHICKADEE_SIGN_IDENTITY, or sign ad hoc.
    """
    identity = os.environ.get("CHICKADEE_SIGN_IDENTITY")
    hardened = ["--options=runtime"] if identity else []
    rights = ["--entitlements", ROOT / "packaging/macos/entitlements.plist"]
    command = ["codesign", "--sign", identity or "-", "--force", "--deep", "--timestamp", *hardened, *rights]
    run([*command, application], "codesign failed")
