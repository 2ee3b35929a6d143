"""From a model's header, and what is known of this computer's devices, to the placement of the model and its memory.

Asks no driver: it takes the devices that the last look has found, and the speeds that were timed while the computer was
idle.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from common.failures import Failure
from common.planning import KV, WEIGHTS, KVType
from common.power import read_battery
from common.sentences import Sentence
from engine.costs.cost_prior import speed_of as speed_of_timings
from engine.costs.measurements import timings_of_package
from engine.devices.device import ON_PROCESSOR, Device, Measured, Placement, Way
from engine.devices.look import Look, known_devices, refusal
from engine.devices.refusal import DeviceRefusal
from engine.loading.device_choice import (
    OFF,
    Decision,
    Situation,
    Work,
    choose,
    decision_for,
    is_meant,
    none_found,
    shares_ram,
    short_name,
    with_layers,
)
from engine.loading.libraries import BACKEND_TITLES, PACKAGES
from engine.loading.library_choice import identity_of
from engine.loading.memory_search import COMFORTABLE, MOST_BY_DEFAULT, MemoryPlan
from engine.loading.options import LoadOptions
from engine.loading.sizes import INNER_VECTORS, PROGRAM_BYTES
from engine.protocol.events import DeviceUse
from engine.protocol.requests import BackendName
from models.header import Header
from models.shapes import shapes_of
from models.split import whole_header
from models.tensors import tensor_bytes

LLAMA: BackendName = "llama"  # the library that knows devices
BLOCK = re.compile(r"blk\.(\d{1,4})\.")
HEADS = ("output.weight", "token_embd.weight")  # llama.cpp copies the embeddings where a file has no output head
UNSAID = ("device.none", "device.off")
PROMPT_PASS = 512  # tokens


@dataclass(frozen=True, slots=True)
class Devices:
    """The devices that may compute, and why others may not."""

    usable: tuple[Device, ...] = ()
    refusals: tuple[DeviceRefusal, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the devices that may compute, as people know them."""
        return tuple(dict.fromkeys(map(short_name, self.usable)))

    @classmethod
    def known(cls) -> Devices:
        """Return what the last look has found; nothing before the first one."""
        look = known_devices() or Look()
        problems = {device: problem for device in look.devices if (problem := refusal(device))}
        refusals = [DeviceRefusal(problem, short_name(device)) for device, problem in problems.items()]
        if look.problem:
            refusals.append(DeviceRefusal(look.problem))
        return cls(tuple(device for device in look.devices if device not in problems), tuple(refusals))


def decide(options: LoadOptions, headers: Sequence[Header], usable_bytes: int, processor: BackendName) -> Decision:
    """Decide where the model with these headers is computed, which may take `usable_bytes` of RAM.

    `processor`: the library that computes it without a device.
    """
    if options.requested_backend in ("ik", "graph"):
        return Decision(reason=Sentence.of("device.library", library=BACKEND_TITLES[options.requested_backend]))
    if options.device == OFF:
        return Decision(reason=Sentence.of("device.off"))
    devices, header = Devices.known(), whole_header(headers)
    if not devices.usable:  # most computers: nothing is read of a large header
        return Decision(reason=none_found((), options.device, devices.refusals))
    try:
        work = work_of(header, options)
    except Failure:  # the header leaves shapes open
        return Decision(reason=Sentence.of("device.no_shapes"))
    if options.placed_layers is not None:
        return _as_told(options, options.placed_layers, devices, work)
    key = identity_of(headers[0]), options.key_threads, options.assumed_kv_type
    alone = timings_of_package(PACKAGES[processor], *key, options.way) if processor in PACKAGES else None
    measured = [each for device in devices.usable for each in _measured(device, work, *key, options.way)]
    room = usable_bytes - header.file_bytes - work.kv_bytes - work.compute_bytes - PROGRAM_BYTES
    now = Situation(room, options.device, read_battery() == "unplugged")
    return choose(devices.usable, measured, speed_of_timings(alone) if alone else None, work, now, devices.refusals)


def work_of(header: Header, options: LoadOptions) -> Work:
    """Return the sizes of a model, with the context that it would get by default. Raises Failure."""
    shapes, layers = shapes_of(header), layer_bytes(header)
    heads = {tensor.name: tensor_bytes(tensor) for tensor in header.tensors if tensor.name in HEADS}
    n_ctx = min(options.n_ctx or MOST_BY_DEFAULT, header.n_ctx_train or COMFORTABLE)
    kv = round(shapes.kv_bytes_read(n_ctx, options.assumed_kv_type)) + shapes.state_bytes
    inner = PROMPT_PASS * (2 * shapes.feed_forward + INNER_VECTORS * shapes.embedding) * 4
    count = len(shapes.layers)
    return Work(
        layers=count,
        layer_bytes=max(layers.values(), default=0),
        output_bytes=next((heads[name] for name in HEADS if name in heads), 0),
        kv_bytes=kv,
        compute_bytes=inner + n_ctx * PROMPT_PASS * 2,
        ram_layer_bytes=(sum(layers.values()) + kv) // count,
    )


def with_device(plan: MemoryPlan, decision: Decision, header: Header) -> tuple[MemoryPlan, Decision]:
    """Return the plan for the processor with the device's part, and the decision: without a device if that has no room.

    Layers that lie on a device are no longer in RAM, but one that shares the computer's RAM takes its part from there.
    Prompts need the weights as they are in the file.
    """
    placement, layers = decision.placement, layer_bytes(header)
    if placement.device is None or plan.verdict not in ("fits", "tight"):
        return _saying(plan, decision.reason), replace(decision, placement=ON_PROCESSOR, parts={})
    moved = placement.layers / max(1, len(layers))
    left = dict.fromkeys(WEIGHTS, 1 - moved * sum(layers.values()) / header.file_bytes) | dict.fromkeys(KV, 1 - moved)
    parts = {name: round(size * left.get(name, 1)) for name, size in plan.parts.items()}
    changed = plan
    if placement.way is Way.PROMPTS and plan.repack:
        parts |= dict.fromkeys(WEIGHTS, 0) | {"weights_mapped": header.file_bytes}
        changed = replace(plan, repack=False, mmap=True)
    if shares_ram(placement.device):
        parts |= decision.parts
    total = sum(parts.values())
    if total > plan.available_bytes:
        missing = total - plan.available_bytes
        no_room = Decision(reason=Sentence.of("device.no_room", device=decision.device, size=missing))
        return _saying(plan, no_room.reason), no_room
    taken = Sentence.of("plan.device", device=decision.device, size=sum(decision.parts.values()))
    return _saying(replace(changed, total_bytes=total, parts=parts), decision.reason, taken), decision


def _saying(plan: MemoryPlan, *sentences: Sentence) -> MemoryPlan:
    """Return the plan with sentences about devices; most computers have none, of which nothing is said."""
    said = tuple(sentence for sentence in sentences if sentence.id not in UNSAID)
    return replace(plan, reasons=(*plan.reasons, *said))


def layer_bytes(header: Header) -> dict[int, int]:
    """Return the bytes of weights by the number of the layer."""
    layers = Counter[int]()
    for tensor in header.tensors:
        if match := BLOCK.match(tensor.name):
            layers[int(match[1])] += tensor_bytes(tensor)
    return layers


def _as_told(options: LoadOptions, layers: int, devices: Devices, work: Work) -> Decision:
    """Return the placement of so many layers, for a timing or an option of the terminal."""
    meant = [device for device in devices.usable if is_meant(device, options.device)]
    device = next((each for each in meant if each.id == options.device), meant[0] if meant else None)
    if device is None:
        return Decision(reason=Sentence.of("device.not_found", name=options.device))
    placement = Placement(Way.PROMPTS, device)
    if layers:
        placement = next((each for each in with_layers(device, work) if each.layers <= layers), placement)
    return decision_for(placement, None, None, work)


def _measured(device: Device, work: Work, model: str, threads: int, kv_type: KVType, way: str) -> Iterator[Measured]:
    """Yield the speeds of the model in placements on the device that were timed here, with its driver of now."""
    for placement in (Placement(Way.PROMPTS, device), *with_layers(device, work)):
        timings = timings_of_package(PACKAGES[LLAMA], model, threads, kv_type, way + placement.suffix)
        if timings:
            speed = speed_of_timings(timings)
            yield Measured(
                device.id, device.driver, "", model, placement.way, placement.layers, 1 / speed.prompt, 1 / speed.decode
            )


def use_of(decision: Decision) -> DeviceUse:
    """Return what the window shows of the devices, and of the decision."""
    placement, size = decision.placement, sum(decision.parts.values())
    found = Devices.known().names
    return DeviceUse(decision.reason, found, decision.device, str(placement.way), placement.layers, size)
