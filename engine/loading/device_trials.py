"""Work for idle time: look for devices, and check and time the loaded model in placements that could be faster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.devices.device import Placement
from engine.devices.look import known_devices, looking
from engine.loading.device_check import checking
from engine.loading.device_choice import OFF, Decision
from engine.loading.device_plan import LLAMA, decide
from engine.loading.library_choice import BackendTrial, faster_as_timed, identity_of
from engine.loading.options import LoadOptions
from engine.protocol.requests import BackendName
from models.header import Header


class DeviceTrials:
    """The placements of one model that are to be timed.

    `usable_bytes`: RAM that the model may take; `processor`: the library that computes it without a device, unless both
    libraries were timed.
    """

    def __init__(
        self, options: LoadOptions, headers: Sequence[Header], usable_bytes: int, processor: BackendName
    ) -> None:
        self._options, self._headers, self._usable = options, headers, usable_bytes
        self._model, self._processor = identity_of(headers[0]), processor
        self._trials: dict[Placement, BackendTrial] = {}

    @property
    def processor(self) -> BackendName:
        """The library that should compute the model without a device."""
        return faster_as_timed(self._model, self._options) or self._processor

    def decision(self) -> Decision:
        """Return the decision by what is known now, with the memory that there was when the model was loaded."""
        return decide(self._options, self._headers, self._usable, self.processor)

    def measure(self) -> Iterator[None]:
        """Look for devices, then check and time the placements; the caller may stop at each yield."""
        if self._options.device == OFF:
            return
        if known_devices() is None:
            yield from looking()
        for placement in self.decision().untimed:
            if not (yield from checking(self._headers[0], placement)):
                return  # the device is refused, or there is no memory for it now
            yield from self._trial(placement).measure()

    def _trial(self, placement: Placement) -> BackendTrial:
        if placement not in self._trials:
            options = self._options
            self._trials[placement] = BackendTrial(
                self._headers[0].path, LLAMA, options.key_threads, options.assumed_kv_type, options.flash_attention,
                placement,
            )  # fmt: skip
        return self._trials[placement]
