"""What may be said of a batch: that its rows are as if alone, what padding costs, and what neighbours change."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Text, Verdict, exceeds

SAME = 1e-5
"""Of the largest number of the output: what single precision loses in a few hundred additions."""


class Gap(NamedTuple):
    """Between the output of the rows in the batch and alone.

    ``gap`` is the largest difference, ``largest`` the largest number of the output, ``n_padding`` how many
    positions are padding.
    """

    gap: float
    largest: float
    n_padding: int

    @property
    def is_same(self) -> bool:
        return self.gap <= SAME * max(1.0, self.largest)


ALONE: Verdict[Gap] = Verdict(
    "batch.alone",
    Claim(
        "same",
        lambda gap: gap.is_same,
        Text(
            "**Every row is as if it were alone.** The largest difference between a sentence's {{output}} in the "
            "batch and alone is {{gap}}, beside numbers of up to {{largest}}: rounding.",
            "**每一行都和单独运行时一样。** 同一句话在批次里和单独运行时，{{output}} 最多相差 {{gap}}，"
            "而数值本身最大到 {{largest}}：只是舍入误差。",
        ),
    ),
    plain=Text(
        "The largest difference between a sentence's {{output}} in the batch and alone is {{gap}}, beside numbers of "
        "up to {{largest}}.",
        "同一句话在批次里和单独运行时，{{output}} 最多相差 {{gap}}；数值本身最大到 {{largest}}。",
    ),
)

OPEN: Verdict[Gap] = Verdict(
    "batch.open",
    Claim(
        "full",
        lambda gap: gap.n_padding == 0,
        Text(
            "All sentences are equally long here, so nothing is padded: make one shorter.",
            "这里各句一样长，没有填充：把其中一句改短试试。",
        ),
    ),
    Claim(
        "same",
        lambda gap: gap.is_same,
        Text(
            "Without the mask the difference would be {{gap}}, no more than rounding.",
            "不加掩码，差别也只有 {{gap}}，不超过舍入误差。",
        ),
    ),
    plain=Text(
        "Without the mask the difference would be {{gap}}: the rows read their padding.",
        "不加掩码，差别会是 {{gap}}：这些行会读到填充。",
    ),
)


class Losses(NamedTuple):
    """Mean loss in nats over the tokens asked for, and with padding counted too."""

    mean: float
    counted: float
    n_padding: int


COUNTED: Verdict[Losses] = Verdict(
    "batch.counted",
    Claim(
        "none",
        lambda losses: losses.n_padding == 0,
        Text(
            "No row is filled up here, so there is no padding to count.",
            "这里没有哪一行需要补齐，也就没有填充可数。",
        ),
    ),
    Claim(
        "higher",
        lambda losses: exceeds(losses.counted, losses.mean, 3),
        Text(
            "Counted with the {{n_padding}} padded positions, each with the padding's id as its answer, the loss would "
            "be **{{counted}}** instead of **{{mean}}** nats: higher, and all of the rise is about tokens that nobody "
            "wrote.",
            "如果把 {{n_padding}} 个填充位置也算进去（每个位置的答案都是填充的编号），损失会是 **{{counted}}** 奈特，"
            "而不是 **{{mean}}**：变高了，多出来的部分全来自没人写过的词元。",
        ),
    ),
    Claim(
        "lower",
        lambda losses: exceeds(losses.mean, losses.counted, 3),
        Text(
            "Counted with the {{n_padding}} padded positions, each with the padding's id as its answer, the loss would "
            "be **{{counted}}** instead of **{{mean}}** nats: lower, though not one token of the text is predicted "
            "better.",
            "如果把 {{n_padding}} 个填充位置也算进去（每个位置的答案都是填充的编号），损失会是 **{{counted}}** 奈特，"
            "而不是 **{{mean}}**：变低了，可文本里没有哪个词元预测得更好。",
        ),
    ),
    plain=Text(
        "Counted with the {{n_padding}} padded positions, the loss would be {{counted}} nats, as without: {{mean}}.",
        "把 {{n_padding}} 个填充位置也算进去，损失是 {{counted}} 奈特，与不算时的 {{mean}} 一样。",
    ),
)


class Moves(NamedTuple):
    """How far a vector moves when its neighbours are replaced, ‖Δ‖/‖·‖, in batches of four and of two sentences."""

    layer_four: float
    layer_two: float
    batch_four: float
    batch_two: float


LAYER_NORM: Verdict[Moves] = Verdict(
    "batch.layer_norm",
    Claim(
        "nothing",
        lambda moves: moves.layer_four == moves.layer_two == 0,
        Text(
            "**LayerNorm**: the vector of {{token}} stays what it is, to the last digit, whoever stands beside it.",
            "**LayerNorm**：无论旁边是哪些句子，{{token}} 的向量都不变，到最后一位都相同。",
        ),
    ),
    plain=Text(
        "**LayerNorm** moves the vector of {{token}} by {{layer_four}} of its length.",
        "**LayerNorm** 使 {{token}} 的向量移动了自身长度的 {{layer_four}}。",
    ),
)

BATCH_NORM: Verdict[Moves] = Verdict(
    "batch.batch_norm",
    Claim(
        "smaller",
        lambda moves: exceeds(moves.batch_two, moves.batch_four, 3) and moves.batch_four > 0,
        Text(
            "**BatchNorm**: with other neighbours the same vector moves by {{batch_four}} of its length in a batch of "
            "four, and by {{batch_two}} in a batch of two: in the smaller batch the neighbours count for more.",
            "**BatchNorm**：换掉邻居，同一个向量在四句一批时移动自身长度的 {{batch_four}}，"
            "两句一批时移动 {{batch_two}}：批次小，邻居的分量更重。",
        ),
    ),
    plain=Text(
        "**BatchNorm**: with other neighbours the same vector moves by {{batch_four}} of its length in a batch of "
        "four, and by {{batch_two}} in a batch of two.",
        "**BatchNorm**：换掉邻居，同一个向量在四句一批时移动自身长度的 {{batch_four}}，两句一批时移动 {{batch_two}}。",
    ),
)
