"""The engine's older name for `models.files`, which the window uses too."""

from models.files import make_private_folder, sync_folder, write_atomically

__all__ = ["make_private_folder", "sync_folder", "write_atomically"]
