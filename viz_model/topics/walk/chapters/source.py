"""Two texts: queries from the text being written, keys and values from the text being read."""

import numpy as np

from viz_model.drawing.tables import Among
from viz_model.island import query
from viz_model.island.beats import Chapter
from viz_model.topics.walk.layout import Marks, Pen, lengths, names, pitch
from viz_model.topics.walk.run import MOST_ROWS, Run

TOP, LEFT = 60, 0.45


def chapter(run: Run) -> Chapter | None:
    trace = run.trace
    if "blocks.0.cross.pattern" not in trace:
        return None
    # The head that reads one word of the source most firmly at the selected token.
    read, sites = trace.at("encoder"), [f"blocks.{layer}.cross.pattern" for layer in range(trace.n_layers)]
    words = [n for n, id in enumerate(read.own_ids) if id not in read.own_tokenizer.controls] or list(range(len(read)))
    rows = np.stack([trace.row(site, run.look.token).numpy() for site in sites])
    layer, head = np.unravel_index(rows[..., words].max(-1).argmax(), rows.shape[:2])
    weights = trace.head(sites[layer], int(head)).numpy()
    is_code, share = not trace.config.reads_pictures, run.by("token", weights.max(-1), "percent")
    most = Among(query.key_names(run.look, "cross"), run.by("token", weights.argmax(-1)), is_code)
    second = run.says("source_2", "share", q=run.named(), layer=layer, head=head, most=most, share=share)
    return run.chapter("source", [run.says("source_1", "query key"), second], _marks(run, weights), "cross_attention")


def _marks(run: Run, weights: np.ndarray) -> Marks:
    look, read = run.look, run.trace.at("encoder")
    key, share = Pen({"part": "key"}), Pen({"part": "share", "since": 2})
    yield Pen({"part": "query"}).text(look.words("written_text"), y=TOP - 24)
    yield key.text(look.words("read_text"), (LEFT, 0), TOP - 24)
    yield from names(run, TOP)
    of = weights.max(0) if look.config.reads_pictures else -np.arange(len(read))  # a picture begins with a blank corner
    read_names, shown = query.key_names(look, "cross"), np.sort(of.argsort()[-MOST_ROWS:])
    for n, row in share.rows(len(shown), TOP, pitch(len(shown), TOP)):
        own = weights[:, shown[n]]
        yield row.end(read_names[shown[n]], (LEFT, 96), **key.fields, since=0)
        yield row.bar((LEFT, 110), run.by("token", lengths(own, 0.42, 120)))
        yield row.end(run.by("token", own), form="percent")
