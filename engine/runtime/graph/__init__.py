"""Our own forward pass, on ggml's operations."""
