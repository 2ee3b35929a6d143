"""A model file loaded by our own code; llama.cpp reads its vocabulary, its template and checks its shapes."""

from __future__ import annotations

from collections.abc import Callable

from engine.runtime.capi.model import ModelFile
from engine.runtime.graph import needs
from engine.runtime.graph.dimensions import dimensions_of
from engine.runtime.graph.weights import Weights
from engine.runtime.llama.model import Model
from models.failures import Failure


class GraphModel(Model):
    """Loads `file` as `engine.runtime.llama.model.Model` does; its llama_model has no weights, `weights` has them."""

    def __init__(
        self,
        file: ModelFile,
        progress: Callable[[float], bool] = lambda _fraction: True,
        *,
        repack: bool = True,
        mmap: bool = True,
    ) -> None:
        super().__init__(file, progress, dry=True)
        try:
            refusal = needs.refusal(self.header)
            if refusal:
                raise Failure("not_supported", refusal)
            self.dimensions = dimensions_of(self.header)
            self.weights = Weights(self.header, repack, mmap, progress)
        except BaseException:
            super().close()
            raise

    def close(self) -> None:
        if self.pointer:
            self.weights.close()
        super().close()
