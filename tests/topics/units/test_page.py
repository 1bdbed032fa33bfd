"""The page of a head or a neuron in the app: the way to it, its address, and from one unit to another."""

from __future__ import annotations

from app_driver import address, answer, heading, open_page, said, tell

TEXT = "Tom had a cat and a dog. The cat and the"
QUERY = {"model": "story-pre-ln", "lang": "en", "text": TEXT, "layer": "2", "head": "1"}


def test_a_button_leads_to_the_page_of_a_head_or_a_neuron() -> None:
    app = open_page("attention", QUERY)
    app = tell(app, "view", "picked", {"page": "units", "layer": 2, "head": 1, "neuron": ""})
    assert heading(app) == "Heads and neurons" and "Layer 2, head 1" in said(app)
    assert "neuron" not in address(app)
    app = open_page("block", QUERY)
    app = tell(app, "view", "picked", {"page": "units", "layer": 1, "neuron": "17"})
    assert "Layer 1, neuron 17" in said(app)
    assert (address(app)["layer"], address(app)["neuron"]) == ("1", "17")
    app = open_page("units", {**QUERY, "neuron": "17"})  # the neuron of a former visit is not asked about again
    app = tell(app, "view", "picked", {"page": "units", "layer": 3, "head": 0, "neuron": ""})
    assert "Layer 3, head 0" in said(app) and "neuron" not in address(app)


def test_an_address_opens_a_neuron_and_a_number_that_there_is_not_is_said_so() -> None:
    app = open_page("units", {**QUERY, "neuron": "17"})
    assert "Layer 2, neuron 17" in said(app)
    app = answer(app, options={"neuron": "5"})
    assert "Layer 2, neuron 5" in said(app) and address(app)["neuron"] == "5"
    app = answer(app, options={"neuron": "9999"})
    assert "has no neuron" in said(app) and "Layer 2, head 1" in said(app)
