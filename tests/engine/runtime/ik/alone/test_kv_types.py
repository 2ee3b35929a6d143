"""Every type of KV cache with heads of many sizes, on ik_llama.cpp."""

from __future__ import annotations

import pytest

from tests.engine.runtime.test_kv_types import *  # noqa: F403 - the tests of any library

pytestmark = pytest.mark.usefixtures("model")  # this process holds ik_llama.cpp
