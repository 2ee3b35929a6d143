"""The limits on what a server's program sends; each of these servers would fill the memory or never end."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from app.tools.mcp import transport
from app.tools.mcp.child import unusable
from app.tools.mcp.messages import Start, Unusable
from tests.app.tools.mcp.running import hostile


async def listen(start: Start) -> Unusable:
    """Read all that the program sends until a limit is broken."""
    said: list[str] = []
    try:
        async with transport.program_streams(start, said.append, transport.Allowance()) as (received, _sent):
            while True:
                await received.receive()
    except BaseException as error:  # noqa: BLE001 - as the child does
        return unusable(error)


@pytest.mark.parametrize(
    ("behaviour", "problem", "final"),
    [
        ("endless line", "long_message", False),
        ("endless lines", "endless", False),
        ("talks nonsense", "no_mcp", True),
        ("dies at the start", "closed", False),
    ],
)
def test_a_program_that_breaks_a_limit_is_ended(tmp_path: Path, behaviour: str, problem: str, final: bool) -> None:
    start = Start(str(tmp_path), tuple(hostile(behaviour)), dict(os.environ))
    said = asyncio.run(listen(start))
    assert (said.problem.id, said.final) == (f"tool_server.{problem}", final)


def test_a_program_that_cannot_be_run_is_said(tmp_path: Path) -> None:
    (tmp_path / "program").write_text("no program")
    (tmp_path / "program").chmod(0o700)
    start = Start(str(tmp_path), (str(tmp_path / "program"),), {})
    assert asyncio.run(listen(start)).problem.id == "tool_server.no_start"
