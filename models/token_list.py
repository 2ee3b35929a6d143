"""Tokens of a model file in the order of their ids: texts and kinds. Works for every tokenizer.

150 k tokens are read in 50 ms; the `gguf` package's reader takes ten seconds for them (`models.header`).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from common.failures import Failure
from common.files import open_file, read_up_to
from models.header import Header

TEXTS, KINDS = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
PADDING = 5  # kind of the tokens that pad the vocabulary to a round number
# Kinds of tokens that are added to a trained vocabulary: control tokens, those of makers and users, and padding.
ADDED = (3, 4, PADDING)


@dataclass(frozen=True, slots=True)
class TokenList:
    """Vocabulary of a model.

    Attributes:
        texts: as the file writes them, which depends on the kind of tokenizer.
        kinds: ggml's numbers for normal tokens, control tokens and so on; empty if the file does not say.
    """

    texts: tuple[bytes, ...]
    kinds: tuple[int, ...]

    @property
    def trained(self) -> int:
        """Number of tokens before the added ones at the vocabulary's end."""
        count = len(self.texts)
        while count and self.kinds[count - 1 : count] and self.kinds[count - 1] in ADDED:
            count -= 1
        return count


def read_token_list(header: Header) -> TokenList:
    """Read the vocabulary. Raises Failure if the file holds no tokens, or has changed since its header was read."""
    name = header.file_name
    if TEXTS not in header.array_lengths:
        raise Failure("bad_model.no_vocabulary", name=name)
    try:
        with open_file(header.path) as file:
            data = read_up_to(file, header.data_offset)  # bounded, because reading the header was
        texts = tuple(_strings(data, header.value_offsets[TEXTS], header.array_lengths[TEXTS]))
        format = f"<{header.array_lengths.get(KINDS, 0)}i"
        kinds = struct.unpack_from(format, data, header.value_offsets.get(KINDS, 0))
    except (OSError, struct.error) as error:
        raise Failure("unreadable.vocabulary", str(error), name=name) from error
    return TokenList(texts, kinds)


def _strings(data: bytes, at: int, count: int) -> Iterator[bytes]:
    unpack = struct.Struct("<Q").unpack_from
    for _ in range(count):
        start = at + 8
        at = start + unpack(data, at)[0]
        if at > len(data):
            raise struct.error(f"a text beyond the end at {start}")
        yield data[start:at]
