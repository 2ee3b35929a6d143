"""Every kind of architecture goes through the engine's process; the document's table names all that there are."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from itertools import count

import pytest

from benchmarks import architectures
from benchmarks.tiny_models import write_tiny_model
from benchmarks.tiny_shapes import SHAPES
from benchmarks.trials import Engines, ModelTrial, Trial
from engine.runtime.llama.library import open_library
from models.locations import usual_folder

# Models that go back to a checkpoint. Sliding windows need that only after the cache has moved, as for idle work: the
# copy holds what the next token sees and nothing before.
RECURRENT = {"qwen35", "qwen35moe", "lfm2", "lfm2moe", "granitehybrid", "falcon-h1", "mamba2"}
WITH_CHECKPOINTS = RECURRENT | {"gemma3", "gemma4", "gpt-oss"}
# Their caches are like those of another one that is tested each time: lfm2, qwen35, granitehybrid, qwen3moe.
SIMILAR = {"lfm2moe", "qwen35moe", "falcon-h1", "olmoe"}
PASS = 512  # tokens


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    home = tmp_path_factory.mktemp("engines")
    usual_folder(home / "settings.toml").mkdir()
    engines = Engines(home)
    yield engines
    engines.close()


CASES = [pytest.param(name, marks=[pytest.mark.slow] if name in SIMILAR else []) for name in sorted(SHAPES)]


@pytest.mark.parametrize("name", CASES)
def test_it_answers_as_a_fresh_engine_and_reads_little_again(engines, name):
    path = write_tiny_model(usual_folder(engines.home / "settings.toml") / f"{name}.gguf", SHAPES[name])
    trial = ModelTrial(name, path, engines, seed=1, short=True).run()
    path.unlink()
    assert not trial.refused
    assert trial.wrong == []
    assert trial.again == trial.restarted == 1
    assert trial.stopped == 0, "a stop while a prompt is read loses nothing that was read"
    assert trial.edited <= (PASS if name in WITH_CHECKPOINTS else 0)


def test_the_document_names_every_architecture_of_llama_cpp():
    listed = [name.removesuffix("+moe") for name in architectures.names_in(architectures.DOCUMENT.read_text("utf-8"))]
    assert sorted(set(listed)) == sorted(known_architectures())


def known_architectures() -> list[str]:
    """Return the names of all architectures of the installed llama.cpp, by its C++ function `llm_arch_name`."""
    try:
        name_of = open_library()._lib._Z13llm_arch_name8llm_arch
    except AttributeError:
        pytest.skip("this compiler names C++ functions in another way")
    name_of.restype = ctypes.c_char_p
    names = (name_of(number).decode() for number in count())
    known: list[str] = []
    for name in names:
        if name == "(unknown)":
            return known
        known.append(name)
    return known


def test_a_row_says_what_is_refused_and_what_is_wrong():
    assert architectures.row(Trial("t5", refused="It is no chat model.")).endswith("| refused: It is no chat model. |")
    wrong = Trial("lfm2", again=1, restarted=2, wrong=["stop: token 3 of 24 differs"], near_ties=1)
    assert architectures.row(wrong) == "| lfm2 | 1 | 0 | 0 | 2 |  |  | stop: token 3 of 24 differs, 1 near ties |"
