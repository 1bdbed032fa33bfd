"""What may be said of cross-attention on a text: of a step of decoding, of the model's own words, of padding."""

from __future__ import annotations

from typing import NamedTuple

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.cross_attention.numbers import Step


class Own(NamedTuple):
    """A given target beside the model's own words.

    Attributes:
        same: tokens at the start in which they agree.
        own: of the model's own words that were worked out.
        target: of the given target.
        most: own words that are worked out at the most.
    """

    same: int
    own: int
    target: int
    most: int


class Padded(NamedTuple):
    """Tokens at the end of a source that are taken for padding, and the weight that they had in the run."""

    n: int
    weight: float


STEP: Verdict[Step] = Verdict(
    "cross_attention.step",
    Claim(
        "end",
        lambda step: step.came is None,
        Text(
            "After {{n}} tokens, the newest being {{token}}, the target ends; the model's first guess would be "
            "**{{guess}}** ({{chance}}).",
            "读了 {{n}} 个词元，最新的是 {{token}}，目标到此为止；模型的首选会是 **{{guess}}**（{{chance}}）。",
        ),
    ),
    Claim(
        "hit",
        lambda step: step.hit,
        Text(
            "After {{n}} tokens, the newest being {{token}}, the model's first guess is **{{guess}}** ({{chance}}). "
            "The target goes on with just that.",
            "读了 {{n}} 个词元，最新的是 {{token}}，模型的首选是 **{{guess}}**（{{chance}}）。目标的下一个词元正是它。",
        ),
    ),
    plain=Text(
        "After {{n}} tokens, the newest being {{token}}, the model's first guess is **{{guess}}** ({{chance}}). The "
        "target goes on with **{{came}}**, which the model gives {{p}} (rank {{rank}}). The next step reads {{came}} "
        "all the same.",
        "读了 {{n}} 个词元，最新的是 {{token}}，模型的首选是 **{{guess}}**（{{chance}}）。目标的下一个词元是 "
        "**{{came}}**，模型给它 {{p}}（第 {{rank}} 名）。下一步读到的仍然是 {{came}}。",
    ),
)

OWN: Verdict[Own] = Verdict(
    "cross_attention.own",
    Claim(
        "same",
        lambda own: own.same == own.target,
        Text(
            "The given target is exactly how they begin ({{n}} of its {{n_target}} tokens agree), so teacher forcing "
            "and free decoding read the same input here. Change the target box to see them part.",
            "给定的目标正是它的开头（{{n_target}} 个词元中有 {{n}} 个一致），"
            "所以教师强制和自由解码在这里读到的输入相同。改一改目标框，就能看到两者分开。",
        ),
    ),
    Claim(
        "cut",
        lambda own: own.same == own.own == own.most,
        Text(
            "Their first {{n}} tokens are worked out here, and they are just those of the given target, which goes on "
            "to {{n_target}}.",
            "这里算出了它的前 {{n}} 个词元，正好就是给定目标的开头；目标共有 {{n_target}} 个。",
        ),
    ),
    Claim(
        "apart",
        lambda own: own.same == 0,
        Text(
            "They part from the given target at the very first token: the predictions beside them answer to the given "
            "target, the own words to themselves.",
            "从第一个词元起它就和给定的目标不同：旁边的预测针对给定的目标，这一列针对模型自己说过的话。",
        ),
    ),
    plain=Text(
        "They agree with the given target for the first {{n}} of {{n_target}} tokens. From there on the two read "
        "different inputs: the predictions beside them answer to the given target, the own words to themselves.",
        "它和给定的目标在 {{n_target}} 个词元中的前 {{n}} 个一致。从那以后两者读到的输入不同："
        "旁边的预测针对给定的目标，这一列针对模型自己说过的话。",
    ),
)

PADDING: Verdict[Padded] = Verdict(
    "cross_attention.padding",
    Claim(
        "none",
        lambda hidden: hidden.n == 0,
        Text(
            "The source has a single token, which cannot be padding: softmax over nothing is undefined.",
            "源文本只有一个词元，不能当作填充：对空集做 softmax 没有定义。",
        ),
    ),
    Claim(
        "moves",
        lambda hidden: hidden.weight > 0,
        Text(
            "Not what this run did: here the last tokens of the source ({{n}}) are treated as padding, as in a batch "
            "with a longer source. Their scores become −∞ and their weights exactly 0. The {{weight}} of the weight "
            "that they had in this run goes to the others, to each in proportion to what it had.",
            "这次运行并没有这样做：这里把源文本的最后几个词元（{{n}} 个）当作填充，就像批次里还有更长的源文本一样。"
            "它们的分数变成 −∞，权重恰好是 0。它们在这次运行里占的 {{weight}} 权重按原来的比例分给其余词元。",
        ),
    ),
    plain=Text(
        "Not what this run did: here the last tokens of the source ({{n}}) are treated as padding. Their scores become "
        "−∞; weight they had none.",
        "这次运行并没有这样做：这里把源文本的最后几个词元（{{n}} 个）当作填充。它们的分数变成 −∞；它们本来就没有权重。",
    ),
)
