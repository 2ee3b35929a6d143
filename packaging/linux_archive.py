"""Archive for other Linux systems: unpack and start it, or run its install.sh for a menu entry, without root.

There is no AppImage: its runtime, which mounts the file, is a binary on GitHub that no package registry has, and
mounting needs FUSE 2, which new systems no longer install.
"""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

import elf
import linux_deb
import linux_files
from bundle_build import BUILD
from release import DIST, EPOCH, VERSION
from steps import ROOT, run

OWN = ROOT / "packaging" / "linux"


def make(bundle: Path) -> Path:
    """Make the archive in dist/ and return its path."""
    name = f"chickadee-{VERSION}-linux-{platform.machine()}"
    tree = BUILD / "archive" / name
    shutil.rmtree(tree.parent, ignore_errors=True)
    shutil.copytree(bundle, tree / "lib", symlinks=True, copy_function=os.link)
    linux_files.write(tree)
    newest = elf.dotted(max(map(elf.glibc, elf.programs(bundle))))
    for script in ("chickadee", "chickadee-engine", "install.sh", "uninstall.sh"):
        text = (OWN / "launcher.sh" if script.startswith("chickadee") else OWN / script).read_text()
        (tree / script).write_text(text.replace("@PROGRAM@", script).replace("@GLIBC@", newest))
        (tree / script).chmod(0o755)
    linux_deb.finish(tree)
    archive = DIST / f"{name}.tar.xz"
    command = ["tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", f"--mtime=@{EPOCH}"]
    run([*command, "-C", tree.parent, "-I", "xz -6 -T2", "-cf", archive, name], "tar failed: is xz installed?")
    return archive
