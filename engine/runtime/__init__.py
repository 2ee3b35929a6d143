"""A model that runs: `interface.py` says what that is, the rooms below it do it."""
