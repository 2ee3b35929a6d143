"""Tests that each model's file has one title."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.catalogue import catalogue
from models.default import default_model
from models.ollama import MODEL
from models.titles import title_from_name, title_of


def test_the_default_model_and_the_suggested_ones_have_their_makers_names() -> None:
    assert title_of(default_model()) == "SmolLM2 135M Instruct"
    for entry in catalogue():
        assert title_of(Path("/models") / entry.file) == entry.title
    assert title_of(Path("QWEN2.5-CODER-0.5B-INSTRUCT-Q4_K_M.GGUF")) == "Qwen2.5 Coder 0.5B Instruct"


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("mistral-7b-instruct-v0.2.Q4_K_M.gguf", "mistral 7b instruct v0.2 Q4_K_M"),
        ("Meta-Llama-3.1-8B-Instruct-IQ4_XS.gguf", "Meta Llama 3.1 8B Instruct IQ4_XS"),
        ("gemma_2_2b_it.q8_0.GGUF", "gemma 2 2b it Q8_0"),
        ("Llama-3.1.f16.gguf", "Llama 3.1 F16"),
        ("Bonsai-8B-q1_0.gguf", "Bonsai 8B Q1_0"),
        ("bitnet-2b-tq2_0.gguf", "bitnet 2b TQ2_0"),
        ("big-Q6_K-00001-of-00003.gguf", "big Q6_K"),
        ("qwen2.5-7b-q4_my_own.gguf", "qwen2.5 7b Q4 my own"),
        ("my bird.gguf", "my bird"),
        ("小鸟-1.gguf", "小鸟 1"),
        ("fq4_kb.gguf", "fq4 kb"),
        ("-.gguf", "-"),
        (".gguf", ".gguf"),
        ("no ending", "no ending"),
    ],
)
def test_other_files_are_called_by_the_words_of_their_name(name: str, title: str) -> None:
    assert title_from_name(name) == title


def test_ollamas_files_are_called_as_it_calls_them(tmp_path: Path) -> None:
    digest = "a" * 64
    manifest = tmp_path / "manifests" / "registry.ollama.ai" / "library" / "qwen2.5" / "1.5b"
    manifest.parent.mkdir(parents=True)
    manifest.write_text(json.dumps({"layers": [{"mediaType": MODEL, "digest": f"sha256:{digest}"}]}))
    assert title_of(tmp_path / "blobs" / f"sha256-{digest}") == "qwen2.5:1.5b"
    assert title_of(tmp_path / "blobs" / "sha256-bb") == "sha256 bb"
