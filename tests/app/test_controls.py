"""Widgets of choices: what the browser hands back is taken only where it is on offer."""

from __future__ import annotations

import pytest

from viz_model.app.elements.controls import _is_on_offer


@pytest.mark.parametrize(
    ("held", "values", "taken"),
    [
        ("layer.3.ffn", (["layer.3.ffn", "layer.2.ffn"],), True),
        ("layer 3 feed-forward +5.77", (["layer.3.ffn", "layer.2.ffn"],), False),  # the label of another run
        (["a", "b"], (("a", "b", "c"),), True),
        (["a", "of another run"], (("a", "b", "c"),), False),
        (0.35, (0.0, 1.0), True),
        ("any text", ("a default",), True),
        (True, (), True),
    ],
)
def test_only_what_is_on_offer_is_chosen(held: object, values: tuple[object, ...], taken: bool) -> None:
    assert _is_on_offer(held, values) == taken
