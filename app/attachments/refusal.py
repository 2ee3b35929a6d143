"""Why a file is not attached: a code where it is read, and the sentence for the user where it is shown."""

from __future__ import annotations

from app.words import mark, tr

SENTENCES = {
    "gone": mark("“{name}” no longer exists. It may have been moved or deleted."),
    "denied": mark("You do not have permission to read “{name}”. Change its permissions or attach a copy."),
    "unreadable": mark("“{name}” cannot be read: {reason}."),
    "folder": mark("“{name}” is a folder. Attach the files in it instead."),
    "special": mark("“{name}” is not a regular file, so it cannot be attached."),
    "empty": mark("“{name}” is empty."),
    "too_large": mark("“{name}” is {size} MB; files up to {most} MB can be attached. Attach a part of it."),
    "too_long": mark("“{name}” has more than {most} million characters of text. Attach a part of it."),
    "image": mark("“{name}” is an image, and this model reads text only."),
    "media": mark("“{name}” is audio or video, and this model reads text only."),
    "binary": mark("“{name}” contains no text. You can attach text, code, PDF, Word (.docx) and web pages."),
    "old_word": mark("“{name}” is in an old Office format. Save it as .docx or PDF and attach that."),
    "archive": mark("“{name}” is an archive or an unsupported document. Attach it as PDF, .docx or text."),
    "encrypted": mark("“{name}” is password-protected. Save a copy without the password and attach that."),
    "no_text": mark("“{name}” has page images but no text. Run text recognition (OCR) on it first."),
    "damaged": mark("“{name}” is damaged, or is not the type its name says. Open it in its own app and save it again."),
    "many_pages": mark("“{name}” has {pages} pages; up to {most} can be read. Attach fewer pages."),
    "bomb": mark("“{name}” unpacks to far more data than it should, so it was not opened."),
    "slow": mark("Reading “{name}” took longer than a minute and was stopped. Attach a part, or save it as text."),
    "memory": mark("Reading “{name}” needed too much memory and was stopped. Attach a part, or save it as text."),
    "crashed": mark("“{name}” could not be read: the file reader stopped. Save it as text and attach that."),
}  # fmt: skip


class Refused(Exception):
    """`code` is one of SENTENCES; `values` are numbers and words for it, but for the name."""

    def __init__(self, code: str, **values: str) -> None:
        super().__init__(code)
        self.code, self.values = code, values


def sentence(code: str, name: str, values: dict[str, str] | None = None) -> str:
    """What the user reads."""
    return tr(SENTENCES.get(code, SENTENCES["crashed"]), **({"reason": "", "size": ""} | (values or {})), name=name)
