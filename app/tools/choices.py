"""What the user chose for the tools of one chat: which may be used, and which of them without a question."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import msgspec

from app.tools.tool import ToolInfo

Rule = Literal["ask", "always", "never"]


@dataclass(frozen=True, slots=True)
class Choices:
    """Choices for one chat.

    `on`: what is switched on: a tool as `source/name`, or all tools of a source as `source`. `always`, `never`: what
    the user agreed to or refused for the whole chat (`agreement_of`).
    """

    on: tuple[str, ...] = ()
    always: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    def uses(self, info: ToolInfo) -> bool:
        """Return whether the chat may use the tool."""
        return info.source in self.on or f"{info.source}/{info.name}" in self.on

    def switched(self, key: str, on: bool) -> Choices:
        """Return the choices with a tool or a source switched on or off; switching it on takes back what was refused.

        What the user refused is of another tool's wording perhaps, so all of it is taken back.
        """
        others = tuple(each for each in self.on if each != key)
        return replace(self, on=(*others, key), never=()) if on else replace(self, on=others)

    def rule_for(self, info: ToolInfo, agreement: str) -> Rule:
        """Return what to do with a call: a tool that only reads is asked about only if the user wished so."""
        if agreement in self.never:
            return "never"
        return "always" if info.effect == "reads" or agreement in self.always else "ask"

    def with_rule(self, agreement: str, rule: Rule) -> Choices:
        """Return the choices with the user's answer for the whole chat."""
        always = tuple(each for each in self.always if each != agreement)
        never = tuple(each for each in self.never if each != agreement)
        if rule == "always":
            return replace(self, always=(*always, agreement), never=never)
        return replace(self, always=always, never=(*never, agreement) if rule == "never" else never)

    def without_agreements(self) -> Choices:
        """Return the choices for a copy of the chat, in which the user is asked again."""
        return Choices(self.on)


def agreement_of(info: ToolInfo, host: str) -> str:
    """Return what the user agrees to: the tool as it describes itself now, and the host that it connects to."""
    return f"{info.fingerprint} {host}".strip()


def choices_from(text: str) -> Choices:
    """Read `Chat.tools`; a text that cannot be read gives no choices."""
    try:
        return msgspec.json.decode(text, type=Choices) if text else Choices()
    except (msgspec.DecodeError, msgspec.ValidationError):
        return Choices()


def choices_text(choices: Choices) -> str:
    """Return the choices as `Chat.tools` stores them."""
    return msgspec.json.encode(choices).decode() if choices != Choices() else ""
