"""What every engine can be asked: the methods that a server of requests and a terminal call."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from common.confinement import limits
from common.failures import Failure
from common.version import VERSION
from engine.protocol.events import (
    Counted,
    Detokenized,
    Embedded,
    Event,
    Loaded,
    ModelsListed,
    PageRead,
    Prepared,
    Pulse,
    SpeedExpected,
    StatusReport,
    Titled,
    Tokenized,
    Welcome,
)
from engine.protocol.requests import (
    BackendName,
    Count,
    Detokenize,
    Embed,
    Generate,
    ListModels,
    Load,
    Prepare,
    ReadPage,
    Title,
    Tokenize,
)
from engine.stop import StopFlag


class OtherLibrary(Exception):
    """Exception: this process holds another library than `wanted`, so that the work needs a new process."""

    def __init__(self, wanted: BackendName) -> None:
        super().__init__(f"this process holds another library than {wanted}")
        self.wanted = wanted


class BaseEngine:
    """An engine: one model at a time, and the requests that it answers.

    An engine overrides what it can do. By default it does none of the work that only saves time, refuses requests that
    need weights of its own or a network, and keeps nothing. Any thread may set `stop` and call `count`, `tokenize`,
    `detokenize`, `end_thought`, `status`, `watch` and `last_pulse`; `stop` ends what runs, which raises Stopped then.
    """

    def __init__(self) -> None:
        self.stop = StopFlag()

    def welcome(self, id: int, pid: int) -> Welcome:
        """Return version, libraries, process id and limits for the window that started this process."""
        return Welcome(id, engine=f"chickadee {VERSION}", backend=self.libraries, pid=pid, limits=limits())

    @property
    def libraries(self) -> str:
        """Names and versions of the libraries that can compute in this process."""
        return ""

    def load(self, request: Load, progress: Callable[[float], None], expect: Callable[[SpeedExpected], None]) -> Loaded:
        """Use the request's model in place of the loaded one. Raises Failure, Stopped, and OtherLibrary.

        `progress` is called with the loaded fraction, and `expect` with the speed that a model on the disk will have.
        """
        raise NotImplementedError

    def unload(self) -> None:
        """Free the loaded model, if there is one."""
        raise NotImplementedError

    def close(self) -> None:
        """Free all that the engine holds."""
        self.unload()

    def generate(self, request: Generate) -> Iterator[Event]:
        """Yield the events of one answer, the last one Finished, also of a stopped one. Raises Failure."""
        raise NotImplementedError

    def prepare(self, request: Prepare) -> Iterator[Event]:
        """Prefill the certain beginning of the next prompt; the last event is Prepared, also after a stop."""
        yield Prepared(request.id, 0, 0)

    def count(self, request: Count) -> Counted:
        """Count the tokens of the request's texts and messages. Raises Failure."""
        raise NotImplementedError

    def status(self, id: int) -> StatusReport:
        """Return what is loaded and how many tokens of a chat are cached."""
        raise NotImplementedError

    def tokenize(self, _request: Tokenize) -> Tokenized:
        """Return the tokens of a text. Raises Failure."""
        raise Failure("local_only.request")

    def detokenize(self, _request: Detokenize) -> Detokenized:
        """Return the text of tokens. Raises Failure."""
        raise Failure("local_only.request")

    def embed(self, _request: Embed) -> Embedded:
        """Return the vectors of texts. Raises Failure."""
        raise Failure("local_only.request")

    def title(self, _request: Title) -> Titled:
        """Return a few words about the chat in the KV cache. Raises Failure."""
        raise Failure("local_only.request")

    def list_models(self, _request: ListModels) -> ModelsListed:
        """Return what a server is and which models it has. Raises Failure."""
        raise Failure("server_only.request")

    def read_page(self, _request: ReadPage) -> PageRead:
        """Return the web page at an address that the user gave. Raises Failure."""
        raise Failure("server_only.request")

    def end_thought(self, _request: int) -> bool:
        """End the open thought of the running Generate with this id; return False if there is none."""
        return False

    def give_way_to(self, _is_due: Callable[[], bool], _work: Callable[[], None]) -> None:
        """Pause answers in the background for `_work` whenever `_is_due` returns True."""

    def save_chat(self) -> None:
        """Save the loaded model's chat if that pays, because the user may come back to this model."""

    def forget_chat(self, _chat: str) -> None:
        """Delete what is kept of a chat that the user deleted."""

    def forget(self) -> None:
        """Empty the session after a bug that may have left it in an unknown state."""

    def watch(self, _on: bool) -> None:
        """Turn pulses on or off."""

    def pulse(self) -> Pulse | None:
        """Gather the engine's current numbers; return them if pulses are on."""
        return None

    def last_pulse(self) -> Pulse:
        """Return the last gathered numbers."""
        return Pulse(0, 0, 0, 0)

    def idle(self, _report: Callable[[Failure], None]) -> bool:
        """Do useful work while no request waits; return False if nothing remains to be done later.

        `_report` is called with each Failure; the rest of the work is done all the same. Raises Stopped.
        """
        return False

    def faster_library(self) -> BackendName | None:
        """Return the library that is known to be faster with the loaded model than its own; None if there is none."""
        return None
