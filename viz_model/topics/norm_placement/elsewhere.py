"""The page of a model whose blocks are neither of the two: where its norms stand, and where to find the two."""

from collections.abc import Iterator

from viz_model.checkpoints import registry
from viz_model.config import ModelConfig
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.texts.markdown import literal

_SITES = ("attn.norm.out", "attn.out_norm.out", "resid.mid", "ffn.norm.out", "ffn.out_norm.out", "resid.out")


def stands_elsewhere(config: ModelConfig) -> bool:
    """Whether the blocks are put together otherwise than under Pre-LN and Post-LN."""
    return config.parallel or config.norm_at in ("branch", "both")


def tell(look: Look) -> Iterator[Line]:
    config = look.config
    place = "parallel" if config.parallel else config.norm_at
    said = look.text(f"elsewhere_{place}", model=literal(look.trace.name or ""))
    yield look.text("lead")
    yield said._replace(what="notice")
    yield look.formulas(*(name for name in _SITES if look.has(name)))
    configs = {name: registry.config_of(name) for name in registry.models()}
    found = [name for name, one in configs.items() if not one.reads_pictures and not stands_elsewhere(one)]
    if found:
        yield look.text("elsewhere_models")
        links = (f"[{name}](norm_placement?model={name}&lang={look.t.language})" for name in found)
        yield Line(" · ".join(links))
