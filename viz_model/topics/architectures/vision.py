"""A model that reads pictures: its parts beside those of a text encoder, its parameters, and published sizes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from viz_model.island import say
from viz_model.island.look import Look
from viz_model.island.page import Page, Section
from viz_model.island.prose import Line, line
from viz_model.island.tabs import Tabs, Worked
from viz_model.texts.markdown import row, table
from viz_model.topics.architectures import pair, parameters


def tell(look: Look) -> Iterator[Line]:
    """Which parts are as in a text encoder, and which are not."""
    config = look.config
    inputs = config.patches
    facts = {
        "patch": inputs.patch, "values": inputs.n_values, "d_model": config.d_model, "layers": config.n_layers,
        "heads": config.n_heads, "n": inputs.n_patches, "norm": config.norm_at,
    }  # fmt: skip
    rows = [row([look.words("part"), look.words("of_text"), look.words("of_picture")]), "|---|---|---|"]
    for name in ("input", "first", "positions", "blocks", "mask", "head"):
        rows.append(row([look.words(f"{of}_{name}", **facts) for of in ("name", "text", "picture")]))
    yield line("\n".join(rows))
    yield look.text("see_parts", **facts)


def sizes(look: Look) -> Iterator[Line]:
    """Where its parameters are, and how large published models are."""
    counted = parameters.count(look.trace.model)
    total = sum(counted.values())
    rows = [[look.words(f"where_{part}"), f"{n:,}", f"{n / total:.1%}"] for part, n in counted.items() if n]
    rows.append([look.words("where_total"), f"{total:,}", "100%"])
    yield line(table([look.words("where_part"), look.words("where_n"), "%"], rows))
    config = look.config
    own = {"layers": config.n_layers, "width": config.d_model, "hidden": config.d_ffn, "heads": config.n_heads}
    yield look.text("see_sizes", model=pair.own(look).code_name, total=f"{total / 1e6:.2f}", **own)


def formulas(look: Look) -> list[str]:
    names = ("patches.projected", "embed.patch", "embed.out", "class.logits")
    return [name for name in names if name in look.trace]


def hand(look: Look) -> tuple[Line, Sequence[Worked], dict[str, Any]]:
    config = look.config
    values, d_model, n = config.patches.n_values, config.d_model, config.n_context
    products = {"projection": f"{values * d_model + d_model:,}", "positions": f"{n * d_model:,}"}
    return look.text("hand_vision", values=values, d_model=d_model, n=n, **products), (), {}


def records(look: Look) -> list[tuple[str, str, Mapping[str, Sequence[object]]]]:
    weights = [(name, "×".join(map(str, w.shape)), w.numel()) for name, w in look.trace.model.named_parameters()]
    names = [look.words(f"column_{column}") for column in ("name", "shape", "numbers")]
    return [("parameters", "", dict(zip(names, map(list, zip(*weights, strict=True)), strict=True)))]


TABS = Tabs(
    formulas, hand, lambda look: ("patches.projected", "embed.patch", "class.logits"), lambda look: None,
    records=records,
)  # fmt: skip
PAGE = Page(
    "architectures_pictures",
    (say.text("lead"), tell, Section("sizes", (sizes,))),
    end=(say.to_try(),),
    tabs=TABS,
    fits=lambda config: config.is_vision_encoder,
)
