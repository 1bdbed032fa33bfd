"""What may be said of the whole run: what the model expects, where a token looks, and where a prediction is sharper."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Text, Verdict, exceeds
from viz_model.topics.overview.numbers import Look


class Next(NamedTuple):
    """The first guess after a token: its probability, and whether it is the end of the text."""

    chance: float
    is_end: bool


class Seen(NamedTuple):
    """The largest weight that a token gives another place of its own text, over all heads; None where it gives none."""

    token: int
    look: Look | None


class Ends(NamedTuple):
    """Entropy in bits of what is predicted after the first and after the last of ``n`` tokens."""

    n: int
    first: float
    last: float


NEXT: Verdict[Next] = Verdict(
    "overview.next",
    Claim(
        "ends",
        lambda guess: guess.is_end and guess.chance > 0.5,
        Text(
            "**After {{token}}, the model expects the text to end: {{guess}} ({{chance}}).**",
            "**在 {{token}} 之后，模型预计文本到此结束：{{guess}}（{{chance}}）。**",
        ),
    ),
    Claim(
        "expects",
        lambda guess: guess.chance > 0.5,
        Text(
            "**After {{token}}, the model expects {{guess}} ({{chance}}).**",
            "**在 {{token}} 之后，模型预计是 {{guess}}（{{chance}}）。**",
        ),
    ),
    Claim(
        "may_end",
        lambda guess: guess.is_end,
        Text(
            "**After {{token}}, the model's first guess is that the text ends: {{guess}} ({{chance}}).**",
            "**在 {{token}} 之后，模型的首选是文本到此结束：{{guess}}（{{chance}}）。**",
        ),
    ),
    plain=Text(
        "**After {{token}}, the model's first guess is {{guess}} ({{chance}}).**",
        "**在 {{token}} 之后，模型的首选是 {{guess}}（{{chance}}）。**",
    ),
)

LOOK: Verdict[Seen] = Verdict(
    "overview.look",
    Claim(
        "none",
        lambda seen: seen.look is None,
        Text(
            "It gives no other token of its own text any weight: of that text it has only itself to go by.",
            "它没有给自己这段文本里的其他词元任何权重：在这段文本里，它只能靠自己。",
        ),
    ),
    Claim(
        "back",
        lambda seen: seen.look is not None and seen.look.position < seen.token,
        Text(
            "Of all weights that it gives other tokens the largest goes back to {{seen}}: {{weight}} of the weight of "
            "head {{head}} in layer {{layer}}.",
            "它分给其他词元的权重里，最大的一份给了前面的 {{seen}}：第 {{layer}} 层第 {{head}} 头的 {{weight}}。",
        ),
    ),
    plain=Text(
        "Of all weights that it gives other tokens the largest goes ahead to {{seen}}: {{weight}} of the weight of "
        "head {{head}} in layer {{layer}}.",
        "它分给其他词元的权重里，最大的一份给了后面的 {{seen}}：第 {{layer}} 层第 {{head}} 头的 {{weight}}。",
    ),
)

SHARPER: Verdict[Ends] = Verdict(
    "overview.sharper",
    Claim("one", lambda ends: ends.n == 1, Text("This text has a single token.", "这段文本只有一个词元。")),
    Claim(
        "last",
        lambda ends: exceeds(ends.first, ends.last, 2),
        Text(
            "Here the prediction after the last token is the less open one: its entropy is {{last}} bits, after the "
            "first token {{first}} bits.",
            "在这里，最后一个词元之后的预测更确定：熵是 {{last}} 比特，第一个词元之后是 {{first}} 比特。",
        ),
    ),
    plain=Text(
        "Knowing more need not make a prediction less open: here its entropy is {{first}} bits after the first token "
        "and {{last}} bits after the last.",
        "掌握的信息更多，预测不一定更确定：在这里，第一个词元之后的熵是 {{first}} 比特，最后一个之后是 {{last}} 比特。",
    ),
)
