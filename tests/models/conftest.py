"""Fixtures for the tests of models: a hub server on this computer, and own data folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from models.hub import Hub
from tests.models.hub_server import HubServer


@pytest.fixture
def server(monkeypatch) -> Iterator[HubServer]:
    running = HubServer()
    monkeypatch.delenv("CHICKADEE_OFFLINE", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield running
    running.close()


@pytest.fixture
def hub(server: HubServer) -> Hub:
    return Hub(address=server.address)


@pytest.fixture
def own_data(tmp_path, monkeypatch) -> Path:
    """Redirect Chickadee's folders into the test's folder; return the data folder."""
    folder: Path = tmp_path / "data"
    monkeypatch.setenv("CHICKADEE_DATA_DIR", str(folder))
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))
    return folder
