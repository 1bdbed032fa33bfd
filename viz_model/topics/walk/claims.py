"""What may be said of a guess on the walk."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Text, Verdict, exceeds


class Picked(NamedTuple):
    """What the visitor picked, and what the run has."""

    picked: int
    best: int


class Divided(NamedTuple):
    """The largest share with the division by √dₖ, and without it."""

    divided: float
    plain: float


class Largest(NamedTuple):
    """The token with the largest share, and the one whose values weigh most in what arrives."""

    share: int
    brought: int


class Hurt(NamedTuple):
    """How many bits the model's own first guess costs without the picked part, without the worst one, and as it is."""

    picked: float
    worst: float
    whole: float


NEXT: Verdict[Picked] = Verdict(
    "walk.next",
    Claim(
        "same",
        lambda guess: guess.picked == guess.best,
        Text(
            "You and the model agree: {{best}}, with a probability of {{chance}}.",
            "你和模型想的一样：{{best}}，概率 {{chance}}。",
        ),
    ),
    plain=Text(
        "The model puts {{best}} first, with {{chance}}. Your {{picked}} gets {{own}}.",
        "模型把 {{best}} 排在第一，概率 {{chance}}；你选的 {{picked}} 得到 {{own}}。",
    ),
)

KEY: Verdict[Picked] = Verdict(
    "walk.key",
    Claim(
        "same",
        lambda guess: guess.picked == guess.best,
        Text(
            "Right: of these the largest share goes to {{best}}, {{share}}. Watch where it comes from.",
            "对：其中份额最大的是 {{best}}，{{share}}。看看它从何而来。",
        ),
    ),
    plain=Text(
        "Of these the largest share goes to {{best}}, {{share}}; {{picked}} gets {{own}}. See how the products add up.",
        "其中份额最大的是 {{best}}，{{share}}；{{picked}} 得到 {{own}}。看看它的乘积怎样加起来。",
    ),
)

SCALE: Verdict[Divided] = Verdict(
    "walk.scale",
    Claim(
        "sharper",
        lambda shares: exceeds(shares.plain, shares.divided, 3),
        Text(
            "Sharper: without the division the largest share would be {{plain}} instead of {{divided}}.",
            "更尖锐：不除的话，最大的份额会是 {{plain}}，而不是 {{divided}}。",
        ),
    ),
    Claim(
        "flatter",
        lambda shares: exceeds(shares.divided, shares.plain, 3),
        Text(
            "Here flatter: without the division the largest share would be {{plain}} instead of {{divided}}.",
            "在这里更平：不除的话，最大的份额会是 {{plain}}，而不是 {{divided}}。",
        ),
    ),
    plain=Text(
        "Here it makes no difference: with and without it the largest share is {{divided}}.",
        "在这里没有差别：除与不除，最大的份额都是 {{divided}}。",
    ),
)

MOST: Verdict[Largest] = Verdict(
    "walk.most",
    Claim(
        "same",
        lambda largest: largest.share == largest.brought,
        Text(
            "Here it does: {{share}} has the largest share and brings most.",
            "在这里是的：{{share}} 份额最大，带来的也最多。",
        ),
    ),
    plain=Text(
        "Here it does not: {{share}} has the largest share, but {{brought}} brings more, as its values are longer.",
        "在这里不是：{{share}} 份额最大，但 {{brought}} 带来的更多，因为它的值更长。",
    ),
)

BLOCK: Verdict[Picked] = Verdict(
    "walk.block",
    Claim(
        "same",
        lambda guess: guess.picked == guess.best,
        Text("Right: from there on {{answer}} stays first.", "对：从那里起，{{answer}} 一直排第一。"),
    ),
    plain=Text(
        "From another place on {{answer}} stays first: {{place}}.",
        "不是那里：{{answer}} 一直排第一是从{{place}}开始的。",
    ),
)

HURTS: Verdict[Hurt] = Verdict(
    "walk.hurts",
    Claim(
        "worst",
        lambda hurt: hurt.picked == hurt.worst and exceeds(hurt.picked, hurt.whole, 3),
        Text(
            "Of these, yours hurts most: {{best}} falls from {{before}} to {{after}}.",
            "这几样里，你选的伤害最大：{{best}} 从 {{before}} 降到 {{after}}。",
        ),
    ),
    Claim(
        "harmless",
        lambda hurt: hurt.worst <= hurt.whole,
        Text(
            "Here none of these hurts: without yours {{best}} goes from {{before}} to {{after}}.",
            "在这里，去掉哪一样都没有伤害：少了你选的，{{best}} 从 {{before}} 变到 {{after}}。",
        ),
    ),
    plain=Text(
        "Without yours {{best}} goes from {{before}} to {{after}}; without {{worst}} it gets {{least}}.",
        "少了你选的，{{best}} 从 {{before}} 变到 {{after}}；去掉{{worst}}，它得到 {{least}}。",
    ),
)
