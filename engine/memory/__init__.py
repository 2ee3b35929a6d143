"""The memory plan: how to load a model so that it fits, from sizes alone."""
