"""Why a memory plan is as it is: its sentences for the user. Decides nothing."""

from __future__ import annotations

from engine.loading.memory_budget import Budget
from engine.loading.memory_parts import Choice
from models.byte_sizes import show_bytes

GROWS = "The KV cache starts small and grows with the chat; the numbers are for a full context."


def usable(budget: Budget) -> str:
    size = show_bytes(budget.usable)
    if budget.limit is not None:
        return f"{size} of the budget of {show_bytes(budget.limit)} can be used"
    return f"{size} are available, {show_bytes(budget.reserve)} left for other programs"


def given_up(first: Choice, choice: Choice, short_n_ctx: int | None) -> tuple[str, ...]:
    """What `choice` does without that `first` has, because memory is short; empty when they are the same."""
    said = []
    if choice.mmap != first.mmap:
        said.append("To save memory the weights are read into memory once instead of twice; loading takes longer.")
    if choice.repack != first.repack:
        said.append("To save memory the weights are not repacked for this processor: answers are 1.2× slower.")
    if choice.n_batch != first.n_batch:
        said.append(f"To save memory prompts are read {choice.n_batch} tokens at a time, a little slower.")
    if choice.kv_type != first.kv_type:
        said.append("To save memory keys and values are stored as q8_0, half the size of f16 and nearly as exact.")
    if short_n_ctx:
        said.append(f"Memory is short: the context is only {short_n_ctx:,} tokens.")
    return tuple(said)


def cut(trained: int) -> tuple[str, ...]:
    return (f"The model was trained for {trained:,} tokens of context; more than that is not used.",)


def held_twice(repacked: int) -> str:
    size = show_bytes(repacked)
    return f"{size} of the weights are held twice, as in the file and repacked for this processor: 1.2× faster."


def more_context(trained: int, fitting: int) -> str:
    """`fitting` is the largest context that would fit, 0 if it is the planned one."""
    largest = f"up to {fitting:,} tokens would fit" if fitting else "no more fits"
    return f"The model can use {trained:,} tokens of context; {largest}."


def without_draft(name: str, together: int, n_ctx: int) -> str:
    """`together`: bytes of the model and the draft model with a context of `n_ctx` tokens."""
    size = show_bytes(together)
    return f"The draft model {name} is left out: with it {size} would be needed for a context of {n_ctx:,} tokens."


def large_draft(name: str) -> str:
    return f"The draft model {name} is no smaller than the model it drafts for: it can hardly pay."
