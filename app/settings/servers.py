"""The servers that the user has connected to, as settings.toml has them: address, name and models, never the key.

[servers."http://gpu.lan:8000/v1"]
name = "Office"
models = ["Qwen/Qwen3-32B"]
key = "keyring"    # where the key is
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from app.services.key_storage import KeyPlace
from common.failures import Failure
from models.servers import RemoteModel, base_url, host_of

SECTION = "servers"
MOST_SERVERS, MOST_MODELS, LONGEST = 100, 500, 300


@dataclass(frozen=True, slots=True)
class SavedServer:
    """A server. `url`: base address of its API. `models`: those that the user has chosen. `key`: where its key is."""

    url: str
    name: str = ""
    models: tuple[str, ...] = ()
    key: KeyPlace = ""

    @property
    def host(self) -> str:
        return host_of(self.url)

    @property
    def paths(self) -> list[Path]:
        """Paths that stand for the server's models wherever a model's file is stored."""
        return [RemoteModel(self.url, name).path for name in self.models]

    def to_table(self) -> dict[str, object]:
        """Return the values that are stored; empty ones are left out."""
        table = {"name": self.name, "models": list(self.models), "key": self.key}
        return {name: value for name, value in table.items() if value or name == "models"}


def servers_from(tables: Mapping[str, Any]) -> dict[str, SavedServer]:
    """Return the servers of a settings file by address; whatever is no server is left out."""
    section = tables.get(SECTION)
    servers = {}
    for url, table in list(section.items())[:MOST_SERVERS] if isinstance(section, dict) else ():
        try:
            proper = base_url(url) == url
        except Failure:
            continue
        if proper and isinstance(table, dict):
            servers[url] = _server(url, table)
    return servers


def _server(url: str, table: Mapping[str, Any]) -> SavedServer:
    models = table.get("models")
    names = [_line(name) for name in models[:MOST_MODELS]] if isinstance(models, list) else []
    key = table.get("key", "")
    return SavedServer(
        url,
        _line(table.get("name")),
        tuple(dict.fromkeys(filter(None, names))),
        key if key in get_args(KeyPlace) else "",
    )


def _line(value: object) -> str:
    return " ".join(value.split())[:LONGEST] if isinstance(value, str) else ""
