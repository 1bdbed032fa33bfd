"""What may be said of an attention head on a text."""

from __future__ import annotations

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.attention.numbers.heads import HeadSummary

MOST = 0.5
"""More than this share of a head's weight, on the mean over its rows, is "mostly"."""

EVEN_ROWS = 0.9
"""The share of rows that have to be even before a head is called so."""


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
            "On this sentence it mostly reads the token just before ({{weight}} of its weight).",
            "在这句话里，它主要读紧挨着的前一个词元（占权重的 {{weight}}）。",
        ),
        Text("previous token", "前一个词元"),
    ),
    "next": (
        Text(
            "On this sentence it mostly reads the token just after ({{weight}} of its weight), "
            "which it can see as nothing is hidden there.",
            "在这句话里，它主要读紧挨着的后一个词元（占权重的 {{weight}}）；后文没有被遮住，所以看得见。",
        ),
        Text("following token", "后一个词元"),
    ),
    "first": (
        Text(
            "On this sentence it mostly rests on the first token ({{weight}} of its weight), "
            "which often means: nothing to fetch here.",
            "在这句话里，它主要停在第一个词元上（占权重的 {{weight}}），这往往表示：此处没有要取的信息。",
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
            "On this sentence it spreads its weight rather evenly, like an average of everything it may see: "
            "in {{even}} of the rows no token gets more than twice its equal share.",
            "在这句话里，它把权重分得相当平均，近似于对看得见的一切取平均：{{even}} 的行里，"
            "没有词元得到的权重超过平均份额的两倍。",
        ),
        Text("broad", "平均分散"),
    ),
    Claim(
        "marks",
        lambda head: head.marks > MOST,
        Text(
            "On this sentence it mostly rests on the control tokens that stand around the text ({{marks}}; "
            "{{on_marks}} of its weight), which often means: nothing to fetch here.",
            "在这句话里，它主要停在文本两端的控制词元上（{{marks}}；占权重的 {{on_marks}}），"
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
