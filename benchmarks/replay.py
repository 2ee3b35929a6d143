"""Replay recorded answers through drafters and policy, without a model: what they save, and could save at most.

    python -m benchmarks.replay record --model M [--threads N] --out FILE
    python -m benchmarks.replay [--trace FILE] [--costs machine|ik|products|laptop|between|KIND …] [--phrases MODEL]
                                [--half tuning|held-out|all] [--noise SHARE] [--without PART …] [--steps] [--json]
    python -m benchmarks.replay parts [--trace FILE] [--costs …] [--phrases MODEL] [--noise SHARE] [--without PART …]

`auto` is the policy with prompt lookup, and with static n-grams if MODEL is named, the model that gave the answers. The
oracle has the same drafts and knows the best lengths beforehand, over the whole answer; a tree could not help it, since
it costs more than the right line alone. Times are in plain steps (one-token passes) from a table of pass costs; the
policy's own time is not counted. In each half the policy begins knowing nothing and learns from answer to answer; its
first beliefs were fitted to the tuning half (`benchmarks.fit_prior`).

KIND is a library, a kind of processor and a number of threads: `ik-avx2-4` has the costs that the table of prior
timings gives a Q4_K model there (`engine.costs.cost_prior`), with as fast a memory as that of the table's machine.
`--steps` prints, in place of speeds, what the steps of each category were: without a draft, with a wrong one, with one
that was right in part or as a whole, and what each cost.

`--without` disables parts (`benchmarks.ablation`); `parts` disables each in turn, or each that `--without` names.
`--noise`: passes cost up to that share more or less than was calibrated, size by size, and what they really cost is
observed with the noise of other programs, as in the engine (`engine.costs.cost_model.Drift`).
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from benchmarks.ablation import PARTS, disable_part
from benchmarks.trace import ANSWER_TOKENS, Trace, load, record, save
from common.planning import Computer
from engine.costs.cost_model import KS, LAPTOP, CostModel, Curve, Timings
from engine.costs.cost_prior import ModelTraits, prior_table, scale_row
from engine.loading.libraries import vocabulary
from engine.speculative.draft import Draft, Drafter
from engine.speculative.drafting import Tally
from engine.speculative.ngram_counting import load_or_build_table
from engine.speculative.policy import MAX_DRAFTED, DraftPolicy, StepCosts
from engine.speculative.prompt_lookup import PromptLookup
from engine.speculative.static_ngram import StaticNgram
from engine.tokenization.tokens import common_prefix
from models.shapes import WeightReads

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
        model = ModelTraits(row.weights, WeightReads(row.pass_bytes), 0)
        for threads in SIMULATED_THREADS:
            timings = scale_row(row, model, "f16", Computer((), row.bandwidth, threads))
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
        return [PromptLookup(), *([StaticNgram(table)] if table and "n-grams" not in options.without else [])]

    if options.command == "parts":
        return report_parts(options, traces, drafters)
    with ExitStack() as disabled:
        for part in options.without:
            disabled.enter_context(disable_part(part))
        if options.steps:
            report_steps(options, traces, drafters)
        else:
            report(results(options, traces, drafters), options.json)
    return None


def record_traces(options: argparse.Namespace) -> None:
    traces = []
    for trace in record(options.model, options.threads):
        traces.append(trace)
        print(f"{len(traces):3} {trace.category:12} {len(trace.prompt):5} {len(trace.output):4}")
    save(options.out, options.model, traces)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="?", choices=["replay", "record", "parts"], default="replay")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trace", type=Path, default=TRACE)
    parser.add_argument("--costs", choices=list(all_tables()), nargs="+", metavar="COSTS")
    parser.add_argument("--half", choices=["tuning", "held-out", "all"], default="all")
    parser.add_argument("--phrases", type=Path, metavar="MODEL", help="draft usual phrases in its tokens too")
    parser.add_argument("--noise", type=float, default=0.0, help="by how much the costs are off, 0.1: up to 10 %%")
    parser.add_argument("--without", nargs="+", choices=PARTS, default=[], metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--steps", action="store_true", help="what the steps were, in place of speeds")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.command == "record" and not (options.model and options.out):
        parser.error("record needs --model and --out")
    return options


MakeDrafters = Callable[[], Iterable[Drafter]]


def results(options: argparse.Namespace, traces: list[Trace], drafters: MakeDrafters) -> dict[str, list[Row]]:
    """Return rows by table of costs and half."""
    halves = ["tuning", "held-out"] if options.half == "all" else [options.half]
    proposals = [propose_drafts(trace, drafters()) for trace in traces]
    found = {}
    for name in options.costs or TABLES:
        for half in halves:
            chosen = [(t, p) for t, p in zip(traces, proposals, strict=True) if t.held_out == (half == "held-out")]
            found[f"{name}, {half}"] = rows(chosen, Machine(all_tables()[name], options.noise))
    return found


def report_parts(options: argparse.Namespace, traces: list[Trace], drafters: MakeDrafters) -> None:
    """Print what each part is worth: how much slower answers are without it, and the slowest of them."""
    chosen, options.without = options.without or list(PARTS), []
    names = options.costs or ["machine", "ik", "laptop"]
    options.costs = names

    def speeds() -> dict[str, tuple[float, float]]:
        found = results(options, traces, drafters)
        sums = {name: [rows[-1] for key, rows in found.items() if key.startswith(f"{name},")] for name in names}
        return {n: (sum(r.plain for r in s) / sum(r.auto for r in s), min(r.worst for r in s)) for n, s in sums.items()}

    whole = speeds()
    print(f"{'without':24}" + "".join(f"{name:>24}" for name in names))
    print(f"{'nothing':24}" + "".join(f"{whole[n][0]:14.3f}×{whole[n][1]:8.2f}×" for n in names), flush=True)
    for part in chosen:
        options.without = [part]
        with disable_part(part):
            found = speeds()
        cells = [f"{found[n][0] / whole[n][0] - 1:+14.1%} {found[n][1]:8.2f}×" for n in names]
        print(f"{part:24}" + "".join(cells), flush=True)


class Machine:
    """A machine's pass costs in plain steps: calibrated with errors up to `noise`, learned from simulated passes."""

    def __init__(self, table: dict[int, float], noise: float) -> None:
        self._real = Curve(table).at
        self._dice = random.Random(noise)
        off = {k: self._real(k) * self._dice.uniform(1 - noise, 1 + noise) if k > 1 else 1.0 for k in KS}
        self._noise = noise
        self.model = CostModel(Timings({0: off}, 0.0, 512, self._real(512)))

    @property
    def costs(self) -> StepCosts:
        """Pass costs as the policy believes them."""
        if not self._noise:
            return StepCosts(self._real, lambda: 1.0)
        return StepCosts(lambda k: self.model.pass_seconds(k, 0), lambda: self.model.pass_seconds(1, 0))

    def run_pass(self, k: int) -> float:
        """Return the true cost of a pass of `k` tokens, and let the model observe that cost with noise.

        One in ten passes is disturbed.
        """
        seconds = self._real(k)
        if self._noise:
            disturbed = self._dice.uniform(0, 1) if self._dice.random() < 0.1 else 0
            self.model.observe(k, 0, seconds * (1 + self._dice.uniform(0, 0.06) + disturbed))
        return seconds

    def c(self, k: int) -> float:
        """Return the true cost of a pass of `k` tokens."""
        return self._real(k)


def propose_drafts(trace: Trace, drafters: Iterable[Drafter]) -> list[list[Draft]]:
    """Return, for each output token, the drafts before the step that begins after it: they depend on the text only.

    As in the decode loop no more is drafted than the answer may still hold beside the target's own next token.
    """
    found: list[list[Draft]] = [[] for _ in trace.output]
    for drafter in drafters:
        drafter.begin(trace.prompt)
        for i, token in enumerate(trace.output, 1):
            drafter.extend((token,))
            most = min(MAX_DRAFTED, ANSWER_TOKENS - i - 1)
            found[i - 1] += [replace(draft, cost_seconds=0) for draft in drafter.propose(most)]
    return found


def rows(chosen: Sequence[tuple[Trace, list[list[Draft]]]], machine: Machine) -> list[Row]:
    """Return a row for each category, and one for all; one policy learns from all answers in turn."""
    policy, found = DraftPolicy(), dict[str, Row]()
    for trace, drafts in chosen:
        steps, tally = auto(policy, trace, drafts, machine)
        best = oracle(trace, drafts, machine.c)
        row = Row(trace.category, trace.steps, steps, best, trace.steps / steps, tally.drafted, tally.accepted)
        found[trace.category] = total(
            trace.category, [found[trace.category], row] if trace.category in found else [row]
        )
    return [*found.values(), total("all", list(found.values()))]


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


def auto(policy: DraftPolicy, trace: Trace, drafts: list[list[Draft]], machine: Machine) -> tuple[float, Tally]:
    """Return the plain steps that the policy needs for an answer, and what it drafted."""
    tokens, at, steps, tally = future(trace), 0, 0.0, Tally()
    policy.begin()
    while at < len(tokens) - 1:
        choice = policy.choose(drafts[at], machine.costs)
        accepted = common_prefix(list(choice.tokens), tokens[at + 1 :])
        new_tokens = tokens[at + 1 : at + 2 + accepted]
        policy.learn(choice, new_tokens)
        seconds = machine.run_pass(1 + len(choice.tokens))
        tally.add(choice, accepted, seconds)
        steps += seconds
        at += len(new_tokens)
    return steps, tally


@dataclass(slots=True)
class Steps:
    """Steps of one outcome: their number, their tokens, and their cost in plain steps."""

    count: int = 0
    tokens: int = 0
    cost: float = 0.0

    def mean(self, of: float) -> float:
        """Return the share of one step in a sum; 0 if there was none."""
        return of / self.count if self.count else 0.0


OUTCOMES = ("no draft", "wrong", "partly right", "right")


def outcome(drafted: int, accepted: int) -> str:
    """Return what a step with so many drafted and accepted tokens was."""
    if not drafted:
        return "no draft"
    return "wrong" if not accepted else "right" if accepted == drafted else "partly right"


def steps_by_outcome(
    policy: DraftPolicy, trace: Trace, drafts: list[list[Draft]], machine: Machine, found: dict[str, Steps]
) -> None:
    """Add the steps of an answer to `found`, by their outcome."""
    tokens, at = future(trace), 0
    policy.begin()
    while at < len(tokens) - 1:
        choice = policy.choose(drafts[at], machine.costs)
        accepted = common_prefix(list(choice.tokens), tokens[at + 1 :])
        new_tokens = tokens[at + 1 : at + 2 + accepted]
        policy.learn(choice, new_tokens)
        steps = found[outcome(len(choice.tokens), accepted)]
        steps.count, steps.tokens = steps.count + 1, steps.tokens + len(new_tokens)
        steps.cost += machine.run_pass(1 + len(choice.tokens))
        at += len(new_tokens)


def report_steps(options: argparse.Namespace, traces: list[Trace], drafters: MakeDrafters) -> None:
    """Print the share of each outcome among the steps of a category, with the mean cost and tokens of such a step."""
    proposals = [propose_drafts(trace, drafters()) for trace in traces]
    for name in options.costs or ["products", "laptop"]:
        policy, machine = DraftPolicy(), Machine(all_tables()[name], options.noise)
        found: dict[str, dict[str, Steps]] = {}
        for trace, drafts in zip(traces, proposals, strict=True):
            of_category = found.setdefault(trace.category, {each: Steps() for each in OUTCOMES})
            steps_by_outcome(policy, trace, drafts, machine, of_category)
        print(f"\n{name}\n{'':12}{'steps':>7}" + "".join(f"{each:>26}" for each in OUTCOMES))
        for category, outcomes in found.items():
            steps = sum(each.count for each in outcomes.values())
            cells = [
                f"{each.count / steps:9.0%} {each.mean(each.cost):7.2f} {each.mean(each.tokens):8.2f}"
                for each in outcomes.values()
            ]
            print(f"{category:12}{steps:7}" + "".join(cells), flush=True)
        print("(share of the steps, cost of such a step in plain ones, tokens that it gave)")


def oracle(trace: Trace, drafts: list[list[Draft]], c: Callable[[int], float]) -> float:
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
        print(json.dumps(tables))
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
