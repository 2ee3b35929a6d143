"""The files that a server's program consists of."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.tools.mcp.program_folders import named_folders, program_folders
from tests.common.confined_program import linux


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    (tmp_path / "me").mkdir()
    return tmp_path / "me"


def program(path: Path, content: str = "\x7fELF") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(0o700)
    return path


@linux
def test_a_tool_of_a_virtual_environment_brings_it_and_its_python(home: Path) -> None:
    python = program(home / ".pyenv" / "versions" / "3.12" / "bin" / "python3.12")
    (python.parents[1] / "lib").mkdir()
    environment = home / ".local" / "share" / "uv" / "tools" / "server"
    (environment / "bin").mkdir(parents=True)
    (environment / "pyvenv.cfg").touch()
    (environment / "bin" / "python").symlink_to(python)
    script = program(environment / "bin" / "server", f"#!{environment}/bin/python\n")
    (home / ".local" / "bin").mkdir()
    (home / ".local" / "lib").mkdir()
    (home / ".local" / "bin" / "server").symlink_to(script)
    folders = program_folders(["server"], str(home / ".local" / "bin"))
    assert {environment, python.parents[1]} <= set(folders)
    assert not {home, home / ".local", home / ".local" / "share"} & set(folders)


@linux
def test_a_script_of_node_brings_all_modules_and_its_interpreter(home: Path) -> None:
    node = program(home / "node" / "bin" / "node")
    (home / "node" / "lib").mkdir()
    script = program(home / "project" / "node_modules" / "server" / "dist" / "index.js", "#!/usr/bin/env node\n")
    command = home / "project" / "node_modules" / ".bin" / "server"
    command.parent.mkdir()
    command.symlink_to("../server/dist/index.js")
    folders = program_folders([str(command)], str(node.parent))
    assert {home / "project" / "node_modules", home / "node"} <= set(folders)
    assert script.parents[3] not in folders


@linux
def test_a_script_among_the_arguments_brings_its_package(home: Path) -> None:
    python = program(home / "python" / "bin" / "python")
    script = program(home / "work" / "server" / "build" / "index.js")
    (home / "work" / "server" / "package.json").touch()
    assert home / "work" / "server" in program_folders(["python", str(script)], str(python.parent))
    loose = program(home / "loose.py")
    folders = program_folders(["python", str(loose)], str(python.parent))
    assert loose in folders
    assert home not in folders


def test_folders_among_the_arguments_are_named(tmp_path: Path) -> None:
    assert named_folders(["--root", str(tmp_path), f"--other={tmp_path}", "x", str(tmp_path / "none")]) == (tmp_path,)


def test_a_program_that_is_not_there_has_no_files() -> None:
    assert program_folders(["no-such-program"], "") == ()
