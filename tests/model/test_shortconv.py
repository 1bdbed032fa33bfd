"""viz_model.model.shortconv: what a cache keeps is enough, padding is not read, and nothing further back is."""

from __future__ import annotations

import pytest
import torch
from tiny_models import close, language_model, mixed

from viz_model.config import ModelConfig, ShortConv
from viz_model.model.tap import NO_TAP

CONVOLVING = [config for config in mixed() if any(isinstance(mixer, ShortConv) for mixer in config.mixers)]
IDS = torch.tensor([[3, 9, 4, 1, 7, 2, 8]])


@pytest.mark.parametrize("config", CONVOLVING, ids=str)
@pytest.mark.parametrize("sizes", [(1,) * 7, (4, 1, 2), (1, 6)])
def test_pieces_with_a_cache_are_read_as_the_whole(config: ModelConfig, sizes: tuple[int, ...]) -> None:
    model = language_model(config).model
    cache = model.new_cache()
    with torch.no_grad():
        parts = [model(piece, cache=cache) for piece in IDS.split(list(sizes), dim=1)]
        close(torch.cat(parts, dim=1), model(IDS))


@pytest.mark.parametrize("config", CONVOLVING, ids=str)
def test_nothing_is_read_of_padding(config: ModelConfig) -> None:
    model = language_model(config).model
    padding = torch.tensor([[False] * 4 + [True] * 3])
    with torch.no_grad():
        together = model(IDS, padding=padding)[:, :4]
        close(together, model(IDS[:, :4]))


@pytest.mark.parametrize("config", CONVOLVING, ids=str)
def test_a_token_reads_its_last_ones_and_none_further_back(config: ModelConfig) -> None:
    model = language_model(config).model
    stack, mixer = model.stack("decoder"), config.mixers[0]
    assert isinstance(mixer, ShortConv)
    x = torch.randn(1, 7, config.d_model, generator=torch.Generator().manual_seed(0))
    other = x.clone()
    other[:, 1] += 1
    with torch.no_grad():
        one, two = (stack.run_block(0, given, visible=None, source=None, tap=NO_TAP) for given in (x, other))
    assert (one != two).any(-1)[0].tolist() == [1 <= t < 1 + mixer.kernel for t in range(7)]
