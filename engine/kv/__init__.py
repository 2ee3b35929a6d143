"""KV cache: which tokens' keys and values are kept, where and how long. Imports `runtime` and what lies below."""
