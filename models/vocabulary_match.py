"""Compares two models' vocabularies: one can draft for the other only if each token id means the same to both.

Tokens that were added behind the trained vocabulary may differ, such as markers of tool calls: drafts do without them.

Drafts are token ids. With different vocabularies the answer would still be right, because the target verifies every
draft, but the drafter would read another text than was written, and few drafts would be accepted. Only the files are
read; no model is loaded.
"""

from __future__ import annotations

from common.failures import Failure
from common.sentences import Sentence
from models.header import Header
from models.token_list import TokenList, read_token_list

TOKENIZER = "tokenizer.ggml.model"
SPECIAL = {"bos": "vocabulary.beginning", "eos": "vocabulary.end", "eot": "vocabulary.turn_end"}


def check_same_vocabulary(target: Header, drafter: Header) -> int:
    """Return how many token ids mean the same to both models; all behind them are added tokens.

    Raises Failure with the first difference if other ids mean different tokens.
    """
    if target.path.samefile(drafter.path):
        raise Failure("same_model.drafts", name=drafter.file_name)
    own, other = read_token_list(target), read_token_list(drafter)
    difference = header_difference(target, drafter)
    shared = shared_tokens(own, other)
    if difference is None and shared < max(own.trained, other.trained):
        difference = token_difference(own, other, shared)
    if difference:
        names = {"drafter": drafter.file_name, "target": target.file_name}
        raise Failure("other_vocabulary.of_pair", **names, difference=difference)
    return shared


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


def shared_tokens(a: TokenList, b: TokenList) -> int:
    """Return the number of tokens from the first one on that are equal in texts and kinds."""
    shared = min(len(a.texts), len(b.texts))
    for x, y in ((a.texts, b.texts), (a.kinds, b.kinds)):
        if x[:shared] != y[:shared]:
            differing = (i for i, pair in enumerate(zip(x, y, strict=False)) if pair[0] != pair[1])
            shared = next(differing, min(len(x), len(y)))
    return shared


def token_difference(target: TokenList, drafter: TokenList, token: int) -> Sentence:
    """Return the difference between two vocabularies at this token id."""
    if token >= min(len(target.texts), len(drafter.texts)):
        longer, what = (target, "vocabulary.missing") if len(target.texts) > token else (drafter, "vocabulary.added")
        return Sentence.of(what, token=token, text=shown(longer.texts[token]))
    other, own = shown(drafter.texts[token]), shown(target.texts[token])
    if other != own:
        return Sentence.of("vocabulary.token", token=token, other=other, own=own)
    return Sentence.of("vocabulary.token_kind", token=token, text=other)


def shown(text: bytes) -> str:
    return text.decode(errors="replace")
