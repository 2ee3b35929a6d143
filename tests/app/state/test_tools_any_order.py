"""Chats with tools over a real store and queue: whatever ends or is pressed in any order, everybody is answered."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.settings.settings import Settings
from app.state.conversation import Conversation
from app.state.engine_queue import EngineQueue
from app.state.open_chats import OpenChats
from app.state.prompt import NO_RESULT, prompt_of
from app.state.tool_desk import ToolDesk
from app.store.calls import calls_of
from app.store.chat_store import ChatStore
from app.tools.choices import Choices
from app.tools.tool import ToolResult
from common.process_end import EngineEnd
from engine.protocol import events
from engine.protocol.requests import Generate, Request
from tests.app.state.test_engine_queue_any_order import ENDINGS, Process
from tests.app.tools.scripted_source import ScriptedSource, tool
from tests.engine.scripted_engine import STATISTICS

TOOLS = (tool("look"), tool("act", "acts"), tool("read", "acts", host_argument="text"))
ON = Choices(("scripted",))
ARGUMENTS = ('{"text": "a"}', '{"text": "https://a.example"}', "{}", "{")


class RoomyProcess(Process):
    """An engine whose model has room for descriptions of tools."""

    def good_answer(self, request: Request) -> events.Event | None:
        answer = super().good_answer(request)
        return replace(answer, model=replace(answer.model, n_ctx=4096)) if isinstance(answer, events.Loaded) else answer


class ToolsInAnyOrder(RuleBasedStateMachine):
    """The user, the engine and a source of tools do whatever they can, in any order; the window may be closed."""

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.open_window()

    def open_window(self) -> None:
        self.store = ChatStore(Path(self.folder.name, "library.sqlite3"))
        settings_ = Settings(Path(self.folder.name, "settings.toml"))
        self.process = RoomyProcess()
        self.queue = EngineQueue(self.process.client, settings_, lambda *_: None, lambda: self.process.now)
        self.open_chats = OpenChats(self.store)
        self.source = ScriptedSource(*TOOLS)
        self.desk = ToolDesk(self.open_chats, self.queue, settings_)
        self.desk.add(self.source)
        self.queue.model.use(Path("/a.gguf"))
        self.let_load()
        self.chats: list[Conversation] = [self.open_chats.load(chat.id) for chat in self.open_chats.chats()]

    def let_load(self) -> None:
        """Have the engine, if it was started, load the model: another machine presses at that time."""
        while self.queue.state.phase in ("starting", "loading") and self.process.unanswered:
            self.process.answer(self.process.unanswered[0], "well")

    @property
    def rounds(self) -> list[Conversation]:
        return [chat for chat in self.chats if chat.round is not None]

    # --- the user ----------------------------------------------------------------------------------------------------

    @rule(data=st.data())
    def send(self, data: st.DataObject) -> None:
        idle = [chat for chat in self.chats if not chat.busy and chat.state == "listed"]
        chat = data.draw(st.sampled_from([*idle, None])) or self.open_chats.new_beside()
        if chat not in self.chats:
            self.chats.append(chat)
            self.desk.choose(chat, ON)
        assert chat.send("?")
        self.queue.submit(chat)
        self.let_load()

    @precondition(lambda self: self.chats)
    @rule(data=st.data(), what=st.sampled_from(("stop", "again", "delete", "restore", "off", "delete message")))
    def press(self, data: st.DataObject, what: str) -> None:
        chat = data.draw(st.sampled_from(self.chats))
        match what:
            case "stop":
                self.queue.stop(chat)
            case "again" if chat.state == "listed" and chat.answer_again():
                self.queue.submit(chat)
            case "delete":
                self.queue.stop(chat)
                self.open_chats.delete([chat.chat.id])
            case "restore" if chat.state == "deleted":
                self.open_chats.restore([chat.chat.id])
            case "off":
                self.desk.choose(chat, replace(ON, on=() if self.desk.choices(chat).on else ON.on))
            case "delete message" if chat.messages:
                chat.delete(data.draw(st.sampled_from(chat.messages)).id)

    @precondition(lambda self: any(chat.round and chat.round.asked for chat in self.chats))
    @rule(data=st.data(), reply=st.sampled_from(("once", "always", "no", "never")))
    def reply(self, data: st.DataObject, reply: str) -> None:
        chat = data.draw(st.sampled_from([chat for chat in self.rounds if chat.round and chat.round.asked]))
        assert chat.round
        assert chat.round.asked
        chat.round.reply(chat.round.asked, reply)  # type: ignore[arg-type]

    @rule(how=st.sampled_from(("closed", "killed")))
    def reopen(self, how: str) -> None:
        """Close the window, or have it killed, and open it again: what was finished is there."""
        if how == "closed":
            self.desk.close()
        finished = {
            message.id: message
            for chat in self.chats
            if chat.state == "listed"
            for message in chat.tree.branch()
            if message.stop_reason is not None
        }
        listed = {chat.chat.id for chat in self.chats if chat.state == "listed"}
        self.store.close()
        self.open_window()
        assert {chat.chat.id for chat in self.chats} == listed
        stored = {message.id: message for chat in self.chats for message in chat.tree.branch()}
        assert finished.items() <= stored.items()
        assert not any(chat.busy for chat in self.chats)

    # --- the source and the engine -----------------------------------------------------------------------------------

    @precondition(lambda self: self.source.calls)
    @rule(data=st.data(), dies=st.booleans())
    def tell(self, data: st.DataObject, dies: bool) -> None:
        number = data.draw(st.integers(0, len(self.source.calls) - 1))
        self.source.tell(number, ToolResult("It ended.", failed=True) if dies else None)

    @precondition(lambda self: self.process.start and self.process.unanswered and self.process.ending != "kill")
    @rule(data=st.data(), names=st.lists(st.sampled_from(("look", "act", "read", "other")), max_size=4))
    def answer(self, data: st.DataObject, names: list[str]) -> None:
        """Have the engine answer a request, an answer with these calls."""
        asked = [each for each in self.process.unanswered if isinstance(each, Generate)]
        request = data.draw(st.sampled_from(asked or self.process.unanswered))
        if not (isinstance(request, Generate) and names and request.tools and request.tool_choice == "auto"):
            self.process.answer(request, data.draw(st.sampled_from(("well", "well", "refuse", "cut"))))
            return
        self.process.unanswered.remove(request)
        say = self.process.client.received
        for index, name in enumerate(names):
            say(events.ToolCallStarted(request.id, index, f"call {index}", name))
            say(events.ToolCallArguments(request.id, index, data.draw(st.sampled_from(ARGUMENTS))))
        say(events.Finished(request.id, replace(STATISTICS, stop_reason="tool_calls"), ()))

    @precondition(lambda self: self.process.start)
    @rule(end=st.sampled_from(ENDINGS))
    def end(self, end: EngineEnd) -> None:
        self.process.end(end)

    # --- what is always so -------------------------------------------------------------------------------------------

    @invariant()
    def each_chat_knows_what_it_waits_for(self) -> None:
        for chat in getattr(self, "chats", ()):
            assert (chat.phase == "calling") == (chat.round is not None)
            assert (chat.phase == "waiting") == (chat in self.queue._waiting)
            assert (chat.phase in ("reading", "answering")) == (chat is self.queue.active)
            if chat.round is not None:
                assert (chat.round.asked is None) != (chat.round.running is None), "nobody ends this round"
        if hasattr(self, "chats"):
            assert len(self.source.calls) == sum(chat.round.running is not None for chat in self.rounds if chat.round)

    @invariant()
    def the_model_reads_each_call_with_one_result(self) -> None:
        for chat in getattr(self, "chats", ()):
            messages = prompt_of(chat.messages)
            calls = [call.id for message in messages for call in message.tool_calls]
            results = [message.tool_call_id for message in messages if message.role == "tool"]
            assert calls == results
            if not chat.busy:
                told = [m for m in chat.messages if m.role == "tool" and m.stop_reason == "end"]
                assert all(message.content for message in told)
                assert NO_RESULT not in [message.content for message in told]

    def teardown(self) -> None:
        """Let all come to rest: the user stops, and nobody waits any more."""
        if hasattr(self, "chats"):
            self.desk.close()
            for chat in self.chats:
                self.queue.stop(chat)
            if self.queue.active is not None:
                self.process.end(ENDINGS[0])
            assert not any(chat.busy for chat in self.chats)
            assert not self.source.calls
            for chat in self.chats:
                made = [m for m in chat.messages if m.role == "assistant" and calls_of(m)]
                assert all(m.stop_reason == "tool_calls" for m in made)
            self.store.close()
            self.folder.cleanup()


TestToolsInAnyOrder = ToolsInAnyOrder.TestCase
TestToolsInAnyOrder.settings = settings(settings(), stateful_step_count=40)
