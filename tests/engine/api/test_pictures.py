"""Pictures in requests: read from data URLs, refused as addresses, and seen by a model."""

from __future__ import annotations

import base64
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtGui import QColor, QImage

from engine.api.errors import ApiError
from engine.api.pictures import MOST_PICTURES, picture_of_base64, picture_of_url
from tests.engine.api.test_app import post, send, serving
from tests.engine.runtime.vision_models import PATCH, SIDE, noise, picture_of, plain, png, write_colour_projector
from tests.engine.shallow import shallow_model

RED, BLUE = png(plain((255, 0, 0))), png(plain((0, 0, 255)))
QUESTION = {"type": "text", "text": "What colour is this?"}
PICTURE_TOKENS = (SIDE // PATCH) ** 2


def in_base64(file: bytes) -> str:
    return base64.b64encode(file).decode()


def url_of(file: bytes, kind: str = "png") -> str:
    return f"data:image/{kind};base64,{in_base64(file)}"


def jpeg(folder: Path, width: int = 60, height: int = 40, progressive: bool = False) -> bytes:
    from PySide6.QtGui import QImageWriter

    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor("red"))
    writer = QImageWriter(str(folder / "picture.jpg"))
    writer.setProgressiveScanWrite(progressive)
    assert writer.write(image)
    return (folder / "picture.jpg").read_bytes()


def test_data_urls_become_pictures(tmp_path: Path) -> None:
    picture = picture_of_url(url_of(png(noise(30, 20))))
    assert picture == picture_of(noise(30, 20))
    assert picture_of_url("DATA:image/png;BASE64," + in_base64(png(noise(30, 20)))) == picture
    for progressive in (False, True):
        made = picture_of_url(url_of(jpeg(tmp_path, progressive=progressive), "png"))  # the type's name is not believed
        assert (made.width, made.height) == (60, 40)


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("https://example.org/cat.png", "opens no addresses"),
        ("file:///etc/passwd", "opens no addresses"),
        ("/etc/passwd", "opens no addresses"),
        ("", "opens no addresses"),
        ("data:image/png,abc", "must begin like"),
        ("data:image/png;base64", "must begin like"),
        ("data:image/png;base64,%%%", "valid base64"),
        ("data:image/png;base64,é", "valid base64"),
        ("data:image/gif;base64," + in_base64(b"GIF89a" + b"\0" * 99), "PNG or JPEG"),
        ("data:image/svg+xml;base64," + in_base64(b"<svg/>"), "PNG or JPEG"),
        ("data:image/png;base64," + in_base64(RED[:20]), "damaged"),
        ("data:image/jpeg;base64," + in_base64(b"\xff\xd8\xff\xe0\0\0"), "damaged"),
        ("data:image/jpeg;base64," + in_base64(b"\xff\xd8" + b"\xff" * 99), "damaged"),
        ("data:image/png;base64," + in_base64(RED[:16] + b"\0\0\xc3\x50" * 2 + RED[24:]), "50,000 × 50,000"),
        ("data:image/png;base64," + in_base64(RED[:16] + b"\0\0\x1f\xff" * 2 + RED[24:]), "25 million"),
    ],
)
def test_what_is_no_picture_is_refused(url: str, word: str) -> None:
    with pytest.raises(ApiError, match=word) as caught:
        picture_of_url(url)
    assert caught.value.status == 400


def test_damaged_files_are_never_a_bug(tmp_path: Path) -> None:
    dice, files = np.random.default_rng(5), (jpeg(tmp_path), png(noise(30, 20)))
    for number in range(200):
        file = bytearray(files[number % 2])
        for at in dice.integers(2, min(200, len(file)), 8):
            file[at] = dice.integers(256)
        try:
            picture = picture_of_base64(in_base64(bytes(file[: dice.integers(9, len(file))])))
        except ApiError:
            continue
        assert picture.width * picture.height > 0


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Serve a model that sees: red pictures have the effect of the word red."""
    folder = tmp_path_factory.mktemp("sees")
    os.link(shallow_model(), folder / "model.gguf")
    write_colour_projector(folder / "mmproj.gguf")
    with serving(folder / "cache", "--model", str(folder / "model.gguf")) as number:
        yield number


def chat(*parts: Any, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(parts)}], "max_tokens": 6, "temperature": 0} | more


def part(file: bytes) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url_of(file)}}


def test_all_forms_see_the_same(port: int) -> None:
    whole = post(port, "/v1/chat/completions", chat(part(RED), QUESTION))
    text = whole["choices"][0]["message"]["content"]
    without = post(port, "/v1/chat/completions", chat(QUESTION))
    assert whole["usage"]["prompt_tokens"] == without["usage"]["prompt_tokens"] + PICTURE_TOKENS
    blue = post(port, "/v1/chat/completions", chat(part(BLUE), QUESTION))["choices"][0]["message"]["content"]
    assert len({text, without["choices"][0]["message"]["content"], blue}) == 3
    source = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": in_base64(RED)}}
    message = post(port, "/v1/messages", chat(source, QUESTION))
    assert message["content"][0]["text"] == text
    seen = [{"type": "input_image", "image_url": url_of(RED)}, QUESTION | {"type": "input_text"}]
    body = {"input": [{"role": "user", "content": seen}], "max_output_tokens": 6, "temperature": 0}
    assert post(port, "/v1/responses", body)["output"][0]["content"][0]["text"] == text
    counted = post(port, "/v1/messages/count_tokens", {"messages": chat(source, QUESTION)["messages"]})
    assert counted["input_tokens"] == whole["usage"]["prompt_tokens"]


def test_an_address_is_never_opened(port: int) -> None:
    opened: list[object] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/cat.png"

        def listen() -> None:
            try:
                opened.append(listener.accept())
            except TimeoutError:
                return

        for path, content in (
            ("/v1/chat/completions", {"type": "image_url", "image_url": {"url": address}}),
            ("/v1/messages", {"type": "image", "source": {"type": "url", "url": address}}),
        ):
            thread = threading.Thread(target=listen)
            thread.start()
            status, text = send(port, path, chat(content, QUESTION))
            thread.join()
            assert (status, "opens no addresses" in text) == (400, True), text
    assert not opened


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (chat(*[part(RED)] * (MOST_PICTURES + 1)), "20 pictures"),
        (chat(part(RED[:-60]), QUESTION), "damaged"),  # found by the decoder
        ({"messages": [{"role": "system", "content": [part(RED)]}, chat(QUESTION)["messages"][0]]}, "system"),
    ],
)
def test_pictures_that_cannot_be_seen_are_one_sentence(port: int, body: Any, word: str) -> None:
    status, text = send(port, "/v1/chat/completions", body)
    assert (status, word in text) == (400, True), text
    assert send(port, "/health")[0] == 200


def test_a_blind_model_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, "--model", str(shallow_model())) as port:
        status, text = send(port, "/v1/chat/completions", chat(part(RED), QUESTION))
    assert (status, "cannot see" in text) == (400, True), text
