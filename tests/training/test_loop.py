"""Tests that train a tiny model, where PyTorch is installed."""

from __future__ import annotations

import dataclasses
import itertools
import json
from contextlib import closing
from typing import Any

import gguf
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: training is optional")

from common.failures import Failure  # noqa: E402
from engine.protocol.requests import Message  # noqa: E402
from engine.runtime.contexts import ContextOptions  # noqa: E402
from engine.runtime.graph.model import GraphModel  # noqa: E402
from engine.runtime.graph.runtime import GraphRuntime  # noqa: E402
from engine.runtime.llama.runtime import Model, quantise  # noqa: E402
from engine.speculative.mid_layer import trained_exits  # noqa: E402
from engine.stop import StopFlag  # noqa: E402
from engine.tokenization.template import ChatTemplate  # noqa: E402
from models.default import default_model  # noqa: E402
from models.header import read_header  # noqa: E402
from tests.engine.runtime.graph.test_model import QKV  # noqa: E402
from tests.engine.runtime.graph.tiny import VOCABULARY, write_tiny  # noqa: E402
from tests.training.tiny_training import EXAMPLES, OPTIONS, tiny_decoder, tiny_training  # noqa: E402
from training import midlayer  # noqa: E402
from training.batches import batch_of  # noqa: E402
from training.chat_lines import ChatLine, read_chats  # noqa: E402
from training.data import Example, examples  # noqa: E402
from training.judgement import Judgement  # noqa: E402
from training.log import read_log  # noqa: E402
from training.loop import Training, rate_at  # noqa: E402
from training.memory import refuse_if_too_large  # noqa: E402
from training.options import Options  # noqa: E402
from training.weights import QUANTISED, file_type, read_weights, stored_types, write_weights  # noqa: E402

TOKENS = [i * 7 % VOCABULARY for i in range(60)]
F32 = gguf.GGMLQuantizationType.F32
SHAPES: dict[str, dict[str, Any]] = {
    "llama": {"architecture": "llama"},
    "llama 3": {"architecture": "llama", "factors": True, "metadata": {"llama.rope.freq_base": 500_000.0}},
    "one key for all": {"architecture": "llama", "kv_heads": 1, "head": 64},
    "qwen2": {"architecture": "qwen2", "biases": QKV, "tied": True, "metadata": {"qwen2.rope.freq_base": 1e6}},
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_forward_pass_is_the_engines(tmp_path, name):
    path = write_tiny(tmp_path / "tiny.gguf", layers=3, type=F32, **SHAPES[name])
    with torch.no_grad():
        middle, last = (rows.numpy() for rows in tiny_decoder(path)(torch.tensor([TOKENS]), 2, torch.arange(50, 60)))
    with closing(GraphModel(path)) as model:
        target = GraphRuntime(model, ContextOptions(n_ctx=256, threads=1), StopFlag())
        with closing(target):
            seen = [target.look_ahead([token], 2).row().copy() for token in TOKENS][-10:]
            logits = target.forward(TOKENS, 10)
            for i in range(10):
                assert np.abs(logits.row(i) - last[i]).max() < 2e-2  # the engine stores keys and values in F16
                assert np.abs(seen[i] - middle[i]).max() < 2e-2


def test_a_file_comes_back_as_it_was(path, tmp_path):
    weights = read_weights(path)
    write_weights(tmp_path / "again.gguf", path, weights, 2)
    again, before, after = (
        read_weights(tmp_path / "again.gguf"),
        read_header(path),
        read_header(tmp_path / "again.gguf"),
    )
    assert all((again[name] == weights[name]).all() for name in weights)
    assert trained_exits(after) == (2,)
    assert {k: v for k, v in after.metadata.items() if k in before.metadata} == before.metadata
    assert [(t.name, t.shape) for t in after.tensors] == [(t.name, t.shape) for t in before.tensors]
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_the_default_model_comes_back_quantised(tmp_path):
    """Vocabulary and template come back too, as llama.cpp reads them."""
    path, plain, small = default_model(), tmp_path / "plain.gguf", tmp_path / "small.gguf"
    write_weights(plain, path, read_weights(path), 20)
    quantise(plain, small, file_type(path), 2)
    before, after = read_header(path), read_header(small)
    assert trained_exits(after) == (20,)
    assert after.array_lengths == before.array_lengths
    assert {t.name: t.type for t in after.tensors} == {t.name: t.type for t in before.tensors}
    assert after.metadata["tokenizer.chat_template"] == before.metadata["tokenizer.chat_template"]
    with closing(GraphModel(path)) as a, closing(GraphModel(small)) as b:
        answers: list[list[int]] = []
        for model in (a, b):
            target = GraphRuntime(model, ContextOptions(n_ctx=256, threads=2), StopFlag())
            with closing(target):
                logits = target.forward(model.vocabulary.tokenize("The capital of France is", special=False))
                answers.append([])
                while len(answers[-1]) < 32:
                    answers[-1].append(int(logits.row().argmax()))
                    logits = target.forward(answers[-1][-1:])
        assert answers[0] == answers[1]


@pytest.mark.parametrize("name", QUANTISED)
def test_files_are_quantised_as_was_foretold(path, tmp_path, name):
    number, kinds = stored_types(read_header(path), name)
    quantise(path, tmp_path / "small.gguf", number, 1)
    assert {t.name: t.type for t in read_header(tmp_path / "small.gguf").tensors} == kinds


@pytest.mark.parametrize("more", [{}, {"freeze_upper": True}, {"bf16": True}])
def test_both_losses_fall(path, more):
    options = dataclasses.replace(OPTIONS, steps=40, **more)
    training = tiny_training(path, options)
    before = training.model.arrays()["blk.3.ffn_up.weight"].copy()
    steps: list[Any] = list(training.run())
    assert steps[-1].middle < steps[0].middle
    assert steps[-1].last < steps[0].last
    assert steps[-1].agreement > steps[0].agreement
    unchanged = (training.model.arrays()["blk.3.ffn_up.weight"] == before).all()
    assert unchanged == options.freeze_upper


@pytest.mark.parametrize("more", [{}, {"bf16": True}, {"rounded": 1.0}])
def test_a_model_that_teaches_itself_stays_what_it_was(path, more):
    """The middle layer learns the last layer's predictions, and the last layer changes little."""
    kinds = dict.fromkeys(read_weights(path), int(gguf.GGMLQuantizationType.Q8_0)) if "rounded" in more else {}
    options = dataclasses.replace(OPTIONS, steps=40, self_distil=True, **more)
    steps: list[Any] = list(tiny_training(path, options, kinds=kinds).run())
    assert steps[-1].middle < steps[0].middle
    assert steps[-1].agreement > steps[0].agreement
    assert steps[0].drift == pytest.approx(0, abs=1e-2)
    assert 0 < steps[-1].drift < steps[0].middle - steps[-1].middle
    unled = list(
        tiny_training(path, dataclasses.replace(options, self_distil=False), kinds=kinds, held_out=EXAMPLES).run()
    )
    assert unled[-1].drift > 5 * steps[-1].drift


def test_first_the_layer_learns_alone(path):
    """Afterwards the layers above it learn too, while the head stays frozen."""
    options = dataclasses.replace(
        OPTIONS, steps=60, middle_first=30, self_distil=True, freeze_head=True, rows=0.5, rate=3e-3, judged_every=15
    )
    training = tiny_training(path, options, held_out=EXAMPLES)
    before = {name: array.copy() for name, array in training.model.arrays().items()}
    changed: list[set[str]] = []
    judged: list[Any] = []
    for seen in training.run():
        assert f"{seen.agreement:.1%}" in midlayer.described(seen, 60)
        if isinstance(seen, Judgement):
            judged.append(seen)
            changed.append({name for name, array in training.model.arrays().items() if (array != before[name]).any()})
    lower = {name for name in before if name.startswith(("blk.0.", "blk.1."))}
    alone, all_ = lower | {"token_embd.weight"}, {name for name in before if not name.startswith("output")}
    assert changed == [set(), alone, alone, all_, all_]
    assert judged[2].agreement > judged[0].agreement
    assert [each.drift is None for each in judged] == [False, True, True, False, False]
    assert judged[4].drift < judged[3].drift
    assert midlayer.described(judged[2], 60).endswith("what the last layer said before")


def test_each_step_draws_its_own_rows():
    batch, dice = batch_of(EXAMPLES), np.random.default_rng(0)
    some = [batch.sample_rows(0.25, dice) for _ in range(2)]
    assert [len(each.rows) for each in some] == [50, 50]
    assert (batch.wanted[some[0].chosen] == some[0].wanted).all()
    assert (batch.rows[some[0].chosen] == some[0].rows).all()
    assert some[0].rows.tolist() != some[1].rows.tolist()


def test_held_out_chats_judge_before_now_and_then_and_afterwards(path):
    options = dataclasses.replace(OPTIONS, steps=5, judged_every=2)
    seen = list(tiny_training(path, options, held_out=EXAMPLES[:2]).run())
    judged: list[Any] = [each for each in seen if isinstance(each, Judgement)]
    assert [each.number for each in judged] == [0, 2, 4, 5]
    assert judged[0].drift == pytest.approx(0, abs=1e-6)
    assert judged[-1].drift > 0
    assert judged[-1].perplexity < judged[0].perplexity


def test_chats_side_by_side_are_what_they_are_alone(path):
    model, long, short = tiny_decoder(path), EXAMPLES[0], Example(EXAMPLES[1].tokens[:12], 4)
    with torch.no_grad():
        both = batch_of([long, short])
        alone = [model(each.tokens, 2, each.rows)[1] for each in (batch_of([long]), batch_of([short]))]
        assert torch.allclose(model(both.tokens, 2, both.rows)[1], torch.cat(alone), atol=1e-5)


def test_a_training_may_go_on_otherwise_and_end_sooner_than_was_planned(path, tmp_path):
    first = tiny_training(path, OPTIONS)
    list(itertools.islice(first.run(), 3))
    first.save(tmp_path / "checkpoint")
    second = tiny_training(path, dataclasses.replace(OPTIONS, steps=4, rate=1e-4, middle_weight=0.5))
    second.resume(tmp_path / "checkpoint")
    assert [step.number for step in second.run()] == [4]


def test_a_stopped_training_goes_on_as_if_it_had_not_been(path, tmp_path):
    whole = tiny_training(path, OPTIONS)
    list(whole.run())
    first = tiny_training(path, OPTIONS)
    list(itertools.islice(first.run(), 3))
    first.save(tmp_path / "checkpoint")
    second = tiny_training(path, OPTIONS)
    second.resume(tmp_path / "checkpoint")
    assert [step.number for step in second.run()] == [4, 5, 6]
    for name, array in whole.model.arrays().items():
        assert np.allclose(second.model.arrays()[name], array, atol=1e-6)


def test_chats_may_be_added_to_a_training_that_was_stopped(path, tmp_path):
    tiny_training(path, OPTIONS).save(tmp_path / "checkpoint")
    more = Training(tiny_decoder(path), tiny_decoder(path), [*EXAMPLES, *EXAMPLES], OPTIONS)
    more.resume(tmp_path / "checkpoint")
    fewer = Training(tiny_decoder(path), tiny_decoder(path), EXAMPLES[1:], OPTIONS)
    with pytest.raises(Failure, match="more chats"):
        fewer.resume(tmp_path / "checkpoint")


def test_checkpoints_of_other_trainings(path, tmp_path):
    tiny_training(path, OPTIONS).save(tmp_path / "checkpoint")
    other = tiny_training(path, dataclasses.replace(OPTIONS, seed=1))
    with pytest.raises(Failure, match="other options"):
        other.resume(tmp_path / "checkpoint")
    (tmp_path / "checkpoint").write_bytes(b"PK\x03\x04 no")
    with pytest.raises(Failure, match="Delete it"):
        other.resume(tmp_path / "checkpoint")


def test_the_rate_rises_and_falls():
    options = Options(1, steps=100, warm_up=0.1)
    rates = [rate_at(i, options) for i in range(100)]
    assert rates[0] == pytest.approx(0.1)
    assert rates[9:11] == [1.0, 1.0]
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[-1] < 0.001
    options = Options(1, steps=100, warm_up=0.1, middle_first=50, self_distil=True)
    assert [rate_at(i, options) for i in range(50)] == [rate_at(i, options) for i in range(50, 100)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no", "Line 2 of .* is no chat"),
        ('{"messages": [{"role": "user", "content": "a"}]}', "Line 2 .* does not end with an answer"),
        ('{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": " "}]}', "Line 2"),
    ],
)
def test_lines_that_are_no_chats(tmp_path, line, message):
    good = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
    (tmp_path / "chats.jsonl").write_text(f"{json.dumps(good)}\n{line}\n")
    with pytest.raises(Failure, match=message):
        read_chats(tmp_path / "chats.jsonl")


def test_the_end_of_an_answer_that_was_cut_is_not_learned():
    header = read_header(default_model())
    messages = Message("user", "a"), Message("assistant", "b c")
    with closing(Model(default_model(), dry=True)) as model:
        template = ChatTemplate(model.template, model.vocabulary)
        chats = ChatLine(messages), ChatLine(messages, whole=False)
        ended, cut = (each.tokens for each in examples(chats, template, header, 512))
        assert model.vocabulary.is_end(ended[-1])
        assert cut == ended[:-1]


def test_the_whole_way(tmp_path, capsys):
    """One step trains the default model on its own answer, and the engine can draft with the result."""
    out = tmp_path / "out.gguf"
    options = ["--steps", "1", "--answers", "1", "--most-tokens", "64", "--threads", "2", "--freeze-upper"]
    assert midlayer.main(["--model", str(default_model()), "--layer", "20", "--out", str(out), *options]) == 0
    assert [each["kind"] for each in read_log(tmp_path / "out.gguf.log.jsonl")] == ["began", "step"]
    assert trained_exits(read_header(out)) == (20,)
    assert file_type(out) == file_type(default_model())
    assert "step 1/1" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir() if "checkpoint" in each.name or each.name.startswith(".")] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--layer", "30"], "1 to 29 of them can draft, not 30"),
        (["--layer", "0"], "layer must be 1 or more"),
        (["--layer", "5", "--rate", "7"], "learning rate"),
        (["--layer", "5", "--held-out", "-1"], "held out"),
        (["--layer", "5", "--middle-weight", "0"], "up to 100 times, not 0"),
        (["--layer", "5", "--middle-first", "9"], "only with self-distillation"),
        (["--layer", "5", "--rows", "0"], "between 0 and 1, not 0"),
        (["--layer", "5", "--rounded", "2"], "between 0 and 1, not 2"),
        (["--layer", "5", "--data", "/nowhere.jsonl"], "cannot be read"),
        (["--layer", "5", "--blend", "0"], "up to 1 of the way, not 0"),
        (["--layer", "5", "--keep"], "name others to --keep"),
    ],
)
def test_what_cannot_be_done_is_said(tmp_path, capsys, options, message):
    assert midlayer.main(["--model", str(default_model()), "--out", str(tmp_path / "o.gguf"), *options]) == 1
    assert message in capsys.readouterr().err


def test_more_memory_than_there_is():
    with pytest.raises(Failure, match="--freeze-upper"):
        refuse_if_too_large(1 << 60)
