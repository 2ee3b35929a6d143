"""What users get, made from the bundle: on Linux a .deb and an archive with an install script, on Windows a setup
program, on macOS a disk image."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import linux_archive
import linux_deb
from release import DIST, VERSION
from steps import PYTHON, ROOT, SetupError, run

LARGEST = 200_000_000
ISCC = "iscc"


def make(bundle: Path) -> list[Path]:
    """The installers in dist/, and beside them the SBOM. Raises SetupError."""
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
    """Signed with the identity in CHICKADEE_SIGN_IDENTITY by PyInstaller, or ad hoc."""
    application, image = bundle.with_name("Chickadee.app"), DIST / f"Chickadee-{VERSION}.dmg"
    settings = ROOT / "packaging/macos/dmg_settings.py"
    command = [PYTHON, "-m", "dmgbuild", "-s", settings, "-D", f"application={application}", "Chickadee", image]
    if subprocess.run([str(part) for part in command]).returncode != 0:
        raise SetupError("dmgbuild failed")
    return [image]
