"""The files of a release: all systems' installers with their checksums, and none that was changed on the way."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the release is made on Linux")


def made(folder: Path, **files: bytes) -> None:
    """Write a system's installers and their SHA256SUMS, as `make package` leaves them in dist/."""
    folder.mkdir(parents=True)
    lines = []
    for name, content in files.items():
        (folder / name).write_bytes(content)
        lines.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
    (folder / "SHA256SUMS").write_text("".join(lines))


def gather(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [ROOT / "packaging" / "gather.sh", folder / "made", folder / "release"]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_release_has_all_systems_installers_and_one_list_of_checksums(tmp_path: Path) -> None:
    made(tmp_path / "made" / "linux", deb=b"for Debian", sbom=b"{}")
    made(tmp_path / "made" / "mac os", dmg=b"for a Mac")
    done = gather(tmp_path)
    assert done.returncode == 0, done.stderr
    release = tmp_path / "release"
    assert {path.name for path in release.iterdir()} == {"deb", "sbom", "dmg", "SHA256SUMS"}
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=release, check=True, capture_output=True)
    assert len((release / "SHA256SUMS").read_text().splitlines()) == 3


def test_a_changed_file_or_a_name_of_two_systems_stops_the_release(tmp_path: Path) -> None:
    made(tmp_path / "made" / "linux", deb=b"for Debian")
    (tmp_path / "made" / "linux" / "deb").write_bytes(b"changed")
    assert gather(tmp_path).returncode != 0
    shutil.rmtree(tmp_path / "made")
    made(tmp_path / "made" / "linux", sbom=b"{}")
    made(tmp_path / "made" / "macos", sbom=b"[]")
    assert gather(tmp_path).returncode != 0
