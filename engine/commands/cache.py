"""`python -m engine cache list|clear`: the chats saved for fast opening."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from common.folders import cache_folder
from engine.kv.saved import SavedChats


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = commands.add_parser("cache", help="list or delete the chats saved for fast opening")
    parser.add_argument("action", choices=["list", "clear"])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    saved = SavedChats(cache_folder() / "chats")
    if options.action == "clear":
        freed = saved.clear()
        print(json.dumps({"freed_bytes": freed}) if options.json else f"{freed / 2**20:,.0f} MiB freed")
        return 0
    rows: list[dict[str, Any]] = [
        {
            "file": path.stem,
            "tokens": len(record.tokens),
            "bytes": record.kv_bytes,
            "saved_seconds": record.saved_seconds,
            "saved_at": time.strftime("%Y-%m-%d %H:%M", time.localtime(record.saved_at)),
        }
        for path, record in saved.records()
    ]
    if options.json:
        print(json.dumps({"quota_bytes": saved.quota, "chats": rows}))
        return 0
    for row in rows:
        print("{saved_at}  {tokens:7,} tokens  {bytes:13,} bytes  saves {saved_seconds:6.1f} s  {file}".format(**row))
    print(f"{len(rows)} chats, {saved.used_bytes / 2**20:,.0f} of {saved.quota / 2**20:,.0f} MiB")
    return 0
