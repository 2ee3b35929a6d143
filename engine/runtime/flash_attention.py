"""The wish for flash attention, checked: attention without a table of all scores. Knows no library.

Without it a pass holds a number for each of its tokens, each cell of the cache and each head at once. It is there for
comparing: off is slower, takes more memory, and the libraries read quantised values with flash attention only.
"""

from __future__ import annotations

from engine.protocol import FlashAttention, KVType
from models.failures import Failure


def words_of(wish: FlashAttention) -> str:
    """What tells saved chats and timings of one way from the other's: values lie in another order without it."""
    return " without flash attention" if wish == "off" else ""


def goes_with(wish: FlashAttention, kv_type: KVType) -> bool:
    return wish != "off" or kv_type == "f16"


def check_kv_type(wish: FlashAttention, kv_type: KVType | None) -> None:
    """Raises Failure where the two do not go together."""
    if kv_type and not goes_with(wish, kv_type):
        sentence = f"Keys and values stored as {kv_type} need flash attention: leave it on, or store them as f16."
        raise Failure("bad_option", sentence)
