"""Settings: written values come back, hand-written lines stay, wrong values are named."""

from __future__ import annotations

import os
import tomllib
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import words
from app.settings import settings_file
from app.settings.resolve import Options
from app.settings.schema import SECTIONS, SETTINGS, for_all, for_chat, for_model
from app.settings.settings import Settings
from app.settings.values import check, parse, shown
from app.state.engine_model import LoadOptions
from app.state.prompt import with_system
from common.failures import Failure
from engine.protocol.requests import Generate, Load, Lookup, Message, Sampling
from engine.protocol.settings import AUTO, Setting, Value

GIB = 1 << 30
DEFAULTS: dict[str, Value] = {setting.name: setting.default for setting in for_all()}
BY_HAND = """\
# My settings
unknown = 1  # of another version

[engine]  # slow machine
# one thread is for music
threads = 4  # of 8
colour = "blue"

[answer]
temperature = 0.5
"""


def said(settings: Settings) -> tuple[str, ...]:
    return tuple(map(str, settings.problems))


def valid(setting: Setting) -> st.SearchStrategy[Value]:
    """Return a strategy for all values that the setting allows."""
    low, high = int(setting.low), setting.high
    auto: st.SearchStrategy[Value] = st.just(AUTO) if setting.auto else st.nothing()
    if setting.kind == "choice":
        return st.sampled_from([value for value, _ in setting.choices])
    if setting.kind in ("text", "name"):
        return st.text(min_size=low, max_size=200)
    if setting.kind == "folder":
        return st.sampled_from(["", str(Path("models").absolute())])
    if setting.kind == "number":
        return st.floats(setting.low, high)
    return auto | st.integers(low, int(high))


changes = st.fixed_dictionaries({}, optional={setting.name: valid(setting) for setting in for_all()})
jsonish = st.recursive(
    st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=30) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
)


def written(path: Path, text: str) -> Settings:
    path.write_text(text, encoding="utf-8")
    return Settings(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.toml"


def test_without_a_file_everything_is_as_suggested(path: Path) -> None:
    settings = Settings(path)
    assert settings.values == DEFAULTS
    assert settings.problems == ()
    assert not any(map(settings.differs, settings.values))
    assert not path.exists()
    assert settings.options() == Options(Load(0, "", saved_chats_bytes=2 * 10**9))


def test_every_setting_has_a_section_a_name_and_a_sentence() -> None:
    assert {setting.section for setting in SETTINGS.values()} == set(SECTIONS)
    for setting in (*SETTINGS.values(), *for_model(), *for_chat()):
        assert setting.title
        assert setting.help.endswith(".")
        assert check(setting, setting.default) == setting.default
    keys = [setting.key for setting in for_model()]
    assert len(set(keys)) == len(keys)  # in the section of a model they stand without theirs


def test_a_chats_own_values_reach_every_answer() -> None:
    """The values of a chat's own reach every answer, but never the request that loads the model for all chats."""
    assert all(setting.fills.split(".")[0] in ("generate", "system_prompt") for setting in for_chat())


@given(values=changes)
def test_what_is_stored_comes_back(tmp_path_factory: pytest.TempPathFactory, values: dict[str, Value]) -> None:
    path = tmp_path_factory.mktemp("settings") / "settings.toml"
    settings = written(path, BY_HAND)
    settings.change(values)
    again = Settings(path)
    assert again.problems == settings.problems == ()
    assert (
        again.values
        == settings.values
        == DEFAULTS
        | {
            "engine.threads": 4,
            "answer.temperature": 0.5,
        }
        | values
    )
    again.options()  # the engine takes all of them
    text = path.read_text(encoding="utf-8")
    for line in ("# My settings", "unknown = 1  # of another version", "[engine]  # slow machine", 'colour = "blue"'):
        assert text.count(line) == 1
    assert text.index("[engine]") < text.index("# one thread") < text.index("threads") < text.index("[answer]")
    assert text.index("# of 8") > text.index("threads = ")
    again.reset(values)
    assert Settings(path).values == DEFAULTS | {
        name: value for name, value in (("engine.threads", 4), ("answer.temperature", 0.5)) if name not in values
    }


def test_nothing_else_of_the_file_changes(path: Path) -> None:
    settings = written(path, BY_HAND)
    settings.change({"engine.threads": 2})
    assert path.read_text() == BY_HAND.replace("threads = 4", "threads = 2")
    settings.change({"engine.threads": 4})
    assert path.read_text() == BY_HAND


def test_a_reset_keeps_the_comments(path: Path) -> None:
    settings = written(path, BY_HAND)
    assert [name for name in settings.values if settings.differs(name)] == ["answer.temperature", "engine.threads"]
    settings.reset()
    assert not any(map(settings.differs, settings.values))
    text = path.read_text()
    assert tomllib.loads(text) == {"unknown": 1, "engine": {"colour": "blue"}, "answer": {}}
    assert text.index("[engine]") < text.index("# of 8") < text.index("[answer]")


@pytest.mark.parametrize(
    "text",
    [
        "engine.threads = 4",
        "engine = {threads = 4}",
        "[engine]\nthreads = 4",
        "\ufeff[engine]\r\nthreads = 4\r\n",
        "[engine.more]\nx = 1\n[engine]\nthreads = 4\n",
        "[engine]\nthreads = 4\n[other]\nx = 1\n[engine.more]\nx = 1\n",
    ],
)
def test_all_ways_to_write_a_section_are_read_and_changed(path: Path, text: str) -> None:
    path.write_bytes(text.encode())
    settings = Settings(path)
    assert (settings.values["engine.threads"], settings.problems) == (4, ())
    settings.change({"engine.threads": 3, "engine.context": 5000, "answer.top_k": 7})
    before, after = tomllib.loads(text.removeprefix("\ufeff")), tomllib.loads(path.read_text("utf-8"))
    before["engine"] |= {"threads": 3, "context": 5000}
    assert after == before | {"answer": {"top_k": 7}}
    settings.reset(["engine.threads", "engine.context"])
    assert not settings.differs("engine.threads")
    assert not settings.differs("engine.context")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('threads = "many"', "engine.threads is “many”; it must be auto or a whole number from 1 to 512"),
        ("threads = 0", "engine.threads is 0; it must be auto or a whole number from 1 to 512"),
        ("threads = true", "engine.threads is true; it must be auto or a whole number from 1 to 512"),
        ("threads = 2.0", "engine.threads is 2.0; it must be auto or a whole number from 1 to 512"),
        ("threads = [4]", "engine.threads is a list; it must be auto or a whole number from 1 to 512"),
        ('kv_type = "f32"', "engine.kv_type is “f32”; it must be auto, f16, q8_0 or q4_0"),
        (
            'draft = "on"',
            "engine.draft is “on”; it must be auto, off, history, history-published, phrases, mtp, model, "
            "model-published, midlayer or midlayer-published",
        ),
        ('memory = "4 sheep"', "engine.memory is “4 sheep”; it must be auto or a size like 4GB, from 128MB to 1TB"),
        ("memory = 1", "engine.memory is 1; it must be auto or a size like 4GB, from 128MB to 1TB"),
        ("[answer]\ntemperature = nan", "answer.temperature is nan; it must be a number from 0 to 10"),
        ("[answer]\ntop_p = 0", "answer.top_p is 0; it must be a number from 0.01 to 1"),
        ("[answer]\nsystem_prompt = 5", "answer.system_prompt is 5; it must be a text of at most 20,000 characters"),
    ],
)
def test_a_wrong_value_is_named_and_the_default_used(path: Path, line: str, sentence: str) -> None:
    text = f"# mine\n[engine]\n{line}\n"
    settings = written(path, text)
    assert said(settings) == (f"In settings.toml, {sentence}. The default is used.",)
    assert settings.values == DEFAULTS
    assert path.read_text() == text
    settings.change({"answer.min_p": 0.1})
    assert line.rsplit("\n", 1)[-1] in path.read_text()
    wrong = sentence.split(" ", 1)[0]
    assert settings.differs(wrong)
    settings.reset([wrong])
    assert Settings(path).problems == ()


@given(st.fixed_dictionaries({}, optional={setting.key: jsonish for setting in for_all()}), st.booleans())
def test_no_file_is_too_bad(tmp_path_factory: pytest.TempPathFactory, table: dict[str, object], spread: bool) -> None:
    import tomlkit

    path = tmp_path_factory.mktemp("settings") / "settings.toml"
    document = dict.fromkeys(SECTIONS, table) if spread else table | {"engine": 5}
    settings = written(path, tomlkit.dumps(document))
    settings.options()
    settings.change({"engine.threads": 3})
    assert Settings(path).values["engine.threads"] == 3


def test_a_section_that_is_none(path: Path) -> None:
    settings = written(path, "engine = 5\n")
    assert said(settings) == ("In settings.toml, engine must be a section, [engine]. Its defaults are used.",)


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        (b"# mine\n[engine]\nthreads = = 4\n", "line 3"),
        (b"[engine]\nthreads = 1\nthreads = 2\n", "line 3"),
        (b"[a]\nb = 1\nb.c = 2\n", "line 3"),
        (b"just words\n", "line 1"),
        (b"# gr\xfc\xdfe\n", "line 1"),
        (b"a = 1\nb = '\xff'\n", "line 2"),
        (b"a = " + b"[" * 5000, ""),
    ],
)
def test_a_file_that_is_no_toml_is_set_aside_and_never_lost(path: Path, raw: bytes, where: str) -> None:
    path.write_bytes(raw)
    settings = Settings(path)
    (problem,) = said(settings)
    assert problem.startswith("settings.toml is not valid TOML: ")
    assert problem.endswith("The defaults are used.")
    assert where in problem
    assert path.read_bytes() == raw
    aside = path.with_name(f"settings-{date.today().isoformat()}.toml")
    sentence = settings.change({"engine.threads": 2})
    assert words.current_text(sentence) == f"The old settings.toml was not valid TOML and was kept as {aside.name}."
    assert aside.read_bytes() == raw
    assert (settings.values["engine.threads"], settings.problems) == (2, ())
    path.write_bytes(raw)
    settings.change({"engine.threads": 2})
    assert aside.with_stem(aside.stem + "-2").read_bytes() == raw
    assert len(list(path.parent.iterdir())) == 3


def test_changes_by_hand_are_taken_over_and_not_overwritten(path: Path) -> None:
    settings = Settings(path)
    heard: list[int] = []
    settings.changed.connect(lambda: heard.append(1))
    settings.refresh()
    assert not heard
    path.write_text("[engine]\nthreads = 3 # now\n")
    settings.change({"engine.context": 2048})
    assert heard
    assert settings.values["engine.threads"] == 3
    assert path.read_text() == "[engine]\nthreads = 3 # now\ncontext = 2048\n"


def test_a_value_that_is_not_allowed_is_not_stored(path: Path) -> None:
    with pytest.raises(ValueError, match="from 1 to 512"):
        Settings(path).change({"engine.threads": 1000})
    assert not path.exists()


def test_the_file_can_be_made(path: Path) -> None:
    settings = Settings(path)
    settings.make_file()
    text = path.read_text()
    assert all(line.startswith("#") for line in text.splitlines() if line)
    settings.change({"engine.threads": 1})
    assert path.read_text() == text + "[engine]\nthreads = 1\n"


@pytest.mark.skipif(os.name != "posix", reason="permissions and links are POSIX's")
def test_the_file_is_private_and_a_link_stays_one(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "chickadee.toml"
    real.parent.mkdir()
    path.symlink_to(real)
    Settings(path).change({"engine.threads": 1})
    assert path.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600


def test_a_disk_that_takes_nothing_is_told_and_nothing_is_lost(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = written(path, BY_HAND)

    def full(_path: Path, _content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(settings_file, "write_atomically", full)
    with pytest.raises(Failure, match="No space left"):
        settings.change({"engine.threads": 1})
    assert settings.values["engine.threads"] == 4
    assert path.read_text() == BY_HAND


def test_a_file_that_cannot_be_read_is_told_and_left_alone(path: Path) -> None:
    path.mkdir()
    settings = Settings(path)
    assert said(settings)[0].startswith("settings.toml cannot be read: ")
    with pytest.raises(Failure, match="cannot be saved"):
        settings.change({"engine.threads": 1})


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("engine.threads", "", AUTO), ("engine.threads", " Auto ", AUTO), ("engine.context", "16,384", 16384),
        ("engine.memory", "3 gib", 3 * GIB), ("cache.saved_chats", "0", 0), ("cache.saved_chats", "500MB", 500_000_000),
        ("answer.temperature", "0,7", 0.7), ("answer.temperature", "1", 1.0), ("engine.draft", "off", "off"),
        ("answer.system_prompt", " Be kind.\n", " Be kind.\n"), ("answer.system_prompt", "\ud83d", "?"),
    ],
)  # fmt: skip
def test_typed_values_are_understood(name: str, text: str, value: Value) -> None:
    assert parse(SETTINGS[name], text) == value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("engine.threads", "x"), ("engine.threads", "1.5"), ("answer.top_k", ""), ("answer.top_p", "2"),
        ("answer.temperature", "nan"), ("engine.memory", "-1"), ("cache.saved_chats", "auto"), ("engine.draft", "on"),
    ],
)  # fmt: skip
def test_what_is_typed_wrongly_is_refused(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"^{name} is .*; it must be "):
        parse(SETTINGS[name], text)


@given(st.sampled_from(for_all()).flatmap(lambda setting: st.tuples(st.just(setting), valid(setting))))
def test_what_is_shown_is_read_as_the_same(case: tuple[Setting, Value]) -> None:
    setting, value = case
    assert parse(setting, shown(setting, value)) == (pytest.approx(value) if isinstance(value, float) else value)


def test_the_engine_is_told_all_of_it(path: Path) -> None:
    settings = written(
        path,
        '[engine]\ncontext = 2048\nthreads = 3\nmemory = "4GiB"\nkv_type = "q8_0"\n'
        'kv_policy = "always"\ndraft = "history-published"\nbackend = "ik"\nflash_attention = "on"\n'
        'lookup_match = 2\nlookup_m = 16\nlookup_n = 8\nlookup_select = "random"\n'
        "exit_layers = 20\n"
        "[cache]\nsaved_chats = 0\n"
        '[answer]\nsystem_prompt = " Be kind. "\ntemperature = 0\ntop_k = 1\ntop_p = 0.5\nmin_p = 0.2\n'
        "repeat_penalty = 1\nmax_tokens = 99\nseed = 7\n",
    )
    assert settings.problems == ()
    options = settings.options()
    assert options.load == Load(0, "", 2048, 3, 4 * GIB, "q8_0", 0, backend="ik", flash_attention="on")
    sampling = Sampling(0.0, 1, 0.5, 0.2, 1.0, seed=7)
    lookup = Lookup(2, 8, 8, "random")  # of 16 places as many as a pass has room for
    answer = Generate(0, (), sampling, 99, kv_policy="always", draft="history-published", lookup=lookup, exit_layers=20)
    assert options.generate == answer
    assert options.system_prompt == "Be kind."
    assert Settings(path, {"answer.max_tokens": 5}).options().generate.max_tokens == 5


def test_instructions_go_before_the_chat() -> None:
    chat = (Message("user", "hello"),)
    assert with_system("", chat) == chat
    assert with_system("Be kind.", chat) == (Message("system", "Be kind."), *chat)


def test_what_was_chosen_for_a_chat_goes_above_the_settings_until_they_change() -> None:
    loading = LoadOptions(Load(0, "", n_ctx=2048, kv_type="f16"))
    outdated = [loading.outdated]
    loading.choose(n_ctx=8192, kv_type=None)
    assert loading.request(Path("m")) == Load(0, "m", n_ctx=8192, kv_type="f16")
    loading.use_options(Load(0, "", n_ctx=2048, kv_type="f16", threads=2))
    outdated.append(loading.outdated)
    assert loading.request(Path("m")).n_ctx == 8192
    outdated.append(loading.outdated)
    assert outdated == [False, True, False]
    loading.use_options(Load(0, "", n_ctx=1024, kv_type="f16", threads=2))
    assert loading.request(Path("m")).n_ctx == 1024


def test_a_choice_that_failed_is_given_up_and_nothing_is_loaded_again() -> None:
    loading = LoadOptions(Load(0, ""))
    loading.choose(n_ctx=8192, kv_type="q8_0")
    loading.request(Path("m"))
    loading.drop_choice()
    assert not loading.outdated
    assert loading.request(Path("m")) == Load(0, "m")
