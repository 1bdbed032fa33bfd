"""What has to be kept for every token read: the KV cache of both models, and of published ones."""

from __future__ import annotations

import streamlit as st

from viz_model.app import elements
from viz_model.topics.architectures.choices import BYTES, LENGTH, LENGTHS, SIZES
from viz_model.topics.architectures.numbers import views
from viz_model.topics.architectures.pictures.cache import cache_facts, draw_cache
from viz_model.topics.architectures.sections.beside import Pair


def section(pair: Pair) -> None:
    page, words = pair.page, pair.page.words
    st.subheader(words("cache_title"), anchor=False)
    picture, see = elements.split()
    with picture:
        n_bytes = elements.choose(page, BYTES, SIZES)
        length = elements.control(page, LENGTH, st.select_slider, LENGTHS, format_func="{:,}".format)
        view = views.cache_view(pair.lms, length, n_bytes)
        elements.figure(page, draw_cache(view, words), "cache", words("cache_alt"))
        st.caption(words("published"))
    # Models that cost the same are told of together.
    alike: dict[tuple[str, tuple[tuple[str, str], ...]], list[str]] = {}
    for one in pair.both:
        section_, facts = cache_facts(one.lm.config, length, n_bytes)
        alike.setdefault((section_, tuple(facts.items())), []).append(one.name)
    with see:
        for (section_, items), names in alike.items():
            elements.see(page, section_, model=page.listed(names), **dict(items))
        if any(len(one.lm.config.sides) > 1 for one in pair.both):
            elements.see(page, "cache_source")
