"""Measures after how many layers a model drafts best for itself: it answers questions, and each layer is asked what it
would have said, and how long that takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import cycle

from engine.costs.calibrated import Key
from engine.costs.cost_model import LAPTOP, Curve
from engine.protocol import Message
from engine.runtime.graph.early_exit import guesses
from engine.runtime.graph.model import GraphModel
from engine.runtime.graph.runtime import GraphRuntime
from engine.runtime.interface import prefill
from engine.speculative.exits import ExitFound, Exits, gain
from engine.speculative.mid_layer import Exit
from engine.tokenization.template import ChatTemplate
from models.assets import asset
from models.failures import Failure

ANSWER = 64  # tokens at most
TIMED = 8  # passes of each kind, the fastest of which counts: other programs only ever make them slower
TIMING = 0.3  # of the work, about, that timing is


def questions() -> list[str]:
    return asset("midlayer/questions.txt").read_text("utf-8").splitlines()


class BestExit:
    """`exits`: those that are tried; `c`: times of passes of k tokens, in passes of one; `asked`: chats to answer
    instead of our own questions. Every step raises Stopped."""

    def __init__(
        self,
        model: GraphModel,
        target: GraphRuntime,
        exits: Sequence[Exit],
        c: Callable[[int], float],
        asked: Sequence[Sequence[Message]] = (),
    ) -> None:
        """Raises Failure where no chat fits."""
        assert [exit.layers for exit in exits] == sorted({exit.layers for exit in exits}), exits
        self.model, self.target, self.exits, self._c = model, target, exits, c
        template = ChatTemplate(model.template, model.vocabulary)
        chats = asked or [(Message("user", question),) for question in questions()]
        room = target.n_ctx - 2 * ANSWER  # for the answer, and passes that are timed behind it
        self._prompts = [prompt for prompt in map(template.tokens, chats) if len(prompt) <= room]
        if not self._prompts:
            raise Failure("bad_data", f"No chat of these leaves room for an answer in {target.n_ctx:,} tokens.")

    def measure(self, key: Key, tokens: int) -> Iterator[float | Exits]:
        """The done part, again and again; at last what was found over so many `tokens` of answers, or a few more."""
        agreed: list[list[list[bool]]] = [[] for _ in self.exits]
        seen = 0
        for prompt in cycle(self._prompts):
            for one, answer in zip(agreed, self._agreed(prompt, key.threads), strict=True):
                one.append(answer)
            seen += len(agreed[0][-1])
            yield min(1.0, seen / tokens) * (1 - TIMING)
            if seen >= tokens:
                break
        looks = self._looks()
        yield 1.0
        laptop = Curve(LAPTOP).at
        found = tuple(
            ExitFound(
                layers=exit.layers,
                agreement=sum(map(sum, answers)) / seen,
                look=look,
                here=gain(answers, exit, self._c, look),
                laptop=gain(answers, exit, laptop, exit.look),
            )
            for exit, answers, look in zip(self.exits, agreed, looks, strict=True)
        )
        yield Exits(key, seen, found)

    def _agreed(self, prompt: Sequence[int], threads: int) -> list[list[bool]]:
        """Of each exit: which of the answer's tokens, from the second on, would it have said?"""
        answer = self._answer(prompt)
        layers = [exit.layers for exit in self.exits]
        said = guesses(self.model, [*prompt, *answer[:-1]], layers, threads, self.target.stop)
        return [[bool(a == b) for a, b in zip(row[len(prompt) :], answer[1:], strict=True)] for row in said]

    def _answer(self, prompt: Sequence[int]) -> list[int]:
        """As the model writes it by itself, greedily, without the token that ends it."""
        answer: list[int] = []
        target = self.target
        target.truncate(0)
        *_, logits = prefill(target, prompt)
        while len(answer) < ANSWER:
            token = int(logits.row().argmax())
            if answer and target.vocabulary.is_end(token):
                break
            answer.append(token)
            logits = target.forward([token])
        return answer

    def _looks(self) -> list[float]:
        """Seconds of a look ahead by each exit, over those of a pass of one token at the same depth."""
        target = self.target
        size, plain, looks = target.size, float("inf"), [float("inf")] * len(self.exits)
        for _ in range(TIMED):
            # Another token than the one looked ahead at, whose lower layers would not run again.
            plain = min(plain, _seconds(partial(target.forward, [1])))
            target.truncate(size)
            for i, exit in enumerate(self.exits):
                looks[i] = min(looks[i], _seconds(partial(target.look_ahead, [0], exit.layers)))
        return [seconds / plain for seconds in looks]


def _seconds(do: Callable[[], object]) -> float:
    started = time.perf_counter()
    do()
    return time.perf_counter() - started
