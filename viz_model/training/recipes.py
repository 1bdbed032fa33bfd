"""How each bundled model is trained: everything its result depends on, in one value."""

from __future__ import annotations

from dataclasses import dataclass, replace

from viz_model.config import Dense, LayerNorm, ModelConfig, Sinusoidal


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """A config and the run that trains it.

    Learning rate: linear warm-up to ``peak_rate`` over ``warmup`` steps, then a cosine down to
    a tenth of it. One step reads ``windows`` × n_context tokens.
    """

    config: ModelConfig
    steps: int
    windows: int = 8
    peak_rate: float = 2e-3
    warmup: int = 400
    weight_decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.98)
    clip: float = 1.0
    seed: int = 0
    validate_every: int = 250


_PRE_LN = Recipe(
    config=ModelConfig(
        n_vocab=8192,
        n_context=256,
        n_layers=4,
        d_model=192,
        n_heads=6,
        d_ffn=768,
        norm=LayerNorm(eps=1e-5),
        norm_at="pre",
        position=Sinusoidal(base=10_000.0),
        ffn=Dense(activation="relu"),
    ),
    steps=4500,
)

# The twins differ in one field. Anything else that changed between them would be a reason for
# what a visitor sees, other than where the norm stands.
RECIPES: dict[str, Recipe] = {
    "story-pre-ln": _PRE_LN,
    "story-post-ln": replace(_PRE_LN, config=replace(_PRE_LN.config, norm_at="post")),
}
