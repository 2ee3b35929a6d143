"""Makes the .deb: the bundle in /usr/lib/chickadee, the desktop's files, and the dependencies.

It has no maintainer scripts: the desktop's own packages notice new icons, types and entries. Removing it keeps chats.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import bundle_contents
import elf
import linux_files
from bundle_build import BUILD, GLIBC_PARTS
from release import ADDRESS, DIST, EPOCH, MAINTAINER, PROBLEMS, SUMMARY, VERSION
from steps import SetupError, run, system_packages

TREE = BUILD / "deb"
CONTROL = """Package: chickadee
Version: {version}
Section: utils
Priority: optional
Architecture: {architecture}
Maintainer: {maintainer}
Homepage: {address}
Bugs: {problems}
Installed-Size: {size}
Depends: {depends}
Recommends: fonts-dejavu-core | fonts-freefont-ttf, fonts-noto-color-emoji, xdg-utils
Suggests: fonts-noto-cjk, libvulkan1, mesa-vulkan-drivers
Description: {summary}
 A window opens, a language model on your own disk answers, and nothing you
 write leaves the computer. It needs no network and no graphics card. A small
 model comes with it; any GGUF chat model can be opened.
"""


def make(bundle: Path) -> Path:
    """Make the .deb in dist/ and return its path. Raises SetupError."""
    if not shutil.which("dpkg-deb"):
        raise SetupError("dpkg-deb is needed to make the .deb: sudo apt-get install dpkg")
    shutil.rmtree(TREE, ignore_errors=True)
    shutil.copytree(bundle, TREE / "usr/lib/chickadee", symlinks=True, copy_function=os.link)
    commands = TREE / "usr/bin"
    commands.mkdir()
    for name in (bundle_contents.WINDOW, bundle_contents.ENGINE):
        (commands / name).symlink_to(f"../lib/chickadee/{name}")
    linux_files.write(TREE / "usr")
    notes = TREE / "usr/share/doc/chickadee"
    notes.mkdir(parents=True)
    (notes / "copyright").write_text("The licences of all parts lie in /usr/lib/chickadee/licences.\n")
    (TREE / "DEBIAN").mkdir()
    (TREE / "DEBIAN/control").write_text(control(bundle))
    finish(TREE)
    architecture = machine()
    package = DIST / f"chickadee_{VERSION}_{architecture}.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zxz", "-z6", "--build", TREE, package]
    run(command, "dpkg-deb failed", quiet=True)
    return package


def control(bundle: Path) -> str:
    size = sum(path.lstat().st_size for path in TREE.rglob("*") if not path.is_dir()) // 1024
    return CONTROL.format(
        version=VERSION, architecture=machine(), size=size, depends=", ".join(depends(bundle)), summary=SUMMARY,
        maintainer=MAINTAINER, address=ADDRESS, problems=PROBLEMS,
    )  # fmt: skip


def depends(bundle: Path) -> list[str]:
    """Return the Debian packages that hold what the bundle lacks; renamed ones (Ubuntu's …t64) as alternatives."""
    programs = list(elf.programs(bundle))
    newest = max(map(elf.glibc, programs))
    packages = {part.name: part.debian for part in system_packages.LIBRARIES}
    names = {packages[name] for name in elf.outside(programs, bundle) if name not in GLIBC_PARTS}
    # GLIBCXX_3.4.30 came with GCC 12.
    said = {"libglib2.0-0": "libglib2.0-0 | libglib2.0-0t64", "libstdc++6": "libstdc++6 (>= 12)"}
    return [f"libc6 (>= {elf.dotted(newest)})", *(said.get(name, name) for name in sorted(names))]


def machine() -> str:
    return subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True).stdout.strip()


def finish(tree: Path) -> None:
    """Set modes (all may read, only root writes) and times (the commit's), so that equal input gives an equal file."""
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
        os.utime(path, (EPOCH, EPOCH), follow_symlinks=False)
