"""Constraints: forms that an answer must have, as masks over the vocabulary that follow the answer token by token.

llguidance (https://github.com/guidance-ai/llguidance) compiles grammars and JSON schemas; it is imported when it is
first needed. A mask takes 0.01 to 1 ms with a schema and up to 4 ms with a grammar (152,000 tokens, two cores).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from common.failures import Failure
from common.reasoning import ReasoningParser
from engine.generation.deep import DeepThread
from engine.generation.grammars import answer_grammar, written_rule
from engine.generation.tool_calls import BARE
from engine.generation.value_ends import TAIL, ValueEnds
from engine.protocol.requests import Generate
from engine.tokenization.tokens import ModelVocabulary
from engine.tokenization.tool_formats import JSON_LEAD, ToolFormat

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

Mask = NDArray[np.bool_]  # [n_vocab]: whether a token may come next
PLACE = re.compile(r"(?:at )?\d+\(\d+\): (?:failed to compile JSON schema: )?")
REGEX_ERROR = re.compile(r"^error: (.+?)\.?$", re.MULTILINE)


class GrammarCompiler:
    """Compiler of grammars for the vocabulary of a loaded model.

    The first grammar makes a table of the vocabulary, which takes half a second and about 110 bytes a token; it is kept
    for the next ones.
    """

    def __init__(self, vocabulary: ModelVocabulary) -> None:
        self.vocabulary = vocabulary
        self.thread = DeepThread()

    @cached_property
    def tokenizer(self) -> LLTokenizer:
        """The table of the vocabulary."""
        from llguidance import LLTokenizer

        source = _TokenSource(self.vocabulary)
        # No slices: they make the first masks of a text faster by 1 ms and take twice the memory of all the rest.
        table = LLTokenizer(source, n_vocab=self.vocabulary.n_tokens, eos_token=source.ends, slices=[])  # type: ignore[arg-type]
        source.tokens = ()
        return table

    @cached_property
    def words(self) -> Mask:
        """Mask of the tokens with which an answer begins that says something: not its end, and no blanks."""
        pieces = self.vocabulary.all_pieces()
        blank = ((bool(piece) and not piece.strip()) or self.vocabulary.is_end(n) for n, piece in enumerate(pieces))
        return ~np.fromiter(blank, np.bool_)

    @cached_property
    def value_ends(self) -> ValueEnds:
        """The tokens with which numbers and strings end."""
        return ValueEnds(self.vocabulary)

    def matcher(self, grammar: str, is_json: bool = False) -> Matcher:
        """Compile a grammar in llguidance's notation; in JSON numbers and strings come to an end.

        Raises Failure if the grammar is wrong or too large.
        """
        from llguidance import LLMatcher, LLParserLimits

        limits = LLParserLimits(verbose_errors=False)
        matcher = LLMatcher(self.tokenizer, grammar, log_level=0, limits=limits)  # its log would quote the answer
        if matcher.is_error():
            raise Failure("bad_constraint.refused", matcher.get_error(), reason=reason_of(matcher.get_error()))
        return Matcher(matcher, self.tokenizer, self.vocabulary.n_tokens, self.value_ends if is_json else None)


def refusal_of(schema: dict[str, Any]) -> str:
    """Return why llguidance refuses a JSON schema, or "" if it accepts it."""
    from llguidance import LLMatcher

    is_wrong, messages = LLMatcher.validate_grammar_with_warnings(f"start: {written_rule(schema)}\n")
    return reason_of(messages[0]) if is_wrong else ""


def reason_of(error: str) -> str:
    """Return the reason that an error of llguidance gives, without the place in our grammar."""
    first = PLACE.sub("", error.partition("\n")[0])
    if first.startswith("panic"):
        return "it is too large"
    detail = REGEX_ERROR.search(error)
    return f"{first} {detail[1]}" if detail and first.endswith(":") else first.rstrip(":.")


class _TokenSource:
    """A vocabulary as llguidance reads it.

    Tokens without text, which control tokens are, get a text that no grammar can contain.
    """

    is_tokenizer_wrapper = True
    bos_token_id = None

    def __init__(self, vocabulary: ModelVocabulary) -> None:
        self._vocabulary = vocabulary
        pieces = list(vocabulary.all_pieces())
        self.special_token_ids = [token for token, piece in enumerate(pieces) if not piece]
        self.tokens: Sequence[bytes] = [piece or b"<%d>" % token for token, piece in enumerate(pieces)]
        self.ends = [token for token in range(len(pieces)) if vocabulary.is_end(token)]
        self.eos_token_id = self.ends[0] if self.ends else 0

    def __call__(self, text: str | bytes) -> list[int]:
        """Return the token ids of a text."""
        plain = text if isinstance(text, str) else text.decode(errors="replace")
        return self._vocabulary.tokenize(plain, special=False)


class Matcher:
    """A compiled grammar and how far a text has come in it. `value_ends`: ends the values of a text that is JSON."""

    def __init__(self, matcher: LLMatcher, tokenizer: LLTokenizer, n_tokens: int, value_ends: ValueEnds | None) -> None:
        self._matcher = matcher
        self._tokenizer = tokenizer
        self._n_tokens = n_tokens
        self._value_ends = value_ends
        self._tail = b""  # of the text

    def allowed(self, wanted: int | None = None) -> Mask:
        """Return which tokens may come next; only tokens that end the answer once nothing else may come.

        `wanted`: the token that would come next without a mask; a number or string may end there. Raises Failure if no
        token may come, because the grammar leads nowhere or is too complex.
        """
        bits = np.frombuffer(self._matcher.compute_bitmask(), np.uint8)
        if self._matcher.is_error() or not bits.any():
            raise Failure("bad_constraint.dead_end", self._matcher.get_error())
        allowed = np.unpackbits(bits, count=self._n_tokens, bitorder="little").view(np.bool_)
        return self._value_ends.restrict(allowed, self._tail, wanted) if self._value_ends else allowed

    def advance(self, token: int) -> None:
        """Append a token that may come next."""
        self._matcher.consume_token(token)
        self._tail = (self._tail + self._tokenizer.decode_bytes([token]))[-TAIL:]

    def advance_text(self, text: str) -> bool:
        """Append a text; return False, and append nothing, if it may not come next."""
        tokens = self._tokenizer.tokenize_bytes(text.encode())
        count = self._matcher.try_consume_tokens(tokens)
        if count < len(tokens):
            self._matcher.rollback(count)
            return False
        self._tail = (self._tail + text.encode())[-TAIL:]
        return True

    def count_allowed(self, tokens: Sequence[int]) -> int:
        """Return how many of the tokens may come next, one after the other."""
        return self._matcher.validate_tokens(list(tokens))


@dataclass(frozen=True, slots=True)
class AnswerStart:
    """Beginning of an answer, as its prompt decides it.

    `opening`: the end of the prompt that belongs to the answer. `so_far`: the answer so far, if one is continued.
    `thought_openings`: tokens with which the model may begin to think.
    """

    opening: str = ""
    so_far: str = ""
    thought_openings: Sequence[int] = ()


class AnswerConstraint:
    """The mask of one answer's next token. It holds for the answer's text, or only for what follows a certain text.

    Thoughts are free. `piece`: returns the text of a token. `trigger`: returns the constraint's part of a text, None
    before it has begun; without a trigger the constraint holds from the text's beginning. `first`: the tokens with
    which a free answer may begin.

    Raises Failure if the answer so far does not fit.
    """

    def __init__(
        self,
        matcher: Matcher,
        piece: Callable[[int], bytes],
        start: AnswerStart = AnswerStart(),
        trigger: Callable[[str], str | None] | None = None,
        first: Mask | None = None,
    ) -> None:
        self.holds = False  # whether the next token is masked
        self._matcher = matcher
        self._piece = piece
        self._first = first
        self._trigger = trigger
        self._waits = trigger is not None  # for the trigger
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._parser = ReasoningParser()
        self._text = ""  # free text of the answer, without thoughts
        self._thought_openings: Sequence[int] = ()
        self._follow(start.opening + start.so_far)
        if trigger is None and not self._parser.closing:
            self._thought_openings = () if self.holds or start.so_far else start.thought_openings
            self.holds = not self._thought_openings
            if not self._advance_by_text():
                raise Failure("bad_constraint.continued")

    def allowed(self, wanted: int | None = None) -> Mask | None:
        """Return which tokens may come next; None: all of them. Raises Failure if there are none.

        `wanted`: the token that would come next without a mask, if that is known.
        """
        if self.holds:
            return self._matcher.allowed(wanted)
        if self._thought_openings:
            allowed = self._matcher.allowed()
            allowed[list(self._thought_openings)] = True
            return allowed
        return self._first

    def count_allowed(self, tokens: Sequence[int]) -> int:
        """Return how many of the tokens may come next, one after the other, as far as that is known now."""
        is_text = self._thought_openings and tokens[:1] and tokens[0] not in self._thought_openings
        return self._matcher.count_allowed(tokens) if self.holds or is_text else len(tokens)

    def advance(self, token: int) -> None:
        """Append a token to the answer."""
        self._first = None
        if self._thought_openings:
            self.holds = token not in self._thought_openings
            self._thought_openings = ()
        if self.holds:
            self._matcher.advance(token)
        else:
            begins = self._follow(self._decoder.decode(self._piece(token)))
            if begins and self._trigger is None:  # the token that ended the thought may have begun the text
                self._advance_by_text()

    def _advance_by_text(self) -> bool:
        """Append the text so far to the constrained text; return False if it may not come."""
        return self._matcher.advance_text((self._text + self._parser.held.text).lstrip("\n"))

    def _follow(self, text: str) -> bool:
        """Read free text; the constraint holds from where its part begins. Return whether it holds now."""
        for piece in self._parser.feed(text):
            if piece.kind == "text":
                self._text += piece.text
            elif piece.kind in ("closed", "unopened") and self._trigger is None:
                self.holds = True
        if self._waits and self._trigger and (begun := self._trigger(self._text)) is not None:
            self._waits = False
            self.holds = self._matcher.advance_text(begun)
        return self.holds


def constraint_for(
    request: Generate,
    notation: ToolFormat,
    compiler: GrammarCompiler,
    start: AnswerStart,
    stopped: Callable[[], bool] = lambda: False,
) -> AnswerConstraint | None:
    """Return the mask that a request asks for; None if its answer is free. `notation`: that of its tool calls.

    Tools that may be called constrain the answer from where it begins a call. Behind the result of a call an answer is
    not empty: small models end there, although nothing was said yet. Raises Failure for a constraint that cannot be
    compiled, and Stopped when `stopped` returns True meanwhile.
    """
    calls = bool(request.tools) and request.tool_choice != "none"
    if not calls and request.constraint is None:
        return None
    triggers = calls and request.tool_choice != "required" and request.constraint is None
    _ = compiler.tokenizer, compiler.value_ends  # made in this thread, which the vocabulary belongs to
    return AnswerConstraint(
        compiler.thread.run(lambda: compiled(request, notation, compiler), stopped),
        shown_pieces(notation, compiler.vocabulary),
        start,
        partial(begun_calls, notation) if triggers else None,
        compiler.words if triggers and request.messages[-1:] and request.messages[-1].role == "tool" else None,
    )


def compiled(request: Generate, notation: ToolFormat, compiler: GrammarCompiler) -> Matcher:
    """Compile the grammar of a request's answer.

    If it is refused, each schema in it is tried alone: a tool loses the keywords that cannot be enforced, and the
    Failure about a constraint names them.
    """
    is_json = request.constraint is None or request.constraint.kind != "grammar"
    try:
        return compiler.matcher(answer_grammar(request, notation, compiler.vocabulary), is_json)
    except Failure as failure:
        if failure.sentence.id != "bad_constraint.refused" or not is_json:
            raise
        return compiler.matcher(answer_grammar(request, notation, compiler.vocabulary, refusal_of), is_json)


def begun_calls(notation: ToolFormat, text: str) -> str | None:
    """Return what of an answer's text belongs to its calls, behind their opening; None if no call has begun.

    A call in JSON without its opening is completed in front as if the opening had been there.
    """
    if not notation.opening:
        whole = re.match(notation.whole, text)
        return text[whole.start(1) :] if whole else None
    before, opening, calls = text.partition(notation.opening)
    if opening:
        return calls
    bare = BARE.match(before) if JSON_LEAD in notation.lead else None
    return notation.first + notation.lead.partition("{")[0] + text[bare.start("call") :] if bare else None


def shown_pieces(notation: ToolFormat, vocabulary: ModelVocabulary) -> Callable[[int], bytes]:
    """Return a function like `Vocabulary.piece` that shows the control tokens of a notation too."""
    shown: dict[int, bytes] = {}
    for marker in notation.markers:
        tokens = vocabulary.tokenize(marker, special=True)
        if len(tokens) == 1 and not vocabulary.piece(tokens[0]):
            shown[tokens[0]] = marker.encode()
    if not shown:
        return vocabulary.piece
    return lambda token: shown.get(token) or vocabulary.piece(token)
