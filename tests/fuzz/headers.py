"""Fuzzes headers of GGUF files: every field at its limits, counts, lengths, types, cuts, holes.

Each file goes through the header's reader, the planner's process and the real engine, some through the commands.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import gguf
import msgspec

from common.planning import Ask, Verdict
from engine.protocol.events import Failed, Loaded
from tests.fuzz.harness import Broken, Child, Limits, Recipe, make_folder, run_module
from tests.fuzz.real_engine import RealEngine
from tests.fuzz.tiny_model import SCALARS, Entry, Model, array, scalar, text, tiny
from tests.fuzz.values import FLOATS, NOISE, TEXTS, edge_integer, possible_name
from tests.fuzz.worker import Worker

ARCHITECTURES = sorted(gguf.MODEL_ARCH_NAMES.values())
OFTEN = (
    "llama",
    "qwen2",
    "qwen3",
    "gemma3",
    "phi3",
    "qwen3moe",
    "mamba",
    "falcon-h1",
    "lfm2",
    "bert",
    "t5",
    "rwkv6",
    "clip",
)
FIELDS = (
    "block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count",
    "attention.head_count_kv", "attention.key_length", "attention.value_length", "attention.layer_norm_rms_epsilon",
    "attention.layer_norm_epsilon", "attention.sliding_window", "attention.causal", "attention.scale",
    "attention.max_alibi_bias", "attention.clamp_kqv", "attention.q_lora_rank", "attention.kv_lora_rank",
    "attention.shared_kv_layers", "rope.dimension_count", "rope.freq_base", "rope.scaling.type", "rope.scaling.factor",
    "rope.scaling.original_context_length", "rope.dimension_sections", "rope.scaling.attn_factor", "vocab_size",
    "expert_count", "expert_used_count", "expert_feed_forward_length", "expert_shared_count",
    "leading_dense_block_count",
    "expert_group_count", "expert_weights_scale", "expert_gating_func", "pooling_type", "logit_scale", "residual_scale",
    "use_parallel_residual", "tensor_data_layout", "attn_logit_softcapping", "final_logit_softcapping",
    "ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.time_step_rank", "ssm.group_count", "wkv.head_size",
    "nextn_predict_layers", "classifier.output_labels", "embedding_length_out",
)  # fmt: skip
GENERAL = (
    "general.architecture", "general.alignment", "general.type", "general.name", "general.file_type", "general.license",
    "general.quantization_version", "split.count", "split.no", "split.tensors.count", "chickadee.exit_layer",
    "tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens", "tokenizer.ggml.token_type",
    "tokenizer.ggml.scores", "tokenizer.ggml.merges", "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id",
    "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id", "tokenizer.ggml.unknown_token_id",
    "tokenizer.ggml.padding_token_id", "tokenizer.ggml.seperator_token_id", "tokenizer.ggml.mask_token_id",
    "tokenizer.ggml.fim_pre_token_id", "tokenizer.ggml.add_bos_token", "tokenizer.ggml.add_eos_token",
    "tokenizer.ggml.add_space_prefix", "tokenizer.ggml.token_type_count", "tokenizer.ggml.precompiled_charsmap",
    "tokenizer.ggml.remove_extra_whitespaces", "tokenizer.chat_template", "tokenizer.chat_templates",
    "adapter.type", "adapter.lora.alpha",
)  # fmt: skip
WORDS = ("none", "no_vocab", "llama", "gpt2", "bert", "t5", "rwkv", "plamo2", "default", "smollm", "qwen2", "yarn",
    "linear",
         "longrope", "adapter", "mmproj", "model", *OFTEN)  # fmt: skip
NAMES = ("m.gguf", "m.gguf", "m.gguf", "m.gguf", "m-00001-of-00002.gguf", "m-00002-of-00002.gguf",
    "m-00001-of-99999.gguf",
         "m-00000-of-00000.gguf", "m\udcff.gguf", "日本 🐦.gguf", "-m.gguf", "a'b\"c$(x).gguf", "n" * 250 + ".gguf",
         "new\nline.gguf")  # fmt: skip
LIMITS = Limits(seconds=20, memory=1 << 30)
COMMANDS = 0.02  # share of files that also go through the commands, which take a second or two


def recipe(dice: Random) -> dict[str, Any]:
    architecture = dice.choice((*OFTEN, dice.choice(ARCHITECTURES))) if dice.random() < 0.25 else "llama"
    edits = [draw_edit(dice, architecture) for _ in range(dice.choice((1, 1, 1, 1, 2, 3, 6)))]
    return {
        "architecture": architecture,
        "name": dice.choice(NAMES),
        "edits": edits,
        "backend": "ik" if dice.random() < 0.15 else "graph" if dice.random() < 0.1 else "llama",
        "n_ctx": dice.choice((512, 512, 64, None)),
        "commands": dice.random() < COMMANDS,
    }


def draw_edit(dice: Random, architecture: str) -> list[Any]:
    """Draw one edit that makes the header wrong, which `apply_edit` applies."""
    key = f"{architecture}.{dice.choice(FIELDS)}" if dice.random() < 0.6 else dice.choice(GENERAL)
    names = [tensor.name.decode() for tensor in tiny().tensors]
    kinds: dict[str, tuple[float, Any]] = {
        "number": (8, lambda: [key, dice.choice(("u32", "u32", "u32", *SCALARS)), number(dice)]),
        "text": (3, lambda: [key, dice.choice((*WORDS, *TEXTS)), dice.choice((None, None, None, edge_integer(dice)))]),
        "array": (3, lambda: [key, *numbers(dice), dice.choice((None, None, edge_integer(dice)))]),
        "remove": (2, lambda: [dice.choice(known(architecture))]),
        "repeat": (1, lambda: [dice.choice(known(architecture))]),
        "type": (1, lambda: [dice.choice(known(architecture)), dice.choice((*range(14), edge_integer(dice)))]),
        "length": (1, lambda: [dice.choice(("tokens", "token_type", "merges")), edge_integer(dice)]),
        "tensor": (3, lambda: [dice.choice(names), dice.choice(("type", "offset", "n_dims", "dim", "name")),
        edge_integer(dice)]),
        "dims": (1, lambda: [dice.choice(names), [edge_integer(dice) for _ in range(dice.randint(0, 6))]]),
        "no tensor": (1, lambda: [dice.choice(names)]),
        "tensor again": (1, lambda: [dice.choice(names)]),
        "count": (1, lambda: [dice.choice(("n_keys", "n_tensors", "version")), edge_integer(dice)]),
        "token": (1, lambda: [dice.randrange(1500), dice.choice(TEXTS)[:2000]]),
        "cut": (2, lambda: [dice.choice((dice.random(), dice.random() ** 3, 0.0, 0.999999))]),
        "noise": (2, lambda: [dice.choice((dice.random(), dice.random() ** 4)), dice.choice(NOISE).decode("latin-1")]),
        "hole": (1, lambda: [dice.choice((1 << 30, 1 << 36, 1 << 40)), dice.random()]),
    }  # fmt: skip
    kind = dice.choices(list(kinds), [weight for weight, _ in kinds.values()])[0]
    return [kind, *kinds[kind][1]()]


def number(dice: Random) -> float:
    return dice.choice(FLOATS) if dice.random() < 0.15 else edge_integer(dice)


def numbers(dice: Random) -> tuple[str, list[Any]]:
    kind = dice.choice(("u32", "i32", "f32", "bool", "text", "u64"))
    count = dice.choice((0, 1, 2, 3, 4, 64, 5000))
    values = [dice.choice(TEXTS)[:100] if kind == "text" else number(dice) for _ in range(min(count, 4))]
    return kind, (values * (count // max(1, len(values)) + 1))[:count] if values else values


def known(architecture: str) -> list[str]:
    return [entry.key.decode() for entry in of_architecture(tiny(), architecture).entries]


def of_architecture(model: Model, architecture: str) -> Model:
    """Return the model with the keys of another architecture; its tensors stay."""
    entries = (replace(e, key=e.key.replace(b"llama.", architecture.encode() + b".", 1)) for e in model.entries)
    return replace(model, entries=tuple(entries)).with_value(
        "general.architecture", text("general.architecture", architecture)
    )


def apply_edit(model: Model, kind: str, *what: Any) -> Model:
    """Return the model after one edit; edits of the file's bytes are applied by `write_file`."""
    if kind == "number":
        return model.with_value(what[0], scalar(*what))
    if kind == "text":
        return model.with_value(what[0], text(*what))
    if kind == "array":
        return model.with_value(what[0], array(*what))
    if kind in ("remove", "repeat", "type"):
        return replace(model, entries=tuple(_entries(model, kind, *what)))
    if kind == "length":
        return _claimed(model, *what)
    if kind == "token":
        return _token(model, *what)
    if kind == "count":
        return replace(model, **{what[0]: what[1]})
    if kind in ("tensor", "dims", "no tensor", "tensor again"):
        return replace(model, tensors=tuple(_tensors(model, kind, *what)))
    return model


def _entries(model: Model, kind: str, key: str, *what: int) -> Iterator[Entry]:
    for entry in model.entries:
        if entry.key != key.encode():
            yield entry
        elif kind == "repeat":
            yield from (entry, entry)
        elif kind == "type":
            yield replace(entry, type=what[0])


def _claimed(model: Model, name: str, length: int) -> Model:
    key = f"tokenizer.ggml.{name}"
    entry = next((entry for entry in model.entries if entry.key == key.encode()), None)
    if entry is None:
        return model
    claimed = (length & ((1 << 64) - 1)).to_bytes(8, "little")
    return model.with_value(key, replace(entry, value=entry.value[:4] + claimed + entry.value[12:]))


def _token(model: Model, number: int, token: str) -> Model:
    from tests.fuzz.tiny_model import strings_of

    entry = next((entry for entry in model.entries if entry.key == b"tokenizer.ggml.tokens"), None)
    if entry is None or len(entry.value) < 1000:  # an earlier edit has replaced it
        return model
    texts = [each.decode(errors="replace") for each in strings_of(entry)]
    if not texts:
        return model
    texts[number % len(texts)] = token
    return model.with_value("tokenizer.ggml.tokens", array("tokenizer.ggml.tokens", "text", texts))


def _tensors(model: Model, kind: str, name: str, *what: Any) -> Iterator[Any]:
    for tensor in model.tensors:
        if tensor.name != name.encode():
            yield tensor
        elif kind == "tensor again":
            yield from (tensor, tensor)
        elif kind == "dims":
            yield replace(tensor, dims=tuple(what[0]), n_dims=len(what[0]))
        elif kind == "tensor":
            field, value = what
            if field == "dim":
                yield replace(tensor, dims=(value, *tensor.dims[1:]))
            elif field == "name":
                yield replace(tensor, name=b"n" * min(abs(value), 70_000))
            else:
                yield replace(tensor, **{field: value})


def write_file(recipe: Recipe, folder: Path) -> Path:
    """Write the recipe's file and return its path; older files in the folder are deleted."""
    edits: Any = recipe["edits"]
    model = of_architecture(tiny(), str(recipe["architecture"]))
    for one in edits:
        model = apply_edit(model, *one)
    raw, size, spread = bytearray(model.raw()), 0, 0.0
    for kind, *what in edits:
        if kind == "cut":
            del raw[int(what[0] * len(raw)) :]
        elif kind == "noise":
            at = int(what[0] * len(raw))
            raw[at : at + len(what[1])] = what[1].encode("latin-1")
        elif kind == "hole":
            size, spread = what
    for old in folder.iterdir():
        old.unlink()
    path = folder / possible_name(recipe["name"])
    with path.open("wb") as file:  # a hole takes no room on the disk
        at = int(spread * len(raw))
        file.write(raw[:at])
        if size:
            file.truncate(size)
        file.write(raw[at:]) if not size else None
    return path


def run_case(recipe: Recipe, folder: Path) -> str:
    """Read the header in all ways in which the programs do. Runs in the worker."""
    from common.failures import Failure
    from models.collection import describe_model
    from models.fact_cache import FactCache
    from models.facts import facts_of
    from models.header import read_header
    from models.locations import gguf_files

    path = folder / possible_name(recipe["name"])
    found = list(gguf_files(folder))
    cache = FactCache()
    for file in found:
        describe_model(file, cache)
    FactCache()
    try:
        return str(facts_of([read_header(path)]).kind)
    except Failure as failure:
        return sentence(failure)


def sentence(failure: Exception) -> str:
    """Return what the user reads. Raises AssertionError if it is no sentence of ours."""
    said = str(failure)
    assert said.strip(), "an empty sentence"
    assert "Traceback" not in said, said
    return said


class Headers:
    """Runner of the cases of headers."""

    name = "headers"
    recipe = staticmethod(recipe)

    def __init__(self, folder: Path) -> None:
        self.folder, self.models = folder, make_folder(folder, "models")
        self._worker = Worker("headers", self.models, folder, LIMITS)
        self._engines = {library: RealEngine(folder, LIMITS) for library in ("llama", "ik")}  # one per process
        self._planner: Child | None = None

    @property
    def peak(self) -> int:
        peaks = [self._worker.peak, *(engine.peak for engine in self._engines.values())]
        return max(*peaks, self._planner.peak if self._planner else 0)

    def run(self, recipe: Recipe) -> str:
        path = write_file(recipe, self.models)
        said = self._worker.run_case(recipe)
        planned = self._plan(path, recipe)
        loaded = self._load(path, recipe)
        if recipe["commands"]:
            self._commands(path)
        return loaded or planned or said

    def _plan(self, path: Path, recipe: Recipe) -> str:
        if self._planner is None or not self._planner.alive:
            self._planner = Child(["engine", "plans"], self.folder, LIMITS)
        backend: Any = recipe["backend"] if recipe["backend"] != "ik" else "llama"
        try:
            ask = msgspec.json.encode(Ask(id=1, path=os.fsdecode(os.fsencode(path)), backend=backend))
        except UnicodeEncodeError:  # JSON cannot hold this name; the asking program refuses it itself
            return ""
        self._planner.send(ask + b"\n")
        verdict = msgspec.json.decode(self._planner.answer(self._planner.deadline()), type=Verdict)
        self._planner.check()
        return str(verdict.problem or "")

    def _load(self, path: Path, recipe: Recipe) -> str:
        engine = self._engines["ik" if recipe["backend"] == "ik" else "llama"]
        try:
            event = engine.load(path, backend=recipe["backend"], n_ctx=recipe["n_ctx"])
        except UnicodeEncodeError:
            return ""
        if isinstance(event, Loaded):
            event = engine.answer()
        engine.check()
        return sentence(Exception(event.message)) if isinstance(event, Failed) else ""

    def _commands(self, path: Path) -> None:
        for command in (("engine", "plan"), ("models", "info"), ("models", "add")):
            run_module([*command, "--json", "--", str(path)], self.folder, LIMITS)
        run_module(["models", "list", "--json", "--no-plan"], self.folder, LIMITS)

    def close(self) -> None:
        self._worker.close()
        for engine in self._engines.values():
            engine.close()
        if self._planner:
            self._planner.close()


__all__ = ["Broken", "Headers", "recipe", "run_case"]
