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
    lm: LanguageModel,
    text: str,
    written: Sequence[int],
    *,
    temperature: float,
    seed: int,
    n: int,
    to: str | None = None,
    changes: str = "",
) -> list[dict[str, Any]]:
    """Up to n + 1 places after a text and what was ``written``: the likeliest tokens of each with their probabilities,
    in ten-thousandths, at every temperature, and which was drawn: at the last place none, unless the text ends there.

    Args:
        seed: of the random numbers. Each place has its own, so that the same ones are drawn however many are asked for
            at once.
        to: of a model that translates, the language.
        changes: edits, as an address writes them.
    """
    tokenizer, sampling, parsed = lm.tokenizer, generation.Sampling(temperature=temperature), edits.parse(changes)
    read, picture = lm.entering(text)
    if lm.config.kind == "encoder_decoder":
        decoder = lm.decoder(read, "", to, parsed, picture)
        for id in written:
            decoder.append(id)
    else:
        decoder = lm.decoder([*read, *written], edits=parsed)
    found = list[dict[str, Any]]()
    while True:
        logits = decoder.logits
        probs = (logits.double() / HEATS).softmax(-1)
        probs[0] = torch.zeros_like(probs[0]).index_fill(0, logits.argmax(), 1.0)
        shares, likeliest = probs.mul(10_000).round().int(), logits.topk(LIKELIEST).indices.tolist()
        found.append({"tokens": [_token(tokenizer, id) for id in likeliest], "p": shares[:, likeliest].tolist()})
        if len(found) > n or len(written) + len(found) > MOST_WRITTEN:
            return found
        number = generation.number(seed, len(written) + len(found))
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
    """What a saved walk without weights writes of its text, whole and with one thing taken out, by edits and
    temperature; None where it does not write.
    """
    lm, said = run.look.lm, of(run)
    if "recorded" not in run.look.options or not writes(run) or lm is None or run.trace.edits:
        return None

    def written(changes: str, temperature: float, n: int) -> list[dict[str, Any]]:
        how: dict[str, Any] = {"temperature": temperature, "seed": SEED, "n": n, "to": said.get("to") or None}
        key = ("walk recorded", changes, temperature)
        return run.look.once(lambda _: places(lm, said["text"], (), changes=changes, **how), key)

    heats = dict.fromkeys((WARM if run.trace.config.kind == "decoder" else 0.0, WARM))
    edited = [edits.write((edit,)) for edit in broken.parts(run).values()]
    whole = {f" {heat:g}": written("", heat, RECORDED) for heat in heats}
    return whole | {f"{one} {WARM:g}": written(one, WARM, broken.MOST) for one in edited}
