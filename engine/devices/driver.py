"""The drivers of graphics processors as files: whether they changed, without asking one of them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common.store import digest

# Where the Vulkan loader looks for drivers on Linux and macOS (LoaderDriverInterface.md of KhronosGroup/Vulkan-Loader).
MANIFESTS = tuple(
    Path(folder) / "vulkan/icd.d"
    for folder in ("/etc", "/usr/local/share", "/usr/share", "/usr/local/etc/xdg", "/etc/xdg")
)
LIBRARIES = tuple(
    Path(folder) for folder in ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib")
)
KERNEL_DRIVERS = tuple(Path(file) for file in ("/proc/driver/nvidia/version", "/sys/module/amdgpu/version"))
# What the user may set to choose a driver or a device.
VARIABLES = (
    "VK_DRIVER_FILES", "VK_ADD_DRIVER_FILES", "VK_ICD_FILENAMES", "GGML_VK_VISIBLE_DEVICES", "GGML_BACKEND_PATH",
    "LLAMA_CPP_LIB_PATH",
)  # fmt: skip
DISPLAY_CLASS = r"SYSTEM\CurrentControlSet\Control\Class\{4d36e968-e325-11ce-bfc1-08002be10318}"


def driver_stamp() -> str:
    """Return a text that changes when a graphics driver is installed, updated or removed, or another one is chosen.

    Nothing of a driver is loaded, so this also works where one hangs. Its files' sizes and times stand for them.
    """
    chosen = [os.environ.get(name, "") for name in VARIABLES]
    files = [(str(path), stat.st_size, stat.st_mtime_ns) for path in driver_files() if (stat := _stat(path))]
    kernel = [_text(path) for path in KERNEL_DRIVERS]
    return digest(chosen, files, kernel, _windows_versions())[:16]


def driver_files() -> Iterator[Path]:
    """Yield the files that describe the Vulkan drivers, each followed by the library that it names, and ggml's own."""
    yield Path(os.environ.get("GGML_BACKEND_PATH") or os.devnull)
    for folder in MANIFESTS:
        for manifest in sorted(folder.glob("*.json")):
            yield manifest
            named = Path(_library_of(manifest))
            yield from (named,) if named.is_absolute() else (folder / named for folder in LIBRARIES)


def _library_of(manifest: Path) -> str:
    try:
        described: Any = json.loads(manifest.read_text())
        return str(described["ICD"]["library_path"])
    except (OSError, ValueError, KeyError, TypeError):  # the loader ignores such a file, too
        return ""


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _windows_versions() -> list[str]:
    """Return the versions of the display drivers that Windows has in its registry; none on other systems."""
    versions: list[str] = []
    if sys.platform == "win32":
        import winreg

        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, DISPLAY_CLASS) as adapters:
            for number in range(winreg.QueryInfoKey(adapters)[0]):
                try:
                    with winreg.OpenKey(adapters, winreg.EnumKey(adapters, number)) as adapter:
                        versions.append(str(winreg.QueryValueEx(adapter, "DriverVersion")[0]))
                except OSError:  # no adapter, or one that this user may not read
                    continue
    return versions
