"""Tests of a training's log, and of the picture drawn from it."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from common.failures import Failure
from training import plot
from training.log import Log, read_log


def write_log(path, steps, done=0):
    log = Log(path, done)
    log.add("began", {"number": done, "layer": 15})
    for number in range(done, steps + 1):
        if number > done:
            log.add("step", {"number": number, "agreement": number / 100, "drift": 0.0123456789, "last": 1.0})
        if number % 5 == 0:
            log.add("judgement", {"number": number, "agreement": 0.5, "perplexity": 8.0, "drift": 0.01})
    return path


def test_a_log_goes_on_where_the_checkpoint_was(tmp_path):
    path = write_log(tmp_path / "log.jsonl", 8)
    write_log(path, 10, done=6)
    entries = read_log(path)
    assert [each["number"] for each in entries if each["kind"] == "step"] == list(range(1, 11))
    assert [each["number"] for each in entries if each["kind"] == "began"] == [0, 6]
    assert entries[2]["drift"] == 0.012346


def test_a_new_training_has_a_new_log(tmp_path):
    path = write_log(write_log(tmp_path / "log.jsonl", 8), 2)
    assert [each["number"] for each in read_log(path) if each["kind"] == "step"] == [1, 2]


def test_a_last_line_that_was_cut(tmp_path):
    path = write_log(tmp_path / "log.jsonl", 2)
    with path.open("a") as file:
        file.write('{"kind": "st')
    assert len(read_log(path)) == 4


@pytest.mark.parametrize("content", ["[1]\n", "no\n{}\n"])
def test_files_that_are_no_logs(tmp_path, capsys, content):
    (tmp_path / "log.jsonl").write_text(content)
    with pytest.raises(Failure, match=r"Line 1 of log.jsonl is of no training's log"):
        read_log(tmp_path / "log.jsonl")
    assert plot.main([str(tmp_path / "log.jsonl"), str(tmp_path / "out.svg")]) == 1
    assert "no training's log" in capsys.readouterr().err


def test_a_log_becomes_a_picture(tmp_path):
    out = tmp_path / "out.svg"
    assert plot.main([str(write_log(tmp_path / "log.jsonl", 12)), str(out)]) == 0
    words = "".join(ElementTree.parse(out).getroot().itertext())
    assert "layer 15" in words
    assert "perplexity" in words
    lines = [each for each in ElementTree.parse(out).getroot() if each.tag.endswith("polyline")]
    assert len(lines[0].attrib["points"].split()) == 12
    assert len(lines[1].attrib["points"].split()) == 3


def test_kept_chats_have_a_diagram_of_their_own(tmp_path):
    log = Log(tmp_path / "log.jsonl", 0)
    for number in range(1, 4):
        log.add("step", {"number": number, "agreement": 0.1, "kept": 0.01 * number})
    titles = [each.title for each in plot.diagrams(read_log(tmp_path / "log.jsonl"))]
    assert sum("kept chats" in title for title in titles) == 1
    assert not any("kept" in each.title for each in plot.diagrams(read_log(write_log(tmp_path / "other.jsonl", 3))))


def test_nothing_to_draw_yet(tmp_path, capsys):
    (tmp_path / "log.jsonl").write_text(json.dumps({"kind": "began", "number": 0, "layer": 3}))
    assert plot.main([str(tmp_path / "log.jsonl"), str(tmp_path / "out.svg")]) == 1
    assert "no steps" in capsys.readouterr().err


def test_a_mean_of_the_last_steps():
    assert plot.smooth([(1, 2.0), (2, 4.0)]) == [(1, 2.0), (2, 3.0)]


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 0.37), (5.16, 5.61), (0, 400), (-3, 1e-3), (1e6, 2e6)])
def test_round_numbers_beside_the_lines(low, high):
    rungs = plot.ladder(low, high)
    assert 2 <= len(rungs) <= 8
    assert rungs[0] <= low
    assert rungs[-1] >= high
    assert all(float(f"{rung:.2g}") == pytest.approx(rung) for rung in rungs if high < 1000)
