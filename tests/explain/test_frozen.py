"""A run that is held keeps what it reads of itself, and nothing keeps the run."""

import weakref

import viz_model as vm
from viz_model.explain.frozen import Frozen, asked


def test_what_was_found_of_a_run_goes_with_it() -> None:
    trace = vm.load("story-pre-ln").trace("Once upon a time")
    held = Frozen(trace, asked(trace, -1, 5))
    gone = weakref.ref(held)
    assert held.kept
    del held
    assert gone() is None
