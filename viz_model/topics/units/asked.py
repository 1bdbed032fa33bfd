"""Which head or neuron is asked about, and what a text says of it."""

from collections.abc import Iterator
from typing import Any

from viz_model import explain
from viz_model.claims import Claim, Verdict
from viz_model.drawing.digits import percent, written
from viz_model.explain import Unit
from viz_model.explain.sample import WINDOW, beside
from viz_model.explain.units import Role
from viz_model.island.look import Look
from viz_model.island.page import Button, Buttons, Field
from viz_model.island.prose import Line
from viz_model.measures import neurons
from viz_model.model import sites
from viz_model.texts.markdown import literal

NEURON, NUMBER = "neuron", r"[0-9]{0,6}"
"""The option that holds the number of a neuron; "" where a head is asked about."""
OFFERED = 4
"""Neurons that are offered, strongest first."""
MOSTLY = 0.5
"""More than this share of a head's weight is "mostly"."""
RARE, OFTEN = 0.05, 0.5
"""A neuron above 0 on fewer tokens than the one is rare, on more than the other frequent."""


def n_neurons(look: Look) -> int:
    return sites.n_neurons(look.config, look.trace.stack.side, look.layer)


def asked(look: Look) -> Unit:
    """The neuron whose number stands in the address, if the layer has it; else the selected head, or of a layer that
    holds a state, where heads have no weights, the neuron that is farthest from 0 at the selected token.
    """
    said = look.options.get(NEURON) or ""
    neuron = int(said) if said.isdecimal() and int(said) < n_neurons(look) else None
    if neuron is None and not look.has("attn.pattern"):
        neuron = _strongest(look)[0]
    head = look.head if neuron is None else None
    sample = None if look.lm is None else beside(look.trace.model, look.lm.folder)

    def made(look: Look) -> Unit:
        return explain.unit(look.trace, look.layer, head=head, neuron=neuron, sample=sample)

    return look.once(lambda _: made(look), ("unit", look.layer, head, neuron))


def _strongest(look: Look) -> list[int]:
    act = look.trace.row(look.site("ffn.act"), look.token).numpy()
    found: list[int] = neurons.strongest(act, OFFERED).tolist()
    return found


def kind(look: Look) -> str:
    """The end of the keys of what is said: of heads and of neurons it is not the same."""
    return "head" if is_head(look) else "neuron"


def is_head(look: Look) -> bool:
    return asked(look).neuron is None


def has_sample(look: Look) -> bool:
    return asked(look).sample is not None


ROLE: Verdict[tuple[Role, ...]] = Verdict(
    "units.role",
    Claim("induction", lambda roles: _score(roles, "repeated") > MOSTLY),
    *(
        Claim(name, lambda roles, name=name: _score(roles, name) > MOSTLY)  # type: ignore[misc]
        for name in ("previous", "itself", "first")
    ),
)
"""Of the scores of a head over a sample."""

FIRES: Verdict[float] = Verdict(
    "units.fires",
    Claim("never", lambda share: share == 0),
    Claim("rarely", lambda share: share < RARE),
    Claim("often", lambda share: share > OFTEN),
)
"""Of the share of a sample's tokens on which a neuron is above 0."""


def _score(roles: tuple[Role, ...], name: str) -> Any:
    return next(role.score for role in roles if role.name == name)


def facts(look: Look) -> dict[str, Any]:
    """For prose: which unit it is, and what it does at the selected token."""
    found = asked(look)
    known = {"layer": look.layer, "head": look.head, "neuron": found.neuron, "token": look.code_name(look.token)}
    known["name"] = look.words(f"name_{kind(look)}", **known)
    if found.sample is not None:
        known |= {"n_texts": f"{found.sample.n_texts:,}", "length": found.sample["ids"].shape[1]}
    if found.neuron is None:
        row = found.activity[look.token].numpy()
        at = int(row.argmax())
        return known | {"at": at, "key": look.code_name(at), "weight": percent(float(row[at]))}
    values = found.activity.numpy()
    most = int(values.argmax())
    known |= {"here": written(values[look.token], "2"), "most": look.code_name(most), "at": most}
    return known | {"largest": written(values[most], "2"), "is_same": len({written(one, "2") for one in values}) == 1}


def title(look: Look) -> Iterator[Line]:
    found, known = asked(look), facts(look)
    if found.sample is None:
        yield look.title("title", **known)
    elif found.neuron is None:
        roles = tuple(found.roles())
        most = max(roles, key=lambda role: role.score)
        said = {"role": look.words(f"role_{most.name}"), "score": percent(most.score)}
        said |= {role.name: percent(role.score) for role in roles}
        yield Line(ROLE.says(look.t.language, roles, **said, **known), "title")
    else:
        share = float(found.found("fires"))
        yield Line(FIRES.says(look.t.language, share, share=percent(share), **known), "title")


def choose(look: Look) -> Buttons | None:
    """The head, and the neurons of the layer that are farthest from 0 at the selected token."""
    if not n_neurons(look):
        return None
    numbers = _strongest(look)
    labels = [look.words("name_neuron", layer=look.layer, neuron=number) for number in numbers]
    head = Button(look.words("name_head", layer=look.layer, head=look.head), {NEURON: ""})
    picked = (Button(label, {NEURON: str(number)}) for label, number in zip(labels, numbers, strict=True))
    return Buttons("unit", [*([head] if look.has("attn.pattern") else []), *picked])


def field(look: Look) -> Field | None:
    """The number of any other neuron."""
    n = n_neurons(look)
    help_ = look.words("typed_help", n=f"{n - 1:,}", layer=look.layer)
    return Field(NEURON, look.words("typed"), help_, most=6, pattern=NUMBER) if n else None


def unknown(look: Look) -> Iterator[Line]:
    """That a number was asked for which the layer does not have."""
    said = look.options.get(NEURON) or ""
    if said and asked(look).neuron is None:
        yield Line(look.words("unknown", asked=literal(said), layer=look.layer, n=f"{n_neurons(look):,}"), "notice")


def no_sample(look: Look) -> Iterator[Line]:
    if not has_sample(look):
        yield look.text("no_sample", length=WINDOW)
