"""The memory plan: its search on invented sizes, and sizes and refusal on the real default model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.engine_process import EngineProcess
from benchmarks.memory import peak_bytes
from benchmarks.tiny_models import write_tiny_model
from benchmarks.tiny_shapes import SHAPES
from benchmarks.trials import pretend_fast_disk
from common.byte_sizes import parse_bytes, show_bytes
from common.failures import Failure
from common.files import TEMPORARY
from common.planning import KEPT_CHATS, KVType
from common.sentences import Sentence
from engine.engine import Engine
from engine.kv.chat_cache import COPIED_CHECKPOINTS
from engine.loading.memory_search import (
    COMFORTABLE,
    MOST_BY_DEFAULT,
    DraftFile,
    make_plan,
    with_kept_chats,
    with_projector,
)
from engine.loading.options import LoadOptions
from engine.loading.resolve import resolve
from engine.loading.sizes import MemoryBudget, memory_budget
from engine.protocol.events import Loaded
from engine.protocol.requests import Generate, Load, Message
from engine.runtime.contexts import ContextOptions, ContextSizes, OwnLayersSizes, WeightSizes
from engine.runtime.interface import UNLIMITED, prefill
from engine.runtime.llama.library import log
from engine.runtime.llama.runtime import Context, DryModel, LlamaRuntime, Model, context_graphs_bytes, parse_sizes
from engine.stop import StopFlag
from models.default import default_model
from models.projector import Projector

MIB, GIB = 1 << 20, 1 << 30
COMPUTE_LINE = "sched_reserve:        CPU compute buffer size =     1.00 MiB"
NODES_LINE = "sched_reserve: max_nodes = 1024"
KV_BYTES: dict[KVType, float] = {"f16": 2, "q8_0": 17 / 16, "q4_0": 9 / 16}
WEIGHTS = WeightSizes(1060 * MIB, 597 * MIB, 463 * MIB)


@dataclass(frozen=True)
class FakeSizes:
    """Sizes like those of the benchmarks' 1.5B model; `quantises`: whether its heads divide into q8_0's blocks."""

    weights: WeightSizes = WEIGHTS
    n_ctx_train: int = 32768
    n_vocab: int = 151_936
    cell: int = 14_336
    quantises: bool = True
    own: OwnLayersSizes | None = None

    def context(
        self, n_ctx: int, kv_type: KVType, n_batch: int, max_logits: int = 64, rollback: int = 0
    ) -> ContextSizes | None:
        if kv_type != "f16" and not self.quantises:
            return None
        compute = 30 * MIB + n_batch * (60_000 + n_ctx * 2)
        return ContextSizes(int(n_ctx * self.cell * KV_BYTES[kv_type]), compute, self.n_vocab * 4)

    def own_layers(self, n_ctx: int, kv_type: KVType, n_batch: int) -> OwnLayersSizes | None:
        return self.own


SIZES = FakeSizes()


def wishes(
    n_ctx: int | None = None, kv_type: KVType | None = None, threads: int = 2, *, api: bool = False
) -> LoadOptions:
    return LoadOptions(Path("m.gguf"), n_ctx=n_ctx, kv_type=kv_type, threads=threads, api=api)


OPTIONS = wishes()


def usable(size: int) -> MemoryBudget:
    return MemoryBudget(size, 512 * MIB)


def spread(low: int, high: int) -> st.SearchStrategy[int]:
    """Return evenly spread sizes; hypothesis' integers are mostly small, so that hardly a model would fit."""
    step = (high - low) // 500
    return st.builds(int.__add__, st.sampled_from(range(low, high, step)), st.integers(0, step))


@st.composite
def sizes(draw) -> FakeSizes:
    file = draw(spread(50 * MIB, 8 * GIB))
    repacked = draw(st.sampled_from([0, file // 10, file // 2, file]))
    trained = draw(st.sampled_from([0, 100, 2048, 5000, 8192, 131_072]))
    return FakeSizes(
        WeightSizes(file, repacked, file - repacked),
        trained,
        draw(st.integers(1000, 300_000)),
        draw(st.integers(100, 100_000)),
        draw(st.booleans()),
    )


plan_options = st.builds(
    wishes,
    n_ctx=st.none() | st.integers(64, 200_000),
    kv_type=st.sampled_from([None, "f16"]),
    api=st.booleans(),
)
memories = spread(0, 24 * GIB)
drafts = st.none() | st.builds(DraftFile, st.just("d.gguf"), sizes())


@given(sizes(), plan_options, memories, drafts)
def test_a_plan_is_consistent_and_within_its_budget(sizes, options, memory, draft):
    plan = make_plan("m.gguf", sizes, usable(memory), options, draft)
    trained = sizes.n_ctx_train or 4096
    assert plan.total_bytes == sum(plan.parts.values())
    assert (plan.total_bytes <= plan.available_bytes == memory) == (plan.verdict in ("fits", "tight"))
    assert 0 < plan.n_ctx <= trained
    assert 0 <= plan.max_n_ctx <= trained
    assert options.kv_type in (None, plan.kv_type)
    assert options.n_ctx is None or plan.n_ctx == min(options.n_ctx, trained)
    assert ("draft_kv" in plan.parts) == bool(plan.draft_kv_type) <= bool(draft)
    assert plan.mmap or plan.repack
    if plan.verdict == "disk":
        assert (plan.mmap, plan.repack, plan.draft_kv_type) == (True, False, None)
        assert plan.page_cache_bytes == memory - (plan.total_bytes - plan.parts["weights_mapped"]) >= 0
    assert ("api" in plan.parts) == ("grammars" in plan.parts) == options.api
    assert all(str(reason).endswith(".") for reason in plan.reasons)
    assert all(note in plan.reasons for note in plan.notes)
    if plan.verdict == "fits":
        assert (plan.kv_type, plan.n_batch, plan.mmap) == ("f16", 512, True)
        assert plan.repack == bool(sizes.weights.repacked)


@given(sizes(), plan_options, memories, st.integers(0, 4 * GIB), drafts)
def test_more_memory_never_gives_a_worse_plan(sizes, options, memory, more, draft):
    first = make_plan("m.gguf", sizes, usable(memory), options, draft)
    second = make_plan("m.gguf", sizes, usable(memory + more), options, draft)
    order = ["fits", "tight", "disk", "no"]
    assert bool(second.draft_kv_type) >= bool(first.draft_kv_type)
    if bool(first.draft_kv_type) != bool(second.draft_kv_type):
        return  # what the draft model takes is not there for the other
    assert order.index(second.verdict) <= order.index(first.verdict)
    assert second.max_n_ctx >= first.max_n_ctx
    if first.verdict == second.verdict == "tight":
        assert (second.kv_type, -second.n_batch, not second.mmap) <= (first.kv_type, -first.n_batch, not first.mmap)


@given(sizes(), memories)
def test_the_largest_context_fits_when_it_is_asked_for(sizes, memory):
    largest = make_plan("m.gguf", sizes, usable(memory), OPTIONS).max_n_ctx
    if largest >= 64:
        plan = make_plan("m.gguf", sizes, usable(memory), wishes(n_ctx=largest))
        assert plan.verdict != "no"
        assert plan.n_ctx == largest


def test_memory_is_given_up_in_the_order_of_what_it_costs():
    """The order: mapped and repacked, read once, small batches, q8_0, less context, weights on the disk, refusal."""
    plans = [make_plan("m.gguf", SIZES, usable(size), OPTIONS) for size in range(4 * GIB, GIB // 8, -4 * MIB)]
    seen = []
    for plan in plans:
        way = (plan.verdict, plan.mmap, plan.n_batch, plan.kv_type, plan.n_ctx < 4096)
        if way not in seen:
            seen.append(way)
    assert seen == [
        ("fits", True, 512, "f16", False),
        ("tight", False, 512, "f16", False),
        ("tight", False, 128, "f16", False),
        ("tight", False, 512, "q8_0", False),
        ("tight", False, 128, "q8_0", False),
        *[way for way in seen if way[0] == "tight" and way[4]],
        ("disk", True, 512, "f16", False),
        ("disk", True, 128, "f16", False),
        ("disk", True, 512, "q8_0", False),
        ("disk", True, 128, "q8_0", False),
        ("no", False, 128, "q8_0", True),
    ]
    for plan in plans:
        if plan.verdict in ("fits", "tight"):
            losses = {
                "plan.read_once": not plan.mmap, "plan.not_repacked": not plan.repack,
                "plan.q8_0": plan.kv_type != "f16", "plan.small_batch": plan.n_batch < 512,
                "plan.short_context": plan.n_ctx < COMFORTABLE, "plan.held_twice": plan.mmap and plan.repack,
            }  # fmt: skip
            said = {reason.id for reason in plan.reasons}
            assert {id for id in losses if losses[id]} == said & losses.keys()
    assert plans[0].n_ctx == MOST_BY_DEFAULT
    assert {plan.n_ctx for plan in plans} >= {32768, 16384, 8192, 4096, 2048, 1024, 512}


def test_weights_stay_on_the_disk_only_if_nothing_else_is_possible():
    def verdict(size: int, options: LoadOptions = OPTIONS, **changes: Any) -> str:
        return make_plan("m.gguf", replace(SIZES, weights=replace(WEIGHTS, **changes)), usable(size), options).verdict

    plan = make_plan("m.gguf", SIZES, usable(600 * MIB), OPTIONS)
    assert plan.verdict == "disk"
    assert (plan.n_ctx, plan.max_n_ctx) == (COMFORTABLE, 0)
    assert "read from there again and again" in str(plan.notes[0])
    assert make_plan("m.gguf", SIZES, MemoryBudget(600 * MIB, 0, GIB), OPTIONS).verdict == "no"  # the user's limit
    assert verdict(600 * MIB, in_place=True) == "no"  # a library that cannot leave weights in the file
    assert verdict(600 * MIB, mappable=False) == "no"
    assert verdict(1400 * MIB, wishes(n_ctx=32768)) == "no"  # a shorter context fits
    with_draft = make_plan("m.gguf", SIZES, usable(600 * MIB), OPTIONS, DraftFile("d.gguf", SMALL))
    assert (with_draft.verdict, with_draft.draft_kv_type) == ("disk", None)


def test_a_mixture_is_never_in_memory_twice():
    mixture = replace(SIZES, weights=replace(WEIGHTS, repacked=1000 * MIB, plain=60 * MIB, mixture=True))
    ways = []
    for size in range(4 * GIB, GIB, -4 * MIB):
        plan = make_plan("m.gguf", mixture, usable(size), OPTIONS)
        weights = sum(
            plan.parts[part] for part in ("weights_mapped", "weights_read", "weights_repacked") if part in plan.parts
        )
        assert weights <= WEIGHTS.file
        ways.append((plan.repack, plan.mmap))
    assert ways[0] == (True, False)


def test_a_refusal_says_what_is_missing_and_what_would_fit():
    plan = make_plan("m.gguf", SIZES, usable(1400 * MIB), wishes(n_ctx=32768))
    assert plan.verdict == "no"
    text = " ".join(map(str, plan.reasons))
    assert "m.gguf needs" in text
    assert show_bytes(plan.total_bytes - plan.available_bytes) + " too much" in text
    assert f"up to {plan.max_n_ctx:,} tokens would fit (KV cache q8_0)" in text
    assert 0 < plan.max_n_ctx < 32768
    nothing = make_plan("m.gguf", SIZES, usable(50 * MIB), OPTIONS)
    assert nothing.max_n_ctx == 0
    assert "Choose a smaller model" in str(nothing.reasons[-1])


def test_a_refused_f16_cache_hints_at_q8_0():
    options = wishes(n_ctx=32768, kv_type="f16")
    memory = make_plan("m.gguf", SIZES, usable(0), wishes(n_ctx=32768, kv_type="q8_0")).total_bytes
    plan = make_plan("m.gguf", SIZES, usable(memory), options)
    assert plan.verdict == "no"
    assert str(plan.reasons[-1]) == "It would fit with the KV cache stored as q8_0."


def test_q4_0_only_if_asked_for():
    assert make_plan("m.gguf", SIZES, usable(2 * GIB), wishes(kv_type="q4_0")).kv_type == "q4_0"
    with pytest.raises(Failure, match="cannot store its KV cache as q4_0"):
        make_plan("m.gguf", FakeSizes(quantises=False), usable(0), wishes(kv_type="q4_0"))


def test_context_beyond_the_trained_one_is_cut_and_said():
    plan = make_plan("m.gguf", SIZES, usable(8 * GIB), wishes(n_ctx=10**9))
    assert plan.n_ctx == 32768
    assert "trained for 32,768 tokens" in str(plan.notes[0])


SMALL = FakeSizes(WeightSizes(463 * MIB, 28 * MIB, 435 * MIB), cell=6144)


def test_the_models_own_layers_are_listed_and_given_up_before_exact_keys_and_values():
    own = OwnLayersSizes(WeightSizes(60 * MIB, 30 * MIB, 30 * MIB), 40 * MIB)
    sizes = FakeSizes(own=own)
    plan = make_plan("m.gguf", sizes, usable(8 * GIB), OPTIONS)
    assert plan.own_layers
    assert (plan.parts["own_layers"], plan.parts["own_layers_cache"]) == (90 * MIB, 40 * MIB)
    assert "The model brings layers that draft its next tokens; they are loaded with it." in map(str, plan.reasons)
    without = make_plan("m.gguf", SIZES, usable(8 * GIB), OPTIONS)
    assert plan.total_bytes == without.total_bytes + 130 * MIB
    options = wishes(4096, "f16")
    smallest = make_plan("m.gguf", sizes, usable(0), options).total_bytes
    tight = make_plan("m.gguf", sizes, usable(smallest + 50 * MIB), options)
    assert (tight.own_layers, tight.kv_type, tight.verdict) == (False, "f16", "tight")
    assert "To save memory, the layers that the model brings to draft its next tokens are left out." in map(
        str, tight.notes
    )
    assert "own_layers" not in tight.parts


def test_the_draft_model_is_listed_and_its_cache_grows_with_the_context():
    alone = make_plan("m.gguf", SIZES, usable(8 * GIB), OPTIONS)
    for n_ctx in (4096, 8192):
        plan = make_plan("m.gguf", SIZES, usable(8 * GIB), wishes(n_ctx=n_ctx), DraftFile("d.gguf", SMALL))
        assert plan.parts["draft_kv"] == n_ctx * 2 * 6144
        assert plan.parts["draft_weights_mapped"] + plan.parts["draft_weights_repacked"] == 491 * MIB
        assert set(plan.parts) - set(alone.parts) == {name for name in plan.parts if name.startswith("draft_")}
        assert "m.gguf with d.gguf needs up to" in str(plan.reasons[0])
    short = make_plan("m.gguf", SIZES, usable(8 * GIB), OPTIONS, DraftFile("d.gguf", replace(SMALL, n_ctx_train=2048)))
    assert (short.n_ctx, short.parts["draft_kv"]) == (32768, 2048 * 2 * 6144)


def test_a_draft_model_that_does_not_fit_beside_the_model_is_left_out_with_a_sentence():
    draft = DraftFile("d.gguf", SMALL)
    for size in range(4 * GIB, GIB, -16 * MIB):
        plan, alone = (make_plan("m.gguf", SIZES, usable(size), OPTIONS, d) for d in (draft, None))
        if plan.draft_kv_type:
            assert plan.n_ctx >= COMFORTABLE
        elif alone.verdict == "no":
            assert plan == alone
        else:
            assert plan.parts == alone.parts
            assert plan.reasons[-1] == plan.notes[-1]
            assert "draft model d.gguf was not loaded" in str(plan.notes[-1])
            needed = parse_bytes(str(plan.notes[-1]).split("with it, ")[1].split(" would")[0])
            assert size < 1.005 * needed
            assert make_plan("m.gguf", SIZES, usable(int(1.005 * needed)), OPTIONS, draft).draft_kv_type


def test_a_draft_model_stores_keys_and_values_as_the_model_does_where_it_can():
    options = wishes(kv_type="q8_0")
    for quantises, expected in ((True, "q8_0"), (False, "f16")):
        draft = DraftFile("d.gguf", replace(SMALL, quantises=quantises))
        assert make_plan("m.gguf", SIZES, usable(8 * GIB), options, draft).draft_kv_type == expected


def test_a_draft_model_that_is_no_smaller_is_loaded_with_a_warning():
    plan = make_plan("d.gguf", SMALL, usable(8 * GIB), OPTIONS, DraftFile("m.gguf", SIZES))
    assert plan.draft_kv_type
    assert "unlikely to make answers faster" in str(plan.notes[-1])


def test_a_projector_is_listed_where_it_fits_and_else_noted():
    projector = Projector(Path("p.gguf"), "mlp", 768, 336, 14, 1, 24, 2048, 600 * MIB)
    plan = make_plan("m.gguf", SIZES, usable(8 * GIB), OPTIONS)
    seeing = with_projector(plan, projector)
    assert seeing.parts == plan.parts | {"projector": 600 * MIB, "projector_compute": projector.compute_bytes}
    assert seeing.total_bytes == plan.total_bytes + projector.memory_bytes == sum(seeing.parts.values())
    tokens = projector.tokens_of(1024, 768)
    assert seeing.reasons[:-1] == plan.reasons
    assert seeing.reasons[-1] == Sentence.of("plan.projector", size=projector.memory_bytes, tokens=tokens)
    for missing in (0, 1):
        room = plan.total_bytes + projector.memory_bytes - missing
        close = with_projector(replace(plan, available_bytes=room), projector)
        assert close.notes == ((Sentence.of("plan.projector_no_room", size=1),) if missing else ())
        assert ("projector" in close.parts) == (not missing)
    refused = replace(plan, verdict="no")
    assert with_projector(refused, projector) is refused


def test_chats_are_kept_in_half_of_the_room_that_is_left():
    plan = make_plan("m.gguf", SIZES, usable(8 * GIB), wishes(4096))
    plan = replace(plan, parts=plan.parts | {"kv_compressed": 10 * MIB, "checkpoints": 50 * MIB}, checkpoints=10)
    whole = plan.parts["kv"] + 10 * MIB + COPIED_CHECKPOINTS * 5 * MIB
    for room, kept in ((20 * whole, 4 * whole), (6 * whole, 3 * whole), (whole, whole // 2), (whole - 2, 0)):
        keeping = with_kept_chats(replace(plan, available_bytes=plan.total_bytes + room))
        assert keeping.parts.get(KEPT_CHATS, 0) == keeping.total_bytes - plan.total_bytes == kept
        assert keeping.reasons[len(plan.reasons) :] == ((Sentence.of("plan.kept_chats", size=kept),) if kept else ())
    large = replace(plan, parts=plan.parts | {"kv": GIB}, available_bytes=plan.total_bytes + 8 * GIB)
    assert with_kept_chats(large).parts[KEPT_CHATS] == GIB
    assert with_kept_chats(replace(large, verdict="disk")).reasons == plan.reasons


def test_budget_leaves_a_reserve():
    assert memory_budget(8 * GIB, 5 * GIB).usable == 5 * GIB - int(0.1 * 8 * GIB)
    assert memory_budget(4 * GIB, 3 * GIB).usable == 3 * GIB - 512 * MIB
    assert memory_budget(GIB, GIB // 2).usable == GIB // 4
    assert memory_budget(8 * GIB, 100).usable == 0
    assert memory_budget(8 * GIB, 5 * GIB, freed_bytes=GIB).usable - memory_budget(8 * GIB, 5 * GIB).usable == GIB
    assert memory_budget(8 * GIB, 5 * GIB, limit=2 * GIB).usable == int(2 * GIB * 0.95)
    assert memory_budget(8 * GIB, 2 * GIB, limit=4 * GIB).usable == memory_budget(8 * GIB, 2 * GIB).usable


# --- the real default model ---


@pytest.fixture(scope="module")
def dry():
    with DryModel(default_model()) as model:
        yield model


@pytest.fixture(scope="module")
def real():
    with log.lines() as lines:
        model = Model(default_model())
    yield model, lines
    model.close()


@pytest.mark.parametrize(
    "options",
    [
        ContextOptions(1024, 2),
        ContextOptions(700, 2, n_batch=128, kv_type="q8_0"),
        ContextOptions(1024, 2, max_logits=1),
    ],
)
def test_dry_sizes_are_the_real_ones(dry, real, options):
    with log.lines() as lines:
        context = Context(real[0], options, StopFlag())
    context.close()
    assert dry.context(options.n_ctx, options.kv_type, options.n_batch, options.max_logits) == parse_sizes(lines)


def test_without_flash_attention_scores_take_memory_and_values_stay_f16(dry, real):
    options = ContextOptions(1024, 2, flash_attention="off")
    with log.lines() as lines:
        context = Context(real[0], options, StopFlag())
    context.close()
    with DryModel(default_model(), "off") as without:
        assert without.context(1024) == parse_sizes(lines)
        large = without.context(8192)
        assert large
        assert large.compute - dry.context(8192).compute > 100 * MIB
        assert without.context(1024, "q8_0") is None


def test_dry_weights_are_the_real_ones(dry, real):
    buffers = {line.split()[1]: float(line.split()[-2]) for line in real[1] if "model buffer size" in line}
    assert buffers.pop("CPU_Mapped") == pytest.approx(dry.weights.file / MIB, abs=0.01)
    assert sum(buffers.values()) == pytest.approx(dry.weights.repacked / MIB, abs=0.02)


@pytest.mark.parametrize("line", ["llama_context: something else", COMPUTE_LINE, NODES_LINE])
def test_a_log_without_sizes_is_a_bug(line):
    with pytest.raises(RuntimeError, match="no longer logs"):
        parse_sizes([line])


def test_sliding_windows_have_two_caches():
    kv = "llama_kv_cache: size =    2.00 MiB (   512 cells,   4 layers,  1/1 seqs), K (f16):    1.00 MiB"
    expected = ContextSizes(kv=4 * MIB, compute=MIB + context_graphs_bytes(1024), output=0)
    assert parse_sizes([kv, kv, COMPUTE_LINE, NODES_LINE]) == expected


@pytest.mark.parametrize("name", ["qwen3", "qwen35"])
def test_the_plan_is_what_the_process_takes(tmp_path, name):
    models = tmp_path / "models"
    models.mkdir()
    path = write_tiny_model(models / "tiny.gguf", SHAPES[name])
    pretend_fast_disk(tmp_path)
    with EngineProcess(tmp_path) as process:
        loaded = process.ask(Load(process.next_id(), str(path), 2048, threads=1, backend="llama"))
        assert isinstance(loaded, Loaded)
        question = Message("user", "a" * 1900)
        process.ask(Generate(process.next_id(), (question,), max_tokens=4, draft="off"))
        measured = peak_bytes(process.process.pid)
    # With a tiny model nearly all of it is the program itself, and a tenth of that depends on the system's libraries.
    assert sum(loaded.model.plan.values()) == pytest.approx(measured, rel=0.15)


def test_graphs_of_gated_delta_nets_are_large(tmp_path):
    sizes = []
    for name in ("qwen3", "qwen35"):
        with DryModel(write_tiny_model(tmp_path / f"{name}.gguf", SHAPES[name])) as model:
            small, large = model.context(1024, n_batch=128), model.context(1024, n_batch=512)
            assert small
            assert large
            sizes.append(large.compute - small.compute)
    assert sizes[1] - sizes[0] == pytest.approx(
        context_graphs_bytes(512 * 40) - context_graphs_bytes(128 * 40), rel=0.2
    )


def test_a_window_that_no_cache_has_needs_no_checkpoints(tmp_path):
    header = SHAPES["qwen3"] | {"architecture": "exaone4", "attention.sliding_window": 128}
    path = write_tiny_model(tmp_path / "exaone4.gguf", header)
    with DryModel(path) as dry:
        context = dry.context(1024)
    assert context
    assert context.checkpoint == 0
    model = Model(path)
    runtime = LlamaRuntime(model, ContextOptions(1024, 1), StopFlag())
    try:
        assert (model.window, runtime.window) == (128, UNLIMITED)
    finally:
        runtime.close()
        model.close()


def test_the_engine_refuses_what_cannot_fit_and_keeps_the_loaded_model(engine: Engine):
    before = engine.status(0).model
    with pytest.raises(Failure, match=r"needs \d+ MB .* too much.*would fit") as caught:
        engine.load(Load(0, str(default_model()), n_ctx=8192, memory_bytes=230 * MIB))
    assert caught.value.code == "out_of_memory"
    assert engine.status(0).model == before


def test_the_engine_keeps_to_the_plan():
    engine = Engine()
    limit = 221 * MIB
    info = engine.load(Load(0, str(default_model()), memory_bytes=limit)).model
    plan = resolve(LoadOptions(default_model(), backend="llama", memory_bytes=limit)).memory
    assert plan.verdict == "tight"
    assert (info.n_ctx, info.plan, info.tight) == (plan.n_ctx, plan.parts, True)
    assert sum(info.plan.values()) <= limit
    assert any("To save memory" in str(note) for note in info.notes)
    target = engine._loaded().target
    assert isinstance(target, LlamaRuntime)
    options = target.context.options
    assert (options.kv_type, options.n_batch) == (plan.kv_type, plan.n_batch)
    engine.close()


@pytest.mark.parametrize("writable", [True, False])
def test_a_cache_that_grows_leaves_no_file(real, tmp_path, monkeypatch, writable):
    """The cache's 2 MiB are more than MOST_IN_RAM here, so they move through a file if the folder is writable."""
    monkeypatch.setattr("engine.runtime.capi.runtime.MOST_IN_RAM", 1 << 20)
    folder = tmp_path / "cache"
    if writable:
        folder.mkdir()
        (folder / f"{TEMPORARY}99999999-x").write_bytes(b"of a crashed engine")
    else:
        folder.write_text("in the way")
    target = LlamaRuntime(real[0], ContextOptions(256, 1), StopFlag(), folder)
    list(prefill(target, [100 + i for i in range(100)]))

    def next_logits():
        row = target.forward([55]).row().copy()
        target.truncate(100)
        return row

    expected = next_logits()
    target.resize(512)
    assert target.state_bytes > 1 << 20
    assert abs(next_logits() - expected).max() < 0.05
    restore = target.snapshot(1 << 20)
    target.truncate(0)
    restore()
    assert target.size == 100
    assert abs(next_logits() - expected).max() < 0.05
    assert not writable or list(folder.iterdir()) == []
    target.close()
