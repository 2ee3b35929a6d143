"""What is the same for every library that has a model file open for its sizes alone, and reads them from its log."""

from __future__ import annotations

import re
from typing import Self

from engine.runtime.capi.model import CModel
from models.header import Header

MIB = 1 << 20


class CDryModel:
    """The part of `engine.runtime.sizes.DrySizes` that the model without its weights answers."""

    def __init__(self, model: CModel) -> None:
        self.model = model

    @property
    def header(self) -> Header:
        return self.model.header

    @property
    def can_truncate(self) -> bool:
        return self.model.can_truncate

    @property
    def n_ctx_train(self) -> int:
        return self.model.n_ctx_train

    @property
    def n_vocab(self) -> int:
        return self.model.vocabulary.n_tokens

    def close(self) -> None:
        self.model.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, value: object, trace: object) -> None:
        self.close()


def logged(pattern: re.Pattern[str], text: str) -> int:
    """Bytes: the sum of all sizes in MiB that a pattern finds in a log."""
    return round(sum(float(size) for size in pattern.findall(text)) * MIB)
