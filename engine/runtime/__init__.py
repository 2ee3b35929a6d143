"""Models that run, behind the protocols of `interface.py`.

May import `engine.tokenization`, `engine.protocol`, `engine.machine`, `engine.stop`, `models` and `common`. The
subpackages import downwards: `graph`, then `llama` and `ik`, then `capi`, then `interface`.
"""
