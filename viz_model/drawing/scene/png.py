"""A PNG of coloured cells, without a library: for files that hold more cells than shapes should be (RFC 2083)."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np


def data_uri(pixels: np.ndarray) -> str:
    """uint8 [H, W, 4], red green blue alpha -> the address of an image that is in the file itself."""
    height, width, _ = pixels.shape
    # Every line begins with its filter: 0, none.
    lines = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(lines.tobytes(), 9)), (b"IEND", b""))
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*part) for part in parts)
    return "data:image/png;base64," + base64.b64encode(data).decode()


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
