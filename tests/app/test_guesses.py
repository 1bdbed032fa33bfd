"""The question at the end of a page: what is right is right by numbers that are read from the run here, apart."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from app_driver import open_page, quiz
from doors import topic
from streamlit.testing.v1 import AppTest

import viz_model as vm
from viz_model.app.topic import Topic
from viz_model.runs.trace import Trace
from viz_model.texts import LANGUAGES, Texts
from viz_model.topics.batch.rows import BESIDE

pytestmark = pytest.mark.full

TEXT, LAYER, MODEL, TRANSLATOR = "The cat sat on a", 1, "story-pre-ln", "translate-2017"
RIGHT, WRONG = (Texts("en")(f"common.guess_{name}") for name in ("right", "wrong"))


def _ends(values: torch.Tensor) -> tuple[str, str]:
    return str(int(values.argmax())), str(int(values.argmin()))


def surest(trace: Trace, asked: str) -> tuple[str, str]:
    return _ends(trace["logits"].softmax(-1).max(-1).values)


def capitals(trace: Trace, asked: str) -> tuple[str, str]:
    n = len(trace.tokenizer.encode("THE", special=False))
    return str(n), str(n % 4 + 1)


def nearest(trace: Trace, asked: str) -> tuple[str, str]:
    return "0", "7"


def before(trace: Trace, asked: str) -> tuple[str, str]:
    pattern = trace[f"blocks.{LAYER}.attn.pattern"]
    return _ends(torch.stack([pattern[:, n, n - 1] for n in range(1, len(trace))]).mean(0))


def turning(trace: Trace, asked: str) -> tuple[str, str]:
    d, context = trace.config.d_model, trace.config.n_context
    return str(sum(2 * math.pi * 10_000 ** (2 * pair / d) <= context for pair in range(d // 2))), "0"


def change(trace: Trace, asked: str) -> tuple[str, str]:
    lines = [trace["embed.out"][-1], *(trace[f"blocks.{n}.resid.out"][-1] for n in range(trace.n_layers))]
    return _ends(torch.tensor([float((b - a).norm() / a.norm()) for a, b in itertools.pairwise(lines)]))


def half(trace: Trace, asked: str) -> tuple[str, str]:
    total, n = 0.0, 0
    for chance in sorted(trace["logits"][-1].softmax(-1).tolist(), reverse=True):
        total, n = total + chance, n + 1
        if total >= 0.5:
            break
    right = "1" if n == 1 else "4" if n <= 4 else "20" if n <= 20 else str(trace.config.n_vocab)
    return right, "20" if right != "20" else "1"


def parameters(trace: Trace, asked: str) -> tuple[str, str]:
    sizes = dict.fromkeys(("embedding", "positions", "attn", "cross", "ffn", "norm"), 0)
    for name, weight in trace.model.named_parameters():
        part = next(part for part in reversed(sizes) if part in name)
        sizes[part] += weight.numel()
    return _ends(torch.tensor([*sizes.values()]))[0], "5"


def padding(trace: Trace, asked: str) -> tuple[str, str]:
    lengths = [len(trace.tokenizer.encode(text)) for text in (TEXT, *BESIDE)]
    share = round(100 * (1 - sum(lengths) / (len(lengths) * max(lengths))))
    return str(share), str(min((n for n in range(0, 100, 15) if abs(n - share) >= 10), key=lambda n: abs(n - share)))


ANSWERS: dict[str, Callable[[Trace, str], tuple[str, str]]] = {
    "overview": surest,
    "tokens": capitals,
    "embedding": nearest,
    "attention": before,
    "position": turning,
    "block": change,
    "next_token": half,
    "architectures": parameters,
    "batch": padding,
    "cost": lambda trace, asked: ("2", "4"),
}


def question(app: AppTest) -> Any:
    (found,) = [group for group in app.get("button_group") if group.key and group.key.endswith(".guessed")]
    return found


def replies(app: AppTest, *openings: str) -> list[str]:
    return [text.value for text in app.markdown if text.value.startswith(openings)]


def guessed(app: AppTest) -> str:
    """What the address holds of it."""
    (held,) = np.atleast_1d(app.query_params["guessed"])
    return str(held)


@pytest.mark.parametrize("page", [page for page in ANSWERS if isinstance(topic(page), Topic)])
def test_a_guess_is_right_or_not_by_the_run(page: str) -> None:
    app = open_page(page, {"model": MODEL, "text": TEXT, "layer": str(LAYER), "lang": "en"})
    assert not replies(app, RIGHT, WRONG)
    right, wrong = ANSWERS[page](vm.load(MODEL).trace(TEXT), question(app).proto.label)
    question(app).set_value(right)
    app.run()
    assert len(replies(app, RIGHT)) == 1 and not app.exception
    question(app).set_value(wrong)
    app.run()
    assert len(replies(app, WRONG)) == 1 and guessed(app).startswith(f"{wrong}.")


@pytest.mark.parametrize(
    "page", [page for page in ANSWERS if page != "embedding" and not isinstance(topic(page), Topic)]
)
def test_the_run_makes_one_option_of_an_island_right(page: str) -> None:
    app = open_page(page, {"model": MODEL, "text": TEXT, "layer": str(LAYER), "lang": "en"})
    expected, _ = ANSWERS[page](vm.load(MODEL).trace(TEXT), "")
    options, right, told = quiz(app)
    assert len(options) > 1 and expected in re.findall(r"\d+", options[right]) and told


def test_the_nearest_row_is_the_nearest_of_all() -> None:
    app = open_page("embedding", {"model": MODEL, "text": TEXT, "token": "1", "lang": "en"})
    lm = vm.load(MODEL)
    table, ids = lm.model.embedding.weight.detach(), lm.trace(TEXT).ids
    for token, id in enumerate(ids):
        alike = torch.cosine_similarity(table, table[id][None])
        alike[id] = -1
        options, right, told = quiz(app, token=token)
        assert lm.tokenizer.token(int(alike.argmax())).label in (options[right] if right >= 0 else told)


def test_what_the_target_reads_of_the_source() -> None:
    lm = vm.load(TRANSLATOR)
    query = {"model": TRANSLATOR, "text": "The cat sleeps.", "target": "Le chat dort.", "to": "fr", "token": "2"}
    app = open_page("cross_attention", {**query, "side": "decoder", "lang": "en"})
    run = lm.trace(query["text"], target=query["target"], target_language="fr").at("decoder")
    rows = [run[f"blocks.{n}.cross.pattern"][:, 2] for n in range(run.n_layers)]
    best = int(torch.stack(rows).mean((0, 1)).argmax())
    options, right, told = quiz(app)
    label = run.at("encoder").tokens[best].label
    assert label in (options[right] if right >= 0 else told)


def test_a_guess_is_of_its_text_and_place_and_stands_in_the_address() -> None:
    query = {"model": MODEL, "text": TEXT, "token": "2", "lang": "en"}
    app = open_page("architectures", query)
    question(app).set_value("0")
    app.run()
    kept = guessed(app)
    verdicts = {}
    for language in LANGUAGES:
        t = Texts(language)
        again = open_page("architectures", {**query, "lang": language, "guessed": kept})
        verdicts[language] = bool(replies(again, t("common.guess_right")))
        assert replies(again, t("common.guess_right"), t("common.guess_wrong"))
    assert len({*verdicts.values()}) == 1
    other = {"model": "story-modern"}
    assert not replies(open_page("architectures", {**query, **other, "guessed": kept}), RIGHT, WRONG)
