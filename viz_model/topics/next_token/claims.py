"""What may be said of a distribution, of what is drawn from it, and of the cache."""

from __future__ import annotations

import math
from typing import NamedTuple

from viz_model.claims import Claim, Text, Verdict, exceeds
from viz_model.topics.next_token.pictures.choice import Kept

KEPT: Verdict[Kept] = Verdict(
    "next_token.kept",
    Claim(
        "greedy",
        lambda choice: choice.temperature == 0,
        Text(
            "Temperature 0 is *greedy*: {{top}} is taken with certainty, whatever else was probable. "
            "The pale bars show the model's own probabilities.",
            "温度为 0 就是**贪心**：不管别的词元有多可能，一定取 {{top}}。浅色柱形是模型本来的概率。",
        ),
        Text(
            "Of {{n_vocab}} tokens one can be taken; the other {{n_dropped}} held {{dropped}} of the probability",
            "{{n_vocab}} 个词元里只会取一个；其余 {{n_dropped}} 个原本共占 {{dropped}} 的概率",
        ),
    ),
    Claim(
        "all",
        lambda choice: choice.n_kept == choice.n_vocab and not choice.n_zero,
        Text(
            "Nothing is dropped: every token can be drawn. Pull top-k or top-p to cut off the tail.",
            "什么都没有去掉：每个词元都可能被抽中。拖动 top-k 或 top-p，就能截掉长尾。",
        ),
        Text(
            "All {{n_vocab}} tokens can be drawn, the least probable too",
            "{{n_vocab}} 个词元都可能被抽中，最冷门的也不例外",
        ),
    ),
    Claim(
        "vanish",
        lambda choice: choice.n_kept == choice.n_vocab,
        Text(
            "Nothing is dropped, but {{n_zero}} tokens are so improbable that a number of 32 bits holds 0 for them.",
            "什么都没有去掉，但有 {{n_zero}} 个词元的概率太小，32 位的数只能存成 0。",
        ),
        Text(
            "No token is dropped, but {{n_zero}} of {{n_vocab}} are too improbable for 32 bits",
            "没有去掉词元，但 {{n_vocab}} 个里有 {{n_zero}} 个的概率小到 32 位存不下",
        ),
    ),
    plain=Text(
        "Kept tokens: **{{n_kept}}**, with {{kept}} of the probability in all; the other {{n_dropped}} shared "
        "{{dropped}}, and are out.\n\nWhat is kept is scaled up to sum to 1, so {{top}} now stands at {{top_final}}.",
        "保留了 **{{n_kept}}** 个词元，它们原本共占 {{kept}} 的概率；其余 {{n_dropped}} 个词元共占 {{dropped}}，"
        "全部出局。\n\n留下的按比例放大到总和为 1，于是 {{top}} 现在是 {{top_final}}。",
    ),
    label=Text(
        "Kept: {{n_kept}} of {{n_vocab}} tokens; the other {{n_dropped}} held {{dropped}} of the probability",
        "{{n_vocab}} 个词元里保留了 {{n_kept}} 个；其余 {{n_dropped}} 个原本共占 {{dropped}} 的概率",
    ),
)


class Surprise(NamedTuple):
    """The mean surprise of a text's tokens, in bits, and how many tokens there are to expect."""

    bits: float
    n_vocab: int

    @property
    def blind(self) -> float:
        """Bits of surprise at every token, where all are held equally likely."""
        return math.log2(self.n_vocab)


EVEN: Verdict[Surprise] = Verdict(
    "next_token.even",
    Claim(
        "worse",
        lambda surprise: exceeds(surprise.bits, surprise.blind, 2),
        Text(
            "more than the {{blind}} bits of a guess that holds all {{n_vocab}} tokens equally likely",
            "比认为全部 {{n_vocab}} 个词元同样可能的瞎猜（{{blind}} 比特）还要多",
        ),
    ),
    plain=Text(
        "as hard as a choice among {{even}} equally likely tokens each time",
        "相当于每次都在 {{even}} 个同样可能的词元里选一个",
    ),
)

COVERED: Verdict[int] = Verdict(
    "next_token.covered",
    Claim(
        "first",
        lambda rank: rank == 1,
        Text(
            "Covered, {{token}} is the model's first guess: {{top_share}} of the probability",
            "盖住 {{token}}，模型的首选正是它：概率 {{top_share}}",
        ),
    ),
    plain=Text(
        "In place of {{token}} the model expects {{top}} ({{top_share}}); {{token}} comes as number {{marked_rank}}",
        "盖住 {{token}}，模型最看好 {{top}}（{{top_share}}）；{{token}} 排第 {{marked_rank}}",
    ),
)
"""Of the rank (1 is first) of a token that was covered."""

FELL: Verdict[int] = Verdict(
    "next_token.fell",
    Claim(
        "greedy",
        lambda rank: rank == 1,
        Text(
            "That is the most probable token after this text, so greedy decoding takes it too.",
            "它正是这段前文之后最可能的词元，所以贪心解码也会取它。",
        ),
    ),
    plain=Text(
        "Greedy decoding takes no number: after the same text it takes {{greedy}} ({{greedy_p}}), always.",
        "贪心解码不用随机数：在同样的前文之后，它总是取 {{greedy}}（{{greedy_p}}）。",
    ),
)
"""Of the rank (1 is first) of a token that was drawn."""

ENDED: Verdict[bool] = Verdict(
    "next_token.ended",
    Claim(
        "ended",
        lambda has_ended: has_ended,
        Text(
            "After {{n}} tokens the model drew {{token}}, its end-of-text token: nothing is drawn beyond it. Under "
            "each token stands the probability it had when it was drawn.",
            "抽了 {{n}} 个词元之后，模型抽到了文本结束符 {{token}}：不再往下抽。每个词元下面是抽中它时的概率。",
        ),
    ),
    plain=Text(
        "Drawn so far: {{n}} tokens, of at most {{most}}. Under each stands the probability it had when it was drawn, "
        "after filtering. Any change of sentence, settings or seed starts over.",
        "已抽出 {{n}} 个词元，最多 {{most}} 个。每个词元下面是抽中它时（筛选之后）的概率。"
        "改动句子、设置或种子都会从头开始。",
    ),
)
"""Of whether the last token that was drawn ends the text."""

SAME: Verdict[tuple[int, int]] = Verdict(
    "next_token.same",
    Claim(
        "all",
        lambda counts: counts[0] == counts[1],
        Text(
            "Here greedy decoding writes the same {{n}} tokens that were drawn.",
            "在这里，贪心解码写出的就是抽到的这 {{n}} 个词元。",
        ),
    ),
    plain=Text(
        "Up to the first different token the two texts are one: here the first {{same}} of {{n}}. From there on they "
        "have different pasts, and their probabilities can no longer be compared place by place.",
        "在第一个不同的词元之前，两段文字是一样的：这里是 {{n}} 个里的前 {{same}} 个。从那以后前文已经不同，"
        "逐位比较概率就没有意义了。",
    ),
)
"""Of how many drawn tokens, from the first on, are those of greedy decoding, and how many there are."""

CIRCLES: Verdict[tuple[int, int]] = Verdict(
    "next_token.circles",
    Claim(
        "most",
        lambda counts: counts[0] > 0.5 * counts[1],
        Text(
            "Round in circles: {{n_repeated}} of {{n}} tokens end four that had stood there before",
            "原地打转：{{n}} 个词元中有 {{n_repeated}} 个，与前三个连起来是前文已有的",
        ),
    ),
    plain=Text(
        "{{n_repeated}} of {{n}} tokens end four that had stood there before",
        "{{n}} 个词元中有 {{n_repeated}} 个，与前三个连起来是前文已有的",
    ),
)
"""Of how many drawn tokens end four that had stood in the text before, and how many there are."""

_MEANS = Text(
    "Tokens that were new had a probability of **{{p_first}}** on average, those of a second time {{p_second}}, from "
    "the third time on {{p_more}}.",
    "新的词元平均概率为 **{{p_first}}**，第二次出现的为 {{p_second}}，第三次及以后为 {{p_more}}。",
)

REPEATS: Verdict[tuple[float | None, ...]] = Verdict(
    "next_token.repeats",
    Claim(
        "rises",
        lambda means: (
            means[0] is not None
            and any(mean is not None for mean in means[1:])
            and all(mean is None or mean > means[0] for mean in means[1:])
        ),
        Text(
            f"{_MEANS.en} What was repeated was more probable than what was new. Often it gets more so with every "
            "round, and a greedy choice seldom leaves the circle (Holtzman et al. 2020, figure 4). Chance may: raise "
            "the temperature and draw again.",
            f"{_MEANS.zh}重复的词元比新的更可能。往往一轮比一轮更可能，贪心选择很难走出这个圈"
            "（Holtzman et al. 2020，图 4）。随机抽取也许可以：调高温度，再抽一次。",
        ),
    ),
    plain=Text(
        f"{_MEANS.en} Models are often surer of what they repeat (Holtzman et al. 2020, figure 4); draw on at "
        "temperature 0 and watch for it.",
        f"{_MEANS.zh}模型往往对重复的话更有把握（Holtzman et al. 2020，图 4）；把温度设为 0 继续抽取，看看是不是这样。",
    ),
)
"""Of the mean probability of tokens that were new, came a second time, and more often; None of no tokens."""

SPARED: Verdict[tuple[int, int]] = Verdict(
    "next_token.spared",
    Claim(
        "some",
        lambda positions: positions[0] < positions[1],
        Text(
            "The cache spares {{saved}} of the positions when {{n}} tokens are drawn",
            "抽 {{n}} 个词元时，缓存省去了 {{saved}} 的位置计算",
        ),
    ),
    plain=Text("Nothing is spared here when {{n}} tokens are drawn", "抽 {{n}} 个词元时，这里什么也省不下"),
)
"""Of the positions that are computed with the cache and without."""

TIMES: Verdict[tuple[float, float]] = Verdict(
    "next_token.times",
    Claim(
        "longer",
        lambda seconds: seconds[1] >= 1.1 * seconds[0],
        Text(
            "At {{length}} tokens a step takes {{ratio}} times as long without the cache",
            "文本长 {{length}} 个词元时，没有缓存的一步要用 {{ratio}} 倍的时间",
        ),
    ),
    plain=Text(
        "At {{length}} tokens a step takes {{cached}} with the cache, {{fresh}} without",
        "文本长 {{length}} 个词元时，一步在有缓存时用 {{cached}}，没有缓存时用 {{fresh}}",
    ),
)
"""Of the seconds of a step with the cache and without."""
