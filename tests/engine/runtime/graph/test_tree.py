"""Draft trees on our own graph, with the shallow model."""

from __future__ import annotations

from tests.engine.runtime.trees import *  # noqa: F403  its tests, for this room's target
