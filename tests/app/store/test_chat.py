"""What of a message leaves the window."""

from __future__ import annotations

from typing import Literal

import pytest

from app.store.chat import ChatMessage


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_references_to_other_programs_tools_are_not_copied(role: Literal["user", "assistant"]) -> None:
    text = "It sings.\ue200cite\ue202turn0search0\ue201 \ue300 \ue200open"
    assert ChatMessage("c", None, role, text).text_to_copy == "It sings. \ue300 \ue200open"
