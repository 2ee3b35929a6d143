"""The published draft model's k: the matched length that was most frequent."""

from __future__ import annotations

from engine.speculative.draft_model import STEP_TOKENS, Follower
from engine.speculative.published import INITIAL_K, MAX_K, PublishedDraftLength, PublishedDraftModel
from tests.engine.speculative.test_draft_model import PROMPT, Small, continuation, drafter


def lengths(*drafts: tuple[int, int]) -> PublishedDraftLength:
    matched = PublishedDraftLength()
    for right, drafted in drafts:
        matched.add(right, drafted)
    return matched


def test_k_is_the_most_frequent_matched_length():
    assert lengths().k == INITIAL_K
    assert lengths((2, 4), (1, 4), (2, 4), (3, 4), (1, 4), (2, 4)).k == 2
    assert lengths((2, 4), (3, 4)).k == 3
    assert lengths((0, 4), (0, 4), (0, 4)).k == INITIAL_K
    assert lengths((0, 4), (0, 4), (1, 4)).k == 1


def test_drafts_that_are_right_to_their_end_make_k_grow():
    assert lengths((4, 4), (4, 4), (1, 4)).k == 9
    assert lengths(*[(4, 4)] * 20, (0, 4)).k == MAX_K
    unfinished = lengths((4, 4))
    unfinished.begin()
    unfinished.add(2, 4)
    assert unfinished.k == 2


def test_the_published_form_learns_k_from_the_chat_and_forgets_it_with_another_one():
    draft, chat = PublishedDraftModel(Follower(Small(), 257, 512), 0.01), list(PROMPT)
    draft.begin(chat)
    for _ in range(5):
        tokens = draft.propose(9)[0].tokens
        new = [*tokens[:2], 65]
        draft.extend(new)
        chat += new
    assert draft.matched.k == 2
    assert len(draft.propose(9)[0].tokens) == 2
    draft.begin([*chat, 98, 99])
    assert draft.matched.k == 2
    draft.begin(list(b"another chat"))
    assert draft.matched.k == INITIAL_K


def test_a_step_reads_no_more_than_its_two_tokens():
    draft = drafter()
    draft.begin(PROMPT)
    draft.propose(4)
    draft.extend([*continuation(PROMPT, 4), 97])
    follower = draft.follower
    assert len(follower.chat) - follower._valid_tokens == STEP_TOKENS
