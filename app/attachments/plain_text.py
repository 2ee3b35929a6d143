"""Decoding of text files: which encoding the bytes are in, or that they are not text."""

from __future__ import annotations

import codecs
import re
from itertools import islice

from charset_normalizer import from_bytes

from app.attachments.attachment import Refused

BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, because its mark begins with UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
SAMPLE = 65_536  # bytes or characters that are inspected
CONTROLS = frozenset(map(chr, (*range(9), 11, *range(14, 27), *range(28, 32), 127)))
CONTROL = re.compile("[" + "".join(sorted(CONTROLS)) + "]")  # `str.translate` takes 20 times as long for wide text


def decode(raw: bytes, declared: str = "") -> str:
    """Return the text with newlines as line ends; raise Refused if the bytes are not text.

    `declared`: the codec that the text itself or its sender names, which is used where it fits; "" if none does.
    """
    text = _decoded(raw, declared)
    sample = text[:SAMPLE]
    if sum(map(CONTROLS.__contains__, sample)) * 50 > len(sample):
        raise Refused("binary")
    return clean(text)


def clean(text: str) -> str:
    """Remove control characters and lone surrogates, so that the text can be stored, shown and sent."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", "\n").replace("\ufeff", "")
    return CONTROL.sub("", text.encode("utf-8", "replace").decode())


def _decoded(raw: bytes, declared: str) -> str:
    for mark, name in BOMS:
        if raw.startswith(mark):
            return raw.decode(name, "replace")
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        if "\0" not in text[:SAMPLE]:
            return text
    if (wide := _wide(raw)) is not None:
        return wide
    if b"\0" in raw[:SAMPLE]:
        raise Refused("binary")
    if declared:
        text = raw.decode(declared, "replace")
        if text.count("\ufffd") * 200 <= len(text):  # else it is declared wrongly
            return text
    return raw.decode(encoding_of(raw), "replace")


def _wide(raw: bytes) -> str | None:
    """Decode UTF-16 without a byte order mark, recognised by zero in every other byte of Western text; else None."""
    sample = raw[:SAMPLE]
    for name, high in (("utf-16-le", sample[1::2]), ("utf-16-be", sample[::2])):
        low = sample[::2] if name == "utf-16-le" else sample[1::2]
        if len(sample) > 3 and high.count(0) > 0.4 * len(high) and low.count(0) < 0.05 * len(low):
            return raw.decode(name, "replace")
    return None


# --- encodings from before Unicode, guessed from the bytes: for a few words the guess may be wrong --------------------

# In these scripts most letters are bytes above 127; in Latin ones, a few.
OTHER_SCRIPTS = ["gb18030", "shift_jis", "euc_jp", "big5", "euc_kr", "cp1251", "koi8_u", "cp866", "cp1253"]
EASTERN = ("shift_jis", "euc_jp", "big5", "euc_kr")
LATIN = ["cp1252", "cp1250"]
HIGH = re.compile(rb"[\x80-\xff]+")
LONG_RUN = 2  # average run of bytes above 127; in Latin scripts it is little more than one
ENOUGH = 20_000  # bytes
MOST_LINES = 500
TURKISH, ICELANDIC, CENTRAL = "ğışĞİŞ", "áéíóúæðþ", "ąłśżźšžĄŁŚŻŹŠŽ"
FEW = 40  # bytes above 127, too few to recognise a language


def encoding_of(raw: bytes) -> str:
    """Return the codec for text with bytes above 127 that is not UTF-8; raise Refused if the bytes are not text."""
    sample = _sample(raw)
    runs = [len(run) for run in HIGH.findall(sample)]
    if sum(runs) >= LONG_RUN * len(runs):
        guess = _guess(sample, OTHER_SCRIPTS) or _guess(sample, LATIN) or _refuse()
        # A few common Chinese characters look like Korean syllables, but Korean has spaces.
        return "gb18030" if guess in EASTERN and b" " not in sample and _is_chinese(sample) else guess
    return _latin(sample)


def _sample(raw: bytes) -> bytes:
    """Return the first lines with bytes above 127; plain ASCII lines are the same in all encodings."""
    lines = []
    size = 0
    for line in islice(filter(HIGH.search, raw.splitlines()), MOST_LINES):
        lines.append(line)
        size += len(line)
        if size > ENOUGH:
            break
    return b"\n".join(lines)


def _guess(sample: bytes, names: list[str]) -> str:
    """Return the likeliest encoding; "" if the bytes make sense in none."""
    best = from_bytes(sample, cp_isolation=names, preemptive_behaviour=False).best()
    return best.encoding if best is not None else ""


def _latin(sample: bytes) -> str:
    """Return a Latin encoding: Western Europe's, or that of Poland and its neighbours or Turkey by their letters."""
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
    """Return whether the bytes are GB18030, where most characters are punctuation and common characters."""
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
