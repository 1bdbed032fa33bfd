"""What a visitor chooses on this page: a second vocabulary, and a word to be cut step by step."""

from __future__ import annotations

from viz_model.app.choices import maybe, one_of, whole, words
from viz_model.topics.tokens.numbers.splitting import MOST_WORDS

CL100K = "cl100k_base"
"""The vocabulary that every other one can be held against."""
LONGEST_WORD = 60
"""Characters of a typed word."""

VOCABULARY = words("vocabulary", r"[^\x00-\x1f]{1,120}", CL100K)
"""The second vocabulary: this one, or that of a model by the model's name."""
WORD = words("word_typed", rf"[\s\S]{{0,{LONGEST_WORD}}}")
"""Empty is the longest word of the text."""
BY = one_of("word_by", ("own", "other"))
STRETCH = maybe(whole("word_stretch", 0, 0, MOST_WORDS - 1))
"""Of a text that is cut into stretches first; None is the longest of them."""
STEP = whole("word_step", 0, 0, 4 * LONGEST_WORD)
"""How many joins are made."""

ALL = (VOCABULARY, WORD, BY, STRETCH, STEP)
