"""The model of a start: the one that was used last, or the next best one with a sentence that says why.

A start tries each model once: the recent ones, then the built-in one. While a model is being loaded it is marked in the
store, so that a start that crashed with it (the engine, the program or the computer) is not followed by another such
start.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from app.notice import NoticeArea
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState, Problem
from app.store.chat_store import ChatStore
from app.words import UiText, mark, tr, worded
from common.failures import Failure
from common.files import is_file
from common.paths import printable
from models.default import built_in_model
from models.servers import remote_model
from models.titles import title_of

log = logging.getLogger(__name__)
TOPIC = "first model"  # of the notice about the model that was not loaded
MOST_RECENT = 3  # recent models that a start tries: each failure takes seconds
Reason = Literal["gone", "memory", "crashed", "crashed before", "other"]
SENTENCES: dict[Reason, str] = {
    "gone": mark("{model} is no longer in {folder}, so {other} is used."),
    "memory": mark("{model} does not fit into memory now, so {other} is used."),
    "crashed": mark("The engine stopped while loading {model}, so {other} is used."),
    "crashed before": mark("Chickadee ended unexpectedly while loading {model} last time, so {other} is used."),
    "other": mark("{model} could not be loaded, so {other} is used. {reason}"),
}
ELSEWHERE = ("gone", "other")  # reasons for which only another model helps


class FirstModel:
    """Controller that chooses and loads the model of a start, and goes on to the next one where that fails.

    `open_models` opens the list of models, and `use` loads the one that the user wants; `has_model` says whether a
    model is still there.
    """

    def __init__(
        self,
        engine: EngineQueue,
        store: ChatStore,
        notice: NoticeArea,
        open_models: Callable[[], object],
        use: Callable[[Path], object],
        has_model: Callable[[Path], bool] = is_file,
    ) -> None:
        self._engine, self._store, self._notice, self._open_models = engine, store, notice, open_models
        self._use, self._has_model = use, has_model
        self._left: list[Path] = []
        self._loading: Path | None = None
        self._wanted: tuple[Path, Reason, Problem | None] | None = None  # the first model, and why it was not loaded
        engine.state.phase_changed.connect(self._engine_changed)

    def load(self) -> None:
        """Load the model that was used last. Raises Failure if there is no model at all."""
        self._left = [*dict.fromkeys(self._store.recent_models(MOST_RECENT))]
        if (built_in := built_in_model()) and built_in not in self._left:
            self._left.append(built_in)
        path = self._next()
        if path is None:
            raise Failure("no_such_file.built_in")
        self._engine.model.use(path, fallback=self._fall_back)

    def is_substitute(self, path: Path) -> bool:
        """Return whether the model is in use only because the wanted one could not be loaded."""
        return self._wanted is not None and path == self._loading

    def close(self) -> None:
        """Clear the mark of a model that is still being loaded: the user closed the window."""
        if self._loading is not None and self._engine.state.phase in ("starting", "loading"):
            self._mark(self._loading, False)

    def _fall_back(self, problem: Problem) -> Path | None:
        failed = self._loading
        if failed is None or (problem.needs_llama and self._engine.state.preparing is not None):
            return None  # llama.cpp is being compiled; then the model will be loaded
        crashed = problem.step == "restart"
        if not crashed or problem.sentence.id == "engine_end.closed":
            self._mark(failed, False)
        reason: Reason = "other"
        if crashed:
            reason = "crashed"
        elif problem.sentence.code == "out_of_memory":
            reason = "memory"
        self._pass_over(failed, reason, problem)
        path = self._next()
        if path is None:
            self._notice.solve(TOPIC)
        return path

    def _next(self) -> Path | None:
        """Return the next model that may be loaded, and mark it; None if there is none."""
        while self._left:
            path = self._left.pop(0)
            if not self._has_model(path):
                if remote_model(path) is None:  # else the user has removed the server
                    self._pass_over(path, "gone")
            elif self._left and self._was_loading(path):  # the last one is tried: a window needs a model
                self._pass_over(path, "crashed before")
            else:
                self._loading = path
                self._mark(path, True)
                self._say(path)
                return path
        return None

    def _pass_over(self, path: Path, reason: Reason, problem: Problem | None = None) -> None:
        log.warning("the model was not loaded at the start: %s (%s)", reason, problem.sentence.id if problem else "")
        if self._wanted is None:
            self._wanted = path, reason, problem

    def _engine_changed(self, state: EngineState) -> None:
        """Clear the mark once the model is loaded; dismiss the sentence once the user has chosen another model."""
        if self._loading is None:
            return
        if state.path != self._loading:
            self._notice.solve(TOPIC)
            self._loading = self._wanted = None
        elif state.phase == "ready":
            self._mark(self._loading, False)

    # --- what the user reads ----------------------------------------------------------------------------------------

    def _say(self, other: Path) -> None:
        """Show why `other` is loaded and not the wanted model; say nothing where it is the wanted one."""
        self._notice.solve(TOPIC)
        if self._wanted is None:
            return
        path, reason, problem = self._wanted

        def sentence() -> str:
            return tr(
                SENTENCES[reason],
                model=title_of(path),
                folder=printable(str(path.parent)),
                other=title_of(other),
                reason=worded(problem.sentence) if problem else "",
            )

        def detail() -> str:
            told = "" if problem is None or reason == "other" else worded(problem.sentence)
            return "\n".join(filter(None, (told, problem.detail if problem else "")))

        step, work = self._next_step(path, reason)
        self._notice.post(sentence, step, work, kind="problem", detail=detail, topic=TOPIC)

    def _next_step(self, path: Path, reason: Reason) -> tuple[UiText, Callable[[], object]]:
        """Return the words and the work of the button: another model where this one can only fail again."""
        if reason in ELSEWHERE:
            return lambda: tr("Choose another model"), self._open_models
        return lambda: tr("Load {model}", model=title_of(path)), lambda: self._use(path)

    # --- the mark ---------------------------------------------------------------------------------------------------

    def _mark(self, path: Path, loading: bool) -> None:
        try:
            self._store.mark_loading(path, loading)
        except Failure as failure:  # then a crash is not remembered
            log.warning("%s", failure.log_text)

    def _was_loading(self, path: Path) -> bool:
        try:
            return self._store.was_loading(path)
        except Failure as failure:
            log.warning("%s", failure.log_text)
            return False
