"""Two models beside each other, labelled."""

from __future__ import annotations

from viz_model.app.drawn import Drawn
from viz_model.app.subject import Subject
from viz_model.topics.architectures.pictures.depth import DepthView, draw_depth


def of_depth(of: Subject, view: DepthView) -> Drawn:
    """The mean length of the stream by depth in both; the subject's is the first."""
    sites = ("embed.out", f"blocks.{of.trace.n_layers - 1}.resid.out")
    return Drawn(draw_depth(view, of.words), of.words("depth_alt"), view, sites)
