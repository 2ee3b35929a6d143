"""Fuzzes all files that the programs keep for themselves: whatever such a file holds, the programs go on.

The files are settings, the window's position, lists, facts about models, unfinished downloads, measurements, learned
values and saved chats. The real engine reads its own files; the window's are read by the window's modules.
"""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz.harness import Broken, Limits, Recipe, make_folder
from tests.fuzz.real_engine import RealEngine
from tests.fuzz.tiny_model import tiny
from tests.fuzz.values import TEXTS, any_value, apply_byte_edits, byte_edits, changed_json
from tests.fuzz.worker import Worker

LIMITS = Limits(seconds=40, memory=1 << 30)
CHAT = "a" * 32
WINDOW_FILES = ("settings.toml", "window.ini", "model-facts.json", "model-folders.json", "parts")
ENGINE_FILES = (
    "profile", "calibration", "exits", "rankings", "drafts", "phrases", "chats", "crashes", "looked-at", "kv",
)  # fmt: skip
DEEP = ("[" * 200_000, '{"a":' * 100_000, "a." * 100_000 + "b = 1", "a = " + "[" * 50_000, "[a" + ".a" * 50_000 + "]",
    "a = 1" * 300_000,
        "[[" * 50_000, "x = " + "9" * 100_000, "x = 1e999999999", "\0" * 100_000, "\xff\xfe", '"' * 50_000,
        "'''" * 20_000, "# " * 500_000)  # fmt: skip
TOML_VALUES = ("1", "-1", "1e400", "nan", "inf", "true", '"x"', "[1, [2, [3]]]", "{a = {b = 1}}", "1979-05-27",
    "00:00:00", '"""\nx\n"""',
               "9223372036854775808", "0xffffffffffffffffffff", "'\\'", "[", "", '"\\u0000"', "2 # note", '"auto"',
               '"de"')  # fmt: skip


def recipe(dice: Random) -> dict[str, Any]:
    engine = dice.random() < 0.4
    return {
        "engine": engine,
        "file": dice.choice(ENGINE_FILES if engine else WINDOW_FILES),
        "damage": draw_damage(dice),
    }


def draw_damage(dice: Random) -> list[Any]:
    """Draw one damage of a file, which `apply_damage` applies."""
    kind = dice.choice(
        (
            "bytes",
            "bytes",
            "bytes",
            "json",
            "json",
            "json",
            "json",
            "value",
            "deep",
            "text",
            "empty",
            "folder",
            "toml",
            "toml",
        )
    )
    what: Any = {
        "bytes": lambda: byte_edits(dice),
        "json": lambda: dice.getrandbits(32),
        "value": lambda: any_value(dice),
        "deep": lambda: dice.randrange(len(DEEP)),
        "text": lambda: dice.choice(TEXTS),
        "toml": lambda: [[dice.random(), dice.choice(TOML_VALUES)] for _ in range(dice.choice((1, 3)))],
    }.get(kind, lambda: None)()
    return [kind, what]


def apply_damage(path: Path, kind: str, what: Any) -> None:
    """Damage the file, or each file in the folder."""
    for file in [path] if path.is_file() else sorted(path.rglob("*")):
        if file.is_file():
            _damage(file, kind, what)


def _damage(path: Path, kind: str, what: Any) -> None:
    raw = path.read_bytes()
    if kind == "folder":
        path.unlink()
        path.mkdir()
        return
    if kind == "toml":
        lines = raw.decode("utf-8", "replace").splitlines()
        for share, value in what:
            at = int(share * max(0, len(lines) - 1))
            if lines:
                lines[at] = f"{lines[at].partition('=')[0]}= {value}"
        path.write_text("\n".join(lines), encoding="utf-8")
        return
    path.write_bytes({
        "bytes": lambda: apply_byte_edits(raw, what),
        "json": lambda: _other_json(raw, what),
        "value": lambda: json.dumps(what).encode(),
        "deep": lambda: DEEP[what].encode("latin-1"),
        "text": lambda: str(what).encode("utf-8", "surrogatepass"),
        "empty": lambda: b"",
    }[kind]())  # fmt: skip


def _other_json(raw: bytes, seed: int) -> bytes:
    """Replace one value in the JSON; if it is no JSON, change one byte.

    The checksum of a store's file (`common.store`) is corrected.
    """
    dice = Random(seed)
    checksum, _, rest = raw.partition(b"\n")
    head, _, payload = rest.partition(b"\n")
    try:
        if checksum == b"%08x" % zlib.crc32(rest):
            rest = head + b"\n" + json.dumps(changed_json(dice, json.loads(payload))).encode()
            return b"%08x\n" % zlib.crc32(rest) + rest
        return json.dumps(changed_json(dice, json.loads(raw))).encode()
    except ValueError:
        return apply_byte_edits(raw, [["flip", dice.random(), 1, 1 + dice.randrange(255)]])


# --- in the worker --------------------------------------------------------------------------------------------------


def run_case(recipe: Recipe, folder: Path) -> str:
    """Read the damaged file as the window does, and write it again. Runs in the worker. Raises Broken."""
    if recipe.get("make"):
        return _make_engine_files(folder)
    shutil.rmtree(folder, ignore_errors=True)
    change: Any = recipe["damage"]
    return {
        "settings.toml": _settings, "window.ini": _window, "model-facts.json": _facts, "model-folders.json": _folders,
        "parts": _parts,
    }[str(recipe["file"])](make_folder(folder), *change)  # fmt: skip


def _settings(folder: Path, kind: str, what: Any) -> str:
    from app.settings.schema import for_all
    from app.settings.settings import Settings
    from common.failures import Failure

    path = folder / "settings.toml"
    Settings(path).change({setting.name: setting.default for setting in for_all()})
    apply_damage(path, kind, what)
    before = path.read_bytes() if path.is_file() else b""
    settings = Settings(path)
    settings.options()
    said = [str(problem) for problem in settings.problems]
    setting = for_all()[Random(str(what)).randrange(len(for_all()))]
    try:
        settings.change({setting.name: setting.default})
        settings.reset()
    except Failure as failure:
        return str(failure)
    kept = b"".join(file.read_bytes() for file in folder.iterdir() if file.is_file())
    if any("not valid TOML" in each for each in said) and before not in kept:
        raise Broken("a settings file that was no TOML is gone", repr(before[:200]))
    return " ".join(said)


def _window(folder: Path, kind: str, what: Any) -> str:
    from PySide6.QtCore import QByteArray

    from app.window_state import WindowState

    path = folder / "window.ini"
    state = WindowState(path)
    state.set_geometry(QByteArray(b"\1\2\3\0" * 20), True)
    state.set_chat("chat", "place")
    _written(state)
    apply_damage(path, kind, what)
    for _ in range(2):
        state = WindowState(path)
        assert isinstance(state.chat + state.place, str)
        assert state.geometry is None or isinstance(state.geometry, QByteArray)
        state.set_geometry(QByteArray(b"new"), state.sidebar)
        state.set_introduced()
        _written(state)
    return ""


def _written(state: Any) -> None:
    write = state.pending_write()
    if write:
        write()


def _facts(folder: Path, kind: str, what: Any) -> str:
    from models.collection import describe_model
    from models.fact_cache import FILES, FactCache

    model = folder / "tiny.gguf"
    model.write_bytes(tiny().raw())
    shutil.rmtree(FILES.folder, ignore_errors=True)
    described = describe_model(model, FactCache())
    assert described.usable, described.problem
    apply_damage(FILES.path(), kind, what)
    again = describe_model(model, FactCache())
    return str(again.problem or "")


def _folders(folder: Path, kind: str, what: Any) -> str:
    from common.failures import Failure
    from models.added_paths import AddedPaths

    path = folder / "model-folders.json"
    AddedPaths(path).add(make_folder(folder, "models"))
    apply_damage(path, kind, what)
    listed = AddedPaths(path).read()
    for each in listed:
        each.is_file()
    try:
        AddedPaths(path).add(make_folder(folder, "more"))
        assert folder / "more" in AddedPaths(path).read()
        AddedPaths(path).drop(folder / "more")
    except Failure as failure:
        return str(failure)
    return ""


def _parts(folder: Path, kind: str, what: Any) -> str:
    from models import download
    from models.download_queue import DownloadQueue
    from models.model_download import unfinished_downloads
    from models.part_file import PartFile, Source

    part = PartFile(folder / "org" / "repo" / "bird.gguf")
    with part:
        part.append(b"half of a model")
    part.write_note(Source("http://127.0.0.1:9/bird.gguf", 1000, "0" * 64, '"tag"', "org/repo", "bird.gguf", "abc"))
    apply_damage(part.note_path if Random(str(what)).random() < 0.8 else part.path, kind, what)
    download.MOST_WAIT = 0.05  # instead of up to half a minute between tries
    downloads = DownloadQueue()
    for wanted in unfinished_downloads(folder):
        job = downloads.add(wanted, "paused")
        assert job.progress.done >= 0
        if wanted.files[0][0].url.startswith(
            "http://127.0.0.1:9/"
        ):  # nothing is there to answer: it fails by a sentence
            downloads.resume(job.id)
    downloads.wait(30)
    said = " ".join(str(job.problem or "") for job in downloads.jobs)
    for job in downloads.jobs:
        downloads.cancel(job.id)
    downloads.close()
    assert "Something went wrong" not in said, said
    return said


def _make_engine_files(folder: Path) -> str:
    """Fill the cache folder with everything that an engine keeps about a model, valid on this machine."""
    import numpy as np

    from common.folders import cache_folder
    from engine.costs import measurements
    from engine.costs.cost_model import Timings
    from engine.costs.profile import machine_profile
    from engine.engine import Engine
    from engine.kv.saved import SavedChats
    from engine.protocol.requests import Load
    from engine.speculative import mid_layer
    from engine.speculative.drafters import LEARNED_STORE
    from engine.speculative.static_ngram import Arrays, NgramTable, store_ngram_table

    machine_profile()
    engine = Engine()
    engine.load(Load(1, str(folder), n_ctx=512, threads=2, backend="llama"))
    loaded = engine._loaded()
    key = loaded.cost_measurements.key
    measurements.store_calibration(
        key, Timings({0: {1: 0.001, 2: 0.0012, 8: 0.003}, 256: {1: 0.0011, 2: 0.0013, 8: 0.0031}}, 1e-5, 100, 0.02)
    )
    gain = mid_layer.Gain(1.2, 2)
    mid_layer.store_exits(mid_layer.Exits(key, 100, (mid_layer.ExitFound(1, 0.5, 0.5, gain, gain),)))
    LEARNED_STORE.put(loaded.sources.policy.state(), key.model)
    ids = np.arange(40)
    arrays = Arrays(ids.astype(np.int64).tobytes(), ids.astype(np.uint32).tobytes(), bytes([200]) * 40, bytes(1))
    store_ngram_table(key.model, NgramTable(arrays))
    tokens = loaded.template.tokens([])[:1] + [5] * 300
    list(loaded.session.prefill(tokens))
    SavedChats(cache_folder() / "chats").save(CHAT, loaded.chat_cache.guard, loaded.target, tokens, 1000.0)
    engine.close()
    return str(cache_folder())


# --- in the fuzzer --------------------------------------------------------------------------------------------------


class Caches:
    """Runner of the cases of the programs' own files."""

    name = "caches"
    recipe = staticmethod(recipe)

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._worker = Worker("caches", folder / "window", folder, LIMITS)
        self._engine = RealEngine(folder, LIMITS)
        self._model = make_folder(folder, "models") / "tiny.gguf"
        self._model.write_bytes(tiny().raw())

    @property
    def peak(self) -> int:
        return max(self._worker.peak, self._engine.peak)

    def run(self, recipe: Recipe) -> str:
        if not recipe["engine"]:
            return self._worker.run_case(recipe)
        cache, whole = self.folder / "cache", self.folder / "whole cache"
        if not whole.exists():
            self._make(cache, whole)
        for old in cache.iterdir():  # the folder itself stays, because the confined engine has rights to this inode
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        shutil.copytree(whole, cache, dirs_exist_ok=True)
        file, damage = str(recipe["file"]), recipe["damage"]
        assert isinstance(damage, list)
        for path in cache.rglob("*.kv") if file == "kv" else [cache / file]:
            apply_damage(path, *damage)
        self._engine.must_answer(self._model, chat=CHAT)
        self._engine.must_answer(self._model, draft="phrases")
        self._engine.check()
        return ""

    def _make(self, cache: Path, whole: Path) -> None:
        maker = Worker("caches", self._model, self.folder, LIMITS)
        try:
            maker.run_case({"make": True})
        finally:
            maker.close()
        shutil.copytree(cache, whole)

    def close(self) -> None:
        self._worker.close()
        self._engine.close()


__all__ = ["Caches", "recipe", "run_case"]
