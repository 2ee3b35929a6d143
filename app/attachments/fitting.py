"""What of the files goes into the context: how much room there is, and which parts are sent where it is too little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from app.attachments.attachment import Attachment
from app.attachments.matching import ranked
from app.attachments.parts import estimated_tokens

ANSWER_SHARE = 4  # of the context at most is kept free for the answer
ANSWER_TOKENS = 1024
MOST_PARTS = 12  # that match: more are read slowly and confuse a small model
HEADING = 24  # tokens of an attachment's name and fence, and of a part's mark
MARGIN = 1.05  # a part's tokens are estimated from the whole text's


@dataclass(frozen=True)
class Counted:
    """A file and the tokens of its whole text."""

    attachment: Attachment
    tokens: int

    @cached_property
    def _ratio(self) -> float:
        return self.tokens / max(1.0, estimated_tokens(self.attachment.text))

    def part_tokens(self, index: int) -> int:
        """Estimated from how many the whole text has."""
        return round(estimated_tokens(self.attachment.part(index)) * self._ratio * MARGIN) + 8


def room_for_files(n_ctx: int, history: int) -> int:
    """Tokens of files and question that fit beside `history` tokens of chat and an answer."""
    return max(0, n_ctx - history - min(n_ctx // ANSWER_SHARE, ANSWER_TOKENS) - HEADING)


def without_question(room: int, question: str) -> int:
    """What of `room` the question, as typed so far, leaves for files."""
    return max(0, room - round(estimated_tokens(question) * 1.3))


def needed(files: Sequence[Counted]) -> int:
    """Tokens of all files, headings included."""
    return sum(file.tokens + HEADING for file in files)


def from_the_beginning(files: Sequence[Counted], room: int) -> tuple[Attachment, ...]:
    """As many parts of each file, in order, as fit; files that fit as they are stay whole."""
    chosen = []
    for file in files:
        if file.tokens + HEADING <= room:
            chosen.append(file.attachment)
            room -= file.tokens + HEADING
            continue
        sent = _as_fit(file, room)
        room -= HEADING + sum(file.part_tokens(index) for index in sent)
        chosen.append(replace(file.attachment, sent=tuple(sent)))
    return tuple(chosen)


def best_matching(files: Sequence[Counted], question: str, room: int) -> tuple[Attachment, ...]:
    """The parts that match the question best; where none does, the beginning and parts from all over the file.

    Small files, up to half the room together, stay whole. Takes up to a second: not for the window's thread."""
    whole = _small(files, room // 2)
    room -= needed([files[number] for number in whole])
    large = [number for number in range(len(files)) if number not in whole]
    order = ranked([_texts(files[number].attachment) for number in large], question)
    matched = bool(order)
    sent: dict[int, list[int]] = {number: [] for number in large}
    room -= HEADING * len(large)
    for at, index in (order or _spread([files[number] for number in large]))[:MOST_PARTS]:
        number = large[at]
        tokens = files[number].part_tokens(index)
        if tokens > room:
            if matched:
                continue  # a shorter one may still fit
            break
        room -= tokens
        sent[number].append(index)
    return tuple(
        file.attachment if number in whole else replace(file.attachment, sent=tuple(sorted(sent[number])))
        for number, file in enumerate(files)
    )


def _as_fit(file: Counted, room: int) -> list[int]:
    room -= HEADING
    sent = []
    for index in range(len(file.attachment.parts)):
        room -= file.part_tokens(index)
        if room < 0:
            break
        sent.append(index)
    return sent


def _small(files: Sequence[Counted], room: int) -> set[int]:
    """The numbers of the smallest files that fit into `room` together; never all of them."""
    found: set[int] = set()
    for number in sorted(range(len(files)), key=lambda number: files[number].tokens)[:-1]:
        room -= files[number].tokens + HEADING
        if room < 0:
            break
        found.add(number)
    return found


def _texts(attachment: Attachment) -> list[str]:
    return [attachment.part(index) for index in range(len(attachment.parts))]


def _spread(files: Sequence[Counted]) -> list[tuple[int, int]]:
    """(file, part): the beginning of each file, then parts at even distances, the widest gaps first."""
    order = []
    for at, file in enumerate(files):
        count = len(file.attachment.parts)
        steps = sorted({0, *(round(k * (count - 1) / (MOST_PARTS - 1)) for k in range(MOST_PARTS))} & set(range(count)))
        order += [(rank, at, index) for rank, index in enumerate(_halves(steps))]
    return [(at, index) for _, at, index in sorted(order)]


def _halves(steps: list[int]) -> list[int]:
    """First, last, then the middles: so that what fits is spread, however little it is."""
    if len(steps) < 3:
        return steps
    queue, order = [(0, len(steps) - 1)], [steps[0], steps[-1]]
    while queue:
        low, high = queue.pop(0)
        if high - low < 2:
            continue
        middle = (low + high) // 2
        order.append(steps[middle])
        queue += [(low, middle), (middle, high)]
    return order
