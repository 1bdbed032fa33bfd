"""What may come of each experiment: what a visitor guesses among, and what is then measured."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, NamedTuple

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.ablations.left_out import MASK, NORM, POSITION, RESIDUAL, SCALE
from viz_model.topics.ablations.numbers.breaking import ALIKE
from viz_model.topics.ablations.pictures.guesses import GuessesView


class Reach(NamedTuple):
    """How deep a word's own vector decides: the first depth that moves the answer by less than half, if any does."""

    leaves: int | None
    n_layers: int


def _another(name: str, stays: Text, changes: Text) -> Verdict[bool]:
    """Of whether the answer is another one."""
    return Verdict(
        f"ablations.{name}",
        Claim("stays", operator.not_, stays, Text("it stays", "不变")),
        Claim("changes", bool, changes, Text("it changes", "会变")),
    )


def _one_of(says: Text, labels: dict[str, Text]) -> list[Claim[str]]:
    """A claim for each name, that it is the one; ``says`` is of any."""
    return [Claim(name, partial(operator.eq, name), says, label) for name, label in labels.items()]


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

HEAD: Verdict[int] = Verdict(
    "ablations.head",
    Claim(
        "survives",
        lambda n_changed: n_changed == 0,
        Text(
            "No single one of {{n}} heads changes it. Most is changed by **{{most}}** ({{most_cost}}), least "
            "by {{least}} ({{least_cost}}). In this view {{name}} is off: {{cost}}.",
            "{{n}} 个头里，单独关掉哪一个都不改变它。影响最大的是**{{most}}**（{{most_cost}}），最小的是{{least}}"
            "（{{least_cost}}）。当前视图里关掉的是{{name}}：{{cost}}。",
        ),
        Text("it survives, whichever head it is", "不变，关掉哪个头都一样"),
    ),
    Claim(
        "falls",
        lambda n_changed: n_changed > 0,
        Text(
            "{{n_changed}} of {{n}} heads, each switched off alone, change it. Most is changed by **{{most}}** "
            "({{most_cost}}), least by {{least}} ({{least_cost}}). In this view {{name}} is off: {{cost}}.",
            "{{n}} 个头里，有 {{n_changed}} 个单独关掉时会改变它。影响最大的是**{{most}}**（{{most_cost}}），最小的是"
            "{{least}}（{{least_cost}}）。当前视图里关掉的是{{name}}：{{cost}}。",
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
            "让第 {{layer}} 层第 {{head}} 头**{{best}}**时变化最小（{{best_cost}}），{{worst}}时变化最大"
            "（{{worst_cost}}）。完全不要这个头，变化是 {{off_cost}}。",
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
            "Most is changed by leaving out **{{most}}** ({{most_cost}}), least by {{least}} ({{least_cost}}). "
            "{{n_changed}} of {{n}} change the answer. In this view {{part}} of layer {{layer}} is left out: {{cost}}.",
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

NEURON = _another(
    "neuron",
    Text(
        "Set to {{to}} (it was {{value}}), neuron {{neuron}} of layer {{layer}} changes the answer by "
        "**{{cost}}**, and it stays. Set to 0 it would change it by {{off_cost}}.",
        "设为 {{to}}（原来是 {{value}}），第 {{layer}} 层的神经元 {{neuron}} 使结果变化 "
        "**{{cost}}**，但首选不变。设为 0 会变化 {{off_cost}}。",
    ),
    Text(
        "Set to {{to}} (it was {{value}}), neuron {{neuron}} of layer {{layer}} changes the answer by "
        "**{{cost}}**, to another one. Set to 0 it would change it by {{off_cost}}.",
        "设为 {{to}}（原来是 {{value}}），第 {{layer}} 层的神经元 {{neuron}} 使结果变化 "
        "**{{cost}}**，变成了另一个结果。设为 0 会变化 {{off_cost}}。",
    ),
)

EXPERT = _another(
    "expert",
    Text(
        "In this view: {{change}}. In layer {{layer}}, {{n_moved}} of {{n_tokens}} tokens are read by other "
        "experts than before. The answer changes by **{{cost}}**, and it stays.",
        "当前视图：{{change}}。在第 {{layer}} 层，{{n_tokens}} 个词元里有 {{n_moved}} 个换了专家。"
        "结果变化 **{{cost}}**，但首选不变。",
    ),
    Text(
        "In this view: {{change}}. In layer {{layer}}, {{n_moved}} of {{n_tokens}} tokens are read by other "
        "experts than before. The answer changes by **{{cost}}**, to another one.",
        "当前视图：{{change}}。在第 {{layer}} 层，{{n_tokens}} 个词元里有 {{n_moved}} 个换了专家。"
        "结果变化 **{{cost}}**，变成了另一个结果。",
    ),
)


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

FLIP = _another(
    "flip",
    Text(
        "The answer stays; it has changed by {{cost}}. The attention of {{query}} on {{key}} went from "
        "{{before}} to {{after}}, and gained most was by **{{gained}}** (+{{gain}} points).",
        "结果没有变，只变化了 {{cost}}。{{query}} 对 {{key}} 的注意力从 {{before}} 变成 "
        "{{after}}，增加最多的是对 **{{gained}}** 的（+{{gain}} 个百分点）。",
    ),
    Text(
        "The answer has become another one: it has changed by **{{cost}}**. The attention of {{query}} on {{key}} went "
        "from {{before}} to {{after}}, and gained most was by **{{gained}}** (+{{gain}} points).",
        "结果变成了另一个：变化了 **{{cost}}**。{{query}} 对 {{key}} 的注意力从 {{before}} 变成 "
        "{{after}}，增加最多的是对 **{{gained}}** 的（+{{gain}} 个百分点）。",
    ),
)

PATCH: Verdict[Reach] = Verdict(
    "ablations.patch",
    Claim(
        "never",
        lambda reach: reach.leaves == 0,
        Text(
            "The answers of the two sentences are {{distance}} apart. Put in at {{word}}, the vector of "
            "{{from}} moves the answer by more than half at no depth, not even at the embedding. Of all "
            "vectors above the embedding, one at {{best}} moves it most.",
            "两个句子的结果相距 {{distance}}。放在 {{word}} 处，{{from}} 的向量在任何深度都不能把结果移动一半以上，连嵌"
            "入处也不能。嵌入之上的所有向量里，移动结果最多的一个在 {{best}} 处。",
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
            "The answers of the two sentences are {{distance}} apart. Put in at {{word}}, the vector of {{from}} moves "
            "the answer by more than half even in the second half of the blocks: only from *{{leaves}}* on it moves it "
            "by less. Of all vectors above the embedding, one at {{best}} moves it most.",
            "两个句子的结果相距 {{distance}}。放在 {{word}} 处，{{from}} 的向量到后一半的块里还能把结果移动一半以上：从"
            "**{{leaves}}**起，才移动不到一半。嵌入之上的所有向量里，移动结果最多的一个在 {{best}} 处。",
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
