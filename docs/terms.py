"""``terms.md``, in this folder and in ``zh``: what the app calls each technical term, and what textbooks call it.

    python docs/terms.py

writes both files anew from ``viz_model/texts/<language>/glossary.toml``, which the app's own glossary is read from too.
"""

from pathlib import Path

from viz_model.island import glossary
from viz_model.texts.markdown import table

HERE = Path(__file__).resolve().parent
FILES = {"en": HERE / "terms.md", "zh": HERE / "zh" / "terms.md"}

HEADS = {
    "en": """# Terms in both languages, and in textbooks

What viz-model calls each technical term in English and in Chinese, and what four textbooks call it: *Dive into Deep
Learning* (Zhang, Lipton, Li & Smola) and its Chinese edition 《动手学深度学习》, *Speech and Language Processing*
(Jurafsky & Martin), and 《神经网络与深度学习》 by Xipeng Qiu. A cell is empty where a book has no such term, or where
we did not find it. [Terms](glossary.md) says what each one means.
""",
    "zh": """# 术语的中英文对照与教材里的叫法

viz-model 里每个术语的中英文叫法，以及四本教材里的叫法：阿斯顿·张、李沐等《动手学深度学习》及其英文版
*Dive into Deep Learning*，邱锡鹏《神经网络与深度学习》，Jurafsky 与 Martin 的 *Speech and Language Processing*。
教材里没有、或者没有查到的，留空。各个术语的意思见[术语](glossary.md)。
""",
}
COLUMNS = {
    "en": ("English", "Chinese", "Dive into Deep Learning", "Jurafsky & Martin", "动手学深度学习", "邱锡鹏"),
    "zh": ("中文", "英文", "动手学深度学习", "邱锡鹏", "Dive into Deep Learning", "Jurafsky & Martin"),
}


def page(language: str) -> str:
    """The file in a language: of the two, its own terms and books stand first."""
    english = [(term.name, term.books.get("d2l", ""), term.books.get("slp", "")) for term in glossary.terms("en")]
    chinese = [(term.name, term.books.get("d2l", ""), term.books.get("nndl", "")) for term in glossary.terms("zh")]
    sides = (english, chinese) if language == "en" else (chinese, english)
    rows = [(own[0], other[0], *own[1:], *other[1:]) for own, other in zip(*sides, strict=True)]
    return f"{HEADS[language]}\n{table(COLUMNS[language], rows, 'llllll')}\n"


if __name__ == "__main__":
    for language, path in FILES.items():
        path.write_text(page(language), encoding="utf-8")
