"""The template process: whatever a stranger's template does, rendering ends soon and takes little memory."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from engine.stop import StopFlag, Stopped
from engine.tokenization import jinja
from engine.tokenization.renderer import Renderer, RenderError, environment
from tests.engine.tokenization.hostile import DAMAGED, ENDLESS, REFUSING

ROOT = Path(__file__).parents[3]
VALUES = {"messages": [{"role": "user", "content": "hi"}]}
HELLO = "{{ messages[0].content }}"
SOON = 0.5  # seconds, a short limit for endless templates
MEMORY = 300 << 10  # KiB


@pytest.fixture(scope="module")
def renderer() -> Iterator[Renderer]:
    renderer = Renderer(seconds=60)
    yield renderer
    renderer.close()


def rendered(renderer: Renderer, source: str) -> str:
    return renderer.render(source, VALUES, lambda: False)


def render_error(renderer: Renderer, source: str) -> RenderError:
    with pytest.raises(RenderError) as caught:
        rendered(renderer, source)
    return caught.value


def test_templates_without_end_are_ended_and_take_little_memory() -> None:
    """The check runs in a process without other children, for which Linux reports the memory of the largest one."""
    script = """if True:
        import sys
        from tests.engine.tokenization.test_renderer import ENDLESS, SOON, Renderer, render_error
        renderer = Renderer(SOON)
        for name, source in ENDLESS.items():
            assert render_error(renderer, source).problem == "endless", name
        renderer.close()
        if sys.platform == "linux":
            import resource
            print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
        """
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert int(done.stdout or 0) < MEMORY


@pytest.mark.parametrize("name", REFUSING)
def test_a_template_that_raises_says_what(renderer: Renderer, name: str) -> None:
    refused = render_error(renderer, REFUSING[name])
    assert refused.problem == "refuses"
    assert 0 < len(str(refused)) <= jinja.MAX_REASON


@pytest.mark.parametrize("name", DAMAGED)
def test_what_cannot_be_compiled(renderer: Renderer, name: str) -> None:
    with pytest.raises(RenderError) as caught:
        renderer.render(DAMAGED[name], VALUES, lambda: False)
    assert caught.value.problem == "damaged"
    assert str(caught.value)


def test_compiling_without_end() -> None:
    """Jinja evaluates constants before anything is rendered."""
    renderer = Renderer(SOON)
    with pytest.raises(RenderError) as caught:
        renderer.render("{{ 10 ** 100000000 }}", VALUES, lambda: False)
    assert caught.value.problem == "endless"
    renderer.close()


def test_stopping_ends_it() -> None:
    renderer, stop = Renderer(seconds=600), StopFlag()
    assert rendered(renderer, HELLO) == "hi"
    process = renderer._process
    assert process
    timer = threading.Timer(0.2, stop.set)
    timer.start()
    with pytest.raises(Stopped):
        renderer.render(ENDLESS["a power"], VALUES, stop.is_set)
    assert process.returncode is not None
    timer.join()
    renderer.close()


def test_who_waits_behind_a_slow_template_can_be_stopped_too() -> None:
    renderer, stop, behind = Renderer(seconds=600), StopFlag(), StopFlag()
    begun = threading.Event()

    def begins() -> bool:
        begun.set()
        return stop.is_set()

    def first() -> None:
        with pytest.raises(Stopped):
            renderer.render(ENDLESS["a power"], VALUES, begins)

    thread = threading.Thread(target=first)
    thread.start()
    assert begun.wait(60)
    behind.set()
    with pytest.raises(Stopped):
        renderer.render(HELLO, VALUES, behind.is_set)
    stop.set()
    thread.join()
    renderer.close()


def test_a_process_that_was_started_early_renders(renderer: Renderer) -> None:
    renderer.start()
    process = renderer._process
    assert rendered(renderer, "early") == "early"
    assert renderer._process is process


def test_a_process_that_died_is_replaced(renderer: Renderer) -> None:
    assert rendered(renderer, HELLO) == "hi"
    assert renderer._process
    psutil.Process(renderer._process.pid).kill()
    assert rendered(renderer, HELLO) == "hi"


def test_what_other_programs_take_is_not_the_templates_time() -> None:
    """On a busy machine a process may wait for a processor longer than it may compute."""
    renderer = Renderer(SOON)
    assert rendered(renderer, HELLO) == "hi"
    assert renderer._process
    process = psutil.Process(renderer._process.pid)
    process.suspend()
    timer = threading.Timer(3 * SOON, process.resume)
    timer.start()
    assert rendered(renderer, HELLO) == "hi"
    timer.join()
    renderer.close()


def test_addresses_that_are_in_use_already_are_not_the_templates() -> None:
    """At times glibc reserves addresses for a thread: because of them, once in 200 times a sound template failed."""
    script = """if True:
        import faulthandler, mmap, sys
        from engine.tokenization import jinja
        watch, reserved = faulthandler.dump_traceback_later, []
        def reserving(*arguments, **options):
            reserved.append(mmap.mmap(-1, 4 * jinja.SPARE_BYTES))
            watch(*arguments, **options)
        faulthandler.dump_traceback_later = reserving
        sys.exit(jinja.serve(60))
        """
    content, source = "hi" * 500_000, "{{ 3 * messages[0].content }}"  # more than the process has free
    question = json.dumps({"source": source, "values": {"messages": [{"content": content}]}}).encode() + b"\n"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=ROOT, input=2 * question, stdout=subprocess.PIPE, env=environment())
    assert done.returncode == 0
    assert [json.loads(line).get("text") == 3 * content for line in done.stdout.splitlines()[1:]] == [True, True]


def test_what_a_large_chat_took_is_given_back(renderer: Renderer) -> None:
    content = "ä😀\ud800" * (jinja.LARGE_REQUEST // 4)
    text = renderer.render(HELLO, {"messages": [{"content": content}]}, lambda: False)
    assert text == content
    process = renderer._process
    assert process
    assert process.wait(60) == 0


def test_without_anybody_to_end_it_it_ends_itself() -> None:
    question = json.dumps({"source": ENDLESS["nested loops"], "values": VALUES}).encode()
    command = [sys.executable, "-I", jinja.__file__, str(SOON)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin
        process.stdin.write(question + b"\n")
        process.stdin.flush()
        assert process.wait(60) != 0


def test_the_packaged_engine_is_that_process_too() -> None:
    entry = ROOT / "packaging" / "entry" / "chickadee_engine.py"
    script = f"import runpy, sys; sys.argv = ['x', 'render', '5']; runpy.run_path({str(entry)!r}, run_name='__main__')"
    question = json.dumps({"source": HELLO, "values": VALUES}).encode() + b"\n"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, input=question, stdout=subprocess.PIPE)
    assert done.returncode == 0
    assert done.stdout == b'\n{"text": "hi"}\n'
