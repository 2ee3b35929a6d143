"""Looking ahead with a model's lower layers gives the right logits and leaves no trace."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, closing

import gguf
import numpy as np
import pytest

from engine.runtime.contexts import ContextOptions, KVMode
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.modes import make_head_split_kv
from engine.runtime.graph.runtime import GraphRuntime
from engine.runtime.interface import EarlyExitRuntime, Tree, prefill
from engine.runtime.llama.runtime import LlamaRuntime, Model
from engine.stop import StopFlag, Stopped
from tests.engine.runtime.graph.test_model import QKV
from tests.engine.runtime.graph.tiny import VOCABULARY, write_tiny

OPTIONS = ContextOptions(n_ctx=512, threads=1)
LAYERS = 3
SHAPES = {"llama": {}, "qwen2": {"biases": QKV, "tied": True}}
PROMPT = [i * 7 % VOCABULARY for i in range(250)]


@pytest.fixture(scope="module", params=SHAPES)
def pair(request, tmp_path_factory) -> Iterator[tuple[GraphRuntime, ...]]:
    """Yield two runtimes of one tiny model.

    Its weights are exact, because rounded weights would amplify differences in the last bits.
    """
    path = tmp_path_factory.mktemp("tiny") / "m.gguf"
    write_tiny(path, request.param, layers=LAYERS, type=gguf.GGMLQuantizationType.F32, **SHAPES[request.param])
    with ExitStack() as stack:
        model = stack.enter_context(closing(GraphModel(path)))
        yield tuple(stack.enter_context(closing(GraphRuntime(model, OPTIONS, StopFlag()))) for _ in range(2))


@pytest.fixture
def targets(pair):
    for target in pair:
        target.truncate(0)
        list(prefill(target, PROMPT))
    return pair


@pytest.mark.parametrize("architecture", SHAPES)
@pytest.mark.parametrize("layers", range(1, LAYERS))
def test_the_logits_are_those_of_a_model_with_the_lower_layers_alone(tmp_path, architecture, layers):
    """The logits equal llama.cpp's to the last bit.

    Tiny models with different numbers of layers have the same first layers.
    """
    whole, part = (
        write_tiny(tmp_path / f"{n}.gguf", architecture, layers=n, **SHAPES[architecture]) for n in (LAYERS, layers)
    )
    with closing(GraphModel(whole)) as ours, closing(Model(part)) as theirs:
        target, oracle = GraphRuntime(ours, OPTIONS, StopFlag()), LlamaRuntime(theirs, OPTIONS, StopFlag())
        with closing(target), closing(oracle):
            assert list(target.exits) == [1, 2]
            for one in (target, oracle):
                list(prefill(one, PROMPT))
            for tokens in ([5, 6, 7], [8], [9], [300]):
                assert (target.look_ahead(tokens, layers).row() == oracle.forward(tokens).row()).all()
            assert target.size == len(PROMPT)


@pytest.mark.parametrize("layers", range(1, LAYERS))
@pytest.mark.parametrize("n", [1, 3, 8])
def test_what_the_lower_layers_have_seen_gives_the_same_logits(targets, layers, n):
    target, _ = targets
    tokens = PROMPT[:n]
    target.look_ahead(tokens, layers)
    found, expected = (one.forward(tokens, n) for one in targets)
    assert found.timing_unreliable
    assert not expected.timing_unreliable
    assert all((found.row(i) == expected.row(i)).all() for i in range(n))
    found, expected = (one.forward([5]) for one in targets)
    assert not found.timing_unreliable
    assert (found.row() == expected.row()).all()


def test_other_tokens_than_those_looked_ahead_at(targets):
    target, plain = targets
    for tokens in ([5, 6, 7, 8], [5, 6, 9, 10, 11], [20, 21], [5]):
        target.truncate(len(PROMPT))
        target.look_ahead([5], 2)
        target.look_ahead([6], 2)
        target.look_ahead([7], 2)
        logits = target.forward(tokens, len(tokens))
        for i, token in enumerate(tokens):
            assert close(logits.row(i), plain.forward([token]).row())
        plain.truncate(len(PROMPT))


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_left_of_any_look_ahead(targets, seed):
    """A random walk over the edge of a bucket gives the same logits as a runtime that never looks ahead."""
    dice = random.Random(seed)
    target, plain = targets
    for _ in range(40):
        inputs = [dice.randrange(VOCABULARY) for _ in range(dice.randint(1, 3))]
        tree = Tree.merged([branch(dice), branch(dice)]) if dice.random() < 0.3 else Tree.line(branch(dice))
        looked = [*inputs, *tree.tokens[: dice.randint(0, tree.size)]] if dice.random() < 0.7 else [1, 2]
        layers = dice.randint(1, 2)
        if dice.random() < 0.8:
            target.look_ahead(looked[: len(inputs)], layers)
            for token in looked[len(inputs) :]:
                target.look_ahead([token], dice.choice((layers, layers, 1)))
        change = dice.random()
        if change < 0.1:
            target.resize(dice.choice((512, 768)))
        elif change < 0.2:
            target.snapshot()()
        path = dice.choice([(), *(tree.path(i) for i in range(tree.size))])
        base, line = target.size, [*inputs, *tree.tokens]
        found, expected = (
            one.forward(line, 1 + tree.size) if tree.is_line else one.forward_tree(inputs, tree) for one in targets
        )
        assert all(close(found.row(i), expected.row(i)) for i in range(1 + tree.size))
        for one in targets:
            if tree.is_line:
                one.truncate(base + len(inputs) + len(path))
            else:
                one.keep_path(len(inputs), path)
        assert target.size == plain.size
        if target.size > 400:
            for one in targets:
                one.truncate(240)


def branch(dice: random.Random) -> list[int]:
    return [dice.randrange(VOCABULARY) for _ in range(dice.randint(0, 5))]


def close(a, b) -> bool:
    """Return whether two rows are equal except for the last bits, in which passes of other sizes differ."""
    return bool(np.abs(a - b).max() < 1e-2 * (b.max() - b.min()))


def test_stopped_while_looking_ahead(targets):
    target, _ = targets
    target.look_ahead([5], 2)
    target.stop.set()
    with pytest.raises(Stopped):
        target.look_ahead([6], 2)
    with pytest.raises(Stopped):
        target.forward([5, 6])
    target.stop.clear()
    assert target.size == len(PROMPT)
    found, expected = (one.forward([5, 6], 2) for one in targets)
    assert (found.row(0) == expected.row(0)).all()


def test_heads_that_keep_less_cannot_exit(tmp_path):
    path = write_tiny(tmp_path / "m.gguf", "llama", layers=LAYERS)
    options = ContextOptions(n_ctx=512, threads=1, kv_mode=KVMode("window", 0.5))
    with closing(GraphModel(path)) as model:
        heads = [(0, 0)]
        target = GraphRuntime(
            model, options, StopFlag(), None, lambda m, n, mode: make_head_split_kv(m, n, mode.name, heads)
        )
        with closing(target):
            assert isinstance(target, EarlyExitRuntime)
            assert not target.exits
