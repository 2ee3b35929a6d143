"""Titles that models make of 20 chats: prints them beside the chat's first line, which is the title otherwise.

    python -m benchmarks.titles [--model M ...] [--json]

Each chat is a question and the model's own answer to it. `usable` counts the titles that the window would take; whether
they are good, a person has to read. `seconds` and `tokens` are those of a title after its answer: the chat is in the
cache, so only the request for a title is read.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path

from app.state.titles import MOST_TOKENS, clean_title, prompt_for_title
from app.store.chat import ChatMessage, title_of
from benchmarks.peers import GREEDY, OurEngine
from engine.protocol.events import Finished
from engine.protocol.requests import Generate, Message
from models.default import default_model
from models.titles import title_of as model_title

QUESTIONS = (
    "Hi! I have a free weekend in late autumn and do not want to spend much. What could I do?",
    "My neighbour plays the trumpet every evening. How do I talk to him about it without a quarrel?",
    "hey can you help me with something? my sourdough starter smells like nail polish remover, is it dead",
    "Traceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nKeyError: 'name'\n\nwhat is this?",
    "Write a function in Python that merges two sorted lists.",
    "Explain the difference between TCP and UDP to a ten-year-old.",
    "Translate into German: The train was late again this morning, but nobody seemed to mind.",
    "I need a polite email to my landlord. The heating has been broken for three days and it is cold.",
    "What are the symptoms of vitamin D deficiency, and what foods help?",
    "please summarise: The council met on Tuesday to discuss the new bridge. Costs rose to 4.2 million, and two "
    "members voted against it. Work begins in May.",
    "Why is the sky blue?",
    "Give me five names for a small bakery that sells only bread.",
    "SELECT * FROM users WHERE id = 1; how do I make this safe against injection",
    "Plan a three-day trip to Lisbon with two children.",
    "帮我写一封请假邮件，明天要去医院看牙。",
    "光合作用是怎么回事？请简单解释一下。",
    "我想学做红烧肉，需要哪些材料，步骤是什么？",
    "Python 里的列表和元组有什么区别？",
    "Wie bekomme ich Rotweinflecken aus einem weißen Hemd?",
    "Pourquoi les feuilles tombent-elles en automne ?",
)
ANSWER_TOKENS = 80


@dataclass(frozen=True, slots=True)
class Made:
    """One title: the first line, what the model wrote, and what is taken of it; "" if nothing is."""

    first_line: str
    written: str
    title: str
    seconds: float
    read: int
    tokens: int


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.titles", description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, nargs="+", default=[default_model()])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    made = {model_title(model): titles_by(model) for model in options.model}
    if options.json:
        print(json.dumps({name: [asdict(each) for each in titles] for name, titles in made.items()}))
        return
    for name, titles in made.items():
        usable = sum(bool(each.title) for each in titles)
        seconds, tokens = (statistics.median(getattr(each, key) for each in titles) for key in ("seconds", "tokens"))
        read = statistics.median(each.read for each in titles)
        print(f"\n{name}: {usable} of {len(titles)} usable; median {seconds:.2f} s, {read:.0f} tokens read, "
              f"{tokens:.0f} written")  # fmt: skip
        for each in titles:
            print(f"  {each.first_line[:44]:44}  {each.title or f'– {each.written[:50]!r}'}")


def titles_by(model: Path) -> list[Made]:
    """Return the titles that a model makes of the chats."""
    with OurEngine(model, 2048, None) as engine:
        return [_title(engine, 10 * number, question) for number, question in enumerate(QUESTIONS, 1)]


def _title(engine: OurEngine, id: int, question: str) -> Made:
    chat = [Message("user", question)]
    answer, _ = _answer(engine, Generate(id, tuple(chat), GREEDY, ANSWER_TOKENS))
    chat.append(Message("assistant", answer))
    messages = [ChatMessage("c", None, "user", question), ChatMessage("c", None, "assistant", answer)]
    asked = Generate(id + 1, prompt_for_title(chat, messages), GREEDY, MOST_TOKENS, stop=("\n",), draft="off")
    written, numbers = _answer(engine, asked)
    seconds = numbers.statistics.prompt_seconds + numbers.statistics.decode_seconds
    read = numbers.statistics.prompt_tokens - numbers.statistics.reused_tokens
    return Made(
        title_of(question), written, clean_title(written, messages), seconds, read, numbers.statistics.decode_tokens
    )


def _answer(engine: OurEngine, request: Generate) -> tuple[str, Finished]:
    text = ""
    for event in engine.stream(request):
        text += getattr(event, "text", "")
        if isinstance(event, Finished):
            finished = event
    return text, finished


if __name__ == "__main__":
    main()
