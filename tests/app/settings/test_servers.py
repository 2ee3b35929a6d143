"""Servers in settings.toml: written, changed and removed, read after a user's edits, and never with a key."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings.servers import SavedServer
from app.settings.settings import Settings
from models.servers import RemoteModel

GPU = SavedServer("http://gpu.lan:8000/v1", "Office", ("Qwen/Qwen3-32B", "b"), "keyring")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    path = tmp_path / "settings.toml"
    path.write_text('# mine\n[window]\ntheme = "dark"  # at night\n')
    return Settings(path)


def test_a_server_is_stored_moved_and_removed_and_the_rest_of_the_file_stays(settings: Settings) -> None:
    before = settings.path.read_text()
    changes: list[None] = []
    settings.changed.connect(lambda: changes.append(None))
    settings.save_server(GPU)
    assert settings.servers == {GPU.url: GPU} == Settings(settings.path).servers
    moved = SavedServer("http://gpu.lan:9000/v1", "", ("b",))
    settings.save_server(moved, before=GPU.url)
    assert settings.servers == {moved.url: moved}
    settings.remove_server(moved.url)
    assert settings.servers == {}
    assert settings.path.read_text().startswith(before)
    assert len(changes) == 3


def test_a_model_is_known_while_its_server_is(settings: Settings) -> None:
    path = RemoteModel(GPU.url, "b").path
    assert not settings.has_model(path)
    settings.save_server(GPU)
    assert settings.has_model(path)
    assert settings.has_model(settings.path)
    assert not settings.has_model(settings.path.with_name("missing"))


@pytest.mark.parametrize(
    "text",
    [
        "servers = 3",
        "[servers]\nx = 1",
        '[servers."file:///etc/passwd"]\nname = "x"',
        '[servers."http://GPU.lan"]\nname = "not in its full form"',
        '[servers."http://user:secret@gpu"]\nname = "x"',
    ],
)
def test_what_is_no_server_is_left_out(settings: Settings, text: str) -> None:
    settings.path.write_text(text)
    settings.refresh()
    assert settings.servers == {}


def test_wrong_values_of_a_server_are_left_out(settings: Settings) -> None:
    settings.path.write_text(
        '[servers."http://gpu.lan"]\nname = 7\nmodels = ["a", 3, "a", ""]\nkey = "sk-typed-by-hand"\n'
    )
    settings.refresh()
    assert settings.servers == {"http://gpu.lan": SavedServer("http://gpu.lan", "", ("a",), "")}
