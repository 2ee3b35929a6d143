"""The queue of requests: which request may stop which."""

from __future__ import annotations

import queue
import threading

from common.sentences import Sentence
from engine.protocol.events import Failed
from engine.protocol.requests import (
    Count,
    Detokenize,
    Forget,
    Generate,
    Message,
    Prepare,
    Shutdown,
    Title,
    Tokenize,
    Unload,
)
from engine.serve.jobs import LONG_TEXT, Counters, JobQueue
from engine.stop import StopFlag


def next_id(queue: JobQueue) -> int:
    job = queue.next_job()
    assert job
    return job.id


MESSAGES = (Message("user", "hi"),)


def jobs() -> tuple[JobQueue, StopFlag]:
    stop = StopFlag()
    return JobQueue(stop), stop


def test_in_order():
    queue, _ = jobs()
    for id in (1, 2, 3):
        queue.put(Unload(id))
    assert [next_id(queue) for _ in range(3)] == [1, 2, 3]


def test_cancel_of_the_running_request_sets_the_flag_until_the_next_one():
    queue, stop = jobs()
    queue.put(Generate(1, MESSAGES))
    queue.put(Generate(2, MESSAGES))
    queue.next_job()
    assert not stop.is_set()
    assert queue.cancel(1)
    assert stop.is_set()
    queue.next_job()
    assert not stop.is_set()


def test_cancel_of_a_waiting_request_stops_it_when_its_turn_comes():
    queue, stop = jobs()
    queue.put(Generate(1, MESSAGES))
    queue.put(Generate(2, MESSAGES))
    queue.next_job()
    assert queue.cancel(2)
    assert not stop.is_set()
    assert next_id(queue) == 2
    assert stop.is_set()


def test_cancel_of_an_unknown_request():
    queue, stop = jobs()
    assert not queue.cancel(9)
    queue.put(Generate(1, MESSAGES))
    queue.next_job()
    assert not queue.cancel(9)
    assert not stop.is_set()


def test_prepare_gives_way_to_anything():
    queue, stop = jobs()
    queue.put(Prepare(1, MESSAGES))
    queue.put(Prepare(2, MESSAGES))
    assert next_id(queue) == 1
    assert stop.is_set()
    queue.next_job()
    assert not stop.is_set()
    queue.put(Generate(3, MESSAGES))
    assert stop.is_set()


def test_shutdown_ends_idle_work():
    queue, stop = jobs()
    assert queue.next_job(patience=0.01) is None
    queue.cancel_all()
    queue.put(Shutdown(0))
    assert stop.is_set()


def test_cancelled_twice_and_after_its_end():
    queue, stop = jobs()
    queue.put(Generate(1, MESSAGES))
    queue.put(Unload(2))
    assert queue.cancel(2)
    assert queue.cancel(2)
    assert next_id(queue) == 1
    queue.finish(1)
    assert not queue.cancel(1)
    assert not stop.is_set()
    assert next_id(queue) == 2
    assert stop.is_set()


def test_next_job_waits_for_a_request():
    queue, _ = jobs()
    ids = []
    thread = threading.Thread(target=lambda: ids.append(next_id(queue)))
    thread.start()
    queue.put(Unload(5))
    thread.join(10)
    assert ids == [5]


def test_idle_time_ends_with_the_next_request():
    queue, stop = jobs()
    assert queue.next_job(patience=0.01) is None
    assert not stop.is_set()
    queue.put(Unload(1))
    assert stop.is_set()
    assert next_id(queue) == 1
    assert not stop.is_set()


def test_an_answer_in_the_background_is_paused_for_one_that_is_not():
    queue, stop = jobs()
    queue.put(Generate(1, MESSAGES, background=True))
    assert next_id(queue) == 1
    assert not queue.urgent_waits()
    queue.put(Generate(2, MESSAGES, background=True))
    assert not queue.urgent_waits()
    queue, stop = jobs()
    queue.put(Generate(1, MESSAGES, background=True))
    queue.next_job()
    queue.put(Generate(2, MESSAGES))
    assert queue.urgent_waits()
    assert queue.pause_for_next().id == 2
    assert not queue.urgent_waits()
    queue.cancel(1)
    assert not stop.is_set()  # the paused one stops when it goes on
    queue.cancel(2)
    assert stop.is_set()
    queue.finish(2)
    queue.resume()
    assert stop.is_set()
    assert not queue.cancel(2)


def test_a_background_answer_that_was_just_stopped_stays_stopped():
    queue, stop = jobs()
    queue.put(Generate(1, MESSAGES, background=True))
    queue.next_job()
    queue.put(Generate(2, MESSAGES))
    queue.cancel(1)
    queue.pause_for_next()
    assert not stop.is_set()
    queue.resume()
    assert stop.is_set()


def test_short_requests_before_an_answer_do_not_delay_it():
    queue, _ = jobs()
    queue.put(Generate(1, MESSAGES, background=True))
    queue.next_job()
    queue.put(Forget(2, "deleted"))
    queue.put(Prepare(3, MESSAGES))
    assert not queue.urgent_waits()
    queue.put(Generate(4, MESSAGES))
    paused_for = []
    while queue.urgent_waits():
        paused_for.append(queue.pause_for_next().id)
        queue.resume()
    assert paused_for == [2, 3, 4]


def test_other_requests_keep_their_turn():
    queue, _ = jobs()
    queue.put(Generate(1, MESSAGES, background=True))
    queue.next_job()
    queue.put(Unload(2))
    queue.put(Generate(3, MESSAGES))
    assert not queue.urgent_waits()


def test_a_title_gives_way_to_every_request_and_stops_none():
    queue, stop = jobs()
    queue.put(Prepare(1, MESSAGES))
    queue.next_job()
    queue.put(Title(2, MESSAGES))
    assert not stop.is_set()
    assert next_id(queue) == 2
    assert not stop.is_set()
    queue.put(Generate(3, MESSAGES))
    assert stop.is_set()
    assert next_id(queue) == 3
    assert not stop.is_set()


def test_a_title_that_waits_holds_up_no_urgent_answer():
    queue, _ = jobs()
    queue.put(Generate(1, MESSAGES, background=True))
    queue.next_job()
    queue.put(Title(2, MESSAGES))
    queue.put(Generate(3, MESSAGES))
    assert queue.urgent_waits()


def test_what_takes_a_moment_does_not_wait_for_a_book():
    """Also a book of tokens, or in a chat."""
    may_end, answered = threading.Event(), queue.SimpleQueue[int]()

    def count(request):
        if request.id >= 10:
            assert may_end.wait(60)
        return Failed(request.id, Sentence.of("cancelled.request"))

    counters = Counters(count, lambda event: answered.put(event.id))
    book = "a " * LONG_TEXT
    chat = (Message("user", book),)
    for request in (Tokenize(10, book), Count(11, (book,)), Count(12, (), chat), Detokenize(13, (1,) * len(book))):
        counters.put(request)
    for short in (Tokenize(0, "a"), Count(1, ("a",)), Count(2, (), MESSAGES), Detokenize(3, (1,))):
        counters.put(short)
        assert answered.get(timeout=60) == short.id
    may_end.set()
    counters.close()
    assert sorted(answered.get() for _ in range(4)) == [10, 11, 12, 13]
