"""Draft trees on ik_llama.cpp."""

from tests.engine.runtime.trees import *  # noqa: F403  its tests, for this folder's target
