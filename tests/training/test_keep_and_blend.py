"""Tests of trainings that learn from a teacher, keep answers to other chats, or are blended with the first weights."""

from __future__ import annotations

import dataclasses
import itertools
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: training is optional")

from models.default import default_model  # noqa: E402
from tests.training.tiny_training import EXAMPLES, OPTIONS, tiny_decoder, tiny_training  # noqa: E402
from training import midlayer  # noqa: E402
from training.judgement import Judgement  # noqa: E402
from training.log import read_log  # noqa: E402
from training.loop import Step, Training  # noqa: E402
from training.weights import read_weights  # noqa: E402


def test_only_a_model_of_the_same_build_can_teach(path, tmp_path, capsys):
    said = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    (tmp_path / "chats.jsonl").write_text(f"{json.dumps({'messages': said})}\n")
    files = ["--model", str(default_model()), "--teacher", str(path), "--out", str(tmp_path / "o.gguf")]
    assert midlayer.main([*files, "--layer", "5", "--data", str(tmp_path / "chats.jsonl")]) == 1
    assert "tiny.gguf cannot teach" in capsys.readouterr().err


def test_drift_is_from_the_teacher(path):
    trained_before = tiny_training(path, OPTIONS)
    list(trained_before.run())
    far, same = (
        next(Training(tiny_decoder(path), teacher, EXAMPLES, OPTIONS, held_out=EXAMPLES[:2]).judged())
        for teacher in (trained_before.model, tiny_decoder(path))
    )
    assert isinstance(far, Judgement)
    assert isinstance(same, Judgement)
    assert same.drift == pytest.approx(0, abs=1e-5)
    assert (far.drift or 0) > 0.01


def test_kept_chats_are_said_as_before(path):
    """Chats of the same tokens are learned meanwhile."""
    options = dataclasses.replace(OPTIONS, steps=40, judged_every=40)
    drifts = []
    for kept in ((), EXAMPLES[4:]):
        training = Training(
            tiny_decoder(path),
            tiny_decoder(path),
            EXAMPLES[:4],
            options,
            EXAMPLES[:1],
            kept=kept,
            kept_held_out=EXAMPLES[4:],
        )
        seen = list(training.run())
        drifts.append(seen[-1].kept or 0.0)
        assert all((step.kept is not None) == bool(kept) for step in seen if isinstance(step, Step))
    assert 0 < drifts[1] < 0.3 * drifts[0]


def test_a_stopped_training_that_keeps_goes_on_as_if_it_had_not_been(path, tmp_path):
    whole, first, second = (
        Training(tiny_decoder(path), tiny_decoder(path), EXAMPLES[:4], OPTIONS, kept=EXAMPLES[4:]) for _ in range(3)
    )
    list(whole.run())
    list(itertools.islice(first.run(), 3))
    first.save(tmp_path / "checkpoint")
    second.resume(tmp_path / "checkpoint")
    list(second.run())
    for name, array in whole.model.arrays().items():
        assert np.allclose(second.model.arrays()[name], array, atol=1e-6)


def test_a_blended_result_lies_between_before_and_after(path):
    options = dataclasses.replace(OPTIONS, blend=0.25)
    before, training = read_weights(path), tiny_training(path, options)
    list(training.run())
    after = {name: array.copy() for name, array in training.model.arrays().items()}
    training.blend(before)
    for name, array in training.model.arrays().items():
        assert np.allclose(array, 0.75 * before[name] + 0.25 * after[name], atol=1e-6)
    assert any(not np.allclose(after[name], before[name], atol=1e-4) for name in after)


def test_the_end_says_what_a_blend_is_like(tmp_path, capsys):
    lines = [
        {"messages": [{"role": "user", "content": f"Say {i}"}, {"role": "assistant", "content": f"It is {i}."}]}
        for i in range(20)
    ]
    (tmp_path / "chats.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    files = [
        "--model",
        str(default_model()),
        "--out",
        str(tmp_path / "o.gguf"),
        "--data",
        str(tmp_path / "chats.jsonl"),
    ]
    options = ["--steps", "1", "--batch-tokens", "64", "--threads", "2", "--freeze-upper", "--blend", "0.5"]
    assert midlayer.main([*files, "--layer", "5", *options, "--held-out", "2"]) == 0
    judged = [each for each in read_log(tmp_path / "o.gguf.log.jsonl") if each["kind"] == "judgement"]
    assert [each.get("blend") for each in judged] == [None, None, 0.5]
    assert "0.5 of the way" in capsys.readouterr().err
