"""The link to an engine process of the API's own."""

from __future__ import annotations

import asyncio
import logging

import pytest

from common.sentences import Sentence
from engine.api.process_link import LOG_SECONDS, ProcessLink
from engine.protocol.events import Event, Failed
from engine.protocol.requests import Load


def test_the_engines_log_of_a_bug_is_printed(caplog: pytest.LogCaptureFixture) -> None:
    """A client is told that the log has the details."""
    heard: list[Event] = []

    async def hear() -> None:
        link = ProcessLink(Load(0, "model.gguf"))
        link.received = heard.append
        link._take(Failed(1, Sentence.of("cancelled.request")))
        link._take(Failed(2, Sentence.of("internal.engine")))
        link._log.append("OverflowError in line 71")  # comes later than the failure, by another pipe
        await asyncio.sleep(2 * LOG_SECONDS)

    with caplog.at_level(logging.ERROR):
        asyncio.run(hear())
    assert [event.id for event in heard] == [1, 2]
    [record] = caplog.records
    assert "OverflowError in line 71" in record.getMessage()
