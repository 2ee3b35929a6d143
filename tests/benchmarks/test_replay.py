"""Recorded answers replayed at the costs of other machines."""

from __future__ import annotations

from benchmarks.replay import all_tables, oracle, rows, simulated_costs
from benchmarks.trace import Trace
from engine.speculative.draft import Draft


def test_more_threads_make_passes_of_several_tokens_cheaper_until_memory_limits_them():
    tables = simulated_costs()
    for kind in ("ik-avx2", "ik-avx512_vnni", "llama-avx2", "llama-avx512_vnni"):
        eight = [tables[f"{kind}-{threads}"][8] for threads in (1, 2, 4, 8, 16)]
        assert eight == sorted(eight, reverse=True)
        assert eight[0] > eight[-1] >= 1
    assert {"laptop", "ik-avx2-4"} <= set(all_tables())


def test_the_policy_takes_a_right_draft_and_the_oracle_leaves_a_wrong_one() -> None:
    trace = Trace("any", False, [0], [1, 2, 3, 4, 5, 6], ended=False)
    right = Draft((2, 3), "history", (), (0.99, 0.99))
    wrong = Draft((9,), "history", (), (0.99,))
    drafts = [[right], [], [], [wrong], [], []]
    cost = {1: 1.0, 2: 1.25, 3: 1.5}
    assert oracle(trace, drafts, cost.__getitem__) == 1.5 + 1 + 1
    one, every = rows([(trace, drafts)], cost.__getitem__)
    assert (one.plain, one.auto, one.drafted, one.accepted) == (5, 1.5 + 1.25 + 1, 3, 2)
    assert (every.category, every.auto, every.worst) == ("all", one.auto, 5 / 3.75)
