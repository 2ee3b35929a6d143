"""The link to an engine process of the API's own."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from dataclasses import replace

import psutil
import pytest

from common.sentences import Sentence
from engine.api import process_link
from engine.api.errors import ApiError
from engine.api.jobs import Jobs, Run
from engine.api.process_link import LOG_SECONDS, ProcessLink
from engine.protocol.events import Event, Failed, Finished, Tokenized
from engine.protocol.requests import Generate, Load, Message, Tokenize
from models.default import default_model


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


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be stopped by a signal")
def test_an_engine_that_ignores_cancel_is_killed_and_everybody_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next request starts it again."""
    monkeypatch.setattr(process_link, "CANCEL_SECONDS", 0.5)
    question = Generate(0, (Message("user", "Count to a thousand."),))

    async def ask() -> tuple[ApiError, list[Event | None]]:
        link = ProcessLink(Load(0, str(default_model()), n_ctx=256, threads=1))
        jobs = Jobs(link)
        await jobs.start()
        try:
            stuck = Run(jobs, [question], "a")
            assert await stuck.first_error() is None
            assert link._process
            psutil.Process(link._process.pid).send_signal(signal.SIGSTOP)
            waiting = Run(jobs, [replace(question, max_tokens=1)], "b")
            counting = asyncio.ensure_future(jobs.ask(Tokenize(0, "a"), Tokenized))
            await asyncio.sleep(0)
            stuck.close()
            with pytest.raises(ApiError) as told:
                [event async for event in stuck.events()]
            with pytest.raises(ApiError):
                await counting
            return told.value, [event async for _, event in waiting.events()]
        finally:
            await jobs.close()

    told, answer = asyncio.run(ask())
    assert told.code == "engine_end"
    assert "did not respond" in told.message
    assert isinstance(answer[-1], Finished)
