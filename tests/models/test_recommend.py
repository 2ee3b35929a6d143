"""Which models are recommended: pure rules, tried with every kind of candidate."""

from __future__ import annotations

from pathlib import PurePath

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from common.planning import Verdict
from common.sentences import Sentence
from models.catalogue import catalogue
from models.recommend import (
    CLEARLY_FASTER,
    READING_SPEED,
    Candidate,
    Recommendation,
    entry_of_file,
    recommend,
)

FITS = Verdict(verdict="fits", n_ctx=8192, predicted_prompt_speed=100.0)


def candidate(key, tier, speed, download=10**9, **changes):
    """Return a candidate that fits and runs at the predicted speed, with `changes` to its verdict."""
    return Candidate(key, tier, download, msgspec.structs.replace(FITS, predicted_speed=speed, **changes))


def keys(found: Recommendation) -> tuple[object, object]:
    """Return the keys of both recommended models."""
    return found.best and found.best.key, found.faster and found.faster.key


def test_the_highest_tier_that_is_fast_enough_is_best():
    found = recommend([candidate("4b", 6, 9.0), candidate("9b", 8, 4.0), candidate("1b", 3, 30.0)])
    assert keys(found) == ("4b", "1b")


def test_at_equal_tier_the_smaller_download_wins():
    here = candidate("here", 5, 12.0, download=0)
    assert recommend([candidate("hub", 5, 14.0), here]).best is here


def test_what_does_not_fit_is_never_recommended():
    too_large = candidate("9b", 8, 20.0, verdict="no")
    short = candidate("8b", 7, 20.0, n_ctx=1024)
    unknown = candidate("7b", 7, 0.0)
    assert recommend([too_large, short, unknown]) == Recommendation()


def test_a_tight_fit_comes_after_an_easy_one():
    tight, easy = candidate("tight", 8, 20.0, verdict="tight"), candidate("easy", 5, 20.0)
    assert recommend([tight, easy]).best is easy
    assert recommend([tight]).best is tight


def test_weights_that_are_in_memory_only_once_are_no_tight_fit():
    notes = (Sentence.of("plan.read_once"),)
    once, easy = candidate("once", 8, 20.0, verdict="tight", notes=notes), candidate("easy", 5, 20.0)
    assert recommend([once, easy]).best is once
    short = candidate("short", 8, 20.0, verdict="tight", notes=(*notes, Sentence.of("plan.short_context", n_ctx=4096)))
    assert recommend([short, easy]).best is easy


def test_what_is_read_from_the_disk_is_never_recommended():
    assert recommend([candidate("30b", 10, 20.0, verdict="disk")]) == Recommendation()


def test_on_a_slow_computer_the_fastest_is_best():
    found = recommend([candidate("4b", 6, 2.0), candidate("1b", 3, 6.0)])
    assert keys(found) == ("1b", None)


def test_a_measured_speed_replaces_the_prediction():
    predicted = candidate("m", 1, 40.0)
    assert predicted.speed == 40.0
    measured = msgspec.structs.replace(predicted.verdict, speed=7.0)
    assert Candidate("m", 1, 0, measured).speed == 7.0


def test_what_people_are_told():
    told = candidate("m", 1, 20.0)
    assert round(told.seconds_for_paste, 1) == 13.3
    assert candidate("m", 1, 20.0, predicted_prompt_speed=0.0).seconds_for_paste == 0.0


CANDIDATES = st.lists(
    st.builds(
        candidate,
        key=st.uuids().map(str),
        tier=st.integers(1, 10),
        speed=st.floats(0, 200),
        download=st.sampled_from([0, 10**9, 5 * 10**9]),
        verdict=st.sampled_from(["fits", "tight", "no", "unknown"]),
        n_ctx=st.sampled_from([0, 2048, 4096, 32768]),
    ),
    max_size=8,
)


@given(CANDIDATES)
def test_no_other_candidate_is_better(candidates):
    found = recommend(candidates)
    fitting = [each for each in candidates if each.fits and each.speed > 0]
    assert (found.best is None) == (not fitting)
    assert found.best is None or found.best.fits
    if found.best and found.best.speed >= READING_SPEED:
        rivals = [each for each in fitting if each.verdict.verdict == found.best.verdict.verdict]
        assert found.best.tier == max(each.tier for each in rivals if each.speed >= READING_SPEED)
    if found.faster:
        assert found.best
        assert found.faster.speed >= CLEARLY_FASTER * found.best.speed


def test_a_file_on_disk_is_known_by_its_name():
    entry = catalogue()[0]
    for name in (entry.file, f"someone_{entry.id.upper()}-Q5_K_M.gguf"):
        assert entry_of_file(PurePath(name)) == entry
    assert entry_of_file(PurePath("my-own-model.gguf")) is None
