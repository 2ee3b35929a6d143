"""Tests of `python -m models` as a person or a script uses it: in its own process, with the local hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from common.paths import path_of
from models.__main__ import main
from models.catalogue import catalogue, find_entry
from models.commands.pull import progress_line
from models.hub import is_safe_path
from models.locations import own_folder
from models.progress import DownloadProgress
from models.terminal import READER_GONE
from tests.models.make_gguf import make_gguf

TOP = Path(__file__).resolve().parents[2]


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "models", *map(str, arguments)]
    environment = os.environ | variables
    return subprocess.run(
        command, cwd=TOP, env=environment, capture_output=True, stdin=subprocess.DEVNULL, text=True, encoding="utf-8"
    )


def json_of(*arguments: object, **variables: str) -> Any:
    done = run(*arguments, "--json", **variables)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_list_says_what_fits(own_data):
    (built_in,) = json_of("list")
    assert built_in["place"] == "built-in"
    assert built_in["quantisation"] == "Q4_1"
    plan = built_in["plan"]
    assert (plan["verdict"], plan["exact"], plan["largest_context"]) == ("fits", True, 8192)
    assert plan["total_bytes"] > built_in["size_bytes"]
    lines = run("list").stdout.splitlines()
    assert lines[0].split() == ["name", "size", "parameters", "kind", "place", "memory"]
    assert "built in  fits: " in lines[1]


def test_the_catalogue_says_what_would_fit(own_data):
    entries = json_of("list", "--catalogue")
    assert [entry["id"] for entry in entries] == [entry.id for entry in catalogue()]
    assert all(entry["plan"]["total_bytes"] > entry["size_bytes"] for entry in entries)
    assert not any(entry["plan"]["exact"] for entry in entries)


def test_the_catalogue_is_sound():
    entries = catalogue()
    assert [entry.size for entry in entries] == sorted(entry.size for entry in entries)
    assert len({entry.id for entry in entries}) == len({entry.title for entry in entries}) == len(entries)
    assert all(is_safe_path(entry.file) and entry.file.endswith(".gguf") for entry in entries)
    assert all(entry.about.endswith(".") and entry.repo.count("/") == 1 for entry in entries)
    assert find_entry("Qwen3.5 4B") == find_entry("unsloth/Qwen3.5-4B-GGUF") == find_entry("qwen3.5-4B")
    assert find_entry("nothing") is None


def test_pull_list_info_remove(server, own_data, tmp_path):
    server.add("bird.gguf", make_gguf(tmp_path / "bird.gguf").read_bytes())
    address = {"CHICKADEE_HUB": server.address}
    pulled = json_of("pull", "a/b", **address)
    assert Path(pulled["path"]) == own_folder() / "a/b/bird.gguf"
    assert pulled["usable"]
    again = run("pull", "a/b", "bird.gguf", **address)
    assert again.returncode == 0
    assert again.stdout.startswith("bird.gguf is ready")
    assert [model["name"] for model in json_of("list", "--no-plan")][1:] == ["bird.gguf"]
    shown = run("info", "bird", "--no-plan").stdout
    assert "licence           Apache License 2.0" in shown
    kept = run("remove", "bird")
    assert kept.returncode == 2
    assert kept.stderr == "chickadee: bird.gguf was not deleted. Use --yes to delete without being asked.\n"
    assert json_of("remove", "bird", "--yes")["deleted"]
    assert list((own_folder() / "a/b").iterdir()) == []


def test_searching_and_listing_files(server, own_data):
    server.add("x-Q8_0.gguf", b"12")
    server.answers["/api/models"] = json.dumps([{"id": "a/b", "tags": ["license:mit"]}]).encode()
    address = {"CHICKADEE_HUB": server.address}
    assert json_of("search", "small", "bird", **address)[0]["licence"] == "mit"
    (model,) = json_of("search", "a/b", **address)
    assert (model["quantisation"], model["size_bytes"]) == ("Q8_0", 2)


def test_adding_a_folder_and_a_file(own_data, tmp_path):
    make_gguf(tmp_path / "there/bird.gguf")
    file = make_gguf(tmp_path / "wren.gguf")
    assert [model["name"] for model in json_of("add", tmp_path / "there")] == ["bird.gguf"]
    assert "1 model in it" in run("add", file).stdout
    assert "Remove that folder from the list instead" in run("remove", "bird.gguf", "--yes").stderr
    assert run("remove", tmp_path / "there").returncode == 0
    assert run("remove", "wren.gguf").returncode == 0
    assert len(json_of("list", "--no-plan")) == 1
    assert file.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["info", "nothing"], "There is no model named “nothing” here."),
        (["add", "nothing"], "There is no file or folder"),
        (["add", "README.md"], "is not a GGUF model file"),
        (["remove", "SmolLM2"], "It is part of Chickadee and cannot be deleted."),
        (["pull", "x"], "is not a model on Hugging Face"),
        (["pull", "a/b"], "Connections are turned off"),
        (["search", "x"], "Connections are turned off"),
    ],
)
def test_bad_input_is_a_sentence(arguments, sentence, own_data, monkeypatch, capsys):
    monkeypatch.setenv("CHICKADEE_OFFLINE", "1")
    monkeypatch.chdir(TOP)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("chickadee: ")
    assert sentence in said


def test_a_file_that_cannot_be_used_is_told(own_data, tmp_path, capsys):
    bad = tmp_path / "bad.gguf"
    bad.write_text("hello")
    assert main(["info", str(bad)]) == 1
    assert "bad.gguf is not a GGUF model file" in capsys.readouterr().out
    assert main(["add", str(bad)]) == 2
    make_gguf(own_folder() / "one-bird.gguf")
    make_gguf(own_folder() / "two-birds.gguf")
    assert main(["info", "bird"]) == 2
    assert "may be one of 2 models: one-bird.gguf, two-birds.gguf" in capsys.readouterr().err


def test_the_line_of_progress():
    line = progress_line("bird.gguf", DownloadProgress("receiving", 1 << 30, 4 << 30, 32 << 20))
    assert line == "bird.gguf ██████░░░░░░░░░░░░░░░░░░ 1.07 GB of 4.29 GB · 34 MB/s · 1:36 left"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are always letters")
def test_a_name_that_is_not_utf8(own_data, tmp_path):
    path = make_gguf(Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9.gguf")))
    (added,) = json_of("add", tmp_path)
    assert added["name"] == "caf\N{REPLACEMENT CHARACTER}.gguf"
    assert path_of(added["path"]) == path
    assert json_of("list", "--no-plan")[1] == added
    assert added["name"] in run("list", "--no-plan", PYTHONIOENCODING="ascii:strict", LC_ALL="C").stdout.replace(
        "?", "\N{REPLACEMENT CHARACTER}"
    )
    for name in (path, added["path"], added["name"]):
        assert json_of("info", name, "--no-plan")["path"] == added["path"]
    assert run("remove", tmp_path).returncode == 0
    assert run("add", path).returncode == 0
    assert json_of("remove", added["path"]) == {"path": added["path"], "deleted": False}


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such pipes")
@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("models", ["info", "SmolLM2", "--no-plan"]),
        ("models", ["list", "--catalogue", "--no-plan", "--json"]),
        ("models", ["info", "nothing"]),
        ("engine", ["cache", "list"]),
        ("app", ["--help"]),
    ],
)
def test_commands_end_quietly_when_their_reader_goes(program, arguments, own_data):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", program, *arguments]
    errors = writing if "nothing" in arguments else subprocess.PIPE
    buffered = os.environ | {"PYTHONUNBUFFERED": ""}  # the usual case: output is written when Python ends
    done = subprocess.run(command, cwd=TOP, env=buffered, stdin=subprocess.DEVNULL, stdout=writing, stderr=errors)
    os.close(writing)
    assert done.returncode == READER_GONE
    assert not done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_a_full_disk_is_told(own_data):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "models", "list", "--catalogue", "--no-plan", "--json"]
        done = subprocess.run(command, cwd=TOP, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "chickadee: The output cannot be written: No space left on device.\n"


def test_what_a_hub_answers_with_is_printed(server, own_data):
    """The answer contains half a surrogate pair and a terminal's control sequence."""
    entry = {"id": "a/b", "tags": ["license:\ud83d\x1b[2J"], "gguf": {"architecture": "\udc80"}}
    server.answers["/api/models"] = json.dumps([entry]).encode()
    address = {"CHICKADEE_HUB": server.address}
    assert json_of("search", "bird", **address)[0]["architecture"] == "\udc80"
    assert "\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}[2J" in run("search", "bird", **address).stdout


@pytest.mark.parametrize(
    "name", ["a\ud800.gguf", "a\x7f.gguf", "a\u202efugg.gguf", "é" * 101 + ".gguf", "a/" * 600 + "x"]
)
def test_names_that_some_disk_cannot_store_are_not_safe(name):
    assert not is_safe_path(name)
    assert is_safe_path("日本/é b.gguf")
