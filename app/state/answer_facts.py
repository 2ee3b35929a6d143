"""Facts about an answer that are stored with it and shown below it: statistics and sources. Knows no Qt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import msgspec

from app.attachments.attachment import Attachment, Place, runs
from app.collections.words import WIDE_WORD, indexed_words
from app.store.chat import ChatMessage
from app.words import tr, tr_n, worded
from common.units import exact_seconds, speed
from engine.protocol.events import Statistics

# Of the passages found, those of which an answer used something (docs/notes/collections.md).
LEAST_SHARED, USED_SHARE, NUMBER_WEIGHT = 1.5, 0.3, 2
FEW_OWN = 2  # words that the question does not have: such an answer repeats the question

# --- the numbers ------------------------------------------------------------------------------------------------------


def statistics_to_json(statistics: Statistics) -> str:
    return msgspec.json.encode(statistics).decode()


def statistics_from_json(text: str) -> Statistics | None:
    """Return the statistics; None if there are none or the text, from a damaged file, has another form."""
    try:
        return msgspec.json.decode(text, type=Statistics) if text else None
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None


def continued(before: Statistics | None, after: Statistics) -> Statistics:
    """Return the statistics of a whole answer from those of its beginning and of its continuation."""
    if before is None:
        return after
    return replace(
        after,
        decode_tokens=before.decode_tokens + after.decode_tokens,
        decode_seconds=before.decode_seconds + after.decode_seconds,
        steps=before.steps + after.steps,
        thinking_tokens=max(before.thinking_tokens, after.thinking_tokens),  # a continued thought is counted whole
        thinking_seconds=before.thinking_seconds + after.thinking_seconds,
    )


def thinking_tokens(message: ChatMessage) -> int:
    """Return the number of tokens of an answer's thoughts; 0 if it has none or they were not counted."""
    numbers = statistics_from_json(message.statistics)
    return numbers.thinking_tokens if numbers else 0


def facts_of(message: ChatMessage) -> list[str]:
    """Return lines about the message for its tool tip and menu: time, model, speed, prompt."""
    lines = [f"{datetime.fromtimestamp(message.created_at):%Y-%m-%d %H:%M}"]
    if message.model:
        lines.append(message.model)
    numbers = statistics_from_json(message.statistics)
    if numbers is None:
        return lines
    tokens = tr_n("{n} token", "{n} tokens", numbers.decode_tokens)
    if numbers.decode_seconds > 0 and numbers.decode_tokens > 1:
        rate = worded(speed(numbers.decode_tokens / numbers.decode_seconds))
        time = worded(exact_seconds(numbers.decode_seconds))
        lines.append(tr("{tokens} in {time}, {speed}", tokens=tokens, time=time, speed=rate))
    else:
        lines.append(tokens)
    read = tr_n("{n} token", "{n} tokens", numbers.read_tokens)
    lines.append(
        tr("{tokens} of the prompt read, {known} from the cache", tokens=read, known=f"{numbers.reused_tokens:,}")
    )
    if numbers.encoded_tokens:
        tokens = tr_n("{n} token", "{n} tokens", numbers.encoded_tokens)
        time = worded(exact_seconds(numbers.picture_seconds))
        lines.append(tr("pictures: {tokens} seen in {time}", tokens=tokens, time=time))
    return lines


# --- the sources ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Source:
    """The parts of one file that an answer is from.

    `parts` count from 1 and there are `total`; `pages` are those that the parts lie on, empty for a file without pages.
    What was found in a collection has a `number` in `read_for`, and `places` in its file; without
    places all of the file was sent. Its `parts` are the places of which the answer used something; () stands for all.
    A collection in which nothing was found has a total of 0.
    """

    name: str
    parts: tuple[int, ...]
    total: int
    pages: tuple[int, ...] = ()
    number: int | None = None
    places: tuple[Place, ...] = ()

    @property
    def used_places(self) -> Sequence[int]:
        """Numbers, from 0, of the places that the answer is from."""
        return [part - 1 for part in self.parts if part <= len(self.places)] or range(len(self.places))


def read_for(messages: Sequence[ChatMessage]) -> tuple[Attachment, ...]:
    """Return what the answer at the end of a branch is from: the last question's files, and what calls have found."""
    question = max((at for at, message in enumerate(messages) if message.role == "user"), default=len(messages))
    return tuple(file for message in messages[question:] for file in message.attachments)


def sources_of(attachments: Iterable[Attachment]) -> str:
    """Return JSON of the files that are sent in parts or were found; "" if all are attached and sent whole."""
    sources = [
        _source(attachment, number)
        for number, attachment in enumerate(attachments)
        if attachment.sent is not None or attachment.from_collection
    ]
    return msgspec.json.encode(sources).decode() if sources else ""


def used_sources(packed: str, attachments: Sequence[Attachment], question: str, answer: str) -> str:
    """Return the sources without those files and passages of collections of which the answer used nothing.

    An answer uses a passage if they share words that the question does not have. A word counts less if other passages
    have it too, a number counts double. Where words cannot tell, all stay: for an answer in another script, and for
    one that only repeats the question.
    """
    sources = _decoded(packed)
    passages = {
        (source.number, place): attachment.part(place) if source.places else attachment.text
        for source in sources
        if source.number is not None and source.number < len(attachments)
        for attachment in (attachments[source.number],)
        for place in range(min(len(source.places), len(attachment.parts)) or 1)
    }
    said = indexed_words(answer).keys()
    own = said - indexed_words(question).keys()
    if not passages or not own or bool(WIDE_WORD.search(answer)) != any(map(WIDE_WORD.search, passages.values())):
        return packed
    shared = {key: own & indexed_words(text).keys() for key, text in passages.items()}
    having = Counter(word for words in shared.values() for word in words)
    scores = {
        key: sum((NUMBER_WEIGHT if word.isdigit() else 1) / having[word] for word in words)
        for key, words in shared.items()
    }
    if len(own) <= FEW_OWN and len(said) > len(own) and not any(scores.values()):
        return packed  # “Yes, jays bury acorns.”
    least = max(min(LEAST_SHARED, len(own) / 2), USED_SHARE * max(scores.values()))
    used = {key for key, score in scores.items() if score >= least}
    kept = [
        source
        if source.number is None
        else replace(
            source, parts=tuple(place + 1 for place in range(len(source.places)) if (source.number, place) in used)
        )
        for source in sources
        if source.number is None or any(number == source.number for number, _ in used)
    ]
    return msgspec.json.encode(kept).decode()


def sources_line(packed: str) -> str:
    """Return the footer below an answer: `From report.pdf: parts 3, 7, 12 of 40 (pages 4–5)`, a line for each file.

    Files of collections are left out: `found_sources` has them.
    """
    return "\n".join(_line(source) for source in _decoded(packed) if source.number is None)


def found_sources(packed: str) -> list[Source]:
    """Return the files of collections that an answer is from."""
    return [source for source in _decoded(packed) if source.number is not None]


def place_words(place: Place) -> str:
    """Return where a passage is in its file: page and heading; "" if neither is known."""
    page = tr("page {n}", n=place.page) if place.page else ""
    return " · ".join(filter(None, (page, place.heading)))


def _decoded(packed: str) -> list[Source]:
    try:
        return msgspec.json.decode(packed, type=list[Source]) if packed else []
    except msgspec.DecodeError:  # from a damaged file
        return []


def _line(source: Source) -> str:
    if not source.total:
        return tr("Nothing about this was found in {name}.", name=source.name)
    if not source.parts:
        return tr("Nothing from {name} was sent.", name=source.name)
    line = tr_n(
        "From {name}: part {parts} of {total}",
        "From {name}: parts {parts} of {total}",
        len(source.parts),
        name=source.name,
        parts=_listed(source.parts),
        total=f"{source.total:,}",
    )
    if not source.pages:
        return line
    return line + tr_n(" (page {pages})", " (pages {pages})", len(source.pages), pages=_listed(source.pages))


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs(numbers))


def _source(attachment: Attachment, number: int) -> Source:
    if attachment.path:
        return Source(attachment.name, (), len(attachment.parts), number=number, places=attachment.places)
    spans = [attachment.pages_of(index) for index in attachment.sent or ()]
    pages = {page for span in spans if span for page in range(span[0], span[1] + 1)}
    parts = tuple(index + 1 for index in attachment.sent or ())
    return Source(attachment.name, parts, len(attachment.parts), tuple(sorted(pages)))
