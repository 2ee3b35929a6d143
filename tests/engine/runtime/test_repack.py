"""Which weights llama.cpp repacks, asked in a process of its own: ggml aborts where a question makes no sense."""

from __future__ import annotations

import subprocess
import sys

import gguf
import numpy as np

ASK = "import sys; from engine.runtime.llama.repack import repacked_sizes; from models.header import read_header; "
ASK += "from pathlib import Path; print(*repacked_sizes(read_header(Path(sys.argv[1]))))"
MATRIX = "blk.0.time_mix_key.weight"
VECTORS = "blk.0.time_mix_lerp_fused.weight"  # RWKV-7's: six vectors, which are multiplied element by element


def test_weights_of_four_dimensions_are_not_repacked(tmp_path):
    q4_0 = gguf.GGMLQuantizationType.Q4_0
    writer = gguf.GGUFWriter(tmp_path / "rwkv7.gguf", "rwkv7")
    writer.add_tensor(MATRIX, gguf.quantize(np.ones((256, 256), np.float32), q4_0), raw_dtype=q4_0)
    writer.add_tensor(VECTORS, np.zeros((6, 1, 1, 256), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    command = [sys.executable, "-c", ASK, tmp_path / "rwkv7.gguf"]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.split() in ([MATRIX], []), "older processors have no other order for the matrix"
