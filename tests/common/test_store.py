"""Tests that a stored value comes back unchanged or not at all, and that stores keep their limits."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from common.eviction import files_in
from common.files import TEMPORARY, temporary_prefix
from common.folders import CACHE_DIR_VARIABLE
from common.store import NAME, Store, digest


class Bird(msgspec.Struct, frozen=True):
    name: str
    grams: float
    rings: tuple[int, ...] = ()


class Song(msgspec.Struct, frozen=True):
    sound: bytes


BIRDS = Store("birds", 3, Bird)
SONGS = Store("songs", 1, Song, binary=True)
WREN = Bird("wren", 9.5, (1, 2))
BIRD = st.builds(
    Bird, st.text(st.characters(exclude_categories=["Cs"])), st.floats(allow_nan=False, allow_infinity=False),
    st.lists(st.integers(-(2**53), 2**53), max_size=5).map(tuple),
)  # fmt: skip
KEY = st.lists(st.one_of(st.integers(-99, 99), st.text(st.characters(exclude_categories=["Cs"]))), max_size=3)
USUAL = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_DIR_VARIABLE, str(tmp_path))
    return tmp_path


def names(kept: Store[Bird] | Store[Song]) -> set[str]:
    return set(os.listdir(kept.folder))


@USUAL
@given(bird=BIRD, key=KEY, sound=st.binary(max_size=3000))
def test_what_is_kept_comes_back(bird: Bird, key: list[object], sound: bytes) -> None:
    BIRDS.put(bird, *key)
    SONGS.put(Song(sound), *key)
    assert BIRDS.get(*key) == bird
    assert SONGS.get(*key) == Song(sound)
    assert BIRDS.get(*key, "and more") is None


def test_a_file_is_private_and_nothing_else_stays(cache: Path) -> None:
    BIRDS.put(Bird("tit", 18), "a")
    BIRDS.put(WREN, "a")
    assert names(BIRDS) == {f"{digest('a')}.v3"}
    assert BIRDS.get("a") == WREN
    assert NAME.fullmatch(BIRDS.path("a").name)
    if os.name == "posix":
        assert stat.S_IMODE(BIRDS.path("a").stat().st_mode) == 0o600
        assert stat.S_IMODE(BIRDS.folder.stat().st_mode) == 0o700


EDITS = st.lists(
    st.tuples(st.sampled_from(("flip", "cut", "insert", "drop", "repeat")), st.integers(0, 10**6), st.integers(1, 255)),
    min_size=1,
    max_size=4,
)


def edited(raw: bytes, edits: list[tuple[str, int, int]]) -> bytes:
    for what, place, value in edits:
        at = place % (len(raw) + 1)
        if what == "flip" and at < len(raw):
            raw = raw[:at] + bytes([raw[at] ^ value]) + raw[at + 1 :]
        elif what == "cut":
            raw = raw[:at]
        elif what == "insert":
            raw = raw[:at] + bytes([value]) + raw[at:]
        elif what == "drop":
            raw = raw[:at] + raw[at + value :]
        elif what == "repeat":
            raw = raw[:at] + raw[max(0, at - value) : at] + raw[at:]
    return raw


@USUAL
@given(bird=BIRD, edits=EDITS)
def test_damage_anywhere_means_absent_or_the_right_value(bird: Bird, edits: list[tuple[str, int, int]]) -> None:
    song = Song(bird.name.encode() * 3)
    for kept, value in ((BIRDS, bird), (SONGS, song)):
        kept.put(value, "a")  # type: ignore[arg-type]
        path = kept.path("a")
        path.write_bytes(edited(path.read_bytes(), edits))
        assert kept.get("a") in (None, value)
        kept.put(value, "a")  # type: ignore[arg-type]
        assert kept.get("a") == value


@USUAL
@given(raw=st.one_of(st.binary(max_size=300), st.text().map(lambda text: text.encode(errors="replace"))))
def test_whatever_lies_there_is_absent(raw: bytes) -> None:
    BIRDS.put(WREN, "a")
    BIRDS.path("a").write_bytes(raw)
    assert BIRDS.get("a") is None


@pytest.mark.parametrize("payload", [b"[" * 100_000, b"null", b'{"name": 1}', b'{"name": "\xff"}', b"1e999", b""])
def test_a_whole_file_of_another_kind_is_absent(payload: bytes) -> None:
    """A change of the kind whose author forgot to raise the version leaves such files."""
    Store("birds", 3, msgspec.Raw).put(msgspec.Raw(payload), "a")
    assert BIRDS.get("a") is None


def test_one_bird_is_not_taken_for_another(cache: Path) -> None:
    """A file may lie under another's name if it was copied by hand, or by a program that names files differently."""
    BIRDS.put(WREN, "a")
    BIRDS.path("b").write_bytes(BIRDS.path("a").read_bytes())
    assert BIRDS.get("b") is None
    tits = Store("tits", 3, Bird)
    tits.put(WREN, "a")
    BIRDS.path("a").write_bytes(tits.path("a").read_bytes())
    assert BIRDS.get("a") is None


@pytest.mark.parametrize("what", ["folder", "link", "pipe", "huge", "file"])
def test_what_is_no_file_of_ours_is_absent(what: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = BIRDS.path("a")
    path.parent.mkdir()
    if what == "folder":
        path.mkdir()
    elif what == "link":
        path.symlink_to(cache / "nothing")
    elif what == "pipe":
        if not hasattr(os, "mkfifo"):
            pytest.skip("there are no pipes of that kind")
        os.mkfifo(path)
    elif what == "huge":
        path.touch()
        os.truncate(path, 1 << 40)
    else:
        path.parent.rmdir()
        path.parent.write_text("a file where the folder should be")
    assert BIRDS.get("a") is None


@pytest.mark.parametrize(("reads", "writes"), [(3, 2), (3, 4)])
def test_another_versions_are_absent(reads: int, writes: int) -> None:
    Store("birds", writes, Bird).put(WREN, "a")
    assert Store("birds", reads, Bird).get("a") is None


def test_older_versions_go_and_newer_and_foreign_files_stay(cache: Path) -> None:
    BIRDS.folder.mkdir()
    older = [f"{digest('x')}.v2", f"{digest('y')}.json", f"{digest('z')}.npz", digest("w")]
    others = [f"{digest('x')}.v4", "notes.json", "a.v1", "my drafts.txt"]
    for name in older + others:
        (BIRDS.folder / name).write_text("something")
    (BIRDS.folder / "a folder").mkdir()
    (cache / "birds.json").write_text("{}")
    BIRDS.put(WREN, "a")
    assert (cache / "birds.json").exists()
    assert names(BIRDS) == {BIRDS.path("a").name, "a folder", *others}
    Store("birds", 3, Bird, former=("birds.json",)).put(WREN, "a")
    assert not (cache / "birds.json").exists()
    SONGS.folder.mkdir()
    (SONGS.folder / digest("x")).touch()  # from before versions, which began with 1
    SONGS.put(Song(b""), "a")
    assert names(SONGS) == {SONGS.path("a").name}


def test_what_a_killed_writer_left_goes_and_what_one_is_writing_stays(cache: Path) -> None:
    BIRDS.folder.mkdir()
    gone = [BIRDS.folder / f"{TEMPORARY}{name}" for name in ("old", "99999999-dead")]
    kept = [BIRDS.folder / name for name in (f"{TEMPORARY}new", temporary_prefix() + "alive")]
    for path in (*gone, *kept):
        path.write_bytes(b"half of")
    os.utime(gone[0], (1e9, 1e9))
    BIRDS.put(WREN, "a")
    assert names(BIRDS) == {BIRDS.path("a").name, *(path.name for path in kept)}


def test_the_oldest_go_first(cache: Path) -> None:
    """The newest stays even where a clock that was wrong has dated all others later."""
    few = Store("few", 1, Bird, most_entries=3)
    for age, key in enumerate("abcde"):
        few.put(WREN, key)
        os.utime(few.path(key), (4e9 + age, 4e9 + age))
    few.put(WREN, "a")
    (few.folder / "not ours").write_text("neither counted nor deleted")
    os.utime(few.folder / "not ours", (1, 1))
    few.put(WREN, "a")
    assert [key for key in "abcde" if few.get(key)] == ["a", "d", "e"]


@USUAL
@given(sizes=st.lists(st.integers(0, 900), min_size=1, max_size=20), most=st.integers(1, 5))
def test_the_limits_hold_and_the_newest_stays(sizes: list[int], most: int) -> None:
    few = Store("few", 1, Song, binary=True, most_entries=most, most_bytes=1500)
    for number, size in enumerate(sizes):
        few.put(Song(bytes(size)), number)
        assert few.get(number) == Song(bytes(size))
        files = list(few.folder.iterdir())
        assert len(files) <= most
        assert sum(path.stat().st_size for path in files) <= 1500


def test_what_is_too_large_alone_is_refused_and_others_stay() -> None:
    few = Store("few", 1, Song, binary=True, most_bytes=1500)
    few.put(Song(b"tweet"), "a")
    with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        few.put(Song(bytes(1500)), "b")
    assert few.get("a")
    assert few.get("b") is None
    size = few.path("a").stat().st_size
    exact = replace(few, most_bytes=size)
    exact.put(Song(b"tweet"), "a")
    assert exact.get("a") == Song(b"tweet")
    with pytest.raises(OSError, match=os.strerror(errno.EFBIG)):
        replace(few, most_bytes=size - 1).put(Song(b"tweet"), "a")
    assert replace(few, most_bytes=size - 1).get("a") is None


def test_a_full_disk_leaves_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    BIRDS.put(WREN, "a")

    def full(_handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        BIRDS.put(Bird("tit", 18), "a")
    assert BIRDS.get("a") == WREN
    assert names(BIRDS) == {BIRDS.path("a").name}


WRITER = """
import sys
from tests.common.test_store import Song, Store
store = Store("shared", 1, Song, binary=True, most_entries=3)
for turn in range(15):
    for key in "abcde":
        store.put(Song(sys.argv[1].encode() * 20_000), key)
        found = store.get(key)
        assert found is None or found.sound in (b"x" * 20_000, b"y" * 20_000), "a mixture"
"""


def writers() -> Iterator[subprocess.Popen[bytes]]:
    for letter in "xy":
        yield subprocess.Popen([sys.executable, "-W", "error", "-c", WRITER, letter], stderr=subprocess.PIPE)


def test_two_processes_write_at_once(cache: Path) -> None:
    """Each process finds what it or the other wrote, whole or (if evicted meanwhile) not at all."""
    processes = list(writers())
    said = [process.communicate()[1] for process in processes]
    assert [(process.returncode, words) for process, words in zip(processes, said, strict=True)] == [(0, b"")] * 2
    kept = Store("shared", 1, Song, binary=True, most_entries=3)
    kept.put(Song(b"z"), "z")
    assert len(list(kept.folder.iterdir())) == 3
    assert kept.get("z") == Song(b"z")


def test_an_eviction_under_way_elsewhere_is_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    few = Store("few", 1, Bird, most_entries=1)
    few.put(WREN, "a")
    real = files_in

    def vanishing(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
        for path, status in real(folder):
            if path != few.path("b"):
                path.unlink()
            yield path, status

    monkeypatch.setattr("common.store.files_in", vanishing)
    few.put(WREN, "b")
    assert few.get("b") == WREN


@pytest.mark.parametrize(
    "options",
    [{"name": "../birds"}, {"name": ""}, {"version": 0}, {"most_entries": 0}, {"most_bytes": 0}],
)
def test_a_store_that_makes_no_sense(options: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"folder|positive"):
        Store(**{"name": "birds", "version": 1, "kind": Bird, **options})  # type: ignore[arg-type]
