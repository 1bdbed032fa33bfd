"""What the model reads, changed: the order of the tokens, one cell of the mask, one vector of another sentence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from viz_model.app import runs
from viz_model.app.texts import literal
from viz_model.drawing import heatmap
from viz_model.runs.edits import Edit, FlipMask, PatchResidual, ShuffleTokens
from viz_model.runs.trace import Trace
from viz_model.tokenizers.tokenizer import TextError
from viz_model.topics.ablations.numbers import breaking
from viz_model.topics.ablations.pictures import ablations as break_it
from viz_model.topics.ablations.sections.base import Experiment, Finding, Lab, Measure, evenly

MOST_DEPTHS, MOST_POSITIONS = 9, 10


class Order(Experiment):
    """The same tokens in another order: do the same vectors come out, in that order?"""

    name, edit, options = "shuffle", ShuffleTokens, ("same", "other")

    def missing(self, lab: Lab) -> str | None:
        return None if self.make(lab, None) else "few_tokens"

    def ask(self, lab: Lab) -> dict[str, object]:
        config = lab.plain.config
        shuffle = self.make(lab, None)
        read = self._source(lab)
        text = ""
        if isinstance(shuffle, ShuffleTokens):
            order = breaking.came_from(lab.plain, shuffle)
            text = literal("".join(read.tokens[i].text for i in order))
        return {"text": text, "enters": lab.words(f"enters_{config.position.acts_on}")}

    def fits(self, lab: Lab, edit: Edit) -> bool:
        return isinstance(edit, ShuffleTokens)

    def _source(self, lab: Lab) -> Trace:
        return lab.plain.at(lab.plain.config.sides[0])

    def make(self, lab: Lab, guess: str | None) -> Edit | None:
        return breaking.a_shuffle(lab.plain)

    def answer(self, lab: Lab, edit: Edit, after: Trace) -> Finding:
        assert isinstance(edit, ShuffleTokens)
        key = (self.name, edit)
        lab.allow(key)
        conditions = breaking.CONDITIONS
        found = np.array(
            lab.several(
                key,
                len(conditions),
                lambda: (breaking.reordered(lab.plain, edit, condition) for condition in conditions),
            )
        )
        distance = dict(zip(conditions, found.tolist(), strict=True))
        side = edit.side or lab.plain.config.sides[0]
        order = breaking.came_from(lab.plain, edit)
        tokens = lab.plain.at(side).tokens
        facts = self.ask(lab) | {name: f"{value:.3f}" for name, value in distance.items()}
        facts |= {"text": literal("".join(tokens[i].text for i in order)), "limit": breaking.ALIKE}
        labels = tuple(lab.words(f"condition_{condition}") for condition in conditions)
        view = break_it.SeriesView(labels, {"cost": found}, "", (0,))

        def draw() -> None:
            lab.bars(view, (lab.words("axis_condition"), lab.words("axis_reordered")), "order")

        outcome = "same" if distance["as_it_is"] < breaking.ALIKE else "other"
        return Finding(outcome, facts, draw, f"answer_shuffle_{outcome}", view.table())


class Cell(Measure):
    """The key that a query reads most is hidden from it: where does the weight go, and does the answer change?"""

    name, edit, options = "flip", FlipMask, ("stays", "changes")

    def missing(self, lab: Lab) -> str | None:
        return super().missing(lab) or (None if self.make(lab, None) else "sees_one")

    def fits(self, lab: Lab, edit: Edit) -> bool:
        """One cell of every layer, and one that is hidden by it, not shown."""
        if not (super().fits(lab, edit) and isinstance(edit, FlipMask)) or edit.key is None or edit.layer is not None:
            return False
        return bool(_row(lab, lab.plain, edit.query)[edit.key] > 0)

    def _cell(self, lab: Lab) -> tuple[int, int]:
        """What was tried; else the selected query, and of what it sees beside itself the key that it reads most."""
        if isinstance(tried := lab.tried, FlipMask) and tried.key is not None and self.fits(lab, tried):
            return tried.query, tried.key
        row = _row(lab, lab.plain, lab.token).copy()
        row[lab.token] = 0.0
        return lab.token, int(row.argmax())

    def ask(self, lab: Lab) -> dict[str, object]:
        query, key = self._cell(lab)
        row = _row(lab, lab.plain, query)
        return {
            "query": lab.token_name(query),
            "key": lab.token_name(key),
            "before": f"{row[key]:.0%}",
            "own": f"{row[query]:.0%}",
            "subject": lab.subject,
        }

    def make(self, lab: Lab, guess: str | None) -> Edit | None:
        query, key = self._cell(lab)
        if _row(lab, lab.plain, query)[key] == 0 or key == query:
            return None
        return FlipMask(query=query, key=key, side=lab.side)

    def values(self, lab: Lab, trace: Trace, edit: Edit | None) -> np.ndarray:
        query = edit.query if isinstance(edit, FlipMask) else lab.token
        return _row(lab, trace, query)

    def view(self, lab: Lab, series: Mapping[str, np.ndarray], edit: Edit | None) -> break_it.SeriesView:
        key = edit.key if isinstance(edit, FlipMask) else self._cell(lab)[1]
        marked = () if key is None else (key,)
        return break_it.SeriesView(lab.labels, series, "attn.pattern", marked)

    def axes(self, lab: Lab) -> tuple[str, str]:
        return lab.stage.t("common.axis_key"), lab.words("axis_weight")

    def judge(self, lab: Lab, before: np.ndarray, after: np.ndarray) -> tuple[str, dict[str, object]]:
        gain = after - before
        gained = int(gain.argmax())
        return "", {"gained": lab.token_name(gained), "gain": f"{100 * gain[gained]:.0f}"}

    def answer(self, lab: Lab, edit: Edit, after: Trace) -> Finding:
        assert isinstance(edit, FlipMask)
        found = super().answer(lab, edit, after)
        here = breaking.cost(lab.plain, after, lab.at)
        outcome = "changes" if here.changed else "stays"
        row = _row(lab, lab.plain, edit.query)
        weights = (row, _row(lab, after, edit.query))
        key = self._cell(lab)[1] if edit.key is None else edit.key
        facts = dict(found.facts) | {
            "query": lab.token_name(edit.query),
            "key": lab.token_name(key),
            "before": f"{weights[0][key]:.0%}",
            "after": f"{weights[1][key]:.0%}",
            "cost": lab.amount(here.amount),
            "top": lab.top(here),
        }
        return found._replace(outcome=outcome, facts=facts, told=f"answer_flip_{outcome}")


class Sentence(Experiment):
    """One vector of another sentence in this run: how deep does the answer hang on the word's own place?"""

    name, edit, options = "patch", PatchResidual, ("early", "late", "end")

    def missing(self, lab: Lab) -> str | None:
        if lab.plain.stack.side != lab.plain.config.sides[0]:
            return "patch_source"
        return super().missing(lab) or (None if self._words(lab) else "no_words")

    def fits(self, lab: Lab, edit: Edit) -> bool:
        return isinstance(edit, PatchResidual)

    def _words(self, lab: Lab) -> list[int]:
        """Positions of whole words of the text, save where the answer is read."""
        controls = lab.plain.tokenizer.controls
        is_text = [token.text.strip().isalnum() for token in lab.plain.tokens]
        own = lab.at.position if lab.at.side == lab.plain.stack.side else -1
        return [i for i, token in enumerate(lab.plain.tokens) if is_text[i] and token.id not in controls and i != own]

    def _default(self, lab: Lab) -> int:
        """The word that the answer's place reads most."""
        crosses = lab.at.side != lab.plain.stack.side
        row = breaking.mean_row(lab.plain.at(lab.at.side), lab.at.position, "cross" if crosses else "attn")
        words = self._words(lab)
        later = [i for i in words if i > 0] or words
        return max(later, key=lambda i: float(row[i]))

    def controls(self, lab: Lab) -> None:
        words, labels = self._words(lab), lab.labels
        key = "ablations.word"
        if st.session_state.get(key) not in words:
            st.session_state[key] = self._default(lab)
        left, right = st.columns([1, 2], gap="large", vertical_alignment="bottom")
        left.selectbox(
            lab.words("word"),
            words,
            key=key,
            format_func=lambda i: f"{i}: {labels[i]}",
            help=lab.words("word_help"),
            persist_state="session",
        )
        word = st.session_state[key]
        made = _neighbour(lab, word)
        # The box has a key of its own for each word of each text: what is typed belongs to it.
        box = f"ablations.other.{hash((lab.stage.asked.plain, word))}"
        right.text_input(lab.words("other"), value=made or lab.plain.text or "", key=box, help=lab.words("other_help"))
        st.session_state["ablations.other"] = st.session_state[box]

    def ask(self, lab: Lab) -> dict[str, object]:
        typed = str(st.session_state.get("ablations.other", ""))
        if isinstance(lab.tried, PatchResidual):
            typed = lab.tried.from_text or lab.plain.tokenizer.decode(lab.tried.from_ids or ())
        return {"subject": lab.subject, "other": literal(typed)}

    def make(self, lab: Lab, guess: str | None) -> Edit | None:
        text, _ = runs.readable(str(st.session_state.get("ablations.other", "")))
        found = self._other(lab, text)
        if isinstance(found, str):
            st.warning(found)
            return None
        positions = breaking.differs_at(lab.plain, found)
        site = lab.plain.full_name(breaking.depth_site(lab.layer + 1))
        return PatchResidual(site=site, position=positions[0], from_text=text)

    def _other(self, lab: Lab, text: str) -> Trace | str:
        """The other run, or why there is none."""
        if not text:
            return lab.words("other_empty")
        try:
            other = runs.trace(lab.stage.asked.plain._replace(text=text)).at(lab.plain.stack.side)
            breaking.differs_at(lab.plain, other)
        except TextError as wrong:
            return str(wrong)
        except ValueError:
            return lab.words("other_length", n=len(lab.plain))
        return other

    def answer(self, lab: Lab, edit: Edit, after: Trace) -> Finding:
        assert isinstance(edit, PatchResidual)
        n_layers = lab.plain.n_layers
        facts: dict[str, object] = {"subject": lab.subject, "site": literal(edit.site)}
        found = self._other(lab, edit.from_text or "")
        if isinstance(found, str) or edit.read_at != edit.position:
            return Finding(None, facts, lambda: None, "answer_patch_one")
        other = found
        swapped = breaking.differs_at(lab.plain, other)[0]
        depths = evenly(range(n_layers + 1), MOST_DEPTHS)
        wanted = dict.fromkeys(
            (swapped, edit.position, *([lab.at.position] if lab.at.side == other.stack.side else []))
        )
        rest = [i for i in range(len(lab.plain)) if i not in wanted]
        most = max(2, min(MOST_POSITIONS, lab.affordable(len(depths) * MOST_POSITIONS) // len(depths)))
        positions = sorted([*wanted, *evenly(rest, max(1, most - len(wanted)))])
        key = (self.name, edit.from_text, tuple(depths), tuple(positions))
        if st.session_state.get("ablations.pressed_patch") == edit.from_text:
            lab.allow(key)
        rows = lab.several(
            key, len(depths) * len(positions), lambda: breaking.patches(lab.plain, other, depths, positions, lab.at)
        )
        words = {"from": literal(other.tokens[swapped].label), "word": lab.token_name(swapped)}
        if rows is None:
            return Finding(None, facts | words, lambda: None, "answer_patch_one")
        patching = breaking.Patching(
            tuple(depths),
            tuple(positions),
            np.array(rows),
            positions.index(swapped),
            breaking.cost(other, lab.plain, lab.at).amount,
        )
        leaves = patching.leaves
        outcome = "end" if leaves is None else "early" if leaves <= n_layers / 2 else "late"
        at = int(np.nanargmax(np.where(np.isfinite(patching.moved), patching.moved, np.nan)[1:].max(0)))
        names = lab.depths(n_layers)
        facts |= words | {
            "distance": lab.amount(patching.distance),
            "leaves": "" if leaves is None else names[leaves],
            "n_layers": n_layers,
            "best": lab.token_name(patching.positions[at]),
        }

        def draw() -> None:
            row = next((n for n, d in enumerate(depths) if breaking.depth_site(d) in edit.site), None)
            axes = lab.words("axis_depth"), lab.words("axis_position")
            labels = [names[d] for d in depths]
            view = break_it.patching_view(patching, lab.labels, labels, axes, row)
            lab.stage.figure(heatmap.draw(view, cell=34), "patching", lab.words("patching_alt"))
            st.caption(lab.words("patching_note"))

        table: dict[str, list[object]] = {"": [names[d] for d in depths]}
        table |= {f"{i}: {lab.labels[i]}": patching.moved[:, n].tolist() for n, i in enumerate(positions)}
        return Finding(outcome, facts, draw, f"answer_patch_{outcome}", table)


@st.cache_resource(show_spinner=False, max_entries=64)
def _near(asked: runs.RunKey, position: int, _plain: Trace) -> str | None:
    with runs.alone():
        return breaking.neighbour(_plain, position)


def _row(lab: Lab, trace: Trace, query: int) -> np.ndarray:
    """Where a query looks, on the mean of all layers and heads, [Tk]."""
    return lab.once(("row", query), trace, lambda: breaking.mean_row(trace, query))


def _neighbour(lab: Lab, position: int) -> str | None:
    return _near(lab.stage.asked.plain, position, lab.plain)
