"""Client of the Hugging Face hub: searches models, and lists their GGUF files with sizes and published digests.

API: https://huggingface.co/docs/hub/api. The hub's answers are hostile input: their shapes and sizes are checked.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urljoin

from common.failures import Failure
from common.paths import printable
from models.network import Network, host_of, network_failures
from models.projector import is_projector_name, name_words
from models.split import part_names

HUB = "https://huggingface.co"
HUB_VARIABLE = "CHICKADEE_HUB"  # another hub with the same API: a mirror, or the tests' server
MOST_RESULTS, MOST_FILES, MOST_PAGES = 30, 5000, 10
MAX_ANSWER = 32 << 20
LONGEST_NAME, LONGEST_PATH = 200, 1000  # bytes; systems allow 255 and 4096, part of which our own folder's path takes
REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
QUANTISATION = re.compile(r"(?:^|[-._])((?:I?Q\d\w*|T?Q\d_\w+|BF16|F16|F32|MXFP4\w*))$", re.IGNORECASE)
# Quantisations of a repository in the order of preference: small, and hardly worse than the original.
PROJECTOR_KINDS = ("Q8_0", "F16", "BF16", "F32")  # in the order of preference
PREFERRED = ("Q4_K_M", "Q4_K_S", "Q5_K_M", "Q4_0", "IQ4_XS", "Q8_0", "Q6_K")


@dataclass(frozen=True, slots=True)
class RepoResult:
    """Repository that a search found. Values are 0 or '' if the hub does not say; `gated`: needs an account there."""

    repo: str
    downloads: int = 0
    licence: str = ""
    parameters: int = 0
    architecture: str = ""
    n_ctx_train: int = 0
    gated: bool = False


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """File on the hub: `sha256` as published, 64 hexadecimal digits; `commit` is the version that it belongs to."""

    repo: str
    path: str
    size: int
    sha256: str
    commit: str = "main"

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    @property
    def quantisation(self) -> str:
        match = QUANTISATION.search(re.sub(r"-\d{5}-of-\d{5}$", "", self.name[:-5]))
        return match[1].upper() if match else ""


@dataclass(frozen=True, slots=True)
class HubModel:
    """Model in a repository: one file, or its parts in order; `projector`: the file with which it sees, if it can."""

    files: tuple[RemoteFile, ...]
    projector: RemoteFile | None = None

    @property
    def name(self) -> str:
        return self.files[0].name

    @property
    def size(self) -> int:
        """Bytes of the model without its projector."""
        return sum(file.size for file in self.files)

    @property
    def all_files(self) -> tuple[RemoteFile, ...]:
        """Files that are downloaded."""
        return (*self.files, self.projector) if self.projector else self.files

    @property
    def quantisation(self) -> str:
        return self.files[0].quantisation


class Hub:
    """Client that connects only when one of its methods is called."""

    def __init__(self, network: Network | None = None, address: str | None = None) -> None:
        self.network = network or Network()
        self.address = (address or os.environ.get(HUB_VARIABLE) or HUB).rstrip("/")

    def search(self, words: str, most: int = MOST_RESULTS) -> tuple[RepoResult, ...]:
        """Return repositories with GGUF files, the most downloaded first. Raises Failure."""
        if not words.strip():
            raise Failure("bad_option.empty_search")
        query = [("search", " ".join(words.split())[:200]), ("filter", "gguf"), ("sort", "downloads")]
        query += [("direction", "-1"), ("limit", str(most))]
        query += [("expand[]", field) for field in ("downloads", "tags", "gated", "gguf")]
        answer, _ = self._json(f"{self.address}/api/models?{urlencode(query)}")
        results = [_result(entry) for entry in answer[:most]] if isinstance(answer, list) else []
        return tuple(result for result in results if result is not None)

    def models(self, repo: str) -> tuple[HubModel, ...]:
        """Return the chat models among the repository's GGUF files, the best choice first. Raises Failure."""
        files = {file.path: file for file in self._files(repo)}
        models = []
        for path, file in files.items():
            folder = path[: -len(file.name)]
            parts = [files.get(folder + name) for name in part_names(file.name)]
            if parts[0] is file and None not in parts and not is_projector_name(file.name):
                projector = _projector_for(file, [each for each in files.values() if each.path == folder + each.name])
                models.append(HubModel(tuple(part for part in parts if part), projector))
        if not models:
            raise Failure("not_found.no_model", repo=repo)
        return tuple(sorted(models, key=_preference))

    def model(self, repo: str, file: str = "") -> HubModel:
        """Return the model with this `file` name or quantisation (like Q8_0); without one, the best choice.

        Raises Failure.
        """
        models = self.models(repo)
        wanted = file.lower()
        for model in models:
            if not file or wanted in (model.files[0].path.lower(), model.name.lower(), model.quantisation.lower()):
                return model
        listed = ", ".join(model.name for model in models[:8])
        raise Failure("not_found.no_file", repo=repo, file=file, listed=listed)

    def licence(self, repo: str) -> str:
        """Return the licence that the repository states; '' if it states none. Raises Failure."""
        answer, _ = self._json(f"{self.address}/api/models/{check_repo(repo)}")
        return _licence(answer.get("tags")) if isinstance(answer, dict) else ""

    def address_of(self, file: RemoteFile) -> str:
        return f"{self.address}/{file.repo}/resolve/{quote(file.commit)}/{quote(file.path)}"

    def _files(self, repo: str) -> Iterator[RemoteFile]:
        """Yield the repository's files, page by page.

        Files without a published digest or size are left out, because they could not be checked.
        """
        about, _ = self._json(f"{self.address}/api/models/{check_repo(repo)}")
        commit = str(about.get("sha", "")) if isinstance(about, dict) else ""
        commit = commit if re.fullmatch(r"[0-9a-f]{7,64}", commit) else "main"
        url: str | None = f"{self.address}/api/models/{repo}/tree/{commit}?recursive=true"
        for _ in range(MOST_PAGES):
            if url is None:
                return
            listed, url = self._json(url)
            for entry in listed[:MOST_FILES] if isinstance(listed, list) else []:
                file = _remote_file(repo, commit, entry)
                if file:
                    yield file

    def _json(self, url: str) -> tuple[Any, str | None]:
        """Return the decoded answer, and the address of its next page if that is on the same hub."""
        raw = bytearray()
        with self.network.get(url, {"Accept": "application/json"}) as response, network_failures(url):
            for piece in response.iter_content(1 << 16):
                raw += piece
                if len(raw) > MAX_ANSWER:
                    raise Failure("refused.endless", host=host_of(url))
            following = response.links.get("next", {}).get("url")
        try:
            answer = json.loads(raw)
            following = urljoin(url, following) if following else None
        except (ValueError, RecursionError) as error:
            raise Failure("refused.not_understood", str(error), host=host_of(url)) from error
        return answer, following if following and following.startswith(f"{self.address}/api/") else None


def check_repo(repo: str) -> str:
    """Return `repo`; raise Failure for a text that cannot be a repository's name."""
    if not REPO.fullmatch(repo) or ".." in repo:
        raise Failure("bad_option.repo", repo=repo[:80])
    return repo


def _result(entry: object) -> RepoResult | None:
    if not isinstance(entry, dict):
        return None
    repo = entry.get("id") or entry.get("modelId")
    if not isinstance(repo, str) or not REPO.fullmatch(repo):
        return None
    gguf = entry.get("gguf") if isinstance(entry.get("gguf"), dict) else {}
    assert isinstance(gguf, dict)
    return RepoResult(
        repo,
        _count(entry.get("downloads")),
        _licence(entry.get("tags")),
        _count(gguf.get("total")),
        str(gguf.get("architecture") or "")[:40],
        _count(gguf.get("context_length")),
        entry.get("gated") not in (False, None),
    )


def _remote_file(repo: str, commit: str, entry: object) -> RemoteFile | None:
    if not isinstance(entry, dict) or entry.get("type") != "file":
        return None
    path, lfs = entry.get("path"), entry.get("lfs")
    if not isinstance(path, str) or not isinstance(lfs, dict) or not path.lower().endswith(".gguf"):
        return None
    digest, size = str(lfs.get("oid", "")).removeprefix("sha256:"), _count(lfs.get("size"))
    if not re.fullmatch(r"[0-9a-f]{64}", digest) or not size or not is_safe_path(path):
        return None
    return RemoteFile(repo, path, size, digest, commit)


def is_safe_path(path: str) -> bool:
    """Return whether `path` is a valid path below a folder on every system."""
    parts = path.split("/")
    if printable(path) != path or len(path.encode()) > LONGEST_PATH:
        return False
    return all(_is_safe_name(part) for part in parts)


def _is_safe_name(part: str) -> bool:
    named = re.fullmatch(r"[^\x00-\x1f\\/:*?\"<>|]+", part) and part.strip(". ") == part
    return bool(named) and len(part.encode()) <= LONGEST_NAME


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 60 else 0


def _licence(tags: object) -> str:
    tags = tags if isinstance(tags, list) else []
    named = [tag for tag in tags if isinstance(tag, str) and tag.startswith("license:")]
    return named[0].removeprefix("license:")[:60] if named else ""


def _projector_for(model: RemoteFile, beside: Iterable[RemoteFile]) -> RemoteFile | None:
    """Return the projector in the model's folder, the one with the most similar name; None if there is none.

    Of several that differ by their precision the smaller one is as good: it is a small part of the model.
    """
    words = name_words(model.name)

    def preference(file: RemoteFile) -> tuple[int, int, int]:
        kind = file.quantisation
        known = PROJECTOR_KINDS.index(kind) if kind in PROJECTOR_KINDS else len(PROJECTOR_KINDS)
        return -len(words & name_words(file.name)), known, file.size

    return min((file for file in beside if is_projector_name(file.name)), key=preference, default=None)


def _preference(model: HubModel) -> tuple[int, int]:
    kind = model.quantisation
    return (PREFERRED.index(kind) if kind in PREFERRED else len(PREFERRED)), model.size
