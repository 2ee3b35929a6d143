"""GBNF in llguidance's notation: it accepts the texts that llama.cpp's grammars accept."""

from __future__ import annotations

import pytest

from engine.generation.constraint import GrammarCompiler
from engine.generation.gbnf import GrammarError, convert_gbnf
from tests.engine.fake_runtime import END, FakeVocabulary

# llama.cpp's grammars/json.gbnf
JSON = r"""root   ::= object
value  ::= object | array | string | number | ("true" | "false" | "null") ws
object ::=
  "{" ws (
            string ":" ws value
    ("," ws string ":" ws value)*
  )? "}" ws
array  ::=
  "[" ws (
            value
    ("," ws value)*
  )? "]" ws
string ::=
  "\"" (
    [^"\\\x7F\x00-\x1F] |
    "\\" (["\\bfnrt] | "u" [0-9a-fA-F]{4}) # escapes
  )* "\"" ws
number ::= ("-"? ([0-9] | [1-9] [0-9]{0,15})) ("." [0-9]+)? ([eE] [-+]? [0-9] [1-9]{0,15})? ws
# Optional space: by convention, applied in this grammar after literal chars when allowed
ws ::= | " " | "\n" [ \t]{0,20}
"""


@pytest.fixture(scope="module")
def compiler() -> GrammarCompiler:
    return GrammarCompiler(FakeVocabulary())


def accepts(compiler: GrammarCompiler, grammar: str, text: str) -> bool:
    matcher = compiler.matcher(convert_gbnf(grammar))
    return matcher.advance_text(text) and bool(matcher.allowed()[END])


@pytest.mark.parametrize(
    ("grammar", "right", "wrong"),
    [
        ('root ::= "yes" | "no"', ["yes", "no"], ["y", "yesno"]),
        ('root ::= [a-z]+ "ing"', ["going", "inging"], ["ing", "go"]),
        ('root ::= word "ing"\nword ::= [a-z]+', ["going"], ["ing"]),
        ('root ::= "ing" | [a-z] root | ""', ["inx", "ing", ""], ["I"]),
        ('root ::= ("a"{2}){3}', ["aaaaaa"], ["aaaaa", "aaaaaaa"]),
        ('root ::= "a"{2,3} [0-9]{1,}', ["aa1", "aaa123"], ["a1", "aaaa1", "aa"]),
        ('root ::= ("a"*)* "b"?', ["", "aaab"], ["ba"]),
        ('root ::= "\\u00e4\\x42" [^\\n] .', ["äBé\n"], ["äB\n\n"]),
        ('root ::= "\\U0001F426" [\\u00e4-\\u00fc-]', ["🐦ü", "🐦-"], ["🐦z"]),
        ('root ::= "/" [/] "\\"" [\\]^]', ['//"]', '//"^'], ['//"x']),
        ('root ::= a-b a_b\na-b ::= "x"\na_b ::= "y"', ["xy"], ["xx"]),
        ('root ::= "a" | # either\n  "b" ( # or\n "c"\n )\n', ["a", "bc"], ["b"]),
        ("root ::= root root | [a]", ["a", "aaa"], [""]),
        (JSON, ['{"a": [1, 2.5, true, "x\\n"]}', "{}"], ['{"a":1', "[]"]),
        ("root ::= " + "(" * 24 + '"a"' + ")+" * 24, ["a"], ["b"]),
    ],
)
def test_texts_are_accepted_as_by_llama_cpp(compiler, grammar, right, wrong):
    assert [text for text in right if not accepts(compiler, grammar, text)] == []
    assert [text for text in wrong if accepts(compiler, grammar, text)] == []


@pytest.mark.parametrize(
    ("grammar", "reason"),
    [
        ("", "no rule named 'root'"),
        ('a ::= "b"', "no rule named 'root'"),
        ("root ::= b", "no rule named 'b'"),
        ('root ::= "abc', "line 1 must go on with a character"),
        ('root = "a"', "line 1 must go on with ::="),
        ('root ::= "a"\n\nb ::= [', "line 3 must go on with a character"),
        ("root ::= [z-a]", "ascending order"),
        ("root ::= []", "a character"),
        ('root ::= "\\q"', "a character"),
        ('root ::= "\\uD800"', "a character of Unicode"),
        ('root ::= "a"{9,3}', "repeats must lie between"),
        ('root ::= "a"{100000}', "repeats must lie between"),
        ('root ::= "a"{x}', "a number of repeats"),
        ('root ::= ("a"', "must go on with )"),
        ('root ::= "a")', "the end of the rule"),
        ("root ::= " + "(" * 5000 + '"a"' + ")" * 5000, "groups within each other"),
        ("root ::= <think>", "a rule, a text or a group"),
    ],
)
def test_a_wrong_grammar_is_explained(grammar, reason):
    with pytest.raises(GrammarError) as raised:
        convert_gbnf(grammar)
    assert reason in str(raised.value)
    assert len(str(raised.value)) < 200
