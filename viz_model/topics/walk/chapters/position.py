"""Position: what tells the first occurrence of a token from the second, in each of the ways that there are."""

import numpy as np

from viz_model.config import Sinusoidal
from viz_model.drawing.digits import root
from viz_model.island.beats import Chapter, ends
from viz_model.topics.walk.layout import NAMES, Marks, Pen, lengths, most, pitch
from viz_model.topics.walk.run import Run

ROW, HIGH, X, WIDE = 34, 26, NAMES + 56, (1, -NAMES - 56)
ADDED = ("waves", "learned")


def way(run: Run) -> str:
    """How places are told apart: "waves", "learned", "turned", "changed", "biased" or "none"."""
    trace, at = run.trace, f"blocks.{run.look.layer}.attn."
    if "embed.position" in trace:
        return "waves" if isinstance(trace.config.position, Sinusoidal) else "learned"
    if f"{at}q_rotated" in trace:
        scheme = trace.config.layer(trace.stack.side, run.look.layer).position
        return "turned" if scheme.acts_on == "queries" else "changed"
    return "biased" if f"{at}bias" in trace else "none"


def chapter(run: Run) -> Chapter:
    kind, ids, d = way(run), run.trace.own_ids, run.trace.config.d_embedding
    twins = next(((a, b) for b in range(len(ids)) for a in range(b) if ids[a] == ids[b]), None)
    word = run.look.code_name(twins[0] if twins else run.look.token)
    beats = [run.says("position_1", "row", word=word), run.says(f"position_2_{kind}", "position", d=d)]
    if kind in ADDED:
        scaled = "_scaled" if run.trace.config.scale_embedding else ""
        beats.append(run.says(f"position_3{scaled}", d=d, is_root=root(d)[0]))
    return run.chapter("position", beats, _marks(run, kind, twins), "position")


def _marks(run: Run, kind: str, twins: tuple[int, int] | None) -> Marks:
    trace, look = run.trace, run.look
    places = of = twins or (look.token,)
    if not twins and kind in ADDED and len(run) > 1:  # the same token, as it would be at another place
        places, of = (look.token, 0 if look.token else len(run) - 1), (look.token, look.token)
    rows, words = run.rows_in[list(of)], look.words
    parts = [("row", words("strip_row"), rows, 1)]
    if kind in ADDED:
        added = trace["embed.position"][list(places)].numpy()
        parts += [("position", words("strip_position"), added, 2), ("sum", words("strip_sum"), rows + added, 3)]
        if trace.config.scale_embedding:  # as is said when it is added to
            scaled = words("strip_row_scaled", d=trace.config.d_embedding)
            parts[0] = ("row", ends(3, (0, words("strip_row")), (3, scaled)), rows, 1)
    elif kind in ("turned", "changed"):
        letter = "k_normed" if f"blocks.{look.layer}.attn.k_normed" in trace else "k"
        for name, label, site in (("key", "key", letter), ("turned", "strip_turned", "k_rotated")):
            parts.append((name, words(label), run.head(site)[list(places)], 2))
    for g, at in enumerate(places):
        y = 24 + (190 if len(parts) > 1 else 90) * g
        yield Pen().text(words("place", n=at), y=y, look="small")
        yield Pen().text(run.labels[of[g]], y=y + 26, look="bold")
        for n, (name, label, values, since) in enumerate(parts):
            top, pen = y + 16 + ROW * n, Pen({"since": since, "part": name})
            yield pen.end(label, NAMES + 48, top + HIGH / 2, look="small", part="")
            own = {"values": values[g], "x": X, "width": WIDE, "top": most(values)}
            yield pen.cells(**own, y=ends(3, (0, y + 16), (since, top)), height=HIGH)
            if name == "position":
                yield pen.cells(**own, y=top + ROW * 2, height=50, look="bars")
    if kind == "biased":
        yield from _bias(run)


def _bias(run: Run) -> Marks:
    """What is added to the scores of each token of the window, by the place of a key."""
    bias, at, pen = run.head("bias"), list(run.around()), Pen({"since": 2, "part": "position"})
    seen = np.where(run.visible, bias, 0.0)[:, at]
    share = np.abs(seen) / most(seen)
    yield pen.text(run.look.words("bias", token=run.label()), y=236, part="")
    for n, row in pen.rows(len(at), 250, pitch(len(at), 250, 420)):
        yield row.name(run.labels[at[n]], part="")
        yield row.bar(NAMES, run.by("token", lengths(share[:, n], less=200)), 2)
        yield row.end(run.by("token", np.where(run.visible, bias, np.nan)[:, at[n]]), form="2")
