"""Pictures: as bytes of a file, as characters of an address, and at the size that a model reads.

Everywhere a picture is its levels, uint8 [H, W] in gray or [H, W, 3] in color, 0 is black. Of a file nothing but
those is read: no name, no place, no direction of the camera, no color profile.
"""

import base64
import binascii
import io
import re
import warnings
import zlib
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

Levels = NDArray[np.uint8]

FORMATS = ("PNG", "JPEG", "WEBP")
MAX_BYTES = 10 * 2**20
MAX_PIXELS = 2**24
SMALL = 64
"""Pixels a side of a picture that is made small enough to be written as text."""
MAX_HELD = SMALL**2
"""Pixels in all of one that is written as text."""
MAX_SIDE = 255
"""Its longer side."""
MAX_TEXT = 2**15

Resample = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]
_FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "lanczos": Image.Resampling.LANCZOS,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "box": Image.Resampling.BOX,
    "hamming": Image.Resampling.HAMMING,
}


class PictureError(ValueError):
    """What is not a picture, or one beyond the bounds. One line."""


def check(levels: object) -> Levels:
    """The levels, where they are a picture.

    Raises:
        PictureError: another type or shape, no pixel, or more than :data:`MAX_PIXELS`.
    """
    if not isinstance(levels, np.ndarray) or levels.dtype != np.uint8:
        found = f"{levels.dtype} of shape {list(levels.shape)}" if isinstance(levels, np.ndarray) else type(levels)
        raise PictureError(f"a picture is an array of uint8, [H, W] or [H, W, 3], not {found}")
    if levels.ndim not in (2, 3) or (levels.ndim == 3 and levels.shape[2] != 3):
        raise PictureError(f"a picture has the shape [H, W] or [H, W, 3], not {list(levels.shape)}")
    if not 0 < levels.shape[0] * levels.shape[1] <= MAX_PIXELS:
        raise PictureError(f"a picture of {levels.shape[0]} × {levels.shape[1]} pixels: expected 1 to {MAX_PIXELS:,}")
    return levels


# Files


def read(data: bytes) -> Levels:
    """The picture in a PNG, JPEG or WebP file; of one that moves, its first frame. What is transparent becomes white.

    Raises:
        PictureError: the file is of another kind, damaged, longer than :data:`MAX_BYTES`, or its picture larger than
            :data:`MAX_PIXELS`.
    """
    if len(data) > MAX_BYTES:
        raise PictureError(f"the file is longer than {MAX_BYTES // 2**20} MiB")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with _opened(data) as image:  # verify leaves nothing that could be read
                _check_pixels(image)
                image.verify()
            with _opened(data) as image:
                return _levels(image)
    except PictureError:
        raise
    except UnidentifiedImageError:
        raise PictureError(f"this is not a picture: expected {', '.join(FORMATS[:-1])} or {FORMATS[-1]}") from None
    except Exception as error:  # what a damaged file may raise, each format has its own
        raise PictureError(f"the picture cannot be read: {' '.join(str(error).split())[:200]}") from None


def _opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data), formats=FORMATS)


def _check_pixels(image: Image.Image) -> None:
    if not 0 < image.width * image.height <= MAX_PIXELS:
        raise PictureError(f"the picture has {image.height} × {image.width} pixels, at most {MAX_PIXELS:,} are read")


def _levels(image: Image.Image) -> Levels:
    if image.mode.startswith("I"):  # 16 bits, which Pillow would cut off at 255
        return (np.asarray(image).clip(0, 2**16 - 1) // 257).astype(np.uint8)
    if image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info:
        opaque = Image.new("RGBA", image.size, "white")
        opaque.alpha_composite(image.convert("RGBA"))
        image = opaque.convert("L" if image.mode == "LA" else "RGB")
    return np.array(image.convert("L" if image.mode in ("1", "L") else "RGB"))


# Text


def encode(levels: Levels, *, bits: Literal[4, 8] = 8) -> str:
    """A small picture as text of letters, digits, ``-`` and ``_``: what :func:`decode` reads.

    Args:
        bits: 8 keeps every level; 4 rounds to sixteen of them, and is shorter.

    Raises:
        PictureError: it has more than :data:`MAX_HELD` pixels, or a side is longer than :data:`MAX_SIDE`.
    """
    height, width, *color = check(levels).shape
    if not _is_held(height, width):
        raise PictureError(f"a picture of {height} × {width} is too large for a text: at most {MAX_HELD:,} pixels")
    flat = levels.reshape(-1)
    if bits == 4:
        nibbles = np.append((flat.astype(int) + 8) // 17, [0] * (flat.size % 2)).astype(np.uint8)
        flat = np.asarray(nibbles[::2] << 4 | nibbles[1::2], np.uint8)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(flat.tobytes()) + packer.flush()
    header = bytes((bits | (_COLOR if color else 0), height, width))
    return base64.urlsafe_b64encode(header + packed).decode().rstrip("=")


_COLOR = 16
_TEXT = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)


def decode(text: str) -> Levels:
    """The picture of a text that :func:`encode` made.

    Raises:
        PictureError: the text is none of those, or longer than :data:`MAX_TEXT`.
    """
    if len(text) > MAX_TEXT:
        raise PictureError(f"a text of {len(text):,} characters is not a picture: at most {MAX_TEXT:,}")
    if not _TEXT.fullmatch(text):
        raise PictureError("this text is not a picture: one is written in letters, digits, - and _")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise PictureError("this text is not a picture: it was cut short, or has a character too many") from None
    if len(data) < 4 or (kind := data[0]) & ~_COLOR not in (4, 8):
        raise PictureError("this text is not a picture: it does not begin as one")
    height, width = data[1], data[2]
    if not _is_held(height, width):
        raise PictureError(f"a picture of {height} × {width}: expected 1 to {MAX_HELD:,} pixels")
    shape = (height, width, 3) if kind & _COLOR else (height, width)
    n = int(np.prod(shape))
    levels = np.frombuffer(_unpacked(data[3:], n if kind & 8 else (n + 1) // 2), dtype=np.uint8)
    if kind & 4:
        levels = np.stack((levels >> 4, levels & 15), axis=1).reshape(-1)[:n] * np.uint8(17)
    return levels.reshape(shape).copy()


def _unpacked(packed: bytes, size: int) -> bytes:
    """Exactly so many bytes."""
    unpacker = zlib.decompressobj(-15)
    try:
        data = unpacker.decompress(packed, size + 1)
    except zlib.error:
        data = b""
    if len(data) != size or not unpacker.eof or unpacker.unused_data:
        raise PictureError("this text is not a picture: its pixels are damaged, or too few or too many for its size")
    return data


# Sizes


def _is_held(height: int, width: int) -> bool:
    return 1 <= height * width <= MAX_HELD and max(height, width) <= MAX_SIDE


def held(height: int, width: int) -> tuple[int, int]:
    """The size at which a picture of that size can be written as text: its own, or at most :data:`SMALL` a side."""
    if _is_held(height, width):
        return height, width
    share = SMALL / max(height, width)
    return max(1, round(share * height)), max(1, round(share * width))


def fit(levels: Levels, height: int, width: int, channels: int, resample: Resample = "bilinear") -> Levels:
    """The picture at a model's size and in its colors: uint8 [height, width, channels].

    Where the shape differs it is stretched. Color becomes gray by the weights of ITU-R 601.

    Raises:
        PictureError: it is not a picture.
    """
    image = Image.fromarray(check(levels)).convert("L" if channels == 1 else "RGB")
    if (image.width, image.height) != (width, height):
        image = image.resize((width, height), _FILTERS[resample])
    return np.array(image).reshape(height, width, channels)
