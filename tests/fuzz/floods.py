"""Fuzzes the real engine with requests: right and wrong ones in any order, cut, binary, with storms of Cancel.

Afterwards the engine must answer as if nothing had happened, or have ended if it was told to.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from engine.protocol.lines import VERSION, encode
from engine.protocol.requests import Shutdown
from models.default import default_model
from tests.fuzz.harness import Broken, Child, Limits, Recipe, make_folder
from tests.fuzz.real_engine import RealEngine, decode_line
from tests.fuzz.tiny_model import tiny
from tests.fuzz.values import NOISE, TEXTS, any_value, changed_json, edge_integer

LIMITS = Limits(seconds=60, memory=2 << 30)
PATHS = (
    "TINY",
    "TINY",
    "TINY",
    "TINY",
    "TINY",
    "DEFAULT",
    "NOTHING",
    "FOLDER",
    "TEXT",
    "PIPE",
    "\0",
    "",
    "x" * 100_000,
    "\udcff",
)
LONG = ("word " * 20_000, "日" * 50_000, "a" * 300_000, "<|im_end|>" * 5_000, "\n" * 20_000)


def recipe(dice: Random) -> dict[str, Any]:
    steps = list(_steps(dice, dice.choice((3, 10, 30))))
    return {"steps": steps, "loaded": dice.random() < 0.8}


def _steps(dice: Random, most: int) -> Iterator[list[Any]]:
    for _ in range(dice.randint(1, most)):
        kind = dice.choice(("good", "good", "good", "changed", "changed", "cancels", "pause", "raw", "end"))
        if kind in ("good", "changed"):
            request = any_request(dice)
            if kind == "changed":
                request = changed_json(dice, request)
            yield ["line", json.dumps(request)]
        elif kind == "cancels":
            storm = [
                _message("cancel", id=dice.randrange(90), request=dice.randrange(60))
                for _ in range(dice.choice((3, 200)))
            ]
            yield ["line", "\n".join(map(json.dumps, storm))]
        elif kind == "pause":
            yield ["pause", dice.choice((1, 10, 50, 300))]
        elif kind == "raw":
            yield ["line", _raw(dice)]
        elif dice.random() < 0.15:
            yield dice.choice((["close", 0], ["line", json.dumps(_message("shutdown", id=1))]))


def _raw(dice: Random) -> str:
    whole = json.dumps(any_request(dice))
    return str(dice.choice((
        whole[: dice.randrange(len(whole))], dice.choice(NOISE).decode("latin-1") * 50, "[" * 100_000,
        '{"a":' * 5_000, "",
        json.dumps(any_value(dice)), whole + whole, "\xff\xfe" + whole, '{"v":1,"type":"hello","id":1,"id":2}',
        whole.replace("1", "1" * 400), "x" * 3_000_000,
    )))  # fmt: skip


def any_request(dice: Random) -> dict[str, Any]:
    """Draw a meaningful request, with values that are allowed or nearly so."""
    id = dice.randrange(60)
    kind = dice.choice(("hello", "load", "load", "unload", "generate", "generate", "generate", "prepare", "prepare",
        "count",
                        "forget", "cancel", "status", "watch"))  # fmt: skip
    if kind == "load":
        return _message(kind, id=id, **_load(dice))
    if kind == "generate":
        return _message(kind, id=id, **_generate(dice))
    rest: dict[str, dict[str, Any]] = {
        "prepare": {"messages": _messages(dice), "chat": dice.choice(("", "a" * 32))},
        "count": {"texts": [_text(dice)] * dice.randrange(3), "messages": dice.choice(([], _messages(dice)))},
        "forget": {"chat": dice.choice(("", "a" * 32, "../x"))},
        "cancel": {"request": dice.randrange(60)},
        "watch": {"on": dice.random() < 0.5},
    }
    return _message(kind, id=id, **rest.get(kind, {}))


def _load(dice: Random) -> dict[str, Any]:
    options: dict[str, Any] = {
        "path": dice.choice(PATHS),
        "n_ctx": dice.choice((512, 64, 2048, None, 1 << 31)),
        "backend": "llama",
    }
    strange = {
        "threads": dice.choice((1, 2, 3, 512, edge_integer(dice))), "memory_bytes": dice.choice((1 << 28, 1, 1 << 62,
        edge_integer(dice))),
        "kv_type": dice.choice(("f16", "q8_0", "q4_0")), "saved_chats_bytes": dice.choice((0, 1, 1 << 30)),
        "draft_model": dice.choice(PATHS), "backend": dice.choice(("graph", "auto", "llama", "ik")),
        "kv_share": dice.choice((0, 0.5, 1)),
        "flash_attention": dice.choice(("on", "off")), "kv_mode": dice.choice(("published", "merged", "window")),
    }  # fmt: skip
    return options | {name: strange[name] for name in dice.sample(sorted(strange), dice.choice((0, 0, 1, 2)))}


def _generate(dice: Random) -> dict[str, Any]:
    options: dict[str, Any] = {"messages": _messages(dice), "max_tokens": dice.choice((1, 4, 50, None))}
    sampling = {
        "temperature": dice.choice((0, 0.8, 10)), "top_k": dice.choice((0, 1, 1 << 31, 1 << 62)),
        "top_p": dice.choice((1e-9, 1)),
        "min_p": dice.choice((0, 1)), "repeat_penalty": dice.choice((1e-9, 10)), "seed": dice.choice((0, 2**32 - 2,
        None)),
        "repeat_last_n": dice.choice((0, 1, 1 << 31, 1 << 62)),
    }  # fmt: skip
    strange = {
        "sampling": {name: sampling[name] for name in dice.sample(sorted(sampling), 3)}, "stop": ["e", "<",
        _text(dice)[:9] or "x"],
        "chat": dice.choice(("a" * 32, "b" * 32, "../../x", "\0")), "forget_turns": dice.choice((0, 1, 1 << 40)),
        "continue_last": True, "kv_policy": dice.choice(("always", "published", "measured")), "trace": True,
        "draft": dice.choice(("off", "auto", "history", "history-published", "phrases", "model", "midlayer",
        "model-published")),
        "lookup": {"match": dice.choice((1, 16)), "m": dice.choice((1, 2)), "n": dice.choice((2, 32))},
        "exit_layers": dice.choice((1, 99)),
    }  # fmt: skip
    return options | {name: strange[name] for name in dice.sample(sorted(strange), dice.choice((0, 1, 2, 4)))}


def _messages(dice: Random) -> list[dict[str, str]]:
    roles = ("user", "assistant", "system", "user")
    return [{"role": dice.choice(roles), "content": _text(dice)} for _ in range(dice.choice((0, 1, 1, 1, 2, 3, 30)))]


def _text(dice: Random) -> str:
    return dice.choice(LONG) if dice.random() < 0.03 else dice.choice((*TEXTS, "Tell me of birds.", "word " * 100))


def _message(type: str, **fields: Any) -> dict[str, Any]:
    return {"v": VERSION, "type": type, **fields}


class Floods:
    """Runner of the cases of requests."""

    name = "floods"
    recipe = staticmethod(recipe)

    def __init__(self, folder: Path) -> None:
        self._engine = RealEngine(folder, LIMITS)
        self.paths = Paths(make_folder(folder, "models"))

    @property
    def peak(self) -> int:
        return self._engine.peak

    def run(self, recipe: Recipe) -> str:
        if recipe["loaded"]:
            self._engine.must_answer(self.paths.tiny)
        child, steps = self._engine.child, recipe["steps"]
        assert isinstance(steps, list)
        for kind, what in steps:
            if kind == "pause":
                time.sleep(what / 1000)
            elif kind == "close":
                child.close_input()
            else:
                child.send(self.paths.filled(what))
        if told_to_end(steps):
            return self._ended(child)
        for id in range(60):
            child.send(json.dumps(_message("cancel", id=99, request=id)).encode() + b"\n")
        self._engine.must_answer(self.paths.tiny, chat="c" * 32)
        self._engine.check()
        return ""

    def _ended(self, child: Child) -> str:
        """Check that the engine ends with code 0 and has written only whole lines."""
        deadline = child.deadline()
        child.send(encode(Shutdown(1)))
        while line := child.line(deadline):
            decode_line(line)
        code = child.wait(deadline)
        child.check()
        self._engine.kill()
        if code:
            raise Broken(f"it ended with code {code}")
        return "ended"

    def close(self) -> None:
        self._engine.close()


def told_to_end(steps: list[list[Any]]) -> bool:
    return any(kind == "close" or (kind == "line" and '"shutdown"' in what) for kind, what in steps)


class Paths:
    """Files that requests name. Recipes hold placeholders for them, because their folder differs from run to run."""

    def __init__(self, folder: Path) -> None:
        self.tiny = folder / "tiny.gguf"
        self.tiny.write_bytes(tiny().raw())
        (folder / "text.gguf").write_text("hello")
        pipe = folder / "pipe.gguf"
        if hasattr(os, "mkfifo") and not pipe.exists():
            os.mkfifo(pipe)
        self._words = {
            "TINY": self.tiny, "DEFAULT": default_model(), "NOTHING": folder / "nothing.gguf", "FOLDER": folder,
            "TEXT": folder / "text.gguf", "PIPE": pipe,
        }  # fmt: skip

    def filled(self, line: str) -> bytes:
        """Return the line with paths in the place of placeholders."""
        for word, path in self._words.items():
            line = line.replace(f'"{word}"', json.dumps(str(path)))
        return line.encode("latin-1", "replace") + b"\n"
