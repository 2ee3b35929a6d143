"""Saved chats: found only under the same conditions, evicted by worth, and never with a wrong context."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from common.failures import Failure
from common.files import TEMPORARY, temporary_prefix
from engine.__main__ import main
from engine.kv import saved
from engine.kv.chat_cache import ChatCache
from engine.kv.saved import Guard, Record, SavedChats, worth_saving
from engine.kv.session import Session
from engine.runtime.interface import prefill
from tests.engine.fake_runtime import FakeRuntime

GUARD = Guard("model", "f16", "build 1")
PROMPT = [i % 250 for i in range(400)]
FAST = 1e12  # bytes per second of a disk that is always fast enough


def chat_cache(folder: Path, guard: Guard = GUARD) -> ChatCache:
    session = Session(FakeRuntime(n_ctx=4096, max_batch=64))
    chat = ChatCache(session, SavedChats(folder), guard)
    chat.record_prefill(100, 1.0)
    return chat


def read(chat: ChatCache, name: str, prompt: list[int]) -> int:
    """Read a prompt and return the number of reused tokens."""
    chat.open_chat(name, prompt)
    return list(chat.session.prefill(prompt))[-1].reused


def cached_tokens(chat: ChatCache) -> list[int]:
    assert isinstance(chat.session.runtime, FakeRuntime)
    return chat.session.runtime.cache


def save(folder: Path, name: str = "a", prompt: list[int] = PROMPT) -> None:
    chat = chat_cache(folder)
    read(chat, name, prompt)
    assert chat.save(FAST)


def test_a_chat_comes_back_after_a_restart(tmp_path):
    save(tmp_path)
    chat = chat_cache(tmp_path)
    longer = [*PROMPT, 1, 2, 3]
    assert read(chat, "a", longer) == len(PROMPT)
    assert cached_tokens(chat) == chat.session.tokens == longer


def test_an_edited_chat_reuses_up_to_the_edit(tmp_path):
    save(tmp_path)
    edited = [*PROMPT[:300], 9, 9, 9]
    assert read(chat_cache(tmp_path), "a", edited) == 300


def test_an_edited_chat_is_saved_again_though_it_is_shorter(tmp_path):
    chat = chat_cache(tmp_path)
    read(chat, "a", PROMPT)
    assert chat.save(FAST)
    edited = [*PROMPT[:300], *[9] * 90]
    read(chat, "a", edited)
    assert chat.saved_tokens == 300
    assert chat.save(FAST)
    assert read(chat_cache(tmp_path), "a", [*edited, 1]) == 390
    read(chat, "a", edited)
    assert not chat.save(FAST)
    chat.saved.clear()  # another engine may do this
    read(chat, "a", edited)
    assert chat.save(FAST)


def test_a_shorter_branch_of_a_chat_that_was_loaded_is_saved(tmp_path):
    save(tmp_path)
    chat = chat_cache(tmp_path)
    edited = [*PROMPT[:300], *[9] * 70]
    assert read(chat, "a", edited) == 300
    assert chat.save(FAST)
    assert read(chat_cache(tmp_path), "a", [*edited, 1]) == 370


@pytest.mark.parametrize("change", [{"model": "other"}, {"settings": "q8_0"}, {"build": "build 2"}])
def test_under_other_circumstances_it_is_read_again(tmp_path, change):
    save(tmp_path)
    assert read(chat_cache(tmp_path, replace(GUARD, **change)), "a", PROMPT) == 0


def test_each_model_keeps_its_own_copy_of_a_chat(tmp_path):
    other = replace(GUARD, model="other")
    save(tmp_path)
    second = chat_cache(tmp_path, other)
    read(second, "a", [7] * 300)
    assert second.save(FAST)
    assert read(chat_cache(tmp_path), "a", [*PROMPT, 1]) == len(PROMPT)
    assert read(chat_cache(tmp_path, other), "a", [*[7] * 300, 1]) == 300
    SavedChats(tmp_path).delete("a")
    assert list(tmp_path.iterdir()) == []


def test_another_chat_is_not_confused_with_it(tmp_path):
    save(tmp_path)
    assert read(chat_cache(tmp_path), "b", PROMPT) == 0


def test_a_chat_without_id_leaves_no_trace(tmp_path):
    chat = chat_cache(tmp_path)
    read(chat, "", PROMPT)
    assert not chat.save(FAST)
    assert list(tmp_path.iterdir()) == []


def test_short_chats_slow_disks_and_nothing_new_are_not_saved(tmp_path):
    chat = chat_cache(tmp_path)
    read(chat, "a", PROMPT[:200])
    assert not chat.save(FAST)
    read(chat, "a", PROMPT)
    assert not chat.save(1.0)
    assert chat.save(FAST)
    assert not chat.save(FAST)


@pytest.mark.parametrize("damage", ["shorter", "longer", "gone", "swapped", "record"])
def test_damaged_files_mean_reading_again(tmp_path, damage):
    save(tmp_path, "a")
    save(tmp_path, "b", [7] * 400)
    path = SavedChats(tmp_path)._path("a", GUARD.model, ".kv")
    raw = path.read_bytes()
    if damage == "shorter":
        path.write_bytes(raw[:-10])
    elif damage == "longer":
        path.write_bytes(raw + b"x")
    elif damage == "gone":
        path.unlink()
    elif damage == "swapped":
        path.write_bytes(SavedChats(tmp_path)._path("b", GUARD.model, ".kv").read_bytes())
    else:
        path.with_suffix(".json").write_bytes(b'{"version": 1, "guard": {}}')
    chat = chat_cache(tmp_path)
    assert read(chat, "a", PROMPT) == 0
    assert cached_tokens(chat) == PROMPT


def test_files_are_private_and_nothing_temporary_stays(tmp_path):
    folder = tmp_path / "new"
    save(folder)
    if sys.platform != "win32":  # there the user's folder is private, and files have no such modes
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(path.suffix for path in folder.iterdir()) == [".json", ".kv"]


def test_the_quota_drops_what_is_worth_least(tmp_path, monkeypatch):
    chats = SavedChats(tmp_path)
    for age, name in enumerate(("new", "old", "oldest")):
        monkeypatch.setattr(time, "time", lambda age=age: 1e9 - age * saved.DAY)
        target = FakeRuntime()
        list(prefill(target, PROMPT[:300]))
        chats.save(name, GUARD, target, PROMPT[:300], 10.0)
    monkeypatch.setattr(time, "time", lambda: 1e9)
    chats.quota = chats.used_bytes * 5 // 6
    list(prefill(target, PROMPT[300:]))
    chats.save("now", GUARD, target, PROMPT, 10.0)
    assert [name for name in ("new", "old", "oldest", "now") if chats.find(name, GUARD)] == ["new", "now"]


def test_the_chat_saved_last_tells_how_large_a_cache_is_wanted(tmp_path, monkeypatch):
    chats = SavedChats(tmp_path)
    assert chats.tokens_of_last(GUARD) == 0
    for at, (name, size) in enumerate((("long", 400), ("last", 300))):
        monkeypatch.setattr(time, "time", lambda at=at: 1e9 + at)
        target = FakeRuntime()
        list(prefill(target, PROMPT[:size]))
        chats.save(name, GUARD, target, PROMPT[:size], 10.0)
    assert chats.tokens_of_last(GUARD) == 300
    assert chats.tokens_of_last(replace(GUARD, build="other")) == 0


def test_a_chat_larger_than_the_quota_is_refused_and_others_stay(tmp_path):
    save(tmp_path)
    target = FakeRuntime()
    list(prefill(target, PROMPT))
    with pytest.raises(Failure, match="exceeds the space"):
        SavedChats(tmp_path, quota=10).save("b", GUARD, target, PROMPT, 1.0)
    assert SavedChats(tmp_path).find("a", GUARD)


def test_a_lower_quota_evicts_the_least_worthy_at_once(tmp_path, monkeypatch):
    for age, name in enumerate(("new", "old", "oldest")):
        monkeypatch.setattr(time, "time", lambda age=age: 1e9 - age * saved.DAY)
        save(tmp_path, name)
    monkeypatch.setattr(time, "time", lambda: 1e9)
    chats = SavedChats(tmp_path)
    chats.set_quota(chats.used_bytes * 2 // 3 + 1)
    assert [name for name in ("new", "old", "oldest") if chats.find(name, GUARD)] == ["new", "old"]
    assert chats.used_bytes <= chats.quota


@pytest.mark.parametrize("damage", ["no record", "another version", "damaged record", "another size", "no file"])
def test_what_has_no_record_of_its_own_is_counted_and_goes_at_the_next_load(tmp_path, damage):
    save(tmp_path, "a")
    save(tmp_path, "b")
    chats = SavedChats(tmp_path)
    kv, record = chats._path("a", GUARD.model, ".kv"), chats._path("a", GUARD.model, ".json")
    if damage == "no record":
        record.unlink()
    elif damage == "another version":
        record.write_bytes(record.read_bytes().replace(b'"version":2', b'"version":1'))
    elif damage == "damaged record":
        record.write_bytes(b"{")
    elif damage == "another size":
        kv.write_bytes(kv.read_bytes() + b"x")
    else:
        kv.unlink()
    assert chats.used_bytes == sum(path.stat().st_size for path in tmp_path.iterdir())
    chats.set_quota(None)
    assert len(list(tmp_path.iterdir())) in (3, 4)  # another engine may still write the missing file
    for path in tmp_path.iterdir():
        os.utime(path, (1e9, 1e9))
    chats.set_quota(None)
    assert sorted(path.stem for path in tmp_path.iterdir()) == [chats._path("b", GUARD.model, "").name] * 2
    assert chats.find("b", GUARD)


@pytest.mark.parametrize("saved_at", [0, -1e300, 1e300])
def test_a_record_of_an_impossible_time_is_no_bug(tmp_path, saved_at):
    save(tmp_path, "a")
    path = SavedChats(tmp_path)._path("a", GUARD.model, ".json")
    stored = json.loads(path.read_bytes())
    path.write_text(json.dumps(stored | {"saved_at": saved_at}))
    SavedChats(tmp_path).set_quota(None)
    save(tmp_path, "b")
    assert SavedChats(tmp_path).find("b", GUARD)


def test_a_lower_quota_evicts_at_the_next_save(tmp_path):
    save(tmp_path, "a")
    chat = chat_cache(tmp_path)
    chat.saved.set_quota(chat.saved.used_bytes * 3 // 2)
    assert chat.saved.find("a", GUARD)
    read(chat, "b", PROMPT)
    assert chat.save(FAST)
    assert [name for name in ("a", "b") if chat.saved.find(name, GUARD)] == ["b"]


def test_a_quota_of_nothing_keeps_nothing(tmp_path):
    save(tmp_path, "a")
    chat = chat_cache(tmp_path)
    chat.saved.set_quota(0)
    assert list(tmp_path.iterdir()) == []
    read(chat, "b", PROMPT)
    assert not chat.save(FAST)
    assert list(tmp_path.iterdir()) == []
    chat.saved.set_quota(None)
    assert chat.save(FAST)


def left_behind(folder: Path, name: str, size: int = 1000, age: float = 3600) -> Path:
    """Create a file like one that a killed engine leaves."""
    path = folder / name
    path.write_bytes(b"x" * size)
    os.utime(path, (time.time() - age, time.time() - age))
    return path


def test_what_killed_engines_left_is_counted_and_goes_first(tmp_path):
    save(tmp_path, "a")
    chat = chat_cache(tmp_path)
    useful = chat.saved.used_bytes
    digest = SavedChats(tmp_path)._path("z", GUARD.model, "").name
    left = [
        left_behind(tmp_path, f"{digest}.kv"),
        left_behind(tmp_path, f"{'0' * 32}.kv"),
        left_behind(tmp_path, f"{'0' * 32}.json"),
        left_behind(tmp_path, f"{digest}.99999999.part"),  # of an older version
        left_behind(tmp_path, f"{TEMPORARY}99999999-{digest}.kv", age=0),
        left_behind(tmp_path, temporary_prefix() + digest, age=10 * 365 * saved.DAY),  # the process id is ours today
        left_behind(tmp_path, f".{digest}.json.k2x_9"),
    ]
    foreign = left_behind(tmp_path, "notes.txt", size=1)
    assert chat.saved.used_bytes == useful + 7001
    chat.saved.quota = 2 * useful + 100
    read(chat, "b", PROMPT)
    assert chat.save(FAST)
    assert not any(path.exists() for path in left)
    assert foreign.exists()
    assert [name for name in ("a", "b") if chat.saved.find(name, GUARD)] == ["a", "b"]


def test_what_another_engine_is_writing_stays_and_counts(tmp_path):
    save(tmp_path, "a")
    chat = chat_cache(tmp_path)
    useful = chat.saved.used_bytes
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        writing = tmp_path / f"{TEMPORARY}{other.pid}-{'1' * 32}.kv"
        writing.write_bytes(b"x" * 5000)
        chat.saved.quota = useful + 5500
        read(chat, "b", PROMPT)
        assert chat.save(FAST)
        assert writing.exists()
        assert chat.saved.find("a", GUARD) is None  # no room for three
        assert chat.saved.used_bytes <= chat.saved.quota
        other.communicate(b"\n")
    chat.saved.set_quota(chat.saved.quota)
    assert not writing.exists()


def test_a_file_that_is_as_large_as_the_quota_is_not_forced_in(tmp_path):
    chat = chat_cache(tmp_path)
    left_behind(tmp_path, temporary_prefix() + "1.kv", 5000, age=0)
    chat.saved.quota = 5100
    read(chat, "b", PROMPT)
    with pytest.raises(Failure, match="exceeds the space"):
        chat.save(FAST)
    assert [path.name for path in tmp_path.iterdir()] == [temporary_prefix() + "1.kv"]


def test_an_engine_killed_while_it_writes(tmp_path):
    """A real process dies while it writes, and the next engine's load deletes what it left."""
    code = """
import os, sys
from pathlib import Path
from tests.engine.kv.test_saved import *
class Dying(FakeRuntime):
    def save(self, path, tokens):
        super().save(path, tokens)
        os._exit(9)
target = Dying()
list(prefill(target, PROMPT))
SavedChats(Path(sys.argv[1])).save("a", GUARD, target, PROMPT, 1.0)
"""
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)]).returncode == 9
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(TEMPORARY)
    assert SavedChats(tmp_path).used_bytes == left.stat().st_size > 0
    SavedChats(tmp_path).set_quota(None)
    assert list(tmp_path.iterdir()) == []


def test_deleting_a_chat_deletes_also_what_was_being_written_of_it(tmp_path):
    save(tmp_path, "a")
    digest = SavedChats(tmp_path)._path("b", GUARD.model, "").name
    for name in (f"{digest}.kv", f"{temporary_prefix()}{digest}.kv", f".{digest}.json.k2x_9"):
        left_behind(tmp_path, name, age=0)
    SavedChats(tmp_path).delete("b")
    assert len(list(tmp_path.iterdir())) == 2
    assert SavedChats(tmp_path).find("a", GUARD)


def test_a_nearly_full_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(saved, "SPARE_DISK", 1 << 60)
    with pytest.raises(Failure, match="disk is nearly full"):
        save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_on_a_full_disk_nothing_is_written_or_lost_and_it_is_tried_again_later(tmp_path, monkeypatch):
    save(tmp_path, "b", [3] * 300)
    chat = chat_cache(tmp_path)
    read(chat, "a", PROMPT)
    monkeypatch.setattr(chat.session.runtime, "save", None)  # is not called
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        "engine.kv.saved.shutil.disk_usage", lambda _folder: usage._replace(free=saved.SPARE_DISK - 10**6)
    )
    for _ in range(3):
        with pytest.raises(Failure, match="disk is nearly full"):
            chat.save(FAST)
        chat.retry_at = 0.0
    assert chat.saved.find("b", GUARD)
    monkeypatch.undo()
    assert chat.save(FAST)


def test_after_a_failed_write_the_chat_is_not_written_again_and_again(tmp_path, monkeypatch):
    chat = chat_cache(tmp_path)
    read(chat, "a", PROMPT)
    tries = []

    def fails(*_arguments):
        tries.append(1)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(chat.session.runtime, "save", fails)
    for _ in range(3):
        with pytest.raises(Failure, match="No space left on device"):
            chat.save(FAST)
    assert tries == [1]
    monkeypatch.undo()
    chat.retry_at = 0.0
    assert chat.save(FAST)


def test_chats_are_evicted_before_a_disk_is_filled(tmp_path, monkeypatch):
    save(tmp_path, "b", [3] * 300)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr("engine.kv.saved.shutil.disk_usage", lambda _folder: usage._replace(free=saved.SPARE_DISK))
    save(tmp_path)
    assert SavedChats(tmp_path).find("b", GUARD) is None
    assert SavedChats(tmp_path).find("a", GUARD)


@pytest.mark.skipif(os.name != "posix" or not Path("/proc/self").exists(), reason="needs a folder nobody can write to")
def test_a_folder_that_cannot_be_written():
    with pytest.raises(Failure, match="cannot be written"):
        save(Path("/proc/self/chats"))


def test_delete_and_clear(tmp_path):
    save(tmp_path, "a")
    save(tmp_path, "b")
    chats = SavedChats(tmp_path)
    chats.delete("a")
    assert chats.find("a", GUARD) is None
    assert chats.clear() > 0
    assert list(tmp_path.iterdir()) == []


def test_a_deleted_chat_is_not_saved_again(tmp_path):
    chat = chat_cache(tmp_path)
    read(chat, "a", PROMPT)
    chat.delete_chat("a")
    assert not chat.save(FAST)
    assert chat.session.tokens == []


@pytest.mark.parametrize(
    ("tokens", "size", "worth"),
    [(256, 10**9, True), (255, 10**9, False), (5_000, 10**9 + 1, False), (5_000, 1, True)],
)
def test_saving_pays_only_with_a_margin(tokens, size, worth):
    """Reading a gigabyte takes a second, a quarter of what reading the prompt again takes."""
    assert worth_saving(tokens, size, 4.0, 1e9) == worth


def test_worth_falls_with_age_and_size():
    record = Record(1, GUARD, [], 100, 10.0, saved_at=time.time())
    now = record.saved_at
    assert record.worth(now) > record.worth(now + saved.DAY) > record.worth(now + 9 * saved.DAY)
    assert record.worth(now) > replace(record, kv_bytes=200).worth(now)


def test_the_cache_command(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    assert main(["cache", "list"]) == 0
    assert "0 chats" in capsys.readouterr().out
    save(tmp_path / "chats")
    assert main(["cache", "list", "--json"]) == 0
    assert [chat["tokens"] for chat in json.loads(capsys.readouterr().out)["chats"]] == [len(PROMPT)]
    assert main(["cache", "list"]) == 0
    assert "1 chat," in capsys.readouterr().out
    assert main(["cache", "clear"]) == 0
    assert list((tmp_path / "chats").iterdir()) == []


def test_a_new_chat_begins_with_what_is_saved_of_its_beginning(tmp_path):
    save(tmp_path, "project", PROMPT)
    chat, longer = chat_cache(tmp_path), [*PROMPT, 1, 2, 3]
    chat.open_chat("new", longer, "project")
    assert list(chat.session.prefill(longer))[-1].reused == len(PROMPT)
    assert chat.save(FAST)  # under its own id: nothing of it was saved before
    again = chat_cache(tmp_path)
    assert read(again, "new", [*longer, 4]) == len(longer)
    assert read(chat_cache(tmp_path), "project", longer) == len(PROMPT)


def test_a_chat_with_a_beginning_comes_back_as_itself(tmp_path):
    longer = [*PROMPT, *[9] * 300]
    save(tmp_path, "project", PROMPT)
    save(tmp_path, "chat", longer)
    chat = chat_cache(tmp_path)
    chat.open_chat("chat", [*longer, 1], "project")
    assert chat.saved_tokens == len(longer)
    assert list(chat.session.prefill([*longer, 1]))[-1].reused == len(longer)


def test_a_beginning_is_saved_without_the_chat_that_was_in_the_cache(tmp_path):
    chat, secret = chat_cache(tmp_path), [9] * 300
    read(chat, "chat", [*PROMPT, *secret])
    chat.open_chat("project", PROMPT)
    assert not chat.session.holds([*PROMPT, 9])
    for _ in chat.session.prefill(PROMPT):
        pass
    assert chat.save(FAST)
    record = chat.saved.find("project", GUARD)
    assert record
    assert record.tokens == PROMPT
