"""What may be said of a run of training, of a model that was trained on, and of targets that are left out.

Losses are in nats a token. None of these looks at a ratio of two losses, nor at the last steps alone.
"""

from __future__ import annotations

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.training_lab.numbers.course import Course, Gradients
from viz_model.topics.training_lab.numbers.ignored import Ignored
from viz_model.topics.training_lab.numbers.tuned import CLEARLY, Change, Tuned

MARGIN = 0.1
"""Nats a token between two levels that count as different."""

COURSE: Verdict[Course] = Verdict(
    "training_lab.course",
    Claim(
        "broken",
        lambda run: run.broken,
        Text(
            "**It broke off.** In step {{next}} the loss or its gradient was no number any more (infinite, or NaN). "
            "Of the steps before, the first had a training loss of {{first}}, and the last ones one of {{last}} "
            "(their mean).",
            "**它中断了。** 第 {{next}} 步的损失或它的梯度不再是一个数（无穷大或 NaN）。在此之前，第一步的训练损失是 "
            "{{first}}，最后几步的平均是 {{last}}。",
        ),
        Text("No number any more in step {{next}}", "第 {{next}} 步不再是一个数"),
    ),
    Claim(
        "diverged",
        lambda run: run.last > run.first + MARGIN,
        Text(
            "**It diverged.** In the first step the loss on the training text was {{first}}; over the last steps it "
            "is {{last}}, more than before anything was learnt, and {{held_last}} on held-out text. To give every "
            "token of the vocabulary the same probability would cost ln V = {{guessing}} *nats* (a nat is 1.44 bits).",
            "**它发散了。** 第一步时训练文本上的损失是 {{first}}；最后几步是 {{last}}，比什么都没学时还高，留出文本上"
            "是 {{held_last}}。若给词表里每个词元同样的概率，损失是 ln V = {{guessing}} **nat**（1 nat = 1.44 比特）。",
        ),
        Text(
            "It diverged: the training loss went from {{first}} to {{last}}",
            "它发散了：训练损失从 {{first}} 升到 {{last}}",
        ),
    ),
    Claim(
        "context",
        lambda run: run.held_last < run.frequencies - MARGIN,
        Text(
            "**It uses the context.** To give every token of the vocabulary the same probability costs ln V = "
            "{{guessing}} *nats* (a nat is 1.44 bits). Before its first step the model was at {{held_first}} on "
            "held-out text, which it never trains on; after {{done}} steps it is at **{{held_last}}** there, and at "
            "{{last}} on the training text. Whoever knows how frequent each token is, and looks at nothing else, "
            "cannot come below {{frequencies}} on that held-out text: the rest must come from the tokens around. For "
            "{{right}} of the held-out tokens its first guess is right.",
            "**它用上了上下文。** 给词表里每个词元同样的概率，损失是 ln V = {{guessing}} **nat**（1 nat 等于 1.44 比"
            "特）。第一步之前，模型在从不用来训练的留出文本上是 {{held_first}}；{{done}} 步之后，那里是 "
            "**{{held_last}}**，训练文本上是 {{last}}。只知道各词元的频率、别的什么都不看，在这段留出文本上不可能低于 "
            "{{frequencies}}：其余的只能来自周围的词元。留出文本中，它的第一选择猜对了 {{right}} 的词元。",
        ),
        Text(
            "Held-out loss after {{done}} steps: {{held_last}}, where frequencies alone bring {{frequencies}}",
            "{{done}} 步之后，留出文本的损失是 {{held_last}}，只凭频率是 {{frequencies}}",
        ),
    ),
    Claim(
        "frequencies",
        lambda run: run.held_last >= run.frequencies - MARGIN and abs(run.last - run.known) <= MARGIN,
        Text(
            "**It is as good as frequencies alone.** Whoever knows how frequent each token is, and looks at nothing "
            "else, has a loss of at least {{known}} on the training text and {{frequencies}} on the held-out text. "
            "After {{done}} steps this model is at {{last}} and {{held_last}}: that leaves nothing for the tokens "
            "before.",
            "**它只相当于知道频率。** 只知道各词元的频率、别的什么都不看，损失在训练文本上至少是 {{known}}，"
            "在留出文本上至少是 {{frequencies}}。{{done}} 步之后，这个模型在两处分别是 {{last}} 和 {{held_last}}："
            "看不出前面的词元起了作用。",
        ),
        Text(
            "After {{done}} steps as good as frequencies alone: {{last}}",
            "{{done}} 步之后只相当于知道频率：{{last}}",
        ),
    ),
    Claim(
        "stuck",
        lambda run: run.last > run.guessing - MARGIN,
        Text(
            "**No better than guessing.** To give every token of the vocabulary the same probability costs ln V = "
            "{{guessing}} *nats* (a nat is 1.44 bits). The training loss was {{first}} in the first step, and after "
            "{{done}} steps it is {{last}}.",
            "**还不比乱猜好。** 给词表里每个词元同样的概率，损失是 ln V = {{guessing}} **nat**（1 nat = 1.44 比特）。"
            "训练损失在第一步是 {{first}}，{{done}} 步之后是 {{last}}。",
        ),
        Text(
            "After {{done}} steps no better than guessing: {{last}}",
            "{{done}} 步之后还不比乱猜好：{{last}}",
        ),
    ),
    plain=Text(
        "After {{done}} steps the loss on held-out text went from {{held_first}} to {{held_last}}, that on the "
        "training text from {{first}} to {{last}}. Guessing costs ln V = {{guessing}} *nats* (a nat is 1.44 bits), "
        "frequencies alone would bring {{frequencies}} on the held-out text at best: only below that must a model "
        "have learnt from the context.",
        "{{done}} 步之后，留出文本上的损失从 {{held_first}} 变为 {{held_last}}，训练文本上从 {{first}} 变为 {{last}}。"
        "乱猜的损失是 ln V = {{guessing}} **nat**（1 nat = 1.44 比特），只凭频率在留出文本上最多降到 "
        "{{frequencies}}：低于这个数，才说明模型从上下文学到了东西。",
    ),
    label=Text(
        "After {{done}} steps the held-out loss is {{held_last}}, at first {{held_first}}",
        "{{done}} 步之后，留出文本的损失是 {{held_last}}，起初是 {{held_first}}",
    ),
)
"""How far a run has come. Below ``frequencies`` no distribution comes that is the same at every position."""


def _rose_again(run: Course) -> bool:
    return run.held_last > run.held_best + CLEARLY


ON_THE_WAY: Verdict[Course] = Verdict(
    "training_lab.on_the_way",
    Claim(
        "by_heart",
        lambda run: _rose_again(run) and run.last < run.at_best - CLEARLY,
        Text(
            "**It learns by heart.** On held-out text the loss was lowest after step {{held_best_at}}, {{held_best}}, "
            "and now it is {{held_last}}, while the loss on the training text fell from {{at_best}} to {{last}}. That "
            "is *overfitting*. A larger text, more dropout or fewer steps may help.",
            "**它在死记硬背。** 留出文本上的损失在第 {{held_best_at}} 步之后最低，是 {{held_best}}，现在是 "
            "{{held_last}}，而训练文本上的损失从 {{at_best}} 降到了 {{last}}。这就是**过拟合**。换更长的文本、加大随"
            "机失活或减少步数也许有用。",
        ),
    ),
    Claim(
        "thrown_off",
        lambda run: run.peak > run.first + 1 and run.last <= run.first + MARGIN,
        Text(
            "**It was thrown off on the way.** In step {{peak_at}} the training loss was {{peak}}, above the "
            "{{first}} of the first step. Over the last steps it is {{last}}.",
            "**它中途被甩出去过。** 第 {{peak_at}} 步的训练损失是 {{peak}}，高于第一步的 {{first}}。最后几步是 "
            "{{last}}。",
        ),
    ),
    Claim(
        "worse",
        _rose_again,
        Text(
            "On held-out text the loss was lowest after step {{held_best_at}}, {{held_best}}, and now it is "
            "{{held_last}}. The training loss is no lower than at that time either ({{at_best}} then, {{last}} now): "
            "this is no learning by heart.",
            "留出文本上的损失在第 {{held_best_at}} 步之后最低，是 {{held_best}}，现在是 {{held_last}}。训练损失也不比"
            "那时低（那时 {{at_best}}，现在 {{last}}）：所以这不是死记硬背。",
        ),
    ),
)

LARGE = 10.0
"""A gradient's norm that is ten times as long as what clipping lets through; at the start it is about 1."""

SIZE: Verdict[Gradients] = Verdict(
    "training_lab.size",
    Claim(
        "exploding",
        lambda norms: norms.whole > LARGE and norms.whole > 2 * norms.began,
        Text(
            "**It explodes.** In the first step the gradient of all parameters together had a norm of {{began}}, over "
            "the last steps of {{whole}} (their median); the largest was {{largest}}, in step {{largest_at}}. "
            "*Clipping* shortens a gradient longer than {{clip}} to that length, here in {{clipped}} of {{done}} "
            "steps: that bounds the length and keeps the direction. A lower learning rate, a *warm-up*, and *norms* "
            "that keep sizes within bounds may help.",
            "**它爆炸了。** 第一步时，全部参数的梯度范数是 {{began}}，最后几步是 {{whole}}（中位数）；最大的是第 "
            "{{largest_at}} 步的 {{largest}}。**梯度裁剪**把长于 {{clip}} 的梯度截短到这个长度，{{done}} 步中有 "
            "{{clipped}} 步：它限制了长度，方向不变。更低的学习率、**预热**，以及把大小限制住的**归一化**也许有用。",
        ),
    ),
    Claim(
        "burst",
        lambda norms: norms.largest > LARGE and norms.largest > 2 * norms.began and norms.whole <= LARGE,
        Text(
            "**For a while it was large.** In step {{largest_at}} the gradient of all parameters together had a norm "
            "of {{largest}}, in the first step {{began}} and over the last steps {{whole}} (their median). *Clipping* "
            "shortens a gradient longer than {{clip}} to that length: in {{clipped}} of {{done}} steps.",
            "**它曾经很大。** 第 {{largest_at}} 步时，全部参数的梯度范数是 {{largest}}，第一步是 {{began}}，最后几步"
            "是 {{whole}}（中位数）。**梯度裁剪**把长于 {{clip}} 的梯度截短到此：{{done}} 步中有 {{clipped}} 步。",
        ),
    ),
    plain=Text(
        "The gradient of all parameters together had a norm of {{began}} in the first step and of {{whole}} over the "
        "last ones (their median); the largest was {{largest}}, in step {{largest_at}}. *Clipping* shortens a "
        "gradient longer than {{clip}} to that length: in {{clipped}} of {{done}} steps.",
        "全部参数的梯度范数在第一步是 {{began}}，最后几步是 {{whole}}（中位数）；最大的是第 {{largest_at}} 步的 "
        "{{largest}}。**梯度裁剪**把长于 {{clip}} 的梯度截短到这个长度：{{done}} 步中有 {{clipped}} 步。",
    ),
)
"""Of the whole gradient: whether it grew beyond all bounds."""

SMALL = 0.01
"""A gradient's norm at a single block; at the start it is about 1."""

REACH: Verdict[Gradients] = Verdict(
    "training_lab.reach",
    Claim(
        "vanishing",
        lambda norms: norms.low < SMALL and norms.low < 0.1 * norms.high,
        Text(
            "**It vanishes on the way.** Over the last steps block 0 gets a gradient of {{low}}, block {{top}} one of "
            "{{high}}. (Adam divides by the size of what comes, so a small gradient still moves weights, until it is "
            "as small as the ε in the divisor, 10⁻⁸.) Four things may work against it: the *residual stream*, which "
            "goes past every sub-layer; a *norm* inside the branch (Pre-LN) rather than on the stream, where it "
            "scales the gradient too; a *warm-up*, so that the first steps are small; a lower learning rate. "
            "*Clipping* only shortens.",
            "**它在路上消失了。** 最后几步，第 0 块得到的梯度是 {{low}}，第 {{top}} 块是 {{high}}。（Adam 会除以梯度"
            "自身的大小，所以小梯度仍能移动权重，直到它小得与除数里的 ε = 10⁻⁸ 相当。）有四样东西也许能对付它：绕过每"
            "个子层的**残差流**；把**归一化**放在支路上（Pre-LN），而不是放在残差流上，在那里它连梯度也一起缩放；**预"
            "热**，让最初的步子小一些；更低的学习率。**梯度裁剪**只会截短。",
        ),
    ),
    Claim(
        "arrives",
        lambda norms: norms.low >= SMALL and 0.1 * norms.high <= norms.low <= 10 * norms.high,
        Text(
            "**It arrives.** Over the last steps block 0 gets a gradient of {{low}}, block {{top}} one of {{high}}: "
            "less than ten times more or less. Now try 12 layers, Post-LN, no warm-up and a rate of 0.01.",
            "**它传到了。** 最后几步，第 0 块得到的梯度是 {{low}}，第 {{top}} 块是 {{high}}：相差不到十倍。现在试试 "
            "12 层、Post-LN、不预热、学习率 0.01。",
        ),
    ),
    plain=Text(
        "Over the last steps block 0 gets a gradient of {{low}}, block {{top}} one of {{high}}.",
        "最后几步，第 0 块得到的梯度是 {{low}}，第 {{top}} 块是 {{high}}。",
    ),
)
"""Of the first block against the last: whether the error comes down to it. Asked of two blocks and more."""


TUNED: Verdict[Change] = Verdict(
    "training_lab.tuned",
    Claim(
        "fell",
        lambda loss: loss.fell,
        Text("fell from {{before}} to **{{after}}**", "从 {{before}} 降到 **{{after}}**"),
    ),
    Claim(
        "rose",
        lambda loss: loss.rose,
        Text("rose from {{before}} to **{{after}}**", "从 {{before}} 升到 **{{after}}**"),
    ),
    plain=Text("{{before}}, then {{after}}: hardly a change", "{{before}}，后来是 {{after}}：几乎没有变化"),
)
"""What became of the loss on one text."""


LEARNT: Verdict[Tuned] = Verdict(
    "training_lab.learnt",
    Claim(
        "forgets",
        lambda texts: texts.own.fell and any(story.rose for story in texts.stories),
        Text(
            "**It learnt your text, and forgot some of what it knew.** The loss on your text went from {{own_before}} "
            "to {{own_after}}, on the story in English from {{en_before}} to {{en_after}}, on the one in Chinese from "
            "{{zh_before}} to {{zh_after}}. That what is learnt first is lost where training goes on with something "
            "else is called *catastrophic forgetting* (McCloskey & Cohen 1989).",
            "**它学会了你的文本，也忘掉了一些原来会的。** 你的文本上的损失从 {{own_before}} 变为 {{own_after}}，英文"
            "故事上从 {{en_before}} 变为 {{en_after}}，中文故事上从 {{zh_before}} 变为 {{zh_after}}。先学的东西在继续"
            "学别的东西时丢失，叫作**灾难性遗忘**（McCloskey & Cohen 1989）。",
        ),
    ),
    Claim(
        "keeps",
        lambda texts: texts.own.fell and not any(story.rose for story in texts.stories),
        Text(
            "**It learnt your text, and the stories became no harder for it.** The loss on your text went from "
            "{{own_before}} to {{own_after}}, on the story in English from {{en_before}} to {{en_after}}, on the one "
            "in Chinese from {{zh_before}} to {{zh_after}}.",
            "**它学会了你的文本，故事对它也没有变难。** 你的文本上的损失从 {{own_before}} 变为 {{own_after}}，英文故"
            "事上从 {{en_before}} 变为 {{en_after}}，中文故事上从 {{zh_before}} 变为 {{zh_after}}。",
        ),
    ),
    plain=Text(
        "The loss on your text went from {{own_before}} to {{own_after}}, on the story in English from {{en_before}} "
        "to {{en_after}}, on the one in Chinese from {{zh_before}} to {{zh_after}}.",
        "你的文本上的损失从 {{own_before}} 变为 {{own_after}}，英文故事上从 {{en_before}} 变为 {{en_after}}，中文故事"
        "上从 {{zh_before}} 变为 {{zh_after}}。",
    ),
)
"""What was won, and what it cost."""

RECITED: Verdict[Tuned] = Verdict(
    "training_lab.recited",
    Claim(
        "by_heart",
        lambda texts: texts.own.fell and texts.end.rose,
        Text(
            "The end of your text, which it did not train on, became harder: {{end_before}}, then {{end_after}}. What "
            "it learnt does not carry over to that.",
            "你的文本的结尾没有用来训练，它变难了：{{end_before}}，后来是 {{end_after}}。学到的东西没有用到那里。",
        ),
    ),
    Claim(
        "carries_over",
        lambda texts: texts.own.fell and texts.end.fell,
        Text(
            "The end of your text, which it did not train on, became easier too: {{end_before}}, then {{end_after}}.",
            "你的文本的结尾没有用来训练，它也变容易了：{{end_before}}，后来是 {{end_after}}。",
        ),
    ),
)
"""Whether what was learnt helps beyond the very words."""

EXACT = 1e-5
"""Nats by which two sums in single precision may differ."""

EQUAL: Verdict[Ignored] = Verdict(
    "training_lab.ignored_equal",
    Claim(
        "equal",
        lambda loss: abs(loss.computed - loss.of_rest) <= EXACT * max(1.0, loss.of_rest),
        Text(
            "`cross_entropy` gives **{{computed}}** for these targets, and the mean over the {{n}} rows with a target "
            "is {{of_rest}}: rows with −100 take no part, neither above the fraction line nor below.",
            "对这些目标，`cross_entropy` 给出 **{{computed}}**，而有目标的 {{n}} 行的平均是 {{of_rest}}：−100 的行既"
            "不进分子，也不进分母。",
        ),
    ),
    plain=Text(
        "`cross_entropy` gives {{computed}} for these targets; the mean over the {{n}} rows with a target is "
        "{{of_rest}}.",
        "对这些目标，`cross_entropy` 给出 {{computed}}；有目标的 {{n}} 行的平均是 {{of_rest}}。",
    ),
)
"""Whether leaving rows out is the mean over the others."""

LEFT_OUT: Verdict[Ignored] = Verdict(
    "training_lab.left_out",
    Claim(
        "easier",
        lambda loss: loss.of_rest < loss.of_all - CLEARLY,
        Text(
            "With all rows it would be {{of_all}}: those that are left out were the harder ones for this model.",
            "若所有行都算，是 {{of_all}}：被略去的那些行，对这个模型更难。",
        ),
    ),
    Claim(
        "harder",
        lambda loss: loss.of_rest > loss.of_all + CLEARLY,
        Text(
            "With all rows it would be {{of_all}}: those that are left out were the easier ones for this model.",
            "若所有行都算，是 {{of_all}}：被略去的那些行，对这个模型更容易。",
        ),
    ),
    plain=Text("With all rows it would be {{of_all}}.", "若所有行都算，是 {{of_all}}。"),
)
"""What difference it makes."""
