"""Names of licences, as people read them: model files and hubs contain short ones."""

from __future__ import annotations

LICENCES = {
    "apache-2.0": "Apache License 2.0", "mit": "MIT License", "bsd-3-clause": "BSD 3-Clause License",
    "gemma": "Gemma Terms of Use", "llama2": "Llama 2 Community License", "llama3": "Llama 3 Community License",
    "llama3.1": "Llama 3.1 Community License", "llama3.2": "Llama 3.2 Community License",
    "llama3.3": "Llama 3.3 Community License", "cc-by-4.0": "CC BY 4.0", "cc-by-nc-4.0": "CC BY-NC 4.0",
    "cc-by-sa-4.0": "CC BY-SA 4.0", "gpl-3.0": "GNU GPL 3.0", "openrail": "OpenRAIL", "other": "",
}  # fmt: skip


def licence_name(short: str) -> str:
    """Return the proper name of a licence; "" if the file only says that it is another one."""
    return LICENCES.get(short.casefold(), short)
