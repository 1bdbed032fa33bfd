"""What a decoder keeps and computes, against the decoder itself."""

import numpy as np
import pytest
import torch
from tiny_models import describe, few, language_model, run_both, tiny_config

from viz_model.config import ModelConfig
from viz_model.measures import kv_cache
from viz_model.model.transformer import Transformer
from viz_model.runs.generation import Decoder

DECODERS = [config for config in few() if config.kind != "encoder"]


@pytest.mark.parametrize("config", DECODERS, ids=describe)
def test_a_trace_tells_what_the_decoder_s_cache_holds(config: ModelConfig) -> None:
    lm = language_model(config)
    trace = run_both(lm).at("decoder")
    is_target = config.kind == "encoder_decoder"
    decoder = Decoder(lm.model, trace.own_ids, source_ids=trace.ids if is_target else None)
    found, expected = kv_cache.held_after(trace), kv_cache.held(decoder.cache)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-4)
    n_source = len(trace.ids) if is_target else 0
    assert found.n_bytes == kv_cache.bytes_of(config, len(trace))
    assert found.n_source_bytes == (kv_cache.bytes_of(config, n_source) if is_target else 0)
    size = kv_cache.cache(config, len(trace), config.n_kv_heads, 4, n_source=n_source)
    assert size.cross_attention == found.n_source_bytes
    assert any(config.windows) or size.self_attention == found.n_bytes


class Counting(Transformer):
    """Counts the positions of its decoder that are computed, by call."""

    def embed(self, ids: torch.Tensor, *rest: object) -> torch.Tensor:
        self.__dict__.setdefault("read", []).append(ids.shape[-1])
        return super().embed(ids, *rest)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n_prompt", "n_drawn"), [(5, 1), (5, 6), (15, 4), (16, 1), (16, 20), (1, 3)])
def test_the_steps_are_those_of_the_decoder(n_prompt: int, n_drawn: int) -> None:
    config = tiny_config()
    model = Counting(config)
    decoder = Decoder(model, range(n_prompt))
    for id in range(n_drawn - 1):
        decoder.append(id)
    reads = kv_cache.reads(config.n_context, n_prompt, n_drawn)
    assert [read.computed for read in reads] == model.__dict__["read"]
    assert reads[-1].without == len(decoder.ids) == len(decoder.cache[0].attn)
    assert reads[-1].stop == n_prompt + n_drawn - 1


def test_without_time_or_room_a_measurement_is_short() -> None:
    (only,) = kv_cache.measure(run_both(language_model(tiny_config())), budget=0)
    assert only.drawn == 1 and only.runs == 1
    full = run_both(language_model(tiny_config()), length=16)
    assert kv_cache.marks(full) == () and not list(kv_cache.measure(full))
    with pytest.raises(ValueError, match="no KV cache"):
        kv_cache.held_after(run_both(language_model(tiny_config(kind="encoder"))))


@pytest.mark.parametrize("config", DECODERS[::4], ids=describe)
def test_what_is_timed_gives_the_model_s_logits(config: ModelConfig) -> None:
    trace = run_both(language_model(config)).at("decoder")
    source = kv_cache._encoded(trace)
    cache = trace.model.new_cache()
    kv_cache._step(trace.model, trace.own_ids[:-1], source, cache)
    copy = [block.copy() for block in cache]
    for held in (copy, cache):  # extending the copy has left the cache alone
        logits = kv_cache._step(trace.model, trace.own_ids[-1:], source, held)
        torch.testing.assert_close(logits, trace["logits"][-1], atol=1e-4, rtol=1e-4)
