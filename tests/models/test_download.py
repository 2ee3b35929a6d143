"""Tests that a file arrives complete and correct or not at all, whatever connection, server and disk do."""

from __future__ import annotations

import gzip
import random
import time
from pathlib import Path

import pytest

from common.failures import Failure
from models import part_file
from models.download import Download
from models.hub import Hub
from models.model_download import plan_download
from models.part_file import PartFile, Source
from models.progress import DownloadProgress, DownloadSpeed
from tests.models.hub_server import Handler, HubServer

CONTENT = b"GGUF" + random.Random(1).randbytes(2_999_996)
PAGE = b"<html>Sign in first</html>"
SOON = 0.001


@pytest.fixture
def download(server: HubServer, hub: Hub, own_data: Path) -> Download:
    server.add("bird.gguf", CONTENT)
    ((source, target),) = plan_download(hub.model("a/b"), hub).files
    server.requests.clear()
    return Download(source, target, first_wait=SOON)


def run(download: Download) -> list[DownloadProgress]:
    return list(download.run())


def ranges(server: HubServer) -> list[str]:
    return [range for path, range in server.requests if path.startswith("/cdn/")]


def nothing_left(download: Download) -> bool:
    return not download.target.parent.exists() or list(download.target.parent.iterdir()) == []


def arrived(download: Download) -> bool:
    """Return whether the file has arrived, and no other file with it."""
    return download.target.read_bytes() == CONTENT and list(download.target.parent.iterdir()) == [download.target]


def test_a_file_arrives(download, server):
    seen = run(download)
    assert arrived(download)
    assert ranges(server) == [""]
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    assert (seen[-1].done, seen[-1].total, seen[-1].phase) == (len(CONTENT), len(CONTENT), "receiving")


def test_a_dropped_line_goes_on_where_it_was(download, server):
    def drop(handler: Handler) -> bool:
        if len(ranges(server)) > 2:
            return False
        handler.answer(206 if handler.start else 200, b"", len(CONTENT) - handler.start, **part_of(handler))
        handler.wfile.write(CONTENT[handler.start : handler.start + 1_000_000])
        return True

    server.fault = drop
    phases = {progress.phase for progress in run(download)}
    assert arrived(download)
    assert ranges(server) == ["", "bytes=1000000-", "bytes=2000000-"]
    assert "waiting" in phases


def part_of(handler: Handler) -> dict[str, str]:
    if not handler.start:
        return {"ETag": handler.hub.etag}
    return {"Content-Range": f"bytes {handler.start}-{len(CONTENT) - 1}/{len(CONTENT)}", "ETag": handler.hub.etag}


def download_half(download: Download) -> None:
    """Run the download and stop it in the middle."""
    steps = download.run()
    for progress in steps:
        if progress.done > len(CONTENT) / 2:
            break
    steps.close()  # type: ignore[attr-defined]


def test_a_new_run_goes_on_where_the_last_was(download, server):
    download_half(download)
    there = PartFile(download.target).path.stat().st_size
    assert len(CONTENT) / 2 < there < len(CONTENT)
    server.requests.clear()
    seen = run(download)
    assert arrived(download)
    assert ranges(server) == [f"bytes={there}-"]
    assert seen[0].phase == "checking"


def test_a_server_that_ignores_range_starts_again(download, server):
    download_half(download)

    def ignore(handler: Handler) -> bool:
        handler.answer(200, CONTENT)
        return True

    server.fault = ignore
    run(download)
    assert arrived(download)


def test_a_file_that_changed_on_the_server_starts_again(download, server):
    download_half(download)
    server.etag = '"two"'
    run(download)
    assert arrived(download)


@pytest.mark.parametrize(
    "said", ["bytes 0-2999999/3000000", "bytes 7-8/9", "nonsense", "", "bytes 1500000-2/*", f"bytes {'9' * 5000}-9/*"]
)
def test_a_range_that_was_not_asked_for_starts_again(said, download, server):
    download_half(download)

    def elsewhere(handler: Handler) -> bool:
        if "Range" not in handler.headers:
            return False
        handler.answer(206, CONTENT[7:], None, **{"Content-Range": said})
        return True

    server.fault = elsewhere
    run(download)
    assert arrived(download)


def test_a_compressed_rest_is_not_appended(download, server):
    download_half(download)
    there = PartFile(download.target).path.read_bytes()

    def pack(handler: Handler) -> bool:
        assert handler.headers["If-Range"] == server.etag
        rest = f"bytes {handler.start}-{len(CONTENT) - 1}/{len(CONTENT)}"
        packed = gzip.compress(CONTENT[handler.start :], 1)
        handler.answer(206, packed, None, **{"Content-Range": rest, "Content-Encoding": "gzip"})
        return True

    server.fault = pack
    with pytest.raises(Failure, match="sent the rest compressed"):
        run(download)
    assert PartFile(download.target).path.read_bytes() == there
    server.fault = lambda handler: False
    run(download)
    assert arrived(download)


def test_416_starts_again(download, server):
    download_half(download)

    def beyond(handler: Handler) -> bool:
        if "Range" in handler.headers:
            handler.answer(416, b"")
        return "Range" in handler.headers

    server.fault = beyond
    run(download)
    assert arrived(download)


def test_wrong_bytes_are_not_kept(download, server):
    server.files["bird.gguf"] = b"GGUF" + bytes(len(CONTENT) - 4)
    with pytest.raises(Failure, match=r"bird\.gguf was not saved: .* Download it again") as caught:
        run(download)
    assert caught.value.code == "wrong_bytes"
    assert nothing_left(download)


def test_a_part_that_was_damaged_is_found_out(download):
    download_half(download)
    with PartFile(download.target).path.open("r+b") as file:
        file.seek(10)
        file.write(b"damage")
    with pytest.raises(Failure, match="not those that were published"):
        run(download)
    assert nothing_left(download)
    run(download)
    assert arrived(download)


@pytest.mark.parametrize("said", [len(CONTENT) - 1, len(CONTENT) + 1, 1, 10**15])
def test_another_length_than_was_announced_is_refused(said, download, server):
    server.fault = lambda handler: handler.answer(200, CONTENT, said) is None
    with pytest.raises(Failure, match=rf"{said:,} bytes are offered where 3,000,000 were announced"):
        run(download)
    assert not download.target.exists()


def send_page(handler: Handler) -> bool:
    handler.answer(200, PAGE)
    return True


def send_page_in_chunks(handler: Handler) -> bool:
    """Send a page whose length is not announced, as busy servers and their proxies do."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    for byte in PAGE:
        handler.wfile.write(b"1\r\n%c\r\n" % byte)
    handler.wfile.write(b"0\r\n\r\n")
    return True


def send_large_page(handler: Handler) -> bool:
    handler.answer(200, PAGE.ljust(len(CONTENT)))
    return True


def send_packed(handler: Handler) -> bool:
    handler.send_response(200)
    handler.send_header("Content-Encoding", "gzip")
    handler.end_headers()
    handler.wfile.write(gzip.compress(CONTENT, 1))
    handler.close_connection = True
    return True


def lead_to_page(handler: Handler) -> bool:
    handler.hub.answers["/login"] = PAGE
    handler.answer(302, b"", Location="/login")
    return True


PAGES = (send_page, send_page_in_chunks, send_large_page, send_packed, lead_to_page)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_in_place_of_a_model_is_refused_at_once(page, download, server):
    server.fault = page
    with pytest.raises(Failure, match=r"bird\.gguf was not saved: what 127\.0\.0\.1 sent is no model file"):
        run(download)
    assert len(ranges(server)) == 1
    assert PartFile(download.target).path.stat().st_size == 0
    server.fault = lambda handler: False
    run(download)
    assert arrived(download)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_in_place_of_the_rest_leaves_what_has_arrived(page, download, server):
    download_half(download)
    there = PartFile(download.target).path.read_bytes()
    server.fault = page
    with pytest.raises(Failure, match="is no model file"):
        run(download)
    assert PartFile(download.target).path.read_bytes() == there
    server.fault = lambda handler: False
    run(download)
    assert arrived(download)


@pytest.mark.parametrize("saved", [PAGE, b"GG", PAGE.ljust(len(CONTENT))])
def test_a_page_that_was_saved_as_the_beginning_is_not_continued(saved, download, server):
    with PartFile(download.target) as part:
        part.write_note(download.source)
        part.append(saved)
    run(download)
    assert arrived(download)
    assert ranges(server) == [""]


@pytest.mark.parametrize("length", ["²", "9" * 5000, "-5"])
def test_a_length_that_is_no_number_is_not_believed(length, download, server):
    def odd(handler: Handler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", length)
        handler.end_headers()
        handler.wfile.write(CONTENT)
        handler.close_connection = True
        return True

    server.fault = odd
    run(download)
    assert arrived(download)


def test_a_connection_that_drops_within_the_first_bytes_is_tried_again(download, server):
    def drop(handler: Handler) -> bool:
        if len(ranges(server)) > 1:
            return False
        handler.answer(200, CONTENT[:2], len(CONTENT))
        return True

    server.fault = drop
    run(download)
    assert arrived(download)


def forget_the_part(handler: Handler) -> None:
    handler.answer(416, b"")


def send_another_range(handler: Handler) -> None:
    handler.answer(206, CONTENT[9:], None, **{"Content-Range": f"bytes 9-{len(CONTENT) - 1}/{len(CONTENT)}"})


@pytest.mark.parametrize("answer", [forget_the_part, send_another_range])
def test_a_server_that_sends_the_same_beginning_again_and_again_is_given_up(answer, download, server):
    def repeat(handler: Handler) -> bool:
        if len(ranges(server)) > 50:  # the download would never end
            handler.answer(404, b"")
        elif "Range" in handler.headers:
            answer(handler)
        else:
            handler.answer(200, CONTENT[:1000], len(CONTENT))
        return True

    server.fault = repeat
    with pytest.raises(Failure) as caught:
        run(download)
    assert caught.value.code == "no_connection"
    server.fault = lambda handler: False
    run(download)
    assert arrived(download)


def test_more_bytes_than_were_announced_are_refused(download, server):
    def endless(handler: Handler) -> bool:
        handler.send_response(200)
        handler.end_headers()
        handler.wfile.write(CONTENT + CONTENT)
        handler.close_connection = True
        return True

    server.fault = endless
    with pytest.raises(Failure, match="more arrived than was announced"):
        run(download)
    assert nothing_left(download)


def test_a_line_that_always_drops_ends_with_a_sentence_and_keeps_what_arrived(download, server):
    download_half(download)
    there = PartFile(download.target).path.stat().st_size

    def drop(handler: Handler) -> bool:
        handler.close_connection = True
        return True

    server.fault = drop
    with pytest.raises(
        Failure, match=r"127\.0\.0\.1 closed the connection too early.*The part already downloaded is kept"
    ):
        run(download)
    assert PartFile(download.target).path.stat().st_size == there
    server.fault = lambda handler: False
    run(download)
    assert arrived(download)


def test_a_server_in_trouble_is_tried_again(download, server):
    def trouble(handler: Handler) -> bool:
        if len(ranges(server)) < 3:
            handler.answer(503, b"")
            return True
        return False

    server.fault = trouble
    run(download)
    assert arrived(download)


@pytest.mark.parametrize(("status", "words"), [(403, "which refuses the file"), (404, "no such model"), (418, "418")])
def test_refusals_are_sentences(status, words, download, server):
    server.fault = lambda handler: handler.answer(status, b"") is None
    with pytest.raises(Failure, match=words):
        run(download)
    assert len(ranges(server)) == 1


def test_a_disk_without_room_is_told_before_anything_is_asked(download, server, monkeypatch):
    monkeypatch.setattr(part_file, "SPARE", 1 << 60)
    with pytest.raises(Failure, match=r"not enough disk space for bird\.gguf: 3 MB still to download"):
        run(download)
    assert server.requests == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_disk_that_runs_full_keeps_what_arrived(download):
    download_half(download)
    part = PartFile(download.target)
    there = part.path
    kept = there.read_bytes()
    there.rename(there.with_name("aside"))
    there.symlink_to("/dev/full")
    with pytest.raises(Failure, match=r"The disk is full\. Free some space"), part:
        part.append(b"more")
    there.unlink()
    there.with_name("aside").rename(there)
    assert there.read_bytes() == kept
    run(download)
    assert arrived(download)


def test_what_is_there_already_is_checked_not_asked_for(download, server):
    run(download)
    server.requests.clear()
    assert {progress.phase for progress in run(download)} == {"checking"}
    assert server.requests == []
    download.target.write_bytes(b"mine")
    with pytest.raises(Failure, match=r"There is another file named bird\.gguf"):
        run(download)
    assert download.target.read_bytes() == b"mine"


def test_a_file_that_comes_back_while_it_is_downloaded_is_not_replaced(download, server):
    steps = download.run()
    next(steps)
    download.target.write_bytes(b"mine".ljust(len(CONTENT)))
    with pytest.raises(Failure, match=r"There is another file named bird\.gguf"):
        list(steps)
    assert download.target.read_bytes().startswith(b"mine")


def test_two_cannot_download_the_same_file(download):
    with (
        PartFile(download.target),
        pytest.raises(Failure, match="is being downloaded by another window or terminal"),
    ):
        run(download)


def test_a_note_about_another_file_starts_again(download, server):
    download_half(download)
    part = PartFile(download.target)
    part.write_note(Source(download.source.url, 5, "0" * 64))
    server.requests.clear()
    run(download)
    assert ranges(server) == [""]
    assert arrived(download)


def test_forbidding_connections_ends_a_download(download, monkeypatch):
    download_half(download)
    monkeypatch.setenv("CHICKADEE_OFFLINE", "1")
    with pytest.raises(Failure, match="Connections are turned off: CHICKADEE_OFFLINE is set"):
        run(download)
    assert PartFile(download.target).path.exists()


def test_forbidding_connections_ends_a_download_that_goes_on(download, server, monkeypatch):
    """The switch is looked at while bytes arrive, not at the beginning alone."""

    def forbid(handler: Handler) -> bool:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(CONTENT)))
        handler.end_headers()
        monkeypatch.setenv("CHICKADEE_OFFLINE", "1")
        for at in range(0, len(CONTENT), 1 << 16):
            handler.wfile.write(CONTENT[at : at + (1 << 16)])
            time.sleep(0.05)
        return True

    server.fault = forbid
    with pytest.raises(Failure, match="Connections are turned off"):
        run(download)
    assert 0 < PartFile(download.target).path.stat().st_size < len(CONTENT)


@pytest.mark.parametrize("etag", ['W/"one"', "one", '"a"b"', '"' + "a" * 201 + '"', '"a\x7f"'])
def test_only_a_strong_etag_is_sent_back(etag, download, server):
    """A weak one may stand for other bytes of the same file, and a part of each would be mixed."""
    server.etag = etag
    download_half(download)
    sent = list[str]()

    def look(handler: Handler) -> bool:
        sent.append(handler.headers.get("If-Range", ""))
        return False

    server.fault = look
    run(download)
    assert sent == [""]
    assert arrived(download)


def test_speed_is_that_of_the_last_seconds():
    times = iter([0.0, 1.0, 2.0, 10.0, 11.0])
    speed = DownloadSpeed(lambda: next(times))
    assert [speed.at(done) for done in (0, 100, 200)] == [0, 100, 100]
    speed.at(200)
    assert speed.at(300) == 100
    assert DownloadProgress("receiving", 50, 100, 25).seconds_left == 2
