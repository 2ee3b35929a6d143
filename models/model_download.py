"""Download of one model: the files that it needs, which of them it owns, and those that an earlier run left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from common.failures import Failure
from common.paths import display_name
from common.sentences import Sentence
from models.arrival import check_arrival
from models.download import Download
from models.hub import Hub, HubModel, RemoteFile, is_safe_path
from models.locations import own_folder
from models.network import Network
from models.part_file import PartFile, Source, check_room, noted_files
from models.progress import DownloadProgress
from models.projector import is_projector_name
from models.split import part_names


@dataclass(frozen=True, slots=True)
class ModelDownload:
    """Model to download, by the `path` of its first file: the source and the path of each file that it needs.

    The download claims its files, which may also belong to others: quantisations share a projector.
    """

    path: Path
    files: tuple[tuple[Source, Path], ...]

    @property
    def name(self) -> str:
        return display_name(self.path)

    @property
    def size(self) -> int:
        return sum(source.size for source, _ in self.files)

    def bytes_on_disk(self) -> int:
        """Return the bytes that are on the disk already, complete files and parts."""
        return sum(_size(target) or _size(PartFile(target).path) for _, target in self.files)

    def claim(self) -> None:
        """Claim every file, so that a restart knows of all, also of those not begun. Raises Failure."""
        for source, target in self.files:
            PartFile(target).claim(source, self.path.name)

    def run(
        self, network: Network, started: Callable[[Download], None] = lambda _download: None
    ) -> Iterator[DownloadProgress]:
        """Download one file after the other and yield the progress over all of them. Raises Failure.

        `started` is called with each file's download.
        """
        self.claim()
        missing = [target for _, target in self.files if not target.exists()]
        if missing:
            check_room(missing[0], self.size - self.bytes_on_disk())
        before = 0
        for source, target in self.files:
            download = Download(source, target, network)
            started(download)
            for progress in download.run():
                yield replace(progress, done=before + progress.done, total=self.size)
            before += source.size
        self.release()

    def release(self) -> None:
        """Give up the files: of a model that is not whole, delete what only this download brought."""
        is_whole = all(self.path.with_name(name).exists() for name in part_names(self.path.name))
        for file, _ in noted_files(self.path.parent):
            file.release(self.path.name, is_whole)

    def check(self) -> Sentence | None:
        """Return a sentence if the downloaded model is not what the catalogue had said of it."""
        source = self.files[0][0]
        if is_projector_name(self.path.name):  # all that was missing
            return None
        return check_arrival(self.path, source.repo, source.path)


def plan_download(model: HubModel, hub: Hub, folder: Path | None = None) -> ModelDownload:
    """Return the download of a hub model, with its projector, into our folder, below its repository's name.

    Raises Failure.
    """
    folder = folder or own_folder()
    files = tuple((_source(file, hub), _target(file, folder)) for file in model.all_files)
    return ModelDownload(files[0][1], files)


def _source(file: RemoteFile, hub: Hub) -> Source:
    return Source(hub.address_of(file), file.size, file.sha256, "", file.repo, file.path, file.commit)


def _target(file: RemoteFile, folder: Path) -> Path:
    where = f"{file.repo}/{file.path}"
    if not is_safe_path(where):
        raise Failure("refused.file_name", name=file.path[:80])
    return folder.joinpath(*where.split("/"))


def unfinished_downloads(folder: Path | None = None) -> Iterator[ModelDownload]:
    """Yield the downloads that an earlier run left unfinished; release the files of those that miss nothing.

    A note of an earlier version has no owners: its file belongs to the model of its name, a projector to the first
    unfinished model in its folder.
    """
    models: dict[Path, list[tuple[Source, Path]]] = {}
    for file, note in noted_files(folder or own_folder(), "**/*.part.json"):
        for owner in note.owners or (part_names(file.target.name)[0],):
            models.setdefault(file.target.with_name(owner), []).append((note.source, file.target))
    for projector in [path for path in models if is_projector_name(path.name)]:
        others = [path for path in models if path.parent == projector.parent and not is_projector_name(path.name)]
        if others:
            models[others[0]] += models.pop(projector)
    for path, files in models.items():
        download = ModelDownload(path, tuple(sorted(files, key=lambda file: is_projector_name(file[1].name))))
        if all(target.exists() for _, target in files):
            download.release()
        else:
            yield download


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
