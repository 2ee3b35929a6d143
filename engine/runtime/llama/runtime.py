"""A model that runs on llama.cpp."""

from __future__ import annotations

from engine.runtime.capi.context import ContextOptions
from engine.runtime.capi.runtime import CRuntime
from engine.runtime.llama.context import Context


class LlamaRuntime(CRuntime):
    """`CRuntime` on llama.cpp's contexts."""

    def open_context(self, options: ContextOptions) -> Context:
        """See `CRuntime`."""
        return Context(self.model, options, self.stop)
