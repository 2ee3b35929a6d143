"""Kills engines at random moments and starts them again: saved chats are whole or gone, and the next answer comes."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from random import Random
from typing import Any

from engine.protocol.events import Finished, Loaded
from engine.protocol.lines import encode
from engine.protocol.requests import Load
from models.default import default_model
from tests.fuzz.floods import Paths, any_request
from tests.fuzz.harness import Broken, Limits, Recipe, make_folder
from tests.fuzz.real_engine import RealEngine
from tests.fuzz.values import apply_byte_edits, byte_edits

LIMITS = Limits(seconds=60, memory=2 << 30)
CHATS = ("a" * 32, "b" * 32)
LONG_CHAT = "word " * 300  # long enough to be saved with the default model
EVENT_SECONDS = 2.0  # wall time to wait for an event
SAVES_AFTER = 1.2  # idle seconds after which an engine begins to save


def recipe(dice: Random) -> dict[str, Any]:
    """Draw a recipe; `real` runs the default model, whose chats are saved, otherwise the quick tiny one runs."""
    real = dice.random() < 0.25
    return {"real": real, "lives": [_life(dice, real) for _ in range(2 if real else 4)]}


def _life(dice: Random, real: bool) -> dict[str, Any]:
    """Draw requests, the moment of the kill (`ms` after `events` lines), and edits of the files left behind."""
    generate = {"v": 1, "type": "generate", "id": 50, "chat": dice.choice(CHATS), "max_tokens": dice.choice((1, 20)),
             "messages": [{"role": "user", "content": LONG_CHAT if real else "Hello."}]}  # fmt: skip
    return {
        "requests": [generate, *(any_request(dice) for _ in range(dice.choice((0, 0, 2))) if not real)],
        "events": dice.choice((0, 1, 2, 5, 20)),
        "ms": dice.choice(
            (0, 1, 5, 20, 100, 500, round(1000 * SAVES_AFTER), dice.randrange(1000, 2500) if real else 0)
        ),
        "damage": byte_edits(dice, 2) if dice.random() < 0.3 else [],
    }


class Kills:
    """Runner of the cases of kills; each begins with an empty cache."""

    name = "kills"
    recipe = staticmethod(recipe)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._paths = Paths(make_folder(folder, "models"))
        self._engine = RealEngine(folder, LIMITS)

    @property
    def peak(self) -> int:
        return self._engine.peak

    def run(self, recipe: Recipe) -> str:
        shutil.rmtree(self.folder / "cache", ignore_errors=True)
        model = default_model() if recipe["real"] else self._paths.tiny
        lives: Any = recipe["lives"]
        for life in lives:
            self._live(life, model)
            damage_files(self.folder / "cache", life["damage"])
        for chat in CHATS:
            self._next_answer(model, chat)
        self._engine.close()
        return ""

    def _live(self, life: dict[str, Any], model: Path) -> None:
        child = self._engine.child
        child.send(encode(Load(40, str(model), n_ctx=1024, backend="llama", threads=2)))
        for request in life["requests"]:
            child.send(self._paths.filled(json.dumps(request)))
        for _ in range(life["events"]):
            if child.line_within(EVENT_SECONDS) is None:
                break
        time.sleep(life["ms"] / 1000)
        child.check()
        self._engine.kill()

    def _next_answer(self, model: Path, chat: str) -> None:
        loaded = self._engine.load(model, n_ctx=1024)
        if not isinstance(loaded, Loaded):
            raise Broken(f"the model does not load after kills: {loaded}")
        end = self._engine.answer(chat=chat)
        if not isinstance(end, Finished):
            raise Broken(f"no answer after kills: {end}")
        self._engine.check()

    def close(self) -> None:
        self._engine.close()


def damage_files(folder: Path, edits: list[list[Any]]) -> None:
    """Change every file that an engine has left in the folder."""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and edits and path.suffix in (".json", ".kv", ".npz"):
            path.write_bytes(apply_byte_edits(path.read_bytes(), edits))


__all__ = ["Kills", "recipe"]
