"""Two values of a query or a key as an arrow in a plane, and arcs between arrows."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from viz_model.drawing.scene import Mark, Path, Rect, Text
from viz_model.drawing.tables import By, Lengths, Phrase

ARC_POINTS = 12
STEPS = 100
"""Of the radius, in which arcs are sent: they are for the eye."""


class Plane(NamedTuple):
    """A plane in a panel ``size`` pixels high, about the middle of its width.

    Attributes:
        radius: what reaches the circle, or a table of such.
        axes: the names of the two values.
    """

    size: float
    radius: Any
    axes: tuple[str, str]

    @property
    def middle(self) -> float:
        return (self.size - 20) / 2

    @property
    def reach(self) -> float:
        """Pixels of the radius of the circle."""
        return self.middle - 22

    def x(self, values: Any, times: float = 1.0) -> Any:
        """Lengths of first values; ``times`` as far out."""
        return Lengths(values, self._low, self.radius, (0.5, -times * self.reach), (0.5, times * self.reach))

    def y(self, values: Any, times: float = 1.0) -> Any:
        """Pixels of second values."""
        return Lengths(
            values, self._low, self.radius, self.middle + times * self.reach, self.middle - times * self.reach
        )

    @property
    def _low(self) -> Any:
        radius = self.radius
        return radius._replace(values=-np.asarray(radius.values)) if isinstance(radius, By) else -radius

    def ground(self) -> list[Mark]:
        """The circle, the axes and their names."""
        turn = np.linspace(0, 2 * math.pi, 73)
        x = np.stack([np.full(73, 0.5), self.reach * np.cos(turn)], -1).astype(np.float32)
        y = (self.middle + self.reach * np.sin(turn)).astype(np.float32)
        wide = 2 * self.reach + 40
        return [
            Path(id="circle", x=x, y=y, stroke="grid", thick=1),
            Rect(id="level", x=(0.5, -wide / 2), y=self.middle, width=wide, height=1, fill="grid"),
            Rect(id="upright", x=(0.5, 0), y=0, width=1, height=2 * self.middle, fill="grid"),
            Text(id="x", text=self.axes[0], x=(0.5, 0), y=self.size - 8, anchor="middle"),
            Text(id="y", text=self.axes[1], x=(0.5, -wide / 2 - 6), y=self.middle, anchor="middle", rotate=-90),
        ]

    def arrow(
        self,
        id: str,
        axes: str,
        x: np.ndarray,
        y: np.ndarray,
        told: str,
        facts: Mapping[str, Any],
        name: Any = "",
        fixed: Mapping[str, Any] = {},
        start: Mapping[str, int] = {},
        **look: Any,
    ) -> list[Mark]:
        """An arrow from the origin to a point, by ``axes``.

        Args:
            told: what is said of it, with ``{{x}}`` and ``{{y}}`` and further ``facts``.
            name: written beyond its head.
            fixed, start: of the tables.
        """
        known = start
        xs, ys = (By((*axes.split(), "end"), np.stack([np.zeros_like(one), one], -1), fixed, known) for one in (x, y))
        whole = [one._replace(axes=one.axes[:-1]) for one in (xs, ys)]
        tip = [one._replace(fixed={**fixed, "end": 1}, write="4") for one in (xs, ys)]
        bare = [one._replace(write="") for one in tip]
        label: Any = Phrase(told, {"x": tip[0], "y": tip[1], **facts})
        path = Path(id=id, x=self.x(whole[0]), y=self.y(whole[1]), head=9, **look)
        place: dict[str, Any] = {"x": self.x(bare[0], 1.12), "y": self.y(bare[1], 1.12), "anchor": "middle"}
        opacity = look.get("opacity", 1)
        return [path, Text(id=f"{id}.name", text=name, label=label, opacity=opacity, **place)]

    def arc(self, id: str, table: By, start: np.ndarray, angle: np.ndarray, share: Any, **look: Any) -> Mark:
        """The last, unfinished turn of ``angle`` radians from ``start`` on, at ``share`` of the radius.

        ``table`` says how arrays are looked up.
        """
        along = np.fmod(angle, 2 * math.pi)[..., None] * np.linspace(0, 1, ARC_POINTS)
        at = start[..., None] + along
        radius = np.asarray(share)[..., None] if np.ndim(share) else share
        x, y = (
            table._replace(values=(np.rint(STEPS * radius * of(at)) + STEPS).astype(np.uint8))
            for of in (np.cos, np.sin)
        )
        low, high = (0.5, -self.reach), (0.5, self.reach)
        down, up = (0.0, self.middle + self.reach), (0.0, self.middle - self.reach)
        points: Any = Lengths(x, 0, 2 * STEPS, low, high), Lengths(y, 0, 2 * STEPS, down, up)
        return Path(id=id, x=points[0], y=points[1], thick=1.5, **look)
