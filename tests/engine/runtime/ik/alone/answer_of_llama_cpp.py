"""ik_llama.cpp's logits along an answer that llama.cpp gave.

Not collected by its name: `test_alone` writes that answer first and then runs this file.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from engine.runtime.interface import prefill

NEAR_TIE = 1e-2  # share of a row's spread


def test_greedy_is_the_same_but_for_near_ties(whole):
    prompt, answer = json.loads(Path(os.environ["LLAMA_CPP_ANSWER"]).read_text())
    opened = whole._loaded().target
    *_, logits = prefill(opened, prompt)
    other_choices = 0
    for token in answer:
        row = logits.row()
        assert row.max() - row[token] < NEAR_TIE * (row.max() - row.min())
        other_choices += row.argmax() != token
        logits = opened.forward([token])
    assert other_choices <= len(answer) // 10
