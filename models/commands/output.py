"""Output of the commands: models as rows of a table, and as the objects that `--json` prints.

The objects' fields are an interface for other programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from common.byte_sizes import show_bytes
from common.paths import display_name, path_text
from common.planning import Verdict
from models.catalogue import CatalogueEntry
from models.collection import LocalModel
from models.hub import HubModel, RepoResult
from models.licences import licence_name
from models.locations import LOCATION_NAMES
from models.terminal import json_text

WIDEST = 48


def print_json(value: object) -> int:
    print(json_text(value, indent=1))
    return 0


def show_count(number: int) -> str:
    """Format a number of parameters as people say it: '135M', '1.5B'."""
    if number >= 10**9:
        return f"{number / 1e9:.1f}B".replace(".0B", "B")
    return f"{number / 1e6:.0f}M" if number >= 10**6 else str(number or "")


def table(rows: Sequence[Sequence[str]], heads: Sequence[str]) -> str:
    """Lay out columns as wide as they need; cells longer than WIDEST are cut, except in the last column."""
    said = [[display_name(cell) for cell in row] for row in (heads, *rows)]
    cut = [[*(_cut(cell) for cell in row[:-1]), row[-1]] for row in said]
    widths = [max(len(row[i]) for row in cut) for i in range(len(heads) - 1)]
    return "\n".join("  ".join((*map(str.ljust, row, widths), row[-1])).rstrip() for row in cut)


def _cut(cell: str) -> str:
    return cell if len(cell) <= WIDEST else f"{cell[:22]}…{cell[-25:]}"


def local_json(model: LocalModel, verdict: Verdict | None = None) -> dict[str, Any]:
    facts = model.facts
    return {
        "name": model.name,
        "path": path_text(model.path),
        "files": [path_text(path) for path in model.files],
        "size_bytes": model.size,
        "place": model.location.kind,
        "problem": str(model.problem or ""),
        "usable": model.usable,
        "title": facts.name if facts else "",
        "architecture": facts.architecture if facts else "",
        "parameters": facts.parameters if facts else 0,
        "quantisation": facts.quantisation if facts else "",
        "context": facts.n_ctx_train if facts else 0,
        "licence": facts.licence if facts else "",
        "has_template": bool(facts and facts.has_template),
        "plan": plan_json(verdict),
    }


def plan_json(verdict: Verdict | None) -> dict[str, Any] | None:
    if verdict is None:
        return None
    return {
        "verdict": verdict.verdict,
        "total_bytes": verdict.total_bytes,
        "context": verdict.n_ctx,
        "largest_context": verdict.max_n_ctx,
        "exact": verdict.exact,
        "reasons": list(map(str, verdict.reasons)),
    }


def local_row(model: LocalModel, verdict: Verdict | None) -> tuple[str, ...]:
    facts, location = model.facts, LOCATION_NAMES[model.location.kind]
    if facts is None:
        return (model.name, show_bytes(model.size), "", "", location, str(model.problem or ""))
    what = str(model.problem or (verdict.line if verdict else ""))
    return (model.name, show_bytes(model.size), show_count(facts.parameters), facts.quantisation, location, what)


def entry_json(entry: CatalogueEntry, verdict: Verdict | None) -> dict[str, Any]:
    return {
        "id": entry.id,
        "title": entry.title,
        "repo": entry.repo,
        "file": entry.file,
        "size_bytes": entry.size,
        "licence": entry.licence,
        "licence_note": entry.licence_note,
        "about": entry.about,
        "architecture": entry.architecture,
        "quantisations": list(entry.quantisations),
        "parameters": entry.parameters,
        "active_parameters": entry.active or entry.parameters,
        "context": entry.context,
        "tier": entry.tier,
        "tier_source": entry.tier_source,
        "good_at": good_at(entry),
        "languages": list(entry.languages),
        "sampling": msgspec.to_builtins(entry.sampling),
        "sampling_thinking": msgspec.to_builtins(entry.sampling_thinking or entry.sampling),
        "stop": list(entry.stop),
        "approximate": entry.approximate,
        "plan": plan_json(verdict),
    }


def entry_row(entry: CatalogueEntry, verdict: Verdict | None) -> tuple[str, ...]:
    quality = f"{'about ' if entry.approximate else ''}{entry.tier}/10"
    languages = " ".join(entry.languages) if len(entry.languages) < 3 else str(len(entry.languages))
    what = verdict.line if verdict else ""
    return (
        entry.id,
        show_bytes(entry.size),
        quality,
        ", ".join(good_at(entry)),
        languages,
        licence_name(entry.licence),
        what,
        entry.about,
    )


def good_at(entry: CatalogueEntry) -> list[str]:
    kinds = {"code": entry.coding, "thinking": entry.thinking, "images": entry.vision}
    return [kind for kind, is_so in kinds.items() if is_so]


def result_json(result: RepoResult) -> dict[str, Any]:
    return {
        "repo": result.repo,
        "downloads": result.downloads,
        "licence": result.licence,
        "parameters": result.parameters,
        "architecture": result.architecture,
        "context": result.n_ctx_train,
        "gated": result.gated,
    }


def remote_json(model: HubModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "path": model.files[0].path,
        "quantisation": model.quantisation,
        "size_bytes": model.size,
        "files": [{"path": file.path, "size_bytes": file.size, "sha256": file.sha256} for file in model.all_files],
    }
