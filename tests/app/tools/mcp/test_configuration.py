"""The servers that the user enters, pastes or takes over, and their file."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import msgspec
import pytest

from app.tools.mcp.configuration import FILE, KEY, MOST_ON, ToolServer, command_from, servers_in
from app.tools.mcp.found import found_servers
from app.tools.mcp.messages import Tool, Tools
from app.tools.mcp.servers import ToolServers
from common.failures import Failure

CLAUDE = """{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "FOLDER"]},
  "github": {"command": "docker", "args": ["run", "ghcr.io/github/x"], "env": {"GITHUB_TOKEN": "ghp_secret"}},
  "docs": {"url": "https://docs.example.org/mcp", "headers": {"Authorization": "Bearer abc"}}}}"""


def test_the_json_of_other_programs_is_understood(tmp_path: Path) -> None:
    (files, no_secrets), (github, token), (docs, key) = servers_in(CLAUDE.replace("FOLDER", tmp_path.as_posix()))
    assert files.command == ("npx", "-y", "@modelcontextprotocol/server-filesystem", tmp_path.as_posix())
    assert files.read == (str(tmp_path),)
    assert files.write == ()
    assert files.connects  # npx downloads the server
    assert no_secrets == {}
    assert (github.variables, token) == (("GITHUB_TOKEN",), {"GITHUB_TOKEN": "ghp_secret"})
    assert (docs.url, docs.variables, key) == ("https://docs.example.org/mcp", (KEY,), {KEY: "abc"})


@pytest.mark.parametrize(
    "text",
    [
        '{"files": {"command": "mcp-server-files"}}',
        '{"servers": {"files": {"type": "stdio", "command": "mcp-server-files"}}}',
        '{"command": "mcp-server-files"}',
    ],
)
def test_a_part_of_it_is_understood_too(text: str) -> None:
    ((server, _),) = servers_in(text)
    assert server.command == ("mcp-server-files",)
    assert not server.connects


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("files", "bad_json"),
        ("[" * 100_000, "bad_json"),
        ("[]", "no_servers"),
        ('{"mcpServers": {}}', "no_servers"),
        ('{"a": {"command": "x", "args": "y"}}', "bad_entry"),
        ('{"a": {"command": "x", "env": {"A=B": "c"}}}', "bad_entry"),
        ('{"a": {"command": "x", "env": ["A=b"]}}', "bad_entry"),
        ('{"a": {"url": 3}}', "bad_entry"),
    ],
)
def test_what_is_no_server_is_said(text: str, problem: str) -> None:
    with pytest.raises(Failure) as failed:
        servers_in(text)
    assert failed.value.sentence.id == f"tool_server.{problem}"


def test_a_typed_command_is_split_as_a_shell_does() -> None:
    assert command_from("uvx 'mcp server' --db \"a b\"") == ("uvx", "mcp server", "--db", "a b")
    for wrong in ("", "  ", "open 'quote"):
        with pytest.raises(Failure):
            command_from(wrong)


def test_servers_are_stored_privately_and_a_removal_can_be_undone(tmp_path: Path) -> None:
    servers, heard = ToolServers(tmp_path / FILE), list[str]()
    servers.changed.connect(heard.append)
    for name in ("a", "b", "c"):
        servers.add(ToolServer(id=name, name=name, command=("x",)))
    removed, place = servers.remove("b")
    assert [server.id for server in ToolServers(tmp_path / FILE).all()] == ["a", "c"]
    servers.add(removed, place)
    again = ToolServers(tmp_path / FILE)
    assert again.all() == servers.all()
    assert [server.id for server in again.all()] == ["a", "b", "c"]
    assert heard == ["a", "b", "c", "b", "b"]
    if sys.platform != "win32":
        assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_a_damaged_file_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("damaged")
    servers = ToolServers(tmp_path / FILE)
    assert servers.all() == ()
    assert servers.problem is not None
    servers.add(ToolServer(id="a", name="a", command=("x",)))
    assert {path.read_text() for path in tmp_path.glob("tool-servers-*.json")} == {"damaged"}


def test_what_the_user_wants_of_a_tool_is_kept_but_not_for_another_tool_of_its_name() -> None:
    greet = Tool("greet", description="Greets.")
    server = ToolServer(id="a", name="a", command=("x",)).with_lists(Tools("", (greet, Tool("other"))))
    assert [known.on for known in server.tools] == [True, True]
    trusted = tuple(msgspec.structs.replace(known, reads=True, on=known.tool != greet) for known in server.tools)
    server = msgspec.structs.replace(server, tools=trusted)
    same = server.with_lists(Tools("", (greet, Tool("other"))))
    assert same == server
    changed = server.with_lists(Tools("", (Tool("greet", description="Sends files."), Tool("other"))))
    assert [(known.on, known.reads) for known in changed.tools] == [(False, False), (True, True)]


def test_of_many_tools_the_first_are_on() -> None:
    tools = tuple(Tool(f"tool_{number}") for number in range(MOST_ON + 3))
    server = ToolServer(id="a", name="a", command=("x",)).with_lists(Tools("", tools))
    assert sum(known.on for known in server.tools) == MOST_ON


def test_servers_of_other_programs_are_found_once(tmp_path: Path) -> None:
    cursor = tmp_path / ".cursor" / "mcp.json"
    cursor.parent.mkdir()
    cursor.write_text(json.dumps({"mcpServers": {"time": {"command": "mcp-server-time"}}}))
    broken = tmp_path / ".lmstudio" / "mcp.json"
    broken.parent.mkdir()
    broken.write_text("{")
    (found,) = found_servers((), tmp_path)
    assert found.program == "Cursor"
    ((server, _),) = found.servers
    assert found_servers((server,), tmp_path) == []
