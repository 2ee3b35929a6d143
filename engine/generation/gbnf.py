"""GBNF, llama.cpp's notation for grammars, converted into the notation of llguidance.

llguidance splits a text into the longest possible lexemes before it parses it, GBNF knows characters only: after
`[a-z]+ "ing"` a lexer would find no “ing” that is left. So every character becomes a lexeme of its own, and the parser
decides the rest. The notation: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
"""

from __future__ import annotations

import json
import re

DEEPEST = 24  # groups within groups: llguidance reads 27
MOST_REPEATS = 10_000
MOST_PARTS = 10_000  # rules and groups: llguidance calls itself for each, and its time grows with the square
NAME = re.compile(r"[A-Za-z0-9_-]+")
BLANKS = re.compile(r"(?:[ \t]|#[^\r\n]*)*")
BLANK_LINES = re.compile(r"(?:[ \t\r\n]|#[^\r\n]*)*")
REPEATS = re.compile(r"\{[ \t]*(\d{1,9})[ \t]*(,[ \t]*(\d{1,9})?[ \t]*)?\}")
CHARACTER = re.compile(
    r"\\x([0-9A-Fa-f]{2})|\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\([nrt\"\\\[\]])|([^\\])", re.DOTALL
)
ESCAPED = {"n": "\n", "r": "\r", "t": "\t"}


class GrammarError(ValueError):
    """Error in a grammar; the text says what is wrong and where."""


def convert_gbnf(grammar: str) -> str:
    """Return a GBNF grammar in llguidance's notation. Raises GrammarError."""
    return _Parser(grammar).convert()


class _Parser:
    """Parser of one grammar by recursive descent: each method returns the converted text of what it read."""

    def __init__(self, grammar: str) -> None:
        self.grammar = grammar
        self.at = 0
        self.groups = 0
        self.names: dict[str, str] = {}  # rule's name → its name in the converted grammar
        self.rules: dict[str, str] = {}

    def convert(self) -> str:
        self._skip(BLANK_LINES)
        while self.at < len(self.grammar):
            name = self._name_of_rule(self._match(NAME, "the name of a rule")[0])
            self._skip(BLANKS)
            self._expect("::=")
            self._skip(BLANK_LINES)
            self.rules[name] = self._alternatives(0)
            if self.at < len(self.grammar) and self.grammar[self.at] not in "\r\n":
                raise self._error("the end of the rule")
            self._skip(BLANK_LINES)
        if len(self.rules) + self.groups > MOST_PARTS:
            raise GrammarError(f"it has more than {MOST_PARTS:,} rules and groups")
        missing = [name for name, converted in self.names.items() if converted not in self.rules]
        if "root" not in self.names:
            missing = ["root"]
        if missing:
            raise GrammarError(f"there is no rule named {missing[0]!r:.80}")
        rules = "".join(f"{name}: {rule}\n" for name, rule in self.rules.items())
        return f"%llguidance {{}}\nstart: {self.names['root']}\n{rules}"

    def _name_of_rule(self, name: str) -> str:
        return self.names.setdefault(name, f"rule_{len(self.names)}")

    def _alternatives(self, depth: int) -> str:
        """Read sequences that are separated by bars; within a group (`depth` > 0) they may span lines."""
        if depth > DEEPEST:
            raise GrammarError(f"more than {DEEPEST} groups within each other")
        blanks = BLANK_LINES if depth else BLANKS
        sequences = [self._sequence(depth, blanks)]
        while self.grammar.startswith("|", self.at):
            self.at += 1
            self._skip(BLANK_LINES)
            sequences.append(self._sequence(depth, blanks))
        return " | ".join(sequences)

    def _sequence(self, depth: int, blanks: re.Pattern[str]) -> str:
        items: list[str] = []
        while self.at < len(self.grammar) and self.grammar[self.at] not in "|)\r\n":
            item = self._item(depth)
            self._skip(blanks)
            while repeats := self._repeats():
                is_group = item.startswith("(") and item.endswith(")")
                item = f"{item}{repeats}" if is_group else f"({item}){repeats}"
                self._skip(blanks)
            items.append(item)
        return " ".join(items) or '""'

    def _item(self, depth: int) -> str:
        match self.grammar[self.at]:
            case '"':
                return self._literal()
            case "[":
                return self._character_class()
            case ".":
                self.at += 1
                return "/(?s:.)/"
            case "(":
                self.at += 1
                self.groups += 1
                self._skip(BLANK_LINES)
                group = self._alternatives(depth + 1)
                self._expect(")")
                return f"({group})"
            case _:
                return self._name_of_rule(self._match(NAME, "a rule, a text or a group")[0])

    def _repeats(self) -> str:
        """Read what says how often an item is repeated and return it converted; empty if there is nothing."""
        if self.grammar[self.at : self.at + 1] in ("*", "+", "?"):
            self.at += 1
            return self.grammar[self.at - 1]
        if not self.grammar.startswith("{", self.at):
            return ""
        repeats = self._match(REPEATS, "a number of repeats")
        least, most = repeats[1], repeats[3] if repeats[2] else repeats[1]
        if int(most or least) > MOST_REPEATS or int(most or least) < int(least):
            raise GrammarError(f"repeats must lie between 0 and {MOST_REPEATS}, not {repeats[0]}")
        return f"{{{least},{most or ''}}}"

    def _literal(self) -> str:
        self.at += 1
        characters: list[str] = []
        while not self.grammar.startswith('"', self.at):
            characters.append(json.dumps(self._character(), ensure_ascii=False))
        self.at += 1
        return " ".join(characters) or '""'

    def _character_class(self) -> str:
        self.at += 1
        negated = self.grammar.startswith("^", self.at)
        self.at += negated
        parts: list[str] = []
        while not self.grammar.startswith("]", self.at):
            first = self._character()
            last = first
            if self.grammar.startswith("-", self.at) and not self.grammar.startswith("-]", self.at):
                self.at += 1
                last = self._character()
            if last < first:
                raise self._error("a range in ascending order")
            parts.append(f"\\x{{{ord(first):x}}}-\\x{{{ord(last):x}}}")
        self.at += 1
        if not parts:
            raise self._error("a character")
        return f"/[{'^' * negated}{''.join(parts)}]/"

    def _character(self) -> str:
        character = self._match(CHARACTER, "a character")
        two, four, eight, escaped, plain = character.groups()
        if escaped or plain:
            return ESCAPED.get(escaped, escaped) if escaped else plain
        code = int(two or four or eight, 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise self._error("a character of Unicode before this place")
        return chr(code)

    def _skip(self, pattern: re.Pattern[str]) -> None:
        if match := pattern.match(self.grammar, self.at):
            self.at = match.end()

    def _match(self, pattern: re.Pattern[str], expected: str) -> re.Match[str]:
        match = pattern.match(self.grammar, self.at)
        if not match:
            raise self._error(expected)
        self.at = match.end()
        return match

    def _expect(self, text: str) -> None:
        if not self.grammar.startswith(text, self.at):
            raise self._error(text)
        self.at += len(text)

    def _error(self, expected: str) -> GrammarError:
        line = self.grammar.count("\n", 0, self.at) + 1
        rest = self.grammar[self.at : self.at + 20]
        return GrammarError(f"line {line} must go on with {expected}, not with {rest!r}")
