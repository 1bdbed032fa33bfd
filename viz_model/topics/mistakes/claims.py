"""What may be said of a pair of functions: what the whole model says with the wrong one."""

from __future__ import annotations

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.mistakes.numbers.results import Effect

_WITH = "The whole model with this bug, {{where}}: ", "整个模型都带上这个错误{{where}}："


def _effect(en: str, zh: str) -> Text:
    return Text(_WITH[0] + en, _WITH[1] + zh)


EFFECT: Verdict[Effect] = Verdict(
    "mistakes.effect",
    Claim(
        "lost",
        lambda effect: effect.before is not None and effect.is_lost,
        _effect(
            "it expected {{before}} ({{before_share}}); now **not one number is left**, all is NaN.",
            "原来预测 {{before}}（{{before_share}}），现在**一个数也不剩**，全是 NaN。",
        ),
    ),
    Claim(
        "same",
        lambda effect: effect.before is not None and effect.after is not None and effect.after[0] == effect.before[0],
        _effect(
            "still {{after}} first, at {{after_share}} instead of {{before_share}}. It moves the prediction by "
            "**{{change}} bits** (Kullback–Leibler divergence).",
            "排第一的仍是 {{after}}，概率 {{after_share}}，原来是 {{before_share}}。"
            "预测变动了 **{{change}} 比特**（KL 散度）。",
        ),
    ),
    Claim(
        "other",
        lambda effect: effect.before is not None,
        _effect(
            "{{after}} at {{after_share}} instead of {{before}} at {{before_share}}. It moves the prediction by "
            "**{{change}} bits** (Kullback–Leibler divergence).",
            "{{after}}（{{after_share}}）取代了 {{before}}（{{before_share}}）。"
            "预测变动了 **{{change}} 比特**（KL 散度）。",
        ),
    ),
    plain=_effect(
        "its last vector moves by **{{change}}** of its length.", "最后的向量变动了自身长度的 **{{change}}**。"
    ),
)
