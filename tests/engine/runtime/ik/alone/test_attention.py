"""Our attention of long passes for ik_llama.cpp, compared with plain arithmetic and with the library's."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from ctypes import CFUNCTYPE, c_bool, c_float, c_int, c_long, c_void_p
from typing import Any

import numpy as np
import pytest

from tests.engine.runtime.ik.alone.test_native import needs_products, product_code

__all__ = ["product_code"]

F16, F32 = 1, 0  # ggml_type
BARRIER = CFUNCTYPE(None, c_void_p)
GUARDED, GUARD = 4096, 0xA5  # bytes behind the memory that threads share, and their value
ARGUMENTS = (
    [c_int, c_int, c_float] + 3 * [c_int, c_int, c_long, c_long] + [c_int, c_int, c_long] + 10 * [c_int]
    + 5 * [c_void_p] + [c_float, c_float] + [c_void_p, c_void_p, BARRIER, c_void_p] + [c_int] * 3
)  # fmt: skip


@pytest.fixture(autouse=True)
def _a_pass_was_planned(target: Any, prompt: list[int]) -> None:
    """Run a pass: our attention shares memory between threads once the library has asked how much it needs."""
    target.forward([1])
    target.truncate(len(prompt))


def attention(code: Any, q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, threads: int = 1) -> np.ndarray:
    """Return the attention (token, head, number) by the library's function, which calls ours for long passes.

    `q`: (head, token, number); `k` and `v`: (kv-head, key, number), float16; `mask`: (token, key), float16.
    """
    function: Any = code.iqk_flash_attn_noalibi
    function.argtypes, function.restype = ARGUMENTS, c_bool
    heads, tokens, size = q.shape
    kv_heads, keys, value_size = v.shape
    result = np.full((tokens, heads, value_size), np.nan, np.float32)
    room = code.chickadee_attention_room(tokens, heads, kv_heads, keys, value_size, threads)
    work = np.zeros(room + GUARDED, np.uint8)
    work[room:] = GUARD
    together = threading.Barrier(threads)

    def compute(thread: int) -> bool:
        computed: bool = function(
            F32, F16, 0.0,
            1, heads, q.strides[0] * heads, q.strides[0],
            1, kv_heads, k.strides[0] * kv_heads, k.strides[0],
            1, kv_heads, v.strides[0] * kv_heads, v.strides[0],
            tokens, heads, value_size * 4, F16, F16, size, value_size, tokens, keys,
            q.strides[1], k.strides[1], v.strides[1], mask.strides[0],
            q.ctypes.data, k.ctypes.data, v.ctypes.data, mask.ctypes.data, None,
            size**-0.5, 0.0, result.ctypes.data, work.ctypes.data, wait, None,
            thread, threads, 0,
        )  # fmt: skip
        return computed

    def wait_for_all(_data: Any) -> None:
        together.wait()

    wait = BARRIER(wait_for_all)
    with ThreadPoolExecutor(threads) as pool:
        assert all(pool.map(compute, range(threads)))
    assert (work[room:] == GUARD).all()
    return result


def plain_attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Return the same in float64."""
    group = len(q) // len(k)
    k, v = (np.repeat(x.astype(np.float64), group, axis=0) for x in (k, v))
    scores = np.einsum("htn,hkn->htk", q.astype(np.float64), k) * q.shape[2] ** -0.5 + mask.astype(np.float64)
    largest = scores.max(axis=2, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    weights /= np.maximum(weights.sum(axis=2, keepdims=True), 1e-300)
    result: np.ndarray = np.einsum("htk,hkn->thn", weights, v)
    return result


def random_inputs(shape: tuple[int, int, int, int, int, int], seed: int = 1) -> tuple[np.ndarray, ...]:
    """Return queries, keys and values; `shape`: heads, kv-heads, tokens, keys, sizes of a key and of a value."""
    heads, kv_heads, tokens, keys, size, value_size = shape
    random = np.random.default_rng(seed)
    q = (3 * random.normal(size=(heads, tokens, size))).astype(np.float32)
    k = random.normal(size=(kv_heads, keys, size)).astype(np.float16)
    v = random.normal(size=(kv_heads, keys, value_size)).astype(np.float16)
    return q, k, v


def causal_mask(tokens: int, keys: int, before: int, window: int | None = None) -> np.ndarray:
    """Return a mask that shows each token the keys up to its own, which follow `before` others."""
    token, key = before + np.arange(tokens)[:, None], np.arange(keys)
    seen = (key <= token) & (key > token - window if window else True)
    return np.where(seen, 0, -np.inf).astype(np.float16)


@needs_products
@pytest.mark.parametrize(
    "shape",
    [
        (12, 2, 128, 512, 128, 128),  # Qwen2.5 1.5B
        (9, 3, 65, 256, 64, 64),  # SmolLM2
        (4, 1, 100, 256, 256, 256),  # Gemma 3
        (32, 8, 70, 256, 64, 128),
        (2, 2, 127, 256, 72, 64),
    ],
)
@pytest.mark.parametrize("threads", [1, 3, 8])
def test_attention_is_that_of_plain_arithmetic(product_code, shape, threads):
    q, k, v = random_inputs(shape)
    _, _, tokens, keys, _, _ = shape
    mask = causal_mask(tokens, keys, keys - tokens - 3)
    expected = plain_attention(q, k, v, mask)
    found = attention(product_code, q, k, v, mask, threads)
    assert np.abs(found - expected).max() < 2e-5


@needs_products
def test_a_window_hides_old_keys_and_empty_rows_are_zero(product_code):
    q, k, v = random_inputs((4, 2, 96, 1024, 128, 128))
    mask = causal_mask(96, 1024, 900, window=100)
    mask[5] = -np.inf  # a token that sees nothing
    v[:, :600] = np.nan  # keys outside the window are not even read
    found = attention(product_code, q, k, v, mask)
    expected = plain_attention(q, k, np.nan_to_num(v), mask)
    assert np.abs(found - expected).max() < 2e-5
    assert not found[5].any()


@needs_products
def test_extreme_scores_are_exact(product_code):
    """One key has nearly all weight, later ones more than those before: the results so far are scaled down to 0."""
    q, k, v = random_inputs((2, 1, 80, 512, 64, 64))
    k *= np.linspace(0, 40, 512)[None, :, None].astype(np.float16)
    mask = causal_mask(80, 512, 400)
    found = attention(product_code, q, k, v, mask)
    assert np.abs(found - plain_attention(q, k, v, mask)).max() < 1e-3


@needs_products
@pytest.mark.parametrize("first", [0, 10, 127])
@pytest.mark.parametrize("tokens", [1, 2, 7, 31, 64, 80])
def test_a_token_s_attention_is_the_same_beside_any_others(product_code, first, tokens):
    """Therefore drafts are verified with exactly the attention that plain decoding would have."""
    tokens = min(tokens, 128 - first)
    q, k, v = random_inputs((6, 2, 128, 512, 128, 128))
    mask = causal_mask(128, 512, 300)
    whole = attention(product_code, q, k, v, mask, threads=2)
    here = slice(first, first + tokens)
    part = attention(product_code, np.ascontiguousarray(q[:, here]), k, v, np.ascontiguousarray(mask[here]))
    assert np.array_equal(part, whole[here])


@needs_products
@pytest.mark.parametrize("tokens", [1, 2, 5])
@pytest.mark.parametrize("threads", [2, 3, 4, 8])
@pytest.mark.parametrize("window", [None, 300])
def test_threads_that_share_the_keys_compute_the_same_bits(product_code, tokens, threads, window):
    """As Gemma 3, one head of keys for all: threads would have nothing to do if each took some rows."""
    q, k, v = random_inputs((4, 1, tokens, 1344, 128, 64))
    mask = causal_mask(tokens, 1344, 1300, window)
    assert product_code.chickadee_attention_room(tokens, 4, 1, 1344, 64, threads)
    alone = attention(product_code, q, k, v, mask)
    assert np.array_equal(attention(product_code, q, k, v, mask, threads), alone)
    assert np.abs(alone - plain_attention(q, k, v, mask)).max() < 2e-5


@needs_products
def test_keys_are_shared_where_that_is_less_work_and_fits_the_room(product_code):
    room = product_code.chickadee_attention_room
    assert room(1, 12, 2, 4096, 128, 2) == 0  # one head of keys for each thread
    assert room(1, 12, 2, 4096, 128, 8) > 0
    assert room(1, 32, 8, 4096, 128, 8) == 0
    assert room(512, 12, 2, 4096, 128, 8) == 0  # there are rows for all
    assert room(4, 4, 1, 1 << 20, 256, 8) == 0  # too much


@needs_products
@pytest.mark.parametrize("count", [2, 8, 31])
def test_logits_are_the_same_bits_in_steps_and_in_one_pass(target, prompt, count):
    """The default model's heads share keys."""
    tokens = range(400, 400 + count)
    steps = [target.forward([token]).row().copy() for token in tokens]
    target.truncate(len(prompt))
    assert np.array_equal(target.forward(tokens).row(), steps[-1])


@needs_products
@pytest.mark.parametrize("tokens", [1, 16, 64])
def test_short_passes_are_the_library_s_if_no_heads_share_keys(product_code, tokens):
    q, k, v = random_inputs((2, 2, tokens, 256, 64, 64))
    mask = causal_mask(tokens, 256, 150)
    results = []
    for replaces in (False, True):
        product_code.chickadee_products_replace(replaces)
        results.append(attention(product_code, q, k, v, mask))
    theirs, ours = results
    assert np.array_equal(theirs, ours)
