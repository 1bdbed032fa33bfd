"""What stands in a Markdown text without being markup: words that a visitor typed, cells of a table."""

import re
from collections.abc import Iterable

# Letters and digits, with the signs of prose around or between them. No markup is made of such words.
_SPACES = re.compile("([ ，。：；？！、（）“”])")
_PLAIN_WORD = re.compile(r"""['"‘“(]?[^\W_]+(?:['’-][^\W_]+)*['"’”)]?[.,:;…?!。，：；？！]?|[–—]""")


def quoting(message: object) -> str:
    """A message that may quote what a visitor typed, for Markdown: words that could be markup become code."""

    def shown(word: str) -> str:
        if _PLAIN_WORD.fullmatch(word):
            return word
        end = word.rstrip(".,:;")
        return literal(end) + word[len(end) :] if end else literal(word) if word else ""

    words = _SPACES.split(str(message))
    return "".join(word if n % 2 else shown(word) for n, word in enumerate(words))


def row(cells: Iterable[str]) -> str:
    """A row of a Markdown table. A | in a cell would otherwise end it, even within a code span."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table(headings: Iterable[str], rows: Iterable[Iterable[str]], align: str = "") -> str:
    """A Markdown table; ``align`` has l, r or - for each column, by default - for the first and r for the others."""
    names = list(headings)
    sides = {"l": ":--", "r": "--:", "-": "---"}
    edges = [sides[side] for side in align or "-".ljust(len(names), "r")]
    return "\n".join(map(row, (names, edges, *rows)))


def literal(text: str) -> str:
    """``text`` as a Markdown code span, shown to the letter whatever it holds.

    Inside a code span nothing is markup: no HTML, no LaTeX, no emoji names. The fence is longer
    than any run of backticks in the text, and line breaks have no place in one line. Half a
    surrogate pair, which no message to a browser can hold, becomes U+FFFD.
    """
    line = re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", " ".join(text.splitlines())) or " "
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line[0] in " `" or line[-1] in " `" else ""
    return f"{fence}{pad}{line}{pad}{fence}"
