"""Our own products compute what the library's do, of the same weights and tokens."""

from __future__ import annotations

import sys
from ctypes import CDLL, c_bool, c_int, c_int64, c_long, c_void_p
from shutil import which
from typing import Any

import numpy as np
import pytest

from engine.machine import processor_features
from engine.runtime.ik.library import api, build, kernels, own_products
from engine.runtime.ik.products import FILE, NEEDED, binding

BLOCK = 256
WEIGHTS = {
    212: (144, 8),
    213: (176, 8),
    214: (210, 4),
}  # ggml_type: bytes of a block, float16 at the beginning of four rows' blocks
Q8_K32 = (148, "quantize_row_q8_K32")
TOKENS = {212: Q8_K32, 213: Q8_K32, 214: (15, "iqk_quantize_row_q8_K")}
TOKEN_BYTES = 296
runs_here = processor_features() >= NEEDED
needs_products = pytest.mark.skipif(not FILE.exists() or not runs_here, reason="no products for this computer")


@pytest.fixture
def own():
    assert own_products is not None
    yield own_products
    own_products.products_replace(c_bool(True))


def some_weights(kind: int, rows: int, n: int, seed: int) -> np.ndarray:
    """Any bytes are weights, but for the float16 that they are multiplied by."""
    size, scales = WEIGHTS[kind]
    random = np.random.default_rng(seed)
    blocks = random.integers(0, 256, (rows // 4 * n // BLOCK, 4 * size), np.uint8)
    blocks[:, : 2 * scales] = random.uniform(-1, 1, (len(blocks), scales)).astype(np.float16).view(np.uint8)
    return blocks


def some_tokens(kind: int, count: int, n: int, seed: int) -> np.ndarray:
    numbers = np.random.default_rng(seed).normal(size=(count, n)).astype(np.float32)
    numbers[-1] = np.where(np.arange(n) % 3, 1, -1)  # every quant at its limit
    quantised = np.zeros((count, n // BLOCK * TOKEN_BYTES), np.uint8)
    quantise = api._lib[TOKENS[kind][1]]
    quantise.argtypes, quantise.restype = [c_void_p, c_void_p, c_int64], None
    for row, to in zip(numbers, quantised, strict=True):
        quantise(row.ctypes.data, to.ctypes.data, n)
    return quantised


def product(weights: np.ndarray, tokens: np.ndarray, kind: int, rows: int, n: int) -> np.ndarray:
    multiply = api._lib.iqk_mul_mat
    multiply.argtypes = [c_long] * 3 + 2 * [c_int, c_void_p, c_long] + [c_void_p, c_long, c_int, c_int]
    multiply.restype = c_bool
    result = np.full((len(tokens), rows + 8), np.nan, np.float32)
    of_weights = kind, weights.ctypes.data, n // BLOCK * WEIGHTS[kind][0]
    of_tokens = TOKENS[kind][0], tokens.ctypes.data, tokens.shape[1]
    parts = 2  # as two threads would
    for part in range(parts):
        assert multiply(rows, len(tokens), n, *of_weights, *of_tokens, result.ctypes.data, result.shape[1], part, parts)
    assert np.isnan(result[:, rows:]).all()
    return result[:, :rows]


def both(own: CDLL, *of: Any) -> list[np.ndarray]:
    results = []
    for replaces in (False, True):
        own.products_replace(c_bool(replaces))
        results.append(product(*of))
    return results


def agree(theirs: np.ndarray, ours: np.ndarray) -> bool:
    """Whole numbers are the same ones; of the sums of float32 only the order differs."""
    return bool(np.abs(theirs - ours).max() <= 2e-6 * np.abs(theirs).max())


@needs_products
@pytest.mark.parametrize("kind", list(WEIGHTS))
@pytest.mark.parametrize("n", [256, 1536, 2304])
@pytest.mark.parametrize("rows", [4, 32, 136, 420])
def test_products_are_the_librarys(own, kind, n, rows):
    weights = some_weights(kind, rows, n, seed=rows)
    for count in (*range(1, 10), 16, 19):
        theirs, ours = both(own, weights, some_tokens(kind, count, n, seed=count), kind, rows, n)
        assert np.isfinite(ours).all()
        assert agree(theirs, ours), count


@needs_products
@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_a_token_s_product_is_the_same_beside_any_others(own, kind):
    """So drafts are verified with the very numbers that plain decoding would have."""
    weights, tokens = some_weights(kind, 64, 1536, seed=1), some_tokens(kind, 8, 1536, seed=2)
    together = product(weights, tokens, kind, 64, 1536)
    alone = [product(weights, tokens[i : i + 1], kind, 64, 1536) for i in range(8)]
    assert np.array_equal(together, np.concatenate(alone))


@needs_products
@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_experts_get_their_own_tokens(own, kind):
    n, rows, experts_used = 512, 48, 2
    weights, tokens = some_weights(kind, rows, n, seed=3), some_tokens(kind, 6, n, seed=4)
    mapping = np.array([[0, 0], [1, 2], [0, 5], [1, 4], [1, 1]], np.int32)  # (of the experts used, token)
    multiply = api._lib.iqk_mul_mat_moe
    multiply.argtypes = (
        [c_long] * 3 + [c_int] + 2 * [c_int, c_void_p, c_long] + [c_void_p, c_long, c_long, c_void_p, c_int, c_int]
    )
    multiply.restype = c_bool
    results = []
    for replaces in (False, True):
        own.products_replace(c_bool(replaces))
        result = np.zeros((6, experts_used, rows), np.float32)
        of_weights = kind, weights.ctypes.data, n // BLOCK * WEIGHTS[kind][0]
        of_tokens = TOKENS[kind][0], tokens.ctypes.data, tokens.shape[1]
        strides = rows * 4, experts_used * rows * 4
        places = mapping.ctypes.data, 0, 1
        assert multiply(rows, len(mapping), n, 1, *of_weights, *of_tokens, result.ctypes.data, *strides, *places)
        results.append(result)
    theirs, ours = results
    assert theirs.any()
    assert agree(theirs, ours)


@needs_products
def test_the_library_asks_for_ours(own):
    """The dynamic linker found them, and what is measured with them is told apart."""
    product(some_weights(214, 16, 256, seed=5), some_tokens(214, 1, 256, seed=6), 214, 16, 256)
    assert own.products_replaced()
    assert kernels == "AVX-512 VNNI"
    assert " with products " in build()


@needs_products
def test_a_damaged_file_leaves_the_library_s_own(tmp_path, monkeypatch, caplog):
    (tmp_path / "products.so").write_bytes(b"no library")
    monkeypatch.setattr("engine.runtime.ik.products.FILE", tmp_path / "products.so")
    assert binding() == (api, None)
    assert "more slowly" in caplog.text


@pytest.mark.skipif(sys.platform != "linux" or not runs_here or not which("c++"), reason="not for this computer")
def test_set_up_compiled_them_here():
    assert own_products is not None
