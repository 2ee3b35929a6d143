"""How large a picture is for a model: its tokens, and to how many pixels it is scaled. Knows no Qt."""

from __future__ import annotations

from engine.protocol.events import Statistics, Vision
from engine.protocol.requests import Picture
from models.projector import tiles_of

USUAL_TOKENS = 512  # of one picture, where a larger one has more tokens and nothing was measured yet
FEWEST_TOKENS, MOST_TOKENS = 64, 2048
PATIENCE = 10.0  # seconds that encoding one picture may take
USUAL_PIXELS = 786_432  # for a model that scales all pictures to one size itself
DETAIL_TOKENS = 4096  # of a picture in full detail


def picture_tokens(picture: Picture, vision: Vision | None) -> int | None:
    """Estimate the tokens of a picture, as the engine does before it has loaded the projector; None if it is blind."""
    if vision is None:
        return None
    if vision.token_side:
        side = vision.token_side
        return max(1, round(picture.width / side)) * max(1, round(picture.height / side))
    return vision.tokens * (tiles_of(picture.width, picture.height, vision.side) if vision.tiled else 1)


def was_scaled(picture: Picture, pixels: int) -> bool:
    """Return whether a picture of at most `pixels` pixels was probably larger before: it uses nearly all of them."""
    return picture.width * picture.height > 0.95 * pixels


def wanted_pixels(vision: Vision | None, measured: Statistics | None, full: bool = False) -> int:
    """Return how many pixels a new picture keeps at most; 0 for a model that cannot see.

    `measured`: the numbers of the last answer that encoded pictures; with them a picture is encoded within PATIENCE.
    `full`: as much detail as a model can use, whatever the time.
    """
    if vision is None:
        return 0
    if not vision.token_side:
        return USUAL_PIXELS * (4 if full and vision.tiled else 1)
    tokens = DETAIL_TOKENS if full else USUAL_TOKENS
    if not full and measured and measured.encoded_tokens and measured.picture_seconds > 0:
        affordable = int(PATIENCE * measured.encoded_tokens / measured.picture_seconds)
        tokens = min(MOST_TOKENS, max(FEWEST_TOKENS, affordable))
    return tokens * vision.token_side**2
