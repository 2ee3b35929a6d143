"""The commands of `python -m engine`, one module for each group; they may import every package of the engine."""
