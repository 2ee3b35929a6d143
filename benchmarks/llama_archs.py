"""Headers of tiny models of every architecture that the pinned llama.cpp knows, as its own test of them makes them.

The test (tests/test-llama-archs.cpp in llama-cpp-python's source archive) is compiled once against the installed
libraries, which takes seconds, and the headers are kept in the build cache. Where llama.cpp does not let its test make
a model of an architecture yet, `MORE` adds what the header lacks.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import platformdirs

from benchmarks.tiny_shapes import CONTEXT, SHAPES, WINDOW

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "packaging" / "compiled.lock"
PACKAGE = "llama_cpp"
NEEDED = ("include/", "src/", "common/", "ggml/include/", "tests/test-llama-archs.cpp")  # within llama.cpp
PROGRAM = """
#define main main_of_test
#include "tests/test-llama-archs.cpp"
#undef main

int main(int, char ** argv) {
    for (const llm_arch & arch : llm_arch_all()) {
        for (bool moe : {false, true}) {
            if (arch != LLM_ARCH_UNKNOWN && (moe ? moe_implemented(arch) : !moe_mandatory(arch))) {
                const std::string path = std::string(argv[1]) + "/" + llm_arch_name(arch) + (moe ? "+moe" : "");
                gguf_write_to_file(get_gguf_ctx(arch, moe).get(), path.c_str(), true);
            }
        }
    }
    return 0;
}
"""

SMALL = 1e-9  # well below the squares of our embeddings, which the 1e-5 of llama.cpp's test is not
USUAL_WORDS = 128  # of llama.cpp's test
RWKV7 = {f"attention.{name}_lora_rank": 32 for name in ("decay", "iclr", "value_residual_mix", "gate")}
ONE_SHIFT = {"token_shift_count": 1}  # vectors of the last token that a layer keeps; other RWKV models keep two
BIDIRECTIONAL: dict[str, Any] = {"attention.causal": False}
BERT = {"attention.causal": False, "pooling_type": 1}  # as the files of all of these say
NAMED_WORDS = BERT | {"tokenizer.ggml.token_type_count": 2}
ADAPTERS = {
    "adapters.count": 2,
    "adapters.lora_rank": 4,
    "adapters.token_ids_activate": [85, 100],  # e and t, so that the trials switch between the adapters
    "adapters.token_ids_substitute": [81, 82],
}
EXPERTS = {
    "expert_count": 2,
    "expert_used_count": 2,
    "expert_shared_count": 1,
    "expert_feed_forward_length": 384,
    "expert_shared_feed_forward_length": 192,
    "expert_gating_func": 2,
}
MORE: dict[str, dict[str, Any]] = {
    "rwkv7": RWKV7,
    "arwkv7": RWKV7 | ONE_SHIFT,
    "rwkv6qwen2": ONE_SHIFT,
    "graniteswitch": ADAPTERS,
    "plm": {"attention.key_length": 192, "attention.value_length": 128, "rope.dimension_count": 64},
    "deepseek2-ocr": EXPERTS,
    "dflash": {"target_layers": [0, 1], "attention.sliding_window_pattern": [True, False]},
    "gemma4-assistant": {
        "attention.sliding_window_pattern": [True, False],
        "attention.key_length_swa": 128,
        "attention.value_length_swa": 128,
        "embedding_length_out": 128,
        "nextn_predict_layers": 2,
    },
    "eagle3": {"target_layers": [0, 1, 2], "target_hidden_size": 256},
    **dict.fromkeys(("bert", "jina-bert-v2", "jina-bert-v3", "nomic-bert", "nomic-bert-moe"), NAMED_WORDS),
    **dict.fromkeys(("dream", "llada", "llada-moe", "rnd1"), BIDIRECTIONAL),
    **dict.fromkeys(("eurobert", "modern-bert", "neo-bert", "gemma-embedding", "llama-embed"), BERT),
}


def headers() -> dict[str, dict[str, Any]]:
    """Return a header for each architecture, and for those with dense and mixed models also one named `…+moe`.

    Our own headers replace those of llama.cpp's test. Raises SystemExit if there is no compiler or no network.
    """
    folder = _folder()
    if not folder.exists():
        _make(folder)
    names = sorted(path.name for path in folder.iterdir())
    by_name: dict[str, dict[str, Any]] = {}
    for name in names:
        plain = name.removesuffix("+moe")
        by_name[name if plain in names else plain] = _header(folder / name)
    return dict(sorted((by_name | SHAPES).items()))


def _folder() -> Path:
    key = hashlib.sha256((LOCK.read_text() + PROGRAM).encode()).hexdigest()[:16]
    return Path(platformdirs.user_cache_path("chickadee-build", appauthor=False)) / "archs" / key


def _make(folder: Path) -> None:
    library = Path(str(importlib.metadata.distribution("llama-cpp-python").locate_file(PACKAGE))) / "lib"
    if not shutil.which("c++"):
        raise SystemExit("A C++ compiler is needed: sudo apt-get install g++")
    with tempfile.TemporaryDirectory() as place:
        source = _source(Path(place))
        program = source / "headers.cpp"
        program.write_text(PROGRAM)
        places = (source, *(source / part for part in ("src", "include", "common", "ggml/include")))
        command = ["c++", "-std=c++17", "-O0", "-w", *(f"-I{place}" for place in places), str(program)]
        command += ["-o", str(source / "headers"), f"-L{library}", "-lllama", "-lllama-common", "-lggml", "-lggml-base"]
        subprocess.run([*command, f"-Wl,-rpath,{library}"], check=True)
        made = Path(place) / "headers"
        made.mkdir()
        subprocess.run([source / "headers", made], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(made, folder.with_suffix(".part"), dirs_exist_ok=True)
        folder.with_suffix(".part").rename(folder)


def _source(place: Path) -> Path:
    """Download the pinned source archive into `place`, unpack what the test needs, and return llama.cpp's folder."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-build-isolation", "--no-binary", ":all:", "--require-hashes", "-d", str(place), "-r", str(LOCK)]
    subprocess.run(command, check=True)
    (archive,) = place.glob("*.tar.gz")
    # Debian 12's Python has no filters; pip has checked the archive's hash.
    filters: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.name.partition("/vendor/llama.cpp/")[2].startswith(NEEDED):
                tar.extract(member, place, **filters)
    (source,) = place.glob("*/vendor/llama.cpp")
    return source


def _header(path: Path) -> dict[str, Any]:
    """Return a header of llama.cpp's test with our context and window, without its words."""
    fields = gguf.GGUFReader(path).fields
    architecture = fields["general.architecture"].contents()
    start = f"{architecture}."
    header = {key.removeprefix(start): _value(field) for key, field in fields.items() if key.startswith(start)}
    header |= {key: field.contents() for key, field in fields.items() if key.startswith("xielu.")}
    header |= {"architecture": architecture, "context_length": CONTEXT, "attention.layer_norm_epsilon": SMALL}
    if header["vocab_size"] <= USUAL_WORDS:  # others have as many words as llama.cpp's code counts on
        del header["vocab_size"]
    if "attention.sliding_window" in header:
        header["attention.sliding_window"] = WINDOW
    return header | MORE.get(architecture, {})


def _value(field: gguf.ReaderField) -> Any:
    """Return a field's value; an array of large numbers stays one of numpy, which knows their type."""
    value = field.contents()
    return np.array(value, np.uint64) if field.types[-1] == gguf.GGUFValueType.UINT64 and value else value
