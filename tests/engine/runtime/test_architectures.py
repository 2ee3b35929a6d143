"""Every kind of architecture computes behind what is cached what it computes of a whole chat.

The small form reads tokens in this process; the long one has a user's whole chat with the engine's process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing

import numpy as np
import pytest

from benchmarks.tiny_models import ANSWERED, write_tiny_model
from benchmarks.tiny_shapes import SHAPES
from benchmarks.trials import Engines, ModelTrial
from engine.kv.session import Session
from engine.runtime.contexts import ContextOptions
from engine.runtime.llama.runtime import LlamaRuntime, Model
from engine.stop import StopFlag
from models.locations import usual_folder

# Models that go back to a checkpoint. Sliding windows need that only after the cache has moved, as for idle work: the
# copy holds what the next token sees and nothing before.
RECURRENT = {"qwen35", "qwen35moe", "lfm2", "lfm2moe", "granitehybrid", "falcon-h1", "mamba2"}
WITH_CHECKPOINTS = RECURRENT | {"gemma3", "gemma4", "gpt-oss"}
USUAL = {"gemma3"}  # has its long form each time
PASS = 512  # tokens
NOISE = 0.1  # of a row's standard deviation: passes of other sizes add in another order; an old token changes 5
FLASH = {"deepseek2"}  # keys and values differ in size, which llama.cpp computes with flash attention alone


def read(session: Session, tokens: Sequence[int]) -> tuple[int, np.ndarray]:
    """Return how many of the tokens were cached, and the logits behind all of them."""
    begun, *_ = session.prefill(tokens)
    assert session.logits
    return begun.reused, session.logits.row().copy()


def row_of(session: Session, tokens: Sequence[int]) -> np.ndarray:
    """Return the logits behind `tokens`, of which none is cached."""
    session.clear()
    return read(session, tokens)[1]


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_a_chat_that_goes_on_is_edited_and_taken_back_is_computed_as_if_read_anew(name, tmp_path):
    words = [int(token) for token in np.random.default_rng(1).choice(ANSWERED, 400)]
    chat, longer = words[:200], words[:260]  # longer than the windows
    edits = words[:220] + words[300:350], words[:150] + words[300:350]  # behind the checkpoint after `chat`, and before
    options = ContextOptions(n_ctx=512, threads=1, flash_attention="auto" if name in FLASH else "off")
    model = Model(write_tiny_model(tmp_path / "model.gguf", SHAPES[name]))
    with closing(model), closing(LlamaRuntime(model, options, StopFlag())) as target:
        session = Session(target, checkpoints=4)
        expected = {len(tokens): row_of(session, tokens) for tokens in (longer, *edits)}
        row_of(session, chat)
        for tokens, least in ((longer, 199), (edits[0], 199), (longer, 199), (edits[1], 0), (longer, 0)):
            reused, row = read(session, tokens)
            assert reused >= least
            wanted = expected[len(tokens)]
            assert np.abs(row - wanted).max() < NOISE * wanted.std()


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
