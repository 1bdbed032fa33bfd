"""What may come of each experiment: what a visitor guesses among, and what is then measured."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, NamedTuple

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.ablations.numbers.breaking import ALIKE
from viz_model.topics.ablations.pictures.guesses import GuessesView

CLEAR = 0.05
"""Differences of entropies (bits) or of cosines up to here count as none."""


class Shift(NamedTuple):
    """A measure of a run as it is, and of the changed run."""

    before: float
    after: float

    @property
    def gap(self) -> float:
        return self.after - self.before


class Reach(NamedTuple):
    """How deep a word's own vector decides: the first depth that moves the answer by less than half, if any does."""

    leaves: int | None
    n_layers: int


def _one_of(says: Text, labels: dict[str, Text]) -> list[Claim[str]]:
    """A claim for each name, that it is the one; ``says`` is of any."""
    return [Claim(name, partial(operator.eq, name), says, label) for name, label in labels.items()]


SCALE: Verdict[Shift] = Verdict(
    "ablations.scale",
    Claim(
        "sharper",
        lambda entropy: entropy.gap < -CLEAR,
        Text(
            "The mean entropy of its rows fell from {{before}} to **{{after}} bits**: on the mean, a query "
            "now spreads its weight over fewer tokens.",
            "各行的平均熵从 {{before}} 降到 **{{after}} 比特**：平均而言，一个查询的权重现在落在更少的词元上。",
        ),
        Text("sharper", "更尖锐"),
    ),
    Claim(
        "flatter",
        lambda entropy: entropy.gap > CLEAR,
        Text(
            "The mean entropy of its rows rose from {{before}} to **{{after}} bits**: against the first "
            "expectation, a query now spreads its weight, on the mean, over more tokens.",
            "各行的平均熵从 {{before}} 升到 **{{after}} "
            "比特**：与最初的预想相反，平均而言，一个查询的权重现在分散到了更多词元上。",
        ),
        Text("flatter", "更平缓"),
    ),
    Claim(
        "same",
        lambda entropy: abs(entropy.gap) <= CLEAR,
        Text(
            "The mean entropy of its rows was {{before}} bits and is **{{after}} bits**.",
            "各行的平均熵原来是 {{before}} 比特，现在是 **{{after}} 比特**。",
        ),
        Text("within 0.05 bits", "相差不超过 0.05 比特"),
    ),
)
"""Of the mean entropy of a head's rows, in bits."""

POSITION: Verdict[Shift] = Verdict(
    "ablations.position",
    Claim(
        "loses",
        lambda share: share.after < share.before / 2,
        Text(
            "The share on the token before fell from {{before}} to **{{after}}**. A head that spread its "
            "weight evenly over what it sees would put {{even}} there.",
            "给前一个词元的份额从 {{before}} 降到 **{{after}}**。如果把权重平均分给看得到的词元，那里会得到 {{even}}。",
        ),
        Text("less than half of it stays", "剩下不到一半"),
    ),
    Claim(
        "keeps",
        lambda share: share.after >= share.before / 2,
        Text(
            "The share on the token before was {{before}} and is **{{after}}**. A head that spread its "
            "weight evenly over what it sees would put {{even}} there.",
            "给前一个词元的份额原来是 {{before}}，现在是 "
            "**{{after}}**。如果把权重平均分给看得到的词元，那里会得到 {{even}}。",
        ),
        Text("half of it or more stays", "剩下一半或更多"),
    ),
)
"""Of a head's mean weight on the token before."""

SHUFFLE: Verdict[float] = Verdict(
    "ablations.shuffle",
    Claim(
        "same",
        lambda distance: distance < ALIKE,
        Text(
            "Reordered likewise, the outputs agree: their relative distance is {{as_it_is}}. In this order "
            "or the other, this model makes the same of each token.",
            "按同样的方式重新排列之后，两次的输出一致：相对距离为 "
            "{{as_it_is}}。无论哪种顺序，这个模型对每个词元的处理结果都相同。",
        ),
        Text("the same vectors, reordered", "向量相同，只是换了位置"),
    ),
    Claim(
        "other",
        lambda distance: distance >= ALIKE,
        Text(
            "Reordered likewise, the outputs of the two runs are at a relative distance of **{{as_it_is}}** "
            "(0: the same vectors). Without positions it is {{no_position}}, without the mask {{no_mask}}, "
            "without both {{neither}}.",
            "按同样的方式重新排列之后，两次输出的相对距离为 **{{as_it_is}}**（0 表示向量相同）。去掉位置时是 "
            "{{no_position}}，去掉掩码时是 {{no_mask}}，两者都去掉时是 {{neither}}。",
        ),
        Text("other vectors", "向量变了"),
    ),
)
"""Of the relative distance of shuffled outputs from reordered ones."""

MASK: Verdict[float] = Verdict(
    "ablations.mask",
    Claim(
        "little",
        lambda share: share < 0.1,
        Text(
            "**{{after}}** of the attention goes to later tokens; spread evenly it would be {{even}}.",
            "**{{after}}** 的注意力流向后面的词元；平均分的话是 {{even}}。",
        ),
        Text("under 10 %", "不到 10 %"),
    ),
    Claim(
        "some",
        lambda share: 0.1 <= share <= 0.5,
        Text(
            "**{{after}}** of the attention goes to later tokens; spread evenly it would be {{even}}.",
            "**{{after}}** 的注意力流向后面的词元；平均分的话是 {{even}}。",
        ),
        Text("10 to 50 %", "10 % 到 50 %"),
    ),
    Claim(
        "most",
        lambda share: share > 0.5,
        Text(
            "**{{after}}** of the attention goes to later tokens; spread evenly it would be {{even}}. More "
            "than half of what is read now was hidden.",
            "**{{after}}** 的注意力流向后面的词元；平均分的话是 {{even}}。现在读到的一半以上，原本是看不见的。",
        ),
        Text("over 50 %", "超过 50 %"),
    ),
)
"""Of the share of all attention that goes to later tokens."""

RESIDUAL: Verdict[Shift] = Verdict(
    "ablations.residual",
    Claim(
        "alike",
        lambda cosine: cosine.gap > CLEAR,
        Text(
            "The mean cosine between tokens after the last block rose from {{before}} to **{{after}}**.",
            "最后一块之后，词元之间的平均余弦从 {{before}} 升到 **{{after}}**。",
        ),
        Text("more alike", "更相似"),
    ),
    Claim(
        "apart",
        lambda cosine: cosine.gap < -CLEAR,
        Text(
            "The mean cosine between tokens after the last block fell from {{before}} to **{{after}}**.",
            "最后一块之后，词元之间的平均余弦从 {{before}} 降到 **{{after}}**。",
        ),
        Text("less alike", "更不相似"),
    ),
    Claim(
        "same",
        lambda cosine: abs(cosine.gap) <= CLEAR,
        Text(
            "The mean cosine between tokens after the last block was {{before}} and is **{{after}}**.",
            "最后一块之后，词元之间的平均余弦原来是 {{before}}，现在是 **{{after}}**。",
        ),
        Text("within 0.05", "相差不超过 0.05"),
    ),
)
"""Of the mean cosine between tokens after the last block."""

NORM: Verdict[Shift] = Verdict(
    "ablations.norm",
    Claim(
        "longer",
        lambda length: not length.after <= 2 * length.before,
        Text(
            "The median length after the last block went from {{before}} to **{{after}}**.",
            "最后一块之后长度的中位数从 {{before}} 变成 **{{after}}**。",
        ),
        Text("more than twice as long", "超过原来的两倍"),
    ),
    Claim(
        "shorter",
        lambda length: length.after < length.before / 2,
        Text(
            "The median length after the last block went from {{before}} down to **{{after}}**.",
            "最后一块之后长度的中位数从 {{before}} 降到 **{{after}}**。",
        ),
        Text("less than half as long", "不到原来的一半"),
    ),
    Claim(
        "same",
        lambda length: length.before / 2 <= length.after <= 2 * length.before,
        Text(
            "The median length after the last block was {{before}} and is **{{after}}**.",
            "最后一块之后长度的中位数原来是 {{before}}，现在是 **{{after}}**。",
        ),
        Text("in between", "介于两者之间"),
    ),
)
"""Of the median length of the stream after the last block; what overflowed is no number, and longer."""

HEAD: Verdict[int] = Verdict(
    "ablations.head",
    Claim(
        "survives",
        lambda n_changed: n_changed == 0,
        Text(
            "No single one of {{n}} heads changes it. Most is changed by **{{most}}** ({{most_cost}}), least "
            "by {{least}} ({{least_cost}}). In this view {{name}} is off: {{cost}}.",
            "{{n}} "
            "个头里，单独关掉哪一个都不改变它。影响最大的是**{{most}}**（{{most_cos"
            "t}}），最小的是{{least}}（{{least_cost}}）。当前视图里关掉的是{{name}}：{{cost}}。",
        ),
        Text("it survives, whichever head it is", "不变，关掉哪个头都一样"),
    ),
    Claim(
        "falls",
        lambda n_changed: n_changed > 0,
        Text(
            "{{n_changed}} of {{n}} heads, each switched off alone, change it. Most is changed by "
            "**{{most}}** ({{most_cost}}), least by {{least}} ({{least_cost}}). In this view {{name}} is "
            "off: {{cost}}.",
            "{{n}} 个头里，有 {{n_changed}} "
            "个单独关掉时会改变它。影响最大的是**{{most}}**（{{most_cost}}），最"
            "小的是{{least}}（{{least_cost}}）。当前视图里关掉的是{{name}}：{{cost}}。",
        ),
        Text("some head changes it", "有的头会改变它"),
    ),
)
"""Of how many heads change the answer, each switched off alone."""

PATTERN: Verdict[str] = Verdict(
    "ablations.pattern",
    *_one_of(
        Text(
            "Least changes if head {{head}} of layer {{layer}} looks **{{best}}** ({{best_cost}}), most if "
            "it looks {{worst}} ({{worst_cost}}). Without the head altogether the change is {{off_cost}}.",
            "让第 {{layer}} 层第 {{head}} "
            "头**{{best}}**时变化最小（{{best_cost}}），{{worst}}时变化"
            "最大（{{worst_cost}}）。完全不要这个头，变化是 {{off_cost}}。",
        ),
        {
            "uniform": Text("everywhere alike", "平均地看"),
            "previous": Text("one back", "看前一个"),
            "first": Text("at the first token", "看第一个词元"),
        },
    ),
)
"""Of the pattern that changes the answer least."""

LAYER: Verdict[str] = Verdict(
    "ablations.layer",
    *_one_of(
        Text(
            "Most is changed by leaving out **{{most}}** ({{most_cost}}), least by {{least}} "
            "({{least_cost}}). {{n_changed}} of {{n}} change the answer. In this view {{part}} of layer "
            "{{layer}} is left out: {{cost}}.",
            "跳过**{{most}}**变化最大（{{most_cost}}），跳过{{least}}变化最小（{{least_cost}}）。{{n}} "
            "个里有 {{n_changed}} 个会改变结果。当前视图里跳过的是第 {{layer}} 层的{{part}}：{{cost}}。",
        ),
        {
            "attn": Text("an attention layer", "某个自注意力层"),
            "cross": Text("a cross-attention layer", "某个交叉注意力层"),
            "ffn": Text("a feed-forward layer", "某个前馈网络"),
        },
    ),
)
"""Of the kind of the sub-layer that changes the answer most."""

NEURON: Verdict[bool] = Verdict(
    "ablations.neuron",
    Claim(
        "stays",
        lambda is_other: not is_other,
        Text(
            "Set to {{to}} (it was {{value}}), neuron {{neuron}} of layer {{layer}} changes the answer by "
            "**{{cost}}**, and it stays. Set to 0 it would change it by {{off_cost}}.",
            "设为 {{to}}（原来是 {{value}}），第 {{layer}} 层的神经元 {{neuron}} 使结果变化 "
            "**{{cost}}**，但首选不变。设为 0 会变化 {{off_cost}}。",
        ),
        Text("it stays", "不变"),
    ),
    Claim(
        "changes",
        lambda is_other: is_other,
        Text(
            "Set to {{to}} (it was {{value}}), neuron {{neuron}} of layer {{layer}} changes the answer by "
            "**{{cost}}**, to another one. Set to 0 it would change it by {{off_cost}}.",
            "设为 {{to}}（原来是 {{value}}），第 {{layer}} 层的神经元 {{neuron}} 使结果变化 "
            "**{{cost}}**，变成了另一个结果。设为 0 会变化 {{off_cost}}。",
        ),
        Text("it changes", "会变"),
    ),
)
"""Of whether the answer is another one."""

EXPERT: Verdict[bool] = Verdict(
    "ablations.expert",
    Claim(
        "stays",
        lambda is_other: not is_other,
        Text(
            "In this view: {{change}}. In layer {{layer}}, {{n_moved}} of {{n_tokens}} tokens are read by other "
            "experts than before. The answer changes by **{{cost}}**, and it stays.",
            "当前视图：{{change}}。在第 {{layer}} 层，{{n_tokens}} 个词元里有 {{n_moved}} 个换了专家。"
            "结果变化 **{{cost}}**，但首选不变。",
        ),
        Text("it stays", "不变"),
    ),
    Claim(
        "changes",
        lambda is_other: is_other,
        Text(
            "In this view: {{change}}. In layer {{layer}}, {{n_moved}} of {{n_tokens}} tokens are read by other "
            "experts than before. The answer changes by **{{cost}}**, to another one.",
            "当前视图：{{change}}。在第 {{layer}} 层，{{n_tokens}} 个词元里有 {{n_moved}} 个换了专家。"
            "结果变化 **{{cost}}**，变成了另一个结果。",
        ),
        Text("it changes", "会变"),
    ),
)
"""Of whether the answer is another one."""


class Without(NamedTuple):
    """What it costs to take an expert out, and to send all tokens to it alone, by expert; bits or 1 − cosine."""

    out: tuple[float, ...]
    alone: tuple[float, ...]


EACH_EXPERT: Verdict[Without] = Verdict(
    "ablations.each_expert",
    Claim(
        "spared",
        lambda costs: max(costs.out) < min(costs.alone),
        Text(
            "Taken out one at a time, each of the {{n}} experts is missed less than any of them suffices alone: the "
            "dearest to lose is expert {{worst}} ({{worst_cost}}), the best alone is expert {{best}} ({{best_cost}}).",
            "逐个去掉时，{{n}} 个专家中缺了哪一个，影响都小于只留任何一个：最不能缺的是专家 "
            "{{worst}}（{{worst_cost}}），单独使用时最好的是专家 {{best}}（{{best_cost}}）。",
        ),
    ),
    Claim(
        "enough",
        lambda costs: max(costs.out) >= min(costs.alone),
        Text(
            "Of the {{n}} experts, taking out expert {{worst}} costs most ({{worst_cost}}), no less than sending every "
            "token to expert {{best}} alone ({{best_cost}}).",
            "{{n}} 个专家中，去掉专家 {{worst}} 的影响最大（{{worst_cost}}），不小于把所有词元都只交给专家 "
            "{{best}} 时的影响（{{best_cost}}）。",
        ),
    ),
)
"""Of all experts of a layer, each without and each alone."""

FLIP: Verdict[bool] = Verdict(
    "ablations.flip",
    Claim(
        "stays",
        lambda is_other: not is_other,
        Text(
            "The answer stays; it has changed by {{cost}}. The attention of {{query}} on {{key}} went from "
            "{{before}} to {{after}}, and gained most was by **{{gained}}** (+{{gain}} points).",
            "结果没有变，只变化了 {{cost}}。{{query}} 对 {{key}} 的注意力从 {{before}} 变成 "
            "{{after}}，增加最多的是对 **{{gained}}** 的（+{{gain}} 个百分点）。",
        ),
        Text("it stays", "不变"),
    ),
    Claim(
        "changes",
        lambda is_other: is_other,
        Text(
            "The answer has become another one: it has changed by **{{cost}}**. The attention of {{query}} "
            "on {{key}} went from {{before}} to {{after}}, and gained most was by **{{gained}}** (+{{gain}} "
            "points).",
            "结果变成了另一个：变化了 **{{cost}}**。{{query}} 对 {{key}} 的注意力从 {{before}} 变成 "
            "{{after}}，增加最多的是对 **{{gained}}** 的（+{{gain}} 个百分点）。",
        ),
        Text("it changes", "会变"),
    ),
)
"""Of whether the answer is another one."""

PATCH: Verdict[Reach] = Verdict(
    "ablations.patch",
    Claim(
        "never",
        lambda reach: reach.leaves == 0,
        Text(
            "The answers of the two sentences are {{distance}} apart. Put in at {{word}}, the vector of "
            "{{from}} moves the answer by more than half at no depth, not even at the embedding. Of all "
            "vectors above the embedding, one at {{best}} moves it most.",
            "两个句子的结果相距 {{distance}}。放在 {{word}} 处，{{from}} "
            "的向量在任何深度都不能把结果移动一半以上，连嵌入处也不能。嵌入之上的所有向量里，移动结果最多"
            "的一个在 {{best}} 处。",
        ),
        Text("nowhere", "哪里都不能"),
    ),
    Claim(
        "early",
        lambda reach: reach.leaves is not None and 0 < reach.leaves <= reach.n_layers / 2,
        Text(
            "The answers of the two sentences are {{distance}} apart. Put in at {{word}}, the vector of "
            "{{from}} moves the answer by more than half only in the first half of the blocks: from "
            "*{{leaves}}* on it moves it by less. What the answer needs may have been copied elsewhere by "
            "then; of all vectors above the embedding, one at {{best}} moves it most.",
            "两个句子的结果相距 {{distance}}。放在 {{word}} 处，{{from}} "
            "的向量只在前一半的块里能把结果移动一半以上：从**{{leaves}}**起，移动不到一半。"
            "那时结果所需的内容可能已经被抄到别处；嵌入之上的所有向量里，移动结果最多的一个在 {{best}} 处。",
        ),
        Text("in the first half of the blocks", "只到前一半的块"),
    ),
    Claim(
        "late",
        lambda reach: reach.leaves is not None and reach.leaves > reach.n_layers / 2,
        Text(
            "The answers of the two sentences are {{distance}} apart. Put in at {{word}}, the vector of "
            "{{from}} moves the answer by more than half even in the second half of the blocks: only from "
            "*{{leaves}}* on it moves it by less. Of all vectors above the embedding, one at {{best}} moves "
            "it most.",
            "两个句子的结果相距 {{distance}}。放在 {{word}} 处，{{from}} "
            "的向量到后一半的块里还能把结果移动一半以上：从**{{leaves}}**起，才移动不到一半"
            "。嵌入之上的所有向量里，移动结果最多的一个在 {{best}} 处。",
        ),
        Text("in the second half", "到后一半的块"),
    ),
    Claim(
        "end",
        lambda reach: reach.leaves is None,
        Text(
            "The answers of the two sentences are {{distance}} apart. Put in at {{word}}, the vector of "
            "{{from}} moves the answer by more than half at every depth, up to the last block.",
            "两个句子的结果相距 {{distance}}。放在 {{word}} 处，{{from}} "
            "的向量在每个深度都把结果移动一半以上，直到最后一块。",
        ),
        Text("never: to the very end", "一直到最后"),
    ),
)
"""Of how deep a word's own vector decides over the answer."""


GUESSES: Verdict[GuessesView] = Verdict(
    "ablations.guesses",
    Claim(
        "same",
        lambda view: view.outcome == "same",
        Text(
            "What it expects at {{token}} stays {{before}} at {{p_before}}",
            "{{token}} 处的首选仍是 {{before}}，概率仍为 {{p_before}}",
        ),
    ),
    Claim(
        "stays",
        lambda view: view.outcome == "stays",
        Text(
            "{{before}} stays the first choice at {{token}}: {{p_before}} → {{p_after}}",
            "{{token}} 处的首选仍是 {{before}}：{{p_before}} → {{p_after}}",
        ),
    ),
    Claim(
        "changes",
        lambda view: view.outcome == "changes",
        Text(
            "The first choice at {{token}} goes from {{before}} ({{p_before}}) to {{after}} ({{p_new}})",
            "{{token}} 处的首选从 {{before}}（{{p_before}}）变成 {{after}}（{{p_new}}）",
        ),
    ),
)
"""Of what both runs expect."""

OUTCOMES: dict[str, Verdict[Any]] = {
    verdict.name.removeprefix("ablations."): verdict
    for verdict in (SCALE, POSITION, SHUFFLE, MASK, RESIDUAL, NORM, HEAD, PATTERN, LAYER, NEURON, EXPERT, FLIP, PATCH)
}
"""The experiments in the order in which the page offers them, and what may come of each."""
