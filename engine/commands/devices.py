"""`python -m engine devices`: the graphics processors of this computer, and whether the engine uses them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import msgspec

from common.byte_sizes import show_bytes
from common.failures import Failure
from engine.commands.look import crash_quietly
from engine.commands.terminal import notes_to_stderr
from engine.devices.device import Device, Placement
from engine.devices.driver import driver_stamp
from engine.devices.look import Look, look_at_devices, refusal
from engine.loading.device_check import compare
from engine.protocol.lines import claim_stdout
from models.validation import checked_headers


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("devices", help="list the graphics processors that could compute")
    parser.add_argument("--look", action="store_true", help=argparse.SUPPRESS)  # the process that asks the drivers
    parser.add_argument("--check", nargs=2, metavar=("MODEL", "PLACEMENT"), help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    if options.look:
        return look()
    if options.check:
        return check(Path(options.check[0]), options.check[1])
    notes_to_stderr()
    found = look_at_devices()
    if options.json:
        print(msgspec.json.encode(found).decode())
        return 0
    for device in found.devices:
        print(line(device))
    if not found.devices:
        print({"hung": "A graphics driver hung.", "crashed": "A graphics driver crashed."}.get(
            found.problem or "", "No graphics processor was found."
        ))  # fmt: skip
    return 0


def look() -> int:
    """Ask the drivers in this process, and print a `Look`."""
    output = claim_stdout()
    crash_quietly()
    from engine.runtime.llama.devices import find_devices

    output.write(msgspec.json.encode(Look(find_devices(driver_stamp()))))
    output.flush()
    return 0


def check(path: Path, placed: str) -> int:
    """Compare a placement, in JSON, with the processor in this process; print a `Verdict`, or null if it cannot."""
    output = claim_stdout()
    crash_quietly()
    placement = msgspec.json.decode(placed, type=Placement)
    try:
        verdict = compare(checked_headers(path), placement)
    except (Failure, MemoryError) as error:
        print(error, file=sys.stderr)
        verdict = None
    output.write(msgspec.json.encode(verdict))
    output.flush()
    return 0


def line(device: Device) -> str:
    """Return what is known of a device in one line."""
    kind = "software" if device.software else "integrated" if device.integrated else "own memory"
    size = f", {show_bytes(device.free_bytes)} of {show_bytes(device.memory_bytes)} free" if device.memory_bytes else ""
    problem = refusal(device)
    refused = f" [not used: {problem.replace('_', ' ')}]" if problem else ""
    return f"{device.description} ({device.backend}, {kind}{size}; driver {device.driver.split()[0]}){refused}"
