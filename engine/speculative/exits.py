"""Which layer of a model drafts best, and does that pay? Measured on the model's own answers, worked out, and kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import cycle

import msgspec
import numpy as np
from numpy.typing import NDArray

from common.failures import Failure
from common.store import Store
from engine.costs.cost_model import LAPTOP, Curve
from engine.costs.measurements import Key
from engine.runtime.interface import EarlyExitRuntime, prefill
from engine.speculative.mid_layer import Exit
from models.assets import asset
from models.header import Header

KEY = "chickadee.exit_layer"  # metadata of a file whose model was trained to be left after so many layers
MOST_AHEAD = 8  # tokens
PAYS = 1.05  # a gain below is within the noise of the costs
ANSWER = 64  # tokens at most
TIMED = 8  # passes of each kind, the fastest of which counts: other programs only ever make them slower
TIMING = 0.3  # of the work, about, that timing is

Agreed = Sequence[Sequence[bool]]  # of each answer: did the layer say the token that came?


class Gain(msgspec.Struct, frozen=True):
    """Plain decoding's time over that of always drafting so many tokens `ahead`, the best number."""

    speedup: float
    ahead: int


class ExitFound(msgspec.Struct, frozen=True):
    """`agreement`: share of tokens; `look`: seconds of a look ahead over those of a plain pass. `here`: on this
    machine; `laptop`: where memory bandwidth is the limit."""

    layers: int
    agreement: float
    look: float
    here: Gain
    laptop: Gain


class Exits(msgspec.Struct, frozen=True):
    """What was measured over so many `tokens` of the model's own answers."""

    key: Key
    tokens: int
    found: tuple[ExitFound, ...]

    @property
    def best(self) -> ExitFound:
        """The fastest on this machine."""
        return max(self.found, key=lambda each: each.here.speedup)

    @property
    def pays(self) -> bool:
        """Is the fastest faster than plain decoding, beyond the noise of the costs?"""
        return self.best.here.speedup >= PAYS


EXITS = Store("exits", 2, Exits)


def gain(agreed: Agreed, exit: Exit, c: Callable[[int], float], look: float) -> Gain:
    """`c`: time of a pass of k tokens in plain steps; `look`: that of a look ahead. One always drafts as many tokens,
    or as many as the answer still has; the lower layers are not run again by the pass that verifies them."""

    def step(ahead: int) -> float:
        return ahead * look + c(1 + ahead) - exit.lower * (c(1 + ahead) - 1)

    best = Gain(0.0, 1)
    for ahead in range(1, MOST_AHEAD + 1):
        tokens = sum(len(answer) for answer in agreed)
        seconds = sum(step(drafted) if drafted else 1.0 for answer in agreed for drafted in drafts(answer, ahead))
        if tokens and tokens / seconds > best.speedup:
            best = Gain(tokens / seconds, ahead)
    return best


def drafts(answer: Sequence[bool], ahead: int) -> list[int]:
    """How many tokens each step of an answer drafts; of these the right ones come, and the target's own next one."""
    found, at = [], 0
    while at < len(answer):
        drafted = min(ahead, len(answer) - at - 1)
        right = next((i for i in range(drafted) if not answer[at + i]), drafted)
        found.append(drafted)
        at += right + 1
    return found


def candidates(layers: int, most: int = 12) -> list[int]:
    """Numbers of layers, about evenly spread from a quarter of `layers` to all but one."""
    first, last = max(1, layers // 4), layers - 1
    count = min(most, last - first + 1)
    return sorted({first + round(i * (last - first) / max(1, count - 1)) for i in range(count)} | {last})


def keep(exits: Exits) -> None:
    """Raises Failure where it cannot be written."""
    try:
        EXITS.put(exits, *_address(exits.key))
    except OSError as error:
        raise Failure("unwritable.results", folder=EXITS.folder, reason=error.strerror) from error


def kept(key: Key) -> Exits | None:
    """What is kept for this model, machine and library; None if there is nothing usable."""
    found = EXITS.get(*_address(key))
    return found if found and found.key == key and found.found else None


def _address(key: Key) -> tuple[str, int, str]:
    return key.model, key.threads, key.build.partition(" ")[0]


def trained(header: Header) -> tuple[int, ...]:
    """The number of layers that the file's model was trained to be left after, if it was."""
    layers = header.metadata.get(KEY)
    return (layers,) if isinstance(layers, int) and not isinstance(layers, bool) and layers > 0 else ()


def questions() -> list[str]:
    """What a model is asked, to see what its layers would answer."""
    return asset("midlayer/questions.txt").read_text("utf-8").splitlines()


Guesses = Callable[[Sequence[int], Sequence[int]], NDArray[np.int32]]


class BestExit:
    """Measures after how many layers a model drafts best for itself: it answers prompts, and each layer is asked what
    it would have said, and how long that takes. Every step raises Stopped."""

    def __init__(
        self,
        target: EarlyExitRuntime,
        guesses: Guesses,
        exits: Sequence[Exit],
        c: Callable[[int], float],
        prompts: Iterable[Sequence[int]],
    ) -> None:
        """`guesses(tokens, layers)`: what each of these layers would say after each token, an array of a row a layer;
        `exits`: those that are tried; `c`: times of passes of k tokens, in passes of one; `prompts`: as tokens.

        Raises Failure where no prompt fits."""
        assert [exit.layers for exit in exits] == sorted({exit.layers for exit in exits}), exits
        self.target, self.exits, self._guesses, self._c = target, exits, guesses, c
        room = target.n_ctx - 2 * ANSWER  # for the answer, and passes that are timed behind it
        self._prompts = [prompt for prompt in prompts if len(prompt) <= room]
        if not self._prompts:
            raise Failure("bad_data.long_chats", n_ctx=target.n_ctx)

    def measure(self, key: Key, tokens: int) -> Iterator[float | Exits]:
        """The done part, again and again; at last what was found over so many `tokens` of answers, or a few more."""
        agreed: list[list[list[bool]]] = [[] for _ in self.exits]
        seen = 0
        for prompt in cycle(self._prompts):
            for one, answer in zip(agreed, self._agreed(prompt), strict=True):
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

    def _agreed(self, prompt: Sequence[int]) -> list[list[bool]]:
        """Of each exit: which of the answer's tokens, from the second on, would it have said?"""
        answer = self._answer(prompt)
        layers = [exit.layers for exit in self.exits]
        said = self._guesses([*prompt, *answer[:-1]], layers)
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
