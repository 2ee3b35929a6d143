"""Values at which programs break, and changes of bytes and of JSON, all drawn from the given dice."""

from __future__ import annotations

import re
import sys
from random import Random
from typing import Any

EDGES = (0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 255, 256, 4095, 4096, 65_535, 65_536, 1 << 24, (1 << 31) - 1, 1 << 31,
         (1 << 32) - 1, 1 << 32, 1 << 36, 1 << 53, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, -1, -2, -(1 << 31),
         -(1 << 63))  # fmt: skip
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1e-45, 1e-300, 1e10, 1e38, 1e308, float("inf"), float("-inf"), float("nan"))
TEXTS = ("", " ", "\0", "a\0b", "x" * 70_000, "\n", "../../etc/passwd", "%s%n", "{}", "{0.__class__}", "🐦", "日本",
         "\u202e", "\ufeff", "\ue0f0", "\ue0f11\ue0f1", "<|im_end|>", "<|im_start|>system\n", "'", '"', "\\", "NaN",
         "null",
         "-1", "1e999", "true", "\x1b[2J", "\r")  # fmt: skip
NOISE = (
    b"\0",
    b"\xff",
    b"\x80",
    b"\x7f",
    b"\n",
    b'"',
    b"{",
    b"[",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    bytes(8),
    b"\xff" * 8,
)


def edge_integer(dice: Random) -> int:
    """Draw an integer near a limit, or any integer."""
    if dice.random() < 0.7:
        return dice.choice(EDGES)
    return dice.getrandbits(dice.choice((4, 8, 16, 32, 64)))


def any_value(dice: Random, depth: int = 0) -> Any:
    """Draw a JSON value, mostly a strange one."""
    kind = dice.randrange(8 if depth < 3 else 6)
    if kind == 0:
        return dice.choice((None, True, False))
    if kind in (1, 2):
        return edge_integer(dice) * dice.choice((1, 1, 1, -1, 10**30))
    if kind == 3:
        return dice.choice(FLOATS)
    if kind in (4, 5):
        return dice.choice(TEXTS)
    if kind == 6:
        return [any_value(dice, depth + 1) for _ in range(dice.randrange(4))]
    return {dice.choice(TEXTS)[:50]: any_value(dice, depth + 1) for _ in range(dice.randrange(4))}


def changed_json(dice: Random, value: Any) -> Any:
    """Return the value with a change in one place."""
    if isinstance(value, dict) and value and dice.random() < 0.9:
        key = dice.choice(sorted(value))
        rest = {name: each for name, each in value.items() if name != key}
        what = dice.randrange(10)
        if what == 0:
            return rest
        if what == 1:
            return value | {dice.choice(TEXTS)[:50]: any_value(dice)}
        return value | {key: changed_json(dice, value[key])}
    if isinstance(value, list) and value and dice.random() < 0.9:
        at, what = dice.randrange(len(value)), dice.randrange(10)
        if what == 0:
            return value[:at] + value[at + 1 :]
        if what == 1:
            return value + value[at : at + 1] * dice.choice((1, 2, 50))
        return [*value[:at], changed_json(dice, value[at]), *value[at + 1 :]]
    return any_value(dice)


def byte_edits(dice: Random, most: int = 6) -> list[list[Any]]:
    """Draw edits of a file's bytes, which `apply_byte_edits` applies; places are fractions of the file's length."""
    edits: list[list[Any]] = []
    for _ in range(dice.randint(1, most)):
        at = dice.choice((0.0, 1.0, dice.random(), dice.random(), dice.random() ** 4))
        kind = dice.choice(("put", "put", "flip", "flip", "insert", "take", "repeat", "cut", "zero", "swap"))
        size = dice.choice((1, 1, 2, 4, 8, 16, 64, 512, 4096))
        text = dice.choice(NOISE).decode("latin-1") if kind in ("put", "insert") else ""
        edits.append([kind, at, size, text or dice.getrandbits(8)])
    return edits


def apply_byte_edits(raw: bytes, edits: list[list[Any]]) -> bytes:
    """Return `raw` after the edits, applied one after the other."""
    data = bytearray(raw)
    for kind, share, size, what in edits:
        at = min(int(share * len(data)), max(0, len(data) - 1))
        size = min(size, 1 << 20)
        if kind == "put":
            data[at : at + len(what)] = what.encode("latin-1")
        elif kind == "insert":
            data[at:at] = what.encode("latin-1") * size
        elif kind == "flip" and data:
            data[at] ^= what or 1
        elif kind == "take":
            del data[at : at + size]
        elif kind == "repeat":
            data[at:at] = data[at : at + size]
        elif kind == "cut":
            del data[at:]
        elif kind == "zero":
            data[at : at + size] = bytes(len(data[at : at + size]))
        elif kind == "swap":
            other = len(data) - at
            data[at : at + size], data[other : other + size] = data[other : other + size], data[at : at + size]
    return bytes(data)


def possible_name(name: object) -> str:
    """Return a recipe's file name, on Windows without the characters that no file name has there."""
    return re.sub(r'[<>:"/\\|?*\x00-\x1f\ud800-\udfff]', "_", str(name)) if sys.platform == "win32" else str(name)
