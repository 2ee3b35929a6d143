"""Token embeddings of a model file, read in pieces: row n is the vector with which the model begins to read token n."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from common.failures import Failure
from common.files import open_file, read_up_to
from models.header import Header
from models.tensors import tensor_bytes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TENSOR = "token_embd.weight"
ROWS = 2048  # rows read at once


def read_token_vectors(header: Header) -> Iterator[NDArray[np.float32]]:
    """Yield arrays (up to ROWS, n_embd) of all tokens in the order of their ids.

    Raises Failure if the file has no such tensor, stores it in a format that is not known here, or cannot be read.
    """
    import numpy as np
    from gguf import GGMLQuantizationType  # takes 0.1 s to import
    from gguf.quants import dequantize

    name = header.file_name
    table = next((tensor for tensor in header.tensors if tensor.name == TENSOR and len(tensor.shape) == 2), None)
    if table is None:
        raise Failure("bad_model.no_vocabulary", name=name)
    row_bytes = tensor_bytes(table) // table.shape[1]
    try:
        kind = GGMLQuantizationType(table.type)
        with open_file(header.path) as file:
            file.seek(header.data_offset + table.offset)
            for begin in range(0, table.shape[1], ROWS):
                rows = min(ROWS, table.shape[1] - begin)
                raw = np.frombuffer(read_up_to(file, rows * row_bytes), np.uint8)
                values = dequantize(raw.reshape(rows, row_bytes), kind)
                yield cast("NDArray[np.float32]", values.astype(np.float32, copy=False))
    except (OSError, ValueError, NotImplementedError) as error:
        raise Failure("unreadable.vocabulary", str(error), name=name) from error
