"""The forge's workflow names only targets, programs and files that there are, and stops a job that hangs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "package.yml").read_text(encoding="utf-8")
JOBS = dict(re.findall(r"^  (\w+):\n((?:    .*\n|\n)+)", WORKFLOW.partition("\njobs:\n")[2], re.M))


def test_all_three_systems_have_a_job():
    assert JOBS.keys() == {"linux", "windows", "macos"}


@pytest.mark.parametrize("job", JOBS)
def test_a_job_tests_packs_tries_and_keeps_the_package(job: str):
    text = JOBS[job]
    assert re.search(r"make test\b|-m pytest", text)
    assert re.search(r"make package\b|packaging/package\.py", text)
    assert "--self-test" in text
    assert 'chat --prompt "Say hello."' in text
    assert "upload-artifact" in text
    assert re.search(r"timeout-minutes: \d+", text)


def test_what_it_runs_is_there():
    targets = set(re.findall(r"^([\w-]+)(?: [\w-]+)*:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert set(re.findall(r"\bmake ([a-z][\w-]*)$", WORKFLOW, re.M)) <= targets
    for path in re.findall(r"packaging/[\w./-]+\.(?:py|sh)", WORKFLOW):
        assert (ROOT / path).exists()
