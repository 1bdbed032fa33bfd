"""A scene as an SVG file, drawn without a browser: what ``frontend/src`` draws for the same width and theme."""

from typing import Literal

from viz_model.drawing.scene.marks import Scene
from viz_model.drawing.scene.svg.cells import MOST_SHAPES
from viz_model.drawing.scene.svg.frame import Place, above, below, flowed, moved
from viz_model.drawing.scene.svg.ground import Ground, element, n, speakable
from viz_model.drawing.scene.svg.marks import drawn
from viz_model.drawing.theme import PALETTES

__all__ = ["FONTS", "MILLIMETRES", "MOST_SHAPES", "Theme", "svg", "tall"]

FONTS = (
    "'Source Sans 3', 'Noto Sans', 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', "
    "'Noto Sans CJK SC', 'PingFang SC', 'Microsoft YaHei', sans-serif"
)
"""Named with what stands in for them; none is in the file."""

Theme = Literal["light", "dark", "paper"]

MILLIMETRES = 25.4 / 96
"""Millimetres of a pixel (CSS Values and Units 3, 5.2)."""


def tall(scene: Scene, width: float, caption: str = "") -> float:
    """Pixels that a picture is high where it is ``width`` pixels wide, with its caption."""
    ground = Ground(width, PALETTES["light"])
    return above(scene, ground).height + flowed(scene, width)[1] + below(scene, ground, caption).height


def svg(scene: Scene, width: float = 960, theme: Theme = "light", *, caption: str = "", in_mm: bool = False) -> str:
    """The picture, ``width`` pixels wide and as high as it needs to be.

    Args:
        caption: written under it, small.
        in_mm: whether the file names its size in millimetres, of which a pixel is :data:`MILLIMETRES`.
    """
    ground = Ground(width, PALETTES[theme])
    over, under = above(scene, ground), below(scene, ground, caption)
    places, height = flowed(scene, width)
    panels = [moved(_panel(place, ground), place.x, over.height + place.y) for place in places]
    parts = [
        element("title", speakable(scene.title)),
        element("desc", speakable(scene.description)),
        element("rect", width="100%", height="100%", fill=ground.color("paper")),
        *over.shapes,
        *panels,
    ]
    if under.shapes:
        parts.append(moved(under.shapes, 0, over.height + height))
    whole = over.height + height + under.height
    return element(
        "svg",
        "\n".join(["", *parts, ""]),
        xmlns="http://www.w3.org/2000/svg",
        width=f"{n(width * MILLIMETRES)}mm" if in_mm else width,
        height=f"{n(whole * MILLIMETRES)}mm" if in_mm else whole,
        viewBox=f"0 0 {n(width)} {n(whole)}",
        font_family=FONTS,
        font_size=12,
        style="font-variant-numeric:tabular-nums",
    )


def _panel(place: Place, ground: Ground) -> list[str]:
    """Its marks; one that answers a click as a whole is framed, as in the browser."""
    own = ground._replace(width=place.width)
    shapes = drawn(place.panel.marks, own)
    if place.panel.act is None:
        return shapes
    size = {"width": place.width - 1, "height": place.height - 1}
    return [*shapes, element("rect", x=0.5, y=0.5, rx=8, **size, fill="none", stroke=ground.color("grid"))]
