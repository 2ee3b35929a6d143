"""Fuzzes attached files: PDF, Word, web pages, tables and texts with changed bytes, and decompression bombs.

The real process that reads attachments reads each file; its output must hold the content, or say why there is none.
"""

from __future__ import annotations

import functools
import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from app.attachments.attachment import SENTENCES, sentence
from app.attachments.child import Reply
from tests.app.attachments.samples import pdf_of
from tests.fuzz.harness import Broken, Limits, Recipe, make_folder, run_module
from tests.fuzz.values import EDGES, apply_byte_edits, byte_edits

LIMITS = Limits(seconds=75, memory=(1 << 30) + (1 << 28))
ENDINGS = (".pdf", ".docx", ".html", ".csv", ".txt", ".py", ".json", "", ".gguf")
CODECS = (
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-32",
    "gb18030",
    "shift_jis",
    "euc_kr",
    "cp1252",
    "cp1254",
    "koi8_u",
    "utf-7",
)
TEXT = "Der Vogel sang – schöne Lieder.\nНочь, улица. 这是一个简单的测试文件。\nEin Café, ğışŞ.\n" * 20
PDF_PARTS = ("<<", ">>", "obj", "endobj", "stream", "endstream", "xref", "trailer", "/Length", "/Kids", "/Count",
    "/Pages", "/Parent",
             "/Filter/FlateDecode", "/Filter[/LZWDecode/ASCII85Decode]", "/Prev 0", "/Encrypt 3 0 R", "3 0 R",
             "2 0 R", "1 0 R",
             "Tj", "TJ", "BT", "(((", "<ff", "/ToUnicode 5 0 R", "/Type/ObjStm",
             "/Predictor 12/Columns 999999999")  # fmt: skip
XML_PARTS = ("<w:p>", "</w:p>", "<w:tbl>", "</w:tbl>", "<w:t>", "&lol;", "&#0;", "<!DOCTYPE a [<!ENTITY lol 'lol'>]>",
    "]]>", "<![CDATA[",
             'w:val="-99999999999"', '<w:gridSpan w:val="99999999"/>', "<w:vMerge/>", "<?xml version='1.1'?>", "\x00",
             "\ud7ff")  # fmt: skip
PAGE_PARTS = ("<div>" * 5_000, "<table>" * 500, "<!--", "<script>", "</", "<a href='", "&#x110000;", "&" * 5_000,
    "<![CDATA[", "<?php",
              "<!DOCTYPE", "<svg><style>", "<textarea>", "<p", "&lt" * 5_000, "</script" * 3_000, "<" * 20_000,
              "<a " + "b=" * 9_000)  # fmt: skip


def recipe(dice: Random) -> dict[str, Any]:
    base = dice.choice(
        ("pdf", "pdf", "pdf packed", "word", "word", "word", "page", "page", "text", "text", "table", "bomb", "noise")
    )
    parts = {"p": PDF_PARTS, "w": XML_PARTS}.get(base[0], PAGE_PARTS)
    parts = PAGE_PARTS if base == "page" else parts
    return {
        "base": base,
        "ending": dice.choice(ENDINGS)
        if dice.random() < 0.3
        else {"p": ".pdf", "w": ".docx", "t": ".txt"}.get(base[0], ""),
        "codec": dice.choice(CODECS),
        "put": [
            [dice.random(), dice.choice((*parts, str(dice.choice(EDGES))))] for _ in range(dice.choice((0, 1, 1, 3)))
        ],
        "edits": byte_edits(dice) if dice.random() < 0.7 else [],
        "seed": dice.getrandbits(32),
    }


def write_file(recipe: Recipe, folder: Path) -> Path:
    """Write the recipe's file and return its path."""
    put: Any = recipe["put"]
    edits: Any = recipe["edits"]
    raw = apply_byte_edits(_made(recipe, [(share, what.encode("utf-8", "replace")) for share, what in put]), edits)
    path = folder / f"file{recipe['ending']}"
    path.write_bytes(raw)
    return path


def _made(recipe: Recipe, put: list[tuple[float, bytes]]) -> bytes:
    base = str(recipe["base"])
    if base == "bomb":
        return _bomb(Random(str(recipe["seed"])).choice(("document", "other", "many", "entities", "gzip")))
    if base == "noise":
        return Random(str(recipe["seed"])).randbytes(20_000)
    if base == "word":
        return _word(put)
    ways: dict[str, Callable[[], bytes]] = {
        "pdf": lambda: pdf_of(("One bird", "", "Two birds")),
        "pdf packed": _packed_pdf,
        "page": lambda: PAGE.encode(str(recipe["codec"]), "replace"),
        "text": lambda: TEXT.encode(str(recipe["codec"]), "replace"),
        "table": lambda: ("a,b;c\td\n" + '1,"2\n3",4\n' * 400).encode(str(recipe["codec"]), "replace"),
    }
    return _with(ways[base](), put)


PAGE = (
    "<!DOCTYPE html><html><head><title>Birds ä</title></head><body><h1>Birds</h1><p>One &amp; two</p><pre>a\n b</pre>"
    + ("<table><tr><td>1<td>2</table><ul><li>x<li>y</ul>" * 20)
)


def _with(raw: bytes, put: list[tuple[float, bytes]]) -> bytes:
    for share, what in put:
        at = int(share * len(raw))
        raw = raw[:at] + what + raw[at:]
    return raw


@functools.cache
def _packed_pdf() -> bytes:
    """Return a PDF as real programs write it: with compressed objects and texts."""
    from pypdf import PdfReader, PdfWriter

    writer, buffer = PdfWriter(), io.BytesIO()
    for page in PdfReader(io.BytesIO(pdf_of(("One bird", "Two birds")))).pages:
        writer.add_page(page).compress_content_streams()
    writer.add_metadata({"/Title": "Birds"})
    writer.write(buffer)
    return buffer.getvalue()


@functools.cache
def _document() -> bytes:
    import docx

    document, buffer = docx.Document(), io.BytesIO()
    document.add_heading("Birds", 1)
    for number in range(5):
        document.add_paragraph(f"Bird {number} sings.", style="List Bullet" if number % 2 else None)
    table = document.add_table(3, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "merged"
    document.save(buffer)
    return buffer.getvalue()


def _word(put: list[tuple[float, bytes]]) -> bytes:
    """Return a Word document whose XML was changed before compression.

    Changes after compression would only make a damaged archive.
    """
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(_document())) as source,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as target,
    ):
        for entry in source.infolist():
            raw = source.read(entry)
            changed = entry.filename in ("word/document.xml", "word/styles.xml", "[Content_Types].xml", "_rels/.rels")
            hit = changed and (entry.filename == "word/document.xml" or len(put) > 1)
            target.writestr(entry.filename, _with(raw, put) if hit else raw)
    return buffer.getvalue()


@functools.cache
def _bomb(kind: str) -> bytes:
    if kind == "gzip":
        import gzip

        return gzip.compress(bytes(1 << 24))
    buffer, lol = (
        io.BytesIO(),
        b"<!ENTITY a0 'lol'>" + b"".join(b"<!ENTITY a%d '%s'>" % (n, b"&a%d;" % (n - 1) * 10) for n in range(1, 12)),
    )
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as target:
        with zipfile.ZipFile(io.BytesIO(_document())) as source:
            for entry in source.infolist():
                if entry.filename != "word/document.xml":
                    target.writestr(entry.filename, source.read(entry))
        if kind == "entities":
            target.writestr("word/document.xml", b"<?xml version='1.0'?><!DOCTYPE a [" + lol + b"]><a>&a11;</a>")
        elif kind == "document":
            target.writestr("word/document.xml", b"<a>" + b" " * (1 << 26) + b"</a>")
        else:
            target.writestr("word/document.xml", b"<a/>")
            for number in range(6000 if kind == "many" else 1):
                target.writestr(f"word/media/{number}.png", b"" if kind == "many" else bytes(1 << 26))
    return buffer.getvalue()


class Attachments:
    """Runner of the cases of attached files."""

    name = "attachments"
    recipe = staticmethod(recipe)

    def __init__(self, folder: Path) -> None:
        self.folder, self._peak = folder, 0

    @property
    def peak(self) -> int:
        return self._peak

    def run(self, recipe: Recipe) -> str:
        """Return the sentence that refuses the file, '' if it was read. Raises Broken."""
        path = write_file(recipe, make_folder(self.folder, "file"))
        ran = run_module(["app.attachments.child", str(path)], self.folder, LIMITS)
        self._peak = max(self._peak, ran.peak)
        path.unlink()
        if ran.code:
            raise Broken(f"it ended with code {ran.code}", ran.stderr)
        reply = msgspec.json.decode(ran.stdout, type=Reply)
        if reply.file is not None:
            return ""
        if reply.refused not in SENTENCES:
            raise Broken(f"there is no sentence for “{reply.refused}”", ran.stderr)
        return sentence(reply.refused, path.name, reply.values)

    def close(self) -> None:
        """Do nothing: no process is left running."""
