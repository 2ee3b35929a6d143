"""The choice of where a model is computed: on the processor, or partly or wholly on a device, from measured speeds.

Decides from numbers alone: it asks no device and loads nothing. With “automatic”, a device is used only where its speed
with this very model was measured, an exchange of the usual length is faster, and neither prompts nor writing alone are
noticeably slower. On battery it must be so much faster that it saves energy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from common.sentences import Sentence
from common.units import speed as shown
from engine.costs.cost_prior import Speed
from engine.devices.device import ON_PROCESSOR, Device, Measured, Placement, Way
from engine.devices.refusal import DeviceRefusal
from engine.loading.library_choice import FASTER, NO_SLOWER

AUTOMATIC, OFF = "auto", "off"  # all other wishes are a device's name, or a part of it
# Tokens of an exchange: a question with a page of text, and an answer of two paragraphs. What is cached is not read.
PROMPT_TOKENS, ANSWER_TOKENS = 600, 250
# Speed-up from which a device saves energy: integrated ones draw up to three times the processor's power while they
# decode (FastFlowLM's table of Ryzen AI: 14 W against 4.9 W) and less than twice while they read prompts.
SAVES_ENERGY = 2.0
# Writing may be slower by a fifth where prompts make up for it: on a device they need weights in the file's own order,
# and with those the processor writes 1.2 times slower than with repacked ones.
WRITES_NO_SLOWER = 0.8
CLOSE = 1.25  # of numbers of layers: a speed that was measured with fewer layers counts for so many times more of them
DISPLAY_BYTES = 512 << 20  # of a device's own memory, left for the windows that it draws
STEPS = 8  # numbers of layers that are tried on a device with little memory
MARKS = re.compile(r"\((R|TM|C)\)|\s*\([^)]*\)|[®™©]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Work:
    """Sizes of a model that is to be placed, in bytes.

    `layer_bytes`: weights of its largest layer; `output_bytes`: of the output head; `kv_bytes`: keys and values of all
    layers with a full context; `compute_bytes`: buffers of a pass. `ram_layer_bytes`: what a layer takes in RAM with
    the processor, and frees when it lies on a device.
    """

    layers: int
    layer_bytes: int
    output_bytes: int
    kv_bytes: int
    compute_bytes: int
    ram_layer_bytes: int

    def on_device(self, placement: Placement) -> dict[str, int]:
        """Return bytes on the device by name. Prompts need room for the matrices of a layer, which are copied there."""
        if placement.way is Way.PROCESSOR:
            return {}
        if placement.way is Way.PROMPTS:
            return {"device_compute": self.compute_bytes + max(self.layer_bytes, self.output_bytes)}
        weights = placement.layers * self.layer_bytes + self.output_bytes  # llama.cpp counts it as the last layer
        kv = self.kv_bytes * placement.layers // self.layers
        return {"device_weights": weights, "device_kv": kv, "device_compute": self.compute_bytes}

    def freed_ram(self, placement: Placement) -> int:
        """Return the bytes of RAM that the placement frees against the plan for the processor."""
        return placement.layers * self.ram_layer_bytes


@dataclass(frozen=True, slots=True)
class Situation:
    """The wish of the user, and what the computer can give now.

    `wish`: AUTOMATIC, OFF, or a part of a device's name. `ram_bytes`: RAM that is left beside the plan for the
    processor and the reserve for other programs.
    """

    ram_bytes: int
    wish: str = AUTOMATIC
    on_battery: bool = False
    prompt_tokens: int = PROMPT_TOKENS
    answer_tokens: int = ANSWER_TOKENS

    def seconds(self, speed: Speed) -> float:
        """Return the seconds of an exchange of the expected length at this speed."""
        return self.prompt_tokens / speed.prompt + self.answer_tokens / speed.decode


@dataclass(frozen=True, slots=True)
class Decision:
    """The placement of a model, and the reason for it.

    `parts`: bytes on the device by name. `untimed`: placements whose speed would matter, to be timed while the computer
    is idle. `speed`: measured speed of `placement`; None if unknown.
    """

    placement: Placement = ON_PROCESSOR
    reason: Sentence = field(default_factory=lambda: Sentence.of("device.none"))
    parts: dict[str, int] = field(default_factory=dict)
    untimed: tuple[Placement, ...] = ()
    speed: Speed | None = None

    @property
    def device(self) -> str:
        """Name of the device that computes, as people know it; empty for the processor."""
        return short_name(self.placement.device) if self.placement.device else ""


def choose(
    devices: Sequence[Device],
    measured: Iterable[Measured],
    processor: Speed | None,
    work: Work,
    now: Situation,
    refusals: Sequence[DeviceRefusal] = (),
) -> Decision:
    """Choose where a model is computed.

    `measured`: speeds of this model in placements on this machine; `processor`: its speed without a device, None before
    it was timed; `refusals`: why devices that exist are not among `devices`. A device that the user names is used where
    it fits, also if it is slower or was never timed.
    """
    if now.wish == OFF:
        return Decision(reason=Sentence.of("device.off"))
    wanted = [device for device in devices if is_meant(device, now.wish)]
    if not wanted:
        return Decision(reason=none_found(devices, now.wish, refusals))
    options = [placement for device in wanted for placement in fitting(device, work, now.ram_bytes)]
    if not options:
        return Decision(reason=_no_room(wanted[0], work, now.ram_bytes))
    known = tuple(measured)
    timed = {placement: speed for placement in options if (speed := speed_of(placement, known))}
    untimed = tuple(placement for placement in options if placement not in timed)
    if now.wish != AUTOMATIC:
        best = min(timed, key=lambda each: now.seconds(timed[each]), default=likely(options))
        return decision_for(best, timed.get(best), processor, work, untimed)
    waiting = {placement.device for placement in untimed}  # one of their other ways may be better
    ready = [placement for placement in timed if placement.device not in waiting]
    if processor is None or not ready:
        return Decision(reason=Sentence.of("device.not_timed", device=short_name(wanted[0])), untimed=untimed)
    paying = [placement for placement in ready if pays(placement.way, timed[placement], processor, now)]
    best = min(paying or ready, key=lambda each: now.seconds(timed[each]))
    if paying:
        return decision_for(best, timed[best], processor, work, untimed)
    return Decision(reason=_not_paying(best, timed[best], processor, now), untimed=untimed)


def is_meant(device: Device, wish: str) -> bool:
    """Return whether the wish means this device: by a part of its name, or any that is no processor in disguise."""
    if wish == AUTOMATIC:
        return not device.software
    names = (device.id, device.name, device.description, short_name(device))
    return any(wish.casefold() in name.casefold() for name in names)


def pays(way: Way, speed: Speed, processor: Speed, now: Situation) -> bool:
    """Return whether the speed is so much better than the processor's that a device should compute in this way.

    Neither prompts nor writing may be slower by more than two timings of the same thing differ, because not every
    exchange has the usual length; with prompts alone on the device, writing may by WRITES_NO_SLOWER.
    """
    reads = speed.prompt >= NO_SLOWER * processor.prompt
    writes = speed.decode >= (WRITES_NO_SLOWER if way is Way.PROMPTS else NO_SLOWER) * processor.decode
    gain = now.seconds(processor) / now.seconds(speed)
    return reads and writes and gain >= (SAVES_ENERGY if now.on_battery else FASTER)


# --- memory ---


def fitting(device: Device, work: Work, ram_bytes: int) -> Iterator[Placement]:
    """Yield the placements on the device that fit into its memory and RAM, the one with the most layers first."""
    most = next((each for each in with_layers(device, work) if missing_bytes(each, work, ram_bytes) <= 0), None)
    if most:
        yield most
    prompts = Placement(Way.PROMPTS, device)
    if missing_bytes(prompts, work, ram_bytes) <= 0:
        yield prompts


def with_layers(device: Device, work: Work) -> Iterator[Placement]:
    """Yield the placements of all layers and of fewer, in STEPS, so that what was timed is met again later."""
    yield Placement(Way.ALL_LAYERS, device, work.layers)
    step = max(1, work.layers // STEPS)
    for layers in range((work.layers - 1) // step * step, 0, -step):
        yield Placement(Way.SOME_LAYERS, device, layers)


def missing_bytes(placement: Placement, work: Work, ram_bytes: int) -> int:
    """Return by how many bytes the placement is too large for its device or for RAM; 0 or less if it fits.

    What lies on a device that shares the computer's RAM takes it from there, and frees what it had there before.
    """
    device, needed = placement.device, sum(work.on_device(placement).values())
    assert device, placement
    own = device.free_bytes or device.memory_bytes
    if not shares_ram(device):
        return needed + DISPLAY_BYTES - own
    return max(needed - work.freed_ram(placement) - ram_bytes, needed - own if own else 0)


def shares_ram(device: Device) -> bool:
    """Return whether the memory of the device is the computer's RAM."""
    return device.integrated or device.software


def likely(options: Sequence[Placement]) -> Placement:
    """Return the placement that is likely to be fastest of these, none of which was timed.

    Published tables agree: own memory is faster than RAM, so all that fits belongs there; an integrated device reads
    prompts faster and writes no faster.
    """
    return next((each for each in options if each.device and shares_ram(each.device) != (each.layers > 0)), options[0])


# --- speeds ---


def speed_of(placement: Placement, measured: Iterable[Measured]) -> Speed | None:
    """Return the placement's speed, None if unknown.

    Between two measured numbers of layers the time of a pass is linear. A few more layers than were ever measured are
    as fast as these.
    """
    device = placement.device
    key = (device.id, device.driver) if device else None
    known = {each.layers: each for each in measured if (each.device_id, each.driver) == key}
    fewer = max((layers for layers in known if layers <= placement.layers), default=None)
    more = min((layers for layers in known if layers >= placement.layers), default=None)
    if more is None and fewer and placement.layers <= CLOSE * fewer:
        more = fewer
    if fewer is None or more is None:
        return None
    share = (placement.layers - fewer) / (more - fewer) if more > fewer else 0.0

    def between(seconds: Callable[[Measured], float]) -> float:
        return seconds(known[fewer]) * (1 - share) + seconds(known[more]) * share

    return Speed(1 / between(lambda each: each.seconds_per_token), 1 / between(lambda e: e.seconds_per_prompt_token))


# --- reasons ---


def short_name(device: Device) -> str:
    """Return the device's name without trade marks and additions in brackets."""
    return " ".join(MARKS.sub(" ", device.description).split()) or device.name


def decision_for(
    placement: Placement,
    speed: Speed | None,
    processor: Speed | None,
    work: Work,
    untimed: tuple[Placement, ...] = (),
) -> Decision:
    """Return the decision for a placement on a device, with its reason and what it takes there."""
    return Decision(placement, _why(placement, speed, processor, work), work.on_device(placement), untimed, speed)


def _why(placement: Placement, speed: Speed | None, processor: Speed | None, work: Work) -> Sentence:
    device, prompts = placement.device, placement.way is Way.PROMPTS
    assert device, placement
    values: dict[str, object] = {"device": short_name(device), "layers": placement.layers, "of": work.layers}
    if speed is None or processor is None:
        return Sentence.of("device.untimed_prompts" if prompts else "device.untimed_layers", **values)
    values |= _speeds(speed, processor)
    if prompts:
        return Sentence.of("device.prompts", **values)
    return Sentence.of("device.all" if placement.way is Way.ALL_LAYERS else "device.some", **values)


def _speeds(speed: Speed, processor: Speed) -> dict[str, object]:
    return {
        "reads": shown(speed.prompt), "read": shown(processor.prompt),
        "writes": shown(speed.decode), "wrote": shown(processor.decode),
    }  # fmt: skip


def _not_paying(placement: Placement, speed: Speed, processor: Speed, now: Situation) -> Sentence:
    """Return why the best placement, with this speed, does not pay."""
    assert placement.device, placement
    would_pay = now.on_battery and pays(placement.way, speed, processor, replace(now, on_battery=False))
    values = _speeds(speed, processor) | {"device": short_name(placement.device)}
    return Sentence.of("device.battery" if would_pay else "device.slower", **values)


def none_found(devices: Sequence[Device], wish: str, refusals: Sequence[DeviceRefusal]) -> Sentence:
    """Return why none of these devices can be meant by the wish."""
    for refusal in refusals:
        if wish == AUTOMATIC or wish.casefold() in refusal.device.casefold():
            return refusal.sentence
    if wish != AUTOMATIC:
        return Sentence.of("device.not_found", name=wish)
    if devices:
        return Sentence.of("device.software", device=short_name(devices[0]))
    return Sentence.of("device.none")


def _no_room(device: Device, work: Work, ram_bytes: int) -> Sentence:
    missing = missing_bytes(Placement(Way.PROMPTS, device), work, ram_bytes)
    return Sentence.of("device.no_room", device=short_name(device), size=missing)
