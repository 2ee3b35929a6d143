"""What of an exception is logged: where it happened, and never a text that it quotes."""

from __future__ import annotations

import logging
import sqlite3

import pytest

from common.log_format import PrivateFormatter, kind_of

SECRET = "a secret of the user's"


def fail_by_value() -> None:
    int(SECRET)


def test_frames_and_kinds_are_logged_and_messages_are_not(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        try:
            fail_by_value()
        except ValueError as error:
            raise RuntimeError(SECRET) from error

    try:
        fail()
    except RuntimeError:
        logging.getLogger("test").exception("a bug")
    (record,) = caplog.records
    assert SECRET in caplog.text  # of another handler, whose formatter has kept its text in the record
    text = PrivateFormatter("%(name)s: %(message)s").format(record)
    assert SECRET not in text
    assert text.startswith("test: a bug\n")
    places = [text.index(part) for part in ("in fail_by_value", "ValueError", "which led to")]
    assert [*places, text.rindex("in fail\n")] == sorted([*places, text.rindex("in fail\n")])
    assert text.endswith("RuntimeError")


def test_what_the_program_itself_names_is_kept() -> None:
    with pytest.raises(AttributeError) as caught:
        SECRET.no_such_name  # type: ignore[attr-defined]  # noqa: B018
    assert kind_of(caught.value) == "AttributeError: 'str' object has no attribute 'no_such_name'"
    assert kind_of(FileNotFoundError(2, "No such file", SECRET)) == "FileNotFoundError ENOENT"
    assert kind_of(KeyError(SECRET)) == "KeyError"
    with pytest.raises(sqlite3.Error) as failed:
        sqlite3.connect(":memory:").execute(f'SELECT no_such_function("{SECRET}")')
    assert kind_of(failed.value) == "OperationalError SQLITE_ERROR"
