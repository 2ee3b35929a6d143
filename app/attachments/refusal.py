"""Why a file is not attached: a code where it is read, and the sentence for the user where it is shown."""

from __future__ import annotations

from app.words import mark, tr

SENTENCES = {
    "gone": mark("“{name}” is not there any more. Was it moved or deleted?"),
    "denied": mark("“{name}” may not be read by your account. Change its permissions or copy it."),
    "unreadable": mark("“{name}” cannot be read: {reason}."),
    "folder": mark("“{name}” is a folder. Attach the files in it instead."),
    "special": mark("“{name}” is not an ordinary file, so it cannot be attached."),
    "empty": mark("“{name}” is empty."),
    "too_large": mark("“{name}” has {size} MB; files of up to {most} MB can be attached. Attach a part of it."),
    "too_long": mark("“{name}” has more than {most} million characters of text. Attach a part of it."),
    "image": mark("“{name}” is an image, and this model reads text only."),
    "media": mark("“{name}” is a sound or a film, and this model reads text only."),
    "binary": mark("“{name}” holds no text. Text, code, PDF, Word (.docx) and web pages can be attached."),
    "old_word": mark("“{name}” is in an old Office format. Save it as .docx or PDF and attach that."),
    "archive": mark("“{name}” is an archive or a document of another kind. Attach it as PDF, .docx or text."),
    "encrypted": mark("“{name}” is protected by a password. Save a copy without one and attach that."),
    "no_text": mark("“{name}” has pages but no text; it was probably scanned. Text recognition can add it."),
    "damaged": mark("“{name}” is damaged or not what its name says. Open it in its program and save it anew."),
    "many_pages": mark("“{name}” has {pages} pages; up to {most} can be read. Attach some of them."),
    "bomb": mark("“{name}” unpacks to far more than it should, so it was not opened."),
    "slow": mark("Reading “{name}” took longer than a minute and was stopped. Attach a part, or save it as text."),
    "memory": mark("Reading “{name}” took too much memory and was stopped. Attach a part, or save it as text."),
    "crashed": mark("“{name}” could not be read: the reader stopped. Save it as text and attach that."),
}  # fmt: skip


class Refused(Exception):
    """`code` is one of SENTENCES; `values` are numbers and words for it, but for the name."""

    def __init__(self, code: str, **values: str) -> None:
        super().__init__(code)
        self.code, self.values = code, values


def sentence(code: str, name: str, values: dict[str, str] | None = None) -> str:
    """What the user reads."""
    return tr(SENTENCES.get(code, SENTENCES["crashed"]), **({"reason": "", "size": ""} | (values or {})), name=name)
