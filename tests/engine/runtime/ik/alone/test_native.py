"""Our native code for ik_llama.cpp: its products, stopping a pass, and leaving the buffer of logits unfilled.

Products must equal the library's for the same weights and tokens. `make test-native` runs these tests with the
compiler's checks.
"""

from __future__ import annotations

import sys
from contextlib import closing
from ctypes import CDLL, c_bool, c_float, c_int, c_int64, c_long, c_void_p
from functools import cache
from shutil import which
from typing import Any

import numpy as np
import pytest

from engine.engine import Engine
from engine.machine import processor_features
from engine.runtime.capi import own_code
from engine.runtime.capi.model import CModel
from engine.runtime.capi.own_code import PRODUCT_SETS, ProductSet
from engine.runtime.contexts import ContextOptions
from engine.runtime.ik import native as module
from engine.runtime.ik.library import build, kernels, native, open_library
from engine.runtime.ik.native import FILE, preload_native, product_sets, start_native
from engine.runtime.ik.runtime import AbortablePass, IkRuntime
from engine.runtime.interface import Row, prefill
from engine.stop import StopFlag, Stopped
from tests.engine.runtime.arithmetic import fused_multiply_add

BLOCK = 256
# ggml_type: bytes of a block, number of float16 at the beginning of four rows' blocks
WEIGHTS = {212: (144, 8), 213: (176, 8), 214: (210, 4)}
Q8_K32 = (148, "quantize_row_q8_K32")
TOKENS = {212: Q8_K32, 213: Q8_K32, 214: (15, "iqk_quantize_row_q8_K")}
TOKEN_BYTES = 296
SETS_HERE = [products for products in PRODUCT_SETS if processor_features() >= products.needs]
SILU = 10  # ggml_unary_op
MARK = 12345.0
STOP_AFTER = 100  # nodes
needs_native = pytest.mark.skipif(not FILE.exists(), reason="no native code for this computer")
needs_products = pytest.mark.skipif(not FILE.exists() or not SETS_HERE, reason="no products for this computer")


@pytest.fixture(params=PRODUCT_SETS, ids=lambda products: products.name)
def product_code(request):
    """Yield our code while it computes with one set of products; skip sets that this processor cannot compute."""
    products: ProductSet = request.param
    found, library = native(), open_library().code
    assert found is not None
    assert found.products is not None
    if products not in product_sets(found.code):
        pytest.skip(f"this processor cannot compute with {products.name}")
    assert found.code.chickadee_start(library._handle, products.number)
    yield found.code
    assert found.code.chickadee_start(library._handle, found.products.number)


def random_weights(kind: int, rows: int, n: int, seed: int) -> np.ndarray:
    """Return random weights: all bytes are valid weights, except the float16 scales at the beginning of a block."""
    size, scales = WEIGHTS[kind]
    random = np.random.default_rng(seed)
    blocks = random.integers(0, 256, (rows // 4 * n // BLOCK, 4 * size), np.uint8)
    blocks[:, : 2 * scales] = random.uniform(-1, 1, (len(blocks), scales)).astype(np.float16).view(np.uint8)
    return blocks


def random_tokens(kind: int, count: int, n: int, seed: int) -> np.ndarray:
    numbers = np.random.default_rng(seed).normal(size=(count, n)).astype(np.float32)
    numbers[-1] = np.where(np.arange(n) % 3, 1, -1)  # every quant at its limit
    numbers[0, :BLOCK] = 1
    return quantise_tokens(numbers, TOKENS[kind][1], n // BLOCK * TOKEN_BYTES)


def quantise_tokens(numbers: np.ndarray, function: str, size: int) -> np.ndarray:
    """Return the bytes of each token, `size` of them, as the library's function makes them."""
    result = np.zeros((len(numbers), size), np.uint8)
    quantise: Any = open_library().code[function]
    quantise.argtypes, quantise.restype = [c_void_p, c_void_p, c_int64], None
    for row, to in zip(numbers, result, strict=True):
        quantise(row.ctypes.data, to.ctypes.data, numbers.shape[1])
    return result


def product(weights: np.ndarray, tokens: np.ndarray, kind: int, rows: int, n: int) -> np.ndarray:
    return library_product(weights, (kind, n // BLOCK * WEIGHTS[kind][0]), tokens, TOKENS[kind][0], (rows, n))


def library_product(
    weights: np.ndarray, weight_layout: tuple[int, int], tokens: np.ndarray, token_type: int, shape: tuple[int, int]
) -> np.ndarray:
    """Return the product (token, row) by the library's function, which uses our products where they replace its own.

    `weight_layout`: ggml_type and bytes of a row; `token_type`: ggml_type; `shape`: rows and columns of the weights.
    """
    multiply: Any = open_library().code.iqk_mul_mat
    multiply.argtypes = [c_long] * 3 + 2 * [c_int, c_void_p, c_long] + [c_void_p, c_long, c_int, c_int]
    multiply.restype = c_bool
    (rows, n), (kind, stride) = shape, weight_layout
    result = np.full((len(tokens), rows + 8), np.nan, np.float32)
    matrices = kind, weights.ctypes.data, stride, token_type, tokens.ctypes.data, tokens.shape[1]
    parts = 2  # as two threads would share the work
    for part in range(parts):
        assert multiply(rows, len(tokens), n, *matrices, result.ctypes.data, result.shape[1], part, parts)
    assert np.isnan(result[:, rows:]).all()
    return result[:, :rows]


def plain_product(weights: np.ndarray, tokens: np.ndarray, kind: int, rows: int) -> np.ndarray:
    """Return the product (token, row) in plain arithmetic, in the order of the products: block after block.

    In each block the minimums are subtracted part after part, then the sum of whole numbers is added.
    """
    parts = tokens.reshape(len(tokens), -1, TOKEN_BYTES)
    d = parts[:, :, :4].copy().view(np.float32)
    quants = parts[:, :, 8:264].view(np.int8).astype(np.int64)
    numbers = parts[:, :, 264:].copy().view(np.float32)
    result = np.zeros((len(tokens), rows), np.float32)
    for four, blocks in enumerate(weights.reshape(rows // 4, -1, weights.shape[1])):
        to = result[:, 4 * four : 4 * four + 4]
        for i, block in enumerate(blocks):
            scale, scales, scaled, mins = unpack(block, kind)
            if mins is not None:
                for part in range(8):
                    to[:] = fused_multiply_add(-mins[part], numbers[:, i, part : part + 1], to)
            sums = np.einsum("sr,src,tsc->tr", scales, scaled, quants[:, i].reshape(len(tokens), len(scales), -1))
            to[:] = fused_multiply_add(scale * d[:, i], sums.astype(np.float32), to)
    return result


def unpack(block: np.ndarray, kind: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Return the contents of a block of four rows.

    These are the rows' scales (row), whole-number scales (part, row), weights (part, row, column), and minimums (part,
    row) or None.
    """
    scale = block[:8].view(np.float16).astype(np.float32)
    if kind == 214:
        return scale, by_part(block[8:72].view(np.int8)), unpack_six_bits(block), None
    min_scale, high = block[8:16].view(np.float16).astype(np.float32), block[16:32]
    low, scales_high, mins_high = block[32:64], np.append(high << 4, high), np.append(high << 2, high >> 2)
    mins = (low >> 4 | mins_high & 48).reshape(8, 4).astype(np.float32)
    quants = block[-512:].reshape(8, 2, 2, 4, 4)  # (part, odd or even, half, row, column)
    even, odd = quants[:, 0], quants[:, 1]
    weights = np.stack([even & 15, odd & 15, even >> 4, odd >> 4], 3)  # (part, half, row, four, column)
    if kind == 213:
        shifts = np.array([[0, 2, 1, 3], [4, 6, 5, 7]], np.uint8).reshape(1, 2, 1, 4, 1)
        weights = weights | (block[64:192].reshape(8, 1, 4, 1, 4) >> shifts & 1) << 4
    rows = np.swapaxes(weights, 1, 2).reshape(8, 4, 32).astype(np.int64)
    return scale, by_part(low & 15 | scales_high & 48), rows, min_scale * mins


def by_part(scales: np.ndarray) -> np.ndarray:
    rows: np.ndarray = scales.reshape(-1, 4).astype(np.int64)
    return rows


def unpack_six_bits(block: np.ndarray) -> np.ndarray:
    """Return the weights of a Q6_K block of four rows: (part, row, column)."""
    high, low = block[72:328].reshape(8, 2, 4, 4), block[328:].reshape(8, 2, 2, 4, 4)
    even, odd = low[:, 0], low[:, 1]
    quants = [even & 15 | high << 4 & 48, odd & 15 | high & 48, even >> 4 | high << 2 & 48, odd >> 4 | high >> 2 & 48]
    rows: np.ndarray = np.stack(quants, 3).reshape(16, 4, 16).astype(np.int64) - 32
    return rows


def theirs_and_ours(product_code: CDLL, *arguments: Any) -> list[np.ndarray]:
    results = []
    for replaces in (False, True):
        product_code.chickadee_products_replace(replaces)
        results.append(product(*arguments))
    return results


def agree(theirs: np.ndarray, ours: np.ndarray) -> bool:
    """Return whether two products differ only as float32 sums in another order do; whole-number sums are equal."""
    return bool(np.abs(theirs - ours).max() <= 2e-6 * np.abs(theirs).max())


@needs_products
@pytest.mark.parametrize("kind", list(WEIGHTS))
@pytest.mark.parametrize("n", [256, 1536, 2304])
@pytest.mark.parametrize("rows", [4, 32, 136, 420])
def test_products_are_the_librarys(product_code, kind, n, rows):
    weights = random_weights(kind, rows, n, seed=rows)
    for count in (*range(1, 10), 16, 19, 32, 53):
        theirs, ours = theirs_and_ours(product_code, weights, random_tokens(kind, count, n, seed=count), kind, rows, n)
        assert np.isfinite(ours).all()
        assert agree(theirs, ours), count


@needs_products
@pytest.mark.parametrize("kind", list(WEIGHTS))
@pytest.mark.parametrize("rows", [4, 8, 12, 16, 20, 92])
@pytest.mark.parametrize("fill", [None, 0x00, 0x0F, 0x7F, 0x80, 0xF0, 0xFF])
def test_products_are_the_same_bits_as_in_plain_arithmetic(product_code, kind, rows, fill):
    """This holds for each set of instructions, any number of rows and tokens, and with every quant at its limits."""
    for count in (*range(1, 9), 16, 27, 48) if fill is None else (3, 32):
        weights, tokens, expected = expected_product(kind, rows, fill, count)
        assert np.array_equal(product(weights, tokens, kind, rows, 768), expected), count


@cache
def expected_product(kind: int, rows: int, fill: int | None, count: int) -> tuple[np.ndarray, ...]:
    """Return weights, tokens and their product in plain arithmetic, cached because all sets of products need them."""
    weights, tokens = random_weights(kind, rows, 768, seed=rows), random_tokens(kind, count, 768, seed=count)
    if fill is not None:
        weights[:, 2 * WEIGHTS[kind][1] :] = fill
    return weights, tokens, plain_product(weights, tokens, kind, rows)


@needs_products
@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_rows_may_be_longer_than_any_model_s(product_code, kind):
    n = 256 * 130
    weights, tokens = random_weights(kind, 16, n, seed=8), random_tokens(kind, 3, n, seed=9)
    assert np.array_equal(product(weights, tokens, kind, 16, n), plain_product(weights, tokens, kind, 16))


@needs_products
@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_a_token_s_product_is_the_same_beside_any_others(product_code, kind):
    """Therefore drafts are verified with exactly the numbers that plain decoding would have."""
    weights, tokens = random_weights(kind, 72, 1536, seed=1), random_tokens(kind, 40, 1536, seed=2)
    alone = np.concatenate([product(weights, tokens[i : i + 1], kind, 72, 1536) for i in range(40)])
    for count in (8, 16, 19, 32, 40):
        assert np.array_equal(product(weights, tokens[:count], kind, 72, 1536), alone[:count])


@needs_products
@pytest.mark.parametrize("kind", list(WEIGHTS))
@pytest.mark.parametrize("count", [16, 32, 47])
def test_rows_kept_from_one_matrix_are_not_used_for_another(product_code, kind, count):
    """The results of both products lie at the same address, as those of two layers do."""
    tokens = random_tokens(kind, count, 512, seed=3)
    for seed in (1, 2, 1):
        weights = random_weights(kind, 136, 512, seed)
        expected = plain_product(weights, tokens, kind, 136)
        assert np.array_equal(product(weights, tokens, kind, 136, 512), expected)


@needs_products
@pytest.mark.parametrize("kind", list(WEIGHTS))
@pytest.mark.parametrize("count", [1, 16, 32, 47])
def test_up_and_gate_take_turns(product_code, kind, count):
    """The library multiplies 16 tokens with the up matrix, then with the gate matrix, then the next 16 tokens."""
    n, rows = 512, 136
    up, gate = (random_weights(kind, rows, n, seed) for seed in (5, 6))
    tokens = random_tokens(kind, count, n, seed=7)
    multiply: Any = open_library().code.iqk_moe_fused_up_gate
    multiply.argtypes = (
        [c_long] * 3 + [c_int] * 3 + [c_void_p] * 2 + [c_long, c_int, c_void_p, c_long]
        + [c_void_p] * 3 + [c_long] * 2 + [c_void_p, c_float, c_int, c_int]
    )  # fmt: skip
    multiply.restype = c_bool
    results = []
    for replaces in (False, True):
        product_code.chickadee_products_replace(replaces)
        result = np.full((count, rows), np.nan, np.float32)
        matrices = kind, up.ctypes.data, gate.ctypes.data, n // BLOCK * WEIGHTS[kind][0]
        token_type = TOKENS[kind][0], tokens.ctypes.data, tokens.shape[1]
        biases, limit, part = (None, None), 0.0, (0, 1)
        place = result.ctypes.data, rows * 4, count * rows * 4, None
        assert multiply(rows, count, n, count, SILU, *matrices, *token_type, *biases, *place, limit, *part)
        results.append(result)
    theirs, ours = results
    assert theirs.any()
    assert np.abs(theirs - ours).max() <= 1e-5 * np.abs(theirs).max()


@needs_products
@pytest.mark.parametrize("kind", list(WEIGHTS))
def test_experts_get_their_own_tokens(product_code, kind):
    n, rows, experts_used = 512, 48, 2
    weights, tokens = random_weights(kind, rows, n, seed=3), random_tokens(kind, 6, n, seed=4)
    mapping = np.array([[0, 0], [1, 2], [0, 5], [1, 4], [1, 1]], np.int32)  # (of the experts used, token)
    multiply: Any = open_library().code.iqk_mul_mat_moe
    multiply.argtypes = (
        [c_long] * 3 + [c_int] + 2 * [c_int, c_void_p, c_long] + [c_void_p, c_long, c_long, c_void_p, c_int, c_int]
    )
    multiply.restype = c_bool
    results = []
    for replaces in (False, True):
        product_code.chickadee_products_replace(replaces)
        result = np.zeros((6, experts_used, rows), np.float32)
        weight_layout = kind, weights.ctypes.data, n // BLOCK * WEIGHTS[kind][0]
        token_type = TOKENS[kind][0], tokens.ctypes.data, tokens.shape[1]
        strides = rows * 4, experts_used * rows * 4
        places = mapping.ctypes.data, 0, 1
        assert multiply(rows, len(mapping), n, 1, *weight_layout, *token_type, result.ctypes.data, *strides, *places)
        results.append(result)
    theirs, ours = results
    assert theirs.any()
    assert agree(theirs, ours)


@needs_products
def test_the_library_asks_for_ours(product_code):
    """The dynamic linker found our functions, and `build` distinguishes timings made with them."""
    product(random_weights(214, 16, 256, seed=5), random_tokens(214, 1, 256, seed=6), 214, 16, 256)
    assert product_code.chickadee_products_replaced()
    assert kernels() == SETS_HERE[0].name
    assert f" with {SETS_HERE[0].name} products " in build()


@needs_native
@pytest.mark.parametrize(
    ("features", "chosen"),
    [
        ("sse4_1 sse4_2 ssse3 popcnt avx", []),
        ("avx avx2 fma", []),
        ("avx2 fma f16c", ["AVX2"]),
        ("avx2 fma f16c avx_vnni", ["AVX-VNNI", "AVX2"]),
        ("avx2 fma f16c avx512f avx512bw avx512dq avx512vl", ["AVX2"]),
        ("avx2 fma f16c avx512f avx512bw avx512dq avx512vl avx512_vnni", ["AVX-512 VNNI", "AVX2"]),
    ],
)
def test_the_processor_says_which_products_compute(monkeypatch, features, chosen):
    native_code = native()
    assert native_code is not None
    monkeypatch.setattr(own_code, "processor_features", lambda: frozenset(features.split()))
    assert [products.name for products in product_sets(native_code.code)] == chosen


@needs_native
def test_a_set_up_meanwhile_changes_nothing(monkeypatch, tmp_path):
    """Set-up may replace the file that this process has loaded."""
    before = build()
    monkeypatch.setattr(module, "FILE", tmp_path / "gone.so")
    assert build() == before


@pytest.mark.parametrize("bytes", [b"", b"no library"])
def test_a_damaged_file_is_left_alone(tmp_path, monkeypatch, caplog, bytes):
    (tmp_path / "ik.so").write_bytes(bytes)
    monkeypatch.setattr(module, "FILE", tmp_path / "ik.so")
    assert preload_native() is None
    assert "more slowly" in caplog.text


@needs_native
def test_another_version_is_refused(monkeypatch, caplog):
    monkeypatch.setattr(own_code, "library_version", lambda _package: "0.1.6")
    assert preload_native() is None
    assert "not for 0.1.6" in caplog.text


@needs_native
def test_another_library_of_the_same_version_is_refused(caplog):
    """The C library stands for one whose functions disagree with the headers: it has none of them."""
    loaded = native()
    assert loaded is not None
    try:
        assert start_native(loaded.code, CDLL(None)) is None
        assert "leaves it alone" in caplog.text
    finally:
        assert start_native(loaded.code, open_library().code)


@pytest.mark.skipif(sys.platform != "linux" or not which("c++"), reason="not for this computer")
def test_set_up_compiled_it_here():
    found = native()
    assert found is not None
    assert found.products == next(iter(SETS_HERE), None)


@pytest.fixture
def fresh(model):
    with closing(IkRuntime(model, ContextOptions(n_ctx=256, threads=1), StopFlag())) as target:
        yield target


def overwrite_last_row(target: IkRuntime) -> Row:
    """Overwrite the last row of a pass of eight tokens with MARK, and return the row."""
    row = target.forward(range(300, 308), 8).row(7)
    row[:] = MARK
    return row


@needs_native
def test_a_pass_leaves_rows_alone_that_it_does_not_compute(fresh):
    row = overwrite_last_row(fresh)
    fresh.forward([310])
    assert (row == MARK).all()


def test_the_library_alone_fills_them(model, monkeypatch):
    monkeypatch.setattr("engine.runtime.ik.runtime.native", lambda: None)
    with closing(IkRuntime(model, ContextOptions(n_ctx=256, threads=1), StopFlag())) as alone:
        row = overwrite_last_row(alone)
        alone.forward([310])
        assert (row == 0).all()


@needs_native
def test_what_is_computed_is_the_same(fresh, target, prompt):
    list(prefill(fresh, prompt))
    overwrite_last_row(fresh)
    fresh.truncate(len(prompt))
    found, expected = (one.forward([300, 310], 2) for one in (fresh, target))
    assert all(np.array_equal(found.row(i), expected.row(i)) for i in (0, 1))


@pytest.fixture
def callback_answers(monkeypatch) -> list[tuple[bool, bool]]:
    """Return a list that collects the callback's answers in passes of contexts made from now on.

    There is one entry per call: (called before the node?, answer).
    """
    native_code, answers = native(), []
    assert native_code is not None
    goes_on: Any = native_code.goes_on

    def watched(node: int, ask: bool, data: int) -> bool:
        answer = goes_on(node, ask, data)
        answers.append((ask, answer))
        return bool(answer)

    monkeypatch.setattr(native_code, "goes_on", module.EvalCallback(watched))
    return answers


@pytest.fixture
def whole_model(whole: Engine) -> CModel:
    return whole._loaded().model


@needs_native
def test_passes_are_cut_only_where_much_is_computed(whole_model, callback_answers):
    """A step of the default model is an eighth of a part, its longest pass some four parts."""
    with closing(IkRuntime(whole_model, ContextOptions(n_ctx=256, threads=1), StopFlag())) as target:
        target.forward([310])
        assert len(callback_answers) > 300
        assert not any(answer for _, answer in callback_answers)
        callback_answers.clear()
        target.forward(range(300, 331))
    assert 2 <= callback_answers.count((True, True)) <= 8
    assert callback_answers.count((False, True)) == callback_answers.count((True, True))


@needs_native
def test_a_stop_ends_a_pass_after_the_part_that_is_computed(whole_model, prompt, monkeypatch):
    stop, native_code, parts = StopFlag(), native(), []
    assert native_code is not None
    goes_on: Any = native_code.goes_on

    def stopping(node: int, ask: bool, data: int) -> bool:
        if not ask and stop_now:
            stop.set()
        answer: bool = goes_on(node, ask, data)
        parts.extend([answer] * (not ask))
        return answer

    stop_now: list[bool] = []
    monkeypatch.setattr(native_code, "goes_on", module.EvalCallback(stopping))
    with closing(IkRuntime(whole_model, ContextOptions(n_ctx=256, threads=2), stop)) as target:
        *_, last = prefill(target, prompt)
        expected = last.row().copy()
        parts.clear()
        stop_now.append(True)
        with pytest.raises(Stopped):
            target.forward(range(300, 331))
        assert parts == [False]
        stop_now.clear()
        stop.clear()
        target.truncate(0)
        *_, last = prefill(target, prompt)
        assert np.array_equal(last.row(), expected)


def test_without_native_code_the_library_aborts_a_pass(whole_model, prompt, monkeypatch):
    stop, calls, should_abort = StopFlag(), [], AbortablePass._should_abort

    def stopping(self: AbortablePass, data: object) -> bool:
        calls.extend([data] * bool(stop_now))
        if stop_now and len(calls) == STOP_AFTER:
            stop.set()
        return should_abort(self, data)

    stop_now: list[bool] = []
    monkeypatch.setattr(AbortablePass, "_should_abort", stopping)
    monkeypatch.setattr("engine.runtime.ik.runtime.native", lambda: None)
    with closing(IkRuntime(whole_model, ContextOptions(n_ctx=256, threads=2), stop)) as target:
        *_, last = prefill(target, prompt)
        expected = last.row().copy()
        stop_now.append(True)
        with pytest.raises(Stopped):
            target.forward(range(300, 330))  # as many tokens as no pass had before: it counts as long
        assert len(calls) == STOP_AFTER
        stop_now.clear()
        stop.clear()
        target.truncate(0)
        *_, last = prefill(target, prompt)
        assert np.array_equal(last.row(), expected)
