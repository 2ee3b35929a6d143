"""The vocabulary of a loaded llama_model: text to token ids and back."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any

from common.failures import Failure
from engine.runtime.capi.library import CLibrary
from engine.tokenization.tokens import SHOWN_CONTROLS, InfillTokens

PIECE = 32_768  # characters that are tokenized at once: 20 to 50 ms
SEARCHED = 2_048  # characters at the end of a piece that are searched for a place to cut first
# A text may be cut where every tokenizer begins a new word: a word is made of letters and the blank before them, with
# nothing behind them.
LETTER = r"[^\W\d_]"
CUTS = re.compile(f"(?<={LETTER})(?=[ ，。、]{LETTER})|(?<=\\S\n)(?={LETTER})")
# Special tokens before the names of a repository and of a file, as Qwen, StarCoder, Granite and others have them.
REPOSITORY_TOKENS = ("<|fim_repo|>", "<|repo_name|>", "<fim-repo>", "<reponame>", "<REPO>")
FILE_TOKENS = ("<|file_sep|>", "<file_sep>", "<filename>")
BLANKS = re.compile(f"(?<={LETTER})(?= {LETTER})")


class CVocabulary:
    """`engine.tokenization.tokens.ModelVocabulary` of a loaded model; valid as long as the model is loaded."""

    def __init__(self, lib: CLibrary, pointer: Any) -> None:
        self.lib = lib
        self.pointer = pointer
        self.n_tokens: int = self.lib.llama_vocab_n_tokens(pointer)
        self._bos: int = self.lib.llama_vocab_bos(pointer)
        self.adds_bos: bool = self._bos >= 0 and self.lib.llama_vocab_get_add_bos(pointer)
        self._pieces = lru_cache(maxsize=65_536)(self._piece)
        self._controls = lru_cache(maxsize=65_536)(self._is_control)

    def tokenize(self, text: str, special: bool, add_bos: bool = False) -> list[int]:
        """Return the token ids of a text.

        Raises Failure if the vocabulary has no token for a part of the text, not even an unknown one.
        """
        return list(chain.from_iterable(self.tokenize_pieces(text, special, add_bos)))

    def tokenize_pieces(self, text: str, special: bool, add_bos: bool = False) -> Iterator[list[int]]:
        if add_bos:
            yield [self._bos]
        for piece in self._cut(text):
            yield self._tokenize(piece, special)

    def tokenize_whole(self, text: str) -> list[int]:
        """Return a text's token ids between those that the vocabulary puts around a text, such as [CLS] and [SEP].

        A prompt must not be tokenized so, because an answer follows it: where the header says `add_eos_token`, the
        library ends each text with the end-of-sequence token.
        """
        before, behind = self._around
        return [*before, *self.tokenize(text, special=False), *behind]

    @cached_property
    def _around(self) -> tuple[list[int], list[int]]:
        """The tokens that the library puts before and behind a text when it adds special tokens."""
        tokens = self._tokenize("", special=False, add_special=True)
        first = 1 if self.adds_bos or len(tokens) > 1 else 0  # BERT's have two, whatever their header says
        return tokens[:first], tokens[first:]

    def _cut(self, text: str) -> Iterator[str]:
        """Yield the text in pieces whose token ids, put together, are those of the whole text.

        A piece begins with the blank before a word, with a punctuation mark, or after a line break. Words end or begin
        there, so no token reaches across. A vocabulary that puts a blank before every text also puts one before each
        piece, so the piece's own blank is left out.
        """
        start = 0
        while len(text) - start > PIECE:
            searched = start + PIECE - SEARCHED
            cut = max((match.start() for match in self._cuts.finditer(text, searched, searched + SEARCHED)), default=0)
            if not cut:
                later = self._cuts.search(text, searched)
                if later is None:
                    break
                cut = later.start()
            yield text[start:cut]
            start = cut + self._puts_blank
        yield text[start:]

    @cached_property
    def _puts_blank(self) -> bool:
        tokens = self._tokenize("a", special=False)
        return bool(tokens) and self._render(tokens[0], special=False).startswith(b" ")

    @property
    def _cuts(self) -> re.Pattern[str]:
        return BLANKS if self._puts_blank else CUTS

    def _tokenize(self, text: str, special: bool, add_special: bool = False) -> list[int]:
        raw = text.encode("utf-8", errors="replace")
        size = len(raw) + 8
        while True:
            tokens = (self.lib.llama_token * size)()
            count = self.lib.llama_tokenize(self.pointer, raw, len(raw), tokens, size, add_special, special)
            if count >= 0:
                ids = list(tokens[:count])
                if min(ids, default=0) < 0:
                    raise Failure("bad_model.missing_tokens")
                return ids
            size = -count

    def token_counts(self, text: str) -> Iterator[int]:
        for piece in self._cut(text):
            raw = piece.encode("utf-8", errors="replace")
            yield abs(int(self.lib.llama_tokenize(self.pointer, raw, len(raw), None, 0, False, False)))

    def piece(self, token: int) -> bytes:
        return self._pieces(token) if token >= 0 else b""  # a picture's has no text

    def _piece(self, token: int) -> bytes:
        piece = self._render(token, special=False)
        if not piece and self.is_control(token) and not self.is_end(token) and self.text(token) in SHOWN_CONTROLS:
            return self.text(token).encode()
        return piece

    def all_pieces(self) -> Iterator[bytes]:
        return (self._render(token, special=False) for token in range(self.n_tokens))

    def text(self, token: int) -> str:
        return self._render(token, special=True).decode(errors="replace") if token >= 0 else ""

    def _render(self, token: int, special: bool) -> bytes:
        size = 64
        while True:
            buffer = ctypes.create_string_buffer(size)
            count = self.lib.llama_token_to_piece(self.pointer, token, buffer, size, 0, special)
            if count >= 0:
                return buffer.raw[:count]
            size = -count

    def is_end(self, token: int) -> bool:
        return bool(self.lib.llama_vocab_is_eog(self.pointer, token))

    def is_control(self, token: int) -> bool:
        return token >= 0 and self._controls(token)

    def _is_control(self, token: int) -> bool:
        return bool(self.lib.llama_vocab_is_control(self.pointer, token))

    @cached_property
    def infill_tokens(self) -> InfillTokens | None:
        functions = (self.lib.llama_vocab_fim_pre, self.lib.llama_vocab_fim_suf, self.lib.llama_vocab_fim_mid)
        prefix, suffix, middle = (function(self.pointer) for function in functions)
        if min(prefix, suffix, middle) < 0:
            return None
        return InfillTokens(prefix, suffix, middle, self._first_of(REPOSITORY_TOKENS), self._first_of(FILE_TOKENS))

    def _first_of(self, texts: Sequence[str]) -> int | None:
        """Return the id of the first text that is one token, else None; ik_llama.cpp has no function for these."""
        all_tokens = (self.tokenize(text, special=True) for text in texts)
        return next((tokens[0] for tokens in all_tokens if len(tokens) == 1), None)

    @property
    def bos_text(self) -> str:
        return self.text(self._bos)

    @property
    def eos_text(self) -> str:
        return self.text(self.lib.llama_vocab_eos(self.pointer))
