"""Recommends models for this computer: a pure function of how good they are, whether they fit, and how fast they run.

The best model is the one of the highest quality tier that fits into memory beside the user's other programs and writes
at least as fast as people read. The faster one is the best of those that are clearly faster.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import PurePath

from common.planning import Verdict
from models.catalogue import CatalogueEntry, catalogue

READING_SPEED = 8.0  # tokens/s: people read some 250 words a minute, which are 5 to 6 tokens/s
CLEARLY_FASTER = 1.5  # how many times faster the second model must be, so that its lower quality is worth it
LEAST_CONTEXT = 4096  # tokens; a model that fits only with less forgets the chat too soon
READ_ONCE = "plan.read_once"  # note of a plan whose weights lie in memory once: as fast, but loaded more slowly
WORDS_PER_TOKEN = 0.75  # of English text, for what people are told
PASTE_WORDS = 1000  # the length of a pasted text for which the delay to the first word is told


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that could be recommended.

    Attributes:
        key: what the caller knows the model by.
        tier: quality tier of the catalogue, higher is better.
        download: bytes to download; 0 if the model is on this computer.
        verdict: the planner's answer for this computer.
    """

    key: Hashable
    tier: int
    download: int
    verdict: Verdict

    @property
    def speed(self) -> float:
        """Tokens/s of plain decoding: as measured here, else predicted; 0 if unknown."""
        return self.verdict.speed or self.verdict.predicted_speed

    @property
    def seconds_for_paste(self) -> float:
        """Seconds from sending a pasted text of PASTE_WORDS words to the first word of the answer; 0 if unknown."""
        prompt = self.verdict.predicted_prompt_speed
        return PASTE_WORDS / WORDS_PER_TOKEN / prompt if prompt else 0.0

    @property
    def fits(self) -> bool:
        """Whether the model fits into memory with a useful context."""
        return self.verdict.verdict in ("fits", "tight") and self.verdict.n_ctx >= LEAST_CONTEXT

    @property
    def is_comfortable(self) -> bool:
        """Whether it fits without giving up more than time while it is loaded."""
        verdict = self.verdict
        return verdict.verdict == "fits" or (
            verdict.verdict == "tight" and [n.id for n in verdict.notes] == [READ_ONCE]
        )


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The model with the best answers, and a clearly faster one; None where there is no such model."""

    best: Candidate | None = None
    faster: Candidate | None = None


def recommend(candidates: Iterable[Candidate], reading_speed: float = READING_SPEED) -> Recommendation:
    """Return the best and a faster one of the candidates; at equal tier the smaller download wins, then the speed.

    Models of unknown quality, tier 0, are not recommended. Models that fit easily come before those that fit tightly.
    If no model reaches the reading speed, the fastest of those that fit is the best one.
    """
    possible = [one for one in candidates if one.fits and one.speed > 0 and one.tier > 0]
    comfortable = [candidate for candidate in possible if candidate.is_comfortable] or possible
    quick = [candidate for candidate in comfortable if candidate.speed >= reading_speed]
    if not quick:
        return Recommendation(max(comfortable, key=lambda candidate: candidate.speed, default=None))
    best = max(quick, key=_order)
    others = [candidate for candidate in quick if candidate.speed >= CLEARLY_FASTER * best.speed]
    return Recommendation(best, max(others, key=_order, default=None))


def _order(candidate: Candidate) -> tuple[int, int, float]:
    return candidate.tier, -candidate.download, candidate.speed


def rank(candidate: Candidate) -> tuple[bool, bool, int, int, float]:
    """Return a key that sorts models by recommendation, the best one largest: what fits and is quick comes first."""
    return candidate.fits, candidate.speed >= READING_SPEED, *_order(candidate)


def entry_of_file(
    path: PurePath, entries: Iterable[CatalogueEntry] | None = None, name: str = ""
) -> CatalogueEntry | None:
    """Return the catalogue's entry for a model file, whichever quantisation and whoever's name it has, or None.

    The entry's id must be in the file's name, apart from punctuation: 'qwen3-4b-instruct-2507' is in
    'Qwen_Qwen3-4B-Instruct-2507-Q5_K_M.gguf'. The longest id wins. Programs that call every file the same name the
    folder after the model, so a file called model.gguf has its folder's name; `name` is another program's own name.
    """
    name = _letters(name + (path.parent.name if path.stem.lower() == "model" else path.name))
    named = [entry for entry in (catalogue() if entries is None else entries) if _letters(entry.id) in name]
    return max(named, key=lambda entry: len(entry.id), default=None)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "", text.lower())
