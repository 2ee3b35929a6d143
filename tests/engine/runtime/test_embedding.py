"""Vectors of texts: of the loaded chat model, beside its chat, and of an embedding model's file."""

from __future__ import annotations

import io
from pathlib import Path

import gguf
import numpy as np
import pytest

from common.failures import Failure
from engine.loading import embedder
from engine.machine import Memory
from engine.protocol.events import Embedded, Failed
from engine.protocol.lines import decode_event
from engine.protocol.requests import Embed, Load
from engine.runtime.capi import embedding
from engine.serve.server import EngineServer
from engine.stop import Stopped
from tests.engine.asking import QUESTION, ask
from tests.engine.conftest import write_gguf

WIDTH, LAYERS, HEADS, N_CTX = 32, 2, 4, 64
WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁a", "▁small", "▁bird", "▁sings", "▁fish", "▁.")


def write_bert(path: Path, pooling: int) -> Path:
    """Write a tiny embedding model with random weights, in BERT's architecture."""
    random = np.random.default_rng(5)
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_context_length(N_CTX)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(HEADS)
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_uint32("bert.pooling_type", pooling)
    writer.add_tokenizer_model("bert")
    writer.add_token_list(list(WORDS))
    writer.add_token_types([3] * 4 + [1] * (len(WORDS) - 4))
    writer.add_token_type_count(2)
    for name, token in (("pad", 0), ("unknown", 1), ("cls", 2), ("seperator", 3), ("bos", 2), ("eos", 3)):
        writer.add_uint32(f"tokenizer.ggml.{name}_token_id", token)

    def add(name: str, *shape: int, norm: bool = False) -> None:
        values = np.ones(shape) if norm else random.normal(0, 0.3, shape)
        writer.add_tensor(f"{name}.weight", values.astype(np.float32))
        if len(shape) == 1 or name.startswith("blk"):
            writer.add_tensor(f"{name}.bias", np.zeros(shape[0], np.float32))

    for name, rows in (("token_embd", len(WORDS)), ("position_embd", N_CTX), ("token_types", 2)):
        add(name, rows, WIDTH)
    add("token_embd_norm", WIDTH, norm=True)
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{name}", WIDTH, WIDTH)
        add(f"blk.{layer}.ffn_up", 2 * WIDTH, WIDTH)
        add(f"blk.{layer}.ffn_down", WIDTH, 2 * WIDTH)
        for name in ("attn_output_norm", "layer_output_norm"):
            add(f"blk.{layer}.{name}", WIDTH, norm=True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def vectors(engine, *texts: str, model: str = "") -> list[np.ndarray]:
    embedded = engine.embed(Embed(1, texts, model))
    assert len(embedded.vectors) == len(embedded.tokens) == len(texts)
    found = [np.frombuffer(vector, "<f4") for vector in embedded.vectors]
    assert np.allclose([np.linalg.norm(vector) for vector in found], 1, atol=1e-5)
    return found


def test_alike_texts_have_alike_vectors(whole):
    bird, alike, other = vectors(whole, "A small bird sings.", "A little bird sings.", "Stocks fell on Monday.")
    assert bird @ alike > bird @ other
    assert np.allclose(vectors(whole, "A small bird sings.")[0], bird, atol=1e-4)


def test_a_long_text_is_read_in_several_passes_with_the_same_result(engine, monkeypatch):
    text = "A bird that sings in a tree. " * 20
    found = vectors(engine, text)[0]
    monkeypatch.setattr(embedding, "PASS", 300)
    assert found @ vectors(engine, text)[0] > 0.9999


def test_the_chat_is_not_disturbed_and_nothing_is_held_afterwards(engine, monkeypatch):
    freed: list[bool] = []
    close = embedding.Embedder.close

    def close_and_note(embedder: embedding.Embedder) -> None:
        close(embedder)
        freed.append(embedder._context is None)

    monkeypatch.setattr(embedding.Embedder, "close", close_and_note)
    _, first = ask(engine, QUESTION, max_tokens=6)
    vectors(engine, "A bird.", "A fish. " * 30)
    assert freed[-1]
    _, again = ask(engine, QUESTION, max_tokens=6)
    assert again.tokens == first.tokens
    assert again.statistics.reused_tokens > 0


@pytest.mark.parametrize("pooling", [1, 2, 0], ids=["mean", "first token", "none"])
def test_an_embedding_model_makes_vectors_beside_the_chat_model(engine, tmp_path, pooling):
    file = str(write_bert(tmp_path / "tiny-embedder.gguf", pooling))
    bird, again, fish = vectors(engine, "a small bird sings", "a small bird sings", "a fish .", model=file)
    assert len(bird) == WIDTH
    assert np.allclose(bird, again)
    assert bird @ fish < 0.999
    assert engine.embed(Embed(1, ("a bird",), file)).tokens == (4,)  # with the tokens around it


def test_an_embedding_model_is_still_no_chat_model(engine, tmp_path):
    file = write_bert(tmp_path / "tiny-embedder.gguf", 1)
    with pytest.raises(Failure, match="is an embedding model"):
        engine.load(Load(1, str(file)))
    assert engine.status(1).model


def test_what_cannot_be_embedded_is_explained(engine, tmp_path):
    file = str(write_bert(tmp_path / "tiny-embedder.gguf", 1))
    ranking = str(write_bert(tmp_path / "ranker.gguf", 4))
    damaged = str(write_gguf(tmp_path / "damaged.gguf", "bert", bert__attention__causal=False))
    with pytest.raises(Failure, match="102 tokens, the context holds 64"):
        engine.embed(Embed(1, ("a " * 100,), file))
    with pytest.raises(Failure, match="is not an embedding model"):
        engine.embed(Embed(1, ("a",), ranking))
    for path in (damaged, str(tmp_path / "nothing.gguf")):
        with pytest.raises(Failure):
            engine.embed(Embed(1, ("a",), path))
    if not engine._loaded().template.vocabulary.adds_bos:
        with pytest.raises(Failure, match="a text is empty"):
            engine.embed(Embed(1, ("",)))


def test_a_text_for_which_the_memory_has_no_room_is_refused(engine, monkeypatch):
    """The loaded model reads texts in a second context, which the plan of the first one knows nothing of."""
    plan = engine._loaded().plan.memory
    needed = plan.parts["kv"] * 600 // plan.n_ctx + plan.parts["compute"]
    monkeypatch.setattr(embedder, "memory", lambda: Memory(needed, needed))
    with pytest.raises(Failure, match="not enough free memory for a text of") as failure:
        engine.embed(Embed(1, ("a", "a " * 1_000)))
    assert failure.value.code == "out_of_memory"
    assert vectors(engine, "a " * 500)


def test_embedding_is_stopped(engine):
    engine.stop.set()
    with pytest.raises(Stopped):
        engine.embed(Embed(1, ("A bird.",)))
    engine.stop.clear()


def test_vectors_come_as_bytes(engine):
    output = io.BytesIO()
    server = EngineServer(engine, io.BytesIO(), output)
    for request in (Embed(1, ("A bird.", "A fish.")), Embed(2, ("A bird.",), "/no/such/file.gguf")):
        server._run_job(request)
    embedded, failed = map(decode_event, output.getvalue().splitlines())
    assert isinstance(embedded, Embedded)
    assert [len(vector) for vector in embedded.vectors] == [4 * 576] * 2
    assert isinstance(failed, Failed)
