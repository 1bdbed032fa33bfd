"""What a visitor chooses on this page."""

from viz_model.app.choices import maybe, one_of, switch, whole

FURTHEST = 99_999
"""More than any position or dimension. Whether this run has that many is for the page to say."""
MAX_SHIFT = 1000

PAIR = maybe(whole("pair", 0, 0, FURTHEST))
RANGE = one_of("range", ("text", "context", "all"))
WHOLE = switch("whole")
KEY = maybe(whole("key", 0, 0, FURTHEST))
SHIFT = whole("shift", 5, 0, MAX_SHIFT)

BEYOND = switch("beyond")
"""Whether a text longer than the context is read."""

RELATIVE = switch("relative")
"""Whether relative keys are put into the model."""

ALL = (PAIR, RANGE, WHOLE, KEY, SHIFT, BEYOND, RELATIVE)
