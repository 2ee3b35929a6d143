"""MCP servers that others wrote, each confined: they list their tools, answer, and get no more than their rights.

CHICKADEE_TOOL_SERVERS names the folders, separated as in PATH, that have these programs: those of `pip install
mcp-server-time mcp-server-git mcp-server-fetch mcp-server-sqlite` (the last one needs `mcp<2`, in a virtual environment
of its own), and of `npm install @modelcontextprotocol/server-filesystem @modelcontextprotocol/server-memory
@modelcontextprotocol/server-everything` (`node_modules/.bin`).
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from app.services.json_line_process import wait_for_children
from tests.app.tools.mcp.running import Running

SERVERS = os.environ.get("CHICKADEE_TOOL_SERVERS", "")
Run = Callable[..., Running]
pytestmark = pytest.mark.slow


@pytest.fixture
def run(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setenv("PATH", SERVERS + os.pathsep + os.environ["PATH"])
    made: list[Running] = []

    def start(*command: str, **values: object) -> Running:
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is not in CHICKADEE_TOOL_SERVERS")
        made.append(Running(qtbot, tmp_path, command, **values))
        assert made[-1].test() is None
        return made[-1]

    yield start
    for running in made:
        running.sources.close()
    wait_for_children(5)


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Return a folder with a file."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "letter.txt").write_text("Dear Ann")
    return folder


def test_time(run: Run) -> None:
    running = run("mcp-server-time")
    assert "Asia/Shanghai" in running.call("get_current_time", {"timezone": "Asia/Shanghai"}).text
    assert running.call("get_current_time", {"timezone": "Mars"}).failed


def test_git(run: Run, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    who = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "First"], cwd=repository, check=True)
    running = run("mcp-server-git", read=(str(repository),))
    assert "First" in running.call("git_log", {"repo_path": str(repository)}).text
    assert running.call("git_create_branch", {"repo_path": str(repository), "branch_name": "new"}).failed
    running.change(write=(str(repository),))
    assert not running.call("git_create_branch", {"repo_path": str(repository), "branch_name": "new"}).failed


def test_fetch_without_a_network(run: Run) -> None:
    running = run("mcp-server-fetch")
    assert running.call("fetch", {"url": "https://example.org"}).failed


def test_sqlite(run: Run, documents: Path) -> None:
    running = run("mcp-server-sqlite", "--db-path", str(documents / "db.sqlite"), write=(str(documents),))
    assert not running.call("create_table", {"query": "CREATE TABLE letters (who TEXT)"}).failed
    assert "letters" in running.call("list_tables").text


def test_filesystem(run: Run, documents: Path) -> None:
    running = run("mcp-server-filesystem", str(documents), read=(str(documents),))
    assert running.call("read_text_file", {"path": str(documents / "letter.txt")}).text == "Dear Ann"
    written = {"path": str(documents / "new.txt"), "content": "new"}
    assert running.call("write_file", written).failed
    running.change(write=(str(documents),))
    assert not running.call("write_file", written).failed
    assert (documents / "new.txt").read_text() == "new"


def test_memory(run: Run) -> None:
    running = run("mcp-server-memory")
    ann = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    running.call("create_entities", {"entities": [ann]})
    assert "read_graph" in {tool.name for tool in running.source.tools()}


def test_everything(run: Run) -> None:
    running = run("mcp-server-everything")
    assert running.call("echo", {"message": "hi"}).text == "Echo: hi"
    assert "[image, which is not shown]" in running.call("get-tiny-image").text
    assert running.call("no-such-tool").failed


@pytest.mark.parametrize(
    ("program", "tool", "arguments"),
    [
        ("mcp-server-time", "get_current_time", {"timezone": "UTC"}),
        ("mcp-server-memory", "read_graph", {}),
        ("mcp-server-everything", "echo", {"message": "hi"}),
    ],
)
def test_one_that_is_killed_between_calls_answers_again(
    run: Run, program: str, tool: str, arguments: dict[str, str]
) -> None:
    running = run(program)
    for _ in range(3):
        psutil.Process(running.source.pid).children()[0].kill()
        running.call(tool, arguments)  # may have been sent before the death was seen
        assert not running.call(tool, arguments).failed


def test_resources_and_prompts_of_everything(run: Run) -> None:
    running = run("mcp-server-everything")
    assert all(running.read(resource).data for resource in running.server.resources[:3])
    prompts = {prompt.name: prompt for prompt in running.server.prompts}
    assert running.fill(prompts["simple-prompt"], {}).text
    assert running.fill(prompts["args-prompt"], {"city": "Oslo"}).text


def test_everything_at_an_address(run: Run, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    running = run("mcp-server-everything")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("PORT", str(port))
    at_address = subprocess.Popen(["mcp-server-everything", "streamableHttp"], stderr=subprocess.PIPE)
    try:
        assert at_address.stderr is not None
        while f"port {port}".encode() not in at_address.stderr.readline():
            continue
        running.change(command=(), url=f"http://127.0.0.1:{port}/mcp")
        assert running.test() is None
        assert running.call("echo", {"message": "hi"}).text == "Echo: hi"
    finally:
        at_address.kill()
        at_address.communicate()
