"""The output head that is read in two parts gives the same logits and answers as one that was not rearranged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest

from engine.generation.sampling import Sampler
from engine.protocol.requests import Sampling
from engine.runtime.capi.runtime import CLogits
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik.runtime import IkModel, IkRuntime, output_head_bytes
from engine.runtime.interface import prefill
from engine.stop import StopFlag
from tests.engine.runtime.graph.tiny import write_tiny
from tests.engine.runtime.ik.alone.test_native import needs_products

pytestmark = needs_products

WIDTH, VOCABULARY = 512, 8_000
BLOCK, BLOCK_BYTES, SCALE_AT = 256, 210, 208  # of Q6_K, whose float16 scale comes last
TOKENS = np.random.default_rng(7).integers(0, VOCABULARY, 48).tolist()
COUNTS = (1, 40, 104)


def random_weights(seed: int = 3) -> np.ndarray:
    """Return random Q6_K weights, some rows of which are larger than others.

    All bytes are valid weights, except the float16 scale of a block.
    """
    dice = np.random.default_rng(seed)
    blocks = dice.integers(0, 256, (VOCABULARY, WIDTH // BLOCK, BLOCK_BYTES), np.uint8)
    sizes = dice.uniform(1e-4, 4e-4, (VOCABULARY, WIDTH // BLOCK, 1)).astype(np.float16)
    blocks[:, :, SCALE_AT:] = sizes.view(np.uint8)
    return blocks.reshape(VOCABULARY, -1)


def write(path: Path, weights: np.ndarray, tied: bool = False) -> Path:
    vocabulary = len(weights)
    return write_tiny(path, "llama", width=WIDTH, vocabulary=vocabulary, heads=4, head=128, output=weights, tied=tied)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("models") / "tiny.gguf", random_weights())


@pytest.fixture(scope="module")
def models(path) -> Iterator[tuple[IkModel, IkModel]]:
    """Yield one model as the library lays it out, and one whose head was rearranged."""
    with closing(IkModel(path, rough=False)) as plain, closing(IkModel(path)) as split:
        assert plain.head is None
        assert split.head is not None
        yield plain, split


def open_runtime(model: IkModel, threads: int = 1) -> IkRuntime:
    return IkRuntime(model, ContextOptions(n_ctx=256, threads=threads), StopFlag())


@pytest.fixture
def targets(models) -> Iterator[tuple[IkRuntime, IkRuntime]]:
    with closing(open_runtime(models[0])) as plain, closing(open_runtime(models[1])) as split:
        yield plain, split


def run(target: IkRuntime, count: int, rows: int) -> CLogits:
    target.truncate(0)
    list(prefill(target, TOKENS[:16]))
    return target.forward(TOKENS[16 : 16 + count], rows)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_all_logits_are_the_same_to_the_last_bit(models, threads):
    """With three threads, one begins within 16 rows, which the library's own products then add in another order."""
    tolerance = 1e-5 if threads == 3 else 0
    with closing(open_runtime(models[0], threads)) as plain, closing(open_runtime(models[1], threads)) as split:
        for count, rows in ((1, 1), (2, 2), (3, 2), (4, 4), (5, 1), (5, 5), (8, 8), (9, 9), (19, 19), (30, 3)):
            found, expected = run(split, count, rows), run(plain, count, rows)
            for row in (*range(rows), -1):
                assert np.abs(found.row(row) - expected.row(row)).max() <= tolerance, (count, rows, row)


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
def test_few_tokens_read_the_upper_bits_only(targets, rows):
    """The rough logits must differ from the exact ones; otherwise the other tests would prove nothing."""
    exact, found = (run(target, 4, rows).raw_row(-1) for target in targets)
    assert not np.array_equal(found, exact)
    assert np.corrcoef(found, exact)[0, 1] > 0.99


@pytest.mark.parametrize("order", [COUNTS, COUNTS[::-1]])
def test_the_largest_are_exact_and_the_others_are_smaller(targets, order):
    for tokens in range(1, 30):
        plain, split = (run(target, tokens, min(tokens, 4)) for target in targets)
        exact = plain.row()
        for count in order:
            found, values = split.top(count)
            assert np.array_equal(found, np.argsort(-exact, kind="stable")[:count])
            assert np.array_equal(values, exact[found])
        assert np.array_equal(split.row(), exact)


def test_a_near_row_serves_for_a_probability(targets):
    """Its largest logit is exact, and what the others lack hardly changes their sum."""
    for tokens in range(1, 5):
        plain, split = (run(target, tokens, 1) for target in targets)
        exact, near = plain.row(), split.near_row()
        best = int(exact.argmax())
        assert int(near.argmax()) == best
        assert near[best] == exact[best]
        assert not np.array_equal(near, exact)
        share = np.exp(exact - exact[best]).sum() / np.exp(near - near[best]).sum()
        assert share == pytest.approx(1, rel=0.05)
        assert np.array_equal(plain.near_row(), exact)


def test_who_says_that_all_logits_will_be_read_gets_whole_passes(targets):
    """Computing all logits a second time takes longer than reading the whole head at once; the results are the same."""
    plain, split = targets
    run(split, 1, 1).row()
    for whole in (True, False):
        exact = plain.forward(TOKENS[:1]) if plain.size > 16 else run(plain, 1, 1)
        plain.truncate(16)
        split.truncate(16)
        found = split.forward(TOKENS[16:17], whole_rows=whole)
        exact = plain.forward(TOKENS[16:17])
        assert np.array_equal(found.raw_row(-1), exact.row()) == whole
        found.row()


def test_few_rows_of_weights_are_read_again(targets):
    _plain, split = targets
    logits = run(split, 1, 1).raw_row(-1)
    assert split.head is not None
    again = [split.head.finish(0, logits.ctypes.data, count) for count in (1, 40, 40, 0, 0)]
    assert split.head.group <= again[0] < again[1] < VOCABULARY / 4
    assert again[2] == again[4] == 0
    assert sum(again) == VOCABULARY


def test_how_far_off_is_known(targets):
    """The errors lie within the predicted deviations, because the lower bits are as random as a fair die.

    In a group of 16 rows, of which one may be four times as large as another, the largest deviation is twice the usual
    one; in a group of eight it is 1.8 times as large.
    """
    plain, split = targets
    worst, squares = 0.0, []
    for tokens in range(1, 20):
        exact, found = (run(target, tokens, min(tokens, 2)) for target in (plain, split))
        assert split.head is not None
        row = min(tokens, 2) - 1
        deviations = np.repeat(split.head.deviations(row), split.head.group)
        errors = (exact.row() - found.raw_row(-1)) / deviations
        worst = max(worst, float(np.abs(errors).max()))
        squares.append(float(np.square(errors).mean()))
    assert worst < 5.5
    assert abs(np.mean(squares) - {16: 0.25, 8: 0.31}[split.head.group]) < 0.03


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(seed=5),
        Sampling(seed=5, top_k=0),
        Sampling(seed=5, repeat_penalty=0.9),
        Sampling(temperature=0),
        Sampling(temperature=0, repeat_penalty=1),
    ],
)
def test_answers_are_the_same(targets, sampling):
    answers = []
    for target in targets:
        sampler = Sampler(sampling, TOKENS)
        answer = [sampler.sample(run(target, 1, 1))]
        while len(answer) < 40:
            logits = target.forward(answer[-1:], whole_rows=sampler.reads_whole_rows and len(answer) % 2 == 0)
            answer.append(sampler.sample(logits))
        answers.append(answer)
    assert answers[0] == answers[1]


def test_a_drafted_row_is_its_own(targets):
    """Rows are read in any order, in a pass that also has tokens without logits before them."""
    plain, split = (run(target, 6, 3) for target in targets)
    for row in (2, 0, 1, 0):
        exact = plain.row(row)
        (best,), (value,) = split.top(1, row)
        assert best == exact.argmax()
        assert value == exact[best]


def test_hostile_weights_do_no_harm(tmp_path):
    """A file may contain rows of zeros, of infinities and of NaNs."""
    weights = random_weights(seed=4)
    for rows, number in ((slice(0, 64), 0), (slice(640, 656), np.inf), (slice(6400, 6404), np.nan)):
        weights[rows, SCALE_AT : SCALE_AT + 2] = np.array([number], np.float16).view(np.uint8)
    path = write(tmp_path / "hostile.gguf", weights)
    with ExitStack() as stack:
        targets = []
        for rough in (False, True):
            model = stack.enter_context(closing(IkModel(path, rough=rough)))
            targets.append(stack.enter_context(closing(open_runtime(model))))
        exact, found = (run(target, 2, 2) for target in targets)
        for count in (1, 40):
            assert len(found.top(count)[0]) == count
        assert np.array_equal(found.row(), exact.row(), equal_nan=True)


def test_a_head_that_shares_the_embeddings_weights_is_read_in_two_parts_too(tmp_path, monkeypatch):
    """The head is the library's second copy of the weights; the first, whose rows are looked up, stays as it was."""
    path = write(tmp_path / "tied.gguf", random_weights(), tied=True)
    with ExitStack() as stack:
        plain = stack.enter_context(closing(IkModel(path, rough=False)))
        split = stack.enter_context(closing(IkModel(path)))
        with monkeypatch.context() as patch:
            patch.setattr(IkModel, "_repacked_head", lambda *_: None)
            as_loaded = stack.enter_context(closing(IkModel(path)))
        assert [model.head is not None for model in (plain, split, as_loaded)] == [False, True, False]
        targets = [stack.enter_context(closing(open_runtime(model))) for model in (plain, split, as_loaded)]
        for count, rows in ((1, 1), (4, 4), (9, 9), (30, 3)):
            exact, found, other = (run(target, count, rows) for target in targets)
            for row in range(rows):
                assert np.array_equal(found.row(row), exact.row(row))
                # With weights in the file's order, tokens are quantised in smaller groups of numbers.
                assert np.abs(other.row(row) - exact.row(row)).max() < 0.1 * exact.row(row).std()


def test_a_shared_head_of_odd_size_stays_in_the_files_order(tmp_path):
    """If such a head were repacked, the library would abort at the first pass."""
    path = write(tmp_path / "tied.gguf", random_weights()[: VOCABULARY - 8], tied=True)
    with closing(IkModel(path)) as model, closing(open_runtime(model)) as target:
        assert model.head is None
        run(target, 4, 4).row()


def test_a_head_without_room_is_left_as_it_is(models, path):
    """The native code has room for four heads at once."""
    with ExitStack() as stack:
        many = [stack.enter_context(closing(IkModel(path))) for _ in range(4)]
        assert [model.head is not None for model in many] == [True, True, True, False]
        plain, last = (stack.enter_context(closing(open_runtime(model))) for model in (models[0], many[-1]))
        exact, found = (run(target, 1, 1) for target in (plain, last))
        assert np.array_equal(found.row(), exact.row())
    with closing(IkModel(path)) as again:
        assert again.head is not None


def test_the_plan_knows_its_room(models, model):
    group = models[1].head.group
    blocks, groups = WIDTH // BLOCK, VOCABULARY // group
    row_numbers = 4 * 2 * -(-groups // group) * group  # floats kept about the last pass's rows
    assert output_head_bytes(models[1].header) == groups * blocks * (2 * group + 16) + 4 * (groups + row_numbers)
    assert output_head_bytes(model.header) == 0


def test_the_default_model_has_no_such_head(model):
    """The head of this model shares the embeddings' weights, which have eight bits."""
    assert model.head is None
