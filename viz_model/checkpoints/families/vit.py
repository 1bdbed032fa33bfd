"""The Vision Transformer (Dosovitskiy et al. 2021): an encoder over patches, LayerNorm before each sub-layer.

Beside the weights lies what the image processor does before, ``preprocessor_config.json``: to which size, by which mean
and deviation. Files of classifiers hold a head under ``classifier``; one of a single number, which is no class, and the
pooler of others are left out, and the model says so.
"""

from viz_model.checkpoints.families.attributes import ACTIVATIONS, Attributes, names, usual
from viz_model.checkpoints.renames import Rename, ignored, rename, task_head
from viz_model.checkpoints.weights import ModelError
from viz_model.config import ClassHead, Dense, LayerNorm, Learned, ModelConfig, NoHead, Patches
from viz_model.images import Resample

SIZES = usual(n_layers=12, d_model=768, n_heads=12, d_ffn=3072)
NAMES = {**names(SIZES), "norm": "layer_norm_eps", "inputs": "image_size", "head": "id2label"}
PROCESSOR = "preprocessor_config.json"
"""Where the attribute "preprocessor" comes from, an object."""

_RESAMPLE: tuple[Resample, ...] = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
_NO_EFFECT = """
    crop_size data_format default_to_square device disable_grouping do_convert_rgb do_resize feature_extractor_type
    image_processor_type image_seq_length input_data_format pad_size processor_class return_tensors size_divisor
"""


def config(a: Attributes) -> ModelConfig:
    a.no_effect(["encoder_stride", "pooler_output_size", "pooler_act"])
    inputs = _patches(a)
    has_classifier = a.holds("classifier.")
    labels = a.by_number("id2label") or tuple(f"LABEL_{n}" for n in range(a.size("num_labels", 2)))
    return ModelConfig(
        **a.sizes(SIZES),
        kind="encoder",
        inputs=inputs,
        n_vocab=0,
        n_context=inputs.n_patches + 1,
        norm=LayerNorm(eps=a.number("layer_norm_eps", 1e-12)),
        norm_at="pre",
        position=Learned(),
        ffn=Dense(activation=a.choice("hidden_act", ACTIVATIONS, "gelu")),
        head=ClassHead(labels=labels) if has_classifier and len(labels) > 1 else NoHead(),
        attention_bias=a.flag("qkv_bias", True),
        attention_out_bias=True,
        tie_embeddings=False,
        scale_embedding=False,
    )


def _patches(a: Attributes) -> Patches:
    height, width = a.pair("image_size", 224)
    patch, other = a.pair("patch_size", 16)
    if patch != other:
        raise ModelError(f"{a.path}: patch_size: expected a square, got {patch} × {other}")
    channels, processor = a.size("num_channels", 3), a.inner("preprocessor")
    if processor is None:
        raise ModelError(f"{a.path.parent / PROCESSOR}: no such file, and what becomes of a pixel stands there")
    p = Attributes(processor.plain, a.path.parent / PROCESSOR)
    p.no_effect(_NO_EFFECT.split())
    for name, only in (("do_rescale", True), ("do_center_crop", False), ("do_pad", False)):
        p.one_value(name, only)
    if abs((factor := p.number("rescale_factor", 1 / 255)) * 255 - 1) > 1e-6:
        raise ModelError(f"{p.path}: rescale_factor: expected 1/255, got {factor}")
    if (size := _size(p)) not in ((height, width), None):
        raise ModelError(f"{p.path}: size: the model reads {height} × {width} pixels, got {size[0]} × {size[1]}")
    resample = p.size("resample", 2, at_least=0)
    if resample >= len(_RESAMPLE):
        raise ModelError(f"{p.path}: resample: expected 0 to {len(_RESAMPLE) - 1}, got {resample}")
    mean, std = p.numbers("image_mean", (0.5,) * channels), p.numbers("image_std", (0.5,) * channels)
    if not p.flag("do_normalize", True):
        mean, std = (0.0,) * channels, (1.0,) * channels
    p.finish()
    return Patches(
        height=height, width=width, patch=patch, channels=channels, mean=mean, std=std, resample=_RESAMPLE[resample]
    )


def _size(p: Attributes) -> tuple[int, int] | None:
    """Height and width; older files have one number for both."""
    if isinstance(p.plain.get("size"), int):
        return p.pair("size", None)
    size = p.inner("size")
    if size is None:
        return None
    found = size.size("height"), size.size("width")
    size.finish()
    return found


def renames(config: ModelConfig) -> list[Rename]:
    """Patches and blocks; the prefix is absent where there is no classifier."""
    given = config.patches
    embeddings, theirs, ours = "[vit.]embeddings.", "[vit.]encoder.layer.{layer}.", "encoder.blocks.{layer}."
    kernel = (given.channels, given.patch, given.patch)
    return [
        rename(f"{embeddings}cls_token", "patches.cls", joined=(1, 1, config.d_model)),
        rename(f"{embeddings}patch_embeddings.projection.weight", "patches.projection.weight", joined=kernel),
        rename(f"{embeddings}patch_embeddings.projection.bias", "patches.projection.bias"),
        rename(f"{embeddings}position_embeddings", "encoder.position.table.weight", how="row"),
        *(rename(f"{theirs}attention.attention.{x}.*", f"{ours}attn.{x[0]}.*") for x in ("query", "key", "value")),
        rename(f"{theirs}attention.output.dense.*", f"{ours}attn.o.*"),
        rename(f"{theirs}layernorm_before.*", f"{ours}attn_norm.*"),
        rename(f"{theirs}layernorm_after.*", f"{ours}ffn_norm.*"),
        rename(f"{theirs}intermediate.dense.*", f"{ours}ffn.up.*"),
        rename(f"{theirs}output.dense.*", f"{ours}ffn.down.*"),
        rename("[vit.]layernorm.*", "encoder.final_norm.*"),
        rename("classifier.*", "head.classes.*") if config.classes else task_head("classifier.*"),
        ignored(f"{embeddings}mask_token", "it stands for patches that are hidden while training"),
        task_head("[vit.]pooler.dense.*"),
        task_head("decoder.0.*"),
    ]
