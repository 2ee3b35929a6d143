"""Better models: offers the recommended ones on the welcome page, follows downloads, and continues the chat with one.

Nothing connects before the user presses a card's button. Models are looked for only while the loaded one may be worse
than what this computer can run.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject

from app.control.model_controller import ModelController
from app.dialogs.model_list import BEST, FASTER, ORIGINS, STATES, local_title, progress_words
from app.model_fit import delay_words, room_words, writing_speed
from app.services.timers import Debounce
from app.settings.settings import Settings
from app.state.engine_queue import EngineQueue
from app.state.engine_state import EngineState
from app.transcript.model_offers import Offer, Offers
from app.window import Window
from app.words import mark, tr, worded
from common.byte_sizes import show_bytes
from common.failures import Failure
from common.files import is_file
from common.paths import path_text
from common.sentences import Sentence
from common.units import duration
from models.choices import Choice, choice_of, tier_of_file
from models.download_queue import DownloadJob
from models.licences import licence_name
from models.network import offline_reason
from models.recommend import Candidate
from models.speech import speech_model_of
from models.titles import title_of

CLEARLY_BETTER = 2  # tiers by which a model must be better than the loaded one to be offered
HERE = mark("On this computer")
BY_STICK = mark(
    "With another computer, download {file} from huggingface.co/{repo}, copy it to a USB stick, and drop it on this "
    "window."
)
TOPIC = "download"  # topic of problems with downloads


class OfferController(QObject):
    """Controller of the offers; the models are judged `pause_ms` after one was loaded, behind a first question."""

    def __init__(
        self, window: Window, engine: EngineQueue, models: ModelController, settings: Settings, pause_ms: int
    ) -> None:
        super().__init__(window)
        self._look_soon = Debounce(self._look, pause_ms, self)
        self._window, self._engine, self._models, self._settings = window, engine, models, settings
        self._models_requested = False  # whether the models were looked for
        self._judged = False  # whether the planner has answered for all of them once
        self._offline: Sentence | None = None
        window.welcome.offers.requested.connect(self._do)
        window.welcome.offers.dismissed.connect(self._dismiss)
        window.pages.currentChanged.connect(lambda: self._engine_changed(engine.state))
        window.status.download.clicked.connect(models.open)
        engine.state.phase_changed.connect(self._engine_changed)
        settings.changed.connect(self._settings_changed)
        window.composer.text.model_given.connect(self.bring)
        models.local.copied.connect(self._copied)
        models.listed.connect(self._show)
        models.failed.connect(self._show_failure)
        models.downloads.ended.connect(self._download_ended)
        models.downloads.unfinished.connect(self._offer_to_resume)

    def start(self) -> None:
        """List the downloads that an earlier run left unfinished, and offer to resume them."""
        self._offline = offline_reason(self._settings.path)
        self._models.downloads.list_unfinished()
        if self._engine.state.path is None:  # there is no model at all
            self._look()

    # --- the cards --------------------------------------------------------------------------------------------------

    def _engine_changed(self, state: EngineState) -> None:
        """Look for better models once the loaded one, or that there is none, is known."""
        if state.phase == "failed" or (state.phase == "ready" and tier_of_file(state.path) is not None):
            self._look_soon.request()
        self._show()

    def _look(self) -> None:
        """Look for better models, once, and only if the welcome page is there to offer them."""
        window = self._window
        if window.pages.currentWidget() is window.welcome and not (
            self._models_requested or window.state.offers_dismissed
        ):
            self._models_requested = True
            self._models.judge()

    def _settings_changed(self) -> None:
        self._offline = offline_reason(self._settings.path)
        self._show()

    def _dismiss(self) -> None:
        self._window.state.dismiss_offers()
        self._show()

    def _show(self) -> None:
        """Show or hide the cards on the welcome page, and the download in the status line."""
        self._window.welcome.offers.show_offers(self._offers)
        self._window.status.show_download(self._download_words)

    def _offers(self) -> Offers:
        listed = self._models.list
        self._judged |= self._models_requested and listed.judged
        if self._window.state.offers_dismissed or not self._judged:
            return Offers()
        advice = listed.recommendation()
        if advice.best is None or not self._is_clearly_worse_than(advice.best, advice.faster):
            return Offers()
        offered = [(BEST, advice.best), *([(FASTER, advice.faster)] if advice.faster else [])]
        here = listed.best_here()
        if here and self._is_better_than_loaded(here) and all(one.key != here.key for _, one in offered):
            offered.insert(0, (HERE, here))
        return Offers(tuple(self._offer(tr(words), one) for words, one in offered), self._hint(advice.best))

    def _is_clearly_worse_than(self, best: Candidate, faster: Candidate | None) -> bool:
        """Return whether the loaded model is clearly worse than the best one, and is none of the recommended."""
        path = self._engine.state.path if self._engine.state.phase == "ready" else None
        if path is None:
            return True
        tier = tier_of_file(path)
        recommended = {choice_of(one).key for one in (best, faster) if one}
        return tier is not None and best.tier - tier >= CLEARLY_BETTER and ("here", path) not in recommended

    def _is_better_than_loaded(self, here: Candidate) -> bool:
        path = self._engine.state.path
        model = choice_of(here).model
        return model is not None and model.path != path and model.location.kind != "built-in" and (
            here.tier > (tier_of_file(path) or 0) or here.tier == 0
        )  # fmt: skip

    def _offer(self, heading: str, candidate: Candidate) -> Offer:
        choice, verdict = choice_of(candidate), candidate.verdict
        entry, job = choice.entry, self._job_of(choice)
        title = local_title(choice.model) if choice.model else entry.title if entry else ""
        if choice.model:
            first = f"{show_bytes(choice.model.size)} · {tr(ORIGINS[choice.model.location.kind])}"
        else:
            first = tr("{size} to download", size=show_bytes(candidate.download))
        first = " · ".join(filter(None, (first, _licence(choice))))
        speed = writing_speed(verdict)
        lines = (first, speed[:1].upper() + speed[1:], delay_words(verdict), room_words(verdict))
        note = tr(entry.licence_note) if entry and entry.licence_note else ""
        offer = Offer(heading, title, tuple(filter(None, lines)), note)
        if job:
            return _with_job(offer, job)
        if choice.model:
            return _with_button(offer, choice, "load", tr("Use"))
        return offer if self._offline else _with_button(offer, choice, "download", tr("Download"))

    def _job_of(self, choice: Choice) -> DownloadJob | None:
        """Return the download of a model that is not here yet."""
        if choice.model or not choice.entry:
            return None
        jobs = [job for job in self._models.list.jobs if job.name == choice.entry.file and job.state != "cancelled"]
        return jobs[-1] if jobs else None

    def _hint(self, best: Candidate) -> str:
        """Return how to bring a model without a connection; "" while there may be one."""
        entry = choice_of(best).entry
        if choice_of(best).model or entry is None:
            return ""
        job = self._job_of(choice_of(best))
        reason = self._offline or (job.problem if job and job.problem and job.problem.code == "no_connection" else None)
        return f"{worded(reason)} {tr(BY_STICK, file=entry.file, repo=entry.repo)}" if reason else ""

    def _do(self, key: tuple[object, ...], action: str) -> None:
        self._models.do_action(key, action)
        self._show()

    # --- downloads ---------------------------------------------------------------------------------------------------

    def _download_words(self) -> tuple[str, str]:
        """Return the download in a few words, for the status line, and in a sentence; empty without one."""
        jobs = [job for job in self._models.list.jobs if job.state not in ("done", "cancelled")]
        if not jobs:
            return "", ""
        job = next((job for job in jobs if job.state == "running"), jobs[0])
        share = f"{job.progress.fraction:.0%}"
        left = job.progress.seconds_left
        if job.state != "running":
            words = f"↓ {share} · {tr(STATES[job.state])}"
        elif left is not None:
            words = f"↓ {share} · {tr('{time} left', time=worded(duration(left)))}"
        else:
            words = f"↓ {share}"
        return words, f"{_title(job)}: {progress_words(job)}"

    def _download_ended(self, job: DownloadJob) -> None:
        """Offer to continue with a model that has arrived, or say why it has not."""
        notice, title = self._window.notice, _title(job)
        if job.state == "done" and job.problem is None and job.path is not None:
            path = job.path
            if speech_model_of(path):  # no model to chat with
                return
            notice.solve(TOPIC)
            notice.post(
                lambda: tr("{model} is ready.", model=title),
                lambda: tr("Continue with it"),
                lambda: self._models.use(path),
                strong=title,
                holds=lambda: self._engine.state.path != path and is_file(path),
            )
        elif job.problem is not None:
            again = job.state == "failed"
            notice.post(
                lambda: f"{title}: {worded(job.problem)}",
                (lambda: tr("Resume")) if again else "",
                (lambda: self._do(("job", job.id), "resume")) if again else None,
                "problem",
                topic=TOPIC,
                holds=(lambda: self._state_of(job) == "failed") if again else None,
            )

    def _offer_to_resume(self, jobs: list[DownloadJob]) -> None:
        if self._offline:
            return
        first = jobs[0]
        sentence = mark("The download of {model} stopped at {done} of {total}.")
        done, total = show_bytes(first.progress.done), show_bytes(first.progress.total)

        def resume() -> None:
            for job in jobs:
                self._do(("job", job.id), "resume")

        self._window.notice.post(
            lambda: tr(sentence, model=_title(first), done=done, total=total),
            lambda: tr("Resume"),
            resume,
            holds=lambda: any(self._state_of(job) == "paused" for job in jobs),
        )

    def _state_of(self, job: DownloadJob) -> str:
        return next((each.state for each in self._models.list.jobs if each.id == job.id), job.state)

    # --- files that the user brings ----------------------------------------------------------------------------------

    def bring(self, path: Path) -> None:
        """Use a model file that was dropped on the window; offer to copy one that lies on another drive."""
        path, title = path.absolute(), title_of(path)
        self._models.add(path_text(path))
        self._models.use(path)
        if self._models.local.on_other_drive(path):
            sentence = mark("{model} is on another drive. Copy it to this computer before you remove that drive.")
            self._window.notice.post(
                lambda: tr(sentence, model=title),
                lambda: tr("Copy to this computer"),
                lambda: self._copy(path),
                holds=lambda: is_file(path),
            )

    def _copy(self, path: Path) -> None:
        title = title_of(path)
        self._window.notice.post(lambda: tr("{model} is being copied…", model=title), topic=TOPIC)
        self._models.local.copy_here(path)

    def _copied(self, copy: Path) -> None:
        """Use the copy, so that the drive is no longer read."""
        title = title_of(copy)
        self._models.use(copy)
        self._window.notice.post(lambda: tr("{model} was copied. You can remove the drive.", model=title))

    def _show_failure(self, failure: Failure) -> None:
        self._window.notice.post(failure.sentence, kind="problem", detail=failure.detail, topic=TOPIC)


def _title(job: DownloadJob) -> str:
    return title_of(Path(job.name))


def _licence(choice: Choice) -> str:
    """Return the licence's name."""
    if choice.entry:
        return licence_name(choice.entry.licence)
    return licence_name(choice.model.facts.licence) if choice.model and choice.model.facts else ""


def _with_button(offer: Offer, choice: Choice, action: str, words: str) -> Offer:
    return replace(offer, key=choice.key, action=action, button=words)


def _with_job(offer: Offer, job: DownloadJob) -> Offer:
    """Return the offer of a model whose download was started: how far it is, and the step that makes sense now."""
    steps = {
        "waiting": ("pause", mark("Pause")), "running": ("pause", mark("Pause")), "paused": ("resume", mark("Resume")),
        "failed": ("resume", mark("Resume")), "done": ("load", mark("Use")),
    }  # fmt: skip
    action, words = steps[job.state]
    fraction = None if job.state == "done" else job.progress.fraction
    lines = (progress_words(job), *offer.lines[1:])
    key = ("job", job.id)
    return replace(
        offer, lines=lines, problem=worded(job.problem), fraction=fraction, key=key, action=action, button=tr(words)
    )
