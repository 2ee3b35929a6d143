"""Update of the catalogue on the user's request: fetches a newer one from the hub's own host and stores it.

What arrives is hostile input. It is stored only if it keeps the format and the limits of `models.catalogue`; after any
failure the present catalogue stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from common.failures import Failure
from common.files import make_private_folder, write_atomically
from models.catalogue import (
    FILE,
    MOST_BYTES,
    CatalogueEntry,
    current_catalogue,
    fetched_path,
    forget_catalogue,
    merged,
    parse_catalogue,
    shipped_catalogue,
)
from models.hub import Hub
from models.network import host_of, network_failures

REPO = "chickadee-chat/catalogue"
PIECE = 16 << 10


@dataclass(frozen=True, slots=True)
class CatalogueUpdate:
    """Result of an update: the present catalogue's date, and which entries are new or have changed. No change: none."""

    date: str
    added: tuple[CatalogueEntry, ...] = ()
    changed: tuple[CatalogueEntry, ...] = ()


def update_catalogue(hub: Hub | None = None) -> CatalogueUpdate:
    """Fetch the hub's catalogue and store it in the data folder if it is newer than the present one. Raises Failure."""
    hub = hub or Hub()
    url = f"{hub.address}/{REPO}/resolve/main/{FILE}"
    content = _fetch(hub, url)
    before = current_catalogue()
    try:
        newer = parse_catalogue(content)
        merged(shipped_catalogue(), newer)
    except ValueError as error:
        raise Failure("refused.catalogue", str(error)[:500], host=host_of(url)) from error
    if newer.date <= before.date:
        return CatalogueUpdate(before.date)
    _store(content)
    known = {entry.id: entry for entry in before.entries}
    now = current_catalogue()
    return CatalogueUpdate(
        now.date,
        tuple(entry for entry in now.entries if entry.id not in known),
        tuple(entry for entry in now.entries if entry.id in known and entry != known[entry.id]),
    )


def _fetch(hub: Hub, url: str) -> bytes:
    content = bytearray()
    with hub.network.get(url, same_host=True) as response, network_failures(url):
        for piece in response.iter_content(PIECE):
            content += piece
            if len(content) > MOST_BYTES:
                raise Failure("refused.endless", host=host_of(url))
    return bytes(content)


def _store(content: bytes) -> None:
    path = fetched_path()
    try:
        make_private_folder(path.parent)
        write_atomically(path, content)
    except OSError as error:
        raise Failure("unwritable.catalogue", str(error), path=path, reason=error.strerror) from error
    forget_catalogue()
