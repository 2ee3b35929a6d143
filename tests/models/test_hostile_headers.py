"""Tests that every hostile header ends in facts or a sentence, with bounded reading and memory."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from common import files
from common.failures import Failure
from engine.__main__ import main as engine_main
from models.__main__ import main as models_main
from models.collection import describe_model
from models.fact_cache import FactCache
from models.facts import facts_of
from models.header import MAX_KEPT, read_header
from models.identity import file_identity
from models.split import other_parts
from models.token_list import TEXTS, read_token_list
from tests.models.make_gguf import make_gguf

U8, U32, F32, STRING, ARRAY, U64 = 0, 4, 6, 8, 9, 10
HUGE = 1 << 40  # bytes of a file with a hole


def text(value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def entry(key: str, type_id: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", type_id) + value


def array(type_id: int, length: int, values: bytes = b"") -> bytes:
    return struct.pack("<IQ", type_id, length) + values


def tensor(name: str = "a", shape: tuple[int, ...] = (32,), type_id: int = 0, offset: int = 0) -> bytes:
    return text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, type_id, offset)


def write(
    path: Path, entries: list[bytes], tensors: Sequence[bytes] = (), data: int = 0, size: int = 0, alignment: int = 32
) -> Path:
    """Write a GGUF file of these parts with `data` bytes of weights, or with a hole up to `size` bytes."""
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(entries)) + b"".join(entries) + b"".join(tensors)
    head += bytes(-len(head) % alignment)
    path.write_bytes(head + bytes(data))
    if size:
        os.truncate(path, size)
    return path


@pytest.fixture
def read_sizes(monkeypatch) -> list[int]:
    """Return a list that collects the number of bytes of each read of a model file."""
    counted: list[int] = []
    read = files.read_up_to

    def counting(file, count):
        counted.append(count)
        return read(file, count)

    for module in ("common.files", "models.header", "models.token_list", "models.identity"):
        monkeypatch.setattr(f"{module}.read_up_to", counting)
    return counted


ARCHITECTURE = entry("general.architecture", STRING, text("llama"))
TOO_LARGE = {
    "empty strings": [entry("x", ARRAY, array(STRING, 1 << 36))],
    "numbers": [entry("x", ARRAY, array(F32, 1 << 36))],
    "bytes": [entry("x", ARRAY, array(U8, 1 << 39))],
    "a text": [entry("general.name", STRING, struct.pack("<Q", 1 << 39))],
    "a template": [entry("tokenizer.chat_template", STRING, struct.pack("<Q", 64 << 20))],
    "a text nobody reads": [entry("tokenizer.huggingface.json", STRING, struct.pack("<Q", 1 << 39))],
    "a token": [entry("x", ARRAY, array(STRING, 1, struct.pack("<Q", 1 << 39)))],
    "a key": [struct.pack("<Q", 1 << 30)],
    "many texts": [entry(f"x{i}", STRING, text(b"a" * (1 << 20))) for i in range(9)],
    "many short lists": [entry(f"x{i}", ARRAY, array(U8, 4096, bytes(4096))) for i in range(2100)],
}


@pytest.mark.parametrize("what", TOO_LARGE)
def test_no_more_is_read_than_a_model_has(what, tmp_path, read_sizes):
    path = write(tmp_path / "x.gguf", [ARCHITECTURE, *TOO_LARGE[what]], size=HUGE)
    with pytest.raises(Failure, match=r"x\.gguf .*(larger than any model's|damaged)") as raised:
        read_header(path)
    assert raised.value.code == "bad_model"
    assert sum(read_sizes) <= 2 * MAX_KEPT


@pytest.mark.parametrize(("tensors", "keys"), [(1 << 60, 0), (0, 1 << 60), (1 << 30, 0), (0, 1 << 30), (100_000, 0)])
def test_counts_are_limited(tensors, keys, tmp_path, read_sizes):
    path = tmp_path / "x.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, tensors, keys))
    os.truncate(path, HUGE)
    with pytest.raises(Failure, match=r"larger than any model's|damaged"):
        read_header(path)
    assert sum(read_sizes) < 2 << 20


BROKEN_TENSORS = {
    "no weights": [tensor(shape=(0,))],
    "no rows": [tensor(shape=(32, 0))],
    "a product beyond 64 bits": [tensor(shape=(1 << 40, 1 << 40, 1 << 40, 1 << 40))],
    "a dimension below zero": [tensor(shape=((1 << 64) - 32,))],
    "five dimensions": [tensor(shape=(1, 1, 1, 1, 1))],
    "two of a name": [tensor(), tensor(offset=128)],
    "on each other": [tensor("a"), tensor("b")],
    "between the alignment": [tensor(offset=4)],
    "half a block": [tensor(shape=(31,), type_id=8)],
    "a long name": [tensor("a" * 64)],
    "a sum beyond 64 bits": [tensor(f"{i}", (1 << 62,), 9999, 32 * i) for i in range(3)],
    "an end beyond 64 bits": [tensor(offset=(1 << 63) - 32)],
}


@pytest.mark.parametrize("what", BROKEN_TENSORS)
def test_tensors_that_llama_cpp_refuses_or_aborts_on(what, tmp_path):
    path = write(tmp_path / "x.gguf", [ARCHITECTURE], BROKEN_TENSORS[what], size=HUGE)
    with pytest.raises(Failure, match=r"damaged|larger than any model's"):
        read_header(path)


def test_a_file_is_whole_only_with_the_last_byte_of_its_last_tensor(tmp_path):
    tensors = [tensor("a", (32,)), tensor("b", (32, 3), 8, 128)]  # 128 bytes of F32, 102 of Q8_0
    whole = write(tmp_path / "x.gguf", [ARCHITECTURE], tensors, data=128 + 102)
    assert read_header(whole).parameters == 32 + 96
    os.truncate(whole, whole.stat().st_size - 1)
    with pytest.raises(Failure, match="incomplete: part of the model is missing"):
        read_header(whole)


@pytest.mark.parametrize("kind", [0, 8, 99])  # the last is unknown
def test_a_file_that_goes_on_behind_its_last_tensor_is_refused(kind, tmp_path):
    """Loading would fill the memory with those bytes, and a sparse file of a TiB takes no room on the disk."""
    path = write(tmp_path / "x.gguf", [ARCHITECTURE], [tensor("a", (32,), kind)], data=1 << 20)
    assert read_header(path).parameters == 32
    os.truncate(path, 1 << 40)
    with pytest.raises(Failure, match="damaged: the file continues after the end"):
        read_header(path)


@pytest.mark.parametrize("value", [0, 1, 4, 7, 24, 1 << 17, 1 << 31])
def test_alignments_that_no_library_loads(value, tmp_path):
    path = write(tmp_path / "x.gguf", [entry("general.alignment", U32, struct.pack("<I", value))], [tensor()], data=128)
    with pytest.raises(Failure, match="damaged"):
        read_header(path)


def test_an_alignment_is_of_32_bits(tmp_path):
    path = write(tmp_path / "x.gguf", [entry("general.alignment", U64, struct.pack("<Q", 32))], [tensor()], data=128)
    with pytest.raises(Failure, match="damaged"):
        read_header(path)


@pytest.mark.parametrize("value", [8, 16, 64, 4096])
def test_alignments_that_are_allowed(value, tmp_path):
    entries = [entry("general.alignment", U32, struct.pack("<I", value))]
    header = read_header(write(tmp_path / "x.gguf", entries, [tensor()], data=128, alignment=value))
    assert header.data_offset % value == 0
    assert header.data_offset + 128 == header.file_bytes


@pytest.mark.parametrize(
    "entries",
    [
        [ARCHITECTURE, ARCHITECTURE],
        [ARCHITECTURE, entry("general.architecture", ARRAY, array(U8, 1, b"a"))],
        [entry("", STRING, text("a"))],
        [entry("x", ARRAY, array(ARRAY, 1, array(U8, 1, b"a")))],
        [entry("x", 13, b"")],
    ],
    ids=["twice", "twice in another way", "no name", "a list in a list", "an unknown type"],
)
def test_entries_against_the_format(entries, tmp_path):
    with pytest.raises(Failure, match="damaged"):
        read_header(write(tmp_path / "x.gguf", entries, data=1000))


def test_a_long_text_that_nobody_reads_is_passed_over(tmp_path):
    entries = [entry("tokenizer.huggingface.json", STRING, text(b"{" * (3 << 20))), ARCHITECTURE]
    header = read_header(write(tmp_path / "x.gguf", entries))
    assert header.architecture == "llama"
    assert header.metadata["tokenizer.huggingface.json"] == ""


def test_a_vocabulary_is_read_again_no_further_than_the_header(tmp_path, read_sizes):
    path = write(tmp_path / "x.gguf", [entry(TEXTS, ARRAY, array(STRING, 2, text("a") + text("b")))], size=HUGE)
    header = read_header(path)
    read_sizes.clear()
    assert read_token_list(header).texts == (b"a", b"b")
    assert file_identity(path, header.data_offset)
    assert facts_of([header]).tokens == 2
    assert max(read_sizes) == header.data_offset < 200


def test_a_file_that_is_gone_since_its_header_was_read_is_a_sentence(tmp_path):
    path = write(tmp_path / "x.gguf", [ARCHITECTURE])
    header = read_header(path)
    path.unlink()
    for read in (lambda: file_identity(path, header.data_offset), lambda: read_token_list(header)):
        with pytest.raises(Failure):
            read()


def test_a_file_cut_short_while_it_is_read_ends_nothing(tmp_path, monkeypatch):
    """If the file were mapped, the process would end."""
    tokens = b"".join(text("token") for _ in range(300_000))
    path = write(tmp_path / "x.gguf", [entry(TEXTS, ARRAY, array(STRING, 300_000, tokens))])
    read = files.read_up_to

    def cutting(file, count):
        data = read(file, count)
        os.truncate(path, 4096)
        return data

    monkeypatch.setattr("models.header.read_up_to", cutting)
    with pytest.raises(Failure, match="damaged"):
        read_header(path)


def other_things(folder: Path) -> dict[str, Path]:
    """Make things that have a name but are no files; opening some of them would wait for ever."""
    os.mkfifo(folder / "pipe.gguf")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket.gguf"))
    (folder / "folder.gguf").mkdir()
    (folder / "circle.gguf").symlink_to(folder / "circle.gguf")
    (folder / "file").touch()
    found = {name: folder / f"{name}.gguf" for name in ("pipe", "socket", "folder", "circle")}
    return found | {
        "device": Path("/dev/zero"),
        "below a file": folder / "file" / "x.gguf",
        "a zero byte": folder / "a\0b.gguf",
        "a long name": folder / ("a" * 300 + ".gguf"),
        "a long path": folder / ("a/" * 50_000) / "x.gguf",
        "half a letter": Path(f"{folder}/\ud800.gguf"),
        "nothing": folder / "nothing.gguf",
    }


SENTENCES = {
    "pipe": "is not a file",
    "socket": "is not a file",
    "device": "is not a file",
    "folder": "is a folder",
    "circle": "cannot be read: Too many levels of symbolic links",
}


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes of that kind")
def test_what_is_no_file_is_a_sentence_and_never_waited_for(tmp_path):
    for name, path in other_things(tmp_path).items():
        with pytest.raises(Failure, match=SENTENCES.get(name, "There is no file")) as raised:
            read_header(path)
        assert len(str(raised.value)) < 600
        assert describe_model(path).facts is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes of that kind")
def test_a_pipe_in_the_place_of_a_part_is_refused_before_a_library_opens_it(tmp_path):
    parts = [make_gguf(tmp_path / f"x-0000{n}-of-00003.gguf", split__count=3, split__no=n - 1) for n in (1, 2, 3)]
    first = read_header(parts[0])
    assert [part.path for part in other_parts(first)] == parts[1:]
    with pytest.raises(Failure, match=r"not the model's first file. Choose x-00001-of-00003\.gguf"):
        other_parts(read_header(parts[1]))
    parts[2].unlink()
    os.mkfifo(parts[2])
    with pytest.raises(Failure, match="is not a file"):
        other_parts(first)
    parts[0].rename(tmp_path / "x.gguf")
    with pytest.raises(Failure, match="one of 3 files of a model"):
        other_parts(read_header(tmp_path / "x.gguf"))


def test_the_parts_together_are_no_larger_than_a_model(tmp_path, monkeypatch):
    tensors = [tensor(f"{i}", (1,), 9999, 32 * i) for i in range(40)]
    paths = [tmp_path / f"x-0000{n}-of-00002.gguf" for n in (1, 2)]
    for path in paths:
        write(path, [ARCHITECTURE], tensors, data=32 * 40)
    assert describe_model(paths[0]).facts
    monkeypatch.setattr("models.split.MAX_TENSORS", 79)
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path / "cache"))  # facts are not known before
    assert "larger than any model's" in str(describe_model(paths[0], FactCache()).problem)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes of that kind")
@pytest.mark.parametrize(
    ("main", "arguments"),
    [
        (engine_main, ["plan"]),
        (engine_main, ["plan", "--draft-model"]),
        (engine_main, ["chat", "--prompt", "x", "--model"]),
        (engine_main, ["calibrate", "--model"]),
        (engine_main, ["phrases", "--model"]),
        (models_main, ["add"]),
        (models_main, ["info"]),
    ],
)
def test_commands_say_that_a_pipe_is_no_file(main, arguments, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe.gguf")
    assert main([*arguments, str(tmp_path / "pipe.gguf")]) == 2
    assert capsys.readouterr().err.startswith("chickadee: ")


def test_a_name_that_no_file_can_have_is_a_sentence(own_data, capsys):
    for main, command in ((models_main, "info"), (models_main, "add"), (models_main, "remove"), (engine_main, "plan")):
        for name in ("a" * 100_000, "~nobody/x.gguf", "file:///%00.gguf"):
            assert main([command, name]) == 2
            assert len(capsys.readouterr().err) < 600
