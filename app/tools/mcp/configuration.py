"""An MCP server as the user has entered it, the JSON in which other programs keep theirs, and the file of our own."""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from app.services.key_storage import KeyPlace
from app.tools.mcp.limits import cut_line
from app.tools.mcp.messages import Prompt, Resource, Tool, Tools
from app.tools.mcp.program_folders import named_folders
from common.failures import Failure, system_failures
from common.files import read_small, write_atomically
from models.servers import base_url

FILE = "tool-servers.json"
HOMES = "tool-servers"  # folder with a folder for each server, where it keeps what it likes
MOST_SERVERS, MOST_ARGUMENTS, MOST_ARGUMENT, MOST_VARIABLES, MOST_NAME = 50, 100, 4_000, 50, 60
MOST_BYTES = 16 << 20
MOST_ON = 20  # tools that are on without the user's doing: more would fill a small context
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
KEY = "key"  # under this name, the key of an address is stored among the secrets
LISTS = ("mcpServers", "servers", "mcp_servers")  # names of the table of servers; the second is VS Code's


class KnownTool(msgspec.Struct, frozen=True):
    """A tool as the server last described it, and what the user wants of it. `reads`: the user says it only reads."""

    tool: Tool
    on: bool = True
    reads: bool = False


class ToolServer(msgspec.Struct, frozen=True, kw_only=True):
    """An MCP server: a command, or an address.

    `read`, `write`: folders that its program may use; `connects`: whether it may use the network. `unconfined`: the
    user has agreed to run it on a system that cannot confine it. `variables` are the names of the secrets (variables
    of its environment, or KEY), and `place` is where those are stored.
    """

    id: str
    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    connects: bool = False
    unconfined: bool = False
    variables: tuple[str, ...] = ()
    place: KeyPlace = ""
    on: bool = True
    tools: tuple[KnownTool, ...] = ()
    left_out: tuple[str, ...] = ()
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()

    @property
    def where(self) -> str:
        """The command as a shell would take it, or the address."""
        return shlex.join(self.command) if self.command else self.url

    @property
    def runs_as(self) -> tuple[object, ...]:
        """Values that a running server was started with: a change of these needs a new start."""
        return self.command, self.url, self.read, self.write, self.connects, self.unconfined, self.variables, self.place

    def with_lists(self, lists: Tools) -> ToolServer:
        """Return the server with the tools, resources and prompts that it has now.

        What the user wants of a tool is kept. That one only reads was said of another tool if its description or
        parameters have changed.
        """
        before = {known.tool.name: known for known in self.tools}
        known = []
        for place, tool in enumerate(lists.tools):
            old = before.get(tool.name)
            on = old.on if old else place < MOST_ON
            known.append(KnownTool(tool, on, old.reads if old and old.tool == tool else False))
        return msgspec.structs.replace(
            self, tools=tuple(known), left_out=lists.left_out, resources=lists.resources, prompts=lists.prompts
        )


def new_id() -> str:
    return secrets.token_hex(6)


def command_from(text: str) -> tuple[str, ...]:
    """Return the program and arguments that a user typed. Raises Failure for an open quote or too much."""
    try:
        command = tuple(shlex.split(text))
    except ValueError as error:
        raise Failure("tool_server.bad_command") from error
    if not command or len(command) > MOST_ARGUMENTS or any(len(each) > MOST_ARGUMENT for each in command):
        raise Failure("tool_server.bad_command")
    return command


def server_from(name: str, table: Mapping[str, Any]) -> tuple[ToolServer, dict[str, str]]:
    """Return the server that an entry of `mcpServers` describes, and its secrets. Raises Failure."""
    name = cut_line(name, MOST_NAME)
    command, url = table.get("command"), table.get("url") or table.get("serverUrl")
    if isinstance(command, str) and command.strip():
        arguments = table.get("args") or []
        if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
            raise Failure("tool_server.bad_entry", name=name)
        whole = (str(Path(command).expanduser()) if command.startswith("~") else command, *arguments)
        secret = _variables(name, table.get("env") or {})
        folders = tuple(map(str, named_folders(arguments)))
        server = ToolServer(
            id=new_id(), name=name, command=command_from(shlex.join(whole)), read=folders, connects=downloads(whole)
        )
    elif isinstance(url, str) and url.strip():
        headers = table.get("headers") or {}
        given = str(headers.get("Authorization", "")) if isinstance(headers, dict) else ""
        secret = {KEY: given.removeprefix("Bearer ").strip()} if given else {}
        server = ToolServer(id=new_id(), name=name, url=base_url(url))
    else:
        raise Failure("tool_server.bad_entry", name=name)
    return msgspec.structs.replace(server, variables=tuple(secret)), secret


def downloads(command: tuple[str, ...]) -> bool:
    """Return whether the program downloads the server when it starts, and therefore needs the network."""
    return Path(command[0]).stem in ("npx", "uvx", "bunx", "pipx", "docker", "pnpm")


def _variables(name: str, table: object) -> dict[str, str]:
    if not isinstance(table, dict) or len(table) > MOST_VARIABLES:
        raise Failure("tool_server.bad_entry", name=name)
    variables = {str(key): str(value) for key, value in table.items()}
    if not all(VARIABLE.fullmatch(key) and "\0" not in value for key, value in variables.items()):
        raise Failure("tool_server.bad_entry", name=name)
    return variables


def variables_from(name: str, text: str, key: str = "") -> dict[str, str]:
    """Return the variables of lines like NAME=value; with `key`, a line without a name is the one of that name.

    Raises Failure.
    """
    variables = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        variable, equals, value = line.partition("=")
        if key and not (equals and variable == key):
            variable, value = key, line
        variables[variable.strip()] = value.strip()
    return _variables(name, variables)


def servers_in(text: str) -> list[tuple[ToolServer, dict[str, str]]]:
    """Return the servers of a JSON text, each with its secrets.

    The text is what other programs keep (`{"mcpServers": {"name": {"command": …}}}`), its inner table, or one entry.
    Raises Failure.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Failure("tool_server.bad_json") from error
    tables = dict(_tables(content))
    if not tables:
        raise Failure("tool_server.no_servers")
    return [server_from(name, table) for name, table in list(tables.items())[:MOST_SERVERS]]


def _tables(content: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(content, dict):
        return
    inner: object = next((content[name] for name in LISTS if isinstance(content.get(name), dict)), content)
    assert isinstance(inner, dict)
    if isinstance(inner.get("command"), str) or isinstance(inner.get("url"), str):
        named = Path(str(inner.get("command") or "")).name or str(inner.get("url"))
        yield named, inner
        return
    for name, table in inner.items():
        if isinstance(table, dict) and ({"command", "url", "serverUrl"} & set(table)):
            yield str(name), table


def read_servers(path: Path) -> tuple[ToolServer, ...]:
    """Return the servers of our file; () without a file. Raises Failure."""
    try:
        content = read_small(path, MOST_BYTES)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Failure("tool_server.unreadable", str(error), file=path.name, reason=error.strerror) from error
    try:
        return msgspec.json.decode(content, type=tuple[ToolServer, ...])
    except msgspec.MsgspecError as error:
        raise Failure("tool_server.damaged", str(error), file=path.name) from error


def write_servers(path: Path, servers: tuple[ToolServer, ...]) -> None:
    """Replace our file. Raises Failure."""
    with system_failures("tool_server.unwritable", file=path.name):
        write_atomically(path, msgspec.json.format(msgspec.json.encode(servers), indent=1))
