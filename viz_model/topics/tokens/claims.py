"""What may be said of two vocabularies on one text, of the joins of a word, and of the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.tokens.numbers.rows import Rows

CUTS: Verdict[tuple[int, int]] = Verdict(
    "tokens.cuts",
    Claim(
        "all",
        lambda counts: counts[0] == counts[1],
        Text("Both vocabularies cut this text at the same places", "这句话在两个词表里切法完全一样"),
    ),
    Claim(
        "none",
        lambda counts: counts[0] == 0,
        Text("The two vocabularies share not a single token here", "在这句话上，两个词表没有一个词元切得一样"),
    ),
    plain=Text(
        "{{shared}} of {{n}} tokens are cut at the same places in both vocabularies",
        "{{n}} 个词元中有 {{shared}} 个在两个词表里切法相同",
    ),
)
"""Of how many of a text's tokens the second vocabulary cuts alike, and how many there are."""

OTHER: Verdict[tuple[bool, int]] = Verdict(
    "tokens.other",
    Claim(
        "same",
        lambda token: token[0],
        Text(
            "{{other_name}} has an entry of the same bytes, under id {{over_id}}.",
            "{{other_name}} 里也有字节相同的条目，编号 {{over_id}}。",
        ),
    ),
    Claim(
        "cut",
        lambda token: token[1] > 0,
        Text(
            "In {{other_name}} the same bytes lie in other pieces: {{over}}.",
            "在 {{other_name}} 里，同样的字节分在另外几块里：{{over}}。",
        ),
    ),
    plain=Text(
        "Of {{other_name}} nothing stands here: this is no part of the text, or the text was cut inside a character "
        "where the model's context ended.",
        "这里没有 {{other_name}} 的词元可比：它不属于文字本身，或者上下文已满，文本在一个字的中间被截断了。",
    ),
)
"""Of whether the second vocabulary cuts a token alike, and how many of its tokens hold bytes of it."""

JOINS: Verdict[Sequence[int | None]] = Verdict(
    "tokens.joins",
    Claim(
        "next",
        lambda ranks: any(rank is not None for rank in ranks),
        Text(
            "After {{step}} of {{last}} joins there are {{pairs}} pairs of neighbours, and {{can}} of them can be "
            "joined. The lowest rank is {{rank}}: next, {{left}} and {{right}} become one piece.",
            "共 {{last}} 次合并，已完成 {{step}} 次。现在有 {{pairs}} 对相邻块，其中 {{can}} 对可以合并，"
            "最小的 rank 是 {{rank}}：接下来 {{left}} 和 {{right}} 合成一块。",
        ),
    ),
    plain=Text(
        "After {{step}} joins nothing is left to do: of the {{pairs}} pairs of neighbours none can be joined, so these "
        "pieces are the tokens.",
        "合并 {{step}} 次之后就到头了：{{pairs}} 对相邻块都不能再合并，剩下的就是词元。",
    ),
)
"""Of the ranks of all joins that a word's neighbours could make; None of those that are no entry."""

ROWS: Verdict[Rows] = Verdict(
    "tokens.rows",
    Claim(
        "alike",
        lambda table: table.shared and len(table.alike) > 0.01 * table.n,
        Text(
            "In {{model}} the table is shared with the output. {{n_alike}} of its {{n_rows}} rows have come to point "
            "almost the same way (cosine of at least 0.99 with one of them; {{examples}} …) with a median "
            "length of {{length}}; that of all rows is {{median}}. They may be those of tokens that its training texts "
            "hold seldom or never.",
            "{{model}} 的这张表与输出层共用。它的 {{n_rows}} 行里有 {{n_alike}} 行变得几乎指向同一个方向"
            "（与其中一行的余弦至少为 0.99；{{examples}} …），长度的中位数是 {{length}}，全部行的中位数是 {{median}}。"
            "它们可能属于训练语料里很少出现或从未出现的词元。",
        ),
    ),
    plain=Text(
        "In {{model}} the table's {{n_rows}} rows are between {{shortest}} and {{longest}} long, {{median}} on the "
        "median.",
        "{{model}} 这张表的 {{n_rows}} 行，长度在 {{shortest}} 到 {{longest}} 之间，中位数是 {{median}}。",
    ),
)
"""Of the rows of the table by which a model embeds its tokens."""
