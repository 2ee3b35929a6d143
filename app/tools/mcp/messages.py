"""What the window and the child process of an MCP server say to each other, a line of JSON each."""

from __future__ import annotations

import msgspec

from common.sentences import Sentence


class Start(msgspec.Struct, tag=True, frozen=True):
    """The child's first line: the server, and the rights that it gets.

    `command` starts a program in the folder `home`; without one, `url` is the server's address and `key` the one that
    is sent there. `read`, `write`: files and folders. `unconfined`: the user agreed that a system which cannot confine
    the server runs it all the same.
    """

    home: str
    command: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    url: str = ""
    key: str = ""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    connects: bool = False
    unconfined: bool = False


class Call(msgspec.Struct, tag=True, frozen=True):
    """A call of a tool; `arguments` is a JSON object as text."""

    id: int
    name: str
    arguments: str


class Read(msgspec.Struct, tag=True, frozen=True):
    """A request for a resource's content."""

    id: int
    uri: str


class Fill(msgspec.Struct, tag=True, frozen=True):
    """A request for a prompt with these arguments filled in."""

    id: int
    name: str
    arguments: dict[str, str] = {}


class Cancel(msgspec.Struct, tag=True, frozen=True):
    """The result of a request is not wanted any more."""

    id: int


Asked = Call | Read | Fill
Request = Asked | Cancel


class Tool(msgspec.Struct, frozen=True):
    """A tool as its server describes it, cut to our limits; `parameters` is a JSON schema as text.

    `says_reads`: the server claims that the tool changes nothing.
    """

    name: str
    title: str = ""
    description: str = ""
    parameters: str = "{}"
    says_reads: bool = False


class Resource(msgspec.Struct, frozen=True):
    """Content that the server lets us read; `kind` is its MIME type, "" if unknown."""

    uri: str
    title: str
    kind: str = ""


class Prompt(msgspec.Struct, frozen=True):
    """A text that the server fills in; `arguments` are the names of what it asks for."""

    name: str
    title: str
    description: str = ""
    arguments: tuple[str, ...] = ()


class Tools(msgspec.Struct, tag=True, frozen=True):
    """The server is ready, or its lists have changed. `left_out`: names of tools that break our limits."""

    server: str
    tools: tuple[Tool, ...]
    left_out: tuple[str, ...] = ()
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()


class Called(msgspec.Struct, tag=True, frozen=True):
    """The result of a request: `text`, or the `data` of a resource with its MIME type.

    If it `failed`, `problem` says why unless the server's own text does.
    """

    id: int
    text: str = ""
    failed: bool = False
    problem: Sentence | None = None
    data: bytes = b""
    kind: str = ""


class Unusable(msgspec.Struct, tag=True, frozen=True):
    """The child ends because of the server; `final`: the next start would fail in the same way."""

    problem: Sentence
    final: bool = False


class Said(msgspec.Struct, tag=True, frozen=True):
    """A line for the server's log, which only the user sees."""

    line: str


Reply = Tools | Called | Unusable | Said
