"""The loss of a batch: the mean over its real tokens, and what padding would make of it."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Verdict, exceeds
from viz_model.drawing.scene import Scene
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.topics.batch import tables
from viz_model.topics.batch.rows import batched, names, sizes
from viz_model.training.batches import IGNORED


class Losses(NamedTuple):
    """Mean loss in nats over the tokens asked for, and with padding counted too."""

    mean: float
    counted: float
    n_padding: int


COUNTED: Verdict[Losses] = Verdict(
    "batch.counted",
    Claim("none", lambda losses: losses.n_padding == 0),
    Claim("higher", lambda losses: exceeds(losses.counted, losses.mean, 3)),
    Claim("lower", lambda losses: exceeds(losses.mean, losses.counted, 3)),
)


def losses(look: Look) -> Losses | None:
    """None where no token is asked for."""
    run = batched(look).run
    if run.loss is None or run.counted is None:
        return None
    return Losses(run.loss, run.counted, int(run.beyond.sum()))


def without(look: Look) -> Iterator[Line]:
    """Why there is none."""
    if losses(look) is None:
        yield Line(look.words("no_loss" if batched(look).run.losses is None else "nothing_asked"), "notice")


def draw(look: Look) -> Scene | None:
    found = batched(look).run.losses
    if found is None or losses(look) is None:
        return None
    heading = look.words("losses", shape=sizes("BT", found.shape))
    view = tables.loss_view(heading, names(look), found, str(IGNORED))
    return look.drawn(tables.draw(look, "batch.losses", look.words("losses_alt"), [view]), own=False)


def note(look: Look) -> Iterator[Line]:
    if losses(look):
        yield look.note("losses_note", ignored=IGNORED)


def tell(look: Look) -> Iterator[Line]:
    found, each = losses(look), batched(look).run.losses
    if found is None or each is None:
        return
    facts = {"mean": f"{found.mean:.3f}", "counted": f"{found.counted:.3f}", "n_padding": found.n_padding}
    yield look.text("loss", n_asked=int(np.isfinite(each).sum()), ignored=IGNORED, **facts)
    yield Line(COUNTED.says(look.t.language, found, **facts))
    means = row_means(each)
    rows = look.listed(f"{mean:.3f}" for mean in means if np.isfinite(mean))
    yield look.text("loss_rows", means=rows, equal=f"{np.nanmean(means):.3f}", **facts)


def row_means(losses: np.ndarray) -> np.ndarray:
    """The mean of each row [B]; NaN where nothing is asked of it."""
    asked = np.isfinite(losses)
    sums = np.where(asked, losses, 0.0).sum(-1)
    return np.where(asked.any(-1), sums / np.maximum(asked.sum(-1), 1), np.nan)
