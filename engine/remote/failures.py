"""What can go wrong with a server, as sentences: no connection, no certificate, no key, no model, too busy, nonsense.

A server's own words are shown, never logged, and only if they cannot hold the key.
"""

from __future__ import annotations

import re
import socket
import ssl
from typing import Any

import msgspec

from common.failures import Failure
from common.paths import printable
from models.servers import host_of

LONGEST_REASON = 300  # characters of a server's own words
TOO_LONG = ("context_length", "context length", "context size", "context window", "maximum context", "exceed_context")


def exchange_failure(error: Exception, url: str, proxy: str | None = None) -> Failure | None:
    """Return the Failure for an exception of the exchange; None for any other exception, which is a bug.

    `proxy`: the host of a proxy that has not connected us yet.
    """
    import httpx

    host, cause = host_of(url), _first_cause(error)
    match cause:
        case ssl.SSLCertVerificationError():
            reason = cause.verify_message or cause.reason or ""
            return Failure("refused.server_certificate", host=host, reason=reason.rstrip("."))
        case ssl.SSLError():
            return Failure("refused.server_no_tls", str(cause), host=host)
        case _ if proxy and isinstance(error, OSError | httpx.TransportError):
            return Failure("no_connection.proxy", str(error), host=host, proxy=proxy)
        case socket.gaierror() | UnicodeError() | httpx.InvalidURL():
            return Failure("no_connection.server_name", str(cause), host=host)
        case TimeoutError():
            return Failure("no_connection.server_silent", host=host)
        case ConnectionRefusedError():
            return Failure("no_connection.server_refused", host=host)
        case OSError() if not isinstance(cause, ConnectionError):
            return Failure("no_connection.server_unreachable", str(cause), host=host)
    if isinstance(error, httpx.ProtocolError | ValueError) and "without sending" not in str(error):
        return Failure("refused.server_nonsense", type(error).__name__, host=host)
    if isinstance(error, OSError | httpx.TransportError):  # also a response without its end, or without a beginning
        return Failure("no_connection.server_cut", host=host)
    return None


def _first_cause(error: BaseException) -> BaseException:
    """Return the exception that an exception was raised for; of several, the first attempt's."""
    inner: object
    if isinstance(error, BaseExceptionGroup):
        inner = error.exceptions[0]
    else:
        inner = error.__cause__ or next(iter(error.args), None)  # httpcore drops the cause, but has it as argument
    return _first_cause(inner) if isinstance(inner, BaseException) else error


def cut(url: str) -> Failure:
    """Return the Failure for an answer that ends before its end."""
    return Failure("no_connection.server_cut", host=host_of(url))


def nonsense(url: str, detail: str = "") -> Failure:
    return Failure("refused.server_nonsense", detail, host=host_of(url))


def status_failure(url: str, status: int, body: bytes, key: str, model: str = "", retry_after: str = "") -> Failure:
    """Return the Failure for a status that is no success; `model`: the one that was asked for, if one was."""
    host, reason = host_of(url), words_of(body, key)
    if status in (401, 403):
        return Failure("refused.server_key" if key else "refused.server_needs_key", host=host, status=status)
    if status == 404:
        if model:
            return Failure("not_found.server_model", reason, host=host, model=model)
        return Failure("not_found.server_api", host=host)
    if status == 429:
        return _busy(host, reason, retry_after)
    if status == 503 and "loading" in reason.casefold():
        return Failure("no_connection.server_loading", host=host)
    if status >= 500:
        return Failure("no_connection.server_problem", reason, host=host, status=status)
    if reason:
        return Failure("refused.server_request", host=host, status=status, reason=reason.rstrip("."))
    return Failure("refused.status", host=host, status=status)


def is_too_long(status: int, body: bytes) -> bool:
    """Return whether the server refused a chat because it is longer than its context, by its words or its code."""
    said = body.decode("utf-8", "replace").casefold()
    return status in (400, 413, 422, 500) and any(sign in said for sign in TOO_LONG)


def error_in_stream(url: str, error: Any, key: str) -> Failure:
    """Return the Failure for an error that a server sends in the middle of an answer."""
    reason = words_of(msgspec.json.encode({"error": error}), key)
    return Failure("no_connection.server_broke", reason, host=host_of(url))


def words_of(body: bytes, key: str) -> str:
    """Return the server's own words about an error, in one short line: OpenAI's form, FastAPI's, or plain text."""
    said = decoded(body)
    if said is None:
        said = body[:2000].decode("utf-8", "replace")
        if "<html" in said.casefold() or "<!doctype" in said.casefold():
            return ""
    for name in ("error", "message", "detail"):
        if isinstance(said, dict) and name in said:
            said = said[name]
    text = said if isinstance(said, str) else msgspec.json.encode(said).decode() if said else ""
    text = " ".join(printable(text).split())
    if key:
        text = text.replace(key, "…")
    return text if len(text) <= LONGEST_REASON else f"{text[: LONGEST_REASON - 1]}…"


def decoded(body: bytes) -> Any:
    """Return the value of a body of JSON; None for any other body."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def parameter_of(body: bytes) -> str:
    """Return the parameter that a refusal in OpenAI's form is about; '' if it names none."""
    refusal = decoded(body)
    error = refusal.get("error") if isinstance(refusal, dict) else None
    named = error.get("param") if isinstance(error, dict) else None
    return named if isinstance(named, str) else ""


def _busy(host: str, reason: str, retry_after: str) -> Failure:
    if re.fullmatch("[0-9]{1,5}", retry_after) and 0 < int(retry_after) < 86_400:
        return Failure("no_connection.server_busy_until", reason, host=host, n=int(retry_after))
    return Failure("no_connection.server_busy", reason, host=host)
