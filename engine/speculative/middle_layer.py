"""The layer of a loaded model that drafts for the model itself: which one, and the drafter it makes in either form."""

from __future__ import annotations

from collections.abc import Callable

from engine.costs.cost_model import CostModel
from engine.protocol import DraftMode
from engine.runtime.interface import EarlyExitRuntime, Runtime
from engine.speculative.mid_layer import Exit, MidLayer
from models.failures import Failure
from models.shapes import Shapes

USUAL = 0.75  # of the layers, where nobody measured which one is best: below that untrained models agree too seldom
ONLY_GRAPH = "A layer of a model can draft only where Chickadee's own graph computes the model."
WHOLE_HEADS = (
    "A layer of a model can draft only where the model has two layers or more and all heads keep every token. Leave "
    "keys and values exact, or draft in another way."
)


class MiddleLayer:
    """`why_not`: why another library computes the model, though our own graph was asked for. `best`: the number of
    layers that is best for this model, None if it is not known; `pays`: do its drafts pay?"""

    def __init__(
        self,
        target: Runtime,
        shapes: Shapes | None,
        table: Callable[[], CostModel | None],
        why_not: str = "",
        best: int | None = None,
        pays: bool = False,
    ) -> None:
        self.target, self.shapes, self.why_not = target, shapes, why_not
        self.best, self.pays = best, pays
        self._table = table
        self._made: dict[tuple[int, bool], MidLayer] = {}

    def drafter(self, mode: DraftMode, layers: int | None) -> MidLayer:
        """In the form that `mode` asks for, with so many layers or the best. Raises Failure where they cannot draft."""
        target = self._can_exit()
        count = layers or self._usual(target.exits)
        most = target.exits[-1]
        if count not in target.exits:
            sentence = f"{count} layers cannot draft: this model has {most + 1} in all, and 1 to {most} of them can."
            raise Failure("no_such_layer", sentence)
        key = count, mode == "midlayer-published"
        if key not in self._made:
            self._made[key] = MidLayer(target, exit_of(self.shapes, count, most + 1), self._table, published=key[1])
        return self._made[key]

    def automatic(self) -> tuple[MidLayer, ...]:
        """Its drafter, if drafts of the best layer were measured to pay."""
        if (
            not self.pays
            or self.best is None
            or not isinstance(self.target, EarlyExitRuntime)
            or self.best not in self.target.exits
        ):
            return ()
        return (self.drafter("midlayer", self.best),)

    def _usual(self, exits: range) -> int:
        if self.best is not None and self.best in exits:
            return self.best
        return max(1, round(USUAL * (len(exits) + 1)))

    def _can_exit(self) -> EarlyExitRuntime:
        if not isinstance(self.target, EarlyExitRuntime):
            how = self.why_not or "Choose our own graph (--backend graph), or another way to draft."
            raise Failure("no_early_exit", f"{ONLY_GRAPH} {how}")
        if not self.target.exits:
            raise Failure("no_early_exit", WHOLE_HEADS)
        return self.target


def exit_of(shapes: Shapes | None, layers: int, of: int) -> Exit:
    """By the weights that a token reads in the first `layers` of so many."""
    if shapes is None:
        return Exit(layers, layers / of, layers / of)
    weights = [layer.pass_bytes for layer in shapes.layers]
    lower, head = sum(weights[:layers]), shapes.output.pass_bytes
    return Exit(layers, lower / sum(weights), (lower + head) / (sum(weights) + head))
