"""The prompt set of the drafting benchmarks: questions to a small local model, ten kinds, at least four of each.

Texts and code that prompts refer to lie in `benchmarks/texts/`, all written for this purpose; retrieval's passages are
those of `benchmarks.retrieval`. Within each kind the first, third … prompt is for tuning and the others are held out; a
text is never used in both halves.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from engine.protocol.requests import Message
from training.chat_lines import read_chats

TEXTS = Path(__file__).parent / "texts"
DOCUMENTS = Path(__file__).parent / "documents"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A chat that waits for an answer."""

    category: str
    messages: tuple[Message, ...]
    held_out: bool


OPEN_CHAT = (
    "I have a free weekend in late autumn and do not want to spend much. What could I do?",
    "Why do people find it so hard to keep new habits? Tell me what you think, in a few paragraphs.",
    "My neighbour plays the trumpet every evening. How do I talk to him about it without a quarrel?",
    "Tell me a short story about a clockmaker who loses a minute.",
)

TRANSLATION = (
    "Translate into German:\n\nThe train was late again this morning, but nobody on the platform seemed to mind. A man "
    "shared his newspaper with the woman beside him, two children counted pigeons, and the stationmaster brought out a "
    "pot of tea. When the train finally came, half of us would have liked to stay a little longer.",
    "Translate into French:\n\nOur house stands at the end of a narrow road. In spring the garden is full of birds, "
    "and "
    "in winter the wind comes straight from the sea. My grandfather planted the apple trees himself, and he used to "
    "say "
    "that a tree is the only clock that is never wrong.",
    "Translate into Spanish:\n\nPlease keep this letter in a safe place. It contains the number of your account and "
    "the "
    "password that you need for your first visit. You will be asked to change the password at once. If you have any "
    "questions, call us between nine and five; our staff will be glad to help you.",
    "Translate into English:\n\nGestern haben wir endlich das Fahrrad repariert, das seit zwei Jahren im Keller stand. "
    "Die Kette war verrostet, ein Reifen war platt, und niemand wusste, wo der Schlüssel geblieben war. Nach drei "
    "Stunden "
    "fuhr meine Tochter die erste Runde um den Block, und der Nachbar hat Beifall geklatscht.",
)

SUMMARY = (
    ("library", "Summarise this text in about five sentences."),
    ("river", "Summarise this report for the town council in one paragraph, with the most important numbers."),
    ("lighthouse", "Summarise this text as a list of bullet points, one for each important event with its date."),
    ("heat_pump", "Summarise these instructions in a short list: what the owner must do, and when."),
)

QUESTION = (
    ("library", "Who pays how much for the renovation, and where does the rest of the money come from?"),
    ("river", "What did not go well, and what do the authors recommend against it? Quote the relevant sentences."),
    ("lighthouse", "What did Inga Thorsen do in December 1911, and what did she get for it? Quote the text."),
    (
        "heat_pump",
        "The display shows E7 and there is ice on the outside unit. What should I do? Quote the instructions.",
    ),
    ("library", "Where can I go while the library is closed, and when is what open?"),
    ("river", "How large was the last flood compared with the one of 2014, and why was the damage different?"),
)

ARITHMETIC = (
    "A shop sells pencils at 0.35 each and notebooks at 1.80 each. I buy 14 pencils and 6 notebooks and pay with a 20 "
    "note. How much change do I get? Show each step.",
    "A train leaves at 9:40 and covers 312 km at 96 km/h. It waits 12 minutes on the way. When does it arrive? Explain "
    "step by step.",
    "Write the multiplication table of 17 from 1 to 12, one line for each.",
    "I save 150 a month and get 3 % interest at the end of each year. How much have I got after three years? Show a "
    "calculation for each year.",
)

CODE = (
    "Write a Python function that reads a CSV file and returns the mean of each numeric column. Add a docstring.",
    "Write a JavaScript function that groups an array of objects by a key and counts each group, with an example.",
    "Write a C function that reverses a singly linked list in place, and a small main that shows it.",
    "Write a Python class for a bank account with deposit, withdraw, transfer and a history of transactions.",
)

EDITING = (
    (
        "inventory",
        "python",
        "Add a `discount(self, percent)` method to Item that lowers the price and records it. "
        "Return "
        "the whole changed classes Item and Inventory, nothing left out.",
    ),
    (
        "todo",
        "javascript",
        "Give every task a priority (default 3) that `add` takes as its second argument, and show "
        "it in "
        "`list`. Return the whole file.",
    ),
    ("ringbuffer", "c", "Rename RingBuffer to IntQueue and the prefix ring_ to queue_. Return the whole file."),
    ("weather", "python", "Add type hints to all functions. Return the whole file without comments of your own."),
    (
        "inventory",
        "python",
        "Make save_json store the category as well, and load_csv skip rows with an empty sku. "
        "Return "
        "the whole class Inventory.",
    ),
    ("todo", "javascript", "Replace string concatenation by template literals everywhere. Return the whole file."),
)

REWRITING = (
    ("library", "Rewrite this text: correct nothing, but replace the word “library” by “book house” everywhere."),
    ("river", "Rewrite the section “What was found” and the section “Floods” in the present tense."),
    ("lighthouse", "Rewrite the first three paragraphs for ten-year-olds, with simpler words; keep the facts."),
    (
        "heat_pump",
        "Rewrite these instructions with a more polite tone (“please …”), keeping all numbers and the order.",
    ),
    ("library", "Rewrite this text as a letter to the readers of the library, signed by the head librarian."),
    ("river", "Put this report into shorter sentences, and keep its sections and all numbers."),
)

FOLLOW_UPS: tuple[tuple[str, ...], ...] = (
    (
        "Write a Python function that checks whether a word is a palindrome.",
        "```python\ndef is_palindrome(word):\n    word = word.lower()\n    left = 0\n    right = len(word) - 1\n    "
        "while "
        "left < right:\n        if word[left] != word[right]:\n            return False\n        left += 1\n        "
        "right "
        "-= 1\n    return True\n```\nThe function compares the letters from both ends until they meet.",
        "Ignore spaces and punctuation as well, please.",
    ),
    (
        "Give me a packing list for three days of hiking in the mountains.",
        "Here is a packing list for three days of hiking:\n\n1. Backpack (40 litres) with a rain cover\n2. Tent and "
        "sleeping mat\n3. Sleeping bag for temperatures around zero\n4. Two pairs of socks and one change of "
        "clothes\n5. "
        "Rain jacket and a warm layer\n6. Map, compass and a head torch\n7. Stove, gas, pot and spoon\n8. Food for "
        "three "
        "days and two water bottles\n9. First-aid kit and sun cream\n10. Knife, lighter and a small towel",
        "We sleep in huts, so drop what is not needed there and add what is.",
    ),
    (
        "Write a short e-mail to my landlord: the bathroom tap has been dripping for two weeks.",
        "Subject: Dripping tap in the bathroom\n\nDear Ms Keller,\n\nI am writing to let you know that the tap in my "
        "bathroom has been dripping for two weeks now. I have tried to tighten it, but without success, and the "
        "dripping "
        "is getting worse. Could you please send a plumber to have a look at it? I am at home every day after four "
        "o'clock.\n\nThank you for your help.\n\nKind regards,\nJonas Brandt",
        "Good. Now make it a little firmer, and mention that I already wrote on the third of May.",
    ),
    (
        "Write an SQL table for books and one for loans.",
        "```sql\nCREATE TABLE books (\n    id INTEGER PRIMARY KEY,\n    title TEXT NOT NULL,\n    author TEXT NOT "
        "NULL,\n"
        "    year INTEGER,\n    copies INTEGER NOT NULL DEFAULT 1\n);\n\nCREATE TABLE loans (\n    id INTEGER PRIMARY "
        "KEY,\n    book_id INTEGER NOT NULL REFERENCES books(id),\n    reader TEXT NOT NULL,\n    loaned_on TEXT NOT "
        "NULL,\n    due_on TEXT NOT NULL,\n    returned_on TEXT\n);\n```",
        "Add a table for readers and let loans refer to it. Show all three tables.",
    ),
    (
        "Explain what a heat pump does.",
        "A heat pump moves heat from a cold place to a warm one. A liquid with a very low boiling point evaporates "
        "in the "
        "outside unit and takes up heat from the air. A compressor then presses the vapour together, which makes it "
        "hot. In "
        "the house the hot vapour gives its heat to the heating water and becomes liquid again. Finally a valve lets "
        "the "
        "pressure fall, the liquid cools down, and the cycle begins again.",
        "Write that again as a numbered list of the four steps, with the same words where possible.",
    ),
    (
        "Write an HTML form with name and e-mail.",
        "```html\n<form action=\"/subscribe\" method=\"post\">\n  <label for=\"name\">Name</label>\n  <input "
        "type=\"text\" "
        "id=\"name\" name=\"name\" required>\n\n  <label for=\"email\">E-mail</label>\n  <input type=\"email\" "
        "id=\"email\" "
        "name=\"email\" required>\n\n  <button type=\"submit\">Subscribe</button>\n</form>\n```",
        "Add a field for the telephone number and a checkbox for the newsletter.",
    ),
)  # fmt: skip

# The section that answers stands between the sections around it, as the passages that a collection finds.
RETRIEVAL = (
    ("fables", "The Lion and the Mouse", "How did a tiny animal repay the mighty one who spared it?"),
    ("countries", "Iceland", "Which northern island has the oldest functioning parliament, and what did a volcano do?"),
    ("fables", "The Milkmaid and Her Pail", "Who dreams of riches and then spills everything? Quote the passage."),
    ("countries", "Ireland", "When did the nation that lost a quarter of its people to famine become independent?"),
    ("fables", "The Fox and the Stork", "What did each host serve, and why could the guest not eat it?"),
    ("countries", "Iran", "Where did clerics overthrow the shah? List what happened afterwards, with the years."),
)


def passages(document: str, heading: str) -> str:
    """Return a section of a document with the one before it and the one behind it."""
    sections = re.split("^(?=# )", (DOCUMENTS / f"{document}.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    at = next(i for i, section in enumerate(sections) if section.startswith(f"# {heading}\n"))
    return "".join(sections[at - 1 : at + 2]).strip()


def text(name: str) -> str:
    return (TEXTS / f"{name}.txt").read_text(encoding="utf-8").strip()


def chat(*turns: str) -> tuple[Message, ...]:
    """Build a chat of user's and assistant's turns, alternating; the user begins."""
    return tuple(Message("assistant" if i % 2 else "user", turn) for i, turn in enumerate(turns))


def prompts() -> list[Prompt]:
    """Return the whole set, in a fixed order."""
    chats = {
        "open chat": [chat(question) for question in OPEN_CHAT],
        "translation": [chat(task) for task in TRANSLATION],
        "summary": [chat(f"{text(name)}\n\n{task}") for name, task in SUMMARY],
        "question": [chat(f"{text(name)}\n\n{task}") for name, task in QUESTION],
        "arithmetic": [chat(task) for task in ARITHMETIC],
        "code": [chat(task) for task in CODE],
        "editing": [chat(f"{task}\n\n```{kind}\n{text(name)}\n```") for name, kind, task in EDITING],
        "rewriting": [chat(f"{text(name)}\n\n{task}") for name, task in REWRITING],
        "follow-up": [chat(*turns) for turns in FOLLOW_UPS],
        "retrieval": [chat(f"{passages(name, heading)}\n\n{task}") for name, heading, task in RETRIEVAL],
    }
    return [Prompt(name, messages, bool(i % 2)) for name, some in chats.items() for i, messages in enumerate(some)]


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Return the questions of a file of chats as prompts of one kind, called like the file. Raises Failure."""
    return tuple(Prompt(path.stem, chat.prompt, held_out=True) for chat in read_chats(path))
