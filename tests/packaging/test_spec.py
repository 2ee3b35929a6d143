"""pyinstaller.spec and the installers' own files: they parse, and every file they name exists. Nothing is packed."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import tomllib
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
METAINFO = "share/metainfo/org.chickadee.Chickadee.metainfo.xml"
SPEC = ast.parse((ROOT / "pyinstaller.spec").read_text(encoding="utf-8"))


def calls(name: str) -> list[ast.Call]:
    """Return the spec's calls of a function."""
    return [node for node in ast.walk(SPEC) if isinstance(node, ast.Call) and getattr(node.func, "id", "") == name]


def test_entry_programs_and_their_hooks_exist():
    compile(SPEC, "pyinstaller.spec", "exec")
    analyses = calls("analysis")
    assert len(analyses) == 2, "one analysis for the window, one for the engine"
    entries = [ast.literal_eval(call.args[0]) for call in analyses]
    for keyword in [keyword for call in analyses for keyword in call.keywords if keyword.arg == "hooks"]:
        entries += ast.literal_eval(keyword.value)
    for name in entries:
        compile((PACKAGING / "entry" / name).read_text(encoding="utf-8"), name, "exec")


def test_paths_that_the_spec_builds_exist():
    chains = [node for node in ast.walk(SPEC) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    paths = {ast.unparse(node) for node in chains}
    named = {path for path in paths if re.fullmatch(r"ROOT(?: / '[^']+')+", path)}
    assert any(path.endswith("'entitlements.plist'") for path in named)
    made = {"ROOT / 'build'", "ROOT / 'build' / 'resources'"}  # by `make package`
    for path in named - made:
        assert ROOT.joinpath(*re.findall(r"'([^']+)'", path)).exists(), path


def test_names_that_the_spec_takes_from_our_modules_exist(monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGING))
    named = {
        (node.value.id, node.attr)
        for node in ast.walk(SPEC)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in ("bundle_contents", "elf")
    }
    assert len(named) > 5
    for module, name in named:
        assert hasattr(import_module(module), name), f"{module}.{name}"


@pytest.mark.parametrize("name", ["installers", "linux_archive", "linux_deb", "linux_files", "notices", "package"])
@pytest.mark.no_assertion("importing raises where it fails")
def test_modules_that_make_installers_can_be_imported(name, monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGING))
    import_module(name)


@pytest.fixture
def desktop(monkeypatch, tmp_path):
    """Return a prefix with the desktop's files in it."""
    monkeypatch.syspath_prepend(str(PACKAGING))
    import_module("linux_files").write(tmp_path)
    return tmp_path


def test_the_desktops_files_are_written_under_a_prefix(desktop):
    about = ElementTree.parse(desktop / METAINFO).getroot()
    assert [release.get("version") for release in about.iter("release")] == [import_module("release").VERSION]
    ElementTree.parse(desktop / "share/mime/packages/chickadee.xml")
    assert "Exec=" in (desktop / "share/applications/chickadee.desktop").read_text(encoding="utf-8")


def test_the_shops_page_shows_pictures_that_there_are(desktop):
    about = ElementTree.parse(desktop / METAINFO).getroot()
    address = import_module("release").ADDRESS
    assert {link.get("type") for link in about.iter("url")} >= {"homepage", "bugtracker"}
    pictures = [image.text or "" for image in about.iter("image")]
    assert pictures
    for link in (*pictures, *(link.text or "" for link in about.iter("url"))):
        assert link.startswith(address)
    for picture in pictures:
        assert (ROOT / re.sub(rf"{re.escape(address)}/raw/[^/]+/", "", picture)).exists(), picture


@pytest.mark.skipif(not shutil.which("appstreamcli"), reason="needs appstream")
def test_the_shops_page_is_valid(desktop):
    done = subprocess.run(["appstreamcli", "validate", "--no-net", desktop / METAINFO], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not shutil.which("dpkg"), reason="Debian's tools make the .deb")
def test_the_deb_names_where_its_developers_are_reached(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(PACKAGING))
    deb, release = import_module("linux_deb"), import_module("release")
    monkeypatch.setattr(deb, "TREE", tmp_path)
    (tmp_path / "true").write_bytes(Path("/bin/true").read_bytes())
    fields = dict(re.findall(r"^(\S+): (.*)$", deb.control(tmp_path), re.MULTILINE))
    name, _, mailbox = fields["Maintainer"].partition(" <")
    assert name == release.DEVELOPERS
    assert re.fullmatch(r"[\w.-]+@[\w-]+(?:\.[\w-]+)+>", mailbox)
    assert (fields["Homepage"], fields["Bugs"]) == (release.ADDRESS, release.PROBLEMS)
    assert fields["Depends"].startswith("libc6 (>= 2.")


def test_packed_versions_are_those_that_were_tested():
    wanted = {line.partition(";")[0].strip() for line in dependencies()}
    locked = set(re.findall(r"^([\w.-]+==[^\s\\;]+)", (PACKAGING / "package.lock").read_text(), re.MULTILINE))
    compiled = {line for line in wanted if line.startswith("llama-cpp-python==")}  # from source, by its own lock file
    assert {line.lower() for line in wanted - compiled} <= {line.lower() for line in locked}


def dependencies() -> list[str]:
    """Return the requirements of the installed program."""
    found: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return found
