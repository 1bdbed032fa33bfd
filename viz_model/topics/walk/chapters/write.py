"""It writes: the model continues what one types. Other models fill a gap, translate, or name a picture."""

from typing import Any

import numpy as np

from viz_model.drawing.spans import around
from viz_model.island.beats import Chapter, Guess
from viz_model.texts.markdown import literal
from viz_model.tokenizers.text import spelled
from viz_model.topics.walk.layout import HEIGHT, Marks, Pen, bars, toy
from viz_model.topics.walk.run import Run

GPT_3 = 175e9
"""Parameters of GPT-3 as published (Brown et al. 2020, table 2.1)."""
TEMPERATURES = tuple(n / 4 for n in range(9))
SURE, LEAD, AMONG, MOST_BEFORE = 0.9, 0.02, 24, 40
"""Of a guess: the most probability, the lead, the tokens among which words are sought, characters that are quoted."""
LIKELIEST, MOST_WRITTEN, RECORDED, MOST_PIECES = 5, 400, 60, 60
"""Tokens of a place that are shown; tokens that are written on a page, and for a file without weights; pieces shown."""
WORDS = ("write", "pause", "one", "again", "over", "temperature", "speed", "ended", "end", "likeliest")


def writes(run: Run) -> bool:
    """Whether the model continues a text, or says the target of one."""
    return run.predicts and run.trace.config.kind != "encoder"


def words(run: Run) -> dict[str, str]:
    """Labels of what writes."""
    own = {"likeliest": "likeliest_recorded"} if run.is_recorded else {}
    return {name: run.look.words(f"writer_{own.get(name, name)}") for name in WORDS}


def n_parameters(run: Run) -> int:
    return sum(weight.numel() for weight in run.trace.model.parameters())


def of(run: Run) -> dict[str, Any]:
    """What is continued."""
    trace = run.trace
    target = {} if trace.target_ids is None else {"target": "", "to": trace.target_language or ""}
    how = {"temperatures": TEMPERATURES, "likeliest": LIKELIEST, "most": MOST_WRITTEN} if run.look.is_saved else {}
    return {"text": trace.text or "", **target, **how}


def chapter(run: Run) -> Chapter:
    config, size = run.trace.config, n_parameters(run)
    if not writes(run):
        reads = "reads_classes" if config.classes else "reads_encoder" if run.predicts else "reads_vectors"
        beats = [run.says(f"write_1_reads {reads}", n=f"{size:,}")]
    else:
        begin = "begin_encoder_decoder" if config.kind == "encoder_decoder" else "begin"
        beats = [run.says(f"write_1 {begin}", "page", n=f"{size:,}"), run.says("write_2", "bars", _guess(run))]
        if config.kind == "decoder" and not run.is_recorded:
            beats.append(run.says("write_3", "temperature"))
    beats.append(run.says("write_4", times=f"{float(f'{GPT_3 / size:.2g}'):,.0f}"))
    return run.chapter("write", beats, _marks(run))


def _guess(run: Run) -> Guess | None:
    """What it expects at the earlier place where it is surest of a word, but not certain; None where it is torn."""
    n_read = len(run.likely[0])
    if run.trace.config.kind != "decoder" or n_read < len(run):
        return None
    probs, ids = (one.numpy() for one in run.trace["probs"][list(range(n_read))].topk(AMONG, dim=-1))
    found, text = [], [run.trace.tokenizer.decode(run.trace.ids[: n + 1]) for n in range(n_read - 1)]
    for n, before in enumerate(text):
        tokens = [run.trace.tokenizer.token(id) for id in ids[n]]
        words = [k for k, one in enumerate(tokens) if one.is_whole and one.text.strip().isalnum()]
        first, second = probs[n, :2]
        if before and "\ufffd" not in before and len(words) > 2 and words[0] == 0 and second + LEAD < first < SURE:
            found.append((first, n, ids[n, words[:3]]))
    if not found:
        return None
    _, n, options = max(found, key=lambda one: one[0])
    said = text[n] if len(text[n]) <= MOST_BEFORE else f"…{text[n][-MOST_BEFORE:]}"
    named = [run.token(id) for id in sorted(options)]
    return run.asks("guess_next", named, int(options.argsort().argmin()), before=literal(said))


def _marks(run: Run) -> Marks:
    trace, look = run.trace, run.look
    if writes(run):
        is_picture = trace.config.reads_pictures  # drawn in a field of its own
        data: dict[str, Any] = {"of": of(run), "words": words(run), "temperatures": TEMPERATURES}
        data |= {"draws": trace.config.kind == "decoder", "text": "" if is_picture else trace.text or ""}
        data |= {"types": False, "most": RECORDED} if run.is_recorded else {"types": not is_picture}
        yield toy("writer", data, look.words("writer_page"))
    elif trace.config.classes:
        probs = trace["class.probs"].numpy().reshape(-1)
        yield Pen().text(look.words("classes"), y=14)
        yield from bars(run, trace.config.classes, probs, "percent", 36, 36, part="share")
    else:
        yield toy("pieces", pieces(run), look.words("pieces"), 150 if run.predicts else HEIGHT)
        if run.predicts:
            ids, _ = run.likely
            top = np.take_along_axis(trace["probs"][run.held(ids)].numpy(), ids, -1).T
            yield Pen().text(look.words("at_gap", token=run.label()), y=180)
            named = [run.tokens(one, "token") for one in ids.T]
            yield from bars(run, named, top, "percent", 204, 40, part="share")


def pieces(run: Run, splits: int = 99) -> dict[str, Any]:
    """Tokens as pieces of a text; from beat ``splits`` on those that are parts of a character show their bytes."""
    rest = max(0, len(run) - MOST_PIECES)
    part = around(run.look.token, len(run), MOST_PIECES)
    made = [
        {"label": label, "id": str(token.id), "bytes": "" if token.is_whole else spelled(token.bytes)}
        for token, label in list(zip(run.trace.tokens, run.labels, strict=True))[part]
    ]
    said = run.look.words("more_tokens", n=rest) if rest else ""
    return {"first": part.start, "splits": splits, "rest": said, "tokens": made}
