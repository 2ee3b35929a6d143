"""Replay recorded answers through drafters and policy, without a model: what they save, and could save at most.

    python -m benchmarks.replay record --model M [--threads N] [--only KIND …] [--tokens N] --out FILE
    python -m benchmarks.replay [--trace FILE] [--costs machine|ik|products|laptop|between|KIND …] [--phrases MODEL]
                                [--half tuning|held-out|all] [--longest N] [--json]

`auto` is the policy with prompt lookup, and with static n-grams if MODEL is named, the model that gave the answers. The
oracle has the same drafts and knows the best lengths beforehand, over the whole answer; a tree could not help it, since
it costs more than the right line alone. Times are in plain steps (one-token passes) from a table of pass costs; the
policy's own time is not counted. In each half the policy begins knowing nothing and learns from answer to answer; its
first beliefs were fitted to the tuning half (`benchmarks.fit_prior`).

KIND is a library, a kind of processor and a number of threads: `ik-avx2-4` has the costs that the table of prior
timings gives a Q4_K model there (`engine.costs.cost_prior`), with as fast a memory as that of the table's machine.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from benchmarks.command import benchmark_parser, print_json
from benchmarks.drafting import selected
from benchmarks.prompts import prompts
from benchmarks.trace import ANSWER_TOKENS, Trace, load, record, save
from common.planning import Computer
from engine.costs.cost_model import LAPTOP, Curve
from engine.costs.cost_prior import ModelTraits, prior_table, scale_rows
from engine.loading.libraries import vocabulary
from engine.speculative.draft import Draft, Drafter
from engine.speculative.drafting import Tally
from engine.speculative.ngram_counting import load_or_build_table
from engine.speculative.policy import MAX_DRAFTED, DraftPolicy, StepCosts
from engine.speculative.prompt_lookup import PromptLookup
from engine.speculative.static_ngram import StaticNgram
from engine.tokenization.tokens import common_prefix

TRACE = Path(__file__).parent / "traces" / "qwen2.5-coder-1.5b-q4_k_m.json.gz"
MACHINE = {
    **{1: 1, 2: 1.76, 3: 2.45, 4: 2.99, 5: 3.87, 6: 4.42, 7: 5.17, 8: 6.94},
    **{12: 8.51, 16: 8.51, 24: 13.6, 32: 14.4, 48: 20.6},
}
# The same with ik_llama.cpp: its wheel's own products, and ours, which this machine chooses by itself.
IK_WHEEL = {1: 1, 2: 1.47, 4: 2.28, 8: 3.73, 16: 7.0, 32: 13.2, 48: 19.5}
OUR_PRODUCTS = {1: 1, 2: 1.1, 3: 1.22, 4: 1.35, 6: 1.75, 8: 2.28, 16: 4.36, 32: 8.59}
BETWEEN = {1: 1, 2: 1.2, 4: 1.7, 8: 2.9, 16: 4.8, 32: 8.5, 48: 12.5}
TABLES = {
    "machine": MACHINE,  # llama.cpp, Qwen2.5 1.5B Q4_K_M on two cores of a Zen 4
    "ik": IK_WHEEL,
    "products": OUR_PRODUCTS,
    "laptop": LAPTOP,  # bound by memory bandwidth
    "between": BETWEEN,
}


SIMULATED_THREADS = (1, 2, 4, 8, 16)
Q4_K = 12  # ggml's number


def simulated_costs() -> dict[str, dict[int, float]]:
    """Return c(k) by library, kind of processor and threads, from the prior timings of a Q4_K model."""
    tables = {}
    for row in (row for row in prior_table() if row.weights == Q4_K):
        parts, model = [(row, part) for part in row.parts], ModelTraits(row.parts, 0, row.layers)
        for threads in SIMULATED_THREADS:
            timings = scale_rows(parts, model, "f16", Computer((), row.bandwidth, threads))
            seconds = timings.pass_seconds[min(timings.pass_seconds)]
            tables[f"{row.library}-{row.kind}-{threads}"] = {k: seconds[k] / seconds[1] for k in seconds}
    return tables


@cache
def all_tables() -> dict[str, dict[int, float]]:
    """Return c(k) by every name that `--costs` knows."""
    return TABLES | simulated_costs()


@dataclass(frozen=True, slots=True)
class Row:
    """Sums over answers, in plain steps."""

    category: str
    plain: float
    auto: float
    oracle: float
    worst: float  # lowest speed-up of an answer: plain over auto
    drafted: int
    accepted: int

    @property
    def share(self) -> float:
        """Share of the oracle's savings that the policy reaches."""
        return (self.plain - self.auto) / (self.plain - self.oracle) if self.oracle < self.plain else 1.0


def main() -> None:
    options = parse()
    if options.command == "record":
        return record_traces(options)
    traces = load(options.trace)
    table = load_or_build_table(options.phrases, vocabulary(options.phrases)) if options.phrases else None

    def drafters() -> list[Drafter]:
        return [PromptLookup(), *([StaticNgram(table)] if table else [])]

    return report(results(options, traces, drafters), options.json)


def record_traces(options: argparse.Namespace) -> None:
    traces = []
    for trace in record(options.model, options.threads, selected(prompts(), None, options.only), options.tokens):
        traces.append(trace)
        print(f"{len(traces):3} {trace.category:12} {len(trace.prompt):5} {len(trace.output):4}")
    save(options.out, options.model, traces)


def parse() -> argparse.Namespace:
    parser = benchmark_parser("replay", __doc__, models="none")
    parser.add_argument("command", nargs="?", choices=["replay", "record"], default="replay")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--only", nargs="+", metavar="KIND", help="record these kinds of prompts only")
    parser.add_argument("--tokens", type=int, default=ANSWER_TOKENS, help="longest answer to record")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trace", type=Path, default=TRACE)
    parser.add_argument("--costs", choices=list(all_tables()), nargs="+", metavar="COSTS")
    parser.add_argument("--half", choices=["tuning", "held-out", "all"], default="all")
    parser.add_argument("--longest", type=int, default=MAX_DRAFTED, help="tokens that a draft has at most")
    parser.add_argument("--phrases", type=Path, metavar="MODEL", help="draft usual phrases in its tokens too")
    options = parser.parse_args()
    if options.command == "record" and not (options.model and options.out):
        parser.error("record needs --model and --out")
    return options


MakeDrafters = Callable[[], Iterable[Drafter]]
PassCost = Callable[[int], float]  # plain steps that a pass of so many tokens costs


def results(options: argparse.Namespace, traces: list[Trace], drafters: MakeDrafters) -> dict[str, list[Row]]:
    """Return rows by table of costs and half."""
    halves = ["tuning", "held-out"] if options.half == "all" else [options.half]
    proposals = dict[str, list[tuple[Trace, list[list[Draft]]]]]()
    for half in halves:
        of_half = [trace for trace in traces if trace.held_out == (half == "held-out")]
        some = list(drafters())  # for all answers in turn, as in the engine: they remember the chats before
        proposals[half] = [(trace, propose_drafts(trace, some, options.longest)) for trace in of_half]
    costs = {name: Curve(all_tables()[name]).at for name in options.costs or TABLES}
    return {f"{name}, {half}": rows(proposals[half], c) for name, c in costs.items() for half in halves}


def propose_drafts(trace: Trace, drafters: Iterable[Drafter], longest: int) -> list[list[Draft]]:
    """Return, for each output token, the drafts before the step that begins after it: they depend on the text only.

    As in the decode loop no more is drafted than the answer may still hold beside the target's own next token.
    """
    drafts: list[list[Draft]] = [[] for _ in trace.output]
    for drafter in drafters:
        drafter.begin(trace.prompt)
        for i, token in enumerate(trace.output, 1):
            drafter.extend((token,))
            most = min(longest, trace.limit - i - 1)
            drafts[i - 1] += [replace(draft, cost_seconds=0) for draft in drafter.propose(most)]
    return drafts


def rows(chosen: Sequence[tuple[Trace, list[list[Draft]]]], c: PassCost) -> list[Row]:
    """Return a row for each category, and one for all; one policy learns from all answers in turn."""
    policy, by_category = DraftPolicy(), dict[str, list[Row]]()
    for trace, drafts in chosen:
        steps, tally = auto(policy, trace, drafts, c)
        best = oracle(trace, drafts, c)
        row = Row(trace.category, trace.steps, steps, best, trace.steps / steps, tally.drafted, tally.accepted)
        by_category.setdefault(trace.category, []).append(row)
    sums = [total(category, answers) for category, answers in by_category.items()]
    return [*sums, total("all", sums)]


def total(category: str, some: list[Row]) -> Row:
    return Row(
        category,
        plain=sum(row.plain for row in some),
        auto=sum(row.auto for row in some),
        oracle=sum(row.oracle for row in some),
        worst=min(row.worst for row in some),
        drafted=sum(row.drafted for row in some),
        accepted=sum(row.accepted for row in some),
    )


def future(trace: Trace) -> list[int]:
    """Return the answer's tokens, with -1 for the token that ended it, which cannot be drafted."""
    return [*trace.output, *([-1] if trace.ended else [])]


def auto(policy: DraftPolicy, trace: Trace, drafts: list[list[Draft]], c: PassCost) -> tuple[float, Tally]:
    """Return the plain steps that the policy needs for an answer, and what it drafted."""
    tokens, at, steps, tally = future(trace), 0, 0.0, Tally()
    costs = StepCosts(c, lambda: 1.0)
    policy.begin()
    while at < len(tokens) - 1:
        choice = policy.choose(drafts[at], costs)
        accepted = common_prefix(list(choice.tokens), tokens[at + 1 :])
        new_tokens = tokens[at + 1 : at + 2 + accepted]
        policy.learn(choice, new_tokens)
        cost = c(1 + len(choice.tokens))
        tally.add(choice, accepted, cost)
        steps += cost
        at += len(new_tokens)
    return steps, tally


def oracle(trace: Trace, drafts: list[list[Draft]], c: PassCost) -> float:
    """Return the plain steps of the best choice of drafts and lengths for the whole answer, known beforehand."""
    tokens = future(trace)
    last = len(tokens) - 1
    best = [0.0] * (last + 1)
    for at in range(last - 1, -1, -1):
        right = max((common_prefix(list(some.tokens), tokens[at + 1 :]) for some in drafts[at]), default=0)
        best[at] = min(c(1 + n) + best[min(last, at + 1 + n)] for n in range(right + 1))
    return best[0]


def report(results: dict[str, list[Row]], as_json: bool) -> None:
    if as_json:
        tables = {
            name: [
                {"category": r.category, "plain": r.plain, "auto": r.plain / r.auto, "oracle": r.plain / r.oracle}
                | {"share": r.share, "worst": r.worst, "drafted": r.drafted, "accepted": r.accepted}
                for r in some
            ]
            for name, some in results.items()
        }
        print_json(tables)
        return
    for name, some in results.items():
        print(
            f"\n{name}\n{'':12}{'plain':>7}{'auto':>8}{'oracle':>8}{'share':>8}{'worst':>8}{'drafted':>9}{'accepted':>10}"
        )
        for r in some:
            print(f"{r.category:12}{r.plain:7.0f}{r.plain / r.auto:7.2f}×{r.plain / r.oracle:7.2f}×", end="")
            print(f"{r.share:8.0%}{r.worst:7.2f}×{r.drafted:9}{r.accepted:10}")


if __name__ == "__main__":
    main()
