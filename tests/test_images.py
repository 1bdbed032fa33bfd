"""Pictures from files and from text: what is read, what is refused, and what comes back as it was."""

import base64
import io
import zlib
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from viz_model import images
from viz_model.images import Levels, PictureError

SIZES = st.integers(1, images.MAX_SIDE).flatmap(
    lambda height: st.tuples(st.just(height), st.integers(1, min(images.MAX_SIDE, images.MAX_HELD // height)))
)
PICTURES = st.one_of(
    SIZES.flatmap(lambda shape: arrays(np.uint8, shape)), SIZES.flatmap(lambda shape: arrays(np.uint8, (*shape, 3)))
)


def drawing() -> Levels:
    """A stroke of 28 × 28 with soft edges."""
    y, x = np.mgrid[:28, :28]
    return (255 * np.exp(-((x - 14 - 4 * np.sin(y / 5)) ** 2) / 3)).astype(np.uint8)


def file(levels: Levels, kind: str, mode: str | None = None) -> bytes:
    image, written = Image.fromarray(levels), io.BytesIO()
    (image.convert(mode) if mode else image).save(written, kind, lossless=True)
    return written.getvalue()


@given(PICTURES)
def test_a_picture_comes_back_from_its_text(levels: Levels) -> None:
    text = images.encode(levels)
    assert (images.decode(text) == levels).all() and images.decode(text).shape == levels.shape
    assert len(text) <= images.MAX_TEXT
    rounded = images.decode(images.encode(levels, bits=4))
    assert rounded.shape == levels.shape and (np.abs(rounded.astype(int) - levels) <= 8).all()
    assert (images.decode(images.encode(rounded, bits=4)) == rounded).all()


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: base64.urlsafe_b64encode(data).decode()))
def test_any_other_text_is_refused_in_a_line(text: str) -> None:
    try:
        levels = images.decode(text)
    except PictureError as error:
        assert "\n" not in str(error)
    else:
        assert (images.decode(images.encode(levels)) == levels).all()


def packed(data: bytes) -> bytes:
    return zlib.compress(data, wbits=-15)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (bytes((8, 0, 4)) + packed(b"x"), "0 × 4"),
        (bytes((8, 65, 64)) + packed(b"x" * 4160), "65 × 64"),
        (bytes((9, 4, 4)) + packed(b"x" * 16), "begin"),
        (bytes((12, 4, 4)) + packed(b"x" * 16), "begin"),
        (bytes((8, 4, 4)) + packed(b"x" * 15), "too few"),
        (bytes((8, 4, 4)) + packed(b"x" * 10**7), "too many"),
        (bytes((8, 4, 4)) + packed(b"x" * 16) + b"more", "damaged"),
        (bytes((8, 4, 4)) + packed(b"x" * 16)[:-1], "damaged"),
        (b"", "letters"),
    ],
)
def test_a_text_of_another_size_is_refused(data: bytes, told: str) -> None:
    with pytest.raises(PictureError, match=told):
        images.decode(base64.urlsafe_b64encode(data).decode().rstrip("="))


@pytest.mark.parametrize(("kind", "far"), [("PNG", 0), ("WEBP", 0), ("JPEG", 12)])
def test_files_are_read(kind: str, far: float) -> None:
    color = np.stack((drawing(), drawing().T, 255 - drawing()), axis=-1)
    found = images.read(file(color, kind))
    assert found.shape == (28, 28, 3) and found.dtype == np.uint8
    assert np.abs(found.astype(int) - color).mean() <= far


def test_all_sorts_of_pixels_become_levels() -> None:
    assert images.read(file(drawing(), "PNG", "1")).shape == (28, 28)
    assert images.read(file(drawing(), "PNG", "P")).shape == (28, 28, 3)
    assert (images.read(file(drawing().astype(np.uint16) * 257, "PNG")) == drawing()).all()  # type: ignore[arg-type]
    clear = np.zeros((4, 4, 4), np.uint8)
    clear[0] = (10, 20, 30, 255)
    seen = images.read(file(clear, "PNG"))
    assert (seen[0] == (10, 20, 30)).all() and (seen[1:] == 255).all()


def test_other_files_are_refused() -> None:
    png, gif = file(drawing(), "PNG"), file(drawing(), "GIF")
    huge = png[:16] + (60_000).to_bytes(4, "big") * 2 + png[24:29]  # a header that claims it
    huge += zlib.crc32(huge[12:29]).to_bytes(4, "big") + png[33:]
    for data, told in ((b"GIF", "not a"), (gif, "not a"), (png[:-40], "read"), (huge, "read")):
        with pytest.raises(PictureError, match=told):
            images.read(data)
    with mock.patch.object(images, "MAX_BYTES", len(png) - 1), pytest.raises(PictureError, match="longer"):
        images.read(png)
    with mock.patch.object(images, "MAX_PIXELS", 28 * 28 - 1), pytest.raises(PictureError, match="28 × 28"):
        images.read(png)


def test_a_picture_is_brought_to_a_models_size() -> None:
    assert (images.fit(drawing(), 28, 28, 1)[..., 0] == drawing()).all()
    assert images.held(28, 90) == (28, 90) and images.held(4000, 1000) == (images.SMALL, images.SMALL // 4)
    color = images.fit(drawing(), 14, 20, 3)
    assert color.shape == (14, 20, 3) and (color == color[..., :1]).all()
    red = np.zeros((5, 5, 3), np.uint8)
    red[..., 0] = 255
    assert (images.fit(red, 5, 5, 1) == 76).all()
    for wrong in (np.zeros((4, 4)), np.zeros((4, 4, 2), np.uint8), np.zeros((0, 4), np.uint8), "drawing"):
        with pytest.raises(PictureError):
            images.check(wrong)
