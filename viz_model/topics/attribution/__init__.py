"""Why this token: a logit as the sum of what every part wrote, by depth, by head and by neuron."""

from viz_model.island import say, units
from viz_model.island.page import Page, Section, Topic, Typed, beside, columns, where
from viz_model.island.tabs import Trials
from viz_model.topics.attribution import (
    asked,
    choosers,
    depth,
    grid,
    neurons,
    one_head,
    patches,
    pushes,
    routes,
    tabs,
    waterfall,
)

TYPED = Typed(most=asked.LONGEST)
ROUTES = Section(
    "routes",
    (routes.title, routes.choose, beside((routes.draw,), routes.tell, routes.link)),
    (routes.CUT, routes.MANY),
    needs=routes.fits,
)
PAGE = Page(
    "attribution",
    items=(
        say.text("lead"),
        columns(*((choose, choosers.field(name), choosers.read_as(name)) for name, choose in choosers.CHOICES)),
        choosers.introduce,
        waterfall.title,
        beside((waterfall.draw, say.part("grid_title"), grid.draw, grid.hint), waterfall.tell),
        Section("part", (*where(asked.is_of_token, pushes.choose, pushes.draw_part), pushes.tell_part), ("part",)),
        Section(
            "depth",
            (
                depth.title,
                columns(
                    (*where(depth.fitted, say.part("lens_plain_title")), depth.draw, depth.source),
                    where(depth.fitted, say.part("lens_fitted_title"), depth.draw_fitted),
                ),
                columns((depth.tell,), (depth.tell_fitted,)),
                depth.ranks_title,
                *where(depth.fitted, depth.choose),
                beside(depth.draw_ranks, depth.tell_ranks),
            ),
            (depth.LENSES,),
            needs=asked.is_of_token,
        ),
        ROUTES,
        Section(
            "head",
            (
                one_head.title,
                one_head.best,
                one_head.choose,
                columns((one_head.draw, one_head.source), (one_head.tell, units.link, one_head.draw_pushes)),
            ),
            ("at",),
            lambda look: look.has("attn.pattern"),
        ),
        Section(
            "neuron",
            (
                neurons.title,
                *where(
                    neurons.count,
                    columns(
                        (neurons.choose, neurons.draw),
                        (neurons.fires_title, neurons.draw_fires, neurons.fires_part),
                        (neurons.writes_title, *where(asked.is_of_token, neurons.draw_pushes)),
                    ),
                    neurons.tell,
                    neurons.link,
                ),
            ),
            ("neuron",),
        ),
    ),
    end=(tabs.quiz, say.to_try()),
    options=(
        ("word", TYPED),
        ("against", TYPED),
        ("part", TYPED),
        ("at", ("attn", "cross")),
        ("neuron", TYPED),
        (depth.LENSES, ("fitted", "plain")),
        *routes.OPTIONS,
    ),
    tabs=tabs.TABS,
    trials=Trials(("head", "layer", "patch")),
)
PICTURES = Page(
    "attribution",
    items=(
        say.text("lead"),
        patches.choose,
        say.title("class_title", patches.facts),
        beside((patches.draw,), patches.tell),
        Section("heads", (patches.draw_heads, patches.tell_heads)),
        ROUTES,
    ),
    end=(patches.quiz, say.to_try()),
    options=(("class", range(100_000)), *routes.OPTIONS),
    tabs=patches.APART,
    fits=lambda config: config.is_vision_encoder,
)
TOPIC = Topic("attribution", (PAGE, PICTURES), of_words=True, sums_heads=True)
