"""`python -m models recommend`: names the models that suit this computer, or prints a table for others."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from common.byte_sizes import show_bytes
from common.planning import Ask, Computer, Verdict
from common.units import duration, speed
from models.added_paths import AddedPaths
from models.catalogue import CatalogueEntry, catalogue
from models.choices import Choice, candidates, choice_of, choices
from models.collection import scan_models
from models.commands.output import print_json, table
from models.licences import licence_name
from models.planner import verdicts
from models.recommend import Candidate, Recommendation, recommend

GB = 10**9
# RAM that is free beside the system, a browser and an editor.
MEMORY = {4 * GB: 2.2 * GB, 8 * GB: 5.5 * GB, 16 * GB: 12.5 * GB, 32 * GB: 27 * GB}
BANDWIDTH = {"slow": 15e9, "fast": 60e9}  # one channel of DDR4-2666 in practice; two of LPDDR5
PROCESSORS = {"AVX2": ("avx2",), "AVX-512": ("avx512_vnni", "avx2")}
THREADS = 4


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("recommend", help="say which model suits this computer best, and how fast it would be")
    parser.add_argument("--table", action="store_true", help="for computers with 4 to 32 GB, instead of this one")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.table:
        return _print_table(options.json)
    recommended = recommend(candidates_here())
    if options.json:
        return print_json({"best": _json(recommended.best), "faster": _json(recommended.faster)})
    if recommended.best is None:
        print("No model of the catalogue fits into the free memory. Close other programs and try again.")
        return 1
    for words, candidate in (("Best for this computer", recommended.best), ("Faster", recommended.faster)):
        if candidate:
            print(f"{words}: {_line(candidate)}")
    return 0


def candidates_here() -> list[Candidate]:
    """Return the models on this computer and those of the catalogue as candidates."""
    offered = choices(catalogue(), scan_models(AddedPaths().read()))
    return candidates(offered, dict(verdicts({choice.key: choice.ask for choice in offered})))


def _line(candidate: Candidate) -> str:
    entry = _entry(candidate)
    download = f"{show_bytes(candidate.download)} to download" if candidate.download else "on this computer"
    verdict = candidate.verdict
    memory = f"{show_bytes(verdict.needed_bytes)} of {show_bytes(verdict.available_bytes)} free memory"
    pace = f"about {speed(candidate.speed)}"
    paste = f"reads 1,000 words in {duration(candidate.seconds_for_paste)}"
    return f"{entry.title} ({download}; {memory}; {pace}; {paste}; {licence_name(entry.licence)})"


def _json(candidate: Candidate | None) -> dict[str, object] | None:
    if candidate is None:
        return None
    entry = _entry(candidate)
    return {
        "id": entry.id,
        "title": entry.title,
        "tier": entry.tier,
        "download_bytes": candidate.download,
        "memory_bytes": candidate.verdict.needed_bytes,
        "tokens_per_second": round(candidate.speed, 1),
        "seconds_for_1000_words": round(candidate.seconds_for_paste, 1),
    }


def _entry(candidate: Candidate) -> CatalogueEntry:
    entry = choice_of(candidate).entry
    assert entry, "unknown models are not recommended"
    return entry


def computers() -> dict[tuple[str, str, str], Computer]:
    """Return computers by memory, speed of memory, and instruction set."""
    return {
        (f"{memory // GB} GB", speed, name): Computer(kinds, bandwidth, THREADS, memory, int(available))
        for memory, available in MEMORY.items()
        for speed, bandwidth in BANDWIDTH.items()
        for name, kinds in PROCESSORS.items()
    }


def recommendations() -> dict[tuple[str, str, str], Recommendation]:
    """Return what is recommended for each of the computers, all models counting as downloads."""
    verdict_of: Mapping[tuple[tuple[str, str, str], str], Verdict] = dict(
        verdicts(
            {
                (key, entry.id): Ask(estimate=entry.estimate, computer=computer)
                for key, computer in computers().items()
                for entry in catalogue()
            }
        )
    )
    return {
        key: recommend(
            Choice(entry).candidate(verdict_of[key, entry.id]) for entry in catalogue() if (key, entry.id) in verdict_of
        )
        for key in computers()
    }


def _print_table(json: bool) -> int:
    by_computer = recommendations()
    if json:
        rows = [
            {"computer": list(key), "best": _json(each.best), "faster": _json(each.faster)}
            for key, each in by_computer.items()
        ]
        return print_json(rows)
    heads = ("memory", "its speed", "processor", "best answers", "tok/s", "faster", "tok/s")
    print(table([(*key, *_cells(each.best), *_cells(each.faster)) for key, each in by_computer.items()], heads))
    return 0


def _cells(candidate: Candidate | None) -> tuple[str, str]:
    if candidate is None:
        return "–", ""
    entry = _entry(candidate)
    return entry.title, f"{candidate.speed:.0f}"
