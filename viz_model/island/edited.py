"""A visitor's interventions in words."""

from viz_model.runs import edits
from viz_model.runs.edits import Edit
from viz_model.texts import Texts
from viz_model.texts.markdown import literal


def describe(edit: Edit, t: Texts) -> str:
    """An edit in a few words."""
    match edit:
        case edits.AblateHead(to=to):
            words = t(f"edits.head_off_{to}", layer=edit.layer, head=edit.head)
        case edits.FixPattern(pattern=pattern):
            kind = pattern if isinstance(pattern, str) else "rows"
            words = t("edits.pattern", layer=edit.layer, head=edit.head, pattern=t(f"edits.pattern_{kind}"))
        case edits.SetNeuron(position=position):
            words = t("edits.neuron", layer=edit.layer, neuron=edit.neuron, value=f"{edit.value:g}")
            words += "" if position is None else t("edits.at_position", position=position)
        case edits.ExpertOff():
            words = t("edits.expert_off", layer=edit.layer, expert=edit.expert)
        case edits.ExpertOnly(position=position):
            words = t("edits.expert_only", layer=edit.layer, expert=edit.expert)
            words += "" if position is None else t("edits.at_position", position=position)
        case edits.Skip(part=part):
            words = t("edits.skip", layer=edit.layer, part=t(f"edits.part_{part}"))
        case edits.PatchResidual():
            source = literal(edit.from_text) if edit.from_text is not None else t("edits.patch_ids")
            words = t("edits.patch", site=literal(edit.site), position=edit.position, source=source)
        case edits.FlipMask(key=key, layer=layer):
            what = "edits.flip_row" if key is None else "edits.flip_cell"
            words = t(what, query=edit.query, key=key) + ("" if layer is None else t("edits.in_layer", layer=layer))
        case edits.ShuffleTokens(seed=seed):
            words = t("edits.shuffle_order") if seed is None else t("edits.shuffle_seed", seed=seed)
        case _:
            words = t(f"edits.{edit.tag.replace('-', '_')}")
    words += t("edits.in_cross") if getattr(edit, "attention", "attn") == "cross" else ""
    side = getattr(edit, "side", None)
    return words + (t(f"edits.in_{side}") if side is not None else "")
