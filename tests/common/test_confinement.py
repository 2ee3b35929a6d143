"""Tests of what a confined process is refused and what it keeps: by programs that try, and by simulating the filter."""

from __future__ import annotations

import errno
import os
import re
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from common.confinement import landlock, limits, seccomp
from common.confinement.program import ROOT, holds_home, program_files
from tests.common.confined_program import linux, needs_landlock, private_file, run_attempts

NETWORK = {
    "internet": "socket.socket()",
    "internet, version 6": "socket.socket(socket.AF_INET6)",
    "datagrams": "socket.socket(type=socket.SOCK_DGRAM)",
    "Unix": "socket.socket(socket.AF_UNIX)",
    "netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "connection": "socket.create_connection(('127.0.0.1', int(sys.argv[1])))",
    "name": "socket.getaddrinfo('example.org', 443)",
    "a child's connection": "child(f'import socket; socket.create_connection((\"127.0.0.1\", {sys.argv[1]}))')",
}
CONFINE = "from common.confinement import *; confine(Rights({rights}))\n"


@linux
def test_no_way_leads_into_the_network_nor_to_other_processes():
    others = {
        "io_uring": "call(425, 1, bytes(120))",
        "another's memory": "call({'x86_64': 310}.get(os.uname().machine, 270), os.getppid(), None, 0, None, 0, 0)",
        "tracing": "call({'x86_64': 101}.get(os.uname().machine, 117), 16, os.getppid(), 0, 0)",
        "a namespace": "call({'x86_64': 272}.get(os.uname().machine, 97), 0x10000000)",
        "typing": "fcntl.ioctl(0, 0x5412, b'x')",
    }
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        outcomes = run_attempts(CONFINE.format(rights=""), NETWORK | others, str(server.getsockname()[1]))
        with pytest.raises(BlockingIOError):
            server.accept()
    assert set(outcomes) == set(NETWORK | others)
    refused = dict.fromkeys(NETWORK | others, "PermissionError")
    assert outcomes == refused | {"name": "gaierror", "a child's connection": "PermissionError"}


@needs_landlock
def test_only_what_is_listed_can_be_opened(tmp_path):
    secret = private_file(tmp_path)
    (tmp_path / "kept").mkdir()
    (tmp_path / "given").write_text("this")
    rights = "read=(Path(sys.argv[1]) / 'given',), write=(Path(sys.argv[1]) / 'kept', Path('/nowhere'))"
    attempts = {
        "given": "Path(sys.argv[1], 'given').read_text()",
        "written": "Path(sys.argv[1], 'kept', 'new').write_text('x')",
        "replaced": "os.replace(Path(sys.argv[1], 'kept', 'new'), Path(sys.argv[1], 'kept', 'other'))",
        "folder": "Path(sys.argv[1], 'kept', 'folder').mkdir()",
        "module": "__import__('sqlite3')",
        "program": "child('import json')",
        "nothing": "open(os.devnull, 'r+b').close()",
        "processor": "Path('/proc/meminfo').read_text()",
        "secret": "Path(sys.argv[2]).read_text()",
        "a child's secret": "child(f'open({sys.argv[2]!r})')",
        "listing": "os.listdir(sys.argv[1])",
        "given, changed": "Path(sys.argv[1], 'given').write_text('x')",
        "new file": "Path(sys.argv[1], 'new').write_text('x')",
        "deleted": "os.unlink(sys.argv[2])",
        "renamed": "os.rename(sys.argv[2], sys.argv[2] + '.old')",
        "own program": "Path(sys.argv[3], 'left.py').write_text('x')",
        "parent": "os.listdir(f'/proc/{os.getppid()}/cwd')",
    }
    outcomes = run_attempts(CONFINE.format(rights=rights), attempts, str(tmp_path), str(secret), str(ROOT))
    wanted = ("given", "written", "replaced", "folder", "module", "program", "nothing", "processor")
    assert outcomes == {name: "done" if name in wanted else "PermissionError" for name in attempts}
    assert secret.read_text() == "a secret"


@needs_landlock
@pytest.mark.skipif(not landlock.version() >= 6, reason="this kernel's Landlock leaves signals alone")
def test_no_signal_reaches_a_process_outside():
    outcomes = run_attempts(
        CONFINE.format(rights=""), {"parent": "os.kill(os.getppid(), 0)", "own": "os.kill(os.getpid(), 0)"}
    )
    assert outcomes == {"parent": "PermissionError", "own": "done"}


@needs_landlock
@pytest.mark.skipif(not landlock.version() >= 6, reason="this kernel's Landlock leaves abstract sockets alone")
def test_no_abstract_socket_outside_is_reached():
    """Desktops listen at abstract Unix sockets, which no file rights protect."""
    name = f"chickadee-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as outside:
        outside.bind(f"\0{name}")
        outside.listen()
        outside.setblocking(False)
        attempt = f"socket.socket(socket.AF_UNIX).connect('\\0{name}')"
        outcomes = run_attempts(CONFINE.format(rights="connects=True"), {"abstract": attempt})
        with pytest.raises(BlockingIOError):
            outside.accept()
    assert outcomes == {"abstract": "PermissionError"}


@linux
def test_without_processes_there_are_threads_alone():
    attempts = {
        "thread": "threading.Thread(target=int).start()",
        "program": "child('pass')",
        "fork": "os.fork()",
        "another program in its place": "os.execv(sys.executable, [sys.executable, '-c', 'pass'])",
    }
    outcomes = run_attempts(CONFINE.format(rights="processes=False"), attempts)
    assert outcomes == {name: "done" if name == "thread" else "PermissionError" for name in attempts}


@needs_landlock
@pytest.mark.parametrize("abi", [1, 2, 3, 4, 5, 6])
def test_a_kernel_with_an_older_interface_is_asked_for_no_more_than_it_knows(tmp_path, abi, monkeypatch):
    """This kernel accepts the smaller structs and fewer rights of an older interface."""
    libraries = tmp_path / "libraries"
    libraries.mkdir()
    older = f"from common.confinement import landlock\nlandlock.version = lambda: {abi}\n"
    restrict = "landlock.restrict(program_files(), (Path(sys.argv[1]) / 'kept',), True)\n"
    (tmp_path / "kept").mkdir()
    attempts = {
        "written": "Path(sys.argv[1], 'kept', 'new').write_text('x')",
        "secret": "Path(sys.argv[2]).read_text()",
        "program, shortened": "os.truncate(sys.argv[3], 0)",
        "device": "fcntl.ioctl(open('/dev/urandom', 'rb'), 0x80045200, bytes(4))",  # RNDGETENTCNT
    }
    start = f"from common.confinement import program_files\n{older}{restrict}"
    monkeypatch.setenv("LD_LIBRARY_PATH", str(libraries))
    program = libraries / "some.so"
    program.write_text("code")
    outcomes = run_attempts(start, attempts, str(tmp_path), str(private_file(tmp_path)), str(program))
    assert outcomes == {
        "written": "done",
        "secret": "PermissionError",
        "program, shortened": "PermissionError" if abi >= 3 else "done",
        "device": "PermissionError" if abi >= 5 else "done",
    }


@needs_landlock
def test_what_the_kernel_refuses_stops_nothing_and_is_told():
    """The kernel refuses more than 16 nested domains."""
    often = "from common.confinement import *\nfor _ in range(18): confine(Rights())\nprint(*problems(), sep=chr(10))\n"
    done = subprocess.run([sys.executable, "-c", often], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.startswith("Landlock: ")


@linux
def test_what_is_refused_is_found_out_by_trying():
    assert limits() == ()
    said = "from common.confinement import *\nconfine(Rights())\nprint(*limits())"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == (["files"] if landlock.version() else []) + ["network"]


def test_the_program_s_folders_hold_nobody_s_files(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "user"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path), "/"])
    folders = program_files()
    assert not {path for path in folders if tmp_path.is_relative_to(path) and path != ROOT}
    assert {ROOT, Path(sys.prefix), Path(sys.base_prefix)} <= set(folders)
    assert holds_home(tmp_path)
    assert not holds_home(tmp_path / "user" / "models")
    monkeypatch.setenv("HOME", str(ROOT / "somebody"))  # the checkout is the program's, even in a home folder
    assert ROOT in program_files()


# --- the filter, run for both processors -----------------------------------------------------------------------------

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def verdict(
    machine: str,
    number: int,
    first: int = 0,
    second: int = 0,
    architecture: int | None = None,
    processes: bool = True,
    allowed: tuple[str, ...] = (),
) -> int:
    """Run the seccomp filter on one call, instruction by instruction; return 0 if it allows it, else the errno."""
    program = seccomp.program(seccomp.MACHINES[machine], processes, allowed)
    steps = [struct.unpack("=HBBI", step) for step in program]
    assert len(steps) <= 4096
    data = struct.pack(
        "=iIQQQ", number, ARCHITECTURES[machine] if architecture is None else architecture, 0, first, second
    )
    accumulator, at = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == 0x06:
            return 0 if value == 0x7FFF0000 else value & 0xFFFF
        else:
            test = {0x15: accumulator == value, 0x35: accumulator >= value, 0x45: bool(accumulator & value)}[code]
            at += if_true if test else if_false


# Numbers by asm/unistd_64.h and asm-generic/unistd.h, written down once more: a test must miss a call that is missing
# in the filter's own table. Sockets and io_uring; other processes and keys; namespaces and mounts; the system.
FORBIDDEN = {
    "x86_64": """41 42 43 288 49 50 425 426 427
        101 310 311 438 323 298 321 248 249 250
        272 308 165 166 155 161 428 429 430 431 432 433 442 304
        246 320 169 175 313 176 167 168 163 103 170 164 227 172 173 154""",
    "aarch64": """198 203 202 242 200 201 425 426 427
        117 270 271 438 282 241 280 217 218 219
        97 268 40 39 41 51 428 429 430 431 432 433 442 265
        104 294 142 105 273 106 224 225 89 116 161 170 112""",
}
RUN_PROGRAMS = {"x86_64": (57, 58, 59, 322), "aarch64": (221, 281)}


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_refuses_by_number_architecture_and_argument(machine):
    column = seccomp.MACHINES[machine].column
    assert [n for n in map(int, FORBIDDEN[machine].split()) if verdict(machine, n) != errno.EPERM] == []
    assert [number for number in RUN_PROGRAMS[machine] if verdict(machine, number) != 0] == []
    assert [n for n in RUN_PROGRAMS[machine] if verdict(machine, n, processes=False) != errno.EPERM] == []
    clone, clone3, ioctl = (seccomp.CALLS[name][column] for name in ("clone", "clone3", "ioctl"))
    assert clone is not None
    assert ioctl is not None
    assert verdict(machine, clone3 or 0) == errno.ENOSYS
    assert verdict(machine, clone, 0x3D0F00) == 0  # a thread
    assert verdict(machine, clone, 0x4111) == 0  # a process
    assert verdict(machine, clone, 0x10000011) == errno.EPERM  # with a new user namespace
    assert verdict(machine, ioctl, 0, 0x5401) == 0
    assert verdict(machine, ioctl, 0, 0x5412) == errno.EPERM
    assert verdict(machine, ioctl, 0, 0xFFFFFFFF00005412) == errno.EPERM  # the kernel ignores the upper half
    usual = {"x86_64": (0, 1, 9, 231), "aarch64": (63, 64, 222, 94)}[machine]  # read, write, mmap, exit_group
    assert [verdict(machine, number) for number in usual] == [0, 0, 0, 0]
    assert verdict(machine, usual[0], architecture=0x40000003) == errno.EPERM  # the 32-bit architecture
    if machine == "x86_64":
        assert verdict(machine, 0x40000000 + 41) == errno.EPERM  # socket, by its number in x32


@pytest.mark.parametrize(
    ("column", "header"),
    [(0, "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), (1, "/usr/include/asm-generic/unistd.h")],
    ids=["x86-64", "ARM64"],
)
def test_calls_have_the_numbers_of_the_kernel_s_headers(column, header):
    if not Path(header).exists():
        pytest.skip("the kernel's headers are not installed")
    found = {name: int(number) for name, number in re.findall(r"#define __NR_(\w+)\s+(\d+)", Path(header).read_text())}
    for name, numbers in seccomp.CALLS.items():
        assert numbers[column] == found.get(name), name
