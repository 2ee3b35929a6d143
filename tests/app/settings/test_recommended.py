"""What a model's makers recommend holds where the user has set nothing, and only for this model."""

from __future__ import annotations

from pathlib import Path

from app.settings.settings import Settings
from engine.protocol.requests import Sampling

QWEN = Path("models/unsloth/Qwen3.5-4B-GGUF/Qwen3.5-4B-Q4_K_M.gguf")
PHI = Path("models/any/Phi-4-mini-instruct-Q4_K_M.gguf")


def test_the_catalogues_sampling_and_stops_are_the_models_defaults(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.toml")
    sampling = settings.options(QWEN).generate.sampling
    assert (sampling.temperature, sampling.top_k, sampling.presence_penalty) == (0.7, 20, 1.5)
    assert sampling.repeat_penalty == 1.0  # the presence penalty stands for it
    assert settings.options(PHI).generate.stop == ("<|end|>",)
    assert settings.options(Path("wren.gguf")).generate.sampling == Sampling()
    assert settings.options(Path("wren.gguf")).generate.stop == ()
    assert settings.values["answer.temperature"] == Sampling().temperature  # the global value is untouched


def test_thoughts_have_settings_of_their_own(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.toml")
    generate = settings.options(QWEN).generate
    assert [generate.sampling_for(thinks).temperature for thinks in (False, True)] == [0.7, 1.0]
    assert settings.options(QWEN, {"answer.thinking": "on"}).generate.sampling_for(thinks=False).temperature == 1.0
    assert settings.options(QWEN, {"answer.thinking": "off"}).generate.sampling_for(thinks=True).temperature == 0.7


def test_what_the_user_has_set_counts_even_if_it_is_the_default(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.toml")
    settings.change({"answer.temperature": Sampling().temperature})
    assert settings.options(QWEN).generate.sampling.temperature == Sampling().temperature
    assert settings.options(QWEN, {"answer.temperature": 0.1}).generate.sampling.temperature == 0.1
    settings.reset(["answer.temperature"])
    assert settings.options(QWEN).generate.sampling.temperature == 0.7


def test_a_chat_shows_what_it_inherits(tmp_path: Path) -> None:
    settings = Settings(tmp_path / "settings.toml")
    assert settings.inherited(QWEN)["answer.temperature"] == 0.7
    assert settings.inherited(QWEN, thinks=True)["answer.temperature"] == 1.0
    assert settings.inherited(QWEN, {"answer.thinking": "on"})["answer.temperature"] == 1.0
    settings.change({"answer.temperature": 0.3})
    assert settings.inherited(QWEN, {"answer.temperature": 0.1})["answer.temperature"] == 0.3
