"""What ik_llama.cpp needs of a model and of this computer, checked without loading the library."""

from __future__ import annotations

import platform
import sys
from importlib.util import find_spec
from pathlib import Path

from common.failures import Failure
from common.paths import display_name
from common.planning import DEFAULT_KV_TYPE, KVType
from common.sentences import Sentence
from engine.machine import CPU_INFO, processor_features
from models.header import Header
from models.shapes import shapes_of

LIBRARIES = {"win32": "llama.dll", "darwin": "libllama.dylib"}

# The instructions that the wheel contains (0.1.5, disassembled: no BMI, no AVX-512).
X86 = ("avx2", "fma", "f16c", "popcnt")
# Without dot-product instructions the library omits its own kernels and is no faster than llama.cpp. Apple's chips
# have these instructions.
ARM = ("asimddp",)

# Numbers of ggml_type that certainly mean the same in both projects, which number new types independently. Q1_0 (41)
# means the same too, but is left out: with our products llama.cpp takes half as long (docs/products.md).
F32 = 0
SAME_TYPES = {F32, 1, 2, 3, *range(6, 9), *range(10, 15), *range(16, 24), *range(24, 31), 39}


# The architectures of ik-llama-cpp-python 0.1.5 (LLM_ARCH_NAMES in its src/llama-arch.cpp). The library has no function
# that lists them, and it contains other names too, such as those of tokenizers. A test asks the library about each of
# these with a file of that architecture.
ARCHITECTURES = frozenset((
    "arctic", "baichuan", "bailingmoe2", "bert", "bitnet", "bitnet-25", "bitnet-b1.58", "bloom", "chatglm",
    "codeshell", "cohere2", "command-r", "dbrx", "deci", "deepseek2", "dots1", "ernie4_5", "ernie4_5-moe", "falcon",
    "gemma", "gemma2", "gemma3", "gemma4", "glm-dsa", "glm4", "glm4moe", "gpt-oss", "gpt2", "gptj", "gptneox",
    "granite", "granitemoe", "grok", "hunyuan-moe", "internlm2", "jais", "jina-bert-v2", "llama", "llama4", "mamba",
    "mimo2", "minicpm", "minimax-m2", "mistral3", "mistral4", "mpt", "nomic-bert", "olmo", "openelm", "orion", "phi2",
    "phi3", "plamo", "qwen", "qwen2", "qwen2moe", "qwen2vl", "qwen3", "qwen35", "qwen35moe", "qwen3moe", "qwen3next",
    "qwen3vl", "qwen3vlmoe", "refact", "seed_oss", "smollm3", "stablelm", "starcoder", "starcoder2", "step35", "t5",
    "t5encoder", "xverse",
))  # fmt: skip
# Those of them that keep recurrent states. The library has no checkpoints of these, so a stopped prompt or another try
# would lose the whole chat.
RECURRENT = frozenset(("mamba", "qwen35", "qwen35moe", "qwen3next"))

KV_BLOCK = 32  # numbers of a head that q8_0 and q4_0 store together
# Numbers of a head that the kernels for q4_0 know (0.1.5, asked with heads of 32 to 512). What computes the other
# multiples of 32 gives nonsense or NaN.
Q4_0_HEADS = (64, 96, 128, 192, 256, 512)


def refusal(header: Header, kv_type: KVType = DEFAULT_KV_TYPE) -> Sentence | None:
    """Return the reason why ik_llama.cpp cannot compute this model here, or None if it can."""
    if library_file() is None:
        return Sentence.of("no_backend.ik")
    missing = missing_features()
    if missing:
        return Sentence.of("ik.processor", features=", ".join(missing).upper())
    if not supports(header):
        return Sentence.of("ik.architecture", architecture=display_name(header.architecture))
    if any(tensor.type not in SAME_TYPES for tensor in header.tensors):
        return Sentence.of("ik.quantisation")
    # The library multiplies by a norm's weights and adds biases as 32-bit floats, and aborts at other types.
    if any(tensor.type != F32 for tensor in header.tensors if len(tensor.shape) == 1):
        return Sentence.of("ik.quantisation")
    if not can_store(header, kv_type):
        return Sentence.of("ik.kv_type", kv_type=kv_type)
    return None


def supports(header: Header) -> bool:
    """Return whether this engine runs models of this architecture on ik_llama.cpp."""
    return header.architecture in ARCHITECTURES - RECURRENT


def can_store(header: Header, kv_type: KVType) -> bool:
    """Return whether ik_llama.cpp computes rightly with this model's keys and values stored as `kv_type`.

    Where a head does not divide into blocks the library aborts the process (llama.cpp only makes no context). If the
    header leaves the sizes of heads open, only f16 is certain.
    """
    if kv_type == "f16":
        return True
    try:
        layers = shapes_of(header).layers
    except Failure:
        return False
    sizes = {size for layer in layers if layer.kv_heads for size in (layer.key_length, layer.value_length) if size}
    return all(size % KV_BLOCK == 0 and (kv_type != "q4_0" or size in Q4_0_HEADS) for size in sizes)


def library_file() -> Path | None:
    """Return the path of the library, or None if it is not installed."""
    package = find_spec("ik_llama_cpp")
    if package is None or not package.submodule_search_locations:
        return None
    path = Path(package.submodule_search_locations[0]) / "lib" / LIBRARIES.get(sys.platform, "libllama.so")
    return path if path.exists() else None


def missing_features() -> list[str]:
    """Return the processor features that the wheel needs and this processor lacks."""
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64"):
        needed: tuple[str, ...] = X86
    elif machine == "aarch64":
        needed = ARM
    else:
        return []
    if sys.platform != "win32" and not CPU_INFO.exists():
        return []
    features = processor_features()
    return [feature for feature in needed if feature not in features]
