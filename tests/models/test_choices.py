"""What can be chosen: the catalogue's entries, and files of them that this or another program has brought."""

from __future__ import annotations

from pathlib import Path

import pytest

from common.planning import Verdict
from models.catalogue import catalogue
from models.choices import candidates, choice_of, choices, local_choices
from models.collection import scan_models
from models.recommend import rank, recommend
from tests.models.make_gguf import make_gguf

FITS = Verdict(verdict="fits", n_ctx=8192, predicted_speed=20.0)


@pytest.fixture(autouse=True)
def own_folders(own_data: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep this computer's models out of the tests."""
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.mark.skipif("sys.platform != 'linux'", reason="the folders are those of Linux")
@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".config/Jan/data/llamacpp/models/Qwen3_5-4B-Q4_K_M/model.gguf", "jan"),
        ("elsewhere/models/Qwen3.5-4B/model.gguf", "jan"),
        (".local/share/nomic.ai/GPT4All/Qwen3.5-4B-Q4_0.gguf", "gpt4all"),
        ("gpt/Qwen3.5-4B-Q4_0.gguf", "gpt4all"),
        (".lmstudio/models/unsloth/Qwen3.5-4B-GGUF/Qwen3.5-4B-Q4_K_M.gguf", "lm-studio"),
    ],
)
def test_a_file_that_another_program_brought_is_known_where_it_is(tmp_path: Path, path: str, kind: str) -> None:
    file = make_gguf(tmp_path / path, architecture="qwen35")
    if "elsewhere" in path:
        (tmp_path / ".config/Jan").mkdir(parents=True)
        (tmp_path / ".config/Jan/settings.json").write_text(f'{{"data_folder": "{tmp_path}/elsewhere"}}')
    if "gpt/" in path:
        (tmp_path / ".config/nomic.ai").mkdir(parents=True)
        (tmp_path / ".config/nomic.ai/GPT4All.ini").write_text(f"[General]\nmodelPath={tmp_path}/gpt\n")
    found = [choice for choice in local_choices(catalogue(), scan_models()) if choice.entry]
    assert [(choice.entry.id, choice.model.path) for choice in found if choice.entry and choice.model] == [
        ("qwen3.5-4b", file)
    ]
    assert found[0].model
    assert found[0].model.location.kind == kind


def test_another_architecture_is_another_model(tmp_path: Path, own_data: Path) -> None:
    make_gguf(own_data / "models/a/b/Qwen3.5-4B-Q4_K_M.gguf", architecture="llama")
    assert all(choice.entry is None for choice in local_choices(catalogue(), scan_models()))


def test_what_is_here_and_fits_needs_no_download(own_data: Path) -> None:
    file = make_gguf(own_data / "models/a/b/Qwen3.5-4B-Q4_K_M.gguf", architecture="qwen35")
    found = choices(catalogue(), scan_models())
    verdicts = {choice.key: FITS for choice in found}
    best = recommend(candidates(found, verdicts)).best
    assert best
    assert best.key == max(found, key=lambda choice: choice.entry.tier if choice.entry else 0)
    here = [one for one in candidates(found, verdicts) if choice_of(one).entry and choice_of(one).model]
    assert [(one.download, choice_of(one).key) for one in here] == [(0, ("here", file))]
    ids = [choice_of(one).key for one in candidates(found, verdicts)]
    assert ("entry", "qwen3.5-4b") not in ids
    verdicts["here", file] = Verdict(verdict="no")  # a larger quantisation than this computer can hold
    assert ("entry", "qwen3.5-4b") in [choice_of(one).key for one in candidates(found, verdicts)]


def test_the_list_is_sorted_by_recommendation() -> None:
    found = choices(catalogue(), ())
    verdicts = {choice.key: FITS for choice in found}
    verdicts["entry", "qwen3.5-9b"] = Verdict(verdict="no")
    ranked = [choice_of(one).key for one in sorted(candidates(found, verdicts), key=rank, reverse=True)]
    assert ranked[0] == ("entry", "qwen3.5-4b")
    assert ranked[-1] == ("entry", "qwen3.5-9b")
