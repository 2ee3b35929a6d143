"""Drafts, and tokens that stay uncached, on ik_llama.cpp."""

from tests.engine.kv.test_real_policies import *  # noqa: F403
from tests.engine.speculative.test_real_drafts import *  # noqa: F403
