"""The references to tools that other programs put into answers, such as ⟨U+E200⟩cite⟨U+E202⟩turn0search0⟨U+E201⟩.

Imported chats keep them. They mean nothing here, so they are neither shown nor copied.
"""

from __future__ import annotations

import re

_TOOL_MARK = re.compile("\ue200[^\ue200\ue201\n]{0,500}\ue201")


def without_tool_marks(text: str) -> str:
    """Return the text without such references."""
    return _TOOL_MARK.sub("", text) if "\ue200" in text else text
