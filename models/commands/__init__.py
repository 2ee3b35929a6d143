"""Commands of `python -m models`, one module each. Imports `models` and `common`."""
