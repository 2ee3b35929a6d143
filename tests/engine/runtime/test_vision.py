"""Pictures in the engine: small projectors of three families, and one whose embeddings are known."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from common.failures import Failure
from engine.engine import Engine
from engine.loading.load import LoadedModel
from engine.machine import Memory
from engine.protocol.events import Finished, PrefillProgress
from engine.protocol.requests import Count, Generate, Message, Prepare
from engine.runtime.llama import vision
from engine.tokenization.pictures import blocks, has_pictures
from tests.engine.asking import GREEDY, ask, emptied, loaded_from, save_in_idle_time
from tests.engine.runtime import vision_models as models
from tests.engine.shallow import shallow_model

QUESTION = "What is in this picture?"
RED, BLUE = (255, 0, 0), (0, 0, 255)


def seeing(folder: Path, kind: str) -> Path:
    """Write a model that sees by a projector of this kind, and return its path."""
    model = folder / "model.gguf"
    if kind == "qwen2vl_merger":
        models.write_mrope_model(model)
        models.write_projector(folder / "mmproj.gguf", kind, width=128)
    else:
        os.link(shallow_model(), model)
        models.write_projector(folder / "mmproj.gguf", kind)
    return model


@pytest.fixture(scope="module", params=[pytest.param("mlp", marks=pytest.mark.slow), "gemma3", "qwen2vl_merger"])
def loaded_seeing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with loaded_from(seeing(tmp_path_factory.mktemp("vision"), request.param), "llama") as engine:
        yield engine


@pytest.fixture
def engine(loaded_seeing: Engine) -> Engine:
    """Return an engine with a model that sees, and an empty session."""
    loaded = loaded_seeing._loaded()
    vision = loaded.target.vision  # type: ignore[attr-defined]
    vision.seconds = 0.0
    vision._embeddings.clear()
    return emptied(loaded_seeing)


def picture_message(*pictures: np.ndarray, text: str = QUESTION) -> Message:
    return Message("user", text, pictures=tuple(map(models.picture_of, pictures)))


def next_logits(chat: LoadedModel, prompt: list[int]) -> np.ndarray:
    """Return the logits behind a prompt, of which what is cached is not read again."""
    list(chat.session.prefill(prompt))
    assert chat.session.logits
    return chat.session.logits.row().copy()


def last_logits(chat: LoadedModel, prompt: list[int]) -> np.ndarray:
    """Return the logits behind a prompt, all of which is read."""
    chat.session.clear()
    return next_logits(chat, prompt)


def are_near(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two rows are equal but for the order in which passes of different sizes add numbers."""
    return bool(np.abs(a - b).max() < 0.02 * b.std())


def test_pictures_change_the_answer(engine: Engine) -> None:
    answers = {ask(engine, picture_message(models.noise(seed=seed)))[0] for seed in (1, 2, 3)}
    assert len(answers) == 3


def test_statistics_and_progress_tell_of_pictures(engine: Engine) -> None:
    events = list(engine.generate(Generate(1, (picture_message(models.noise()),), GREEDY, 2)))
    finished = events[-1]
    assert isinstance(finished, Finished)
    prompt = engine._prompt(Generate(1, (picture_message(models.noise()),)))
    assert finished.statistics.picture_tokens == sum(block.end - block.start for block in blocks(prompt)) > 8
    assert 0 < finished.statistics.picture_seconds < finished.statistics.prompt_seconds
    assert any(isinstance(event, PrefillProgress) and event.looking > 0 for event in events)


def test_a_picture_is_encoded_once_for_a_chat(engine: Engine) -> None:
    first, answer = picture_message(models.noise()), "Something."
    ask(engine, first)
    _, again = ask(engine, first)
    assert again.statistics.reused_tokens == again.statistics.prompt_tokens - 1
    _, second = ask(engine, first, Message("assistant", answer), Message("user", "And besides?"))
    _, edited = ask(engine, replace(first, content="What else is there to see?"))
    for finished in (again, second, edited):
        assert finished.statistics.picture_seconds == 0
    assert edited.statistics.reused_tokens >= edited.statistics.picture_tokens


def test_reusing_a_picture_changes_nothing(engine: Engine) -> None:
    """The chat goes on behind a picture that is cached as it does behind one that is read again."""
    chat, messages = engine._loaded(), (picture_message(models.noise()), Message("assistant", "Yes."))
    ask(engine, messages[0])
    second = (*messages, Message("user", "What else?"))
    prompt, first = (engine._prompt(Generate(1, messages)) for messages in (second, messages[:1]))
    cached = next_logits(chat, prompt)
    chat.session.clear()
    chat.target.vision._embeddings.clear()  # type: ignore[attr-defined]
    next_logits(chat, first)  # passes of the same sizes: others add numbers in another order
    assert are_near(cached, next_logits(chat, prompt))


def test_a_chat_may_have_more_pictures_than_are_remembered(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vision, "KEPT_LAYOUTS", 2)
    sight = engine._loaded().target.vision  # type: ignore[attr-defined]
    message = picture_message(*(models.noise(seed=seed) for seed in range(4)))
    engine._prompt(Generate(1, (message,)))
    assert len(sight._layouts) == 4
    held = {picture.digest for picture, _ in sight._owners.values()}
    assert held == {picture.digest for picture in message.pictures}
    answer, finished = ask(engine, message)
    assert answer
    assert finished.statistics.encoded_tokens == finished.statistics.picture_tokens
    assert not sight._owners  # so no picture's bytes either
    ask(engine, picture_message(models.noise(seed=9)))
    assert len(sight._layouts) == 2


def test_the_order_of_two_pictures_matters(engine: Engine) -> None:
    one, two = models.noise(seed=1), models.noise(seed=2)
    a, b = (engine._prompt(Generate(1, (picture_message(*order),))) for order in ((one, two), (two, one)))
    assert len(a) == len(b)
    assert len(list(blocks(a))) == 2
    rows = [last_logits(engine._loaded(), prompt) for prompt in (a, b)]
    assert not are_near(*rows)


def test_a_picture_is_shared_as_a_whole(engine: Engine) -> None:
    """Another picture that happens to begin with the same numbers does not use half of the cached one."""
    chat = engine._loaded()
    prompt = engine._prompt(Generate(1, (picture_message(models.noise()),)))
    list(chat.session.prefill(prompt))
    (block,) = blocks(prompt)
    other = [*prompt[: block.start + 3], *(token - 1 for token in prompt[block.start + 3 : block.end]), 7]
    assert chat.session.reusable(other) <= block.start


def test_a_stopped_encoder_leaves_the_chat_whole(engine: Engine) -> None:
    message = picture_message(models.noise(seed=9))
    _, undisturbed = ask(engine, message)
    emptied(engine)
    engine._loaded().target.vision._embeddings.clear()  # type: ignore[attr-defined]
    events = engine.generate(Generate(1, (message,), GREEDY, 8))
    for event in events:
        if isinstance(event, PrefillProgress) and event.looking:
            engine.stop.set()
    assert isinstance(event, Finished)
    assert event.statistics.stop_reason == "cancelled"
    engine.stop.clear()
    assert not has_pictures(engine._loaded().session.tokens)
    assert ask(engine, message)[1].tokens == undisturbed.tokens


def test_a_saved_chat_with_a_picture_is_loaded_again(engine: Engine, tmp_path: Path) -> None:
    chat = engine._loaded()
    long = picture_message(models.noise(), text=QUESTION + " Tell me all about it, please." * 40)
    ask(engine, long, chat="chat-with-picture")
    chat.chat_cache.prefill_rate = 1.0  # so slow that saving pays
    save_in_idle_time(engine)
    tokens = list(chat.session.tokens)
    more = (long, Message("assistant", "A bird."), Message("user", "Sure?"))
    prompt = engine._prompt(Generate(1, more))
    expected = next_logits(chat, prompt)
    engine.forget()
    chat.target.vision._embeddings.clear()  # type: ignore[attr-defined]
    encoded = chat.target.vision.seconds  # type: ignore[attr-defined]
    chat.chat_cache.open_chat("chat-with-picture", prompt)
    assert chat.session.tokens == tokens
    assert are_near(next_logits(chat, prompt), expected)
    assert chat.target.vision.seconds == encoded  # type: ignore[attr-defined]
    chat.chat_cache.delete_chat("chat-with-picture")


def test_a_released_projector_comes_back(engine: Engine) -> None:
    vision = engine._loaded().target.vision  # type: ignore[attr-defined]
    message = picture_message(models.noise())
    _, before = ask(engine, message)
    vision.release()
    assert not vision.is_loaded
    engine.forget()
    assert ask(engine, message)[1].tokens == before.tokens
    assert vision.is_loaded


def begin_idle_work(engine: Engine) -> None:
    """Do the first two pieces of idle work; the third, timing passes, takes seconds."""
    assert list(islice(engine._loaded().idle_work(), 2)) == [None, None]


def test_a_projector_goes_when_memory_is_short(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    vision = engine._loaded().target.vision  # type: ignore[attr-defined]
    message = picture_message(models.noise())
    ask(engine, message)
    begin_idle_work(engine)
    assert vision.is_loaded
    monkeypatch.setattr("engine.machine.memory", lambda: Memory(total=1 << 33, available=1 << 29))
    begin_idle_work(engine)
    assert not vision.is_loaded
    ask(engine, message, Message("assistant", "A bird."), Message("user", "Really?"))  # needs no projector
    assert not vision.is_loaded
    ask(engine, picture_message(models.noise(seed=2)))
    assert vision.is_loaded


def test_preparing_reads_a_picture_before_the_question_is_whole(engine: Engine) -> None:
    message = picture_message(models.noise(), text="What")
    list(engine.prepare(Prepare(1, (message,))))
    assert has_pictures(engine._loaded().session.tokens)
    _, finished = ask(engine, replace(message, content=QUESTION))
    assert finished.statistics.picture_seconds == 0


def test_counting_does_not_need_the_projector(engine: Engine) -> None:
    vision = engine._loaded().target.vision  # type: ignore[attr-defined]
    vision.release()
    vision._layouts.clear()
    message = picture_message(models.noise())
    counted = engine.count(Count(1, messages=(message,))).prompt
    assert not vision.is_loaded
    assert abs(counted - len(engine._prompt(Generate(1, (message,))))) <= 24


def test_damaged_and_missing_files_are_refused(engine: Engine, tmp_path: Path) -> None:
    picture = models.picture_of(models.noise())
    cut = tmp_path / "cut.png"
    cut.write_bytes(picture.data[:100])
    for bad, code in (
        (replace(picture, data=b"", path=str(tmp_path / "missing.png")), "bad_picture.missing"),
        (replace(picture, data=b"", path=str(cut)), "bad_picture.damaged"),
        (replace(picture, width=32), "bad_picture.damaged"),
        (replace(picture, data=b"GIF89a" + picture.data), "bad_picture.damaged"),
    ):
        emptied(engine)
        with pytest.raises(Failure) as failure:
            ask(engine, Message("user", QUESTION, pictures=(bad,)))
        assert failure.value.sentence.id == code
    assert ask(engine, picture_message(models.noise()))[0]


def test_texts_that_look_like_markers_stay_texts(engine: Engine) -> None:
    message = picture_message(models.noise(), text="<__media__> \U000f0000 <image>")
    prompt = engine._prompt(Generate(1, (message,)))
    assert len(list(blocks(prompt))) == 1


def test_counting_goes_on_while_a_picture_is_encoded(engine: Engine) -> None:
    counts: list[int] = []
    events = engine.generate(Generate(1, (picture_message(models.noise(seed=7)),), GREEDY, 2))
    for event in events:
        if isinstance(event, PrefillProgress) and event.looking and not counts:
            counting = threading.Thread(target=lambda: counts.append(engine.count(Count(2, ("Hello there",))).texts[0]))
            counting.start()
            counting.join()
    assert counts


# --- the synthetic encoder ---


@pytest.fixture(scope="module")
def colours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("colours")
    os.link(shallow_model(), folder / "model.gguf")
    models.write_colour_projector(folder / "mmproj.gguf")
    with loaded_from(folder / "model.gguf", "llama") as engine:
        yield engine


@pytest.mark.parametrize("upper", [RED, BLUE])
def test_each_embedding_reaches_its_position(colours: Engine, upper: tuple[int, int, int]) -> None:
    """A picture of two colours has the effect of their names, once for each patch and in the order of the patches."""
    chat, lower = emptied(colours)._loaded(), BLUE if upper == RED else RED
    half = models.SIDE // 2
    picture = np.concatenate([models.plain(colour, height=half) for colour in (upper, lower)])
    prompt = colours._prompt(Generate(1, (picture_message(picture),)))
    (block,) = blocks(prompt)
    red, _, blue = models.word_tokens(models.COLOURS)
    names = {RED: red, BLUE: blue}
    words = [names[upper]] * 8 + [names[lower]] * 8
    written = [*prompt[: block.start], *words, *prompt[block.end :]]
    swapped = [*prompt[: block.start], *reversed(words), *prompt[block.end :]]
    seen = last_logits(chat, prompt)
    spread = seen.std()
    assert np.abs(seen - last_logits(chat, written)).max() < 0.1 * spread
    assert np.abs(seen - last_logits(chat, swapped)).max() > 0.2 * spread


def test_drafting_goes_on_beside_pictures(colours: Engine) -> None:
    """Drafts from history copy text around a picture, never a part of it.

    The shallow model says nonsense, another on each kind of processor; 96 tokens of it always repeat some.
    """
    emptied(colours)
    text = "Repeat: one two three four five six seven. one two three four"
    plain_answer, _ = ask(colours, picture_message(models.plain(RED), text=text), draft="off", max_tokens=96)
    emptied(colours)
    drafted, finished = ask(
        colours, picture_message(models.plain(RED), text=text), draft="history-published", max_tokens=96
    )
    assert drafted == plain_answer
    assert finished.statistics.drafted > 0
    assert min(finished.tokens) >= 0


def test_a_model_without_a_projector_says_that_it_cannot_see(tmp_path: Path) -> None:
    os.link(shallow_model(), tmp_path / "model.gguf")
    with loaded_from(tmp_path / "model.gguf", "llama") as engine:
        with pytest.raises(Failure) as failure:
            ask(engine, picture_message(models.plain(RED)))
        assert failure.value.sentence.id == "no_vision.model"
        assert engine._loaded().info.vision is None


def test_a_damaged_projector_is_one_sentence(tmp_path: Path) -> None:
    """A file with a good header and missing tensors reaches libmtmd, which refuses it."""
    os.link(shallow_model(), tmp_path / "model.gguf")
    models._write(tmp_path / "mmproj.gguf", "mlp", models._two_layers(np.ones((8, 64)), np.ones((576, 8))), 576)
    with loaded_from(tmp_path / "model.gguf", "llama") as engine:
        with pytest.raises(Failure) as failure:
            ask(engine, picture_message(models.plain(RED)))
        assert failure.value.sentence.id == "bad_projector.not_accepted"
        assert ask(engine, Message("user", "Hello"))[0]
