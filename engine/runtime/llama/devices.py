"""ggml's devices: the graphics processors that it finds, and the parameters that place a model on one of them.

Only a process that looks for devices or uses one loads the backend, because drivers run inside it then.
"""

from __future__ import annotations

import ctypes
import logging
import os
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

from common.failures import Failure
from engine.devices.device import Device, Placement, Way
from engine.native_files import backend_files
from engine.runtime.llama.library import ggml, native, open_library
from engine.runtime.llama.library import log as library_log

logger = logging.getLogger("engine.devices")

P = ctypes.c_void_p
GPU, INTEGRATED = 1, 2  # ggml_backend_dev_type
SOFTWARE = re.compile(r"llvmpipe|lavapipe|swiftshader|microsoft basic render", re.IGNORECASE)
# What ggml's Vulkan backend logs about a device: its number, its name, and its driver in brackets.
DRIVER = re.compile(r"ggml_vulkan: (\d+) = .* \(([^()]*)\) \| uma")


@cache
def load_backends() -> tuple[str, ...]:
    """Load the backends of devices that lie beside our kernels; return the lines that they logged.

    Those of a llama.cpp of the user's own are loaded with it, and ggml's variable names one more file. A backend
    without a driver is left out.
    """
    open_library()
    with library_log.lines() as lines:
        for path in backend_files():
            if not ggml("ggml_backend_load", P, ctypes.c_char_p)(os.fsencode(path)):
                logger.info("%s found no driver", path.name)
    return tuple(lines)


def find_devices(stamp: str) -> tuple[Device, ...]:
    """Return the devices that ggml finds; `stamp` becomes a part of `Device.driver`. May crash or hang in a driver."""
    drivers = {f"Vulkan{number}": name for number, name in DRIVER.findall("\n".join(load_backends()))}
    seen: Counter[str] = Counter()
    return tuple(_describe(pointer, drivers, stamp, seen) for pointer in _pointers())


def _pointers() -> Iterator[int]:
    for number in range(ggml("ggml_backend_dev_count", ctypes.c_size_t)()):
        pointer = ggml("ggml_backend_dev_get", P, ctypes.c_size_t)(number)
        if _type(pointer) in (GPU, INTEGRATED):
            yield pointer


def _describe(pointer: int, drivers: dict[str, str], stamp: str, seen: Counter[str]) -> Device:
    name, description = _text("ggml_backend_dev_name", pointer), _text("ggml_backend_dev_description", pointer)
    registry = ggml("ggml_backend_dev_backend_reg", P, P)(pointer)
    backend = _text("ggml_backend_reg_name", registry).lower()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    sizes = (ctypes.POINTER(ctypes.c_size_t),) * 2
    ggml("ggml_backend_dev_memory", None, P, *sizes)(pointer, ctypes.byref(free), ctypes.byref(total))
    id = f"{backend} {description}"
    seen[id] += 1
    return Device(
        id if seen[id] == 1 else f"{id} {seen[id]}",
        name,
        description,
        backend,
        integrated=_type(pointer) == INTEGRATED,
        software=bool(SOFTWARE.search(description)),
        memory_bytes=total.value,
        free_bytes=free.value,
        driver=f"{drivers.get(name, backend)} {stamp}",
    )


def _type(pointer: int) -> int:
    return int(ggml("ggml_backend_dev_type", ctypes.c_int, P)(pointer))


def _text(function: str, pointer: int) -> str:
    return str(ggml(function, ctypes.c_char_p, P)(pointer).decode(errors="replace"))


# --- placing a model ---


def place_model(params: Any, placement: Placement) -> Any:
    """Set llama_model_params for a placement; return what must live until the model is loaded.

    Without a device the list of devices is empty: else llama.cpp takes all that were ever found. Raises Failure if the
    device is gone.
    """
    devices = [] if placement.device is None else [_pointer_of(placement.device)]
    array = (P * (len(devices) + 1))(*devices, None)
    params.devices = ctypes.cast(array, P)
    # llama.cpp counts the output head as the last layer.
    params.n_gpu_layers = placement.layers + 1 if placement.layers else 0
    params.no_host = placement.layers > 0  # the layers in RAM stay as this processor computes them fastest
    if placement.way is Way.PROMPTS:
        params.use_extra_bufts = False  # only weights in the file's own order can be copied to a device
    return array


def _pointer_of(device: Device) -> int:
    for pointer, found in zip(_pointers(), find_devices(""), strict=True):
        if found.id == device.id:
            return pointer
    raise Failure("device.gone", device=device.description)


def layer_check() -> Any:
    """Return the C function by which a stop flag ends a long pass on a device; None without our native code.

    A device has no stop check of its own. ggml's scheduler asks this function about each operation of a pass, and
    computes up to the ones for which it says yes: every eighth product of a pass of PROMPT_PASS tokens and more.
    """
    own_code = native()
    return own_code.device_check if own_code else None
