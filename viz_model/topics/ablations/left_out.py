"""What may come of leaving out a part everywhere: ÷√dₖ, positions, the mask, the additions, or the norms."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Text, Verdict

CLEAR = 0.05
"""Differences of entropies (bits) or of cosines up to here count as none."""


class Shift(NamedTuple):
    """A measure of a run as it is, and of the changed run."""

    before: float
    after: float

    @property
    def gap(self) -> float:
        return self.after - self.before


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

_LATER = Text(
    "**{{after}}** of the attention goes to later tokens; spread evenly it would be {{even}}.",
    "**{{after}}** 的注意力流向后面的词元；平均分的话是 {{even}}。",
)
MASK: Verdict[float] = Verdict(
    "ablations.mask",
    Claim("little", lambda share: share < 0.1, _LATER, Text("under 10 %", "不到 10 %")),
    Claim("some", lambda share: 0.1 <= share <= 0.5, _LATER, Text("10 to 50 %", "10 % 到 50 %")),
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
