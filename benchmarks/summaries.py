"""Long chats: which facts survive summing up the oldest turns, and how long the next question then waits.

    python -m benchmarks.summaries [--model M] [--turns N] [--ctx N] [--backend llama|ik|graph] [--json]

A chat of N turns tells facts, each in a turn of its own between texts on other subjects, until it is longer than the
context. Its oldest turns are then summed up as the window does it (`app.state.summary`). Afterwards each fact is asked
for, in three ways: of the chat with its summary, of the chat whose oldest turns are left out, and of the fact's own
turn alone, which is the most that this model can answer. An answer is right if it contains the fact's word.

The seconds: of writing the summaries and of reading the chat again, both of which the window does in idle time, and the
median to the first word of a question afterwards, which the user waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from statistics import median

from app.state.prompt import drop_oldest_turns, last_summed_up, prompt_of
from app.state.summary import is_full, most_written, old_turns, texts_of, turns_of
from app.store.chat import ChatMessage
from benchmarks.command import benchmark_parser, print_json
from benchmarks.prompts import TEXTS
from engine.engine import Engine
from engine.loading.libraries import BACKENDS
from engine.protocol.events import WRITTEN, Text
from engine.protocol.requests import Count, Generate, Load, Message, Prepare, Sampling
from engine.run_subprocess import set_environment

GREEDY = Sampling(temperature=0)
ANSWER = 24  # tokens


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that the user tells, the later question, and the words of which a right answer contains one, with bars."""

    told: str
    question: str
    words: str

    def is_in(self, text: str) -> bool:
        return any(word in text.lower() for word in self.words.split("|"))


FACTS = tuple(Fact(*fact) for fact in (
    ("My dog is called Biscuit.", "What is my dog called?", "biscuit"),
    ("My sister lives in Trondheim.", "In which town does my sister live?", "trondheim"),
    ("Our meeting was moved to the 14th of May.", "On which date is our meeting now?", "14"),
    ("I am allergic to hazelnuts.", "What am I allergic to?", "hazelnut"),
    ("The new shed may cost 2,750 euros at most.", "How many euros may the shed cost at most?", "2,750"),
    ("My thesis is about peat bogs.", "What is my thesis about?", "peat"),
    ("We have decided to paint the kitchen green.", "Which colour will the kitchen be?", "green"),
    ("My teacher at the piano is Mrs Okafor.", "Who teaches me the piano?", "okafor"),
    ("The train leaves from platform 9.", "From which platform does the train leave?", "9"),
    ("I drive an old Volvo.", "What make of car do I drive?", "volvo"),
    ("My flat is on the sixth floor.", "On which floor is my flat?", "sixth|6th"),
    ("The password hint is the name of a river, Severn.", "Which river is the password hint?", "severn"),
    ("Please always answer in short sentences.", "How should you always answer me?", "short"),
    ("The choir sings on Tuesdays.", "On which day does the choir sing?", "tuesday"),
    ("My grandmother was born in 1931.", "In which year was my grandmother born?", "1931"),
    ("I do not drink coffee, only rooibos.", "What do I drink?", "rooibos"),
    ("The cat broke the blue vase.", "What did the cat break?", "vase"),
    ("Our project is named Lantern.", "What is our project named?", "lantern"),
    ("The plumber comes at half past seven.", "When does the plumber come?", "half past seven|7:30"),
    ("My favourite painter is Munch.", "Who is my favourite painter?", "munch"),
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """Shares of the `asked` facts that were answered; times in seconds; sizes in tokens."""

    asked: int
    alone: float
    summed_up: float
    left_out: float
    summaries: int
    chat_tokens: int
    kept_tokens: int
    writing_seconds: float
    reading_seconds: float
    first_word_seconds: float
    summary: str


def main() -> None:
    parser = benchmark_parser("summaries", __doc__)
    parser.add_argument("--turns", type=int, default=40, help="turns of the chat (default: 40)")
    parser.add_argument("--ctx", type=int, default=4096, help="limit of the context in tokens (default: 4096)")
    parser.add_argument("--backend", choices=BACKENDS, default="llama", help="what computes (default: llama)")
    options = parser.parse_args()
    with closing(Engine()) as engine:
        n_ctx = engine.load(Load(0, str(options.model), n_ctx=options.ctx, backend=options.backend)).model.n_ctx
        result = measure(engine, n_ctx, options.turns)
    if options.json:
        print_json(result)
        return
    print(f"{options.model.name}: a chat of {result.chat_tokens:,} tokens in a context of {n_ctx:,}")
    print(f"  {result.summaries} summaries, then {result.kept_tokens:,} tokens are read")
    print(f"  of {result.asked} facts: alone {result.alone:.0%}, with the summary {result.summed_up:.0%}, "
          f"left out {result.left_out:.0%}")  # fmt: skip
    print(f"  in idle time: writing {result.writing_seconds:.1f} s, reading again {result.reading_seconds:.1f} s; "
          f"first word then after {result.first_word_seconds:.2f} s")  # fmt: skip
    print(result.summary)


def measure(engine: Engine, n_ctx: int, turns: int) -> Result:
    """Build the chat, sum it up, and ask for the facts of the turns that the summaries stand for."""
    messages = chat_of(turns)
    chat_tokens = sum(engine.count(Count(1, texts_of(turns_of(messages)))).texts)
    started = time.perf_counter()
    messages, summaries = sum_up(engine, messages, n_ctx)
    written = time.perf_counter()
    prompt, old = prompt_of(messages), without_summaries(messages[: last_summed_up(messages)])
    for _progress in engine.prepare(Prepare(1, prompt)):
        pass
    read = time.perf_counter()
    facts = [fact for fact in FACTS if any(fact.told in message.content for message in old)]
    summed_up, waits = share(engine, facts, lambda _fact: prompt)
    rest = drop_oldest_turns(prompt_of(without_summaries(messages)), len(turns_of(old)))
    left_out, _ = share(engine, facts, lambda _fact: rest)
    alone, _ = share(engine, facts, lambda fact: (Message("user", fact.told), Message("assistant", "I see.")))
    kept = engine.count(Count(1, (), prompt)).prompt
    summary = messages[len(old) - 1].summary if old else ""
    return Result(
        len(facts), alone, summed_up, left_out, summaries, chat_tokens, kept, written - started, read - written, waits,
        summary,
    )  # fmt: skip


def share(
    engine: Engine, facts: Sequence[Fact], beginning: Callable[[Fact], tuple[Message, ...]]
) -> tuple[float, float]:
    """Ask for each fact behind a beginning; return the share of right answers and the median seconds to first words."""
    right, waits = 0, [0.0]
    for fact in facts:
        text, wait = ask(engine, (*beginning(fact), Message("user", fact.question)))
        right, waits = right + fact.is_in(text), [*waits, wait]
    return right / max(1, len(facts)), median(waits[1:] or waits)


def chat_of(turns: int) -> list[ChatMessage]:
    """Return a chat in which every second turn tells a fact and the others are about texts of the benchmarks."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(TEXTS.glob("*.txt"))]
    messages: list[ChatMessage] = []
    for turn in range(turns):
        told = turn % 2 == 0 and turn // 2 < len(FACTS)
        question = FACTS[turn // 2].told if told else "Tell me something about another subject."
        for role, text in (("user", question), ("assistant", "I see." if told else texts[turn // 2 % len(texts)])):
            parent = messages[-1].id if messages else None
            messages.append(ChatMessage("chat", parent, role, text, stop_reason="end"))  # type: ignore[arg-type]
    return messages


def without_summaries(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the messages without their summaries."""
    return [replace(message, summary="") for message in messages]


def sum_up(engine: Engine, messages: list[ChatMessage], n_ctx: int) -> tuple[list[ChatMessage], int]:
    """Have the oldest turns summed up until the chat is not full; return its messages and the number of summaries."""
    for written in range(100):
        pinned, *tokens = engine.count(Count(1, (pinned_text(messages), *texts_of(turns_of(messages))))).texts
        old = old_turns(messages, tokens, pinned, n_ctx) if is_full(tokens, pinned, n_ctx) else None
        if old is None:
            return messages, written
        summary = old.summary(ask(engine, old.question(), most_written(n_ctx))[0])
        messages = [replace(each, summary=summary) if each is old.last else each for each in messages]
    raise AssertionError("a chat that no summary makes shorter")


def pinned_text(messages: Sequence[ChatMessage]) -> str:
    return messages[last_summed_up(messages) - 1].summary if last_summed_up(messages) else ""


def ask(engine: Engine, messages: Sequence[Message], most: int = ANSWER) -> tuple[str, float]:
    """Return the answer and the seconds to its first word."""
    started, first, text = time.perf_counter(), 0.0, ""
    for event in engine.generate(Generate(1, tuple(messages), GREEDY, most)):
        if isinstance(event, WRITTEN):
            first = first or time.perf_counter() - started
            text += event.text if isinstance(event, Text) else ""
    return text, first


if __name__ == "__main__":
    set_environment()
    main()
