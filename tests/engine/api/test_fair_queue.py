"""The queue of the API's requests: clients take turns."""

from __future__ import annotations

import asyncio

from engine.api.fair_queue import FairQueue


def all_of(queue: FairQueue[str]) -> list[str]:
    async def take() -> list[str]:
        return [await queue.get() for _ in range(len(queue))]

    return asyncio.run(take())


def test_a_client_with_many_requests_delays_nobody() -> None:
    queue: FairQueue[str] = FairQueue()
    for number in range(4):
        queue.put("a", f"a{number}")
    for item in ("b0", "c0", "b1"):
        queue.put(item[0], item)
    assert all_of(queue) == ["a0", "b0", "c0", "a1", "b1", "a2", "a3"]


def test_what_is_removed_is_not_taken() -> None:
    queue: FairQueue[str] = FairQueue()
    for item in ("a0", "b0"):
        queue.put(item[0], item)
    assert queue.remove("a0")
    assert not queue.remove("a0")
    assert all_of(queue) == ["b0"]


def test_an_empty_queue_is_waited_at_until_something_is_put_into_it() -> None:
    async def talk() -> list[str]:
        queue: FairQueue[str] = FairQueue()
        queue.put("a", "removed")
        queue.remove("removed")
        taken = []
        for item in ("first", "second"):  # the queue has been emptied by removing, then by taking
            waiting = asyncio.ensure_future(queue.get())
            await asyncio.sleep(0)
            assert not waiting.done()
            assert len(queue) == 0
            queue.put("a", item)
            taken.append(await waiting)
        return taken

    assert asyncio.run(talk()) == ["first", "second"]
