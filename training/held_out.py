"""Splits off chats that are never learned, so that they can judge the training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from training.chat_lines import ChatLine

MOST = 10  # at most one question in so many is held out


def split(chats: Sequence[ChatLine], count: int, seed: int) -> tuple[list[ChatLine], list[ChatLine]]:
    """Return the chats to learn, and one chat for each of `count` held-out questions, of which no chat is learned.

    At most a tenth of the questions is held out. Chats are split by question, because a question that was learned with
    another answer shows little about new questions.
    """
    questions = list(dict.fromkeys(chat.prompt for chat in chats))
    dice = np.random.default_rng(seed)
    held = {questions[i]: True for i in dice.permutation(len(questions))[: min(count, len(questions) // MOST)]}
    learned = [chat for chat in chats if chat.prompt not in held]
    return learned, [next(chat for chat in chats if chat.prompt == question) for question in held]
