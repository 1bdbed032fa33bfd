"""What may be said of a token's row, and of what becomes of it."""

from __future__ import annotations

from viz_model.claims import Claim, Text, Verdict
from viz_model.topics.embedding.numbers.context import EQUAL, OwnPart, TwoSentences
from viz_model.topics.embedding.pictures.neighbours import NeighboursView

PARALLEL, FAR = 0.9, 0.3

NEAR: Verdict[NeighboursView] = Verdict(
    "embedding.near",
    Claim(
        "parallel",
        lambda view: len(view.cosines) > 0 and view.cosines[0] >= PARALLEL,
        Text(
            "Nearest to {{token}} is {{near}}, almost in the same direction: cosine {{cosine}}",
            "离 {{token}} 最近的是 {{near}}，方向几乎相同：余弦相似度 {{cosine}}",
        ),
    ),
    Claim(
        "far",
        lambda view: len(view.cosines) > 0 and view.cosines[0] < FAR,
        Text(
            "No row points nearly as that of {{token}} does: the nearest is {{near}}, cosine {{cosine}}",
            "没有哪一行与 {{token}} 方向相近：最近的是 {{near}}，余弦相似度 {{cosine}}",
        ),
    ),
    plain=Text(
        "Nearest to {{token}} is {{near}}, with a cosine of {{cosine}}",
        "离 {{token}} 最近的是 {{near}}，余弦相似度 {{cosine}}",
    ),
)

REPEATED: Verdict[list[int]] = Verdict(
    "embedding.repeated",
    Claim(
        "again",
        lambda places: len(places) > 1,
        Text(
            "{{again}} stands at positions {{positions}}, and each time it gets the same row: the table knows "
            "nothing of place or context.",
            "{{again}} 出现在位置 {{positions}}，每次取到的都是同一行：这张表不知道位置，也不知道上下文。",
        ),
    ),
    plain=Text(
        "The same token would get the same row at any place: the table knows nothing of position or context.",
        "同一个词元放在哪里都取同一行：这张表不知道位置，也不知道上下文。",
    ),
)

CONTEXTUAL: Verdict[TwoSentences] = Verdict(
    "embedding.contextual",
    Claim(
        "never",
        lambda view: view.equal == len(view.same),
        Text(
            "At no depth do the two vectors of {{word}} differ: all that this model reads for them is the same in both "
            "sentences.",
            "{{word}} 的两个向量在任何深度都没有差别：这个模型为它们读到的内容，在两句话里完全相同。",
        ),
    ),
    Claim(
        "parts",
        lambda view: view.same[0] >= EQUAL > PARALLEL > view.same[-1],
        Text(
            "One row, two vectors: at the embedding the two of {{word}} are equal, at the end their cosine is "
            "{{last}}; "
            "the lowest is {{least}}: {{where}}. The row is static, what becomes of it depends on the context.",
            "同一行，两个向量：在词嵌入处，{{word}} 的两个向量相同；到最后，余弦是 {{last}}；"
            "最低是 {{least}}（{{where}}）。这一行是静态的，它变成什么则取决于上下文。",
        ),
    ),
    plain=Text(
        "The cosine of the two vectors of {{word}} is {{first}} at the embedding and {{last}} at the end; the lowest "
        "is {{least}}: {{where}}.",
        "{{word}} 的两个向量的余弦：词嵌入处是 {{first}}，最后是 {{last}}；最低是 {{least}}（{{where}}）。",
    ),
)

OWN: Verdict[OwnPart] = Verdict(
    "embedding.own",
    Claim(
        "stays",
        lambda view: not view.rank.any(),
        Text(
            "At every depth the row nearest to the vector of {{token}} is its own; the cosine goes from {{first}} to "
            "{{last}}.",
            "在每个深度，离 {{token}} 的向量最近的行都是它自己的；余弦从 {{first}} 变到 {{last}}。",
        ),
    ),
    Claim(
        "leaves",
        lambda view: view.rank[0] == 0 and view.rank[-1] > 0,
        Text(
            "The vector of {{token}} begins as its own row and ends nearer to others: {{rank}} of the {{n_rows}} rows "
            "have a larger cosine with the last one than its own, which has {{last}}.",
            "{{token}} 的向量开始时就是它自己的行，最后却更接近其他的行："
            "与最后的向量相比，{{n_rows}} 行中有 {{rank}} 行的余弦大于它自己的行（{{last}}）。",
        ),
    ),
    plain=Text(
        "The cosine of the vector of {{token}} with its own row is {{first}} at first and {{last}} at the end.",
        "{{token}} 的向量与它自己的行的余弦，开始是 {{first}}，最后是 {{last}}。",
    ),
)
