"""Our products with Q4_0, Q8_0, IQ4_NL and IQ4_XS, compared with the library's and with plain arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from tests.engine.runtime.arithmetic import fused_multiply_add
from tests.engine.runtime.ik.alone.test_native import (
    library_product,
    needs_products,
    product_code,
    quantise_tokens,
)

__all__ = ["product_code"]

pytestmark = needs_products

PART = 32  # weights that share a scale
TABLE = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])


@dataclass(frozen=True)
class Kind:
    """A kind of weights.

    - `number`: ggml's number of the type.
    - `length`, `bytes`: weights of a row in a block, and bytes of such a block.
    - `tokens`: ggml's type of the tokens, the function that quantises them, and the bytes of one of their blocks.
    - `lengths`: lengths of rows that are tested.
    - `for_avx2`: whether our AVX2 set has a product for this kind.
    - `together`: rows in a block.
    """

    number: int
    length: int
    bytes: int
    tokens: tuple[int, str, int]
    lengths: tuple[int, ...]
    for_avx2: bool = False
    together: int = 8


SHORT_TOKENS = (99, "quantize_row_q8_2_x4", 36)
KINDS = {
    "Q4_0": Kind(202, 32, 18, SHORT_TOKENS, (32, 96, 256, 416), for_avx2=True),
    "Q8_0": Kind(208, 32, 34, SHORT_TOKENS, (32, 96, 256, 416)),
    "IQ4_NL": Kind(220, 32, 18, SHORT_TOKENS, (32, 96, 256, 416), together=4),
    "IQ4_XS": Kind(223, 256, 136, (148, "quantize_row_q8_K32", 296), (256, 768)),
}
FOUR = 4 * SHORT_TOKENS[2]


def random_weights(kind: Kind, rows: int, n: int, seed: int) -> np.ndarray:
    """Return random weights as bytes: (block of rows, block, byte).

    All bytes are valid weights, except the float16 scales at the beginning of a block.
    """
    random = np.random.default_rng(seed)
    blocks = random.integers(0, 256, (rows // kind.together, n // kind.length, kind.together * kind.bytes), np.uint8)
    scales = random.uniform(-1, 1, (*blocks.shape[:2], kind.together)).astype(np.float16)
    blocks[..., : 2 * kind.together] = scales.view(np.uint8)
    return blocks


def random_tokens(kind: Kind, count: int, n: int, seed: int) -> np.ndarray:
    numbers = np.random.default_rng(seed).normal(size=(count, n)).astype(np.float32)
    numbers[-1] = np.where(np.arange(n) % 3, 1, -1)  # every quant at its limit
    numbers[0, :PART] = 1
    numbers[0, PART : 2 * PART] = 0
    _, function, size = kind.tokens
    return quantise_tokens(numbers, function, n // kind.length * size)


def product(weights: np.ndarray, tokens: np.ndarray, kind: Kind, rows: int, n: int) -> np.ndarray:
    return library_product(weights, (kind.number, n // kind.length * kind.bytes), tokens, kind.tokens[0], (rows, n))


def plain_product(weights: np.ndarray, tokens: np.ndarray, kind: Kind) -> np.ndarray:
    """Return the product (token, row), computed block after block, each a sum of whole numbers."""
    d, quants = table_tokens(tokens) if kind.length == 256 else short_tokens(tokens)
    together = kind.together
    result = np.zeros((len(tokens), together * len(weights)), np.float32)
    for first, blocks in zip(range(0, result.shape[1], together), weights, strict=True):
        to = result[:, first : first + together]
        for i, block in enumerate(blocks):
            scales = block[: 2 * together].view(np.float16).astype(np.float32)
            rows = unpack(block[2 * together :], kind)
            sums = quants[:, i] @ rows.T
            to[:] = fused_multiply_add(scales * d[:, i, None], sums.astype(np.float32), to)
    return result


def unpack(block: np.ndarray, kind: Kind) -> np.ndarray:
    """Return the weights of a block as (row, column), multiplied by the whole-number scales that some of them share."""
    if kind is KINDS["Q8_0"]:
        return by_rows(block.view(np.int8).astype(np.int64))
    if kind is KINDS["Q4_0"]:
        return by_rows(np.concatenate([block & 15, block >> 4]).astype(np.int64) - 8)
    if kind is KINDS["IQ4_NL"]:  # columns 0 to 3 and 8 to 11, then 16 to 19 and 24 to 27, 4 to 7 and 12 to 15, ...
        fours = block.reshape(2, 2, 4, 4)  # (odd four of columns, half, row, column)
        return TABLE[np.stack([fours & 15, fours >> 4]).transpose(3, 2, 0, 1, 4).reshape(4, PART)]
    high, low, quants = block[:16], block[16:48], block[48:].reshape(8, 4, 32)
    high = np.concatenate([high, high >> 2])
    scales = np.concatenate([low & 15 | high << 4 & 48, low >> 4 | high & 48]).astype(np.int64) - 32
    places = np.stack([quants & 15, quants >> 4], 2)  # (part, four bytes of each row, lower and upper bits, byte)
    parts = [
        by_rows(TABLE[part.reshape(-1)]) * of[:, None] for part, of in zip(places, scales.reshape(8, 8), strict=True)
    ]
    return np.concatenate(parts, 1)


def by_rows(numbers: np.ndarray) -> np.ndarray:
    """Reorder numbers that lie as four of each row side by side to (row, column)."""
    return np.swapaxes(numbers.reshape(8, 8, 4), 0, 1).reshape(8, PART)


def short_tokens(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens' scales (token, block) and quants (token, block, column)."""
    whole = tokens.shape[1] // FOUR * FOUR
    fours, ones = tokens[:, :whole].reshape(len(tokens), -1, FOUR), tokens[:, whole:].reshape(len(tokens), -1, 36)
    scales = np.concatenate([each.reshape(len(tokens), -1) for each in (fours[..., :8], ones[..., :2])], 1)
    quants = np.concatenate([each.reshape(len(tokens), -1) for each in (fours[..., 16:], ones[..., 4:])], 1)
    halves = np.ascontiguousarray(scales).view(np.uint16).astype(np.uint32) << 16
    return halves.view(np.float32), quants.view(np.int8).astype(np.int64).reshape(len(tokens), -1, PART)


def table_tokens(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens' scales (token, block) and quants (token, block, column), from blocks of 256."""
    blocks = tokens.reshape(len(tokens), -1, 296)
    return blocks[..., :4].copy().view(np.float32)[..., 0], blocks[..., 8:264].view(np.int8).astype(np.int64)


@cache
def expected_product(kind: Kind, rows: int, n: int, fill: int | None, count: int) -> tuple[np.ndarray, ...]:
    """Return weights, tokens and their product in plain arithmetic, cached because all sets of products need them."""
    weights, tokens = random_weights(kind, rows, n, seed=rows), random_tokens(kind, count, n, seed=count)
    if fill is not None:
        weights[..., 2 * kind.together :] = fill
    return weights, tokens, plain_product(weights, tokens, kind)


each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@each_kind
@pytest.mark.parametrize("rows", [8, 16, 24, 136])
def test_products_are_the_librarys(product_code, kind, rows):
    """Results differ a little: the library subtracts a rounded number for what it added to each weight."""
    for n in kind.lengths:
        weights = random_weights(kind, rows, n, seed=rows)
        for count in (*range(1, 10), 16, 19):
            tokens = random_tokens(kind, count, n, seed=count)
            product_code.chickadee_products_replace(False)
            theirs = product(weights, tokens, kind, rows, n)
            product_code.chickadee_products_replace(True)
            ours = product(weights, tokens, kind, rows, n)
            assert np.isfinite(ours).all()
            assert np.abs(theirs - ours).max() <= 2e-2 * np.abs(theirs).max(), (n, count)


@each_kind
@pytest.mark.parametrize("rows", [8, 16, 24, 40])
@pytest.mark.parametrize("fill", [None, 0x00, 0x0F, 0x7F, 0x80, 0xF0, 0xFF])
def test_products_are_the_same_bits_as_in_plain_arithmetic(request, product_code, kind, rows, fill):
    """This holds for each set that has the kind, any number of rows and tokens, and with every quant at its limits."""
    if request.node.callspec.params["product_code"].name == "AVX2" and not kind.for_avx2:
        pytest.skip("the library's product_code compute")
    for n in kind.lengths if fill is None else kind.lengths[1:2]:
        for count in (*range(1, 9), 16, 27) if fill is None else (3,):
            weights, tokens, expected = expected_product(kind, rows, n, fill, count)
            assert np.array_equal(product(weights, tokens, kind, rows, n), expected), (n, count)


@each_kind
def test_rows_may_be_longer_than_any_model_s(product_code, kind):
    """Our products take the first length; the second, longer one is left to the library."""
    for n in (PART * 1024, PART * 1024 + kind.length):
        weights, tokens = random_weights(kind, 16, n, seed=8), random_tokens(kind, 3, n, seed=9)
        found, expected = product(weights, tokens, kind, 16, n), plain_product(weights, tokens, kind)
        assert np.abs(found - expected).max() <= 2e-2 * np.abs(expected).max()


@each_kind
def test_a_token_s_product_is_the_same_beside_any_others(product_code, kind):
    """Therefore drafts are verified with exactly the numbers that plain decoding would have."""
    weights, tokens = random_weights(kind, 72, 768, seed=1), random_tokens(kind, 19, 768, seed=2)
    alone = np.concatenate([product(weights, tokens[i : i + 1], kind, 72, 768) for i in range(19)])
    for count in (8, 16, 19):
        assert np.array_equal(product(weights, tokens[:count], kind, 72, 768), alone[:count])
