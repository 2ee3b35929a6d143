"""The API's requests to the engine: answers one after the other, small questions at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Hashable, Sequence
from typing import TypeVar

from common.sentences import Sentence
from engine.api.errors import ApiError, error_of
from engine.api.fair_queue import FairQueue
from engine.api.link import Link
from engine.protocol.events import ENDS, Event, Failed, Faster, Notice, Pulse
from engine.protocol.requests import Embed, Generate, Request

log = logging.getLogger("engine.api")
Long = Generate | Embed  # what the engine does one at a time
E = TypeVar("E")
ASK_SECONDS = 60.0  # for a question that the engine answers beside its work: counting a book takes a second


class Job:
    """A request that waits for its turn or runs; `events` yields what the engine answers.

    `begun` is done with the first event, or with the failure of one that cannot begin.
    """

    def __init__(self, request: Long, client: Hashable) -> None:
        self.request, self.client = request, client
        self.begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.id = 0  # at the engine, once it is its turn
        self.ended = asyncio.Event()
        self._events: asyncio.Queue[Event] = asyncio.Queue()

    def add(self, event: Event) -> None:
        """Append an event of the engine's."""
        if self.ended.is_set():
            return
        self._events.put_nowait(event)
        if isinstance(event, ENDS):
            self.ended.set()
        if not self.begun.done():
            if isinstance(event, Failed):
                self.begun.set_exception(error_of(event))
                self.begun.exception()  # read here: a client that is gone does not ask for it
            else:
                self.begun.set_result(None)

    async def events(self, patience: float | None = None) -> AsyncIterator[Event | None]:
        """Yield the events up to the last one, and None whenever none has come for `patience` seconds.

        Raises ApiError in place of Failed.
        """
        while True:
            try:
                async with asyncio.timeout(patience):  # not `wait_for`, which makes a task for each token
                    event = await self._events.get()
            except TimeoutError:
                yield None
                continue
            if isinstance(event, Failed):
                raise error_of(event)
            yield event
            if isinstance(event, ENDS):
                return


class Jobs:
    """All requests to the engine behind `link`."""

    def __init__(self, link: Link) -> None:
        self.link = link
        link.heard = log_event
        self.waiting: FairQueue[Job] = FairQueue()
        self.running: Job | None = None
        self._worker: asyncio.Task[None] | None = None

    @property
    def busy(self) -> bool:
        """Whether a new request has to wait."""
        return self.running is not None or len(self.waiting) > 0

    async def start(self) -> None:
        """Make the engine ready, then begin to work through the queue. Raises Failure."""
        await self.link.ready()
        self._worker = asyncio.create_task(self._work())

    async def close(self) -> None:
        """Stop, and end the engine."""
        if self._worker:
            self._worker.cancel()
        await self.link.close()

    def submit(self, request: Long, client: Hashable) -> Job:
        """Queue a request of a client."""
        job = Job(request, client)
        self.waiting.put(client, job)
        return job

    def cancel(self, job: Job) -> None:
        """Stop a job that runs, or remove it from the queue; one that has ended stays as it is."""
        if job is self.running and not job.ended.is_set():
            self.link.cancel(job.id)
        elif self.waiting.remove(job):
            job.add(Failed(0, Sentence.of("cancelled.request")))

    async def ask(self, request: Request, kind: type[E]) -> E:
        """Send a question that the engine answers beside its work, and return the answer. Raises ApiError."""
        future: asyncio.Future[Event] = asyncio.get_running_loop().create_future()
        id = self.link.submit(request, lambda event: None if future.done() else future.set_result(event))
        try:
            event = await asyncio.wait_for(future, ASK_SECONDS)
        except TimeoutError:
            raise ApiError(503, "The engine does not answer. Try again later.", "engine_busy") from None
        finally:
            self.link.cancel(id)
        if isinstance(event, Failed):
            raise error_of(event)
        assert isinstance(event, kind), event
        return event

    async def _work(self) -> None:
        """Give one job after the other to the engine, which answers each in the end."""
        while True:
            job = self.running = await self.waiting.get()
            try:
                job.id = self.link.submit(job.request, job.add)
                await job.ended.wait()
            except Exception:
                log.exception("bug while a request was given to the engine")
                job.add(Failed(0, Sentence.of("internal.engine")))
            finally:
                self.running = None


def log_event(event: Event) -> None:
    """Log an event that answers no request."""
    if isinstance(event, Notice):
        log.warning("%s", event.message)
    elif not isinstance(event, Faster | Pulse):
        log.debug("event without a use: %s", type(event).__name__)


class Run:
    """The jobs of one HTTP request, one after the other; `close` ends what is left of them."""

    def __init__(self, jobs: Jobs, requests: Sequence[Long], client: Hashable) -> None:
        self._jobs, self._requests, self._client = jobs, requests, client
        self._job = jobs.submit(requests[0], client)

    async def first_error(self) -> ApiError | None:
        """Wait until the first job has begun; return the error of one that cannot begin."""
        try:
            await asyncio.shield(self._job.begun)
        except ApiError as error:
            return error
        return None

    async def events(self, patience: float | None = None) -> AsyncIterator[tuple[int, Event | None]]:
        """Yield the events of all jobs, each with its job's number, as `Job.events` does."""
        for number, request in enumerate(self._requests):
            if number:
                self._job = self._jobs.submit(request, self._client)
            async for event in self._job.events(patience):
                yield number, event

    def close(self) -> None:
        """Stop the job under way, if the client is gone."""
        self._jobs.cancel(self._job)
