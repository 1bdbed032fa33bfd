"""The field to draw a picture in, its patches, and the run of it: in the place of a sentence."""

import base64
import binascii
from collections.abc import Mapping

import numpy as np
import streamlit as st
from PIL import Image

import viz_model as vm
from viz_model import images
from viz_model.app import components, examples, interventions, runs, state
from viz_model.app.frame import Places
from viz_model.app.view import ViewState
from viz_model.config import Patches
from viz_model.images import Levels, PictureError
from viz_model.measures import patches
from viz_model.runs import edits
from viz_model.texts import Texts

SIDE = 98
"""Pixels of the field, and of a picture in its place."""

_READ = "sketch.read"
"""The number of the last message from the browser that was read."""
_REFUSED = "sketch.refused"
"""Why the file that is in the uploader is not a picture to read."""


def line(places: Places, view: ViewState, lm: vm.LanguageModel, t: Texts, *, is_fixed: bool = False) -> vm.Trace | None:
    """The field with its examples, and the trace of what is drawn in it.

    None where it is blank. Of a model whose pictures are larger than an address holds it is a small one, which the run
    enlarges.

    A picture that ``is_fixed`` is shown and cannot be changed.
    """
    wanted = lm.config.patches
    shown = examples.of(lm, t.language)
    try:
        drawn = _fitting(images.decode(view.drawing or shown[0]), wanted)
    except PictureError as error:
        st.warning(t("common.unknown_drawing", why=t.error(error)))
        drawn = images.decode(shown[0])
    reads = centered(drawn) if lm.config.reads_digits else drawn
    code = images.encode(reads)
    with places.field:
        if is_fixed:
            _shown(255 - reads if patches.is_drawn(lm.config) else reads)
        else:
            has_room = not (view.present and lm.config.transcribes)  # beside a wide field, by a projector
            _field(lm, drawn, reads, shown if has_room else (), t)
    if patches.is_drawn(lm.config) and not drawn.any():
        st.info(t("common.empty"), icon=":material/draw:")
        return None
    try:
        key = runs.RunKey(view.model, code, edits=edits.write(view.edits))
        if lm.config.transcribes:  # what the model writes; another target is the page's own
            key = key._replace(target=runs.greedy_target(view.model, code, view.to), to=view.to)
        return interventions.fitting(key, t)
    except vm.TextError as error:
        st.info(t.error(error), icon=":material/draw:")
        return None


def _fitting(levels: Levels, wanted: Patches) -> Levels:
    """A picture in the colors of the model, and at its size or at the largest that an address holds."""
    fitted = images.fit(levels, *images.held(wanted.height, wanted.width), wanted.channels, wanted.resample)
    return fitted[:, :, 0] if wanted.channels == 1 else fitted


def _field(lm: vm.LanguageModel, drawn: Levels, reads: Levels, shown: tuple[str, ...], t: Texts) -> None:
    if patches.is_drawn(lm.config):
        words = (
            "label",
            "field",
            "hint",
            "reads",
            "undo",
            "clear",
            "larger",
            "smaller",
            "examples",
            "pen",
            "up",
            "down",
        )
        data = {
            "seq": st.session_state.get(_READ, 0),
            "grid": patches.grid(lm.config),
            "wide": lm.config.patches.width / lm.config.patches.height,
            "copies": lm.config.reads_digits,
            "examples": [t("common.sketch_example", n=n + 1) for n in range(len(shown))],
            "words": {name: t(f"common.sketch_{name}") for name in words},
        }
        decoded = [images.decode(code) for code in shown]
        pictures = (drawn, reads, np.stack(decoded) if decoded else np.zeros((0, *drawn.shape), np.uint8))
        components.sketch(data, pictures, key="frame_sketch_field", on_drawn=_drawn)
        if not shown:  # nor room for files
            return
    else:
        _shown(reads)
    with st.popover(t("common.upload"), icon=":material/upload:"):
        st.file_uploader(
            _help(lm, t),
            type=["png", "jpg", "jpeg", "webp"],
            key="frame.upload",
            on_change=_uploaded,
            args=(lm.config.inputs, patches.is_drawn(lm.config)),
        )
        if refused := st.session_state.get(_REFUSED):
            st.error(t.error(refused), icon=":material/error:")


def _help(lm: vm.LanguageModel, t: Texts) -> str:
    """What may be uploaded, and what becomes of it."""
    own = lm.config.patches
    small = images.held(own.height, own.width)
    is_small = small == (own.height, own.width)
    sizes = {"held": "{} × {}".format(*small), "own": f"{own.height} × {own.width}"}
    key = "upload_help" if is_small else "upload_help_small"
    return t(f"common.{key}", size=images.MAX_BYTES // 2**20, **sizes)


def _shown(levels: Levels) -> None:
    """A picture that nobody can draw in, as high as the field is."""
    st.image(_upright(levels), width=round(SIDE * max(1.0, levels.shape[1] / levels.shape[0])))


def _upright(levels: Levels) -> Levels:
    """A picture on a ground at least as wide as high, which is seen through beside it: uint8 [H, max(H, W), 4]."""
    height, width = levels.shape[:2]
    found = np.zeros((height, max(height, width), 4), np.uint8)
    found[:, :width, :3] = levels if levels.ndim == 3 else levels[..., None]
    found[:, :width, 3] = 255
    return found


def _drawn(told: object) -> None:
    """What the browser says that is drawn becomes the view's; what is no drawing is left alone."""
    if not isinstance(told, Mapping) or not isinstance(told.get("seq"), int) or not isinstance(told.get("pixels"), str):
        return
    st.session_state[_READ] = told["seq"]
    try:
        pixels = np.frombuffer(base64.b64decode(told["pixels"][: 2 * images.MAX_HELD], validate=True), np.uint8)
        height, width = (int(side) for side in told["shape"])
        code = images.encode(pixels.reshape(height, width), bits=4)
    except (binascii.Error, KeyError, TypeError, ValueError):
        return
    state.update(drawing=code)


def _uploaded(wanted: Patches, is_drawn: bool) -> None:
    """An uploaded picture, at the size of the model; dark writing on a light ground becomes ink."""
    st.session_state.pop(_REFUSED, None)
    if (file := st.session_state["frame.upload"]) is None:
        return
    try:
        levels = _fitting(images.read(file.getvalue()), wanted)
    except PictureError as error:
        st.session_state[_REFUSED] = error
        return
    if is_drawn and np.median(levels) > 127:
        levels = 255 - levels
    state.update(drawing=images.encode(levels, bits=4 if is_drawn else 8))


BOX = 20 / 28
"""The side of the box that the ink fills, as a share of the picture's (LeCun et al. 1998, section III.A)."""


def centered(levels: Levels) -> Levels:
    """The ink at the size of MNIST's, its center of mass in the middle: uint8 [H, W] -> [H, W].

    The proportions stay. What is blank stays so.
    """
    rows, columns = np.nonzero(levels)
    if not len(rows):
        return levels.copy()
    cut = levels[rows.min() : rows.max() + 1, columns.min() : columns.max() + 1]
    share = BOX * min(levels.shape) / max(cut.shape)
    height, width = (max(1, round(share * side)) for side in cut.shape)
    small = np.array(Image.fromarray(cut).resize((width, height), Image.Resampling.LANCZOS))
    weights = small.astype(float)
    middle = [
        float((weights.sum(1 - axis) * (np.arange(side) + 0.5)).sum() / weights.sum())
        for axis, side in enumerate(small.shape)
    ]
    top, left = (
        min(max(0, round(whole / 2 - at)), whole - side)
        for whole, at, side in zip(levels.shape, middle, small.shape, strict=True)
    )
    found = np.zeros_like(levels)
    found[top : top + height, left : left + width] = small
    return found
