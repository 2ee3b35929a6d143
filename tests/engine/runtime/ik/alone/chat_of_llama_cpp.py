"""A chat that llama.cpp saved, opened by ik_llama.cpp.

Not collected by its name: `test_alone` has the chat saved first and then runs this file.
"""

from __future__ import annotations

from tests.engine.runtime.ik.test_alone import reused_of_saved


def test_it_is_read_anew_and_then_opened_fast():
    assert reused_of_saved("ik") == 0
    assert reused_of_saved("ik") > 256
