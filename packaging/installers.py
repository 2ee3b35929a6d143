"""Makes the installers from the bundle: .deb and archive (Linux), setup program (Windows), disk image (macOS)."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import linux_archive
import linux_deb
from release import DIST, VERSION
from steps import ROOT, SetupError, python, run

LARGEST = 200_000_000
ISCC = "iscc"


def make(bundle: Path) -> list[Path]:
    """Make the installers in dist/ and the SBOM beside them, and return their paths. Raises SetupError."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    made = {"win32": windows, "darwin": mac}.get(sys.platform, linux)(bundle)
    sbom = DIST / f"chickadee-{VERSION}-{sys.platform}.cdx.json"
    shutil.copyfile(next(bundle.rglob("sbom.cdx.json")), sbom)
    large = [path.name for path in made if path.stat().st_size > LARGEST]
    if large:
        raise SetupError(f"{', '.join(large)}: more than {LARGEST // 1_000_000} MB")
    return [*made, sbom]


def linux(bundle: Path) -> list[Path]:
    return [linux_deb.make(bundle), linux_archive.make(bundle)]


def windows(bundle: Path) -> list[Path]:
    run(
        [ISCC, f"/DVersion={VERSION}", f"/DBundle={bundle}", f"/O{DIST}", ROOT / "packaging/windows/chickadee.iss"],
        "Inno Setup failed: is its iscc in the PATH?",
    )
    return sorted(DIST.glob("*.exe"))


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
