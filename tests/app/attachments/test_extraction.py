"""Every kind of file becomes text or a reason why not; the process that reads ends by itself."""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import sys
import zipfile
from itertools import pairwise
from pathlib import Path

import docx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pypdf import PdfReader, PdfWriter

from app.attachments import extraction
from app.attachments.attachment import PART, SENTENCES, UNIT, Refused, estimated_tokens, parts_of, sentence
from app.attachments.child import Reply
from app.attachments.extraction import read_file
from app.attachments.plain_text import decode
from app.attachments.web_page import text_of_page
from common.confinement import landlock
from tests.app.attachments.samples import pdf_of
from tests.app.unprivileged import permissions_hold
from tests.common.confined_program import linux, private_file, run_attempts


def refusal(path: Path) -> str:
    with pytest.raises(Refused) as caught:
        read_file(path)
    words = sentence(caught.value.code, path.name, caught.value.values)
    assert path.name in words
    assert "{" not in words
    return caught.value.code


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("plain ä 🐦\r\nline".encode(), "plain ä 🐦\nline"),
        ("\ufeffmarked".encode(), "marked"),
        ("wide ü".encode("utf-16"), "wide ü"),
        ("wide, no mark".encode("utf-16-le"), "wide, no mark"),
        ("wide, no mark".encode("utf-16-be"), "wide, no mark"),
        ("这是一个简单的测试文件，用来检查编码。".encode("gb18030"), "这是一个简单的测试文件，用来检查编码。"),
        ("你好，世界".encode("gb18030"), "你好，世界"),
        ("Café déjà vu, élève".encode("cp1252"), "Café déjà vu, élève"),
        (b"a\x08b" + b"c" * 200, "ab" + "c" * 200),
    ],
)
def test_encodings(tmp_path: Path, raw: bytes, text: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(raw)
    assert read_file(path).text == text


RUSSIAN = "Привет, мир! Это простой текст о погоде.\nЗавтра будет дождь, а потом выглянет солнце."
JAPANESE = "これは日本語のテキストです。明日は雨が降るそうですが、傘を持って出かけましょう。カタカナも少し。"


@pytest.mark.parametrize("header", ["", "id;name;price\n" * 3000], ids=["alone", "behind ASCII"])
@pytest.mark.parametrize(
    ("codec", "text"),
    [
        ("cp1251", RUSSIAN),
        ("koi8-r", RUSSIAN),
        ("cp866", RUSSIAN),
        ("cp1251", "1;Хлеб;30\n2;Молоко;50\n3;Сыр;120"),
        ("koi8-r", "Список покупок: хлеб, молоко"),
        ("koi8-u", "Привіт, світе! Це їжак. Ґанок, єдність і щастя."),
        ("shift_jis", JAPANESE),
        ("euc-jp", JAPANESE),
        ("shift_jis", "会議は明日です。"),
        ("big5", "這是一個簡單的測試檔案，用來檢查編碼。今天天氣很好，我們去公園散步吧。"),
        ("euc-kr", "안녕하세요. 이것은 간단한 시험 파일입니다. 오늘은 날씨가 좋습니다."),
        ("cp1253", "Καλημέρα κόσμε. Αυτό είναι ένα απλό κείμενο για τον καιρό."),
        ("cp1250", "Zażółć gęślą jaźń. To jest zwykły tekst po polsku, który ma kilka znaków."),
        ("cp1254", "Şu köşe yaz köşesi, şu köşe kış köşesi. Güneşli bir gün için teşekkürler."),
        ("cp1252", "Die Größe der Straße überrascht. Schöne Grüße aus München."),
        ("utf-16", RUSSIAN),
        ("utf-16", JAPANESE),
    ],
)
def test_encodings_from_before_unicode_are_told_from_their_bytes(codec: str, text: str, header: str) -> None:
    assert decode((header + text).encode(codec)) == header + text


def test_noise_is_no_text_in_any_encoding() -> None:
    dice = random.Random(11)
    for low in (1, 32):  # with control characters, and without
        for _ in range(20):
            with pytest.raises(Refused):
                decode(bytes(dice.randrange(low, 256) for _ in range(2000)))


@pytest.mark.parametrize(
    ("name", "raw", "code"),
    [
        ("a.txt", b"", "empty"),
        ("b.txt", b" \n\n ", "empty"),
        ("c.txt", os.urandom(64).join([b"\0\1\2"] * 60), "binary"),
        ("photo.txt", b"\x89PNG\r\n\x1a\n", "blind"),
        ("p.jpg", b"\xff\xd8\xff\xe0", "blind"),
        ("film.mp4", b"\0\0\0\x20ftypisom", "media"),
        ("old.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old_word"),
        ("a.tar.gz", b"\x1f\x8b\x08", "archive"),
        ("a.pdf", b"%PDF-1.4 nothing more", "damaged"),
        ("a.docx", b"PK\3\4 nothing more", "damaged"),
        ("long.txt", b"x" * (extraction.MOST_TEXT + 1), "too_long"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, name: str, raw: bytes, code: str) -> None:
    path = tmp_path / name
    path.write_bytes(raw)
    assert refusal(path) == code


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    assert refusal(tmp_path) == "folder"
    assert refusal(tmp_path / "vanished.txt") == "gone"
    huge = tmp_path / "huge.log"
    with huge.open("wb") as file:
        file.write(b"x")
        file.truncate(500 << 20)
    assert refusal(huge) == "too_large"


def test_no_permission_is_told(tmp_path: Path) -> None:
    path = tmp_path / "secret.txt"
    path.write_text("x")
    path.chmod(0)
    with permissions_hold():
        assert refusal(path) == "denied"


@pytest.mark.skipif(os.name != "posix", reason="pipes in the file system are POSIX's")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == "special"


def test_a_pdf_has_pages_whatever_it_is_called(tmp_path: Path) -> None:
    path = tmp_path / "report.txt"
    path.write_bytes(pdf_of(["First page", "", "Third page"]))
    file = read_file(path)
    assert file.kind == "pdf"
    assert [file.text[at:].split("\n")[0] for at in file.pages] == ["First page", "", "Third page"]


def test_a_word_on_two_lines_of_a_pdf_is_one_word(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_of(["An exam-) Tj 0 -14 Td (ple of it"]))
    assert read_file(path).text.split() == ["An", "example", "of", "it"]


def test_pdfs_that_cannot_be_read(tmp_path: Path) -> None:
    scanned = tmp_path / "scan.pdf"
    scanned.write_bytes(pdf_of(["", ""]))
    assert refusal(scanned) == "no_text"
    writer = PdfWriter()
    plain = tmp_path / "plain.pdf"
    plain.write_bytes(pdf_of(["Secret"]))
    writer.append(PdfReader(plain))
    writer.encrypt("password", algorithm="RC4-128")
    locked = tmp_path / "locked.pdf"
    writer.write(locked)
    assert refusal(locked) == "encrypted"
    cut = tmp_path / "cut.pdf"
    cut.write_bytes(plain.read_bytes()[:200])
    assert refusal(cut) == "damaged"


def test_a_word_document_with_tables(tmp_path: Path) -> None:
    document = docx.Document()
    document.add_heading("Title", 1)
    document.add_paragraph("Before")
    table = document.add_table(2, 2)
    for number, cell in enumerate(cell for row in table.rows for cell in row.cells):
        cell.text = f"cell {number}"
    table.cell(0, 0).merge(table.cell(0, 1))
    document.add_paragraph("After", style="List Bullet")
    path = tmp_path / "a.docx"
    document.save(str(path))
    file = read_file(path)
    assert file.kind == "word"
    lines = [line for line in file.text.split("\n") if line]
    assert lines == ["# Title", "Before", "| cell 0 cell 1 |", "| cell 2 | cell 3 |", "- After"]


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.docx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b" " * (8 << 20))
    assert refusal(path) == "bomb"
    other = tmp_path / "sheet.xlsx"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("xl/workbook.xml", b"x")
    assert refusal(other) == "archive"


def test_a_page_without_what_is_not_read() -> None:
    page = """<html><head><title>T</title><style>p{}</style><script>alert("x < 1")</script></head><body onload=x>
    <h2>Birds &amp; bees</h2><p>One <b>two</b>
    three</p><ul><li>a<li>b</ul><table><tr><td>1</td><td>2</td></tr></table><pre>  x\n  y</pre>
    <noscript>no</noscript><svg><text>no</text></svg><iframe src="http://no"></iframe>end</body>"""
    text = text_of_page(page)
    assert text == "T\n\n## Birds & bees\n\nOne two three\n\n- a\n- b\n\n| 1 | 2\n\n  x\n  y\nend"
    assert text_of_page("<script>x") == ""


@given(st.text(alphabet="ab .\n字。", max_size=3000))
def test_parts_cover_the_text(text: str) -> None:
    parts = parts_of(text)
    covered: set[int] = set()
    for begin, end in parts:
        assert 0 <= begin < end <= len(text)
        assert estimated_tokens(text[begin:end]) <= PART + UNIT + 1
        covered.update(range(begin, end))
    assert not [char for at, char in enumerate(text) if at not in covered and not char.isspace()]
    assert [begin for begin, _ in parts] == sorted({begin for begin, _ in parts})


def test_parts_end_at_paragraphs_and_overlap() -> None:
    text = "\n\n".join(f"Paragraph {number}. " + "word " * 40 for number in range(40))
    parts = parts_of(text)
    assert len(parts) > 5
    assert all(text[begin:].startswith("Paragraph") for begin, _ in parts)
    assert all(after[0] < before[1] for before, after in pairwise(parts))


def child(*arguments: str) -> Reply:
    code = "import sys; from app.attachments.child import main; main(sys.argv[1], *map(eval, sys.argv[2:]))"
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, timeout=120, check=True)
    return msgspec.json.decode(done.stdout, type=Reply)


def test_the_process_answers_with_one_line(tmp_path: Path) -> None:
    path = tmp_path / "名.md"
    path.write_text("# 标题", encoding="utf-8")
    reply = child(str(path))
    assert reply.file
    assert reply.file.text == "# 标题"
    assert child(str(tmp_path / "none")).refused == "gone"


@linux
def test_the_process_reads_its_file_and_can_do_nothing_else(tmp_path: Path) -> None:
    """The process confines itself as at its start, and the rest follows after the libraries have read the file."""
    document = docx.Document()
    document.add_paragraph("text")
    document.save(str(tmp_path / "a.docx"))
    (tmp_path / "a.pdf").write_bytes(pdf_of(["one"]))
    (tmp_path / "a.html").write_text("<p>one</p>")
    secret = private_file(tmp_path)
    confined = "from app.attachments.child import Reply, read_confined\nassert read_confined(sys.argv[1]) == 0\n"
    attempts = {
        "socket": "socket.socket()",
        "file beside": "Path(sys.argv[2]).read_text()",
        "folder": "os.listdir(Path(sys.argv[1]).parent)",
        "writing": "Path(sys.argv[1]).write_text('x')",
        "process": "child('pass')",
    }
    refused = dict.fromkeys(attempts, "PermissionError")
    if not landlock.version():
        refused |= dict.fromkeys(("file beside", "folder", "writing"), "done")
    for name in ("a.docx", "a.pdf", "a.html"):
        done = subprocess.run(
            [sys.executable, "-m", "app.attachments.child", str(tmp_path / name)], capture_output=True, timeout=120
        )
        reply = msgspec.json.decode(done.stdout, type=Reply)
        assert reply.file, (name, reply.refused)
        assert reply.file.text.strip() in ("text", "one")
        assert run_attempts(confined, attempts, str(tmp_path / name), str(secret)) == refused


def test_the_process_ends_itself_when_it_takes_too_much(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(pdf_of([f"page {number} " * 100 for number in range(2_000)]))
    assert child(str(path), "0.0").refused == "slow"
    assert child(str(path), "60", "1").refused == "memory"


def test_every_reason_has_its_sentence() -> None:
    for code in SENTENCES:
        assert "{" not in sentence(code, "a.txt", {"most": "3", "pages": "9"})
    assert sentence("nonsense", "a.txt").startswith("“a.txt” could not be read")


@pytest.mark.parametrize("seed", range(4))
def test_damaged_documents_are_read_or_refused(tmp_path: Path, seed: int) -> None:
    """Wherever a byte has changed, the libraries raise nothing but Refused."""
    document = docx.Document()
    document.add_paragraph("text")
    document.save(str(tmp_path / "whole.docx"))
    dice = random.Random(seed)
    for name, whole in (("a.pdf", pdf_of(["one", "two"])), ("a.docx", (tmp_path / "whole.docx").read_bytes())):
        for _ in range(40):
            raw = bytearray(whole)
            for _ in range(dice.choice((1, 3, 20))):
                raw[dice.randrange(len(raw))] = dice.randrange(256)
            (tmp_path / name).write_bytes(raw)
            with contextlib.suppress(Refused):
                assert read_file(tmp_path / name).text.strip()
