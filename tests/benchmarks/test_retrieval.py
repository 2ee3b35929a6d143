"""What collections find: hardly anything is lost by the floor that has them say that they say nothing."""

from __future__ import annotations

import contextlib
from pathlib import Path

from benchmarks.retrieval import Documents, measure, questions, share_without, unanswered


def test_unrelated_questions_find_nothing_and_others_lose_nothing(tmp_path: Path) -> None:
    with contextlib.closing(Documents(tmp_path)) as documents:
        asked = questions()
        missed = measure(documents, asked)
        nothing = share_without(documents, unanswered())
    assert nothing["found"] >= 0.9
    assert len(missed["found"]) - len(missed["fused"]) <= 0.01 * len(asked)
