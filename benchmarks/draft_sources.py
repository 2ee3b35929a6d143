"""Where the tokens of recorded answers stood before, and what a perfect drafter from each of these places would bring.

    python -m benchmarks.draft_sources --phrases MODEL [--trace FILE …] [--costs NAME …] [--json]

Sources: the chat itself; usual phrases in the tokens of MODEL; and what the user has otherwise, `own`: the answers
recorded before with their prompts, and the documents of `benchmarks.retrieval`. Times are in plain steps, as in
`benchmarks.replay`. Columns:

- `stood`: share of tokens that stood there behind the same KNOWN tokens.
- `perfect`: speed over plain decoding of a drafter that has this source and those to the left of it, and knows which
  place goes on rightly, and for how long.
- `longest`: the same of one that takes the longest match in each source, the most recent of equal ones, and knows only
  the best of these and its best length.
- `second`: share of steps in which the chat's next best match that goes on otherwise is right, and the best one is
  wrong at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.command import benchmark_parser, print_json
from benchmarks.replay import TRACE, PassCost, all_tables, future, oracle
from benchmarks.retrieval import DOCUMENTS, contents_of
from benchmarks.trace import Trace, load
from engine.costs.cost_model import Curve
from engine.loading.libraries import vocabulary
from engine.speculative.draft import Draft
from engine.speculative.ngram_counting import load_or_build_table, sentence_files
from engine.speculative.static_ngram import MAX_DRAFT, NgramTable
from engine.tokenization.tokens import common_prefix

KNOWN = 2  # tokens before a place that must be those of the answer
LONGEST_MATCH = 16  # longer matches count as equally long
BETWEEN = -1  # stands between two texts
LARGEST_DRAFT = 127  # tokens: with the newest one, the largest pass of ik_llama.cpp
SOURCES = ("chat", "phrases", "own")


@dataclass
class Text:
    """Tokens, with an index of the places behind each KNOWN tokens."""

    tokens: list[int] = field(default_factory=list)
    places: dict[tuple[int, ...], list[int]] = field(default_factory=lambda: defaultdict(list))

    def extend(self, tokens: Sequence[int]) -> None:
        for token in tokens:
            self.places[tuple(self.tokens[-KNOWN:])].append(len(self.tokens))
            self.tokens.append(token)

    def matches(self, before: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield each place that a token stands at behind the last KNOWN ones of `before`, with its match's length."""
        ending = list(reversed(before[-LONGEST_MATCH:]))
        for place in self.places.get(tuple(before[-KNOWN:]), ()):
            yield place, common_prefix(ending, self.tokens[max(0, place - LONGEST_MATCH) : place][::-1])


@dataclass(frozen=True, slots=True)
class Runs:
    """Counts, for each token of an answer, of the tokens behind it that a drafter would foretell rightly.

    `perfect`: at the best place, `longest`: at that of the longest match; `second`: at the next best match that goes on
    with another token, where the longest one is wrong at once.
    """

    perfect: list[int]
    longest: list[int]
    second: list[int]

    def add(self, text: Text, before: Sequence[int], source: Sequence[int], rest: Sequence[int]) -> None:
        """Add the token at the end of `before`; `source` is the text with its continuation."""
        places = sorted(((length, place) for place, length in text.matches(before)), reverse=True)
        right = [common_prefix(source[place : place + len(rest)], rest) for _, place in places]
        others = [n for n, (_, place) in zip(right, places, strict=True) if source[place] != source[places[0][1]]]
        self.perfect.append(max(right, default=0))
        self.longest.append(right[0] if right else 0)
        self.second.append(others[0] if others else 0)


def runs_in_chat(trace: Trace) -> Runs:
    """Return how the answer runs along what its chat held before; a copy of its newest tokens goes on with itself."""
    text, answer, runs = Text(), future(trace), Runs([], [], [])
    text.extend(trace.prompt)
    for at in range(1, len(answer)):
        text.extend(answer[at - 1 : at])
        runs.add(text, text.tokens, text.tokens + answer[at:], answer[at:])
    return runs


def runs_in_text(text: Text, trace: Trace) -> Runs:
    """Return how the answer runs along a text."""
    before, answer, runs = list(trace.prompt), future(trace), Runs([], [], [])
    for at in range(1, len(answer)):
        before.append(answer[at - 1])
        runs.add(text, before, text.tokens, answer[at:])
    return runs


def runs_of_phrases(table: NgramTable, languages: int, prompt: Sequence[int], answer: Sequence[int]) -> Runs:
    """Return how the answer runs along usual phrases, if their language were always known."""
    tokens, right = [*prompt, *answer], []
    for at in range(len(prompt) + 1, len(tokens)):
        best = 0
        for language in range(languages):
            length = 0
            while length < MAX_DRAFT and at + length < len(tokens):
                expected = table.next_token(language, *tokens[at + length - 2 : at + length])
                if not expected or expected[0] != tokens[at + length]:
                    break
                length += 1
            best = max(best, length)
        right.append(best)
    return Runs(right, right, [])


def read_documents(path: Path) -> list[list[int]]:
    """Return the tokens of the documents of `benchmarks.retrieval`, by the vocabulary of the model at `path`."""
    with vocabulary(path) as words:
        return [words.tokenize(text, special=False) for text in contents_of(DOCUMENTS).values()]


@dataclass
class Kind:
    """Sums over the answers of a kind of prompt: `stood` counts tokens by source, `perfect` and `longest` plain steps.

    Those are by the last of the SOURCES that are drafted from.
    """

    plain: float = 0
    tokens: int = 0
    second: int = 0
    stood: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    perfect: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    longest: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def add(self, trace: Trace, by_source: dict[str, Runs], c: PassCost) -> None:
        """Add an answer."""
        self.plain += trace.steps
        self.tokens += len(future(trace)) - 1
        self.second += sum(n > 0 for n in by_source["chat"].second)
        perfect = longest = [0] * (len(future(trace)) - 1)
        for source in SOURCES:
            runs = by_source[source]
            self.stood[source] += sum(n > 0 for n in runs.perfect)
            perfect = list(map(max, perfect, runs.perfect))
            longest = list(map(max, longest, runs.longest))
            self.perfect[source] += best_steps(trace, perfect, c)
            self.longest[source] += best_steps(trace, longest, c)


def best_steps(trace: Trace, right: Sequence[int], c: PassCost) -> float:
    """Return the plain steps of an answer whose drafts are right for so many tokens, in the best lengths."""
    tokens, drafts = future(trace), list[list[Draft]]()
    for at, n in enumerate(right, 1):
        line = tuple(tokens[at : at + min(n, LARGEST_DRAFT)])
        drafts.append([Draft(line, "", (), (1.0,) * len(line))] if line and line[-1] != BETWEEN else [])
    return oracle(trace, drafts, c)


def kinds(traces: Sequence[Trace], c: PassCost, table: NgramTable, documents: list[list[int]]) -> dict[str, Kind]:
    """Return the sums by kind of prompt; what was recorded before an answer belongs to the user's own texts."""
    own, by_kind = Text(), defaultdict[str, Kind](Kind)
    for tokens in documents:
        own.extend((*tokens, BETWEEN))
    languages = len(sentence_files())
    for trace in traces:
        runs = {
            "chat": runs_in_chat(trace),
            "own": runs_in_text(own, trace),
            "phrases": runs_of_phrases(table, languages, trace.prompt, future(trace)),
        }
        by_kind[trace.category].add(trace, runs, c)
        own.extend((*trace.prompt, *trace.output, BETWEEN))
    return by_kind


def main() -> None:
    parser = benchmark_parser("draft_sources", __doc__, models="none")
    parser.add_argument("--phrases", type=Path, metavar="MODEL", required=True, help="the model that gave the answers")
    parser.add_argument("--trace", type=Path, nargs="+", default=[TRACE])
    parser.add_argument("--costs", choices=list(all_tables()), nargs="+", metavar="COSTS", default=["products"])
    options = parser.parse_args()
    traces = [trace for path in options.trace for trace in load(path)]
    documents, table = (
        read_documents(options.phrases),
        load_or_build_table(options.phrases, vocabulary(options.phrases)),
    )
    tables = {name: kinds(traces, Curve(all_tables()[name]).at, table, documents) for name in options.costs}
    if options.json:
        return print_json(tables)
    for name, by_kind in tables.items():
        sources = "".join(f"{source:>9}" for source in SOURCES)
        print(f"\n{name}\n{'':12}{'stood':<27}{'perfect':<27}{'longest':<27}  second\n{'':12}{sources * 3}")
        for kind, sums in by_kind.items():
            print(f"{kind:12}" + "".join(f"{sums.stood[source] / sums.tokens:9.0%}" for source in SOURCES), end="")
            for steps in (sums.perfect, sums.longest):
                print("".join(f"{sums.plain / steps[source]:8.2f}×" for source in SOURCES), end="")
            print(f"{sums.second / sums.tokens:8.1%}")


if __name__ == "__main__":
    main()
