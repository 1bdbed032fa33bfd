"""What may be said of two models side by side."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Text, Verdict

HALF = 0.5


class Lengths(NamedTuple):
    """The mean length of the residual stream before the first block and after the last."""

    begin: float
    end: float


STREAM: Verdict[Lengths] = Verdict(
    "architectures.stream",
    Claim(
        "longer",
        lambda stream: stream.end > stream.begin,
        Text(
            "In {{model}} the stream ends longer than it begins: {{end}} after {{begin}}.",
            "在 {{model}} 里，残差流最后比开始时更长：开始 {{begin}}，最后 {{end}}。",
        ),
    ),
    Claim(
        "shorter",
        lambda stream: stream.end < stream.begin,
        Text(
            "In {{model}} the stream ends shorter than it begins: {{end}} after {{begin}}.",
            "在 {{model}} 里，残差流最后比开始时更短：开始 {{begin}}，最后 {{end}}。",
        ),
    ),
    plain=Text("In {{model}} it is {{begin}} long at both ends.", "在 {{model}} 里，它在两端都长 {{begin}}。"),
)

LOOK: Verdict[float] = Verdict(
    "architectures.look",
    Claim(
        "mostly",
        lambda weight: weight > HALF,
        Text(
            "In {{model}}, {{token}} gives more than half of its weight to {{key}} ({{p}})",
            "在 {{model}} 里，{{token}} 把过半的权重给了 {{key}}（{{p}}）",
        ),
    ),
    plain=Text(
        "In {{model}}, the largest weight of {{token}} is that of {{key}} ({{p}})",
        "在 {{model}} 里，{{token}} 的权重最大的是 {{key}}（{{p}}）",
    ),
)
"""Of the largest weight that one query gives to a key."""

LARGEST: Verdict[float] = Verdict(
    "architectures.largest",
    Claim(
        "half",
        lambda share: share > HALF,
        Text(
            "In the whole of {{model}} ({{total}} parameters) more than half is **{{largest}}**: {{share}}.",
            "整个 {{model}}（{{total}} 个参数）里，过半是**{{largest}}**：{{share}}。",
        ),
    ),
    plain=Text(
        "In the whole of {{model}} ({{total}} parameters) the largest part is **{{largest}}**: {{share}}.",
        "整个 {{model}}（{{total}} 个参数）里，最大的部分是**{{largest}}**：{{share}}。",
    ),
)
"""Of the share of a model's largest part."""


class Vocabulary(NamedTuple):
    """The share of embedding and head in the smallest of some models and in the largest."""

    smallest: float
    largest: float


VOCABULARY: Verdict[Vocabulary] = Verdict(
    "architectures.vocabulary",
    Claim(
        "falls",
        lambda share: share.smallest > share.largest,
        Text(
            "From the smallest model drawn here to the largest, embedding and head fall from {{small}} to {{large}}.",
            "从这里画出的最小的模型到最大的，嵌入和预测头的占比从 {{small}} 降到 {{large}}。",
        ),
    ),
    plain=Text(
        "Embedding and head are {{small}} of the smallest model drawn here and {{large}} of the largest.",
        "在这里画出的最小的模型里，嵌入和预测头占 {{small}}，在最大的模型里占 {{large}}。",
    ),
)
