"""A model that is larger than the memory: a mixture, planned, told, loaded and asked, with a small memory pretended."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from benchmarks.engine_process import EngineProcess, Refused
from benchmarks.tiny_models import write_tiny_model
from benchmarks.tiny_shapes import SHAPES
from benchmarks.trials import pretend_fast_disk
from common.failures import Failure
from common.planning import Ask
from engine.__main__ import main
from engine.commands.plan import answer
from engine.costs.measurements import SLOW_DISK
from engine.engine import Engine
from engine.loading import from_disk, resolve
from engine.loading.options import LoadOptions
from engine.machine import Memory
from engine.protocol.events import Finished, Loaded, SpeedExpected
from engine.protocol.requests import Generate, Load, Message, Sampling
from models.locations import usual_folder
from models.planner import PlannerClient
from models.recommend import READING_SPEED

MIB = 1 << 20
TOTAL = 2000 * MIB  # of RAM; a quarter of it is reserved
QUESTION = (Message("user", "Who goes there?"),)
PRETENDING = """
import sys
from engine.__main__ import start
from engine.loading import resolve
from engine.machine import Memory
resolve.memory = lambda: Memory({total}, {available})
sys.argv = ["engine", "serve"]
sys.exit(start())
"""


@pytest.fixture(scope="module")
def mixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a mixture of 64 experts, 40 MB, of which a token uses two."""
    shape = SHAPES["qwen3moe"] | {"expert_count": 64}
    return write_tiny_model(tmp_path_factory.mktemp("mixture") / "mixture.gguf", shape)


@pytest.fixture
def small_memory(mixture: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that leaves half of the mixture's file without room in the memory."""
    available = too_little(mixture)
    return lambda: monkeypatch.setattr(resolve, "memory", lambda: Memory(TOTAL, available))


def too_little(model: Path) -> int:
    """Return bytes of available memory in which all parts of the model but half of its file fit."""
    plan = resolve.resolve(LoadOptions(model, n_ctx=512, kv_type="q8_0")).memory
    return plan.total_bytes - plan.parts["weights_mapped"] // 2 + TOTAL // 4


@pytest.fixture
def engine() -> Engine:
    return Engine()


def test_it_is_planned_to_stay_on_the_disk(mixture: Path, small_memory: Callable[[], None]) -> None:
    assert resolve.resolve(LoadOptions(mixture)).memory.verdict == "fits"
    small_memory()
    plan = resolve.resolve(LoadOptions(mixture))
    assert plan.memory.verdict == "disk"
    assert plan.choice.name == "llama"
    with pytest.raises(Failure, match="too much"):
        Engine().load(Load(0, str(mixture), memory_bytes=60 * MIB))


def test_the_user_reads_what_to_expect_before_it_is_loaded(
    mixture: Path, small_memory: Callable[[], None], engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_disk, "file_read_speed", lambda *_arguments: 1e6)
    fresh = Engine()
    fresh.load(Load(0, str(mixture), n_ctx=512))
    expected_text = answered(fresh)
    fresh.close()
    small_memory()
    told: list[object] = []
    info = engine.load(Load(7, str(mixture), n_ctx=512), lambda _fraction: told.append("progress"), told.append).model
    first, *others = told
    assert isinstance(first, SpeedExpected)
    assert first.id == 7
    assert first.is_slow
    assert str(first.sentence).startswith("mixture is larger than the free memory")
    assert "A smaller model is better here." in str(first.sentence)
    assert set(others) == {"progress"}
    assert any("read from there again and again" in str(note) for note in info.notes)
    assert engine.reads_from_disk
    assert not engine.calibrated
    assert answered(engine) == expected_text
    assert list(engine._loaded().idle_work()) == [None], "only the chat is saved: no pass is timed"
    engine.close()


def test_the_process_answers_from_the_disk_as_it_does_from_memory(mixture: Path, tmp_path: Path) -> None:
    models = usual_folder(tmp_path / "settings.toml")
    models.mkdir()
    path = models / mixture.name
    shutil.copyfile(mixture, path)
    pretend_fast_disk(tmp_path)
    question = (Message("user", "bird " * 100),)
    answers = []
    for script in (None, PRETENDING.format(total=TOTAL, available=too_little(path))):
        with EngineProcess(tmp_path, arguments=("-c", script) if script else ("-m", "engine", "serve")) as process:
            *before, loaded = process.events(Load(process.next_id(), str(path), 1024, threads=2, backend="llama"))
            assert isinstance(loaded, Loaded)
            told = [event for event in before if isinstance(event, SpeedExpected)]
            assert len(told) == (1 if script else 0)
            assert all(event.tokens_per_second > 0 for event in told)
            sampling = Sampling(temperature=0, repeat_penalty=1)
            finished = process.ask(Generate(process.next_id(), question, max_tokens=8, sampling=sampling, draft="off"))
            assert isinstance(finished, Finished)
            answers.append(finished.tokens)
            if script:
                assert loaded.model.plan["weights_mapped"] > mixture.stat().st_size * 0.9
                with pytest.raises(Refused, match="too much"):
                    process.ask(Load(process.next_id(), str(path), memory_bytes=60 * MIB))
    assert answers[0] == answers[1]


def answered(engine: Engine) -> str:
    parts = []
    for event in engine.generate(Generate(1, QUESTION, max_tokens=8, sampling=Sampling(temperature=0.0))):
        parts += [] if isinstance(event, Finished) else [getattr(event, "text", "")]
    return "".join(parts)


def test_the_expected_speed_counts_experts_that_are_not_cached(
    mixture: Path, small_memory: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_disk, "file_read_speed", lambda *_arguments: 1e6)
    small_memory()
    plan = resolve.resolve(LoadOptions(mixture))
    expected = from_disk.expect_from_disk(plan.headers, plan.memory)
    read = expected.reads.bytes(1)
    assert 0 < read < plan.memory.parts["weights_mapped"] / 16  # 2 of 64 experts, some of them cached
    assert expected.speed.decode == pytest.approx(1e6 / read, rel=0.05)
    none = replace(plan.memory, available_bytes=plan.memory.total_bytes - plan.memory.parts["weights_mapped"])
    assert from_disk.expect_from_disk(plan.headers, none).reads.bytes(1) > 2 * read


def test_a_fast_disk_needs_no_smaller_model(mixture: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_disk, "file_read_speed", lambda *_arguments: 1e12)
    plan = resolve.resolve(LoadOptions(mixture))
    expected = from_disk.expect_from_disk(plan.headers, plan.memory)
    assert not expected.is_slow
    assert expected.speed.decode > READING_SPEED
    assert "smaller" not in str(expected.sentence("m"))


def test_the_disk_that_cannot_be_measured_counts_as_a_slow_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert from_disk.disk_speed(tmp_path / "gone.gguf", 2) == SLOW_DISK
    assert "cannot be measured with" in caplog.text


def test_the_planner_predicts_its_speed_from_the_disk(
    mixture: Path, small_memory: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_disk, "file_read_speed", lambda *_arguments: 1e6)
    question, other = msgspec.json.encode(Ask(path=str(mixture))), PlannerClient()
    fast = answer(question, other)
    small_memory()
    slow = answer(question, other)
    other.close()
    assert (fast.verdict, slow.verdict) == ("fits", "disk")
    assert 0 < slow.predicted_speed < fast.predicted_speed / 10
    assert slow.speed == 0
    assert slow.line.startswith("larger than the memory: ")


def test_the_terminal_says_it_and_goes_on(
    mixture: Path,
    small_memory: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(from_disk, "file_read_speed", lambda *_arguments: 1e5)
    small_memory()
    arguments = ["chat", "--model", str(mixture), "--prompt", "Hello", "--max-tokens", "2", "--ctx", "512"]
    assert main(arguments) == 0
    said = capsys.readouterr()
    assert re.search(r"expect about \d\.\d+ tok/s", said.err)
    assert said.out
    assert "Timing" not in said.err
