"""Models as the terminal shows them, and as the objects that `--json` prints; their fields are an interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from common.byte_sizes import show_bytes
from common.paths import path_text, shown
from common.planning import Verdict
from models.catalogue import Entry
from models.collection import LocalModel
from models.hub import RemoteModel, RepoResult
from models.places import NAMES
from models.terminal import json_text

WIDEST = 48


def print_json(value: object) -> int:
    print(json_text(value, indent=1))
    return 0


def count(number: int) -> str:
    """'135M', '1.5B': parameters as people say them."""
    if number >= 10**9:
        return f"{number / 1e9:.1f}B".replace(".0B", "B")
    return f"{number / 1e6:.0f}M" if number >= 10**6 else str(number or "")


def table(rows: Sequence[Sequence[str]], heads: Sequence[str]) -> str:
    """Columns as wide as they need; a name that is longer than WIDEST is cut in its middle."""
    said = [[shown(cell) for cell in row] for row in (heads, *rows)]
    cut = [[*(_cut(cell) for cell in row[:-1]), row[-1]] for row in said]
    widths = [max(len(row[i]) for row in cut) for i in range(len(heads) - 1)]
    return "\n".join("  ".join((*map(str.ljust, row, widths), row[-1])).rstrip() for row in cut)


def _cut(cell: str) -> str:
    return cell if len(cell) <= WIDEST else f"{cell[:22]}…{cell[-25:]}"


def local(model: LocalModel, verdict: Verdict | None = None) -> dict[str, Any]:
    facts = model.facts
    return {
        "name": model.name,
        "path": path_text(model.path),
        "files": [path_text(path) for path in model.files],
        "size_bytes": model.size,
        "place": model.place.kind,
        "problem": str(model.problem or ""),
        "usable": model.usable,
        "title": facts.name if facts else "",
        "architecture": facts.architecture if facts else "",
        "parameters": facts.parameters if facts else 0,
        "quantisation": facts.quantisation if facts else "",
        "context": facts.n_ctx_train if facts else 0,
        "licence": facts.licence if facts else "",
        "has_template": bool(facts and facts.has_template),
        "plan": planned(verdict),
    }


def planned(verdict: Verdict | None) -> dict[str, Any] | None:
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
    facts, place = model.facts, NAMES[model.place.kind]
    if facts is None:
        return (model.name, show_bytes(model.size), "", "", place, str(model.problem or ""))
    what = str(model.problem or (verdict.line if verdict else ""))
    return (model.name, show_bytes(model.size), count(facts.parameters), facts.quantisation, place, what)


def entry(one: Entry, verdict: Verdict | None) -> dict[str, Any]:
    return {
        "id": one.id,
        "title": one.title,
        "repo": one.repo,
        "file": one.file,
        "size_bytes": one.size,
        "licence": one.licence,
        "about": one.about,
        "plan": planned(verdict),
    }


def result(one: RepoResult) -> dict[str, Any]:
    return {
        "repo": one.repo,
        "downloads": one.downloads,
        "licence": one.licence,
        "parameters": one.parameters,
        "architecture": one.architecture,
        "context": one.n_ctx_train,
        "gated": one.gated,
    }


def remote(model: RemoteModel) -> dict[str, Any]:
    return {
        "name": model.name,
        "path": model.files[0].path,
        "quantisation": model.quantisation,
        "size_bytes": model.size,
        "files": [{"path": file.path, "size_bytes": file.size, "sha256": file.sha256} for file in model.files],
    }
