"""A plain model of what the user did: which words were typed and answered, and where each must still be found."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

UNSENT = ""  # the place of words that are in no message yet: in a composer, an editor, a draft
STORED = "stored drafts"  # the place of such words in the store
WORD = re.compile(r"\b[qa]\d+\b")
Places = Mapping[str, set[str]]  # words by the id of the chat that has them in a message, UNSENT or STORED


class Kept:
    """Words that must not disappear, each with the chat that it was sent or answered in.

    Each is written only once, so that a text that has the word shows that the text is there.
    """

    def __init__(self) -> None:
        self.homes: dict[str, str] = {}
        self._number = 0

    def new_word(self, kind: str) -> str:
        """Return a word that nobody has written before: a `q` of a question or an `a` of an answer with a number."""
        self._number += 1
        return f"{kind}{self._number}"

    def add(self, word: str, home: str = UNSENT) -> None:
        self.homes[word] = home

    def forget(self, words: Iterable[str]) -> None:
        """Remove these words, because the user has given them up."""
        for word in list(words):
            self.homes.pop(word, None)

    def give_up(self, words: Iterable[str]) -> None:
        """Remove those of these words that were never sent: the user has removed an unsent text."""
        self.forget(word for word in words if self.homes.get(word) == UNSENT)

    def expect_only(self, places: Places) -> None:
        """Remove all words that are not in these places, because the user was told that more could not be stored."""
        self.forget(word for word in self.homes if not any(word in words for words in places.values()))
        for word, home in self.homes.items():
            if word not in places.get(home, ()):  # the store has the draft of a message that could not be stored
                self.homes[word] = UNSENT

    def of(self, chats: Collection[str]) -> set[str]:
        """Return the words of these chats' messages."""
        return {word for word, home in self.homes.items() if home in chats}

    def missing(self, places: Places) -> dict[str, str]:
        """Return the words that are not where they must be, and take note of those that were sent meanwhile.

        A word that was once in a chat's message must stay in this chat; before, it may be anywhere.
        """
        missing = {}
        for word, home in self.homes.items():
            found = {place for place, words in places.items() if word in words}
            sent_to = found - {UNSENT, STORED}
            if home == UNSENT and sent_to:
                self.homes[word] = min(sent_to)
            elif not found if home == UNSENT else home not in found:
                missing[word] = home
        return missing


def words_in(*texts: str) -> set[str]:
    """Return the words of `Kept.new_word` that stand in these texts."""
    return {word for text in texts for word in WORD.findall(text)}
