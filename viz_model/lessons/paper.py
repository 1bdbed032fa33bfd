"""A lesson on paper: worksheet and answer key as one HTML file each, with pictures drawn as lines, to be printed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from typing import Literal, NamedTuple, TypeAlias, assert_never

from viz_model.config import ModelConfig
from viz_model.drawing.scene.svg import FONTS, svg
from viz_model.lessons import answers, lesson, pictures
from viz_model.lessons.keys import Answer
from viz_model.lessons.lesson import Lesson, Step
from viz_model.lessons.questions import CellKey, ChoiceKey, FreeKey, Key, NumberKey
from viz_model.texts import fill

Size: TypeAlias = Literal["A4", "letter"]
MOST_ROWS = 24
"""Of a matrix that is printed; a larger one is asked for in words."""
_WIDTH = 640


class Paper(NamedTuple):
    """What is printed: of which lesson, on what.

    Attributes:
        sentence, model: that the keys were computed from.
        answers: of each step.
        configs: of the model that each step shows.
        words: what is written on it besides the lesson's own texts, by the keys of the texts ``lesson.paper_*``
            without that beginning, and ``query``, ``key`` and ``masked``.
    """

    lesson: Lesson
    language: str
    sentence: str
    model: str
    answers: tuple[Answer, ...]
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


def _page(paper: Paper, kind: str, head: str, *, is_key: bool) -> str:
    lesson, lang = paper.lesson, paper.language
    title = f"{lesson.title[lang]} – {kind}"
    steps = [_step(paper, n, is_key) for n in range(len(lesson.steps))]
    about = fill(paper.words["about"], {"model": paper.model, "sentence": paper.sentence})
    return f"""<!doctype html>
<html lang="{escape(lang)}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{escape(title)}</title>
<style>{_STYLE.replace("SIZE", "A4" if paper.size == "A4" else "letter")}</style>
<h1>{escape(lesson.title[lang])} <small>{escape(kind)}</small></h1>
{head}
<p class="about">{escape(about)}</p>
{"".join(steps)}
</html>
"""


def _step(paper: Paper, n: int, is_key: bool) -> str:
    step, lang, config = paper.lesson.steps[n], paper.language, paper.configs[n]
    parts = [f"<h2>{n + 1}. {escape(step.title[lang])}</h2>"]
    if not is_key:
        parts.append(prose(lesson.said(step.text[lang], config)))
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
    parts: list[str] = []
    match key:
        case NumberKey(tolerance=tolerance):
            margin = f" (± {tolerance:g})" if tolerance else ""
            parts.append(f"<p><b>{escape(words['answer'])}: {escape(told)}</b>{escape(margin)}</p>")
        case ChoiceKey():
            parts.append(f"<p><b>{escape(words['answer'])}: {escape(told)}</b></p>")
            parts.append(svg(pictures.bars(key, words["answer"]), _WIDTH))
        case CellKey():
            parts.append(f"<p><b>{escape(words['answer'])}: {escape(told)}</b></p>")
            if len(key.rows) <= MOST_ROWS:
                parts.append(_picture(paper, key, is_blank=False))
        case FreeKey():
            parts.append(f"<p>{escape(words['free'])}</p>")
        case _:
            assert_never(key)
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
svg {{ max-width: 100%; height: auto; display: block; margin: 1mm 0 2mm; }}
@media print {{
  body {{ margin: 0; padding: 0; max-width: none; }}
  svg {{ print-color-adjust: exact; -webkit-print-color-adjust: exact; }}
}}
"""
