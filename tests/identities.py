"""What holds between the values of any run, whatever the variant."""

from __future__ import annotations

import torch
from tiny_models import close

from viz_model.config import Gated
from viz_model.model import sites
from viz_model.runs.trace import Trace


def views(trace: Trace) -> list[Trace]:
    """The run, seen from each of its stacks."""
    return [trace.at(side) for side in trace.config.sides]


def attentions(trace: Trace) -> list[str]:
    """The attention layers of a view: ``blocks.0.attn``, ``blocks.0.cross``, …"""
    kinds = ("attn", "cross") if "blocks.0.cross.q" in trace else ("attn",)
    return [f"blocks.{i}.{kind}" for i in range(trace.n_layers) for kind in kinds]


def value_or_0(trace: Trace, name: str) -> torch.Tensor | float:
    """A value that not every variant has."""
    return trace[name] if name in trace else 0.0  # noqa: SIM401 (a Trace is no dictionary)


def stream_length(trace: Trace, site: str) -> torch.Tensor:
    """‖r‖ of each position [T] before a norm that stands on the stream: a sum of Post-LN is added up again."""
    if site == "embed.out" or trace.norm_at != "post" or trace.config.parallel or not trace.config.residual:
        return trace[site].norm(dim=-1)
    at, _, place = site.rpartition(".")
    places = ["in", *(one for one in ("mid", "cross", "out") if f"{at}.{one}" in trace)]
    before = f"{at}.{places[places.index(place) - 1]}"
    part = {"mid": "attn", "cross": "cross", "out": "ffn"}[place]
    return (trace[before] + trace[f"{at.removesuffix('.resid')}.{part}.out"]).norm(dim=-1)


def check_identities(trace: Trace, *, edited: frozenset[str] = frozenset()) -> None:
    for view in views(trace):
        for at in attentions(view):
            pattern = view[f"{at}.pattern"]
            rows = torch.ones_like(pattern[..., 0])
            if f"{at}.sink" in view:
                whole = torch.cat((view[f"{at}.masked"], view[f"{at}.sink"][..., None]), -1)
                rows = 1 - whole.softmax(-1)[..., -1]
            torch.testing.assert_close(pattern.sum(-1), rows)
            hidden = view[f"{at}.mask"].isinf()
            assert (pattern[hidden] == 0).all()
            bias = value_or_0(view, f"{at}.bias")
            scores, cap = view[f"{at}.scores"], trace.config.score_cap
            if cap is not None:
                close(view[f"{at}.capped"], cap * torch.tanh(scores / cap))
                scores = view[f"{at}.capped"]
            close(view[f"{at}.masked"][~hidden], (scores + bias)[~hidden])
            values = torch.stack([view.head(f"{at}.v", head) for head in range(trace.config.n_heads)])
            if f"{view.prefix}{at}" not in edited:
                close(pattern @ values, view[f"{at}.z"])
            block = view.stack.block(int(at.split(".")[1]))
            layer = getattr(block, at.split(".")[2])
            written = view[f"{at}.head_out"].sum(0)
            close(written if layer.o.bias is None else written + layer.o.bias, view[f"{at}.out"])
        stream = view["embed.out"]
        for i in range(view.n_layers):
            at = f"blocks.{i}."
            assert torch.equal(view[at + "resid.in"], stream)
            for sublayer in ("attn", "cross", "ffn", "input"):
                after = sites.resid_of(trace.config, sublayer)
                if at + f"{sublayer}.out" not in view:
                    continue
                written, block = view[f"{at}{sublayer}.out"], view.stack.block(i)
                if sublayer == "input":  # which reads the stream as it is
                    norm, normed = torch.nn.Identity(), stream
                else:
                    norm, normed = getattr(block, f"{sublayer}_norm"), view[f"{at}{sublayer}.norm.out"]
                if view.norm_at == "branch":
                    close(normed, norm(written))
                    written = normed
                elif view.norm_at == "both":
                    behind = view[f"{at}{sublayer}.out_norm.out"]
                    close(behind, getattr(block, f"{sublayer}_out_norm")(written))
                    written = behind
                added = stream + written if trace.config.residual else written
                if view.norm_at in ("pre", "both"):
                    close(normed, norm(view[f"{at}resid.in"] if trace.config.parallel else stream))
                if view.norm_at == "post":
                    close(normed, norm(added))
                assert torch.equal(view[f"{at}{after}"], normed if view.norm_at == "post" else added)
                stream = view[f"{at}{after}"]
            if trace.config.block_scale:
                stream = stream * view.stack.block(i).get_parameter("scale")
                close(view[f"{at}resid.out"], stream)
                stream = view[f"{at}resid.out"]
            if isinstance(trace.config.ffn, Gated):
                close(view[at + "ffn.gate_act"] * view[at + "ffn.up"], view[at + "ffn.act"])
