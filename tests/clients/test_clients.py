"""Other people's clients against the local API with the default model: slow, and only where they are installed.

`build/clients` is an environment of their own, made as tests/clients/requirements.txt says; those in JavaScript need
`cp tests/clients/package.json build/clients && npm install --prefix build/clients --no-package-lock` too.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("CHICKADEE_CLIENTS", ROOT / "build" / "clients")) / "bin" / "python"
CLIENTS = (
    "openai_chat", "openai_tools", "openai_schema", "openai_responses", "openai_responses_tools",
    "openai_responses_schema", "openai_agents", "openai_embeddings", "anthropic_messages",
    "litellm_completion", "litellm_responses", "litellm_echo", "instructor_model", "pydantic_ai_agent",
    "langchain_chat", "langchain_responses", "llm_prompt",
)  # fmt: skip
JAVASCRIPT = ("npm_openai", "npm_ai_sdk")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="tests/clients/requirements.txt is not installed in build/clients"),
]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Start the API and return its address."""
    command = [sys.executable, "-m", "engine", "api", "--port", "0", "--ctx", "2048"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT) as server:
        assert server.stdout
        line = server.stdout.readline()
        found = re.search(r"http://[0-9.:]+\d", line)
        assert found, line
        yield found[0]
        server.terminate()
        server.wait(30)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_what_its_users_expect(address: str, client: str) -> None:
    done = subprocess.run(
        [PYTHON, ROOT / "tests" / "clients" / "drive.py", address, "key", client],
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("client", JAVASCRIPT)
def test_a_client_in_javascript_too(address: str, client: str) -> None:
    folder, node = PYTHON.parents[1], shutil.which("node")
    if node is None or not (folder / "node_modules").exists():
        pytest.skip("tests/clients/package.json is not installed in build/clients")
    done = subprocess.run(
        [node, ROOT / "tests" / "clients" / "drive.mjs", address, "key", client],
        capture_output=True, text=True, timeout=250, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_request_of_the_openapi_file_breaks_the_server(address: str) -> None:
    """Schemathesis sends what the file allows and what it does not: no status of 500 or more, and no hang."""
    done = subprocess.run(
        [
            PYTHON.with_name("schemathesis"), "run", f"{address}/openapi.json", "--checks", "not_a_server_error",
            "--request-timeout", "60", "--phases", "coverage",
        ],
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
