"""What may be said of a sum, of a prediction by depth, and of a key that is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from viz_model.claims import Claim, Text, Verdict
from viz_model.runs.measures import is_sink
from viz_model.topics.attribution.numbers.lens import MOST, Depths


def _is_most(share: float) -> bool:
    """Whether it is more than half as it is told, to a tenth of a per cent: beside "50.0%" no part is most."""
    return round(share, 3) > MOST


PARTS: Verdict[Sequence[float]] = Verdict(
    "attribution.parts",
    Claim(
        "none",
        lambda lifts: not len(lifts),
        Text("No part lifts it: every part lowers the sum.", "没有部件把它抬高：每个部件都在拉低总和。"),
        Text("no part lifts it", "没有部件把它抬高"),
    ),
    Claim(
        "one",
        lambda lifts: _is_most(lifts[0]),
        Text(
            "Most of what lifts it, {{share_one}}, comes from one part: {{one}}.",
            "把它抬高的量大半（{{share_one}}）来自一个部件：{{one}}。",
        ),
        Text("mostly {{name_one}}", "主要来自{{name_one}}"),
    ),
    Claim(
        "two",
        lambda lifts: _is_most(sum(lifts[:2])),
        Text(
            "Most of what lifts it, {{share_two}}, comes from two parts: {{two}}.",
            "把它抬高的量大半（{{share_two}}）来自两个部件：{{two}}。",
        ),
        Text("mostly {{names_two}}", "主要来自{{names_two}}"),
    ),
    plain=Text(
        "The two parts that lift it most are {{two}}: together {{share_two}} of all that lifts it. "
        "For half of it the {{n_half}} largest are needed.",
        "抬高最多的两个部件是{{two}}，合起来占全部抬高量的 {{share_two}}；要凑够一半，得有最大的 {{n_half}} 个部件。",
    ),
    label=Text("{{n_half}} parts make half of what lifts it", "抬高量的一半来自 {{n_half}} 个部件"),
)
"""Of the shares that parts have in all that lifts a sum, the largest first: how many it takes."""

_GROUPS = {
    "embedding": Text(
        "Of the four groups what was embedded adds most: {{embedding}}.",
        "四组之中，嵌入贡献最大：{{embedding}}。",
    ),
    "attention": Text(
        "Of the four groups the attention heads add most: {{attention}}.",
        "四组之中，注意力头贡献最大：{{attention}}。",
    ),
    "ffn": Text(
        "Of the four groups the feed-forward layers add most: {{ffn}}.",
        "四组之中，前馈网络贡献最大：{{ffn}}。",
    ),
    "constant": Text(
        "Of the four groups the biases and shifts add most, which are the same for every text: {{constant}}.",
        "四组之中，对任何文本都一样的偏置和 β 贡献最大：{{constant}}。",
    ),
}


def _adds_most(group: str) -> Claim[Mapping[str, float]]:
    def holds(groups: Mapping[str, float]) -> bool:
        return all(groups[group] > value for name, value in groups.items() if name != group)

    return Claim(group, holds, _GROUPS[group])


GROUPS: Verdict[Mapping[str, float]] = Verdict("attribution.groups", *map(_adds_most, _GROUPS))
"""Of a sum in four groups."""


LENS: Verdict[Depths] = Verdict(
    "attribution.lens",
    Claim(
        "own",
        lambda seen: seen.own[0] > MOST * seen.n and seen.own[-1] < MOST * seen.n,
        Text(
            "Before any block, {{own_first}} of {{n}} tokens name themselves; at the end, {{own_last}}",
            "进入第一块之前，{{n}} 个词元里有 {{own_first}} 个指向自己；到最后是 {{own_last}} 个",
        ),
    ),
    plain=Text("What the model would say if it stopped after each block", "如果在某一块之后就停下，模型会说什么"),
)

DECIDED: Verdict[Depths] = Verdict(
    "attribution.decided",
    Claim(
        "last",
        lambda seen: seen.decided == len(seen.depths) - 1 and seen.depths[-1] - seen.depths[-2] == 1,
        Text(
            "Only after the last block do most of these {{n}} positions say what they say in the end: "
            "stopped one block before it, {{n_before}} of them do.",
            "过了最后一块，这 {{n}} 个位置的大多数才说出最后的答案：在它之前停下，这样说的有 {{n_before}} 个。",
        ),
    ),
    plain=Text(
        "Stopped after *{{decided}}*, {{n_decided}} of these {{n}} positions already say what they say in the end; "
        "from there on it is more than half at every depth that is shown.",
        "停在“{{decided}}”之后，这 {{n}} 个位置里有 {{n_decided}} 个说的已经是最后的答案；"
        "从那里起，图中每一列都超过半数。",
    ),
)

PATHS: Verdict[Sequence[int]] = Verdict(
    "attribution.paths",
    Claim(
        "start",
        lambda ranks: all(rank == 1 for rank in ranks),
        Text(
            "{{target}} is the first choice from the embedding on, and stays it to the end, with {{share_last}}.",
            "从嵌入开始，{{target}} 一直是首选，最后的概率是 {{share_last}}。",
        ),
    ),
    Claim(
        "later",
        lambda ranks: ranks[-1] == 1,
        Text(
            "Before any block, {{target}} has rank {{rank_first}}; stopped after *{{settled}}* or any later, it is the "
            "first choice, with {{share_last}} in the end.",
            "进入第一块之前，{{target}} 排第 {{rank_first}}；停在“{{settled}}”或更晚，它就是首选，"
            "最后的概率是 {{share_last}}。",
        ),
    ),
    plain=Text(
        "Before any block, {{target}} has rank {{rank_first}}, in the end rank {{rank_last}} with {{share_last}}.",
        "进入第一块之前，{{target}} 排第 {{rank_first}}，最后排第 {{rank_last}}，概率 {{share_last}}。",
    ),
)
"""Of a token's ranks by depth (1 is first)."""

SINK: Verdict[tuple[float, float]] = Verdict(
    "attribution.sink",
    Claim(
        "sink",
        lambda key: bool(is_sink(*key)),
        Text(
            "{{sink}} is an *attention sink* here: it takes {{weight}} of the weight, but {{share}} of what arrives "
            "comes from it. A head may park its attention on such a token when it has nothing to fetch "
            "(Xiao et al. 2023).",
            "{{sink}} 在这里是**注意力汇**（attention sink）：它占了 {{weight}} 的权重，到达的内容却只有 {{share}} "
            "来自它。头没有东西可取时，可能就把注意力停在这样的词元上（Xiao et al. 2023）。",
        ),
    ),
)
"""Of the weight of the key that a head weighs most, and its share of what arrives."""
