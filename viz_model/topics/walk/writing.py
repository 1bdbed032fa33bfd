"""What a model writes, place by place: the likeliest tokens of each, and which was drawn."""

from collections.abc import Sequence
from typing import Any

import torch

from viz_model.runs import edits, generation
from viz_model.runs.language_model import LanguageModel
from viz_model.tokenizers.tokenizer import Tokenizer
from viz_model.topics.walk.chapters import broken
from viz_model.topics.walk.chapters.write import LIKELIEST, MOST_WRITTEN, RECORDED, TEMPERATURES, of, writes
from viz_model.topics.walk.run import Run

HEATS = torch.tensor(TEMPERATURES, dtype=torch.float64)[:, None].clamp(min=1e-3)
"""What logits are divided by; at 0 the likeliest token is all, which no division says."""

WARM, SEED = 0.75, 1
"""The temperature and the random numbers with which a walk writes to begin with (``frontend/src/writer.js``)."""


def places(
    lm: LanguageModel, text: str, ids: Sequence[int], temperature: float, seed: int, n: int, to: str = "", cut: str = ""
) -> list[dict[str, Any]]:
    """Up to n + 1 places after a text and the ``ids`` that were written: the likeliest tokens of each, with their
    probabilities in ten-thousandths at every temperature, and which was drawn; at the last one none, unless it ends.

    Args:
        seed: of the random numbers: each place has its own, however many places are asked for at once.
        to, cut: the language of a model that translates, or ""; edits, as an address writes them.
    """
    tokenizer, sampling, parsed = lm.tokenizer, generation.Sampling(temperature=temperature), edits.parse(cut)
    read, picture = lm.entering(text)
    if lm.config.kind == "encoder_decoder":
        decoder = lm.decoder(read, "", to or None, parsed, picture)
        for id in ids:
            decoder.append(id)
    else:
        decoder = lm.decoder([*read, *ids], edits=parsed)
    found = list[dict[str, Any]]()
    while True:
        logits = decoder.logits
        probs = (logits.double() / HEATS).softmax(-1)
        probs[0] = torch.zeros_like(probs[0]).index_fill(0, logits.argmax(), 1.0)
        shares, likeliest = probs.mul(10_000).round().int(), logits.topk(LIKELIEST).indices.tolist()
        found.append({"tokens": [_token(tokenizer, id) for id in likeliest], "p": shares[:, likeliest].tolist()})
        if len(found) > n or len(ids) + len(found) > MOST_WRITTEN:
            return found
        number = generation.number(seed, len(ids) + len(found))
        id = generation.draw(generation.distribution(logits, sampling), number)
        found[-1]["drawn"] = {**_token(tokenizer, id), "p": shares[:, id].tolist()}
        if id == tokenizer.end_of_text:
            return found
        decoder.append(id)


def _token(tokenizer: Tokenizer, id: int) -> dict[str, Any]:
    token, ends = tokenizer.token(id), id == tokenizer.end_of_text
    label = token.label.replace("\u00a0", " ")
    return {"id": id, "label": label, "bytes": "" if ends else token.bytes.hex(), **({"ends": True} if ends else {})}


def recorded(run: Run) -> dict[str, Any] | None:
    """What a saved walk without weights writes, by edits and temperature: whole, and with one thing taken out."""
    lm, said = run.look.lm, of(run)
    if "recorded" not in run.look.options or not writes(run) or lm is None or run.trace.edits:
        return None

    def written(changes: str, temperature: float, n: int) -> list[dict[str, Any]]:
        asked = said["text"], (), temperature, SEED, n, said.get("to", ""), changes
        return run.look.once(lambda _: places(lm, *asked), ("walk recorded", changes, temperature))

    heats = dict.fromkeys((WARM if run.trace.config.kind == "decoder" else 0.0, WARM))
    edited = [edits.write((edit,)) for edit in broken.parts(run).values()]
    whole = {f" {heat:g}": written("", heat, RECORDED) for heat in heats}
    return whole | {f"{one} {WARM:g}": written(one, WARM, broken.MOST) for one in edited}
