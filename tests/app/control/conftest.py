"""The fixtures of the models' dialog, for the tests of its controllers."""

from __future__ import annotations

from tests.app.dialogs.conftest import open_models, server

__all__ = ["open_models", "server"]
