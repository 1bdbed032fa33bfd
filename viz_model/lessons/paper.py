"""A lesson on paper: worksheet and answer key as one HTML file each, with pictures drawn as lines, to be printed."""

import re
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any, Literal, NamedTuple, TypeAlias, assert_never

from viz_model.config import ModelConfig
from viz_model.drawing.scene.svg import FONTS, svg
from viz_model.lessons import answers, lesson, pictures
from viz_model.lessons.keys import Answer, Printed
from viz_model.lessons.lesson import Lesson, Step
from viz_model.lessons.questions import CellKey, ChoiceKey, FreeKey, Key, NumberKey
from viz_model.texts import fill

Size: TypeAlias = Literal["A4", "letter"]
MOST_COLUMNS = 8
"""Of numbers in a line."""
MOST_ROWS = 24
"""Of a matrix that is printed; a larger one is asked for in words."""
_WIDTH = 640


class Paper(NamedTuple):
    """What is printed: of which lesson, on what.

    Attributes:
        sentence, model: that the keys were computed from.
        answers, numbers: of each step.
        configs: of the model that each step shows.
        words: what is written on it besides the lesson's own texts, by the keys of the texts ``lesson.paper_*``
            without that beginning, and ``query``, ``key`` and ``masked``.
    """

    lesson: Lesson
    language: str
    sentence: str
    model: str
    answers: tuple[Answer, ...]
    numbers: tuple[tuple[Printed, ...], ...]
    configs: tuple[ModelConfig, ...]
    words: Mapping[str, str]
    size: Size


def worksheet(paper: Paper) -> str:
    """What pupils get: texts, questions, and room for the answers."""
    head = '<p class="who">{}: <span></span> {}: <span class="short"></span></p>'.format(
        *(escape(paper.words[name]) for name in ("name", "date"))
    )
    return _page(paper, paper.words["of"], head, is_key=False)


def answer_key(paper: Paper) -> str:
    """What the teacher gets: the same with hints, answers, and the numbers that decide."""
    return _page(paper, paper.words["key_of"], "", is_key=True)


def slides(paper: Paper) -> str:
    """What stands on the wall: a slide for each step, and after each question one with the answer."""
    parts = [f"<section><h1>{escape(paper.lesson.title[paper.language])}</h1>{prose(_about(paper))}</section>"]
    for n, step in enumerate(paper.lesson.steps):
        parts.append(_step(paper, n, False))
        if step.question is not None and paper.answers[n].key is not None:
            parts.append(_step(paper, n, True))
    return _document(paper, paper.words["slides_of"], "".join(parts), _STYLE + _SLIDES)


def cards(paper: Paper) -> str:
    """The questions as cards to be cut out: the answer stands on the lower edge, which is folded back."""
    lang, parts = paper.language, []
    for n, step in enumerate(map(on_paper, paper.lesson.steps)):
        key = paper.answers[n].key
        if step.ask is None or key is None or not (told := answers.told(key)):
            continue
        asked = prose(lesson.said(step.ask[lang], paper.configs[n]))
        numbers = "".join(map(_table, paper.numbers[n]))
        room = "" if isinstance(key, CellKey) else _open(paper, key)
        parts.append(f'<div class="card"><b>{n + 1}</b>{asked}{numbers}{room}<p class="back">{escape(told)}</p></div>')
    body = f'<p class="about">{escape(_about(paper))}</p><div class="cards">{"".join(parts)}</div>'
    return _document(paper, paper.words["cards_of"], body, _STYLE + _CARDS)


def unplugged(paper: Paper, activity: str) -> str:
    """An activity without a computer: ``activity`` is its text, in Markdown with headings and lists."""
    title = f"<h1>{escape(paper.words['unplugged_of'])}</h1>"
    return _document(paper, paper.words["unplugged_of"], title + blocks(activity), _STYLE)


def blocks(text: str) -> str:
    """Markdown of headings, lists and paragraphs as HTML."""
    parts = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.splitlines()
        if block.startswith("#"):
            parts.append(f"<h2>{_inline(block.lstrip('# '))}</h2>")
        elif all(re.match(r"\d+\. ", line) for line in lines):
            parts.append("<ol>" + "".join(f"<li>{_inline(line.split('. ', 1)[1])}</li>" for line in lines) + "</ol>")
        else:
            parts.append(prose(block))
    return "".join(parts)


def _about(paper: Paper) -> str:
    return fill(paper.words["about"], {"model": paper.model, "sentence": paper.sentence})


def _page(paper: Paper, kind: str, head: str, *, is_key: bool) -> str:
    title = f"<h1>{escape(paper.lesson.title[paper.language])} <small>{escape(kind)}</small></h1>"
    steps = [_step(paper, n, is_key) for n in range(len(paper.lesson.steps))]
    body = f'{title}\n{head}\n<p class="about">{escape(_about(paper))}</p>\n{"".join(steps)}'
    return _document(paper, kind, body, _STYLE)


def _document(paper: Paper, kind: str, body: str, style: str) -> str:
    return f"""<!doctype html>
<html lang="{escape(paper.language)}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{escape(paper.lesson.title[paper.language])} – {escape(kind)}</title>
<style>{style.replace("SIZE", "A4" if paper.size == "A4" else "letter")}</style>
{body}
</html>
"""


def _step(paper: Paper, n: int, is_key: bool) -> str:
    step, lang, config = on_paper(paper.lesson.steps[n]), paper.language, paper.configs[n]
    parts = [f"<h2>{n + 1}. {escape(step.title[lang])}</h2>"]
    if not is_key:
        parts.append(prose(lesson.said(step.text[lang], config)))
        parts += map(_table, paper.numbers[n])
    if step.question is not None and step.ask is not None:
        parts.append(f'<div class="ask">{prose(lesson.said(step.ask[lang], config))}</div>')
        found = paper.answers[n]
        if found.key is None:
            why = fill(paper.words["none"], {"why": found.why})
            parts.append(f'<p class="none">{escape(why)}</p>')
        elif is_key:
            parts.append(_solved(paper, step, found.key, config))
        else:
            parts.append(_open(paper, found.key))
    return f"<section>{''.join(parts)}</section>\n"


def on_paper(step: Step) -> Step:
    """A step with the texts that stand on paper."""
    changed: Any = step.paper
    return replace(step, **changed)


def _table(shown: Printed) -> str:
    rows = "".join(
        f"<tr><th>{escape(name)}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>"
        for name, part in zip(shown.rows, shown.cells, strict=True)
        for name, row in _lines(name, part)
    )
    return f'<p class="label">{escape(shown.label)}</p><table>{rows}</table>'


def _lines(name: str, cells: tuple[str, ...]) -> list[tuple[str, tuple[str, ...]]]:
    """A row of a table in lines that a page has room for."""
    parts = [cells[at : at + MOST_COLUMNS] for at in range(0, len(cells), MOST_COLUMNS)]
    return [(name if not n else "", part) for n, part in enumerate(parts)]


def _open(paper: Paper, key: Key) -> str:
    """Room for the answer to a question."""
    match key:
        case NumberKey(percent=percent):
            return f'<p class="fill"><span></span>{" %" if percent else ""}</p>'
        case ChoiceKey(options=options):
            boxes = "".join(f"<li>{escape(option.label)}</li>" for option in options)
            return f'<ul class="boxes">{boxes}</ul>'
        case CellKey() if len(key.rows) <= MOST_ROWS:
            return _picture(paper, key, is_blank=True)
        case CellKey():
            return '<p class="fill"><span></span> → <span></span></p>'
        case FreeKey():
            return '<div class="lines">' + "<p></p>" * 4 + "</div>"
    assert_never(key)


def _solved(paper: Paper, step: Step, key: Key, config: ModelConfig) -> str:
    """The answer to a question, with what decides it."""
    lang, words = paper.language, paper.words
    told = answers.told(key)
    margin = f" (± {key.tolerance:.2g})" if isinstance(key, NumberKey) and key.tolerance else ""
    parts = [f"<p><b>{escape(words['answer'])}: {escape(told)}</b>{margin}</p>"]
    match key:
        case ChoiceKey() if len(key.values):
            parts.append(svg(pictures.bars(key, words["answer"]), _WIDTH))
        case CellKey() if len(key.rows) <= MOST_ROWS:
            parts.append(_picture(paper, key, is_blank=False))
        case FreeKey():
            parts = [f"<p>{escape(words['free'])}</p>"]
    if step.hint is not None:
        parts.append(
            f'<div class="hint"><b>{escape(words["hint"])}:</b> {prose(lesson.said(step.hint[lang], config))}</div>'
        )
    if step.then is not None:
        parts.append(prose(lesson.said(step.then[lang], config, told)))
    return "".join(parts)


def _picture(paper: Paper, key: CellKey, *, is_blank: bool) -> str:
    words = pictures.Words(*(paper.words[name] for name in ("answer", "query", "key", "masked")))
    return svg(pictures.grid(key, words, is_blank=is_blank, ringed=() if is_blank else key.right), _WIDTH)


_BOLD = re.compile(r"\*\*(.+?)\*\*")
_SLANTED = re.compile(r"(?<![*\w])\*([^*\s][^*]*)\*(?![*\w])")
_CODE = re.compile(r"`([^`]+)`")


def prose(text: str) -> str:
    """A text of a lesson as HTML: paragraphs, bold, emphasis and code, as much of Markdown as lessons use."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "".join(f"<p>{_inline(' '.join(each.split()))}</p>" for each in paragraphs)


def _inline(text: str) -> str:
    made = _BOLD.sub(r"<b>\1</b>", escape(text, quote=False))
    return _CODE.sub(r"<code>\1</code>", _SLANTED.sub(r"<i>\1</i>", made))


_STYLE = f"""
@page {{ size: SIZE; margin: 18mm 16mm; }}
body {{ font: 11pt/1.45 {FONTS}; color: #1e1f26; max-width: 180mm; margin: 12mm auto; padding: 0 4mm; }}
h1 {{ font-size: 17pt; margin: 0 0 3mm; }}
h1 small {{ font-weight: normal; color: #5d606b; font-size: 12pt; }}
h2 {{ font-size: 12.5pt; margin: 0 0 1.5mm; break-after: avoid; }}
p {{ margin: 0 0 2mm; }}
:lang(zh) i {{ font-style: normal; font-weight: 600; }}
section {{ break-inside: avoid; padding: 4mm 0 3mm; border-top: 0.3mm solid #d9dbe2; }}
.about {{ color: #5d606b; }}
.ask p {{ font-weight: 600; }}
.who span {{ display: inline-block; width: 70mm; border-bottom: 0.3mm solid #1e1f26; }}
.who .short {{ width: 35mm; }}
.fill span {{ display: inline-block; width: 40mm; height: 8mm; border-bottom: 0.3mm solid #1e1f26; }}
.boxes {{ list-style: none; display: flex; flex-wrap: wrap; gap: 2mm 7mm; padding: 0; margin: 1mm 0 2mm; }}
.boxes li::before {{ content: ""; display: inline-block; width: 3.4mm; height: 3.4mm; border: 0.3mm solid #1e1f26; }}
.boxes li::before {{ margin-right: 2mm; vertical-align: -0.4mm; }}
.lines p {{ height: 8mm; margin: 0; border-bottom: 0.2mm solid #808491; }}
.hint p {{ display: inline; }}
.none {{ color: #5d606b; }}
.label {{ margin: 2mm 0 0.5mm; color: #5d606b; }}
table {{ border-collapse: collapse; margin: 0 0 2mm; font-size: 9.5pt; font-variant-numeric: tabular-nums; }}
th, td {{ padding: 0.4mm 1.8mm; text-align: right; border-bottom: 0.2mm solid #d9dbe2; }}
th {{ text-align: left; font-weight: 600; }}
svg {{ max-width: 100%; height: auto; display: block; margin: 1mm 0 2mm; }}
@media print {{
  body {{ margin: 0; padding: 0; max-width: none; }}
  svg {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
"""
_SLIDES = """
@page { size: 297mm 167mm; margin: 0; }
body { font-size: 20pt; max-width: none; margin: 0; padding: 0; }
h1 { font-size: 34pt; }
h2 { font-size: 26pt; }
section { min-height: 100vh; box-sizing: border-box; padding: 14mm 20mm; break-after: page; border: 0; }
table { font-size: 14pt; }
.fill { display: none; }
"""
_CARDS = """
.cards { display: grid; grid-template-columns: 1fr 1fr; gap: 4mm; }
.card { border: 0.3mm dashed #808491; border-radius: 3mm; padding: 4mm; break-inside: avoid; }
.card table { font-size: 7.5pt; }
.card th, .card td { padding: 0.3mm 0.8mm; }
.back { border-top: 0.3mm dotted #808491; margin: 3mm 0 0; padding-top: 2mm; }
.back { transform: rotate(180deg); text-align: right; }
"""
