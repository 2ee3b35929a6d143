"""Every kind of architecture goes through the engine's process and answers there as a fresh engine would."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.tiny_models import write_tiny_model
from benchmarks.tiny_shapes import SHAPES
from benchmarks.trials import Engines, ModelTrial
from models.locations import usual_folder

# Models that go back to a checkpoint. Sliding windows need that only after the cache has moved, as for idle work: the
# copy holds what the next token sees and nothing before.
RECURRENT = {"qwen35", "qwen35moe", "lfm2", "lfm2moe", "granitehybrid", "falcon-h1", "mamba2"}
WITH_CHECKPOINTS = RECURRENT | {"gemma3", "gemma4", "gpt-oss"}
# Tested each time, one for each kind of cache: compressed, a window, and a state beside attention. `test_hybrid` has
# others with a state, and all other tests have llama's cache.
USUAL = {"deepseek2", "gemma3", "qwen35"}
PASS = 512  # tokens


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engines]:
    home = tmp_path_factory.mktemp("engines")
    usual_folder(home / "settings.toml").mkdir()
    engines = Engines(home)
    yield engines
    engines.close()


CASES = [pytest.param(name, marks=[] if name in USUAL else [pytest.mark.slow]) for name in sorted(SHAPES)]


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
