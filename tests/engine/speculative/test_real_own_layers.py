"""A tiny model's own layers draft in the real engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import gguf
import pytest

from benchmarks.tiny_models import write_tiny_model
from benchmarks.tiny_shapes import OWN_LAYERS, SHAPES
from engine.engine import Engine
from engine.protocol.events import ModelInfo
from engine.protocol.requests import Load
from engine.runtime.llama.runtime import LlamaRuntime
from engine.speculative.policy import typical_draft
from tests.engine.asking import QUESTION, ask, assert_same_but_for_near_ties, emptied
from tests.engine.runtime.foretelling import write_foretelling
from tests.engine.speculative.test_draft_model import Dear
from tests.engine.speculative.test_own_layers import costs

LAYERS_OF = ("glm4moe-mtp", "qwen35-mtp")


def load(engine: Engine, path: Path) -> ModelInfo:
    return engine.load(Load(0, str(path), n_ctx=1024, threads=1, backend="llama")).model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module", params=LAYERS_OF)
def loaded(request, folder) -> Iterator[Engine]:
    with closing(Engine()) as engine:
        load(engine, write_foretelling(folder / f"{request.param}.gguf", request.param))
        model = engine._loaded()
        model.cost_measurements.cost_model = Dear()
        for _ in range(60):  # it is known that they pay
            model.sources.policy.acceptance.learn(typical_draft("mtp"), 0, True)
        yield engine


def test_the_model_is_said_to_draft_itself(loaded):
    info = loaded.status(0).model
    assert info.drafts_itself
    assert info.own_drafter is None
    assert info.plan["own_layers"] > 0 < info.plan["own_layers_cache"]


@pytest.mark.parametrize("mode", ["mtp", "auto"])
def test_answers_equal_plain_ones_and_take_fewer_steps(loaded, mode):
    engine = emptied(loaded)
    plain = ask(engine, QUESTION, draft="off", max_tokens=48)[1]
    engine.forget()
    drafted = ask(engine, QUESTION, draft=mode, max_tokens=48)[1]
    assert_same_but_for_near_ties(engine, [QUESTION], plain.tokens, drafted.tokens)
    by_name = {each.name: each for each in drafted.statistics.drafters}
    assert by_name["mtp"].accepted > 0
    assert drafted.statistics.steps < 0.7 * plain.statistics.steps


def test_the_layers_read_prompts_along_while_they_pay(loaded, monkeypatch):
    engine = emptied(loaded)
    target = engine._loaded().target
    assert isinstance(target, LlamaRuntime)
    layers = target._layers
    assert layers
    monkeypatch.setattr(engine._loaded().cost_measurements, "cost_model", costs(0.7))
    ask(engine, QUESTION, draft="mtp", max_tokens=2)
    along = [layers.reads_along]
    ask(engine, QUESTION, draft="history", max_tokens=2)
    along.append(layers.reads_along)
    for _ in range(200):
        engine._loaded().sources.policy.acceptance.learn(typical_draft("mtp"), 0, False)
    ask(engine, QUESTION, draft="mtp", max_tokens=2)
    assert [*along, layers.reads_along] == [True, False, False]


def without_layers(source: Path, path: Path) -> Path:
    """Copy a model without its last block's tensors, as many files leave them out."""
    reader = gguf.GGUFReader(source)
    writer = gguf.GGUFWriter(path, "glm4moe")
    for field in reader.fields.values():
        if not field.name.startswith(("GGUF.", gguf.Keys.General.ARCHITECTURE)):
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=field.types[-1])
    for tensor in reader.tensors:
        if not tensor.name.startswith("blk.3."):
            writer.add_tensor(tensor.name, tensor.data, raw_dtype=tensor.tensor_type)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_file_without_the_layers_says_so_and_drafts_from_the_chat(folder):
    whole = write_tiny_model(folder / "whole.gguf", OWN_LAYERS["glm4moe-mtp"])
    with closing(Engine()) as engine:
        info = load(engine, without_layers(whole, folder / "left-out.gguf"))
        assert not info.drafts_itself
        assert str(info.own_drafter) == (
            "The model was made with layers that draft its next tokens, but this file leaves them out: tokens are "
            "drafted from the chat."
        )
        engine._loaded().cost_measurements.cost_model = Dear()
        finished = ask(engine, QUESTION, draft="mtp", max_tokens=8)[1]
        assert {each.name for each in finished.statistics.drafters} <= {"history"}


def test_layers_that_do_not_load_are_left_out_with_a_sentence(folder, monkeypatch):
    from engine.runtime.llama import runtime

    monkeypatch.setattr(runtime, "open_layers", lambda *_: None)
    with closing(Engine()) as engine:
        info = load(engine, write_tiny_model(folder / "fails.gguf", OWN_LAYERS["glm4moe-mtp"]))
        assert not info.drafts_itself
        assert "could not be loaded" in str(info.own_drafter)
        assert ask(engine, QUESTION, draft="mtp", max_tokens=4)[1].statistics.decode_tokens


def test_most_models_say_nothing_of_such_layers(folder):
    with closing(Engine()) as engine:
        info = load(engine, write_tiny_model(folder / "plain.gguf", SHAPES["qwen3"]))
        assert not info.drafts_itself
        assert info.own_drafter is None
