"""What may be said of how a model tells positions apart, in a run."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Text, Verdict, exceeds
from viz_model.topics.position.numbers import OrderEffect, Reach, Turns

ROUNDING = 1e-5
"""Relative changes below this come from adding the same numbers in another order."""
FLAT = 0.05
"""Of a turn: a wave that gets no further within the context is called flat."""
EQUAL = 0.1
"""Nats a token: losses that are closer than this are called about the same."""

ORDER: Verdict[OrderEffect] = Verdict(
    "position.order",
    Claim(
        "none",
        lambda effect: max(effect.own_mask.max(), effect.no_mask.max()) < ROUNDING,
        Text(
            "Under the model's own masks it is the same: no block notices the order.",
            "用模型自己的掩码也是这样：没有一个块察觉到顺序。",
        ),
    ),
    Claim(
        "later",
        lambda effect: bool(effect.own_mask[0] < ROUNDING < effect.own_mask.max() and effect.no_mask.max() < ROUNDING),
        Text(
            "Under the model's own masks the first block does not notice either: the token sees the same tokens, in "
            "whatever order. A later block does. What tells it is the mask alone: which tokens are hidden from which "
            "depends on the order, so the other tokens' vectors have changed.",
            "用模型自己的掩码，第 0 块同样察觉不到：它看到的还是那些词元，什么顺序都一样。后面的块却察觉到了。"
            "透露顺序的只有掩码：谁看不见谁取决于顺序，所以别的词元的向量已经变了。",
        ),
    ),
    Claim(
        "at_once",
        lambda effect: bool(effect.own_mask[0] >= ROUNDING > effect.no_mask.max()),
        Text(
            "Under the model's own masks the first block notices at once: in another order the mask lets the token "
            "see other tokens, as a window does. The mask alone tells order.",
            "用模型自己的掩码，第 0 块立刻就察觉了：换了顺序，掩码让它看见的就是别的词元，窗口就是这样。"
            "透露顺序的只有掩码。",
        ),
    ),
    plain=Text(
        "Without masks the change is {{largest}} at the most, with the model's own it is {{first}} behind block 0 and "
        "{{last}} behind the last.",
        "没有掩码时变化最多 {{largest}}；用模型自己的掩码，第 0 块之后是 {{first}}，最后一块之后是 {{last}}。",
    ),
)


ALIKE: Verdict[float] = Verdict(  # the largest difference in similarity between two pairs equally far apart
    "position.alike",
    Claim(
        "distance",
        lambda spread: spread < 1e-4,
        Text(
            "Only the *distance* counts: equal distances never differ by more than {{spread}}, which is rounding, so "
            "every diagonal of the square has one colour.",
            "起作用的只有**距离**：距离相同时，差别从不超过 {{spread}}，只是舍入误差，方图里每条对角线只有一种颜色。",
        ),
    ),
    plain=Text(
        "At equal distances two pairs of positions differ by {{spread}} at the most: it also matters where they stand.",
        "距离相同的两对位置最多相差 {{spread}}：站在哪里也有影响。",
    ),
)


SLOWEST: Verdict[Turns] = Verdict(
    "position.slowest",
    Claim(
        "flat",
        lambda turns: turns.slowest < FLAT,
        Text(
            "Almost two flat lines: within the context the sine stays below {{sine}} and the cosine above {{cosine}}. "
            "Pair {{last_pair}} needs {{slowest}} positions for one turn, and the context has {{context}}: it adds "
            "almost the same two numbers everywhere.",
            "几乎是两条水平线：在上下文里正弦不超过 {{sine}}，余弦不低于 {{cosine}}。第 {{last_pair}} 对要 {{slowest}} "
            "个位置才转一圈，而上下文只有 {{context}} 个：它在每个位置加上的几乎是同样的两个数。",
        ),
    ),
    plain=Text(
        "Pair {{last_pair}} needs {{slowest}} positions for one turn, and the context has {{context}}: it gets "
        "through {{turn}} of one.",
        "第 {{last_pair}} 对要 {{slowest}} 个位置才转一圈，上下文有 {{context}} 个：它走完一圈的 {{turn}}。",
    ),
)

UNMET: Verdict[Turns] = Verdict(
    "position.unmet",
    Claim(
        "some",
        lambda turns: turns.turning < turns.pairs,
        Text(
            "Beyond the context of {{context}} tokens, pairs that never complete a turn within it (here "
            "{{unmet}} of {{pairs}}) reach angles that the model has not met. That is what the scalings mend "
            "(Chen et al. 2023; Peng et al. 2023).",
            "超过 {{context}} 个词元的上下文，转不完一圈的那些对（这里是 {{pairs}} 对中的 {{unmet}} 对）"
            "就会转到模型没见过的角度。各种缩放就是为了解决这个问题（Chen et al. 2023；Peng et al. 2023）。",
        ),
    ),
    plain=Text(
        "All {{pairs}} pairs complete a turn within the context of {{context}} tokens: beyond it single angles are "
        "not new, only their combinations.",
        "在 {{context}} 个词元的上下文里，{{pairs}} 对都能转完一圈：再往后，单个角度并不新，新的只是它们的组合。",
    ),
)


class Moved(NamedTuple):
    """The largest change of a head's scores when all tokens are moved on, and the largest score."""

    change: float
    score: float


MOVED: Verdict[Moved] = Verdict(
    "position.moved",
    Claim(
        "stays",
        lambda moved: moved.change < 1e-4 * max(1.0, moved.score),
        Text(
            "Over all {{scores}} scores of this head the largest difference is {{largest}}: rounding.",
            "这个头的全部 {{scores}} 个分数里，最大的差是 {{largest}}，那是舍入误差。",
        ),
    ),
    plain=Text(
        "Over all {{scores}} scores of this head the largest difference is {{largest}}.",
        "这个头的全部 {{scores}} 个分数里，最大的差是 {{largest}}。",
    ),
)


REACH: Verdict[Reach] = Verdict(
    "position.reach",
    Claim(
        "nearer",
        lambda reach: exceeds(reach.flattest, reach.steepest, 1),
        Text(
            "In this layer, on this sentence, the steepest looks {{near}} tokens away on average and the flattest "
            "{{far}}: the steep one stays nearer.",
            "在这一层、这句话里，最陡的头平均看 {{near}} 个词元远，最平的平均看 {{far}} 个：陡的留在近处。",
        ),
    ),
    plain=Text(
        "In this layer, on this sentence, the steepest looks {{near}} tokens away on average and the flattest {{far}}: "
        "a flat slope allows to look far, it does not make a head do so.",
        "在这一层、这句话里，最陡的头平均看 {{near}} 个词元远，最平的平均看 {{far}} 个：斜率平，只是允许看得远。",
    ),
)


BIAS: Verdict[float] = Verdict(  # the largest difference between neighbours along a diagonal of what is added
    "position.bias",
    Claim(
        "distance",
        lambda change: change < 1e-5,
        Text(
            "In this run the number depends on nothing but the head and the distance: it is the same along every "
            "diagonal. Each dot is a key that the chosen token may look at; the faint lines are the other heads.",
            "在这次运行里，这个数只取决于头和距离：每条对角线上都相同。每个点是所选词元可以看的一个键，浅色的线是其他的头。",
        ),
    ),
    plain=Text(
        "In this run the number is not the same for all keys that are equally far away: along a diagonal it changes by "
        "up to {{change}} from one query to the next. So it is shown for each query and key.",
        "在这次运行里，距离相同的键得到的数并不都一样：沿着对角线，相邻两个查询之间最多相差 {{change}}。"
        "所以这里按每个查询和键分别展示。",
    ),
)


class Beyond(NamedTuple):
    """Mean loss in nats of a text's tokens beyond the context: read in windows no longer than it, and in one piece."""

    within: float
    beyond: float


BEYOND: Verdict[Beyond] = Verdict(
    "position.beyond",
    Claim(
        "worse",
        lambda loss: loss.beyond >= loss.within + EQUAL,
        Text(
            "**{{model}}** ({{scheme}}) gets worse: {{within}} nats for a token beyond the context that is read in a "
            "window of its size, {{beyond}} in one piece.",
            "**{{model}}**（{{scheme}}）变差了：超出上下文的词元，分窗口读时平均 {{within}} 奈特，"
            "整段读时 {{beyond}} 奈特。",
        ),
    ),
    Claim(
        "same",
        lambda loss: abs(loss.beyond - loss.within) < EQUAL,
        Text(
            "**{{model}}** ({{scheme}}) stays within {{equal}} nats: {{within}} for a token beyond the context that is "
            "read in a window of its size, {{beyond}} in one piece.",
            "**{{model}}**（{{scheme}}）相差不到 {{equal}} 奈特：超出上下文的词元，分窗口读时平均 {{within}}，"
            "整段读时 {{beyond}}。",
        ),
    ),
    plain=Text(
        "**{{model}}** ({{scheme}}): {{within}} nats for a token beyond the context that is read in a window of its "
        "size, {{beyond}} in one piece.",
        "**{{model}}**（{{scheme}}）：超出上下文的词元，分窗口读时平均 {{within}} 奈特，整段读时 {{beyond}} 奈特。",
    ),
)
