"""What may be said of a block, its vectors, norms and neurons, and of experiments with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.block.numbers.block import SubLayer
from viz_model.topics.block.numbers.experts import Beside, Measured
from viz_model.topics.block.numbers.neurons import Neuron
from viz_model.topics.block.numbers.real_code import Clamped, Errors
from viz_model.topics.block.pictures.lengths import LEVEL, OUTLIER, LengthsView, Outlier
from viz_model.topics.block.pictures.norm import NormView
from viz_model.topics.block.pictures.weights import WeightsView

MORE = 1.25
"""How many times as long as all others the longest vector is that adds "the most"."""
AS_DEFINED = 0.01
"""How far a deviation or a root mean square may lie from 1 and still be called so: ε keeps it below."""
FEW = 0.1
ROUNDING = 1e-4
"""Differences up to here, of values about 1, come of another order of the same sums."""


class Written(NamedTuple):
    """How long the vectors are that the sub-layers of a block write at one token; 0 where there is no such one."""

    attn: float
    ffn: float
    cross: float = 0.0


def _adds_most(part: SubLayer, en: str, zh: str) -> Claim[Written]:
    def holds(written: Written) -> bool:
        own: float = getattr(written, part)
        return own > MORE * max(getattr(written, other) for other in written._fields if other != part)

    en = f"Of what is written here, the vector of {en} is the longest: {{{{times}}}} times the next."
    return Claim(part, holds, Text(en, f"在这里写入的向量中，{zh}的最长：是第二长的 {{{{times}}}} 倍。"))


WRITTEN: Verdict[Written] = Verdict(
    "block.written",
    _adds_most("attn", "attention", "注意力"),
    _adds_most("cross", "cross-attention", "交叉注意力"),
    _adds_most("ffn", "the feed-forward network", "前馈网络"),
)

TREND: Verdict[LengthsView] = Verdict(
    "block.trend",
    Claim(
        "grow",
        lambda view: view.ratio > LEVEL,
        Text(
            "The stream grows: its median length goes from {{first}} after the embedding to {{last}} after the last "
            "block",
            "残差流变长了：长度的中位数从词嵌入之后的 {{first}} 到最后一块之后的 {{last}}",
        ),
    ),
    Claim(
        "shrink",
        lambda view: view.ratio < 1 / LEVEL,
        Text(
            "The stream gets shorter: its median length goes from {{first}} after the embedding to {{last}} after the "
            "last block",
            "残差流变短了：长度的中位数从词嵌入之后的 {{first}} 到最后一块之后的 {{last}}",
        ),
    ),
    plain=Text(
        "The median length of the stream is {{first}} after the embedding and {{last}} after the last block",
        "残差流长度的中位数：词嵌入之后是 {{first}}，最后一块之后是 {{last}}",
    ),
)

STANDS_OUT: Verdict[Outlier | None] = Verdict(
    "block.outlier",
    Claim(
        "stands_out",
        lambda outlier: outlier is not None and outlier.times >= OUTLIER,
        Text(
            "**{{outlier}}** stands out: in the {{site}} its vector is {{long}} long, {{times}} times the median of "
            "the sentence. Large models often keep a few such *massive activations*, most of them on the first token, "
            "where attention heads look when they have nothing to fetch (Sun et al. 2024). A median is hardly moved "
            "by them; a mean would be.",
            "**{{outlier}}** 特别突出：在“{{site}}”处，它的向量长 {{long}}，是全句中位数的 {{times}} 倍。"
            "大模型常有少数这样的**超大激活**（massive activations），多半在第一个词元上："
            "注意力头没有信息可取的时候，就看向它（Sun et al. 2024）。中位数几乎不受它影响，平均数则会被它拉高。",
        ),
    ),
)


def _is_one(value: float) -> bool:
    return abs(value - 1) <= AS_DEFINED


NORM: Verdict[NormView] = Verdict(
    "block.norm",
    Claim(
        "LayerNorm",
        lambda view: (
            view.normed.name == "LayerNorm"
            and view.normed.shift is not None
            and abs(view.reached[0]) <= AS_DEFINED
            and _is_one(view.reached[1])
        ),
        Text(
            "LayerNorm moves {{token}} to mean 0 and deviation 1, then scales and shifts",
            "层归一化把 {{token}} 变成均值 0、标准差 1，再缩放和平移",
        ),
    ),
    Claim(
        "RMSNorm",
        lambda view: view.normed.name == "RMSNorm" and _is_one(view.reached[2]),
        Text(
            "RMSNorm brings {{token}} to a root mean square of 1, then scales",
            "RMSNorm 把 {{token}} 的均方根变成 1，再缩放",
        ),
    ),
    plain=Text("{{norm}} at work on {{token}}", "{{norm}} 怎样处理 {{token}}"),
)

PARAMETERS: Verdict[WeightsView] = Verdict(
    "block.parameters",
    Claim(
        "ffn",
        lambda view: view.groups.get("ffn", 0) > view.total / 2,
        Text(
            "Most of the {{total}} parameters of block {{layer}}, {{ffn_share}}, are in the feed-forward network",
            "第 {{layer}} 块共有 {{total}} 个参数，大部分（{{ffn_share}}）在前馈网络里",
        ),
    ),
    plain=Text(
        "Of the {{total}} parameters of block {{layer}}, {{ffn_share}} are in the feed-forward network",
        "第 {{layer}} 块共有 {{total}} 个参数，前馈网络占 {{ffn_share}}",
    ),
)

GATE: Verdict[Neuron] = Verdict(
    "block.gate",
    Claim(
        "holds_back",
        lambda neuron: abs(neuron.gate_act or 0.0) < 0.5,
        Text(
            "The gate holds neuron {{closed}} back: up is {{closed_up}}, and less than half of it gets through, "
            "{{closed_act}}",
            "门挡住了第 {{closed}} 号神经元：up 是 {{closed_up}}，放过的不到一半，只有 {{closed_act}}",
        ),
    ),
    plain=Text(
        "Neuron {{closed}} has up {{closed_up}}, and its gate makes {{closed_act}} of it",
        "第 {{closed}} 号神经元的 up 是 {{closed_up}}，门把它变成 {{closed_act}}",
    ),
)

FIRING: Verdict[float] = Verdict(
    "block.firing",
    Claim(
        "few",
        lambda share: 0 < share < FEW,
        Text(
            "Neuron {{neuron}} is above 0 on {{share}} of the {{n_tokens}} tokens of the stories: it fires on few of "
            "them.",
            "第 {{neuron}} 号神经元在这些故事的 {{n_tokens}} 个词元中有 {{share}} 大于 0：它只在少数词元上激活。",
        ),
    ),
    Claim(
        "most",
        lambda share: share > 0.5,
        Text(
            "Neuron {{neuron}} is above 0 on {{share}} of the {{n_tokens}} tokens of the stories: on more than "
            "half, so that it fires says little of the context.",
            "第 {{neuron}} 号神经元在这些故事的 {{n_tokens}} 个词元中有 {{share}} 大于 0：超过一半，"
            "所以它激活与否，说明不了多少上下文。",
        ),
    ),
    plain=Text(
        "Neuron {{neuron}} is above 0 on {{share}} of the {{n_tokens}} tokens of the stories.",
        "第 {{neuron}} 号神经元在这些故事的 {{n_tokens}} 个词元中有 {{share}} 大于 0。",
    ),
)

INSIDE: Verdict[Errors] = Verdict(
    "block.inside",
    Claim(
        "helps",
        lambda errors: errors.half > MORE * errors.mixed > 0,
        Text(
            "{{name}}: all in 16 bits, the largest error is {{ratio}} times as large as with 32 bits inside.",
            "{{name}}：全程 16 位时，最大误差是内部用 32 位时的 {{ratio}} 倍。",
        ),
    ),
)

CLAMPED: Verdict[Clamped] = Verdict(
    "block.clamp",
    Claim(
        "saves",
        lambda clamp: clamp.lost > 0 and clamp.lost_clamped == 0,
        Text(
            "Without the clamp the norm leaves {{lost}} numbers 0 or undefined; with it none, and the cosine with the "
            "exact result is {{cosine}}.",
            "没有截断时，归一化后有 {{lost}} 个数变成 0 或无定义；有截断时一个也没有，与精确结果的余弦是 {{cosine}}。",
        ),
    ),
    plain=Text(
        "Without the clamp the norm leaves {{lost}} numbers 0 or undefined, with it {{lost_clamped}}; the cosine with "
        "the exact result is then {{cosine}}.",
        "没有截断时，归一化后有 {{lost}} 个数变成 0 或无定义，有截断时有 {{lost_clamped}} 个；"
        "此时与精确结果的余弦是 {{cosine}}。",
    ),
)

CHUNKED: Verdict[float] = Verdict(
    "block.chunks",
    Claim(
        "equal",
        lambda apart: apart == 0,
        Text("All results are equal to the last bit.", "所有结果逐位相同。"),
    ),
    Claim(
        "rounding",
        lambda apart: apart <= ROUNDING,
        Text(
            "The results are equal up to rounding: the largest difference is {{apart}}.",
            "结果在舍入误差内相同：最大差别是 {{apart}}。",
        ),
    ),
    plain=Text("The largest difference is {{apart}}.", "最大差别是 {{apart}}。"),
)


def _parts_kinds(found: Measured) -> bool:
    """Whether one kind of text gives an expert twice its even share, and another kind less than that share."""
    _, expert, share = found.most
    return share >= 2 * found.even > 0 and float(found.shares[:, expert].min()) < found.even


BY_KIND: Verdict[Measured] = Verdict(
    "block.by_kind",
    Claim(
        "parted",
        _parts_kinds,
        Text(
            "**Other texts, other experts:** of {{kind}}, expert {{expert}} reads {{share}} of the tokens, of "
            "{{other}} {{least}}; were all chosen alike it would read {{even}} of each.",
            "**不同的文本，不同的专家：**专家 {{expert}} 读{{kind}}中 {{share}} 的词元，{{other}}中 {{least}}；"
            "若所有专家同样常被选中，每种文本都应是 {{even}}。",
        ),
    ),
    plain=Text(
        "The largest share of all is that of expert {{expert}} of {{kind}}: {{share}} of the tokens. Of {{other}} it "
        "reads {{least}}; were all chosen alike it would read {{even}} of each.",
        "所有份额中最大的是专家 {{expert}} 在{{kind}}中的：{{share}} 的词元。它读{{other}}中的 {{least}}；"
        "若所有专家同样常被选中，每种文本都应是 {{even}}。",
    ),
)
"""Of what the experts of a layer got of several kinds of text."""

LOAD: Verdict[Measured] = Verdict(
    "block.load",
    Claim(
        "even",
        lambda found: bool((np.abs(found.shares.mean(0) / found.even - 1) <= 0.5).all()),
        Text(
            "Over all these kinds together no expert is idle and none is swamped: each reads between half and one and "
            "a half times its even share. The measure of balance, E · Σ f·P, is {{balance}} (1 where all get alike).",
            "把各种文本合在一起看，没有专家闲着，也没有专家过载：每个专家分到的都在平均份额的一半到一倍半之间。均衡度 "
            "E · Σ f·P 为 {{balance}}（分得一样多时为 1）。",
        ),
    ),
    plain=Text(
        "Over all these kinds together the measure of balance, E · Σ f·P, is {{balance}} (1 where all get alike).",
        "把各种文本合在一起看，均衡度 E · Σ f·P 为 {{balance}}（分得一样多时为 1）。",
    ),
)
"""Of how evenly the experts of a layer are chosen."""

SAME_LOSS = 0.01
"""Nats a token up to which two losses count as one."""

SIBLING: Verdict[Beside] = Verdict(
    "block.sibling",
    Claim(
        "routed",
        lambda found: found.losses[0] < found.losses[1] - SAME_LOSS,
        Text(
            "On this text the model with experts expects the {{n}} tokens better: {{routed}} nats a token against "
            "{{dense}} of {{sibling}}.",
            "在这段文本上，带专家的模型对这 {{n}} 个词元预测得更好：每个词元 {{routed}} 奈特，"
            "{{sibling}} 是 {{dense}}。",
        ),
    ),
    Claim(
        "dense",
        lambda found: found.losses[1] < found.losses[0] - SAME_LOSS,
        Text(
            "On this text {{sibling}} expects the {{n}} tokens better: {{dense}} nats a token against {{routed}} of "
            "the model with experts.",
            "在这段文本上，{{sibling}} 对这 {{n}} 个词元预测得更好：每个词元 {{dense}} 奈特，"
            "带专家的模型是 {{routed}}。",
        ),
    ),
    plain=Text(
        "On the {{n}} tokens of this text the loss is {{routed}} nats a token with experts, and {{dense}} of "
        "{{sibling}}.",
        "在这段文本的 {{n}} 个词元上，带专家的模型损失为每个词元 {{routed}} 奈特，{{sibling}} 为 {{dense}}。",
    ),
)
"""Of a sentence as a model with experts and its dense sibling read it."""
