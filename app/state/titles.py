"""Titles of chats that the model makes: what it is asked, and which of its answers can be a title. Knows no Qt."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from app.store.chat import TITLE_LENGTH, ChatMessage, title_of
from common.reasoning import without_thoughts

MOST_TOKENS = 24  # of a title; a language with many tokens a word needs most of them
# Weights: smaller models repeat the request or invent something (docs/notes/titles.md). 1 billion, roughly.
LEAST_PARAMETERS = 900_000_000
LONGEST = TITLE_LENGTH
MOST_WORDS = 12
CHINESE = "用不超过十个字给这段对话起一个标题。只写标题。"
OTHER = "Write a title for this conversation, at most six words, in the language of the conversation. Only the title."
LABEL = re.compile(
    r"^(?:(?:chat |conversation )?title|titel|titre|título|titolo|标题|題目|题目|タイトル)\s*[:：]\s*", re.IGNORECASE
)
MARKS = re.compile(r"^(?:[#>*\-]+|\d{1,2}[.)])\s+|[*_]{2,}|`+")
QUOTES = {'"': '"', "'": "'", "“": "”", "„": "“”", "‘": "’", "«": "»", "»": "«", "「": "」", "『": "』", "《": "》"}
ENDS = ".。!！,，;；:：…"
# Beginnings of an answer to the request, in place of a title.
CHATTER = re.compile(
    r"(?:sure|certainly|of course|okay|here(?:'s| is| are)|i |i'm|i am|as an ai|the title|this conversation|you asked"
    r"|write a title|title for|当然|好的|以下是|抱歉|对不起|我|用不超过)",
    re.IGNORECASE,
)
WIDE = ("CJK", "JAPANESE", "HANGUL", "THAI")  # scripts that are written without blanks, or whose words have few signs
ROOT = 4  # letters that words of the same root begin with
FAMILIES = {"HIRAGANA": "JAPANESE", "KATAKANA": "JAPANESE"}


def first_line_title(messages: Sequence[ChatMessage]) -> str:
    """Return the title that a chat has by itself, of its first question; "" for a chat without one."""
    first = messages[0] if messages else None
    if first is None or first.role != "user" or not (first.content or first.attachments):
        return ""
    return title_of(first.content or first.attachments[0].name)


def title_question(messages: Sequence[ChatMessage]) -> str:
    """Return what the model is asked behind the chat, in the chat's language."""
    return CHINESE if questions_script(messages) == "CJK" else OTHER


def clean_title(answer: str, messages: Sequence[ChatMessage]) -> str:
    """Return the title in a model's answer: one line without quotation marks and Markdown; "" if there is none.

    An answer that shares no word with the chat, or talks about the request, is none.
    """
    lines = (" ".join(line.split()) for line in without_thoughts(answer).split("\n"))
    title = next((line for line in lines if line.strip("#*-_` ")), "")
    title = "".join(sign for sign in title if unicodedata.category(sign) not in ("Cc", "Cf", "Cs"))
    for _ in range(3):  # marks, quotation marks and a label may enclose one another
        title = _unquoted(LABEL.sub("", MARKS.sub("", title).strip())).rstrip(ENDS).strip()
    if not any(map(str.isalpha, title)) or len(title) > LONGEST or len(title.split()) > MOST_WORDS:
        return ""
    chat = "\n".join(message.content for message in messages)
    return "" if CHATTER.match(title) or not roots(title) & roots(chat) else title


def _unquoted(title: str) -> str:
    """Return the title without the quotation marks around it; those inside it stay."""
    if title[:1] not in QUOTES:
        return title
    inside = title[1:].rstrip(f"{ENDS} ")
    return inside.rstrip(QUOTES[title[0]]) if title[0] not in inside[:-1] else title


def roots(text: str) -> set[str]:
    """Return what shows that two texts speak of the same: the beginnings of words, and pairs of Chinese signs."""
    folded = text.casefold()
    words = {word[:ROOT] for word in re.findall(r"[^\W\d_]{3,}", folded)}
    signs = [sign for sign in folded if _script(sign) in WIDE]
    return words | {first + second for first, second in pairwise(signs)}


def script_of(text: str) -> str:
    """Return the script of most letters in a text, as Unicode names it; "" without letters. Kana make it JAPANESE."""
    counts = Counter(_script(sign) for sign in text[:2000] if sign.isalpha())
    if counts["JAPANESE"] * 10 > counts["CJK"]:
        counts["JAPANESE"] += counts.pop("CJK", 0)
    return max(counts, key=lambda name: counts[name], default="")


def _script(sign: str) -> str:
    name = unicodedata.name(sign, "").partition(" ")[0]
    return FAMILIES.get(name, name)


def questions_script(messages: Sequence[ChatMessage]) -> str:
    """Return the script of the chat's questions, as `script_of` does."""
    return script_of("\n".join(message.content for message in messages if message.role == "user"))
