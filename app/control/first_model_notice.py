"""The sentence that says why a start has not loaded the model that was used last, with the sensible next step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from app.notice import NoticeArea
from app.state.first_model import FirstModel, PassedOver, Reason
from app.words import UiText, mark, tr, worded
from common.paths import printable
from models.titles import title_of

TOPIC = "first model"
SENTENCES: dict[Reason, str] = {
    "gone": mark("{model} is no longer in {folder}, so {other} is used."),
    "memory": mark("{model} does not fit into memory now, so {other} is used."),
    "crashed": mark("The engine stopped while loading {model}, so {other} is used."),
    "crashed before": mark("Chickadee ended unexpectedly while loading {model} last time, so {other} is used."),
    "other": mark("{model} could not be loaded, so {other} is used. {reason}"),
}
ELSEWHERE = ("gone", "other")  # reasons for which only another model helps


class FirstModelNotice:
    """Controller of the notice about the model that `first` has passed over.

    `open_models` opens the list of models, and `use` loads the one that the user wants.
    """

    def __init__(
        self,
        first: FirstModel,
        notice: NoticeArea,
        open_models: Callable[[], object],
        use: Callable[[Path], object],
    ) -> None:
        self._first, self._notice, self._open_models, self._use = first, notice, open_models, use
        first.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        """Say why another model is loaded than the wanted one; say nothing where it is the wanted one."""
        self._notice.solve(TOPIC)
        passed, other = self._first.passed_over, self._first.loading
        if passed is None or other is None:
            return

        def sentence() -> str:
            return tr(
                SENTENCES[passed.reason],
                model=title_of(passed.path),
                folder=printable(str(passed.path.parent)),
                other=title_of(other),
                reason=worded(passed.problem.sentence) if passed.problem else "",
            )

        def detail() -> str:
            told = "" if passed.problem is None or passed.reason == "other" else worded(passed.problem.sentence)
            return "\n".join(filter(None, (told, passed.problem.detail if passed.problem else "")))

        step, work = self._next_step(passed)
        self._notice.post(sentence, step, work, kind="problem", detail=detail, topic=TOPIC)

    def _next_step(self, passed: PassedOver) -> tuple[UiText, Callable[[], object]]:
        """Return the words and the work of the button: another model where this one can only fail again."""
        if passed.reason in ELSEWHERE:
            return lambda: tr("Choose another model"), self._open_models
        return lambda: tr("Load {model}", model=title_of(passed.path)), lambda: self._use(passed.path)
