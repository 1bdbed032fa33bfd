"""What may be said of the place of the norm: on a text, before training, and of recorded runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.block.numbers.depth import Fit
from viz_model.topics.norm_placement.numbers.last_norm import LastNorm

SHARES_APART = 1.25
"""The mean share of late sub-layers and that of early ones differ where one is that many times the other."""

TENFOLD = 10.0
"""A gradient that changes more than that on its way down shrinks or grows; within it, only its ends are told."""

A_TENTH = 0.1
"""Nats by which a run has to end below another, or below mere frequencies, to be told apart from it."""


class Halves(NamedTuple):
    """The mean share of a sub-layer in the first half of a stack, and in the second."""

    early: float
    late: float


SHARES: Verdict[Halves] = Verdict(
    "norm_placement.shares",
    Claim(
        "less",
        lambda shares: shares.late * SHARES_APART < shares.early,
        Text(
            "the late sub-layers contribute less: {{late}} each on the mean over the second half, "
            "{{early}} over the first.",
            "靠后的子层贡献更小：后一半平均每个 {{late}}，前一半 {{early}}。",
        ),
    ),
    Claim(
        "more",
        lambda shares: shares.late > shares.early * SHARES_APART,
        Text(
            "the late sub-layers contribute more: {{late}} each on the mean over the second half, "
            "{{early}} over the first.",
            "靠后的子层贡献更大：后一半平均每个 {{late}}，前一半 {{early}}。",
        ),
    ),
    plain=Text(
        "a sub-layer of the first half contributes {{early}} on the mean, one of the second half {{late}}.",
        "前一半的子层平均贡献 {{early}}，后一半平均贡献 {{late}}。",
    ),
)


class Stretch(NamedTuple):
    """Median lengths around a last norm: what it reads, what it hands on, and √D, which division by σ gives."""

    before: float
    after: float
    level: float

    @classmethod
    def of(cls, norm: LastNorm) -> Stretch:
        """Medians over the positions."""
        return cls(float(np.median(norm.lengths[0])), float(np.median(norm.lengths[-1])), norm.level)


LAST_GAIN: Verdict[Stretch] = Verdict(
    "norm_placement.last_gain",
    Claim(
        "stretches",
        lambda it: it.after > it.before and it.after > it.level,
        Text(
            "its γ (root mean square {{gain}}) makes the vectors longer than they came, {{both_length}} for "
            "{{none_length}}, where division alone would give √D = {{level}}",
            "它的 γ（均方根 {{gain}}）让向量比进来时更长：{{none_length}} 变为 {{both_length}}；"
            "只除以 σ 会是 √D = {{level}}",
        ),
    ),
    plain=Text(
        "vectors of {{none_length}} leave it {{both_length}} long; division alone would give √D = {{level}}, and the "
        "root mean square of its γ is {{gain}}",
        "长 {{none_length}} 的向量出来时长 {{both_length}}；只除以 σ 会是 √D = {{level}}，γ 的均方根是 {{gain}}",
    ),
)

RESCALED: Verdict[int] = Verdict(
    "norm_placement.rescaled",
    Claim(
        "same",
        lambda n_changed: n_changed == 0,
        Text(
            "divided by σ alone it is another at none of the {{positions}} positions",
            "只除以 σ，{{positions}} 个位置的首选一个也没有变",
        ),
    ),
    plain=Text(
        "divided by σ alone it is another at {{scale_changed}} of {{positions}} positions",
        "只除以 σ，{{positions}} 个位置中有 {{scale_changed}} 个首选变了",
    ),
)


class Alike(NamedTuple):
    """The mean cosine of the tokens' vectors as the last reader gets them, under either place of the norm."""

    pre: float
    post: float


def _alike(name: str, when: Text) -> Verdict[Alike]:
    def says(en: str, zh: str) -> Text:
        return Text(
            f"{when.en} Pre-LN {{{{pre}}}}, Post-LN {{{{post}}}}: {en}",
            f"{when.zh}Pre-LN {{{{pre}}}}，Post-LN {{{{post}}}}：{zh}",
        )

    return Verdict(
        name,
        Claim(
            "pre",
            lambda it: round(it.pre, 2) > round(it.post, 2),
            says("Pre-LN's tokens end more alike, as the claim has it.", "Pre-LN 的词元最后更相像，与上面的说法一致。"),
        ),
        Claim(
            "post",
            lambda it: round(it.post, 2) > round(it.pre, 2),
            says("Post-LN's tokens end more alike, against the claim.", "Post-LN 的词元最后更相像，与上面的说法相反。"),
        ),
        plain=says("no difference to two digits.", "两位小数上没有差别。"),
    )


ALIKE = _alike("norm_placement.alike", Text("On this text, trained:", "在这段文本上，训练之后："))
ALIKE_FRESH = _alike(
    "norm_placement.alike_fresh", Text("The same models before their first step:", "同样的模型在第一步训练之前：")
)


class Ends(NamedTuple):
    """The gradient at the top of a stack, where it begins, and what arrives at the embedding."""

    top: float
    bottom: float


GRADIENT: Verdict[Ends] = Verdict(
    "norm_placement.gradient",
    Claim(
        "shrinks",
        lambda pull: pull.bottom * TENFOLD < pull.top,
        Text(
            "going down it shrinks to less than a tenth, from {{top}} to {{bottom}}",
            "向下传播时缩小到不足十分之一，从 {{top}} 到 {{bottom}}",
        ),
    ),
    Claim(
        "grows",
        lambda pull: pull.bottom > TENFOLD * pull.top > 0,
        Text(
            "going down it grows more than tenfold, from {{top}} to {{bottom}}",
            "向下传播时增大到十倍以上，从 {{top}} 到 {{bottom}}",
        ),
    ),
    plain=Text("going down it changes from {{top}} to {{bottom}}", "向下传播时从 {{top}} 变为 {{bottom}}"),
)


class Law(NamedTuple):
    """A fitted power law, and the exponent that a theorem's bound has."""

    fit: Fit
    theory: float


EXPONENT: Verdict[Law] = Verdict(
    "norm_placement.exponent",
    Claim(
        "agrees",
        lambda law: abs(law.fit.exponent - law.theory) <= 2 * law.fit.error,
        Text("{{theory}}, which is within the error of the fit", "{{theory}}，在拟合误差之内"),
    ),
    Claim(
        "differs",
        lambda law: abs(law.fit.exponent - law.theory) > 2 * law.fit.error,
        Text("{{theory}}, which is outside the error of the fit", "{{theory}}，在拟合误差之外"),
    ),
    plain=Text("{{theory}}", "{{theory}}"),
)


class Across(NamedTuple):
    """A gradient in the first block and in the last."""

    first: float
    last: float


BLOCKS: Verdict[Across] = Verdict(
    "norm_placement.blocks",
    Claim(
        "falls",
        lambda across: across.first > across.last,
        Text(
            "the first block's is the larger, ×{{blocks}} the last one's",
            "第一块的更大，是最后一块的 ×{{blocks}}",
        ),
    ),
    Claim(
        "rises",
        lambda across: across.first < across.last,
        Text(
            "the last block's is the larger; the first has ×{{blocks}} of it",
            "最后一块的更大，第一块是它的 ×{{blocks}}",
        ),
    ),
    plain=Text("the first block's and the last one's are equal", "第一块和最后一块的一样大"),
)


class Warmup(NamedTuple):
    """Where a run ends without warm-up, with it, and knowing nothing but how often each token occurs."""

    bare: float
    warm: float
    frequencies: float

    def learns(self, loss: float) -> bool:
        """Whether a run ends clearly below mere frequencies; one that broke off, at no number, does not."""
        return loss < self.frequencies - A_TENTH


WARMUP: Verdict[Warmup] = Verdict(
    "norm_placement.warmup",
    Claim(
        "rescues",
        lambda run: not run.learns(run.bare) and run.learns(run.warm),
        Text(
            "ends at {{without}} without warm-up, not clearly below token frequencies, and at {{with}} with it",
            "没有预热时停在 {{without}}，没有明显低于只知道词元频率的水平；有预热时为 {{with}}",
        ),
    ),
    Claim(
        "neither",
        lambda run: not run.learns(run.bare) and not run.learns(run.warm),
        Text(
            "ends at {{without}} without warm-up and {{with}} with it, neither clearly below token frequencies",
            "没有预热时为 {{without}}，有预热时为 {{with}}，都没有明显低于只知道词元频率的水平",
        ),
    ),
    Claim(
        "helps",
        lambda run: run.learns(run.bare) and run.bare - run.warm > A_TENTH,
        Text(
            "learns either way, and ends lower with warm-up: {{with}} against {{without}}",
            "有没有预热都能学会，有预热时损失更低：{{with}}，没有时为 {{without}}",
        ),
    ),
    Claim(
        "hurts",
        lambda run: run.learns(run.bare) and run.warm - run.bare > A_TENTH,
        Text(
            "ends lower without warm-up in so few steps: {{without}} against {{with}}",
            "步数这么少，没有预热时损失反而更低：{{without}}，有预热时为 {{with}}",
        ),
    ),
    plain=Text(
        "learns either way: {{without}} without warm-up, {{with}} with it",
        "有没有预热都能学会：没有时为 {{without}}，有时为 {{with}}",
    ),
)


class Bits(NamedTuple):
    """The twins' bits per byte of text that neither was trained on."""

    pre: float
    post: float


AHEAD: Verdict[Bits] = Verdict(
    "norm_placement.ahead",
    Claim(
        "pre",
        lambda bits: round(bits.pre, 3) < round(bits.post, 3),
        Text("Pre-LN is ahead, {{pre}} against {{post}}", "Pre-LN 领先，{{pre}} 对 {{post}}"),
    ),
    Claim(
        "post",
        lambda bits: round(bits.post, 3) < round(bits.pre, 3),
        Text("Post-LN is ahead, {{post}} against {{pre}}", "Post-LN 领先，{{post}} 对 {{pre}}"),
    ),
    plain=Text("both are at {{pre}}", "都是 {{pre}}"),
)

BY_HEART: Verdict[tuple[float, float]] = Verdict(
    "norm_placement.by_heart",
    Claim(
        "costs",
        lambda more: more[0] > 0,
        Text(
            "Stories they have not read cost {{least}} to {{most}} bits a byte more than those they have",
            "没读过的故事，每字节比读过的多 {{least}} 到 {{most}} 比特",
        ),
    ),
    plain=Text(
        "Between stories they have not read and those they have lie {{least}} to {{most}} bits a byte",
        "没读过的与读过的故事相比，每字节相差 {{least}} 到 {{most}} 比特",
    ),
)
"""Of how much more unread text costs by source: the least and the most."""
