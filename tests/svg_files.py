"""Scenes of a few marks, and reading the files that they are written to."""

import xml.etree.ElementTree as ET
from typing import Any

from viz_model.drawing.scene import Mark, Panel, Scene
from viz_model.drawing.scene.svg import svg

NAMESPACE = "{http://www.w3.org/2000/svg}"


def scene(*marks: Mark, width: int = 200, n_panels: int = 1, even: bool = False) -> Scene:
    panels = [Panel(id=f"p{n}", marks=marks, height=100, min=width) for n in range(n_panels)]
    return Scene(id="s", panels=panels, title="A <title>", description="what & why", words={"masked": "m"}, even=even)


def drawn(file: str, tag: str) -> list[ET.Element]:
    """The elements of a file, but not the page, nor what its hatch is made of."""
    root = ET.fromstring(file)
    hatch = [part for pattern in root.iter(NAMESPACE + "pattern") for part in pattern]
    return [part for part in root.iter(NAMESPACE + tag) if part not in hatch and part.get("width") != "100%"]


def found(scene: Scene, tag: str, **options: Any) -> list[ET.Element]:
    return drawn(svg(scene, **options), tag)


def one(scene: Scene, tag: str, **options: Any) -> ET.Element:
    (part,) = found(scene, tag, **options)
    return part


def numbers(part: ET.Element, *names: str) -> list[float]:
    return [float(part.get(name, "nan")) for name in names]
