"""Every module that does something else on Windows has a test that runs it there (`make test-windows`)."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.windows_exceptions import exceptions, fits

ROOT = Path(__file__).parents[2]
BRANCH = re.compile(r'"win32"|os\.name|windll|WinDLL|CREATE_NO_WINDOW')
PACKAGE = "packaging/package_windows.py"  # `make package-windows` asks the packed programs
TESTS = {  # in tests/
    "app/collections/process.py": (
        "app/control/test_collections_controller.py::test_changes_are_indexed_and_deletions_forgotten"
    ),
    "app/services/running_program.py": (
        "app/control/test_quick_controller.py::test_a_second_start_with_ask_opens_the_quick_window"
    ),
    "engine/costs/disk_reads.py": (
        "engine/costs/test_disk_reads.py::test_the_file_is_read_for_the_time_that_was_given"
    ),
    "app/tools/mcp/found.py": ("app/tools/mcp/test_configuration.py::test_servers_of_other_programs_are_found_once"),
    "app/services/json_line_process.py": (
        "app/services/test_json_line_process.py::test_one_that_does_not_react_is_killed"
    ),
    "app/services/single_instance.py": (
        "app/services/test_single_instance.py::test_a_second_start_raises_the_first_window"
    ),
    "app/store/readers/places.py": "app/store/readers/test_sources.py::test_chats_are_found_where_programs_keep_them",
    "app/words.py": "app/test_languages.py::test_windows_says_what_it_speaks",
    "common/confinement/__init__.py": "common/test_confinement_windows.py",
    "common/confinement/windows.py": "common/test_confinement_windows.py",
    "common/engine_program.py": PACKAGE,
    "common/files.py": "common/test_files.py::test_paths_may_be_long_and_of_any_script",
    "common/paths.py": "common/test_paths.py::test_paths_on_drives_and_shares_come_back",
    "common/process_end.py": "common/test_process_end.py::test_real_ends_on_windows_are_named",
    "engine/client_process.py": "engine/api/test_app.py::test_a_streamed_chat_says_the_same_as_a_whole_one",
    "engine/api/server.py": "engine/api/test_app.py::test_an_address_that_is_taken_is_told_in_the_systems_words",
    "engine/commands/look.py": "engine/loading/test_first_look.py::test_a_file_is_looked_at_once",
    "engine/devices/driver.py": "engine/devices/test_driver.py::test_the_stamp_is_of_the_drivers_files",
    "engine/run_subprocess.py": "engine/loading/test_first_look.py::test_a_file_is_looked_at_once",
    "engine/runtime/graph/kv_layout.py": "engine/runtime/graph/test_kv_layout.py::test_more_than_there_is",
    "engine/machine.py": "engine/test_machine.py::test_a_processor_is_of_every_kind_before_its_own",
    "engine/runtime/ik/needs.py": (
        "engine/loading/test_library_choice.py::test_an_older_processor_may_lack_what_ik_needs"
    ),
    "engine/runtime/llama/library.py": "engine/runtime/test_llama.py::test_greedy_is_deterministic",
    "engine/serve/process.py": "engine/serve/test_process.py::test_the_window_goes_first_on_windows_too",
    "engine/tokenization/renderer.py": "engine/tokenization/test_renderer.py::test_stopping_ends_it",
    "models/locations.py": "models/test_collection.py::test_models_of_other_programs_are_found",
    "models/part_file.py": "models/test_download.py::test_a_file_arrives",
    "models/terminal.py": "models/test_commands.py::test_commands_end_quietly_when_their_reader_goes",
    "models/planner.py": "engine/commands/test_plans.py::test_the_planner_as_a_process",
}


def branching(path: Path) -> bool:
    return bool(BRANCH.search(path.read_text(encoding="utf-8")))


def test_the_table_lists_every_module_that_branches() -> None:
    modules = (path for folder in ("app", "common", "engine", "models") for path in (ROOT / folder).rglob("*.py"))
    found = {path.relative_to(ROOT).as_posix() for path in modules if branching(path)}
    assert found - TESTS.keys() == set(), "name in TESTS a test that runs the branch on Windows"


def test_their_tests_are_there_and_run_on_windows(subtests: pytest.Subtests) -> None:
    for module, test in TESTS.items():
        file, _, name = test.partition("::")
        path = ROOT / file if file == PACKAGE else ROOT / "tests" / file
        tree = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        with subtests.test(module=module):
            assert not name or name in {node.name for node in tree if isinstance(node, ast.FunctionDef)}
            assert not any(fits(f"tests/{test}", pattern) for pattern in exceptions())
