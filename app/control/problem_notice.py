"""Tells what is wrong with the engine or the store in the window's notice, with the step that helps."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

from app.assistant.standing import Problem
from app.notice import Notice, Told
from app.words import Saying, mark, told, tr
from common.failures import Failure

log = logging.getLogger(__name__)
STEPS = {"restart": mark("Restart engine"), "choose": mark("Choose another model")}


class ProblemNotice:
    """`choose` asks for another model, `restart` starts the engine."""

    def __init__(self, notice: Notice, choose: Callable[[], None], restart: Callable[[], None]) -> None:
        self._notice = notice
        self._choose, self._restart = choose, restart
        self._problem: Problem | None = None
        self._told: Told | None = None

    def show(self, problem: Problem | None) -> None:
        """Tell the engine's problem once; its end takes the notice away."""
        if problem is self._problem:
            return
        self._problem = problem
        if problem is None:
            if self._told is not None:
                self._notice.dismiss(self._told)
            return
        work = self._choose if problem.step == "choose" else self._restart
        kind: Literal["problem", "note"] = "note" if problem.step == "none" else "problem"
        step: Saying = (lambda: tr(STEPS[problem.step])) if problem.step in STEPS else ""
        self._told = self._notice.tell(lambda: told(problem.sentence), step, work, kind, detail=problem.detail)

    def complain(self, failure: Failure) -> None:
        log.warning("%s (%s)", failure, failure.detail)
        self._notice.tell(lambda: told(str(failure)), kind="problem", detail=failure.detail)
