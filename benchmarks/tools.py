"""How often a model calls the right tool, and answers right with what came: 40 tasks over the built-in tools and MCP.

    python -m benchmarks.tools [--model FILE] [--tasks N] [--json]

Each task is asked in a chat of its own, with all tools: once with the grammar that the engine enforces on calls, once
without. Calls are done by the window's own round; the two MCP servers of `tool_server.py` run confined, as the window's
do. Documents are found as in collections, chats as in attached files. The scripted model makes the calls that
`tool_tasks.toml` names, and answers with all results: no model can do better. A call is valid if it is one of a tool
that there is, with arguments that fit its schema; it works if it has a result.
"""

from __future__ import annotations

import json
import re
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from app.state.prompt import prompt_of
from app.store.calls import Call, encode_calls
from app.store.chat import ChatMessage
from app.tools.arguments import read_arguments
from app.tools.rounds import Offer, Offered, Outcome, Round, Turn
from benchmarks.command import benchmark_parser, print_json
from benchmarks.tool_sources import Tools
from engine.engine import Engine
from engine.protocol.events import Finished, Text, ToolCallArguments, ToolCallStarted
from engine.protocol.requests import Count, Generate, Load, Message, Sampling, Tool

TASKS = Path(__file__).with_name("tool_tasks.toml")
MOST_ROUNDS, MOST_TOKENS = 5, 200
STEP = 7  # through the tasks, so that the first few are of all kinds
SYSTEM = Message("system", "Answer briefly. Use a tool where it helps.")


@dataclass(frozen=True, slots=True)
class Task:
    """A question, the calls that answer it, and the pattern of a right answer."""

    question: str
    calls: tuple[Call, ...]
    right: str


@dataclass(slots=True)
class Run:
    """One model's work at one task. `reread`: tokens that were read between rounds beyond the results."""

    calls: int = 0
    valid: int = 0
    worked: int = 0
    right_tool: bool = False
    right_answer: bool = False
    tokens: int = 0
    accepted: int = 0
    seconds: float = 0.0
    reread: tuple[int, ...] = ()


Answering = Callable[[Sequence[ChatMessage], Run, Offer], ChatMessage]


def read_tasks() -> tuple[dict[str, Any], list[Task]]:
    """Return the documents and chats, and the tasks."""
    raw = tomllib.loads(TASKS.read_text(encoding="utf-8"))
    tasks = []
    for each in raw["task"]:
        called = ([each["call"]] if "call" in each else []) + each.get("then", [])
        calls = tuple(Call(f"call{n}", name, json.dumps(values)) for n, (name, values) in enumerate(called))
        tasks.append(Task(each["question"], calls, datetime.now().strftime(each["right"])))
    return raw, tasks


def do(task: Task, tools: Tools, answer: Answering) -> Run:
    """Have a task done as the window does it: answers and rounds of calls in turn."""
    run, started = Run(), time.perf_counter()
    messages = [ChatMessage("c", None, "user", task.question)]
    first = ""
    for _ in range(MOST_ROUNDS + 1):
        offer = offer_after(messages, tools.by_name)
        message = answer(messages, run, offer)
        messages.append(message)
        calls = json.loads(message.calls) if message.calls else []
        made = [Call(each["id"], each["name"], each["arguments"]) for each in calls]
        first = first or next((call.name for call in made), "")
        if not made:
            break
        outcomes: dict[int, Outcome] = {}
        round_ = Round(made, offer)
        round_.told.connect(outcomes.__setitem__)
        tools.end(round_)
        run.calls += len(made)
        run.valid += sum(is_valid(call, tools) for call in made)
        run.worked += sum(not outcome.result.failed for outcome in outcomes.values())
        messages += [
            ChatMessage(
                "c",
                None,
                "tool",
                outcomes[n].result.text,
                calls=encode_calls([replace(call, failed=outcomes[n].result.failed)]),
            )
            for n, call in enumerate(made)
        ]
    run.right_tool = first == (task.calls[0].name if task.calls else "")
    run.right_answer = bool(re.search(task.right, messages[-1].content)) and messages[-1].role == "assistant"
    run.seconds = time.perf_counter() - started
    return run


def is_valid(call: Call, tools: Tools) -> bool:
    """Return whether a call is one of a tool that there is, with arguments that fit."""
    try:
        read_arguments(call.arguments, tools.by_name[call.name].info.parameters)
    except (KeyError, ValueError):
        return False
    return True


def offer_after(messages: Sequence[ChatMessage], by_name: Mapping[str, Offered]) -> Offer:
    """Return what the window would offer the next answer; all calls are agreed to."""
    turn = Turn.of(messages)
    return Offer("c", (), by_name, lambda *_: "always", lambda *_: None, lambda: 1000, turn, MOST_ROUNDS)


def scripted(task: Task) -> Answering:
    """Return the model that makes the task's calls and answers with all results."""
    left = list(task.calls)

    def answer(messages: Sequence[ChatMessage], _run: Run, _offer: Offer) -> ChatMessage:
        if left:
            return ChatMessage("c", None, "assistant", "", calls=encode_calls([left.pop(0)]))
        results = [message.content for message in messages if message.role == "tool"]
        return ChatMessage("c", None, "assistant", " ".join(results) or "Bonjour, blue.")

    return answer


class RealModel:
    """A model of the engine: answers, and counts the tokens that it read again."""

    def __init__(self, engine: Engine, tools: Tools) -> None:
        self._engine = engine
        infos = [offered.info for offered in tools.by_name.values()]
        self._tools = tuple(Tool(info.name, info.description, info.parameters) for info in infos)

    def answer(self, messages: Sequence[ChatMessage], run: Run, offer: Offer) -> ChatMessage:
        request = Generate(
            1, (SYSTEM, *prompt_of(messages)), sampling=Sampling(temperature=0.0), max_tokens=MOST_TOKENS,
            tools=self._tools, tool_choice=offer.choice, constraint=offer.constraint, chat="c",
            parallel_tool_calls=False,
        )  # fmt: skip
        text, calls = "", list[Call]()
        for event in self._engine.generate(request):
            match event:
                case Text():
                    text += event.text
                case ToolCallStarted():
                    calls.append(Call(event.call, event.name, ""))
                case ToolCallArguments():
                    call = calls[event.index]
                    calls[event.index] = Call(call.id, call.name, call.arguments + event.text)
                case Finished():
                    numbers = event.statistics
        run.tokens += numbers.decode_tokens
        run.accepted += numbers.accepted
        if messages[-1].role == "tool":
            results = [each.content for each in messages if each.role == "tool"][-len(_last_calls(messages)) :]
            counted = self._engine.count(Count(2, tuple(results)))
            run.reread = (*run.reread, numbers.read_tokens - sum(counted.texts))
        whole = numbers.stop_reason == "tool_calls"
        return ChatMessage("c", None, "assistant", text, calls=encode_calls(calls) if whole else "")


def _last_calls(messages: Sequence[ChatMessage]) -> list[Any]:
    last = next(message for message in reversed(messages) if message.role == "assistant")
    return list(json.loads(last.calls))


@contextmanager
def without_grammar() -> Iterator[None]:
    """Let the engine write calls freely."""
    with patch("engine.engine.constraint_for", lambda *_: None):
        yield


def summary(name: str, runs: Sequence[Run]) -> dict[str, Any]:
    """Return the shares and means of a model's runs."""
    calls, reread = sum(run.calls for run in runs), [tokens for run in runs for tokens in run.reread]
    return {
        "model": name, "tasks": len(runs), "calls": calls,
        "valid": sum(run.valid for run in runs) / calls if calls else None,
        "worked": sum(run.worked for run in runs) / calls if calls else None,
        "right_tool": mean(run.right_tool for run in runs), "right_answer": mean(run.right_answer for run in runs),
        "tokens": mean(run.tokens for run in runs), "accepted": mean(run.accepted for run in runs),
        "seconds": mean(run.seconds for run in runs), "most_reread": max(reread, default=None),
        "mean_reread": mean(reread) if reread else None,
    }  # fmt: skip


def main() -> None:
    parser = benchmark_parser("tools", __doc__)
    parser.add_argument("--tasks", type=int, default=40, help="number of tasks, of all kinds (default: 40)")
    parser.add_argument("--ctx", type=int, default=4096, help="limit of the context in tokens (default: 4096)")
    options = parser.parse_args()
    raw, tasks = read_tasks()
    tasks = [tasks[n * STEP % len(tasks)] for n in range(min(options.tasks, len(tasks)))]
    rows = list[dict[str, Any]]()

    def add(name: str, runs: Sequence[Run]) -> None:
        rows.append(summary(name, runs))
        if not options.json:
            print_row(rows[-1])

    if not options.json:
        print(f"{options.model.name}, {len(tasks)} tasks\n  {'':14} calls  valid  worked  right tool  right answer  "
              "tokens  accepted  seconds  read again (mean, most)")  # fmt: skip
    with TemporaryDirectory() as folder, closing(Tools(raw, Path(folder))) as tools, closing(Engine()) as engine:
        add("scripted", [do(task, tools, scripted(task)) for task in tasks])
        engine.load(Load(0, str(options.model), n_ctx=options.ctx))
        model = RealModel(engine, tools)
        add("with grammar", [do(task, tools, model.answer) for task in tasks])
        with without_grammar():
            add("without", [do(task, tools, model.answer) for task in tasks])
    if options.json:
        print_json(rows)


def print_row(row: Mapping[str, Any]) -> None:
    valid, worked = ("–" if row[name] is None else f"{row[name]:.0%}" for name in ("valid", "worked"))
    again = "–" if row["mean_reread"] is None else f"{row['mean_reread']:.0f}, {row['most_reread']}"
    shares = f"{valid:>5}  {worked:>6}  {row['right_tool']:10.0%}  {row['right_answer']:12.0%}"
    costs = f"{row['tokens']:6.0f}  {row['accepted']:8.0f}  {row['seconds']:7.2f}"
    print(f"  {row['model']:14} {row['calls']:5}  {shares}  {costs}  {again}", flush=True)


if __name__ == "__main__":
    main()
