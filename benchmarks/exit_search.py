"""The search for a model's best exit layer: how often each agrees with the whole model, and what drafts would gain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from common.failures import Failure
from common.sentences import Sentence
from engine.costs.cost_model import LAPTOP, Curve
from engine.costs.measurements import CalibrationKey
from engine.runtime.interface import EarlyExitRuntime, prefill
from engine.speculative.mid_layer import Exit, ExitFound, Exits, Gain

MAX_AHEAD = 8  # tokens of the longest draft that is considered
ANSWER_TOKENS = 64  # most tokens of an answer
TIMED_PASSES = 8  # passes of each kind; the fastest counts, because other programs only slow passes down
TIMING_SHARE = 0.3  # estimated share of timing in the whole work

Agreement = Sequence[Sequence[bool]]  # per answer, whether the exit predicted each of its tokens


def best_gain(agreement: Agreement, exit: Exit, c: Callable[[int], float], look: float) -> Gain:
    """Return the best constant draft length of an exit and its speed-up.

    `c`: time of a pass of k tokens in plain steps; `look`: time of a look ahead in plain steps. Each step drafts the
    same number of tokens, or as many as the answer still has. The verifying pass does not run the lower layers again.
    """

    def step(ahead: int) -> float:
        return ahead * look + c(1 + ahead) - exit.lower * (c(1 + ahead) - 1)

    best = Gain(0.0, 1)
    for ahead in range(1, MAX_AHEAD + 1):
        tokens = sum(len(answer) for answer in agreement)
        seconds = sum(
            step(drafted) if drafted else 1.0 for answer in agreement for drafted in draft_lengths(answer, ahead)
        )
        if tokens and tokens / seconds > best.speedup:
            best = Gain(tokens / seconds, ahead)
    return best


def draft_lengths(answer: Sequence[bool], ahead: int) -> list[int]:
    """Return how many tokens each step of an answer drafts when drafts have `ahead` tokens.

    `answer` marks the tokens that the exit predicts right. A step yields the right ones and the target's own next
    token.
    """
    lengths, at = [], 0
    while at < len(answer):
        drafted = min(ahead, len(answer) - at - 1)
        right = next((i for i in range(drafted) if not answer[at + i]), drafted)
        lengths.append(drafted)
        at += right + 1
    return lengths


def candidate_exits(layers: int, most: int = 12) -> list[int]:
    """Return the numbers of layers to try, about evenly spread from a quarter of `layers` to all but one."""
    first, last = max(1, layers // 4), layers - 1
    count = min(most, last - first + 1)
    return sorted({first + round(i * (last - first) / max(1, count - 1)) for i in range(count)} | {last})


ExitPredictions = Callable[[Sequence[int], Sequence[int]], NDArray[np.int32]]


class ExitSearch:
    """Search for the exit that drafts best for a model.

    The model answers prompts; each exit predicts the answer's tokens, and its looks ahead are timed. Every step raises
    Stopped.
    """

    def __init__(
        self,
        target: EarlyExitRuntime,
        predict: ExitPredictions,
        exits: Sequence[Exit],
        c: Callable[[int], float],
        prompts: Iterable[Sequence[int]],
    ) -> None:
        """Select the prompts that fit the context. Raises Failure if none does.

        `predict(tokens, layers)`: tokens that each exit predicts after each of `tokens`, [layers, tokens]. `exits`:
        those to try, in rising order. `c`: time of a pass of k tokens in plain steps. `prompts`: as tokens.
        """
        assert [exit.layers for exit in exits] == sorted({exit.layers for exit in exits}), exits
        self.target, self.exits, self._predict, self._c = target, exits, predict, c
        room = target.n_ctx - 2 * ANSWER_TOKENS  # leaves room for the answer and for timed passes behind it
        self._prompts = [prompt for prompt in prompts if len(prompt) <= room]
        if not self._prompts:
            raise Failure(Sentence.plain(f"None of these chats leaves room for an answer in {target.n_ctx:,} tokens."))

    def measure(self, key: CalibrationKey, tokens: int) -> Iterator[float | Exits]:
        """Yield the completed fraction repeatedly, and at last the result.

        It rests on `tokens` tokens of answers or a few more.
        """
        agreement: list[list[list[bool]]] = [[] for _ in self.exits]
        seen = 0
        for prompt in cycle(self._prompts):
            for one, answer in zip(agreement, self._agreement(prompt), strict=True):
                one.append(answer)
            seen += len(agreement[0][-1])
            yield min(1.0, seen / tokens) * (1 - TIMING_SHARE)
            if seen >= tokens:
                break
        look_costs = self._look_costs()
        yield 1.0
        laptop = Curve(LAPTOP).at
        exits = tuple(
            ExitFound(
                layers=exit.layers,
                agreement=sum(map(sum, answers)) / seen,
                look=look,
                here=best_gain(answers, exit, self._c, look),
                laptop=best_gain(answers, exit, laptop, exit.look),
            )
            for exit, answers, look in zip(self.exits, agreement, look_costs, strict=True)
        )
        yield Exits(key, seen, exits)

    def _agreement(self, prompt: Sequence[int]) -> list[list[bool]]:
        """Mark, for each exit, the answer tokens (from the second on) that it would have predicted."""
        answer = self._answer(prompt)
        layers = [exit.layers for exit in self.exits]
        predictions = self._predict([*prompt, *answer[:-1]], layers)
        return [[bool(a == b) for a, b in zip(row[len(prompt) :], answer[1:], strict=True)] for row in predictions]

    def _answer(self, prompt: Sequence[int]) -> list[int]:
        """Return the model's greedy answer without the token that ends it."""
        answer: list[int] = []
        target = self.target
        target.truncate(0)
        *_, logits = prefill(target, prompt)
        while len(answer) < ANSWER_TOKENS:
            token = int(logits.row().argmax())
            if answer and target.vocabulary.is_end(token):
                break
            answer.append(token)
            logits = target.forward([token])
        return answer

    def _look_costs(self) -> list[float]:
        """Return each exit's seconds of a look ahead, divided by those of a pass of one token at the same depth."""
        target = self.target
        size, plain, look_costs = target.size, float("inf"), [float("inf")] * len(self.exits)
        for _ in range(TIMED_PASSES):
            # A token other than the one looked ahead at below, or its lower layers would not run again.
            plain = min(plain, _seconds(partial(target.forward, [1])))
            target.truncate(size)
            for i, exit in enumerate(self.exits):
                look_costs[i] = min(look_costs[i], _seconds(partial(target.look_ahead, [0], exit.layers)))
        return [seconds / plain for seconds in look_costs]


def _seconds(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started
