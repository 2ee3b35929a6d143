"""Our sampler against llama.cpp's chain: the same candidates, probabilities and, with a seed, choices."""

from __future__ import annotations

import ctypes
from itertools import product
from typing import Any

import numpy as np
import pytest

from engine.generation.sampling import Sampler, seed_of
from engine.protocol import Sampling
from engine.runtime.interface import RowLogits, largest
from engine.runtime.llama.library import opened
from tests.engine.asking import QUESTION

TRUNCATIONS: list[dict[str, Any]] = [
    {"top_k": top_k, "top_p": top_p, "min_p": min_p}
    for top_k, top_p, min_p in product((0, 1, 2, 40, 1000, 10**6), (1.0, 0.95, 0.5, 1e-6), (0.0, 0.05, 0.5, 1.0))
]
CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])  # llama_token_data


@pytest.fixture(scope="module")
def rows(loaded) -> np.ndarray:
    """Logits of the default model after each of some tokens: sure ones and open ones."""
    chat = loaded._loaded()
    loaded.forget()
    tokens = chat.template.tokens([QUESTION])[-12:]
    logits = chat.target.forward(tokens, len(tokens))
    found = np.array([logits.row(i) for i in range(len(tokens))])
    chat.target.truncate(0)
    return found


def chain_parts(sampling: Sampling, n_vocab: int) -> list[object]:
    """llama.cpp's samplers for the settings, in their order."""
    parts = []
    if sampling.repeat_penalty != 1.0 and sampling.repeat_last_n:
        penalties = (n_vocab, sampling.repeat_last_n, sampling.repeat_penalty, 0.0, 0.0)
        parts.append(opened().llama_sampler_init_penalties(*penalties))
    if sampling.temperature == 0:
        return [*parts, opened().llama_sampler_init_greedy()]
    if sampling.top_k:
        parts.append(opened().llama_sampler_init_top_k(sampling.top_k))
    if sampling.top_p < 1:
        parts.append(opened().llama_sampler_init_top_p(sampling.top_p, 1))
    if sampling.min_p > 0:
        parts.append(opened().llama_sampler_init_min_p(sampling.min_p, 1))
    parts.append(opened().llama_sampler_init_temp(sampling.temperature))
    return [*parts, opened().llama_sampler_init_dist(seed_of(sampling))]


class Chain:
    """llama.cpp's, on rows that come from anywhere."""

    def __init__(self, sampling: Sampling, history=(), n_vocab: int = 0) -> None:
        self.chain = opened().llama_sampler_chain_init(opened().llama_sampler_chain_default_params())
        for part in chain_parts(sampling, n_vocab):
            opened().llama_sampler_chain_add(self.chain, part)
        for token in history:
            opened().llama_sampler_accept(self.chain, token)

    def apply(self, row: np.ndarray) -> tuple[int, dict[int, float]]:
        """The chosen token, and the probability of each that could have been."""
        pointer = ctypes.POINTER(opened().llama_token_data)
        data = np.zeros(len(row), CANDIDATE)  # filled at once: one by one takes longer than all samplers
        data["id"], data["logit"] = np.arange(len(row)), row
        array = opened().llama_token_data_array(data.ctypes.data_as(pointer), len(row), -1, False)
        opened().llama_sampler_apply(self.chain, ctypes.byref(array))
        left = np.ctypeslib.as_array(ctypes.cast(array.data, ctypes.POINTER(ctypes.c_uint8)), (array.size * 12,))
        tokens, chances = left.view(CANDIDATE)["id"].tolist(), left.view(CANDIDATE)["p"].tolist()
        chosen = tokens[array.selected]
        opened().llama_sampler_accept(self.chain, chosen)
        return chosen, dict(zip(tokens, chances, strict=True))

    def close(self) -> None:
        opened().llama_sampler_free(self.chain)


def assert_alike(row: np.ndarray, sampling: Sampling, history=()) -> None:
    chain = Chain(sampling, history, len(row))
    _, expected = chain.apply(row)
    chain.close()
    last = history[-sampling.repeat_last_n :]
    tokens, weights = Sampler(sampling, last).candidates(RowLogits([row]))
    found = dict(zip(tokens.tolist(), (weights / weights.sum(dtype=np.float64)).tolist(), strict=True))
    for token in found.keys() ^ expected.keys():  # where the sum passes top-p, its last bits decide
        assert found.get(token, 0) + expected.get(token, 0) < 1e-5
    assert all(abs(found.get(token, 0) - p) < 1e-5 for token, p in expected.items())


class Rough:
    """Logits as a pass gives them whose smaller ones are rough: only `top` says them exactly."""

    timing_unreliable = False

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows
        self.asked: list[int] = []

    def row(self, i: int = -1) -> np.ndarray:
        self.asked.append(0)
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
        likely = largest(row, 5).tolist()
        history = [*range(80), *likely, likely[0], int(row.argmin())]
        assert_alike(row, Sampling(repeat_penalty=penalty, repeat_last_n=last_n), history)


@pytest.mark.parametrize(
    "settings",
    [
        {},
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
    found = [ours.sample(Rough(rows), i) for i in order]
    assert found == [chain.apply(rows[i])[0] for i in order]
    if penalty >= 1:
        assert (found[: len(rows)] == found[len(rows) : 2 * len(rows)]) == (penalty == 1)
    chain.close()


@pytest.mark.parametrize("size", [1, 63, 64, 65, 5000, 49_152])
@pytest.mark.parametrize("count", [1, 40, 5000, 10**6])
def test_the_largest_are_the_beginning_of_a_sort(size, count):
    row = np.random.default_rng(size).normal(size=size).astype(np.float32).round(2)  # with equal ones
    assert (row[largest(row, count)] == np.sort(row)[::-1][:count]).all()
