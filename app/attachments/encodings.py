"""Which of the encodings from before Unicode a text is in, told from its bytes: of a few words it may be wrong."""

from __future__ import annotations

import re
from itertools import islice

from charset_normalizer import from_bytes

from app.attachments.refusal import Refused

# Most letters of these scripts are bytes above 127; of Latin ones, a few.
OTHER_SCRIPTS = ["gb18030", "shift_jis", "euc_jp", "big5", "euc_kr", "cp1251", "koi8_u", "cp866", "cp1253"]
EASTERN = ("shift_jis", "euc_jp", "big5", "euc_kr")
LATIN = ["cp1252", "cp1250"]
HIGH = re.compile(rb"[\x80-\xff]+")
LONG_RUN = 2  # bytes above 127 in a row, on average: of Latin letters it is little more than one
ENOUGH = 20_000  # bytes
MOST_LINES = 500
TURKISH, ICELANDIC, CENTRAL = "ğışĞİŞ", "áéíóúæðþ", "ąłśżźšžĄŁŚŻŹŠŽ"
FEW = 40  # letters, of which a language cannot be told


def encoding_of(raw: bytes) -> str:
    """A codec's name for a text with bytes above 127 that is not UTF-8. Raises Refused for what is no text."""
    sample = _sample(raw)
    runs = [len(run) for run in HIGH.findall(sample)]
    if sum(runs) >= LONG_RUN * len(runs):
        guess = _guess(sample, OTHER_SCRIPTS) or _guess(sample, LATIN) or _refuse()
        # A few common Chinese characters look like Korean syllables, but Korean has spaces.
        return "gb18030" if guess in EASTERN and b" " not in sample and _is_chinese(sample) else guess
    return _latin(sample)


def _sample(raw: bytes) -> bytes:
    """The first lines that say something: those of plain ASCII are the same in all encodings."""
    lines = []
    size = 0
    for line in islice(filter(HIGH.search, raw.splitlines()), MOST_LINES):
        lines.append(line)
        size += len(line)
        if size > ENOUGH:
            break
    return b"\n".join(lines)


def _guess(sample: bytes, names: list[str]) -> str:
    """The likeliest; "" if the bytes make sense in none."""
    best = from_bytes(sample, cp_isolation=names, preemptive_behaviour=False).best()
    return best.encoding if best is not None else ""


def _latin(sample: bytes) -> str:
    """Western Europe's, unless the letters are Poland's and its neighbours', or Turkey's."""
    western = sample.decode("cp1254", "replace")
    if _count(western, TURKISH) > _count(western, ICELANDIC) / 4:
        name = "cp1254"
    elif _count(sample.decode("cp1250", "replace"), CENTRAL) or sum(map(len, HIGH.findall(sample))) > FEW:
        name = _guess(sample, LATIN) or "cp1252"
    else:
        name = "cp1252"
    letters = [char for char in sample.decode(name, "replace") if char > "\x7f"]
    if sum(map(str.isalpha, letters)) * 3 < len(letters) and len(letters) * 5 > len(sample):
        _refuse()
    return name


def _count(text: str, letters: str) -> int:
    return sum(map(text.count, letters))


def _is_chinese(sample: bytes) -> bool:
    """GB18030, where most of it is punctuation and the common characters."""
    try:
        text = sample.decode("gb18030")
    except UnicodeDecodeError:
        return False
    foreign = [char for char in text if char > "\x7f"]
    leads = [code[0] for char in foreign if len(code := char.encode("gb2312", "ignore")) == 2]
    common = sum(0xA1 <= lead <= 0xA3 or 0xB0 <= lead <= 0xD7 for lead in leads)
    return common >= 0.95 * len(foreign)


def _refuse() -> str:
    raise Refused("binary")
