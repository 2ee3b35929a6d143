"""A model's own layers that predict further tokens: they follow the chat through everything that happens to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from benchmarks.tiny_models import ANSWERED, write_tiny_model
from benchmarks.tiny_shapes import OWN_LAYERS, SHAPES
from common.failures import Failure
from engine.generation.decode import decode
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.runtime.contexts import ContextOptions
from engine.runtime.interface import PredictingRuntime, Row, Tree
from engine.runtime.llama import mtp
from engine.runtime.llama.runtime import LlamaRuntime, Model
from engine.speculative.drafting import Fixed
from engine.speculative.own_layers import OwnLayers
from engine.stop import StopFlag, Stopped
from tests.engine.fake_runtime import greedy
from tests.engine.runtime.foretelling import write_foretelling

ROLLBACK = 4
CLOSE = 0.15  # of the logits' spread; a random model makes much of differences between passes of different sizes
CHAT = [int(token) for token in np.random.default_rng(7).integers(ANSWERED[0], ANSWERED[-1], 300)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


USUAL = ("glm4moe-mtp", "qwen35-mtp")  # one that can be truncated anywhere, and one with recurrent layers


@pytest.fixture(
    scope="module",
    params=[*USUAL, *(pytest.param(n, marks=pytest.mark.slow) for n in sorted(OWN_LAYERS) if n not in USUAL)],
)
def model(request, folder) -> Iterator[Model]:
    path = write_tiny_model(folder / f"{request.param}.gguf", OWN_LAYERS[request.param])
    with closing(Model(path, own_layers=True)) as model:
        yield model


def opened(model: Model, n_ctx: int = 512, stop: StopFlag | None = None, folder: Path | None = None) -> LlamaRuntime:
    options = ContextOptions(n_ctx, 1, n_batch=128, rollback=ROLLBACK, flash_attention="off", own_layers=True)
    runtime = LlamaRuntime(model, options, stop or StopFlag(), folder)
    runtime.read_along(True)
    return runtime


def can_predict(runtime: LlamaRuntime) -> bool:
    """Return `can_predict`, which changes between two uses; a type checker believes that it does not."""
    return runtime.can_predict


def read(runtime: LlamaRuntime, tokens: Sequence[int]) -> None:
    for start in range(0, len(tokens), runtime.max_batch):
        runtime.forward(tokens[start : start + runtime.max_batch])


def predictions(runtime: LlamaRuntime, newest: int, second: int) -> tuple[Row, Row]:
    return runtime.predict((newest,)).row().copy(), runtime.predict((newest, second)).row().copy()


def check(runtime: LlamaRuntime, chat: Sequence[int]) -> None:
    """Assert that the layers predict after `chat`, whose last token is not cached, as they do in a new runtime."""
    assert isinstance(runtime.model, Model)
    with closing(opened(runtime.model)) as fresh:
        read(fresh, chat[:-1])
        expected = predictions(fresh, chat[-1], CHAT[0])
    for row, right in zip(predictions(runtime, chat[-1], CHAT[0]), expected, strict=True):
        assert np.abs(row - right).max() < CLOSE * right.std()


def test_the_layers_follow_passes_of_all_sizes(model):
    with closing(opened(model)) as runtime:
        assert isinstance(runtime, PredictingRuntime)
        size = 0
        for count in (100, 1, 5, 128, 2, 1):
            runtime.forward(CHAT[size : size + count])
            size += count
            check(runtime, CHAT[: size + 1])
            check(runtime, [*CHAT[:size], CHAT[9]])


@pytest.mark.parametrize("kept", range(1, ROLLBACK + 1))
def test_the_layers_forget_what_is_taken_back(model, kept):
    with closing(opened(model)) as runtime:
        read(runtime, CHAT[:60])
        runtime.predict((CHAT[60],))
        wrong = [CHAT[60], *(ANSWERED[0] for _ in range(ROLLBACK))]
        runtime.forward(wrong, len(wrong))
        runtime.truncate(60 + kept)
        check(runtime, [*CHAT[:60], *wrong[:kept], CHAT[3]])


def test_another_token_may_follow_than_the_one_that_was_predicted_from(model):
    with closing(opened(model)) as runtime:
        read(runtime, CHAT[:60])
        predictions(runtime, CHAT[100], CHAT[101])
        runtime.forward(CHAT[60:63])
        check(runtime, CHAT[:64])


def test_the_layers_move_with_the_cache_and_begin_anew_after_a_jump(model, tmp_path):
    with closing(opened(model, folder=tmp_path)) as runtime:
        read(runtime, CHAT[:200])
        runtime.resize(1024)
        check(runtime, CHAT[:201])
        runtime.save(tmp_path / "chat", CHAT[:200])
        restore = runtime.snapshot()
        runtime.truncate(0)
        assert can_predict(runtime)
        assert not runtime.unread
        for come_back in (restore, lambda: runtime.load(tmp_path / "chat")):
            come_back()
            assert can_predict(runtime) is False
            runtime.forward(CHAT[200:202])
            assert can_predict(runtime)
            assert np.isfinite(runtime.predict((CHAT[202],)).row()).all()
        read(runtime, CHAT[202:280])
        assert runtime.truncate(0) == 0
        read(runtime, CHAT[:90])
        check(runtime, CHAT[:91])


def test_without_reading_along_only_the_newest_tokens_are_read(model):
    with closing(opened(model)) as runtime:
        runtime.read_along(False)
        read(runtime, CHAT)
        assert runtime.unread == mtp.KEPT_READ
        assert np.isfinite(runtime.predict((5,)).row()).all()
        assert runtime.unread == 0


def test_a_stop_leaves_layers_that_go_on(model):
    stop = StopFlag()
    with closing(opened(model, stop=stop)) as runtime:
        read(runtime, CHAT[:50])
        stop.set()
        with pytest.raises(Stopped):
            runtime.predict((CHAT[50],))
        stop.clear()
        assert not can_predict(runtime)
        runtime.forward(CHAT[50:52])
        assert can_predict(runtime)
        runtime.predict((CHAT[52],))


def test_branches_of_a_tree_are_forgotten(folder):
    path = write_tiny_model(folder / "tree.gguf", OWN_LAYERS["glm4moe-mtp"])
    with closing(Model(path, own_layers=True)) as model, closing(opened(model)) as runtime:
        read(runtime, CHAT[:50])
        runtime.forward_tree(CHAT[50:51], Tree.merged([CHAT[51:53], CHAT[60:62]]))
        runtime.keep_path(1, (0, 1))
        assert not runtime.can_predict
        runtime.forward(CHAT[53:54])
        assert np.isfinite(runtime.predict((CHAT[54],)).row()).all()


def answer(runtime: LlamaRuntime, drafts: bool, count: int | None) -> tuple[list[int], int]:
    """Return the answer to a prompt, and how many drafted tokens were accepted; all that is drafted is verified."""
    session = Session(runtime)
    list(session.prefill(CHAT[:40]))
    drafting = Fixed(OwnLayers(runtime, lambda: None), None, branches=False) if drafts else None
    steps = list(decode(session, greedy(), PartialFixed(AlwaysPolicy(), 128), count, drafting))
    return [token for step in steps for token in step.tokens], sum(s.source.accepted for s in steps if s.source)


def test_drafts_do_not_change_the_answer_even_where_the_context_ends(model):
    with closing(opened(model, n_ctx=256)) as runtime:
        plain, _ = answer(runtime, drafts=False, count=None)
        runtime.truncate(0)
        drafted, _ = answer(runtime, drafts=True, count=None)
    assert drafted == plain


@pytest.mark.parametrize("name", USUAL)
def test_trained_layers_are_right(folder, name):
    path = write_foretelling(folder / f"right-{name}.gguf", name)
    with closing(Model(path, own_layers=True)) as model, closing(opened(model)) as runtime:
        plain, _ = answer(runtime, drafts=False, count=61)
        runtime.truncate(0)
        drafted, accepted = answer(runtime, drafts=True, count=61)
    assert drafted == plain
    assert accepted == 40  # two in each step


@pytest.mark.parametrize("right", [0.75, 0.25])
def test_a_known_share_of_predictions_is_right(folder, right):
    path = write_foretelling(folder / f"{right}.gguf", "glm4moe-mtp", right)
    with closing(Model(path, own_layers=True)) as model, closing(opened(model)) as runtime:
        hits = 0
        for i, token in enumerate(ANSWERED):
            read(runtime, [CHAT[i]])
            foretold = runtime.predict((token,)).row().argmax()
            hits += foretold == runtime.forward((token,)).row().argmax()
        assert hits == pytest.approx(right * len(ANSWERED), abs=2)


def test_a_model_without_such_layers_has_none(folder):
    path = write_tiny_model(folder / "plain.gguf", SHAPES["qwen3"])
    with closing(Model(path)) as model, closing(opened(model)) as runtime:
        assert not runtime.own_layers
        assert not runtime.can_predict


def test_without_memory_for_the_layers_the_model_runs_without(model, monkeypatch):
    def short(*_arguments):
        raise Failure("out_of_memory.context", n_ctx=1)

    monkeypatch.setattr(mtp.NextTokenLayers, "_open", short)
    with closing(opened(model)) as runtime:
        assert not runtime.own_layers
        read(runtime, CHAT[:10])
