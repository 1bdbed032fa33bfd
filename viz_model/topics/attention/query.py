"""The selected query's way from its products with the keys to what it mixes of the values."""

from collections.abc import Iterator

from viz_model.drawing.scene import Scene
from viz_model.island import query
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.measures.heads import STRONGEST
from viz_model.topics.attention.heads import PLACE, facts, largest


def draw(look: Look) -> Scene:
    """A column a key, a row a step, and below them the sizes of the weighted values."""
    scene = query.draw(look, "attention.steps")
    notes = [scene.note, "" if look.config.scale_scores else look.words("no_scale")]
    call = look.call("steps", layer=look.layer, head=look.head, token=look.token)
    return look.drawn(scene, scene.sites, note=" ".join(filter(None, notes)), data=query.whole(look), call=call)


def title(look: Look) -> Iterator[Line]:
    reads = look.claim_label(STRONGEST, look.once(largest), PLACE, **facts(look))
    yield look.title("steps_title", reads=reads)
