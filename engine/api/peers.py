"""Clients as the queue tells them apart: programs on this computer, which take turns."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable

import psutil
from starlette.requests import Request

from engine.api.security import given_key


async def client_of(request: Request, user: str | None, busy: bool) -> Hashable:
    """Return what tells this request's client from others.

    That is its process, if the system says which one it is, its key, the name it gives itself, and the user it names.
    Finding the process takes some 20 ms, so it is done only if the request has to wait anyway (`busy`).
    """
    named = given_key(dict(request.headers)), request.headers.get("user-agent", ""), user or ""
    if request.client is None:  # a socket file
        return named
    (host, port), server = request.client, request.scope["server"]
    process = await asyncio.to_thread(process_at, port, server[1]) if busy else None
    return host, process, *named


def process_at(port: int, to: int | None) -> int | None:
    """Return the id of this computer's process that is connected from `port` to our port `to`; None if unknown."""
    try:
        connections = psutil.net_connections("tcp")
    except (psutil.Error, OSError):  # macOS tells only the administrator
        return None
    for each in connections:
        if each.laddr and each.raddr and each.laddr.port == port and each.raddr.port == to:
            return each.pid
    return None
