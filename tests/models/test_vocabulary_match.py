"""Tests of which two model files can be target and drafter, on small files that hold only a vocabulary."""

from __future__ import annotations

import os
import time
from pathlib import Path

import gguf
import numpy as np
import pytest

from common.failures import Failure
from models.default import default_model
from models.header import read_header
from models.token_list import KINDS, PADDING, TEXTS, read_token_list
from models.vocabulary_match import check_same_vocabulary

WORDS = [f"word{i}" for i in range(300)]
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4


def write(path: Path, words=WORDS, kinds=None, tokenizer: str = "gpt2", **special: int) -> Path:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(tokenizer)
    writer.add_token_list(words)
    writer.add_token_types(kinds or [NORMAL] * len(words))
    for name, token in special.items():
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", token)
    writer.add_tensor("token_embd.weight", np.zeros((8, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return write(tmp_path / "target.gguf", bos=1, eos=2)


def check(target: Path, drafter: Path) -> int:
    return check_same_vocabulary(read_header(target), read_header(drafter))


def test_one_vocabulary_in_two_files(target, tmp_path):
    assert check(target, write(tmp_path / "draft.gguf", bos=1, eos=2)) == 300
    assert check(target, write(tmp_path / "draft.gguf")) == 300


@pytest.mark.parametrize("drafter_is_longer", [False, True])
def test_padding_at_the_end_makes_no_difference(target, tmp_path, drafter_is_longer):
    words, kinds = [*WORDS, "[PAD300]", "[PAD301]"], [NORMAL] * 300 + [PADDING] * 2
    padded = write(tmp_path / "padded.gguf", words, kinds)
    assert check(*((target, padded) if drafter_is_longer else (padded, target))) == 300


@pytest.mark.parametrize(
    ("words", "kinds", "shared"),
    [
        ([*WORDS, "<tool>"], [CONTROL], 300),
        ([*WORDS, "<think>", "</think>", "[PAD]"], [USER_DEFINED, USER_DEFINED, PADDING], 300),
        ([*WORDS, "<end>", "<tool>"], [CONTROL, CONTROL], 301),
        ([*WORDS, "<end>", "<other>", "<third>"], [CONTROL, CONTROL, CONTROL], 301),
    ],
)
def test_added_tokens_may_differ(tmp_path, words, kinds, shared):
    target = write(tmp_path / "t.gguf", [*WORDS, "<end>", "<mark>"], [NORMAL] * 300 + [CONTROL] * 2)
    drafter = write(tmp_path / "d.gguf", words, [NORMAL] * 300 + kinds)
    assert check(target, drafter) == check(drafter, target) == shared


OTHER_WORD = [*WORDS[:123], "wörd", *WORDS[124:]]
MORE = [*WORDS, "more"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"words": OTHER_WORD}, "token 123 is “wörd”, not “word123”"),
        ({"kinds": [NORMAL] * 7 + [CONTROL] + [NORMAL] * 292}, "token 7, “word7”, is of another kind"),
        ({"words": WORDS[:299]}, "token 299, “word299”, is missing"),
        ({"words": MORE}, "token 300, “more”, is added"),
        ({"tokenizer": "llama"}, "its kind is llama, not gpt2"),
        ({"eos": 3}, "the text's end is token 3, not 2"),
        ({"bos": 5}, "the text's beginning is token 5, not 1"),
    ],
)
def test_the_first_difference_is_named(target, tmp_path, changes, words):
    with pytest.raises(Failure, match="has a different vocabulary from") as caught:
        check(target, write(tmp_path / "draft.gguf", **changes))
    assert words in str(caught.value)
    assert caught.value.code == "other_vocabulary"


def test_the_same_file_is_refused_by_any_name(target, tmp_path):
    os.link(target, tmp_path / "linked.gguf")
    for name in ("target.gguf", "linked.gguf"):
        with pytest.raises(Failure, match="cannot draft for itself"):
            check(target, tmp_path / name)


def test_a_file_without_a_vocabulary_is_refused(target, tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "none.gguf", "llama")
    writer.add_tensor("token_embd.weight", np.zeros((8, 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(Failure, match="contains no vocabulary"):
        check(target, tmp_path / "none.gguf")


def test_a_file_that_changed_meanwhile_is_refused(target):
    header = read_header(target)
    target.write_bytes(target.read_bytes()[:200])
    with pytest.raises(Failure, match="cannot be read"):
        read_token_list(header)


def test_the_real_tokens_are_read_and_fast():
    header = read_header(default_model())
    started = time.process_time()
    tokens = read_token_list(header)
    seconds = time.process_time() - started
    assert (len(tokens.texts), len(tokens.kinds)) == (header.array_lengths[TEXTS], header.array_lengths[KINDS])
    assert tokens.texts[:3] == (b"<|endoftext|>", b"<|im_start|>", b"<|im_end|>")
    assert tokens.kinds[:3] == (CONTROL,) * 3
    assert len(set(tokens.texts)) == len(tokens.texts)
    assert seconds < 0.3 * len(tokens.texts) / 150_000
