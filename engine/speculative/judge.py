"""What this machine's measurements say about the loaded model: costs of passes, and the policies made from them.

Nothing is measured unless it is asked for or the engine is idle; without measurements all decisions are ordinary ones.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from engine.costs import cost_model as costs
from engine.costs.calibrated import Key, keep, kept
from engine.costs.calibration import Calibration, Progress
from engine.costs.cost_model import CostModel, Timings
from engine.costs.profile import Profile, kept_profile, machine_profile
from engine.costs.quiet import QuietMinute
from engine.generation.decode import Pass
from engine.kv.policy import Always, Measured, Policy, Published
from engine.protocol import DraftMode, Generate, KVPolicy
from engine.run_subprocess import run_apart
from engine.runtime.interface import RollbackRuntime, Runtime
from engine.speculative.draft import Drafter
from engine.speculative.drafting import Auto, Drafting, Fixed, Off
from engine.speculative.kept import keep_chances, kept_chances
from engine.speculative.policy import DraftPolicy
from engine.speculative.prompt_lookup import PromptLookup
from engine.speculative.prompt_lookup_published import PublishedLookup
from models.failures import Failure
from models.shapes import Shapes

log = logging.getLogger("engine.judge")

SLOW_DISK = 200e6  # bytes per second, assumed until the disk is measured: an old SATA disk
MOST_SET_ASIDE = 64 << 20  # bytes of keys and values that are copied for a calibration in idle time
MOST_ATTEMPTS = 3  # calibrations on a machine that is always busy
LEARN_TOGETHER = 8  # real passes
REFRESH_AFTER = 500  # real passes after which what was learned from them is kept


class Judge:
    """`shapes` (None where the header does not tell them) and `key` are the loaded model's; `draft` is the identity of
    the draft model's file, if there is one: how often it is right is remembered for this pair."""

    def __init__(self, shapes: Shapes | None, key: Key, draft: str = "") -> None:
        self.shapes = shapes
        self.key = key
        self.profile: Profile | None = kept_profile()
        found = kept(key)
        self.table: CostModel | None = CostModel(found.timings) if found else None
        self._observed = 0
        self._passes: list[Pass] = []
        self.history = PromptLookup()
        self._drafted = f"{key.model} {draft}" if draft else key.model
        self.chooser = DraftPolicy(kept_chances(self._drafted))
        self._attempts = 0  # calibrations that came to nothing
        self.quiet = QuietMinute()

    @property
    def disk_bytes_per_s(self) -> float:
        """How fast a saved chat comes from the disk."""
        return (self.profile and self.profile.disk_read_bytes_per_s) or SLOW_DISK

    def policy(self, name: KVPolicy, target: Runtime) -> Policy:
        """The KV policy of that name for this model and machine; `always` for a model that cannot do otherwise."""
        shapes = self.shapes
        if name == "always" or not target.can_truncate or (name == "published" and shapes is None):
            return Always()
        if name == "measured" or shapes is None:
            return Measured(self._pass_seconds)
        profile = self._profile()
        return Published(
            nt=costs.nt(profile, shapes),
            td=lambda inputs: costs.td(profile, shapes, inputs),
            tl=lambda fixed: costs.tl(profile, shapes, fixed, self.key.kv_type),
        )

    def _pass_seconds(self, inputs: int, depth: int) -> float | None:
        return self.table.pass_seconds(inputs, depth, rows=1) if self.table else None

    def _profile(self) -> Profile:
        if self.profile is None:
            self.profile = machine_profile()
        return self.profile

    def drafting(self, request: Generate, target: Runtime, others: tuple[Drafter, ...] = ()) -> Drafting:
        """What drafts for an answer. `others`: those of the request's mode that own a model or are part of one.

        As long as it is not known what passes cost, only published forms draft."""
        drafters = self._drafters(request, others)
        if not drafters or not target.can_truncate:
            return Off()
        if request.draft.endswith("-published"):
            return Fixed(drafters[0], self.table)
        return Auto(drafters, self.chooser, self.table) if self.table else Off()

    def _drafters(self, request: Generate, others: tuple[Drafter, ...]) -> tuple[Drafter, ...]:
        """Those of the request's mode."""
        drafters: dict[DraftMode, tuple[Drafter, ...]] = {
            "off": (),
            "auto": (self.history, *others),
            "history": (self.history,),
            "history-published": (PublishedLookup(request.lookup),),
        }
        return drafters.get(request.draft, others)

    def prefill_seconds(self, tokens: int) -> float | None:
        """Seconds to read `tokens` from nothing, None if nothing was measured yet."""
        return self.table.prefill_seconds(tokens) if self.table else None

    def observe(self, passed: Pass) -> None:
        """Learn from a real step: from several at once, since between two passes all of this code is cold."""
        self._passes.append(passed)
        if len(self._passes) < LEARN_TOGETHER:
            return
        for each in self._passes:
            if self.table:
                self.table.observe(each.inputs + each.drafted, each.depth, each.seconds, rows=each.rows)
                self._observed += 1
        self._passes.clear()

    def measure(self, target: Runtime) -> Iterator[None]:
        """Measure what is not known yet, in idle time; the target's cache is as before afterwards. Raises Stopped.

        What other programs disturbed is measured again when they have been quiet for a minute."""
        again = self.awaits_quiet and self.quiet.came()
        if self.profile is None or (self.profile.provisional and again):
            for _ in measured_apart():
                yield
            self.profile = kept_profile()
            self.quiet.begin()
        if self.table is None and self._may_calibrate(again) and target.state_bytes <= MOST_SET_ASIDE:
            self.quiet.begin()
            try:
                yield from self._calibrate(target)
            except Failure as failure:
                log.info("no calibration: %s", failure)
                self._attempts = MOST_ATTEMPTS
        elif self.table and self._observed >= REFRESH_AFTER:
            self._observed = 0
            keep(self.key, self.table.refreshed())
            keep_chances(self._drafted, self.chooser.state())

    @property
    def awaits_quiet(self) -> bool:
        """Is there something to measure again when other programs are quiet? `measure` is to be called until then."""
        disturbed = self.table is None and 0 < self._attempts < MOST_ATTEMPTS
        return disturbed or (self.profile is not None and self.profile.provisional)

    def _may_calibrate(self, again: bool) -> bool:
        return self._attempts == 0 or (again and self._attempts < MOST_ATTEMPTS)

    def calibrate(self, target: Runtime) -> None:
        """Time the model's passes now. Raises Failure where that cannot be done, and Stopped."""
        for _ in self._calibrate(target):
            pass
        if self.table is None:
            raise Failure("disturbed", "Another program was busy: how long this model's passes take is not known.")

    def _calibrate(self, target: Runtime) -> Iterator[None]:
        assert isinstance(target, RollbackRuntime), target
        put_back = target.snapshot()
        try:
            yield from self._time_passes(target)
        finally:
            put_back()

    def _time_passes(self, target: Runtime) -> Iterator[None]:
        for event in Calibration(target, self.key.threads).run():
            if isinstance(event, Timings) and event.disturbed:
                self._attempts += 1
                log.info("calibration %d was disturbed by other programs", self._attempts)
            elif isinstance(event, Timings):
                keep(self.key, event)
                self.table = CostModel(event)
                log.info("calibrated: c(8) = %.2f, nt = %d", self.table.c(8), self.table.nt_measured)
            elif isinstance(event, Progress):
                yield


def measured_apart() -> Iterator[int | None]:
    """Measure and keep the machine's profile in a process of its own, whose large arrays no plan lists."""
    return run_apart("profile", "--json", "--fresh")
