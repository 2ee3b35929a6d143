"""`python -m models recommend`: this computer, the table of docs/models.md, and files that are here already."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.__main__ import main
from models.catalogue import catalogue
from models.choices import local_choices
from models.collection import scan_models
from models.default import default_model

ROOT = Path(__file__).resolve().parents[2]


pytestmark = pytest.mark.usefixtures("own_data")  # other tests' downloads and measurements are not ours


def test_two_models_are_named_with_size_speed_memory_and_licence(capsys):
    assert main(["recommend"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Best for this computer: ")
    for words in ("to download", "free memory", "tok/s", "1,000 words"):
        assert words in lines[0]


def test_as_json(capsys):
    assert main(["recommend", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["best"]["id"] in {entry.id for entry in catalogue()}
    assert found["best"]["tokens_per_second"] > 0


def test_the_table_of_the_documents_is_todays(capsys):
    assert main(["recommend", "--table"]) == 0
    assert capsys.readouterr().out.strip() in (ROOT / "docs" / "models.md").read_text(encoding="utf-8")


def test_the_built_in_model_is_none_of_the_catalogue(tmp_path):
    models = list(scan_models(own=tmp_path / "own"))
    assert [model.path for model in models] == [default_model()]
    assert [choice.entry for choice in local_choices(catalogue(), models)] == [None]
