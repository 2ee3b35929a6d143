"""The best exit layer, measured on the real default model, and what the engine does with the result."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks import midlayer
from benchmarks.exit_search import candidate_exits
from benchmarks.midlayer import exit_questions
from common.failures import Failure
from engine.costs.cost_model import LAPTOP, Timings
from engine.engine import Engine
from engine.loading.options import LoadOptions
from engine.loading.resolve import LoadPlan, resolve
from engine.protocol.requests import Load
from engine.speculative.mid_layer import EXIT_LAYER_KEY, Exits, Gain
from engine.stop import StopFlag, Stopped
from models.header import read_header
from tests.engine.asking import QUESTION, ask
from tests.engine.shallow import shallow_model

TIMINGS = Timings({16: dict(LAPTOP)}, 0.0, 512, 40.0)


@pytest.fixture(scope="module")
def measured() -> Exits:
    return midlayer.measure(plan(), TIMINGS, [], 64, StopFlag())


def plan() -> LoadPlan:
    return resolve(LoadOptions(shallow_model(), backend="graph", threads=1))


def test_higher_layers_agree_more_often(measured):
    first, *_, last = measured.found
    assert (first.layers, last.layers) == (2, 7)
    assert 64 <= measured.tokens < 64 + 64
    assert 0 <= first.agreement < last.agreement < 1
    assert all(each.look > 0 for each in measured.found)
    assert all(
        isinstance(gain, Gain) and gain.speedup > 0 for each in measured.found for gain in (each.here, each.laptop)
    )


def test_an_untrained_model_is_left_alone(measured, capsys):
    assert not measured.pays
    assert f"none. The best, {measured.best.layers} layers, would run at 0." in midlayer.table(measured)
    assert midlayer.report(measured)["chosen"] is None


def test_the_command_keeps_it_and_the_engine_knows_it(measured, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(midlayer, "timings", lambda *_: TIMINGS)
    monkeypatch.setattr(midlayer, "measure", lambda *_: measured)
    assert midlayer.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out)["best"] == measured.best.layers
    engine = Engine()
    engine.load(Load(0, str(shallow_model()), n_ctx=512, threads=1, backend="graph"))
    try:
        middle = engine._loaded().sources.exits
        assert (middle.best, middle.pays) == (measured.best.layers, False)
        assert middle.paying_drafters() == ()
        middle.pays = True
        assert [drafter.exit.layers for drafter in middle.paying_drafters()] == [measured.best.layers]
        numbers = ask(engine, QUESTION, max_tokens=12, draft="midlayer-published")[1].statistics
        assert [each.name for each in numbers.drafters] == ["midlayer-published"]
    finally:
        engine.close()


@pytest.mark.slow
def test_chats_of_a_file_are_answered_instead_of_our_questions(measured, tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text(f"{line('Count from 1 to 40.')}\n{line('word ' * 3000)}\n")  # the second one is too long
    other = midlayer.measure(plan(), TIMINGS, midlayer.read_questions(path), 64, StopFlag())
    assert [each.agreement for each in other.found] != [each.agreement for each in measured.found]


def test_chats_of_a_file_that_leave_no_room_are_refused(tmp_path):
    path = tmp_path / "chats.jsonl"
    path.write_text(f"{line('word ' * 3000)}\n")
    with pytest.raises(Failure, match="None of these chats leaves room"):
        midlayer.measure(plan(), TIMINGS, midlayer.read_questions(path), 64, StopFlag())


def line(question: str) -> str:
    answer = {"role": "assistant", "content": "1"}
    return json.dumps({"messages": [{"role": "user", "content": question}, answer]})


def test_stopped():
    stop = StopFlag()
    stop.set()
    with pytest.raises(Stopped):
        midlayer.measure(plan(), TIMINGS, [], 64, stop)


def test_too_few_tokens_are_refused(capsys):
    with pytest.raises(SystemExit):
        midlayer.main(["--tokens", "10"])
    assert "fewer than 64" in capsys.readouterr().err


def test_questions_are_short_and_different():
    questions = exit_questions()
    assert len(questions) == len(set(questions)) >= 60
    assert all(0 < len(question) < 120 for question in questions)


def test_the_model_of_the_measurement_is_the_file(measured):
    header = read_header(shallow_model())
    assert measured.key.build.startswith("chickadee-graph")
    assert len(candidate_exits(8)) == len(measured.found)
    assert np.isfinite([each.look for each in measured.found]).all()
    assert header.metadata.get(EXIT_LAYER_KEY) is None
