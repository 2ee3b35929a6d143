"""What a server gives besides its list of tools, as our messages: results of calls, resources, prompts. All is cut."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from app.tools.mcp.limits import MOST_ARGUMENTS, MOST_LISTED, MOST_RESULT, MOST_TITLE, MOST_URI, cut_line, cut_text
from app.tools.mcp.messages import Called, Prompt, Resource

if TYPE_CHECKING:
    from mcp import types

T = TypeVar("T")
Ask = Callable[..., Awaitable[Any]]  # for one page of a list
Items = Callable[[Any], list[Any]]  # of a page
MOST_PAGES = 20  # of a list


def text_of(parts: Iterable[Any], structured: Any = None) -> str:
    """Return content as text for the model: what is no text stands there by its kind."""
    texts = list(_texts(parts))
    if not texts and structured is not None:
        texts.append(json.dumps(structured, ensure_ascii=False))
    return cut_text("\n\n".join(texts), MOST_RESULT)


def _texts(parts: Iterable[Any]) -> Iterator[str]:
    for part in parts:
        match part.type:
            case "text":
                yield part.text
            case "resource":
                yield getattr(part.resource, "text", f"[a file that is no text: {part.resource.uri}]")
            case "resource_link":
                yield f"[{part.name}: {part.uri}]"
            case kind:
                yield f"[{kind}, which is not shown]"


def read_result(id: int, result: types.ReadResourceResult) -> Called:
    """Return a resource's content: the first that is no text, or else all texts."""
    texts, kind = [], ""
    for content in result.contents:
        kind = kind or content.mime_type or ""
        blob = getattr(content, "blob", None)
        if blob is None:
            texts.append(str(getattr(content, "text", "")))
            continue
        try:
            return Called(id, data=base64.b64decode(blob, validate=True), kind=content.mime_type or "")
        except binascii.Error:
            texts.append("")
    return Called(id, data="\n\n".join(texts).encode("utf-8", "replace"), kind=kind)


def resources_from(described: Iterable[types.Resource]) -> tuple[Resource, ...]:
    """Return the resources that keep the limits."""

    def resource(each: types.Resource) -> Resource | None:
        title = cut_line(each.title or each.name or each.uri, MOST_TITLE)
        usable = title and len(each.uri) <= MOST_URI and each.uri.isprintable()
        return Resource(each.uri, title, cut_line(each.mime_type or "", MOST_TITLE)) if usable else None

    return _within(described, resource)


def prompts_from(described: Iterable[types.Prompt]) -> tuple[Prompt, ...]:
    """Return the prompts that keep the limits."""

    def prompt(each: types.Prompt) -> Prompt | None:
        names = tuple(argument.name for argument in each.arguments or ())
        long = [name for name in (each.name, *names) if not 0 < len(name) <= MOST_TITLE or not name.isprintable()]
        if long or len(names) > MOST_ARGUMENTS:
            return None
        title = cut_line(each.title or each.name, MOST_TITLE)
        return Prompt(each.name, title, cut_line(each.description or "", 2 * MOST_TITLE), names)

    return _within(described, prompt)


def _within(described: Iterable[Any], read: Callable[[Any], T | None]) -> tuple[T, ...]:
    return tuple(item for each in described if (item := read(each)) is not None)[:MOST_LISTED]


async def items_if_any(ask: Ask, items: Items, say: Callable[[str], object]) -> list[Any]:
    """Return the items of a list that the server can do without: if it refuses, its tools are there all the same."""
    from mcp.shared.exceptions import MCPError
    from mcp.types import CONNECTION_CLOSED

    try:
        return await all_items(ask, items)
    except MCPError as error:
        if error.code == CONNECTION_CLOSED:
            raise
        say(error.message)
        return []


async def all_items(ask: Ask, items: Items) -> list[Any]:
    """Return the items of all pages of a list, as many as we ask for."""
    found: list[Any] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await ask(cursor=cursor)
        found += items(page)
        cursor = page.next_cursor
        if not cursor:
            break
    return found
