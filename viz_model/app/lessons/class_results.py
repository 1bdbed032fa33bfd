"""The teacher's page: results that were handed in, who answered what, and where the class went wrong."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st

from viz_model.lessons import result
from viz_model.lessons.answers import OUTCOMES, Outcome
from viz_model.lessons.result import Handed, Row
from viz_model.lessons.shelf import text_of
from viz_model.texts import Texts
from viz_model.texts.markdown import literal, quoting

MOST_FILES = 300

_MARKS: dict[Outcome, str] = {"right": "✓", "hinted": "(✓)", "wrong": "✗", "passed": "→", "kept": "✎", "open": "–"}


def draw(t: Texts) -> None:
    """Ask for the files, and show what they say."""
    st.markdown(t("lesson.results_lead"))
    given = st.file_uploader(t("lesson.results_files"), type="csv", accept_multiple_files=True, key="lesson.results")
    if not given:
        st.caption(t("lesson.results_none"))
        return
    if len(given) > MOST_FILES:
        st.warning(t("lesson.results_many", n=len(given), most=MOST_FILES))
    classes: dict[tuple[str, str], dict[str, tuple[str, Handed]]] = {}
    n_again = 0
    for file in given[:MOST_FILES]:
        try:
            handed = result.read(text_of(file.getvalue()))
        except (ValueError, UnicodeDecodeError) as wrong:
            st.error(t("lesson.results_wrong", file=literal(file.name), why=t.error(wrong)))
            continue
        if not handed.is_as_written:
            st.warning(t("lesson.results_changed", file=literal(file.name)), icon=":material/gpp_maybe:")
        of = handed.result
        found = classes.setdefault((of.lesson, of.digest), {})
        pupil = " ".join(of.name.split()).casefold()
        n_again += pupil in found
        if pupil not in found or found[pupil][1].result.written <= of.written:
            found[pupil] = (file.name, handed)
    if n_again:
        st.info(t("lesson.results_again", n=n_again))
    if len(classes) > 1:
        st.info(t("lesson.results_several"))
    for n, found in enumerate(classes.values()):
        _class(list(found.values()), f"lesson.class.{n}", t)


def _class(found: Sequence[tuple[str, Handed]], key: str, t: Texts) -> None:
    """All results of one lesson on one sentence."""
    of = found[0][1].result
    st.subheader(t("lesson.results_lesson", title=quoting(of.title), n=len(found)), anchor=False)
    sentences = dict.fromkeys(handed.result.sentence for _, handed in found)
    st.caption(t("lesson.results_sentence", sentence=" · ".join(map(literal, sentences))))
    st.markdown(f"**{t('lesson.results_class')}**")
    table = who(found, t)
    st.dataframe(table, hide_index=True, key=f"{key}.who")
    legend(t)
    st.download_button(
        t("lesson.results_download"),
        table.to_csv(index=False).encode("utf-8-sig"),
        file_name=f"{of.lesson}-class.csv",
        mime="text/csv",
        key=f"{key}.csv",
        on_click="ignore",
    )
    st.markdown(f"**{t('lesson.results_where')}**")
    st.caption(t("lesson.results_where_help"))
    st.dataframe(where([handed for _, handed in found], t), hide_index=True, key=f"{key}.where")
    words([handed for _, handed in found], t)


def legend(t: Texts) -> None:
    """What the marks mean."""
    st.caption(" · ".join(f"{mark} {t(f'lesson.mark_{outcome}')}" for outcome, mark in _MARKS.items()))


def who(found: Sequence[tuple[str, Handed]], t: Texts, *, is_of_files: bool = True) -> pd.DataFrame:
    """A row for each pupil: a mark for every question, with what was answered where it was not right."""
    lines: list[dict[str, Any]] = []
    for file, handed in found:
        rows = handed.result.rows
        graded = [row for row in rows if row.is_graded]
        line: dict[str, Any] = {
            t("lesson.results_name"): _plain(handed.result.name),
            t("lesson.results_sum"): f"{sum(row.outcome in ('right', 'hinted') for row in graded)} / {len(graded)}",
        }
        line |= {f"{row.step}": _marked(row) for row in rows}
        if is_of_files:
            said = "results_check_ok" if handed.is_as_written else "results_check_no"
            line |= {t("lesson.results_check"): t(f"lesson.{said}"), t("lesson.results_file"): _plain(file)}
        lines.append(line)
    return pd.DataFrame(lines)


def _marked(row: Row) -> str:
    mark = _MARKS[row.outcome]
    return f"{mark} {_plain(row.second or row.first)}" if row.outcome == "wrong" else mark


def where(found: Sequence[Handed], t: Texts) -> pd.DataFrame:
    """A row for each question, the one that fewest had right at once first."""
    counts: dict[int, Counter[Outcome]] = {}
    wrong: dict[int, Counter[str]] = {}
    asked: dict[int, Row] = {}
    for handed in found:
        for row in handed.result.rows:
            asked.setdefault(row.step, row)
            counts.setdefault(row.step, Counter())[row.outcome] += 1
            said = [row.first] if row.outcome == "hinted" and row.second else []
            said += [row.first, row.second] if row.outcome in ("wrong", "passed", "open") else []
            wrong.setdefault(row.step, Counter()).update(filter(None, said))
    graded = [step for step in counts if asked[step].is_graded]
    lines: list[dict[str, Any]] = []
    for step in sorted(graded, key=lambda step: (counts[step]["right"], counts[step]["hinted"], step)):
        often = wrong[step].most_common(1)
        lines.append(
            {
                t("lesson.column_step"): step,
                t("lesson.column_question"): _plain(asked[step].question),
                **{t(f"lesson.mark_{each}"): counts[step][each] for each in OUTCOMES if each != "kept"},
                t("lesson.column_key"): _plain(asked[step].right),
                t("lesson.results_often"): f"{_plain(often[0][0])} ({often[0][1]})" if often else "",
            }
        )
    return pd.DataFrame(lines)


def words(found: Sequence[Handed], t: Texts) -> None:
    """What was explained, question by question."""
    kept: dict[int, list[tuple[str, Row]]] = {}
    for handed in found:
        for row in handed.result.rows:
            if row.outcome == "kept":
                kept.setdefault(row.step, []).append((handed.result.name, row))
    if kept:
        st.markdown(f"**{t('lesson.results_words')}**")
    for step, said in sorted(kept.items()):
        with st.expander(f"{step} {quoting(said[0][1].question)}"):
            for name, row in said:
                st.caption(literal(name))
                st.text(row.first)


def _plain(text: str) -> str:
    """A cell that no spreadsheet takes for a formula when the table is saved."""
    return f"'{text}" if text.startswith(("=", "+", "@")) else text
