"""What training does to the rows of a table that no text looks up, and what became of them in bundled models."""

from __future__ import annotations

import pytest
import torch
from tiny_models import random_model, tiny_config
from torch.nn import functional as F

import viz_model as vm
from viz_model.topics.tokens.textbook import ROWS, rows

USED, UNUSED = [3, 1, 41, 59], 77


def trained(decay: float, *, shared: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """A table before and after five steps of AdamW at rate 0.01, on a text that lacks :data:`UNUSED`."""
    model = random_model(tiny_config(tie_embeddings=shared)).requires_grad_(True)
    before = model.embedding.weight.detach().clone()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=decay)
    for _ in range(5):
        optimizer.zero_grad()
        F.cross_entropy(model(torch.tensor([USED]))[0, :-1], torch.tensor(USED[1:])).backward()
        optimizer.step()
    return before, model.embedding.weight.detach()


def test_a_row_that_is_never_looked_up_stays_or_shrinks_by_the_decay() -> None:
    before, after = trained(0.0, shared=False)
    assert torch.equal(after[UNUSED], before[UNUSED]) and not torch.equal(after[USED[0]], before[USED[0]])
    before, after = trained(0.1, shared=False)
    torch.testing.assert_close(after[UNUSED], before[UNUSED] * (1 - 0.01 * 0.1) ** 5)


def test_rows_that_point_the_same_way_are_counted() -> None:
    model = random_model(tiny_config())
    with torch.no_grad():
        model.embedding.weight[40:60] = torch.arange(1.0, 21.0)[:, None] * model.embedding.weight[40]
    found = rows(model)
    assert found.alike == tuple(range(40, 60)) and found.n == 101
    lengths = model.embedding.weight.norm(dim=-1)
    assert found.lengths == pytest.approx([f(lengths).item() for f in (torch.min, torch.median, torch.max)])
    assert found.length == pytest.approx(lengths[40:60].median().item())


def test_in_a_bundled_model_rows_of_pieces_that_stories_lack_have_become_one_direction() -> None:
    lm = vm.load("story-pre-ln")
    found = rows(lm.model)
    assert ROWS.of(found).name == "alike" and lm.tokenizer.mask_id is None
    assert {"[MASK]", "<|fr|>"} <= {lm.tokenizer.token(id).label for id in found.alike}
    units = F.normalize(lm.model.embedding.weight.detach()[list(found.alike)], dim=-1)
    assert (units @ units.T).min() > 0.95
    assert found.length > 3 * found.lengths[1]
