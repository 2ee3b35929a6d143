"""Which chats are not learned, so that they can show what came of the training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.tokenization.chat_lines import Chat

MOST = 10  # questions are held out of so many times as many


def split(chats: Sequence[Chat], count: int, seed: int) -> tuple[list[Chat], list[Chat]]:
    """Those to learn, and one of each of `count` questions of which no chat is learned; fewer of few questions.

    By question, as one that was learned with another answer shows little of new ones."""
    asked = list(dict.fromkeys(chat.asked for chat in chats))
    dice = np.random.default_rng(seed)
    held = {asked[i]: True for i in dice.permutation(len(asked))[: min(count, len(asked) // MOST)]}
    learned = [chat for chat in chats if chat.asked not in held]
    return learned, [next(chat for chat in chats if chat.asked == question) for question in held]
