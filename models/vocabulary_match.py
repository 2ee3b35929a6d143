"""Compares two models' vocabularies: one can draft for the other only if each token id means the same to both.

Drafts are token ids. With different vocabularies the answer would still be right, because the target verifies every
draft, but the drafter would read another text than was written, and few drafts would be accepted. Only the files are
read; no model is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from common.failures import Failure
from common.sentences import Sentence
from models.header import Header
from models.token_list import PADDING, TokenList, read_token_list

TOKENIZER = "tokenizer.ggml.model"
SPECIAL = {"bos": "vocabulary.beginning", "eos": "vocabulary.end", "eot": "vocabulary.turn_end"}


def check_same_vocabulary(target: Header, drafter: Header) -> int:
    """Return how many token ids both models know; one vocabulary may be longer by padding.

    Raises Failure with the first difference if the ids mean different tokens.
    """
    if target.path.samefile(drafter.path):
        raise Failure("same_model.drafts", name=drafter.path.name)
    own, other = read_token_list(target), read_token_list(drafter)
    difference = header_difference(target, drafter) or token_difference(own, other)
    if difference:
        names = {"drafter": drafter.path.name, "target": target.path.name}
        raise Failure("other_vocabulary.of_pair", **names, difference=difference)
    return min(len(own.texts), len(other.texts))


def header_difference(target: Header, drafter: Header) -> Sentence | None:
    """Return the difference between the kinds of tokenizers or the special tokens; None if they agree.

    A special token that one file does not name is not compared.
    """
    a, b = (header.metadata.get(TOKENIZER) for header in (target, drafter))
    if a != b:
        return Sentence.of("vocabulary.kind", other=b, own=a)
    for name, meaning in SPECIAL.items():
        a, b = (header.metadata.get(f"tokenizer.ggml.{name}_token_id") for header in (target, drafter))
        if None not in (a, b) and a != b:
            return Sentence.of(meaning, other=b, own=a)
    return None


def token_difference(target: TokenList, drafter: TokenList) -> Sentence | None:
    common = min(len(target.texts), len(drafter.texts))
    for i in first_difference(target.texts[:common], drafter.texts[:common]):
        return Sentence.of("vocabulary.token", token=i, other=shown(drafter.texts[i]), own=shown(target.texts[i]))
    for i in first_difference(target.kinds[:common], drafter.kinds[:common]):
        return Sentence.of("vocabulary.token_kind", token=i, text=shown(drafter.texts[i]))
    longer, what = (target, "vocabulary.missing") if len(target.texts) > common else (drafter, "vocabulary.added")
    for i, text in enumerate(longer.texts[common:], common):
        if longer.kinds[i : i + 1] != (PADDING,):
            return Sentence.of(what, token=i, text=shown(text))
    return None


def first_difference(a: Sequence[object], b: Sequence[object]) -> Iterator[int]:
    """Yield the first index at which the sequences differ, if they do."""
    if a != b:
        yield next(i for i, (x, y) in enumerate(zip_longest(a, b, fillvalue=None)) if x != y)


def shown(text: bytes) -> str:
    return text.decode(errors="replace")
