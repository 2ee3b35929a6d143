"""The plan of a model that sees: its projector's memory, and what a picture takes of the context."""

from __future__ import annotations

import os
from pathlib import Path

from engine.loading.options import LoadOptions
from engine.loading.resolve import resolve
from engine.protocol.requests import Load
from tests.engine.runtime.vision_models import write_projector
from tests.engine.shallow import shallow_model


def test_the_plan_lists_the_projector_and_a_pictures_tokens(tmp_path: Path) -> None:
    os.link(shallow_model(), tmp_path / "model.gguf")
    without = resolve(LoadOptions.of(Load(1, str(tmp_path / "model.gguf"), backend="llama"))).memory
    projector = write_projector(tmp_path / "mmproj.gguf", "qwen2vl_merger")
    plan = resolve(LoadOptions.of(Load(1, str(tmp_path / "model.gguf"), backend="llama")))
    assert plan.projector
    assert plan.memory.parts["projector"] == projector.stat().st_size
    assert plan.memory.total_bytes == without.total_bytes + plan.projector.memory_bytes
    sentence = " ".join(map(str, plan.memory.reasons))
    tokens = (1024 // 32) * (768 // 32)  # two patches of 16 pixels become one token
    assert f"about {tokens} tokens of the context" in sentence
