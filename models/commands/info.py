"""`python -m models info`: shows what a model file says of itself, whether it fits, and what can draft for it."""

from __future__ import annotations

import argparse
import json

from common.byte_sizes import show_bytes
from common.paths import path_text, printable
from common.planning import Ask, Verdict
from models.added_paths import AddedPaths
from models.collection import LocalModel, scan_models
from models.commands import output
from models.commands.find import find
from models.estimate import estimate_of
from models.licences import licence_name
from models.planner import verdicts
from models.split import model_headers


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("info", help="show what a model is, and whether it fits")
    parser.add_argument("model", metavar="MODEL", help="its name in the list, or a GGUF file")
    parser.add_argument("--no-plan", action="store_true", help="do not check whether it fits")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument("--entry", action="store_true", help="print the numbers that its entry in the catalogue needs")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the model; return 1 if the file exists but cannot be used."""
    model = find(options.model)
    if options.entry and model.usable:
        print("\n".join(entry_lines(model)))
        return 0
    drafters = drafters_for(model)
    questions = {"this": Ask(path=path_text(model.path))} if model.usable and not options.no_plan else {}
    verdict = dict(verdicts(questions)).get("this")
    if options.json:
        names = [drafter.name for drafter in drafters]
        output.print_json(output.local_json(model, verdict) | {"drafters": names})
    else:
        print("\n".join(lines(model, verdict, drafters)))
    return 0 if model.usable else 1


def entry_lines(model: LocalModel) -> list[str]:
    """Return the lines of `assets/catalogue.toml` that the model's header tells. Raises Failure if it tells too little.

    The rest, such as licence, languages and quality, is not in a file.
    """
    headers, facts = model_headers(model.path), model.facts
    assert facts, "the model is usable"
    estimate = estimate_of(headers, facts.quantisation)
    kv_layers = estimate.kv_layers if estimate.kv_layers < estimate.layers else 0
    numbers = {
        "size": estimate.size, "parameters": facts.parameters,
        "active": round(facts.parameters * estimate.active_share),
        "layers": estimate.layers, "kv_layers": kv_layers, "kv_width": estimate.kv_width, "window": estimate.window,
        "window_layers": estimate.window_layers, "window_width": estimate.window_width, "state": estimate.state_bytes,
        "experts": estimate.experts, "used_experts": estimate.used_experts, "attention": estimate.attention,
        "embedding": estimate.embedding, "feed_forward": estimate.feed_forward, "vocabulary": estimate.vocabulary,
        "context": estimate.n_ctx_train,
    }  # fmt: skip
    if not estimate.experts:
        numbers["active"] = 0
    texts = {"architecture": facts.architecture, "quantisations": [facts.quantisation]}
    lines = [f"{name} = {json.dumps(value)}" for name, value in texts.items()]
    return lines + [f"{name} = {number}" for name, number in numbers.items() if number]


def drafters_for(model: LocalModel) -> list[LocalModel]:
    """Return the models on this computer with the same vocabulary and fewer weights."""
    facts = model.facts
    if facts is None:
        return []
    return [other for other in scan_models(AddedPaths().read()) if other.facts and other.facts.can_draft_for(facts)]


def lines(model: LocalModel, verdict: Verdict | None, drafters: list[LocalModel]) -> list[str]:
    rows = [("file", printable(str(model.path))), ("size", show_bytes(model.size))]
    if len(model.files) > 1:
        rows.append(("parts", str(len(model.files))))
    if model.facts:
        facts = model.facts
        rows += [
            ("title", facts.name),
            ("architecture", facts.architecture),
            ("parameters", f"{facts.parameters:,}"),
            ("quantisation", facts.quantisation),
            ("context", f"{facts.n_ctx_train:,} tokens" if facts.n_ctx_train else "not stated"),
            ("licence", licence_name(facts.licence) or "not stated"),
            ("chat template", "yes" if facts.has_template else "no"),
            ("vocabulary", f"{facts.tokens:,} tokens"),
            ("can draft for it", ", ".join(drafter.name for drafter in drafters) or "no model here"),
        ]
        if facts.own_drafter:
            rows.append(("own drafter", str(facts.own_drafter)))
    said = [f"  {name:18}{value}" for name, value in rows]
    reasons = list(map(str, verdict.reasons)) if verdict else []
    return [f"{model.name}: {verdict.line if verdict else model.problem or ''}", "", *said, "", *reasons]
