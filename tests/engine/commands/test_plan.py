"""`python -m engine plan`: its JSON, its table, its refusals."""

from __future__ import annotations

import json

import pytest

from engine.__main__ import main
from models.default import default_model
from tests.engine.conftest import write_gguf

MIB = 1 << 20
FIELDS = ["verdict", "total_bytes", "available_bytes", "parts", "n_ctx", "max_n_ctx", "kv_type", "repack"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["plan", *arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def test_command_prints_its_json(capsys):
    code, out, _ = run(capsys, str(default_model()), "--memory", "1GiB", "--ctx", "2048", "--json")
    plan = json.loads(out)
    assert code == 0
    assert list(plan) == [*FIELDS, "checkpoints", "threads", "reasons", "device"]
    assert plan["verdict"] == "fits"
    assert plan["n_ctx"] == 2048
    assert plan["max_n_ctx"] == 8192
    assert plan["total_bytes"] == sum(plan["parts"].values()) < 500 * MIB


def test_the_local_api_is_planned_when_it_is_asked_for(capsys):
    plain, api = (json.loads(run(capsys, str(default_model()), "--json", *more)[1]) for more in ([], ["--api"]))
    added = {name: size for name, size in api["parts"].items() if name not in plain["parts"]}
    assert set(added) == {"grammars", "api"}
    assert api["total_bytes"] - plain["total_bytes"] == sum(added.values()) > 40 * MIB
    table = run(capsys, str(default_model()), "--api")[1]
    assert "table for answers in a form" in table
    assert "local API, its process" in table


def test_command_prints_a_table_also_when_nothing_fits(capsys):
    code, out, _ = run(capsys, str(default_model()), "--memory", "20M")
    assert code == 0
    assert "does not fit" in out
    assert "KV cache" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--memory", "lots"], "is not a memory size"),
        (["--ctx", "3"], "64 tokens or more"),
        (["--threads", "0"], "Threads must lie between 1 and 512"),
        (["no such file.gguf"], "There is no file"),
    ],
)
def test_command_refuses_bad_options_with_a_sentence(capsys, arguments, words):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert words in err


def test_flash_attention_is_planned_and_what_needs_it_is_refused(capsys):
    with_it, without = (
        json.loads(run(capsys, str(default_model()), "--flash-attention", mode, "--backend", "llama", "--json")[1])
        for mode in ("on", "off")
    )
    assert without["parts"]["compute"] - with_it["parts"]["compute"] > 100 * MIB
    code, _, error = run(capsys, "--flash-attention", "off", "--kv-type", "q8_0")
    assert code
    assert "A KV cache stored as q8_0 needs flash attention" in error
    code, _, error = run(capsys, "--flash-attention", "off", "--backend", "graph")
    assert code
    assert "built-in engine needs flash attention" in error


def test_command_refuses_other_files(capsys, tmp_path):
    path = write_gguf(tmp_path / "dodo.gguf", "dodo")
    assert run(capsys, str(path))[0] == 2
