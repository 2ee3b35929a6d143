"""Tests of the catalogue: the shipped one, what a fetched one may change, hostile ones, and what arrives in the end."""

from __future__ import annotations

import json
import re
import stat
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from common.failures import Failure
from models.__main__ import main
from models.arrival import check_arrival
from models.assets import asset
from models.catalogue import (
    FILE,
    MOST_BYTES,
    MOST_ENTRIES,
    CatalogueEntry,
    catalogue,
    current_catalogue,
    find_entry,
    forget_catalogue,
    parse_catalogue,
    shipped_catalogue,
)
from models.catalogue_update import REPO, update_catalogue
from models.download_queue import DownloadQueue
from models.hub import Hub
from models.model_download import plan_download
from models.network import Network
from models.recommend import entry_of_file
from models.titles import title_of
from tests.models.hub_server import Handler, HubServer
from tests.models.make_gguf import make_gguf

ADDRESS = f"/{REPO}/resolve/main/{FILE}"


def fields(**changes: Any) -> dict[str, Any]:
    """Return the fields of a sound entry, a model of the hub server's repository."""
    return {
        "id": "bird-1b", "title": "Bird 1B", "repo": "a/b", "file": "bird-Q4_K_M.gguf", "size": 1000, "licence": "mit",
        "about": "Sings.", "architecture": "llama", "quantisations": ["Q4_K_M"], "parameters": 1000, "layers": 4,
        "kv_width": 64, "embedding": 64, "feed_forward": 128, "vocabulary": 300, "context": 512, "languages": ["en"],
        "tier": 5, "tier_source": "a test, 2026",
    } | changes  # fmt: skip


def written(*models: dict[str, Any], date: str = "2099-01-01") -> bytes:
    return f"date = {toml(date)}\nmodel = {toml(list(models))}\n".encode()


def toml(value: Any) -> str:
    """Write a value in TOML's one-line form."""
    if isinstance(value, dict):
        pairs = (f"{key} = {toml(each)}" for key, each in value.items() if each is not None)
        return f"{{ {', '.join(pairs)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)


def publish(server: HubServer, content: bytes) -> None:
    server.answers[ADDRESS] = content


@pytest.fixture(autouse=True)
def no_catalogue_of_another_test() -> None:
    forget_catalogue()


# --- the shipped one ---


def test_the_shipped_catalogue_keeps_its_own_rules(own_data: Path) -> None:
    content = asset(FILE).read_bytes()
    assert len(content) < MOST_BYTES / 4
    parse_catalogue(content)
    for entry in catalogue():
        assert entry.about.endswith("."), entry.id
        assert entry.languages == tuple(sorted(set(entry.languages))), entry.id
        assert entry.licence in ("apache-2.0", "mit") or entry.licence_note.endswith("."), entry.id
        assert entry.tier_source[-4:].isdigit() or "20" in entry.tier_source, entry.id
        assert 4 <= entry.size * 8 / entry.parameters < 9, entry.id  # bits for each weight
        assert entry.file.count("/") == 0, entry.id
        assert entry_of_file(Path(entry.file)) == entry, entry.id


@pytest.mark.parametrize(
    ("id", "kv_bytes", "share"),
    [("qwen3.5-4b", 32768, 1.0), ("qwen3.5-0.8b", 12288, 1.0), ("lfm2.5-8b-a1b", 12288, 0.18)],
)
def test_hybrids_and_mixtures_are_estimated_with_less(id: str, kv_bytes: int, share: float) -> None:
    """The first number is what llama.cpp allocates for one token's keys and values, in f16."""
    entry = find_entry(id)
    assert entry
    assert entry.estimate.kv_layers * entry.estimate.kv_width * 2 == kv_bytes
    assert entry.estimate.active_share == pytest.approx(share, abs=0.005)


def test_the_catalogue_as_a_list(own_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--catalogue", "--no-plan"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["id", "size", "quality", "good", "at", "languages", "licence", "memory"]
    (line,) = [line for line in lines if line.startswith("qwen3.5-4b ")]
    assert re.split("  +", line)[2:5] == ["9/10", "code, thinking, images", "32"]
    assert main(["list", "--catalogue", "--no-plan", "--json"]) == 0
    shown = {entry["id"]: entry for entry in json.loads(capsys.readouterr().out)}
    tiny = shown["lfm2.5-8b-a1b"]
    assert (tiny["architecture"], tiny["active_parameters"], tiny["good_at"]) == (
        "lfm2moe",
        1_500_000_000,
        ["thinking"],
    )
    assert tiny["sampling"] == {"temperature": 0.2, "top_k": 80, "repeat_penalty": 1.05}
    assert "10 million" in tiny["licence_note"]
    assert shown["qwen3.5-4b"]["sampling_thinking"]["temperature"] == 1.0


# --- a newer one ---


def test_a_newer_catalogue_adds_and_replaces(server: HubServer, hub: Hub, own_data: Path) -> None:
    before = {entry.id: entry for entry in catalogue()}
    changed = msgspec.to_builtins(before["olmo-2-0425-1b"]) | {"title": "OLMo 2 1B, renamed"}
    publish(server, written(fields(), changed))
    update = update_catalogue(hub)
    assert ([entry.id for entry in update.added], [entry.id for entry in update.changed]) == (
        ["bird-1b"],
        ["olmo-2-0425-1b"],
    )
    after = {entry.id: entry for entry in catalogue()}
    assert after.keys() == before.keys() | {"bird-1b"}
    assert after["olmo-2-0425-1b"].title == "OLMo 2 1B, renamed"
    assert title_of(Path("x/bird-Q4_K_M.gguf")) == "Bird 1B"
    assert current_catalogue().date == update.date == "2099-01-01"
    if sys.platform != "win32":
        assert stat.S_IMODE((own_data / FILE).stat().st_mode) == 0o600
    assert update_catalogue(hub).added == ()  # it is no newer than itself


def test_an_older_catalogue_changes_nothing(server: HubServer, hub: Hub, own_data: Path) -> None:
    publish(server, written(fields(), date="2020-01-01"))
    assert update_catalogue(hub).added == ()
    assert not (own_data / FILE).exists()
    own_data.mkdir()
    (own_data / FILE).write_bytes(written(fields(), date="2020-01-01"))  # of an earlier version of the program
    forget_catalogue()
    assert find_entry("bird-1b") is None


HOSTILE: dict[str, Callable[[], bytes]] = {
    "no catalogue": lambda: b"<html>Please log in</html>",
    "nothing": lambda: b"",
    "not text": lambda: b"\xff\xfe\x00",
    "no date": lambda: written(fields()).partition(b"\n")[2],
    "unknown field": lambda: written(fields(command="rm -rf /")),
    "unknown top field": lambda: b'run = "x"\n' + written(fields()),
    "missing field": lambda: written({"id": "x"}),
    "path outside": lambda: written(fields(file="../../.bashrc.gguf")),
    "absolute path": lambda: written(fields(file="/etc/x.gguf")),
    "drive": lambda: written(fields(file="C:x.gguf")),
    "no model file": lambda: written(fields(file="run.exe")),
    "other host": lambda: written(fields(repo="https://evil.example/a")),
    "no repository": lambda: written(fields(repo="../b")),
    "negative size": lambda: written(fields(size=-1)),
    "size without end": lambda: written(fields(size=1 << 62)),
    "layers without end": lambda: written(fields(layers=1 << 30)),
    "more active than all": lambda: written(fields(active=2000)),
    "a long text": lambda: written(fields(about="x" * 241)),
    "characters that turn the text": lambda: written(fields(title="Bird \u202efgug")),
    "markup in an id": lambda: written(fields(id="<b>")),
    "a tier of 11": lambda: written(fields(tier=11)),
    "sampling without end": lambda: written(fields(sampling={"temperature": 1e300})),
    "an id twice": lambda: written(fields(), fields(title="Other")),
    "the title of another": lambda: written(fields(title=shipped_catalogue().model[0].title)),
    "too many": lambda: written(*(fields(id=f"b{n}", title=f"B{n}") for n in range(MOST_ENTRIES + 1))),
    "nested without end": lambda: b'date = "2099-01-01"\nmodel = ' + b"[" * 50_000,
}


@pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_damaged_or_hostile_catalogue_is_a_sentence(
    content: Callable[[], bytes], server: HubServer, hub: Hub, own_data: Path
) -> None:
    publish(server, content())
    with pytest.raises(Failure, match="has errors") as failure:
        update_catalogue(hub)
    assert failure.value.code == "refused"
    assert not (own_data / FILE).exists()
    assert current_catalogue().entries == tuple(sorted(shipped_catalogue().model, key=lambda entry: entry.size))


def test_an_endless_catalogue_is_not_read_to_its_end(server: HubServer, hub: Hub, own_data: Path) -> None:
    publish(server, b"#" * (MOST_BYTES + 1))
    with pytest.raises(Failure, match="does not end"):
        update_catalogue(hub)


def test_no_other_host_is_asked(server: HubServer, hub: Hub, own_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = HubServer()
    try:
        publish(other, written(fields()))
        redirect = Handler.do_GET

        def elsewhere(handler: Handler) -> None:
            if handler.hub is server and handler.path == ADDRESS:
                server.requests.append((handler.path, ""))
                handler.answer(302, b"", Location=other.address + ADDRESS)
            else:
                redirect(handler)

        monkeypatch.setattr(Handler, "do_GET", elsewhere)
        with pytest.raises(Failure, match="leads to an address that is not safe"):
            update_catalogue(hub)
        assert other.requests == []
    finally:
        other.close()


def test_a_catalogue_that_is_gone_or_forbidden_is_a_sentence(
    server: HubServer, hub: Hub, own_data: Path, tmp_path: Path
) -> None:
    with pytest.raises(Failure, match="has no such model or file"):
        update_catalogue(hub)
    settings = tmp_path / "settings.toml"
    settings.write_text("network = false\n")
    asked = len(server.requests)
    with pytest.raises(Failure) as failure:
        update_catalogue(Hub(Network(settings), server.address))
    assert failure.value.code == "offline"
    assert len(server.requests) == asked


def test_a_stored_catalogue_that_is_damaged_is_told_and_not_used(
    own_data: Path, server: HubServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHICKADEE_HUB", server.address)
    own_data.mkdir()
    (own_data / FILE).write_bytes(written(fields())[:-20])
    assert main(["catalogue"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"{len(shipped_catalogue().model)} models, as of {shipped_catalogue().date}\n")
    assert "The catalogue that was fetched is damaged" in said
    publish(server, written(fields()))
    assert main(["catalogue", "--update"]) == 0
    assert capsys.readouterr().out == f"{len(shipped_catalogue().model) + 1} models, as of 2099-01-01\nNew: Bird 1B\n"
    assert main(["catalogue", "--update"]) == 0
    assert "No new models" in capsys.readouterr().out
    assert main(["catalogue", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["problem"] == ""
    publish(server, b"damaged")
    assert main(["catalogue", "--update"]) == 2
    assert "has errors" in capsys.readouterr().err


# --- what arrives ---


@pytest.fixture
def bird(server: HubServer, own_data: Path, monkeypatch: pytest.MonkeyPatch) -> CatalogueEntry:
    """Return an entry of the catalogue whose repository is the hub server's."""
    monkeypatch.setenv("CHICKADEE_HUB", server.address)
    own_data.mkdir()
    note = "Birds only."
    (own_data / FILE).write_bytes(written(fields(licence="Bird Licence 1.0", licence_note=note, architecture="qwen2")))
    entry = find_entry("bird-1b")
    assert entry
    return entry


def test_a_licence_with_conditions_is_told_before_the_download(
    bird: CatalogueEntry, server: HubServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.fault = lambda handler: not sys.stderr.write("(the download begins)")
    server.add(bird.file, make_gguf(tmp_path / "bird.gguf").read_bytes())
    assert main(["pull", "bird-1b"]) == 0
    said = capsys.readouterr()
    conditions = "Bird 1B has its own licence, Bird Licence 1.0. Birds only.\n"
    assert said.err.index(conditions) < said.err.index("(the download begins)")
    assert "but its file is of the kind “llama”; the catalogue says “qwen2”" in said.out


def test_another_architecture_than_stated_is_told(bird: CatalogueEntry, server: HubServer, tmp_path: Path) -> None:
    path = make_gguf(tmp_path / "bird.gguf")
    server.add(bird.file, path.read_bytes())
    assert check_arrival(path, "a/b", "another.gguf") is None
    hub = Hub(address=server.address)
    queue = DownloadQueue()
    job = queue.add(plan_download(hub.model("a/b", bird.file), hub))
    assert queue.wait(30)
    queue.close()
    (done,) = queue.jobs
    assert (done.id, done.state) == (job.id, "done")
    assert str(done.problem).startswith("Bird 1B has arrived, but its file is of the kind “llama”")


def test_a_file_that_was_renamed_is_a_sentence(
    bird: CatalogueEntry, server: HubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.add("bird-renamed-Q8_0.gguf", b"123")
    assert main(["pull", "bird-1b"]) == 2
    assert capsys.readouterr().err.endswith("a/b has no file bird-Q4_K_M.gguf. It has bird-renamed-Q8_0.gguf.\n")


def test_a_repository_that_has_moved_is_a_sentence(
    server: HubServer, own_data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CHICKADEE_HUB", server.address)
    assert main(["pull", "qwen3.5-4b"]) == 2
    assert "has no such model or file (error 404). It may have been renamed." in capsys.readouterr().err


def test_the_shipped_file_is_toml_that_people_can_read() -> None:
    raw = tomllib.loads(asset(FILE).read_text(encoding="utf-8"))
    assert [entry["size"] for entry in raw["model"]] == sorted(entry["size"] for entry in raw["model"])
