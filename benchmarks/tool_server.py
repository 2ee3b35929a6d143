"""Two small MCP servers for benchmarks.tools, `phone_book` and `trains`; standard library only.

python benchmarks/tool_server.py phone_book
"""

from __future__ import annotations

import json
import sys
from typing import Any

PEOPLE = (
    {"name": "Maria Sands", "extension": 412, "room": "B17"},
    {"name": "Tom Reed", "extension": 388, "room": "A02"},
    {"name": "Olga Brandt", "extension": 450, "room": "C31"},
)
TRAINS = (
    {"from": "Aldham", "to": "Brook", "departs": "06:12", "arrives": "06:50", "price": 4.5},
    {"from": "Aldham", "to": "Carr", "departs": "07:05", "arrives": "08:35", "price": 12.8},
    {"from": "Brook", "to": "Carr", "departs": "09:20", "arrives": "10:05", "price": 7.2},
)
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def find_person(name: str) -> list[dict[str, Any]]:
    return [person for person in PEOPLE if name.casefold() in str(person["name"]).casefold()]


def who_has_extension(extension: int) -> list[dict[str, Any]]:
    return [person for person in PEOPLE if person["extension"] == extension]


def find_train(start: str, destination: str) -> list[dict[str, Any]]:
    return [train for train in TRAINS if (train["from"], train["to"]) == (start.title(), destination.title())]


SERVERS = {
    "phone_book": (
        (find_person, "Find a person's extension and room in the company's phone book.", {"name": TEXT}),
        (who_has_extension, "Find who has a phone extension.", {"extension": NUMBER}),
    ),
    "trains": ((find_train, "Find the train between two stations: times and price.",
                {"start": TEXT, "destination": TEXT}),),
}  # fmt: skip


def answer(name: str, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request; None for a method that this server does not have."""
    tools = {work.__name__: (work, description, properties) for work, description, properties in SERVERS[name]}
    if method == "initialize":
        server = {"name": name, "version": "1"}
        return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": [_described(*tool) for tool in tools.values()]}
    if method == "tools/call":
        found = tools[params["name"]][0](**params["arguments"])
        return {"content": [{"type": "text", "text": json.dumps(found) if found else "Nothing was found."}]}
    return None


def _described(work: Any, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"name": work.__name__, "description": description, "inputSchema": schema}


def main(name: str) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" not in request:
            continue
        result = answer(name, request["method"], request.get("params") or {})
        said = {"result": result} if result is not None else {"error": {"code": -32601, "message": "no such method"}}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **said}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
