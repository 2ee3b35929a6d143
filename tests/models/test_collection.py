"""Tests that models are found wherever they lie, each once, with facts or the reason for having none."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.failures import Failure
from models import collection
from models.added_paths import AddedPaths
from models.collection import LocalModel, describe_model, scan_models
from models.fact_cache import FILES
from models.locations import model_locations, own_folder
from models.model_download import unfinished_downloads
from models.ollama import MODEL, TEMPLATE
from models.part_file import PartFile
from models.removal import purge, remove
from models.split import group_files, part_names
from models.validation import checked_headers
from tests.models.make_gguf import make_gguf


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    """Return an empty home folder that this test alone uses; Chickadee's folders lie in it."""
    folder: Path = tmp_path / "home"
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("CHICKADEE_DATA_DIR", str(folder / "data"))
    monkeypatch.setenv("CHICKADEE_CACHE_DIR", str(folder / "cache"))
    own_folder().mkdir(parents=True)
    return folder


def all_but_built_in(*added: Path) -> list[LocalModel]:
    """Return all models except the built-in one."""
    return [model for model in scan_models(added) if model.location.kind != "built-in"]


def add_to_ollama(home: Path, blob: Path, *others: str) -> Path:
    """Add the file to Ollama's models as wren:1.5b, with further layers of these types; return its new path."""
    models, digest = home / ".ollama/models", "ab" * 32
    target = models / "blobs" / f"sha256-{digest}"
    target.parent.mkdir(parents=True)
    blob.rename(target)
    manifest = models / "manifests/registry.ollama.ai/library/wren/1.5b"
    manifest.parent.mkdir(parents=True)
    kinds = ((MODEL, digest), *((kind, "cd" * 32) for kind in others))
    layers = [{"mediaType": kind, "digest": f"sha256:{digest}", "size": 1} for kind, digest in kinds]
    manifest.write_text(json.dumps({"layers": layers}))
    return target


def test_the_built_in_model_is_first():
    first = next(iter(scan_models()))
    assert first.location.kind == "built-in"
    assert first.facts
    assert first.facts.architecture == "llama"
    assert first.facts.parameters == 134_515_008
    assert first.facts.n_ctx_train == 8192
    assert first.facts.has_template
    assert first.facts.tokens == 49_152


def test_facts_of_a_file_in_our_folder():
    make_gguf(own_folder() / "bird.gguf")
    (model,) = all_but_built_in()
    assert (model.name, model.location.kind, model.problem) == ("bird.gguf", "own", None)
    assert model.facts
    assert (model.facts.quantisation, model.facts.licence, model.facts.parameters) == ("Q4_K_M", "apache-2.0", 2048)
    assert model.usable


def test_models_of_other_programs_are_found(home):
    make_gguf(home / ".lmstudio/models/infra-ai/ocelot/ocelot.gguf")
    add_to_ollama(home, make_gguf(home / "blob"))
    hub = home / ".cache/huggingface/hub/models--a--b"
    if os.name == "posix":
        make_gguf(hub / "blobs/123")
        for commit in ("c1", "c2"):  # two snapshots of one file
            (hub / "snapshots" / commit).mkdir(parents=True)
            (hub / "snapshots" / commit / "robin.gguf").symlink_to(hub / "blobs/123")
    else:  # where links are not allowed, the snapshot holds the file itself
        make_gguf(hub / "snapshots/c1/robin.gguf")
    make_gguf(home / ".cache/llama.cpp/jay.gguf")
    found = [(model.location.kind, model.name) for model in all_but_built_in()]
    assert found == [
        ("lm-studio", "ocelot.gguf"), ("ollama", "wren:1.5b"), ("hub", "robin.gguf"), ("llama.cpp", "jay.gguf"),
    ]  # fmt: skip


def test_a_damaged_file_of_ollama_is_called_as_ollama_calls_it(home):
    blob = make_gguf(home / "blob")
    os.truncate(blob, 400)
    path = add_to_ollama(home, blob)
    problems = [str(model.problem) for model in (*all_but_built_in(), describe_model(path))]
    assert [problem.partition(" ")[0] for problem in problems] == ["wren:1.5b"] * 2


def test_a_model_that_ollama_keeps_in_several_files_is_explained(home):
    path = add_to_ollama(home, make_gguf(home / "blob", split__count=2), MODEL)
    (model,) = all_but_built_in()
    assert not model.usable
    assert str(model.problem).startswith("wren:1.5b is split into 2 files, which Ollama keeps under names of its own.")
    with pytest.raises(Failure, match=r"wren:1\.5b is split into 2 files"):
        checked_headers(path)


@pytest.mark.parametrize(
    ("template", "said"), [(None, "Ollama's own form of one is not read"), ("{{ messages }}", "None")]
)
def test_a_template_that_only_ollama_can_read_is_mentioned_if_the_file_has_none(template, said, home):
    add_to_ollama(home, make_gguf(home / "blob", template=template), TEMPLATE)
    (model,) = all_but_built_in()
    assert model.usable
    assert said in str(model.problem)


def test_a_file_of_jan_is_named_with_its_folder(home):
    path = make_gguf(home / "Wren-1B" / "model.gguf")
    os.truncate(path, 400)
    assert str(describe_model(path).problem).startswith("Wren-1B/model.gguf is ")


@pytest.mark.parametrize("most_trailing", [64 << 20, 0])
def test_parts_that_were_joined_are_told_how_to_be_kept(most_trailing, home, monkeypatch):
    monkeypatch.setattr("models.header.MAX_TRAILING", most_trailing)
    joined = home / "joined.gguf"
    for number in (1, 2, 3):
        part = make_gguf(home / f"x-0000{number}-of-00003.gguf", split__count=3, split__no=number - 1)
        with joined.open("ab") as file:
            file.write(part.read_bytes())
    assert describe_model(part).usable
    assert str(describe_model(joined).problem).startswith("joined.gguf is 3 files of a model, one behind the other")


def test_lm_studio_may_keep_its_models_elsewhere(home):
    make_gguf(home / "elsewhere/x/y/owl.gguf")
    (home / ".lmstudio").mkdir()
    (home / ".lmstudio/settings.json").write_text(json.dumps({"downloadsFolder": str(home / "elsewhere")}))
    assert [model.name for model in all_but_built_in()] == ["owl.gguf"]


def test_hostile_manifests_and_settings_are_passed_over(home):
    folder = home / ".ollama/models/manifests/r/l/m"
    folder.mkdir(parents=True)
    outside = {"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:../../../etc/passwd"}]}
    texts = ("", "[]", "{", "[" * 100_000, '{"layers": 3}', '{"layers": [3]}', json.dumps(outside))
    for number, text in enumerate(texts):
        (folder / str(number)).write_text(text)
    (home / ".lmstudio").mkdir()
    (home / ".lmstudio/settings.json").write_text('["downloadsFolder"]')
    assert all_but_built_in() == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes of that kind")
def test_pipes_in_the_places_of_other_programs_files_are_passed_over(home):
    """Opening a pipe would wait for ever."""
    manifests, blobs = home / ".ollama/models/manifests/r/l/m", home / ".ollama/models/blobs"
    for folder in (manifests, blobs, home / ".lmstudio/models"):
        folder.mkdir(parents=True)
    digest = "ab" * 32
    layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"}]
    (manifests / "tag").write_text(json.dumps({"layers": layers}))
    pipes = [manifests / "pipe", blobs / f"sha256-{digest}", home / ".lmstudio/settings.json"]
    pipes += [home / ".lmstudio-home-pointer", own_folder() / "x.gguf.part", own_folder() / "x.gguf.part.json"]
    for pipe in pipes:
        os.mkfifo(pipe)
    assert [str(model.problem) for model in all_but_built_in()] == ["r/l/m:tag is not a file."]
    assert list(unfinished_downloads()) == []
    part = PartFile(own_folder() / "x.gguf")
    assert part.read_note() is None
    with pytest.raises(Failure, match="cannot be saved"), part:
        pytest.fail("a pipe was opened")


def test_deep_settings_of_another_program_are_passed_over(home):
    (home / ".lmstudio").mkdir()
    (home / ".lmstudio/settings.json").write_text("[" * 60_000)
    assert all_but_built_in() == []


def test_the_deepest_and_the_oddest_folders(home, tmp_path):
    """One chain of folders is far deeper than the search goes, and one folder has a model's name."""
    deep = tmp_path / "deep"
    make_gguf(deep.joinpath(*["ab"] * 300) / "far.gguf")
    make_gguf(deep / "x.gguf" / "bird.gguf")
    assert [model.name for model in all_but_built_in(deep)] == ["bird.gguf"]


def test_parts_are_one_model_and_a_missing_part_is_told():
    for number in (1, 2):
        make_gguf(own_folder() / f"big-0000{number}-of-00002.gguf")
    make_gguf(own_folder() / "torn-00002-of-00003.gguf")
    whole, torn = all_but_built_in()
    assert whole.facts
    assert [path.name for path in whole.files] == ["big-00001-of-00002.gguf", "big-00002-of-00002.gguf"]
    assert whole.facts.parameters == 2 * 2048
    assert torn.facts is None
    assert str(torn.problem) == (
        "torn-00002-of-00003.gguf is incomplete: parts 1, 3 of 3 are missing. Download the model again."
    )


@given(st.lists(st.sampled_from([f"m-0000{i}-of-0000{n}.gguf" for i in range(4) for n in range(4)] + ["a.gguf"])))
def test_every_file_is_in_one_group(names):
    files = [Path(name) for name in dict.fromkeys(names)]
    in_groups = [path for group in group_files(files) for path in group.files]
    assert sorted(in_groups) == sorted(files)


def test_a_name_that_promises_endless_parts_is_one_file():
    assert part_names("x-00001-of-99999.gguf") == ("x-00001-of-99999.gguf",)
    assert part_names("x-00003-of-00002.gguf") == ("x-00003-of-00002.gguf",)


def test_what_cannot_be_read_is_skipped_with_a_reason(tmp_path):
    folder = own_folder()
    (folder / "a-text.gguf").write_text("hello")
    (folder / "b-empty.gguf").touch()
    whole = make_gguf(tmp_path / "whole.gguf").read_bytes()
    (folder / "c-torn.gguf").write_bytes(whole[:200])
    problems = [str(model.problem) for model in all_but_built_in()]
    assert problems == [
        "a-text.gguf is not a GGUF model file. Choose a file that ends in .gguf.",
        "b-empty.gguf is not a GGUF model file. Choose a file that ends in .gguf.",
        "c-torn.gguf is damaged or incomplete: its header cannot be read. Download it again.",
    ]
    assert not any(model.usable for model in all_but_built_in())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="links and pipes of that kind are POSIX's")
def test_links_and_pipes_are_skipped_with_a_reason():
    folder = own_folder()
    (folder / "a-gone.gguf").symlink_to(folder / "nowhere")
    os.mkfifo(folder / "b-pipe.gguf")
    (folder / "c-circle.gguf").symlink_to(folder / "c-circle.gguf")
    assert [str(model.problem) for model in all_but_built_in()] == [
        "a-gone.gguf points to a file that no longer exists.",
        "b-pipe.gguf is not a file.",
        "c-circle.gguf cannot be read: Too many levels of symbolic links.",
    ]
    assert not any(model.usable for model in all_but_built_in())


@pytest.mark.parametrize(
    ("architecture", "metadata", "kind"),
    [
        ("llama", {"llama__attention__causal": False}, "embedding"),
        ("llama", {"llama__pooling_type": 1}, "embedding"),
        ("dream", {"dream__attention__causal": False}, "diffusion"),
        ("gemma4-assistant", {}, "drafter"),
        ("qwen3tts", {}, "speech"),
        ("llama", {}, "base"),
    ],
)
def test_what_a_file_is_for(architecture, metadata, kind, tmp_path):
    model = describe_model(make_gguf(tmp_path / "x.gguf", template=None, architecture=architecture, **metadata))
    assert model.facts
    assert model.facts.kind == kind
    assert model.usable == (kind == "base")
    assert model.problem


def test_circles_of_folders_end():
    (own_folder() / "round").symlink_to(own_folder())
    make_gguf(own_folder() / "bird.gguf")
    assert [model.name for model in all_but_built_in()] == ["bird.gguf"]


def test_known_files_are_not_read_again(monkeypatch):
    path = make_gguf(own_folder() / "bird.gguf")
    first = all_but_built_in()
    with monkeypatch.context() as patched:
        patched.setattr(collection, "read_parts", lambda files: pytest.fail(f"{files} were read again"))
        assert all_but_built_in() == first
    make_gguf(path, name="Another bird")
    (changed,) = all_but_built_in()
    assert changed.facts
    assert changed.facts.name == "Another bird"


def test_a_damaged_cache_only_costs_time():
    make_gguf(own_folder() / "bird.gguf")
    found = all_but_built_in()
    assert FILES.get()
    FILES.path().write_bytes(FILES.path().read_bytes().replace(b"llama", b"lama", 1))
    assert FILES.get() is None
    assert all_but_built_in() == found


def test_facts_of_an_older_version_are_removed():
    former = FILES.folder.with_name("model-facts.json")
    former.parent.mkdir(parents=True, exist_ok=True)
    former.write_text('{"version": 2, "files": {}}')
    make_gguf(own_folder() / "bird.gguf")
    assert all_but_built_in()
    assert not former.exists()


def test_who_can_draft_for_whom(tmp_path):
    large = describe_model(make_gguf(tmp_path / "large.gguf", rows=640, padding=3)).facts
    small = describe_model(make_gguf(tmp_path / "small.gguf")).facts
    other = describe_model(make_gguf(tmp_path / "other.gguf", tokens=("<s>", "</s>", "a", "c", "日本"))).facts
    assert large
    assert small
    assert other
    assert small.can_draft_for(large)
    assert not large.can_draft_for(small)  # not smaller
    assert not small.can_draft_for(small)
    assert not other.can_draft_for(large)


def test_added_folders_and_files(tmp_path):
    added = AddedPaths()
    make_gguf(tmp_path / "there/bird.gguf")
    file = make_gguf(tmp_path / "alone.gguf")
    added.add(tmp_path / "there")
    added.add(file)
    added.add(file)
    assert [model.name for model in all_but_built_in(*added.read())] == ["bird.gguf", "alone.gguf"]
    assert added.drop(file)
    assert not added.drop(file)
    assert [model.name for model in all_but_built_in(*added.read())] == ["bird.gguf"]


def test_what_cannot_be_added(tmp_path):
    with pytest.raises(Failure, match="There is no file or folder"):
        AddedPaths().add(tmp_path / "nothing")
    (tmp_path / "x.txt").touch()
    with pytest.raises(Failure, match="not a GGUF"):
        AddedPaths().add(tmp_path / "x.txt")


def test_a_damaged_list_is_kept(tmp_path):
    added = AddedPaths(tmp_path / "list.json")
    added.path.write_text("{")
    assert added.read() == ()
    added.add(tmp_path)
    assert added.read() == (tmp_path,)
    assert (tmp_path / "list.broken.json").read_text() == "{"


def test_removing_can_be_undone():
    path = make_gguf(own_folder() / "bird.gguf")
    raw = path.read_bytes()
    (model,) = all_but_built_in()
    removal = remove(model)
    assert all_but_built_in() == []
    removal.undo()
    assert path.read_bytes() == raw
    remove(model).finish()
    assert list(own_folder().iterdir()) == []


def test_what_was_not_deleted_is_purged_later():
    make_gguf(own_folder() / "bird.gguf")
    (model,) = all_but_built_in()
    assert remove(model).deletes
    purge(model_locations()[0])
    assert list(own_folder().iterdir()) == []


def test_only_our_models_are_deleted(home, tmp_path):
    path = make_gguf(home / ".lmstudio/models/a/b/c.gguf")
    (model,) = all_but_built_in()
    with pytest.raises(Failure, match="belongs to LM Studio"):
        remove(model)
    file = make_gguf(tmp_path / "mine.gguf")
    AddedPaths().add(file)
    mine = all_but_built_in(file)[0]
    removal = remove(mine)
    assert not removal.deletes
    assert AddedPaths().read() == ()
    removal.undo()
    assert AddedPaths().read() == (file,)
    remove(mine).finish()
    assert path.exists()
    assert file.exists()
