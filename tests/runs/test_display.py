"""What models, runs and texts say of themselves in a console and in a notebook."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import viz_model as vm
from viz_model.runs.edits import AblateHead

HOSTILE = "<script>alert('x')</script> & \"quotes\""


class Read(HTMLParser):
    """The elements of a piece of HTML, and its text; an element that is left open fails."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.met: set[str] = set()
        self.text = ""
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.met.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_line_says_what_was_run(lm: vm.LanguageModel) -> None:
    trace = lm.trace("The cat sat")
    config, n = lm.config, len(trace.ids)
    assert repr(trace).startswith(f"Trace('The cat sat', {n} tokens; {config.kind}, {config.n_layers} blocks")
    assert f"{len(trace.sites)} values" in repr(trace) and len(repr(trace)) < 200
    edited = lm.trace("The cat sat", edits=[AblateHead(layer=0, head=0)])
    assert ", 1 edit;" in repr(edited)
    assert len(repr(lm.trace("a cat " * 100))) < 260  # of a long text only the beginning


def test_a_line_says_what_a_model_is(lm: vm.LanguageModel) -> None:
    n_weights = sum(weight.numel() for weight in lm.model.parameters())
    assert f"{n_weights:,} weights" in repr(lm) and len(repr(lm)) < 200


def test_what_a_notebook_shows_is_escaped(lm: vm.LanguageModel) -> None:
    trace = lm.trace(HOSTILE)
    for html in (trace._repr_html_(), trace.tokens._repr_html_(), lm._repr_html_()):
        assert "script" not in Read(html).met
    labels = Read(trace.tokens._repr_html_()).text
    assert repr(trace.tokens).startswith(f"Tokens({len(trace.tokens)}: ") and len(repr(trace.tokens)) < 1000
    assert labels == "".join(f"{token.label}{token.id}" for token in trace.tokens)


@pytest.mark.parametrize("name", ["story-pre-ln", "translate-2017", "story-bert"])
def test_the_names_of_a_run_stand_with_their_shapes(name: str) -> None:
    trace = vm.load(name).trace("a cat")
    shown = Read(trace._repr_html_()).text
    for site in trace.sites:
        assert trace.shape(site) == tuple(trace[site].shape)
        assert f'trace["{site}"]' in shown


def test_a_text_that_was_made_shows_how_probable_it_was(lm: vm.LanguageModel) -> None:
    made = lm.generate("The cat", max_new_tokens=3)
    assert repr(made) == f"Generation({made.text!r}, {len(made.steps)} tokens, stopped by {made.stopped})"
    shown = Read(made._repr_html_()).text
    assert all(f"{step.probability:.1%}" in shown for step in made.steps)
