"""What may be said of attention on a text: of a head, of a query's row, of a mask, of what a change of either did."""

from __future__ import annotations

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.ablations.pictures.guesses import UNCHANGED, GuessesView
from viz_model.topics.attention.numbers.caveats import First, Taken
from viz_model.topics.attention.numbers.heads import HeadSummary, Largest
from viz_model.topics.attention.numbers.layer import Sight
from viz_model.topics.attention.numbers.pruning import Pruned

MOST = 0.5
"""More than this share of a head's weight, on the mean over its rows, is "mostly"."""

EVEN_ROWS = 0.9
"""The share of rows that have to be even before a head is called so."""

ROUNDING = 1e-4
"""Of the largest number that is compared: what single precision, added up in another order, may differ by."""


def _mostly(place: str) -> Claim[HeadSummary]:
    """The head gives the place more than half of its weight, and no other place more."""
    places = ("previous", "next", "first", "itself")

    def holds(head: HeadSummary) -> bool:
        weight: float = getattr(head, place)
        return weight > MOST and weight == max(getattr(head, each) for each in places)

    return Claim(place, holds, *_PLACES[place])


_PLACES = {
    "previous": (
        Text(
            "Over the whole sentence this head mostly reads the token just before ({{weight}} of its weight).",
            "在整句话里，这个头主要读紧挨着的前一个词元（占权重的 {{weight}}）。",
        ),
        Text("previous token", "前一个词元"),
    ),
    "next": (
        Text(
            "Over the whole sentence this head mostly reads the token just after ({{weight}} of its weight), "
            "which it can see as nothing is hidden there.",
            "在整句话里，这个头主要读紧挨着的后一个词元（占权重的 {{weight}}）；后文没有被遮住，所以看得见。",
        ),
        Text("following token", "后一个词元"),
    ),
    "first": (
        Text(
            "Over the whole sentence this head mostly rests on the first token ({{weight}} of its weight), "
            "which often means: nothing to fetch here.",
            "在整句话里，这个头主要停在第一个词元上（占权重的 {{weight}}），这往往表示：此处没有要取的信息。",
        ),
        Text("first token", "第一个词元"),
    ),
    "itself": (
        Text(
            "On this sentence each token mostly reads itself ({{weight}} of the weight).",
            "在这句话里，每个词元主要读自己（占权重的 {{weight}}）。",
        ),
        Text("itself", "自己"),
    ),
}

HEAD: Verdict[HeadSummary] = Verdict(
    "attention.head",
    Claim(
        "alone",
        lambda head: not head.chooses,
        Text("Each token here sees only itself: there is nothing to choose.", "这里每个词元只看得见自己：没有可选的。"),
        Text("itself", "自己"),
    ),
    *map(_mostly, _PLACES),
    Claim(
        "broad",
        lambda head: head.even >= EVEN_ROWS,
        Text(
            "Over the whole sentence this head spreads its weight rather evenly, like an average of everything it may "
            "see: in {{even}} of the rows no token gets more than twice its equal share.",
            "在整句话里，这个头把权重分得相当平均，近似于对看得见的一切取平均：{{even}} 的行里，"
            "没有词元得到的权重超过平均份额的两倍。",
        ),
        Text("broad", "平均分散"),
    ),
    Claim(
        "marks",
        lambda head: head.marks > MOST,
        Text(
            "Over the whole sentence this head mostly rests on the control tokens that stand around the text "
            "({{marks}}; {{on_marks}} of its weight), which often means: nothing to fetch here.",
            "在整句话里，这个头主要停在文本两端的控制词元上（{{marks}}；占权重的 {{on_marks}}），"
            "这往往表示：此处没有要取的信息。",
        ),
        Text("control tokens", "控制词元"),
    ),
    plain=Text(
        "On the mean over its rows, {{previous}} of its weight goes to the token just before, {{first}} to the first "
        "token and {{itself}} to the token itself: none of these places gets more than half.",
        "按各行平均，它的权重有 {{previous}} 给紧挨着的前一个词元，{{first}} 给第一个词元，{{itself}} 给自己："
        "这几个位置都没有超过一半。",
    ),
    label=Text("no fixed place", "位置不定"),
)


def written(head: HeadSummary) -> dict[str, str]:
    """The numbers of a head for its sentence."""
    places = {"previous": head.previous, "next": head.next, "first": head.first, "itself": head.itself}
    shares = {**places, "weight": places.get(HEAD.of(head).name, 0.0), "even": head.even, "on_marks": head.marks}
    return {name: f"{share:.0%}" for name, share in shares.items()}


STRONGEST: Verdict[Largest] = Verdict(
    "attention.strongest",
    Claim(
        "only",
        lambda row: row.n_seen == 1,
        Text(
            "**{{token}}** sees a single token, **{{strongest}}**, which gets all the weight of {{of}}.",
            "**{{token}}** 只看得见一个词元 **{{strongest}}**，{{of}}的权重全给了它。",
        ),
        Text("{{token}} sees {{strongest}} alone", "{{token}} 只看得见 {{strongest}}"),
    ),
    Claim(
        "most",
        lambda row: row.weight - row.second > ROUNDING * row.weight,
        Text(
            "**{{token}}** reads **{{strongest}}** most: {{weight}} of the weight of {{of}}.",
            "**{{token}}** 读得最多的是 **{{strongest}}**：{{of}}把 {{weight}} 的权重给了它。",
        ),
        Text("{{token}} reads {{strongest}} most", "{{token}} 读得最多的是 {{strongest}}"),
    ),
    plain=Text(
        "The largest weight of **{{token}}** in {{of}} is {{weight}}: **{{strongest}}** gets it, and so do others.",
        "**{{token}}** 在{{of}}里给出的最大权重是 {{weight}}；**{{strongest}}** 得到了它，别的词元也得到同样多。",
    ),
    label=Text("{{token}} reads {{strongest}} and others alike", "{{token}} 对 {{strongest}} 和别的词元读得一样多"),
)

SIGHT: Verdict[Sight] = Verdict(
    "attention.sight",
    Claim(
        "alone",
        lambda sight: sight.n == 1,
        Text(
            "The map has one cell: the only token sees itself, with a weight of {{most}}.",
            "图中只有一格：唯一的词元看见自己，权重是 {{most}}。",
        ),
    ),
    Claim(
        "everything",
        lambda sight: sight.hidden == 0,
        Text(
            "{{sums}} Nothing is grey, because nothing is masked in this layer: every token "
            "reads the whole sentence, what comes before it and what comes after.",
            "{{sums}}图中没有灰色，因为这一层什么也没有遮住：每个词元都能读整句话，前面和后面的都能看到。",
        ),
    ),
    Claim(
        "causal",
        lambda sight: sight.is_causal,
        Text(
            "{{sums}} The grey triangle is the future: a token may not see the ones after it, "
            "because they are what has to be predicted.",
            "{{sums}}灰色三角是未来：不允许看见后面的词元，因为它们正是要预测的。",
        ),
    ),
    Claim(
        "window",
        lambda sight: sight.size > 0 and not sight.is_two_way,
        Text(
            "{{sums}} Grey is what the mask of this layer hides: the future, and everything but "
            "the last {{size}} tokens.",
            "{{sums}}灰色是这一层的掩码遮住的部分：未来，以及最近 {{size}} 个词元以外的全部前文。",
        ),
    ),
    Claim(
        "window_two_way",
        lambda sight: sight.size > 0,
        Text(
            "{{sums}} Grey is what the mask of this layer hides: everything {{size}} or more "
            "places away, on either side.",
            "{{sums}}灰色是这一层的掩码遮住的部分：两侧距离达到 {{size}} 及以上的词元。",
        ),
    ),
    plain=Text(
        "{{sums}} Grey is what the mask of this run hides: {{hidden}} of {{cells}} cells.",
        "{{sums}}灰色是这次运行的掩码遮住的部分：{{cells}} 格中的 {{hidden}} 格。",
    ),
)

PRUNED: Verdict[Pruned] = Verdict(
    "attention.pruned",
    Claim(
        "equal",
        lambda small: small.difference <= ROUNDING * small.size,
        Text(
            "The smaller layer, run on what this layer read, writes **the same** as the layer with these heads "
            "switched off: over all tokens and dimensions the two differ by at most {{difference}}, among values of "
            "up to {{size}}.",
            "让变小的层读这一层读到的内容，它写出的和关掉这些头**一样**：所有词元、所有维度上，"
            "两者最多相差 {{difference}}，而数值最大到 {{size}}。",
        ),
    ),
    plain=Text(
        "Between what the smaller layer writes and what the layer with these heads switched off wrote, the largest "
        "difference is {{difference}}, among values of up to {{size}}.",
        "变小的层写出的和关掉这些头时写出的，最大相差 {{difference}}，而数值最大到 {{size}}。",
    ),
)

_APART = Text(
    "The two distributions over the whole vocabulary lie **{{divergence}} bits** apart (KL divergence of the "
    "changed from the original). The entropy, a measure of how open the choice is, was {{entropy_before}} "
    "bits and is {{entropy_after}} ({{entropy_change}}).",
    "在整个词表上，两个分布相差 **{{divergence}} 比特**（从原来到改动后的 KL 散度）。熵衡量选择有多开放："
    "原来是 {{entropy_before}} 比特，现在是 {{entropy_after}}（{{entropy_change}}）。",
)

GUESSES: Verdict[GuessesView] = Verdict(
    "attention.guesses",
    Claim(
        "same",
        lambda found: found.divergence < UNCHANGED and found.best[0] == found.best[1],
        Text(
            "To the third decimal of a bit the prediction is the same (KL divergence {{divergence}} bits): here it "
            "does not need what was hidden or switched off.",
            "精确到千分之一比特，预测没有变化（KL 散度 {{divergence}} 比特）：这里的预测用不着被遮住或关掉的部分。",
        ),
        Text(
            "Hardly a change {{where}}: {{before}}, {{p_before}} → {{p_after}}",
            "{{where}}几乎没有变化：{{before}}，{{p_before}} → {{p_after}}",
        ),
    ),
    Claim(
        "stays",
        lambda found: found.best[0] == found.best[1],
        _APART,
        Text(
            "{{before}} stays the first guess {{where}}: {{p_before}} → {{p_after}}",
            "{{where}}的首选仍是 {{before}}：{{p_before}} → {{p_after}}",
        ),
    ),
    plain=_APART,
    label=Text(
        "The first guess {{where}} changes from {{before}} ({{p_before}}) to {{after}} ({{p_new}})",
        "{{where}}的首选从 {{before}}（{{p_before}}）变为 {{after}}（{{p_new}}）",
    ),
)

FIRST: Verdict[First] = Verdict(
    "attention.first",
    Claim(
        "agree",
        lambda row: row.n_seen > 1 and row.weight >= row.read_weight,
        Text(
            "Weight and what arrives put the same key first: {{sender}}, with {{weight}} of the weight and {{share}} "
            "of what arrives.",
            "按权重和按送到的内容，排在第一的是同一个键：{{sender}}，权重占 {{weight}}，送到的占 {{share}}。",
        ),
    ),
    Claim(
        "differ",
        lambda row: row.n_seen > 1,
        Text(
            "Weight and what arrives put different keys first: {{read}} has the largest weight ({{read_weight}}), but "
            "most arrives from {{sender}}: {{share}}, at a weight of {{weight}}.",
            "按权重和按送到的内容，排在第一的键不同：权重最大的是 {{read}}（{{read_weight}}），"
            "送来最多的却是 {{sender}}：{{share}}，而它的权重是 {{weight}}。",
        ),
    ),
)

SINKS: Verdict[Taken] = Verdict(
    "attention.sinks",
    Claim(
        "some",
        lambda taken: bool(taken.is_sink.any()),
        Text(
            "In **{{n_sinks}}** of {{n_heads}} heads this is a *sink*: it takes at least a fifth of the weight and "
            "gives less than half as large a share of what arrives. {{why}}",
            "在 {{n_heads}} 个头中的 **{{n_sinks}}** 个里，它们是**注意力汇**（attention sink）：至少占五分之一的权重，"
            "送到的份额却不到权重的一半。{{why}}",
        ),
    ),
    plain=Text(
        "In none of {{n_heads}} heads is this a *sink*, which would take at least a fifth of the weight "
        "and give less than half as large a share of what arrives. The language models of Xiao et al. 2023 have them "
        "on their first tokens.",
        "在全部 {{n_heads}} 个头里，它们都不算**注意力汇**（attention sink），"
        "即至少占五分之一的权重、送到的份额却不到权重的一半。Xiao et al. 2023 研究的语言模型在开头几个词元上有。",
    ),
)
