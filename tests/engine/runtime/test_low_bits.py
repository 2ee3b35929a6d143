"""Our products with weights of one to two bits: the bits of plain arithmetic, and the place in front of ggml's."""

from __future__ import annotations

import os
import sys
from contextlib import closing
from ctypes import CDLL, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from shutil import which

import gguf
import numpy as np
import pytest

from engine.runtime.capi import own_code
from engine.runtime.capi.own_code import PRODUCT_SETS, ProductSet
from engine.runtime.contexts import ContextOptions
from engine.runtime.llama import native as module
from engine.runtime.llama.library import build, ggml, kernels, loaded_kernels, native, open_library
from engine.runtime.llama.native import Native, preload_native, start_native
from engine.runtime.llama.runtime import LlamaRuntime, Model, quantise
from engine.stop import StopFlag
from models.tensor_types import FILE_TYPES, TENSOR_TYPES, TYPE_NUMBERS
from tests.engine.runtime.arithmetic import fused_multiply_add
from tests.engine.runtime.graph.tiny import write_tiny

Q8_0, Q8_K = 8, 15
TYPES = {"Q1_0": Q8_0, "Q2_0": Q8_0, "TQ1_0": Q8_K, "TQ2_0": Q8_K}  # weights, and numbers that they are multiplied with
SPANS = {"Q1_0": 256, "Q2_0": 128, "TQ1_0": 256, "TQ2_0": 256}  # columns that are added as whole numbers
LANES = 8
FILE_NUMBER = next(number for number, name in FILE_TYPES.items() if name == "Q2_0")
if "CHICKADEE_CHECKED" in os.environ:  # our native code with the compiler's checks: see packaging/check_native.py
    module.FILE = Path(os.environ["CHICKADEE_CHECKED"])
needs_native = pytest.mark.skipif(not module.FILE.exists(), reason="no native code for this computer")


@pytest.fixture(params=PRODUCT_SETS, ids=lambda products: products.name)
def products(request):
    """Yield our code while it computes with one set of products; skip sets that this processor cannot compute."""
    chosen: ProductSet = request.param
    open_library()
    found = native()
    assert found is not None
    if not chosen.is_computable:
        pytest.skip(f"this processor cannot compute with {chosen.name}")
    assert found.start(kernel_library(), chosen)
    yield found.code
    assert found.start(kernel_library(), found.products)


def kernel_library() -> CDLL:
    path = loaded_kernels().path
    return CDLL(str(path)) if path else open_library()._lib


def random_weights(kind: str, rows: int, n: int) -> np.ndarray:
    """Return random weights as ggml quantises them, with digits that it never chooses in those of two bits."""
    numbers = np.random.default_rng(rows).normal(size=(rows, n)).astype(np.float32)
    type = TENSOR_TYPES[TYPE_NUMBERS[kind]]
    result = np.zeros((rows, n // type.block * type.size), np.uint8)
    quantise = ggml("ggml_quantize_chunk", c_size_t, c_int, c_void_p, c_void_p, *3 * [c_int64], c_void_p)
    quantise(TYPE_NUMBERS[kind], numbers.ctypes.data, result.ctypes.data, 0, rows, n, None)
    if kind in ("Q2_0", "TQ2_0"):
        at = slice(2, None) if kind == "Q2_0" else slice(0, -2)
        quants = result.reshape(rows, -1, type.size)[:, :, at]
        quants[:] = np.random.default_rng(n).integers(0, 256, quants.shape, np.uint8)
    return result


def random_tokens(kind: str, count: int, n: int) -> np.ndarray:
    """Return random tokens as ggml quantises them before a product."""
    numbers = np.random.default_rng(count).normal(size=(count, n)).astype(np.float32)
    numbers[-1] = np.where(np.arange(n) % 3, 1, -1)  # every quant at its limit
    type = TENSOR_TYPES[TYPES[kind]]
    result = np.zeros((count, n // type.block * type.size), np.uint8)
    name = "quantize_row_q8_0" if TYPES[kind] == Q8_0 else "quantize_row_q8_K"
    quantise = ggml(name, None, c_void_p, c_void_p, c_int64)
    for row, to in zip(numbers, result, strict=True):
        quantise(row.ctypes.data, to.ctypes.data, n)
    return result


def product(code: CDLL, kind: str, weights: np.ndarray, tokens: np.ndarray, n: int, threads: int = 1) -> np.ndarray:
    """Return our product (token, row), of which each thread computes a part."""
    result = np.full((len(tokens), len(weights)), np.nan, np.float32)
    blocks, token_blocks = n // TENSOR_TYPES[TYPE_NUMBERS[kind]].block, n // TENSOR_TYPES[TYPES[kind]].block
    shape = len(weights), len(tokens), blocks, token_blocks
    addresses = weights.ctypes.data, tokens.ctypes.data, result.ctypes.data
    for thread in range(threads):
        types = TYPE_NUMBERS[kind], TYPES[kind]
        assert code.chickadee_llama_product(*types, *shape, *addresses, thread, threads)
    return result


def plain_product(kind: str, weights: np.ndarray, tokens: np.ndarray, n: int) -> np.ndarray:
    """Return the product (token, row) in plain arithmetic, in the order of our products.

    The whole numbers of a span are added in eight lanes, and become floats for each span; the lanes are added last.
    """
    scales, digits = unpacked_weights(kind, weights, n)
    token_scales, numbers = unpacked_tokens(kind, tokens)
    lanes = np.zeros((LANES, len(tokens), len(weights)), np.float32)
    for begin in range(0, n, SPANS[kind]):
        columns = np.arange(begin, min(n, begin + SPANS[kind]))
        lane_of = lane_in_span(kind, columns - begin)
        for lane in range(LANES):
            mine = columns[lane_of == lane]
            if not len(mine):
                continue
            sums = numbers[:, mine] @ digits[:, mine].T
            scaled = sums.astype(np.float32) * token_scales[:, mine[0], None]
            lanes[lane] = fused_multiply_add(scaled, scales[None, :, mine[0]], lanes[lane])
    four = lanes[:4] + lanes[4:]
    result: np.ndarray = (four[0] + four[2]) + (four[1] + four[3])
    return result


def lane_in_span(kind: str, columns: np.ndarray) -> np.ndarray:
    """Return in which lane each column of a span is added."""
    if kind == "TQ1_0":
        late = np.where(columns < 240, columns % 16 // 4, 4)
        return np.where(columns < 160, columns % 32 // 4, late)
    return columns % 32 // 4 if kind == "TQ2_0" else columns // (SPANS[kind] // LANES)


def unpacked_weights(kind: str, weights: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each weight's scale and its digit: (row, column)."""
    type = TENSOR_TYPES[TYPE_NUMBERS[kind]]
    blocks = weights.reshape(len(weights), -1, type.size)
    at = slice(0, 2) if kind in ("Q1_0", "Q2_0") else slice(type.size - 2, type.size)
    scales = blocks[:, :, at].copy().view(np.float16).astype(np.float32)
    quants = blocks[:, :, 2:] if at.start == 0 else blocks[:, :, :-2]
    if kind == "Q1_0":
        digits = (quants[..., None] >> np.arange(8, dtype=np.uint8) & 1).astype(np.int64) * 2 - 1
    elif kind == "Q2_0":
        digits = (quants[..., None] >> np.arange(0, 8, 2, dtype=np.uint8) & 3).astype(np.int64) - 1
    elif kind == "TQ2_0":
        halves = quants.reshape(len(weights), -1, 2, 1, 32) >> np.arange(0, 8, 2, dtype=np.uint8)[:, None] & 3
        digits = halves.astype(np.int64) - 1
    else:
        powers = np.array([1, 3, 9, 27, 81], np.uint8)[:, None]
        bytes_of = [(slice(0, 32), powers), (slice(32, 48), powers), (slice(48, 52), powers[:4])]
        parts = [quants[:, :, None, at] * by for at, by in bytes_of]
        flat = np.concatenate([part.reshape(len(weights), -1, part.shape[2] * part.shape[3]) for part in parts], 2)
        digits = (flat.astype(np.int64) * 3 >> 8) - 1
    return np.repeat(scales[:, :, 0], type.block, axis=1), digits.reshape(len(weights), n)


def unpacked_tokens(kind: str, tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each number's scale and its whole number: (token, column)."""
    type = TENSOR_TYPES[TYPES[kind]]
    blocks = tokens.reshape(len(tokens), -1, type.size)
    if TYPES[kind] == Q8_0:
        scales, quants = blocks[:, :, :2].copy().view(np.float16).astype(np.float32), blocks[:, :, 2:]
    else:
        scales, quants = blocks[:, :, :4].copy().view(np.float32), blocks[:, :, 4:260]
    numbers = quants.reshape(len(tokens), -1).view(np.int8).astype(np.int64)
    return np.repeat(scales[:, :, 0], type.block, axis=1), numbers


@needs_native
@pytest.mark.parametrize(
    ("kind", "n"),
    [*((kind, n) for kind in TYPES for n in (256, 1536)), ("Q1_0", 128), ("Q1_0", 896), ("Q2_0", 64), ("Q2_0", 576)],
)
@pytest.mark.parametrize("rows", [1, 35, 70])
def test_products_are_the_bits_of_plain_arithmetic(products, kind, n, rows):
    weights = random_weights(kind, rows, n)
    for count in (*range(1, 10), 13, 17):
        tokens = random_tokens(kind, count, n)
        assert np.array_equal(product(products, kind, weights, tokens, n), plain_product(kind, weights, tokens, n))


@needs_native
@pytest.mark.parametrize("kind", list(TYPES))
def test_neither_threads_nor_other_tokens_change_a_tokens_bits(products, kind):
    """4,096 columns and 70 tokens take several rounds of prepared tokens, and several of columns."""
    n, weights = 4096, random_weights(kind, 40, 4096)
    tokens = random_tokens(kind, 70, n)
    alone = np.concatenate([product(products, kind, weights, tokens[i : i + 1], n) for i in range(len(tokens))])
    for threads in (1, 2, 3, 50):
        assert np.array_equal(product(products, kind, weights, tokens, n, threads), alone)


@needs_native
@pytest.mark.parametrize("kind", list(TYPES))
def test_products_are_the_librarys(kind):
    """The library adds the same whole numbers, and then floats in another order."""
    open_library()
    found, n = native(), 1536
    assert found is not None
    weights, tokens = random_weights(kind, 64, n), random_tokens(kind, 3, n)
    name = f"ggml_vec_dot_{kind.lower()}_{'q8_0' if TYPES[kind] == Q8_0 else 'q8_K'}"
    dot = ggml(name, None, c_int, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p, c_size_t, c_int)
    theirs = np.zeros((len(tokens), len(weights)), np.float32)
    for i, token in enumerate(tokens):
        for j, row in enumerate(weights):
            dot(n, theirs[i, j:].ctypes.data, 0, row.ctypes.data, 0, token.ctypes.data, 0, 1)
    ours = product(found.code, kind, weights, tokens, n)
    assert np.abs(ours - theirs).max() <= 2e-6 * np.abs(theirs).max()


@needs_native
def test_rows_that_are_too_long_are_left_to_the_library():
    """Numbers are prepared on the stack, in 256 kB."""
    open_library()
    found, n = native(), 1 << 18
    assert found is not None
    row, token = np.zeros(n // 256 * 66, np.uint8), np.zeros(n // 256 * 292, np.uint8)
    result = np.zeros(1, np.float32)
    addresses = row.ctypes.data, token.ctypes.data, result.ctypes.data
    shape = 1, 1, n // 256, n // 256
    assert not found.code.chickadee_llama_product(TYPE_NUMBERS["TQ2_0"], Q8_K, *shape, *addresses, 0, 1)


@needs_native
def test_a_models_passes_are_computed_by_ours(tmp_path):
    plain = write_tiny(tmp_path / "plain.gguf", "llama", type=gguf.GGMLQuantizationType.F32)
    quantise(plain, tmp_path / "small.gguf", FILE_NUMBER, 1)
    open_library()
    found, rows = native(), []
    assert found is not None
    options = ContextOptions(256, 1)
    with closing(Model(tmp_path / "small.gguf")) as model, closing(LlamaRuntime(model, options, StopFlag())) as runtime:
        for replaces in (False, True):
            found.code.chickadee_llama_replace(replaces)
            runtime.truncate(0)
            rows.append(runtime.forward(range(1, 20)).row().copy())
    assert found.code.chickadee_llama_replaced()
    assert np.abs(rows[0] - rows[1]).max() < 1e-3 * rows[0].std()


@needs_native
def test_the_build_names_the_products():
    found = native()
    assert found is not None
    assert found.products is None or f"with {found.products.name} products" in build()
    assert kernels()


@pytest.mark.parametrize("bytes", [b"", b"no library"])
def test_a_damaged_file_is_left_alone(tmp_path, monkeypatch, caplog, bytes):
    (tmp_path / "llama.so").write_bytes(bytes)
    monkeypatch.setattr(module, "FILE", tmp_path / "llama.so")
    assert preload_native() is None
    assert "more slowly" in caplog.text


@needs_native
def test_another_version_is_refused(monkeypatch, caplog):
    monkeypatch.setattr(own_code, "library_version", lambda _package: "0.3.37")
    assert preload_native() is None
    assert "not for 0.3.37" in caplog.text


@needs_native
def test_another_library_of_the_same_version_is_refused(caplog):
    """The C library stands for one whose functions disagree with the headers: it has none of them."""
    open_library()
    loaded: Native | None = native()
    assert loaded is not None
    assert start_native(loaded.code, CDLL(None)) is None
    assert "leaves it alone" in caplog.text
    assert loaded.start(kernel_library(), loaded.products)


@pytest.mark.skipif(sys.platform != "linux" or not which("c++"), reason="not for this computer")
def test_set_up_compiled_it_here():
    open_library()
    assert native() is not None
