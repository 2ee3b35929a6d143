"""How text is cut into the words that are searched for. Knows neither the library nor windows.

SQLite's tokenizer `unicode61` folds case and accents and cuts at everything that is no letter or digit. Languages that
put no spaces between words are cut into characters here first, and what is typed in them is looked for as a phrase.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

# Thai to Lao, Burmese, Khmer, kana, Chinese characters, Korean syllables. The index of every library is built with
# these: another range needs a migration that fills the index again, or words would stay behind in it.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
)
_SINGLE = re.compile(f"([{UNSPACED}])")
_WORD = re.compile(f"[{UNSPACED}]|(?:(?![{UNSPACED}])[^\\W_])+")
_TYPED = re.compile(r'"([^"]*)"?|([^\s"]+)')
MOST_WORDS = 16
LONGEST_QUERY = 400


def spaced(text: str | None) -> str:
    """The text as it is indexed."""
    if not text or text.isascii():
        return text or ""
    return _SINGLE.sub(r" \1 ", text)


@dataclass(frozen=True, slots=True)
class Term:
    """Neighbouring words. The last one may go on (`whole` False): it is found while it is typed."""

    words: tuple[str, ...]
    whole: bool = False

    @property
    def match(self) -> str:
        """As FTS5's query language has it; words hold letters and digits only, so nothing can end the string."""
        return '"' + " ".join(self.words) + '"' + ("" if self.whole else "*")


def terms_of(text: str) -> list[Term]:
    """What a user looks for: all words must occur, "quoted ones" as a phrase."""
    terms: list[Term] = []
    for quoted, bare in _TYPED.findall(text[:LONGEST_QUERY]):
        words = tuple(_WORD.findall(unicodedata.normalize("NFC", quoted or bare)))
        if words:
            terms.append(Term(words, whole=bool(quoted)))
    return terms[:MOST_WORDS]


class _Fold(dict[int, str]):
    """Lower case without accents, one character for each, so that places stay the same.

    An accent that stands alone is U+0300.
    """

    def __missing__(self, code: int) -> str:
        letters = unicodedata.normalize("NFD", chr(code).lower())
        letter, rest = letters[0], letters[1:]
        if unicodedata.combining(letter):
            letter = "\u0300"
        elif not all(map(unicodedata.combining, rest)) or _SINGLE.match(chr(code)):
            letter = chr(code)  # a Korean syllable is more than its first sound, が is not か
        self[code] = letter
        return letter


_FOLD = _Fold()


def folded(text: str) -> str:
    """As long as `text`."""
    return text.translate(_FOLD)


def pattern_of(term: Term) -> re.Pattern[str]:
    """Finds the term in folded text, at the beginning of a word."""
    words = ["".join(re.escape(letter) + "\u0300*" for letter in folded(word)) for word in term.words]
    start = f"(?:(?<![^\\W_])|(?<=[{UNSPACED}])|(?=[{UNSPACED}]))"
    end = f"(?![^\\W_{UNSPACED}])" if term.whole else ""
    return re.compile(start + "[\\W_]*".join(words) + end)


def marks_in(text: str, terms: list[Term]) -> list[tuple[int, int]]:
    """Where the terms stand in `text`, as (start, end), sorted, without overlaps."""
    plain = folded(text)
    found = sorted({match.span() for term in terms for match in pattern_of(term).finditer(plain)})
    marks: list[tuple[int, int]] = []
    for start, end in found:
        if marks and start <= marks[-1][1]:
            marks[-1] = (marks[-1][0], max(end, marks[-1][1]))
        else:
            marks.append((start, end))
    return marks


def holds_all(text: str, terms: list[Term]) -> bool:
    plain = folded(text)
    return all(pattern_of(term).search(plain) for term in terms)
