"""Deep work: it ends with a result, an exception or a sentence, and never takes the program with it."""

from __future__ import annotations

import threading

import pytest

from common.failures import Failure
from engine.generation import deep
from engine.generation.constraint import GrammarCompiler
from engine.generation.deep import DeepThread
from engine.generation.gbnf import GrammarError, convert_gbnf
from engine.stop import Stopped
from tests.engine.fake_runtime import FakeVocabulary


def never() -> bool:
    return False


def chain(length: int, group: str = "{}") -> str:
    """Return a grammar whose rules lead from one to the next."""
    rules = [f"r{i} ::= " + group.format(f"r{i + 1}") for i in range(length)]
    return "\n".join(["root ::= r0", *rules, f'r{length} ::= "x"'])


@pytest.mark.parametrize("grammar", [chain(3000), chain(9000), chain(900, "(" * 10 + "{}" + ")" * 10)])
def test_a_long_chain_of_rules_is_compiled(grammar: str) -> None:
    compiler = GrammarCompiler(FakeVocabulary())
    matcher = DeepThread().run(lambda: compiler.matcher(convert_gbnf(grammar)), never)
    assert matcher.advance_text("x")


def test_more_rules_and_groups_are_refused() -> None:
    with pytest.raises(GrammarError, match="10,000 rules and groups"):
        convert_gbnf(chain(6000, "({})"))


def test_a_result_and_an_exception_are_handed_on() -> None:
    thread = DeepThread()
    assert thread.run(lambda: 7, never) == 7
    with pytest.raises(ZeroDivisionError):
        thread.run(lambda: 1 // 0, never)
    assert threading.stack_size() == 0


def test_work_that_takes_too_long_is_left_and_no_other_begins_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep, "LONGEST_SECONDS", 0.1)
    thread, goes_on = DeepThread(), threading.Event()
    with pytest.raises(Failure, match="takes more than"):
        thread.run(goes_on.wait, never)
    with pytest.raises(Failure, match="still being prepared"):
        thread.run(lambda: 7, never)
    goes_on.set()
    for left in threading.enumerate():
        if left.name == "deep":
            left.join()
    assert thread.run(lambda: 7, never) == 7


def test_a_stop_ends_the_wait() -> None:
    thread, goes_on = DeepThread(), threading.Event()
    with pytest.raises(Stopped):
        thread.run(goes_on.wait, lambda: True)
    goes_on.set()
