"""A few words about the chat in the KV cache, such as its title, written in idle time and without any cost to the chat.

Only the request for the words is read, behind the chat's own tokens, and both are taken back at the end. A chat that
would have to be read again, or that could not be gone back to, gets no title.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.generation.answer import Answer, AnswerOptions
from engine.generation.sampling import Sampler
from engine.kv.policy import AlwaysPolicy, PartialFixed
from engine.kv.session import Session
from engine.protocol.events import Finished, Text
from engine.protocol.requests import Sampling
from engine.stop import Stopped
from engine.tokenization.pictures import has_pictures

MOST_LOST = 8  # tokens of the cache that the prompt does not have: how an answer ends
MOST_READ = 128  # tokens that are read for a title: the request, and how a template ends an answer
GREEDY = Sampling(temperature=0, repeat_penalty=1)  # a title repeats words of the chat


def can_write(session: Session, prompt: Sequence[int], max_tokens: int) -> bool:
    """Return whether the session holds nearly all of the prompt, and can go back to it after `max_tokens` more."""
    end = len(prompt) + max_tokens
    runtime = session.runtime
    reused = session.reusable(prompt)
    cheap = len(prompt) - reused <= MOST_READ and len(session.tokens) - reused <= MOST_LOST
    fits = end <= min(runtime.n_ctx, session.limit, runtime.window)
    return cheap and fits and runtime.can_truncate and not has_pictures(prompt)


def write_title(session: Session, prompt: Sequence[int], stops: Sequence[str], max_tokens: int) -> str:
    """Return the first line that the model writes after the prompt; the session then holds what it held before.

    Call it only if `can_write`. Raises Stopped.
    """
    kept = session.reusable(prompt)
    options = AnswerOptions((*stops, "\n"), max_tokens)
    kv = PartialFixed(AlwaysPolicy(), session.runtime.max_batch)
    answer = Answer(session, Sampler(GREEDY, prompt), kv, options)
    text = ""
    try:
        for event in answer.events(0, prompt):
            if isinstance(event, Text):
                text += event.text
            elif isinstance(event, Finished) and event.statistics.stop_reason == "cancelled":
                raise Stopped
    finally:
        session.go_back(kept)
    return text
