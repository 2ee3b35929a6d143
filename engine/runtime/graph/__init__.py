"""Our own forward pass on ggml's operations; the top layer of `engine.runtime`: may import llama, capi, interface."""
