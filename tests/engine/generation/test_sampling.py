"""Our sampler against llama.cpp's chain: the same candidates and probabilities, and the same choices with a seed."""

from __future__ import annotations

import ctypes
from itertools import product
from typing import Any

import numpy as np
import pytest

from common.failures import Failure
from engine.generation.sampling import Sampler, seed_or_random
from engine.protocol.requests import Sampling
from engine.runtime.interface import RowLogits, top_tokens
from engine.runtime.llama.library import open_library
from tests.engine.asking import QUESTION

TRUNCATIONS: list[dict[str, Any]] = [
    {"top_k": top_k, "top_p": top_p, "min_p": min_p}
    for top_k, top_p, min_p in product((0, 1, 2, 40, 1000, 10**6), (1.0, 0.95, 0.5, 1e-6), (0.0, 0.05, 0.5, 1.0))
]
CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])  # llama_token_data


@pytest.fixture(scope="module")
def rows(loaded) -> np.ndarray:
    """Compute the default model's logits after each of some tokens: predictable ones and open ones."""
    chat = loaded._loaded()
    loaded.forget()
    tokens = chat.template.tokens([QUESTION])[-12:]
    logits = chat.target.forward(tokens, len(tokens))
    rows = np.array([logits.row(i) for i in range(len(tokens))])
    chat.target.truncate(0)
    return rows


def chain_parts(sampling: Sampling, n_vocab: int) -> list[object]:
    """Create llama.cpp's samplers for the settings, in llama.cpp's order."""
    parts = []
    if sampling.logit_bias:
        pairs = (open_library().llama_logit_bias * len(sampling.logit_bias))(*sampling.logit_bias)
        parts.append(open_library().llama_sampler_init_logit_bias(n_vocab, len(pairs), pairs))
    if sampling.repeat_penalty != 1.0 or sampling.presence_penalty or sampling.frequency_penalty:
        penalties = (sampling.repeat_penalty, sampling.frequency_penalty, sampling.presence_penalty)
        parts.append(open_library().llama_sampler_init_penalties(n_vocab, sampling.repeat_last_n, *penalties))
    if sampling.temperature == 0:
        return [*parts, open_library().llama_sampler_init_greedy()]
    if sampling.top_k:
        parts.append(open_library().llama_sampler_init_top_k(sampling.top_k))
    if sampling.top_p < 1:
        parts.append(open_library().llama_sampler_init_top_p(sampling.top_p, 1))
    if sampling.min_p > 0:
        parts.append(open_library().llama_sampler_init_min_p(sampling.min_p, 1))
    parts.append(open_library().llama_sampler_init_temp(sampling.temperature))
    return [*parts, open_library().llama_sampler_init_dist(seed_or_random(sampling))]


class Chain:
    """llama.cpp's sampler chain, on rows from anywhere."""

    def __init__(self, sampling: Sampling, history=(), n_vocab: int = 0) -> None:
        self.chain = open_library().llama_sampler_chain_init(open_library().llama_sampler_chain_default_params())
        for part in chain_parts(sampling, n_vocab):
            open_library().llama_sampler_chain_add(self.chain, part)
        for token in history:
            open_library().llama_sampler_accept(self.chain, token)

    def apply(self, row: np.ndarray) -> tuple[int, dict[int, float]]:
        """Choose a token; return the token and the probability of each candidate."""
        pointer = ctypes.POINTER(open_library().llama_token_data)
        data = np.zeros(len(row), CANDIDATE)  # filled as arrays: filling one by one takes longer than all samplers
        data["id"], data["logit"] = np.arange(len(row)), row
        array = open_library().llama_token_data_array(data.ctypes.data_as(pointer), len(row), -1, False)
        open_library().llama_sampler_apply(self.chain, ctypes.byref(array))
        left = np.ctypeslib.as_array(ctypes.cast(array.data, ctypes.POINTER(ctypes.c_uint8)), (array.size * 12,))
        tokens, chances = left.view(CANDIDATE)["id"].tolist(), left.view(CANDIDATE)["p"].tolist()
        chosen = tokens[array.selected]
        open_library().llama_sampler_accept(self.chain, chosen)
        return chosen, dict(zip(tokens, chances, strict=True))

    def close(self) -> None:
        open_library().llama_sampler_free(self.chain)


def assert_alike(row: np.ndarray, sampling: Sampling, history=()) -> None:
    chain = Chain(sampling, history, len(row))
    _, expected = chain.apply(row)
    chain.close()
    last = history[-sampling.repeat_last_n :]
    tokens, weights = Sampler(sampling, last).candidates(RowLogits([row]))
    ours = dict(zip(tokens.tolist(), (weights / weights.sum(dtype=np.float64)).tolist(), strict=True))
    for token in ours.keys() ^ expected.keys():  # the last bits of the sum decide which token passes top-p
        assert ours.get(token, 0) + expected.get(token, 0) < 1e-5
    assert all(abs(ours.get(token, 0) - p) < 1e-5 for token, p in expected.items())


class Rough:
    """Logits of a pass that computes small ones only roughly: just `top` gives exact values."""

    timing_unreliable = False

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows
        self.asked: list[int] = []

    def row(self, i: int = -1) -> np.ndarray:
        self.asked.append(0)
        row: np.ndarray = self._rows[i]
        return row

    def near_row(self, i: int = -1) -> np.ndarray:
        self.asked.append(1)
        row: np.ndarray = self._rows[i]
        return row

    def top(self, k: int, i: int = -1) -> tuple[np.ndarray, np.ndarray]:
        self.asked.append(k)
        tokens = np.argsort(-self._rows[i], kind="stable")[:k]
        return tokens, self._rows[i][tokens]


@pytest.mark.parametrize("i", range(0, len(TRUNCATIONS), 8))
def test_candidates_and_probabilities(rows, i):
    for j, settings in enumerate(TRUNCATIONS[i : i + 8]):
        assert_alike(
            rows[(i + j) % len(rows)], Sampling(repeat_penalty=1, temperature=(0.2, 0.8, 1.7)[j % 3], **settings)
        )


@pytest.mark.parametrize("penalty", [1.1, 1.5, 10, 0.8])
@pytest.mark.parametrize("last_n", [1, 3, 64])
def test_repeat_penalty(rows, penalty, last_n):
    for row in rows[::3]:
        likely = top_tokens(row, 5).tolist()
        history = [*range(80), *likely, likely[0], int(row.argmin())]
        assert_alike(row, Sampling(repeat_penalty=penalty, repeat_last_n=last_n), history)


@pytest.mark.parametrize("temperature", [0, 1])
def test_numbers_larger_than_any_machine_word_mean_all_tokens(rows, temperature):
    def choices(number: int) -> list[int]:
        sampling = Sampling(temperature, number, repeat_penalty=2, repeat_last_n=number, seed=3)
        sampler = Sampler(sampling, range(300))
        return [sampler.sample(RowLogits(row[None])) for row in rows]

    assert choices(2**70) == choices(10**6)


@pytest.mark.parametrize("penalty", [1.0, 1.1])
@pytest.mark.parametrize("presence", [0.5, 2.0, -0.1, -2.0])
def test_presence_penalty(rows, penalty, presence):
    for row in rows[::3]:
        likely = top_tokens(row, 5).tolist()
        history = [*range(80), *likely, likely[0], int(row.argmin())]
        assert_alike(row, Sampling(repeat_penalty=penalty, presence_penalty=presence), history)


@pytest.mark.parametrize("penalty", [1.0, 1.1])
@pytest.mark.parametrize("frequency", [0.5, 2.0, -0.5])
def test_frequency_penalty(rows, penalty, frequency):
    for row in rows[::3]:
        likely = top_tokens(row, 5).tolist()
        history = [*range(40), *likely, *likely[:2] * 3, int(row.argmin())]
        assert_alike(row, Sampling(repeat_penalty=penalty, frequency_penalty=frequency), history)


@pytest.mark.parametrize("bias", [-100.0, -1.5, 2.0, 100.0])
def test_logit_bias(rows, bias):
    for row in rows[::3]:
        likely = top_tokens(row, 3).tolist()
        biases = tuple((token, bias) for token in (*likely[:2], int(row.argmin())))
        assert_alike(row, Sampling(logit_bias=biases), likely)
    unknown = Sampling(temperature=0, repeat_penalty=1, logit_bias=((10**6, bias),))
    assert Sampler(unknown).sample(RowLogits(rows[:1])) == rows[0].argmax()


def test_log_probabilities_are_those_of_the_model_itself(rows):
    """Sampling options change the choice, but not what the model gave the tokens."""
    sampler = Sampler(Sampling(temperature=5, top_k=0, top_p=1, min_p=0, seed=3), rows.shape[1] * [0], top_logprobs=4)
    assert sampler.reads_whole_rows
    chosen = [sampler.sample(RowLogits(rows), i) for i in range(len(rows))]
    for row, token, scored in zip(rows.astype(np.float64), chosen, sampler.scored, strict=True):
        logprobs = row - row.max() - np.log(np.exp(row - row.max()).sum())
        assert (scored.token, len(scored.top)) == (token, 4)
        assert abs(scored.logprob - logprobs[token]) < 1e-3
        assert [other for other, _ in scored.top] == top_tokens(row, 4).tolist()
        assert all(abs(logprob - logprobs[other]) < 1e-3 for other, logprob in scored.top)


def test_whole_rows_are_read_only_where_smaller_logits_may_be_chosen():
    """A runtime may compute the largest logits alone, which is faster."""
    largest: tuple[dict[str, Any], ...] = (
        {},
        {"temperature": 0},
        {"repeat_penalty": 1.5},
        {"presence_penalty": 0.5},
        {"top_k": 1000},
    )
    whole: tuple[dict[str, Any], ...] = (
        {"top_k": 0}, {"repeat_penalty": 0.99}, {"presence_penalty": -0.01}, {"frequency_penalty": 0.5},
        {"frequency_penalty": -0.5}, {"temperature": 0, "presence_penalty": -0.01}, {"logit_bias": ((7, 1.0),)},
    )  # fmt: skip
    forgetful: dict[str, Any] = {"presence_penalty": -1.0, "repeat_last_n": 0}
    for settings in (*largest, *whole, forgetful):
        assert Sampler(Sampling(**settings)).reads_whole_rows == (settings in whole), settings
    assert Sampler(Sampling(), mask=Only(1)).reads_whole_rows
    assert Sampler(Sampling(), top_logprobs=0).reads_whole_rows


class Only:
    """A mask that allows some tokens."""

    def __init__(self, *tokens: int) -> None:
        self.tokens = list(tokens)
        self.told: list[int] = []

    def allowed(self, wanted: int) -> np.ndarray:
        return np.isin(np.arange(49_152), self.tokens)

    def count_allowed(self, tokens) -> int:
        return len(tokens)

    def advance(self, token: int) -> None:
        self.told.append(token)


@pytest.mark.parametrize(
    "settings",
    [{"temperature": 0}, {"top_k": 1}, {"top_k": 40}, {"top_k": 0}, {"top_k": 0, "top_p": 1, "min_p": 0}],
)
def test_only_allowed_tokens_are_chosen(rows, settings):
    """Also where their probability is next to nothing, and with the same choices as a row that has no others."""
    tokens = np.argsort(rows[0])[:3].tolist()
    mask = Only(*tokens)
    sampler = Sampler(Sampling(seed=5, **settings), mask=mask)
    chosen = [sampler.sample(RowLogits(rows), 0) for _ in range(30)]
    assert set(chosen) <= set(tokens)
    assert mask.told == chosen
    if settings.get("temperature") == 0:
        assert chosen[0] == max(tokens, key=lambda token: rows[0][token])


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"presence_penalty": 1.5, "repeat_penalty": 1, "top_k": 20},
        {"top_k": 0, "top_p": 1},
        {"top_k": 0},
        {"min_p": 0, "temperature": 2.5},
        {"repeat_penalty": 1.5, "top_k": 3, "min_p": 0},
        {"repeat_penalty": 0.5, "top_p": 1, "min_p": 0},
    ],
)
def test_a_seed_makes_the_same_choices(rows, settings):
    sampling = Sampling(seed=1234, **settings)
    chain, ours = Chain(sampling, [5], rows.shape[1]), Sampler(sampling, [5])
    order = [*range(len(rows))] * 2
    assert [ours.sample(Rough(rows), i) for i in order] == [chain.apply(rows[i])[0] for i in order]
    chain.close()


@pytest.mark.parametrize("penalty", [1.0, 1.3, 0.7])
def test_greedy(rows, penalty):
    sampling = Sampling(temperature=0, repeat_penalty=penalty)
    chain, ours = Chain(sampling, [5], rows.shape[1]), Sampler(sampling, [5])
    order = [*range(len(rows))] * 3
    choices = [ours.sample(Rough(rows), i) for i in order]
    assert choices == [chain.apply(rows[i])[0] for i in order]
    if penalty >= 1:
        assert (choices[: len(rows)] == choices[len(rows) : 2 * len(rows)]) == (penalty == 1)
    chain.close()


@pytest.mark.parametrize("size", [1, 63, 64, 65, 5000, 49_152])
@pytest.mark.parametrize("count", [1, 40, 5000, 10**6])
def test_the_largest_are_the_beginning_of_a_sort(size, count):
    row = np.random.default_rng(size).normal(size=size).astype(np.float32).round(2)  # with equal ones
    assert (row[top_tokens(row, count)] == np.sort(row)[::-1][:count]).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("temperature", [0, 0.8])
def test_logits_that_are_no_numbers_are_a_failure(temperature, value):
    row = np.full(3000, value, np.float32)
    for top_k, top_p, penalty in product((0, 1, 40, 5000), (1.0, 0.95), (0.9, 1.0, 1.1)):
        settings = Sampling(temperature=temperature, top_k=top_k, top_p=top_p, repeat_penalty=penalty)
        with pytest.raises(Failure, match="The model computes no valid numbers"):
            Sampler(settings, [5]).sample(RowLogits(row[None]))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("temperature", [0, 0.8])
def test_tokens_that_are_impossible_do_no_harm(temperature):
    row = np.full(3000, -np.inf, np.float32)
    row[[7, 2000]] = 1.0
    for top_k in (0, 1, 40):
        assert Sampler(Sampling(temperature=temperature, top_k=top_k)).sample(RowLogits(row[None])) in (7, 2000)
