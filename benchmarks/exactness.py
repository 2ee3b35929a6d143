"""Effect of drafts on greedy answers: how many differ, and how near a tie was where they first differ.

    python -m benchmarks.exactness [--model M] [--backend llama|ik] [--prompts N] [--tokens N] [--threads N] [--json]

Passes of several tokens add the same numbers in another order than passes of one, so a near-tie may go either way.
`gap`: by how much plain decoding preferred its own token to the other one, as a part of the spread of its logits. The
policy is told that passes cost the same whatever their size, so that drafts are as long as possible.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from statistics import median

from benchmarks.command import benchmark_parser, print_json
from benchmarks.drafting import selected
from benchmarks.peers import GREEDY
from benchmarks.prompts import Prompt, prompts
from engine.commands.terminal import notes_to_stderr
from engine.costs.cost_model import CostModel, Timings
from engine.generation.decode import decode
from engine.generation.sampling import Sampler
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.loading.libraries import BACKENDS, backend
from engine.machine import default_threads
from engine.run_subprocess import set_environment
from engine.runtime.contexts import ContextOptions
from engine.speculative.drafting import Auto, Drafting
from engine.speculative.policy import DraftPolicy
from engine.speculative.prompt_lookup import PromptLookup
from engine.stop import StopFlag
from engine.tokenization.template import ChatTemplate
from engine.tokenization.tokens import common_prefix

FREE_PASSES = CostModel(Timings({0: dict.fromkeys((1, 8, 48), 1.0)}, 0.0, 512, 2.0))


@dataclass(frozen=True, slots=True)
class Comparison:
    """An answer with drafts beside the plain one: tokens drafted and accepted, and the gap at their first difference.

    `gap` is None if the answers are equal.
    """

    category: str
    tokens: int
    drafted: int
    accepted: int
    gap: float | None


def main() -> None:
    parser = benchmark_parser("exactness", __doc__)
    parser.add_argument("--backend", choices=BACKENDS, default="llama")
    parser.add_argument("--prompts", type=int, help="prompts of each kind (default: all)")
    parser.add_argument("--tokens", type=int, default=128, help="longest answer")
    parser.add_argument("--threads", type=int, default=default_threads())
    options = parser.parse_args()
    notes_to_stderr()
    library = backend(options.backend)
    with closing(library.load(options.model)) as model:
        context = ContextOptions(n_ctx=4096, threads=options.threads)
        with closing(library.target(model, context, StopFlag())) as target:
            template = ChatTemplate(model.template, model.vocabulary)
            session = Session(target)
            comparisons = [
                compared(session, template, one, options.tokens) for one in selected(prompts(), options.prompts, None)
            ]
    if options.json:
        print_json(comparisons)
    else:
        print(summary(comparisons))


def compared(session: Session, template: ChatTemplate, prompt: Prompt, most: int) -> Comparison:
    tokens = list(template.tokens(prompt.messages))
    answer(session, tokens, 1, Drafting())  # so that both answers come from the same keys and values of the prompt
    plain, _, _ = answer(session, tokens, most, Drafting())
    drafting = Auto((PromptLookup(),), DraftPolicy(), FREE_PASSES)
    other, drafted, accepted = answer(session, tokens, most, drafting)
    same = common_prefix(plain, other)
    gap = None
    if same < min(len(plain), len(other)):
        answer(session, tokens, same + 1, Drafting())
        assert session.logits
        logits = session.logits.row()
        gap = float((logits[plain[same]] - logits[other[same]]) / (logits.max() - logits.min()))
    return Comparison(prompt.category, len(plain), drafted, accepted, gap)


def answer(session: Session, prompt: list[int], most: int, drafting: Drafting) -> tuple[list[int], int, int]:
    """Return the answer's tokens, and how many tokens were drafted and accepted."""
    for _ in session.prefill(prompt):
        pass
    sampler = Sampler(GREEDY, prompt)
    tokens: list[int] = []
    drafted = accepted = 0
    for step in decode(session, sampler, PartialFixed(AlwaysPolicy(), session.runtime.max_batch), most, drafting):
        tokens.extend(step.tokens)
        if step.source:
            drafted += step.source.drafted
            accepted += step.source.accepted
    return tokens, drafted, accepted


def summary(comparisons: list[Comparison]) -> str:
    gaps = sorted(one.gap for one in comparisons if one.gap is not None)
    tokens, drafted = sum(one.tokens for one in comparisons), sum(one.drafted for one in comparisons)
    accepted = sum(one.accepted for one in comparisons)
    lines = [f"{len(comparisons)} answers, {tokens:,} tokens; {drafted:,} drafted, {accepted:,} accepted"]
    lines.append(f"{len(comparisons) - len(gaps)} answers equal to plain decoding's")
    if gaps:
        lines.append(f"gap at the first difference of the others: median {median(gaps):.4f}, largest {gaps[-1]:.4f}")
    return "\n".join(lines)


if __name__ == "__main__":
    set_environment()
    main()
