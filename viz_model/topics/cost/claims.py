"""What may be said of what a run cost, and of what it takes no notice of."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.cost.numbers.order import SAME, Shuffled

SQUARE = 2.1
"""Of a fitted power of n: clearly more than the square that the multiplications make."""

ORDER: Verdict[Shuffled] = Verdict(
    "cost.order",
    Claim(
        "same",
        lambda shuffled: max(shuffled.bare, shuffled.own) < SAME,
        Text(
            "We let the model read {{before}} as {{after}}. **With all tokens in sight**, each token gets the very "
            "same vector as before, without positions ({{bare}}) and as the model is ({{own}}): both are rounding. "
            "Attention is a sum over a *set*, and knows no order; nothing in this model tells it here.",
            "我们让模型把 {{before}} 读成 {{after}}。**每个词元都看得到全部词元时**，去掉位置（{{bare}}）也好，"
            "模型本来的样子（{{own}}）也好，每个词元得到的向量都与原来一样，差别只是舍入误差。"
            "注意力是对一个**集合**求和，不知道顺序；这个模型里也没有什么在这里告诉它。",
        ),
    ),
    Claim(
        "differs",
        lambda shuffled: shuffled.bare < SAME <= shuffled.own,
        Text(
            "We let the model read {{before}} as {{after}}. **Without positions, and with all tokens in sight**, "
            "each token gets the very same vector as before ({{bare}}: rounding): attention is a sum over a *set*, "
            "and knows no order. **With positions** the vectors change ({{own}}).",
            "我们让模型把 {{before}} 读成 {{after}}。**去掉位置、并让每个词元看到全部词元时**，"
            "每个词元得到的向量与原来完全一样（{{bare}}，只是舍入误差）：注意力是对一个**集合**求和，不知道顺序。"
            "**有了位置**，向量就变了（{{own}}）。",
        ),
    ),
    plain=Text(
        "We let the model read {{before}} as {{after}}. With all tokens in sight, the vectors change by {{bare}} "
        "without positions and by {{own}} with the model's own.",
        "我们让模型把 {{before}} 读成 {{after}}。每个词元都看得到全部词元时，去掉位置后向量变了 {{bare}}，"
        "保留模型自己的位置变了 {{own}}。",
    ),
)

KINDS: Verdict[int] = Verdict(  # how many kinds of heads there are in a run
    "cost.kinds",
    Claim(
        "one",
        lambda kinds: kinds == 1,
        Text(
            "Why many heads: in this run all {{n}} heads are of one kind",
            "为什么要多个头：这次运行中，{{n}} 个头都属于同一类",
        ),
    ),
    plain=Text(
        "Why many heads: in this run the {{n}} heads fall into {{kinds}} kinds",
        "为什么要多个头：这次运行中，{{n}} 个头分成 {{kinds}} 类",
    ),
)

MASK: Verdict[Shuffled] = Verdict(
    "cost.mask",
    Claim(
        "tells",
        lambda shuffled: shuffled.bare < SAME <= shuffled.bare_masked,
        Text(
            "A causal mask alone already gives some order away: without positions the vectors change "
            "by {{bare_masked}}, for it shows each token *which* tokens came before it, which changes.",
            "单是因果掩码也会透露一些顺序：去掉位置，向量仍变了 {{bare_masked}}，因为每个词元只看得见排在它前面的"
            "**那些**词元，换了顺序，前面的就是别的词元。",
        ),
    ),
    plain=Text(
        "With a causal mask and without positions they change by {{bare_masked}}.",
        "加上因果掩码、去掉位置时，向量变了 {{bare_masked}}。",
    ),
)


POWER: Verdict[float | None] = Verdict(  # of n, as the textbook's steps took; None for too few readings
    "cost.power",
    Claim(
        "above",
        lambda power: power is not None and power > SQUARE,
        Text(
            "The textbook's steps grow faster here than their multiplications, which are $n^2$: matrices that no "
            "longer fit the processor's fast memory (its *cache*) may be why; that is not measured here.",
            "教科书算法的时间在这里涨得比它的乘法次数（$n^2$）更快：可能是矩阵放不进处理器的高速缓存（cache）了；"
            "这里没有测量原因。",
        ),
    ),
)


class Bytes(NamedTuple):
    """Bytes that were created for the longest text, by the steps one by one and by the fused kernel."""

    textbook: float
    fused: float


BYTES: Verdict[Bytes] = Verdict(
    "cost.bytes",
    Claim(
        "fewer",
        lambda created: created.fused < 0.5 * created.textbook,
        Text(
            "At T = {{n}} the kernel created {{fused}} where the steps one by one created {{textbook}}, "
            "{{times}} times as much.",
            "T = {{n}} 时，融合核函数新建 {{fused}}，逐步计算新建 {{textbook}}，是它的 {{times}} 倍。",
        ),
    ),
    plain=Text(
        "At T = {{n}} the kernel created {{fused}}, the steps one by one {{textbook}}.",
        "T = {{n}} 时，融合核函数新建 {{fused}}，逐步计算新建 {{textbook}}。",
    ),
)


SHARE: Verdict[float] = Verdict(  # of all multiplications of a text, those that compare tokens with each other
    "cost.share",
    Claim(
        "few",
        lambda share: share < 0.1,
        Text(
            "In your text the pairs hardly count: {{share}} of the multiplications.",
            "在你的文本里，词元两两之间几乎不算什么：占乘法的 {{share}}。",
        ),
    ),
    Claim(
        "most",
        lambda share: share > 0.5,
        Text(
            "In your text most of the multiplications are already pairs: {{share}}.",
            "在你的文本里，大部分乘法已经花在词元两两之间：{{share}}。",
        ),
    ),
    plain=Text(
        "In your text the pairs are {{share}} of the multiplications.",
        "在你的文本里，词元两两之间占乘法的 {{share}}。",
    ),
)
