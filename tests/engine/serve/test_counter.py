"""Requests about tokens: they are answered beside the others, each in its turn."""

from __future__ import annotations

from engine.protocol.events import Detokenized, Failed, Tokenized
from engine.protocol.requests import Detokenize, Tokenize
from tests.engine.serve.test_server import served


def test_tokens_of_a_text_and_their_text(engine):
    vocabulary = engine._loaded().template.vocabulary
    text = "A bird<|im_end|> 🐦"
    tokens = tuple(vocabulary.tokenize(text, special=True))
    plain = tuple(vocabulary.tokenize(text, special=False))
    answers = {
        event.id: event
        for event in served(
            engine,
            Tokenize(1, text),
            Tokenize(2, text, parse_special=False),
            Detokenize(3, plain),
            Detokenize(4, (-1,)),
        )
    }
    assert answers[1] == Tokenized(1, tokens, tuple(map(vocabulary.piece, tokens)))
    assert answers[2] == Tokenized(2, plain, tuple(map(vocabulary.piece, plain)))
    assert answers[3] == Detokenized(3, text)
    assert isinstance(answers[4], Failed)
    assert answers[4].code == "bad_prompt"
