"""`make test-machines`: README's commands on computers that are not ours, in bare Debians, as an ordinary user.

Each Debian (made by debootstrap, kept as an archive in build/test) has only the packages that README names. The user,
without sudo, has a home folder with a space and an accent, clones the checkout's last commit and runs `make`. Then one
thing after the other is taken away. Every case prints what the user reads; packaging/README.md lists them all.

Needs root, debootstrap, git, the network, and for aarch64 qemu-user-static. Standard library only.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from steps import ROOT, SetupError, run, say, system_packages

WORK = ROOT / "build" / "test"
SUITES = {"12": "bookworm", "13": "trixie", "testing": "testing"}
README_PACKAGES = ("ca-certificates", "gcc", "g++", "git", "make", "python3", "python3-venv")
USER, HOME = "tester", "/home/Zoë Mustermann"
CHECKOUT = f"{HOME}/my programs/chickadee"
QUESTION = "ARGS=--prompt 'Say hello.' --max-tokens 8"
SELF_TEST = ("env", "QT_QPA_PLATFORM=offscreen", "make", "run", "ARGS=--self-test")
SMALL_DISK = 300_000_000  # bytes
# Where the network goes through a proxy, its settings and certificates are this computer's.
PASSED_ON = ("http_proxy", "https_proxy", "no_proxy", "PIP_CERT", "PIP_INDEX_URL", "SSL_CERT_FILE")


@dataclass(frozen=True)
class Ended:
    """A command's end: its exit code and all that it printed."""

    code: int
    output: str


@dataclass
class Machine:
    """A bare Debian in a folder."""

    suite: str
    root: Path
    network: bool = True
    mounts: list[Path] = field(default_factory=list)

    def make(self) -> None:
        """Unpack the Debian, bring it up to date, and add the packages that README names and the user."""
        archive = WORK / f"{self.suite}.tar"
        self.remove()
        if not archive.exists():
            say(f"making a bare Debian {self.suite} (once)")
            run(["debootstrap", "--variant=minbase", self.suite, self.root], "debootstrap failed", quiet=True)
            run(["tar", "-C", self.root, "-cf", archive.with_suffix(".part"), "."], "the Debian could not be kept")
            archive.with_suffix(".part").rename(archive)
            self.remove()
        self.root.mkdir(parents=True)
        run(["tar", "-C", self.root, "-xf", archive], "the Debian could not be unpacked")
        for path in ("etc/resolv.conf", "etc/hosts"):
            shutil.copyfile(f"/{path}", self.root / path)
        self.add_updates()
        self.as_root("apt-get", "update", "-qq")
        self.as_root("apt-get", "upgrade", "-y", "-qq")
        self.install(*README_PACKAGES)
        certificates = Path("/etc/ssl/certs/ca-certificates.crt")
        shutil.copyfile(certificates, self.root / certificates.relative_to("/"))
        self.as_root("useradd", "--create-home", "--home-dir", HOME, "--shell", "/bin/bash", USER)

    def add_updates(self) -> None:
        if self.suite == "testing":  # has no updates of its own, and a mirror may lag behind its daily signature
            (self.root / "etc/apt/apt.conf.d/99lag").write_text('Acquire::Check-Valid-Until "false";\n')
            return
        sources = self.root / "etc/apt/sources.list"
        archive = re.findall(r"https?://\S+", sources.read_text())[0].rstrip("/")
        lines = [f"deb {archive} {self.suite}-updates main", f"deb {archive}-security {self.suite}-security main"]
        sources.write_text(sources.read_text() + "".join(f"{line}\n" for line in lines))

    def install(self, *packages: str) -> None:
        self.as_root("apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages)

    def as_root(self, *command: str) -> None:
        done = self._run(command, user=None)
        if done.code:
            raise SetupError(f"{' '.join(command)} failed:\n{done.output[-2000:]}")

    def as_user(self, *command: str, folder: str = CHECKOUT) -> Ended:
        return self._run(("sh", "-c", 'cd "$0" && exec "$@"', folder, *command), user=USER)

    def clone(self) -> None:
        """Clone the checkout's last commit, as the user does."""
        source = self.root / "source.git"
        shutil.rmtree(source, ignore_errors=True)
        run(["git", "clone", "-q", "--bare", ROOT, source], "the checkout could not be cloned")
        self.as_root("chown", "-R", f"{USER}:", "/source.git")
        self.forget(CHECKOUT)
        done = self.as_user("git", "clone", "-q", "/source.git", CHECKOUT, folder=HOME)
        if done.code:
            raise SetupError(done.output)

    def forget(self, *folders: str) -> None:
        for folder in folders:
            shutil.rmtree(self.root / folder.lstrip("/"), ignore_errors=True)

    @contextmanager
    def without(self, *paths: str) -> Iterator[None]:
        """Take programs or folders of the system away for a while."""
        moved = [(path, path.with_name(f"{path.name}.away")) for name in paths for path in self.root.glob(name)]
        for path, away in moved:
            path.rename(away)
        try:
            yield
        finally:
            for path, away in moved:
                away.rename(path)

    @contextmanager
    def offline(self) -> Iterator[None]:
        self.network = False
        try:
            yield
        finally:
            self.network = True

    @contextmanager
    def small_disk(self, path: str, size: int) -> Iterator[None]:
        """Lay an empty disk of so many bytes over a folder of the user's."""
        place = self.root / path.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=777", "tmpfs", place], "the disk could not be mounted")
        try:
            yield
        finally:
            run(["umount", "-l", place], "the disk could not be unmounted")

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    def _run(self, command: tuple[str, ...], user: str | None) -> Ended:
        """Run a command inside, with /proc and /dev in a name space of its own, so that it ends with the command."""
        home = HOME if user else "/root"
        passed = [f"{name}={os.environ[name]}" for name in PASSED_ON if os.environ.get(name)]
        inside = ["env", "-i", "PATH=/usr/bin:/bin" if user else "PATH=/usr/sbin:/usr/bin:/sbin:/bin", f"HOME={home}"]
        inside += ["LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", *passed, *command]
        who = [f"--userspec={user}:{user}"] if user else []
        entered = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$@"'
        spaces = ["unshare", "--mount", "--pid", "--fork", "--kill-child", *([] if self.network else ["--net"])]
        words = [*spaces, "sh", "-c", entered, str(self.root), *who, str(self.root), *inside]
        done = subprocess.run(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True
        )
        return Ended(done.returncode, done.stdout)


# --- the cases --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A case in a Debian: what it is, and whether its end was right."""

    name: str
    works: bool
    try_: Callable[[Machine], Ended]
    says: str = ""  # what the user must read, as a regular expression


def first_run(machine: Machine) -> Ended:
    machine.forget(f"{HOME}/.cache")
    machine.clone()
    return machine.as_user(*SELF_TEST)


def terminal(machine: Machine) -> Ended:
    return machine.as_user("make", "chat", QUESTION)


def window_with_libraries(machine: Machine) -> Ended:
    """Run the command that the sentence named, as the administrator, and start again."""
    said = machine.as_user(*SELF_TEST).output
    command = re.search(r'apt-get install ([^"`\n]+)', said)
    if command:
        machine.install(*command[1].split())
    return machine.as_user(*SELF_TEST)


def tests(machine: Machine) -> Ended:
    return machine.as_user("make", "test", "ARGS=tests/common tests/packaging")


def again_offline(machine: Machine) -> Ended:
    with machine.offline():
        return machine.as_user("make", "chat", QUESTION)


def new_offline(machine: Machine) -> Ended:
    machine.forget(f"{CHECKOUT}/.venv", f"{HOME}/.cache")
    with machine.offline():
        return machine.as_user("make", "chat", QUESTION)


def no_compiler(machine: Machine) -> Ended:
    machine.forget(f"{CHECKOUT}/.venv", f"{HOME}/.cache/chickadee-build")
    with machine.without("usr/bin/cc", "usr/bin/c++", "usr/bin/gcc*", "usr/bin/g++*"):
        return machine.as_user("make", "setup")


def chat_without_compiler(machine: Machine) -> Ended:
    with machine.without("usr/bin/cc", "usr/bin/c++", "usr/bin/gcc*", "usr/bin/g++*"):
        return machine.as_user("make", "chat", QUESTION)


def no_venv(machine: Machine) -> Ended:
    machine.forget(f"{CHECKOUT}/.venv")
    with machine.without("usr/lib/python3*/ensurepip"):
        return machine.as_user("make", "chat", QUESTION)


def small_disk(machine: Machine) -> Ended:
    machine.forget(f"{CHECKOUT}/.venv")
    with machine.small_disk(f"{CHECKOUT}/.venv", SMALL_DISK):
        return machine.as_user("make", "chat", QUESTION)


def disk_that_fills(machine: Machine) -> Ended:
    """Let the disk fill while libraries are installed: the first check finds an environment, and does not measure."""
    machine.forget(f"{CHECKOUT}/.venv")
    with machine.small_disk(f"{CHECKOUT}/.venv", SMALL_DISK):
        created = machine.as_user("python3", "-m", "venv", f"{CHECKOUT}/.venv")
        return created if created.code else machine.as_user("make", "chat", QUESTION)


def changed_archive(machine: Machine) -> Ended:
    machine.forget(f"{CHECKOUT}/.venv")
    lock = machine.root / CHECKOUT.lstrip("/") / "packaging" / "weights.lock"
    text = lock.read_text()
    lock.write_text(re.sub(r"sha256:\w{8}", "sha256:00000000", text))
    try:
        return machine.as_user("make", "chat", QUESTION)
    finally:
        lock.write_text(text)


CASES = (
    Case("`make run` in a bare Debian", False, first_run, "packages of the system: lib.*apt-get install lib"),
    Case("`make chat` there", True, terminal, "compiling|ready"),
    Case("`make run` after the command that it named", True, window_with_libraries),
    Case("`make test`", True, tests, "passed"),
    Case("`make chat` again, without a network", True, again_offline),
    Case("set-up without a network", False, new_offline, "package index cannot be reached. Is the network there"),
    Case("`make setup` without a compiler", False, no_compiler, "packages of the system: cc, c.*apt-get install gcc g"),
    Case("`make chat` without a compiler", True, chat_without_compiler),
    Case(
        "without the venv package", False, no_venv, r"packages of the system: venv.*apt-get install python3\.\d+-venv"
    ),
    Case("a disk with too little room", False, small_disk, r"Set-up needs [\d.]+ GB in .*, where 0.3 GB are free"),
    Case("a disk that fills", False, disk_that_fills, "the disk is full"),
    Case("a changed archive", False, changed_archive, "what came is not what was published"),
)


# --- another processor ------------------------------------------------------------------------------------------------

QEMU = Path("/usr/bin/qemu-aarch64-static")
# Debian 12's glibc is too old for Qt's release on aarch64, Debian 13's is not.
ARM_CASES = {"12": "Qt for Python needs glibc 2.39 or newer on aarch64; this system has glibc 2.36", "13": ""}


def right_on_arm(name: str) -> bool:
    """Check set-up's decisions on an emulated aarch64: whether it goes on, or the sentence that the user reads.

    The emulated Python starts no other programs, so set-up itself is not run.
    """
    suite = SUITES[name]
    root = WORK / f"machine-aarch64-{suite}"
    shutil.rmtree(root, ignore_errors=True)
    packages = "--include=python3,python3-venv"
    start = ["debootstrap", "--arch=arm64", "--foreign", "--variant=minbase", packages, suite, root]
    run(start, "debootstrap failed", quiet=True)
    for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
        unpack = f"dpkg-deb --fsys-tarfile '{package}' | tar -x --keep-directory-symlink -C '{root}'"
        run(["sh", "-c", unpack], f"{package.name} could not be unpacked")
    shutil.copy(QEMU, root)
    run(["git", "clone", "-q", ROOT, root / "chickadee"], "the checkout could not be cloned")
    command = ["chroot", str(root), f"/{QEMU.name}", "/usr/bin/python3", "/chickadee/packaging/prepare.py"]
    done = subprocess.run([*command, "--check", "--terminal", "--without-waiting"], capture_output=True, text=True)
    right = ARM_CASES[name] in done.stderr and (done.returncode == 0) == (not ARM_CASES[name])
    print(
        f"{'ok     ' if right else 'FAILED '} Debian {name} on aarch64: set-up's checks\n        {done.stderr}",
        flush=True,
    )
    shutil.rmtree(root)
    return right


def main() -> int:
    parser = argparse.ArgumentParser(description="Try README's commands in bare Debians.")
    parser.add_argument("--only", choices=SUITES, help="one Debian")
    parser.add_argument("--case", default="", help="only the cases whose name contains this, in a Debian that is there")
    options = parser.parse_args()
    if not system_packages.is_root() or not shutil.which("debootstrap"):
        say("make test-machines makes and enters Debians: run it as root, with debootstrap installed.")
        return 1
    WORK.mkdir(parents=True, exist_ok=True)
    chosen = [name for name in SUITES if options.only in (None, name)]
    failed = [f"Debian {name}" for name in chosen if not right_in(name, options.case)]
    if not options.case and QEMU.exists():
        failed += [f"aarch64, Debian {name}" for name in ARM_CASES if name in chosen and not right_on_arm(name)]
    say(f"not as it should be: {', '.join(failed)}" if failed else "all as it should be")
    return bool(failed)


def right_in(name: str, part: str) -> bool:
    """Try the cases in a Debian and return whether all ended as they should."""
    machine = Machine(SUITES[name], WORK / f"machine-{SUITES[name]}")
    if not part or not machine.root.exists():
        machine.make()
    results = [tell(name, case, machine) for case in CASES if part in case.name]
    if all(results) and not part:
        machine.remove()
    return all(results)


def tell(name: str, case: Case, machine: Machine) -> bool:
    """Try a case, print its row, and return whether it ended as it should."""
    began = time.monotonic()
    ended = case.try_(machine)
    seconds = time.monotonic() - began
    log = WORK / f"{machine.suite}-{CASES.index(case):02}.log"
    log.write_text(ended.output)
    flat = " ".join(ended.output.split())
    right = (ended.code == 0) == case.works and bool(re.search(case.says, flat)) and "Traceback" not in flat
    print(f"{'ok     ' if right else 'FAILED '} Debian {name}: {case.name} ({seconds:.0f} s)", flush=True)
    if not case.works or not right:
        print("        " + "\n        ".join(ended.output.splitlines()[-6:]), flush=True)
    if not right:
        print(f"        all of it: {log}", flush=True)
    return right


if __name__ == "__main__":
    try:
        sys.exit(main())
    except SetupError as error:
        say(str(error))
        sys.exit(1)
