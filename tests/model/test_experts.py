"""Experts: who is chosen, what is written, and that training computes the same."""

import dataclasses
from collections.abc import Iterator

import fresh_variants
import pytest
import torch
from tiny_models import EXPERTS, close, language_model, random_model, run_both, tiny_config

from viz_model.config import ConfigError, Dense, Experts, ModelConfig
from viz_model.runs.edits import AblateHead, Edit, FlipMask, NoPosition, ShuffleTokens, Skip
from viz_model.runs.record import Keep, record
from viz_model.runs.trace import Trace

every = pytest.mark.parametrize("ffn", EXPERTS)


@every
def test_training_writes_what_a_run_writes_and_learns_the_same(ffn: Experts) -> None:
    block = random_model(tiny_config(ffn=ffn)).double().stack("decoder").block(0).ffn.requires_grad_(True)
    x = torch.randn(2, 9, 24, dtype=torch.float64, requires_grad=True)
    gradients = []
    for training in (True, False):
        out = block.train(training)(x)
        named = block.named_parameters()
        learned = [weight for name, weight in named if not name.startswith("choice")]  # which no gradient teaches
        gradients.append((out, *torch.autograd.grad(out.square().sum(), [x, *learned])))
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected)


@every
def test_the_largest_are_chosen_and_weighted_as_the_config_says(ffn: Experts) -> None:
    trace = run_both(language_model(tiny_config(ffn=ffn)))
    router, chosen = trace["blocks.0.ffn.router"], trace["blocks.0.ffn.chosen"]
    probs = router.sigmoid() if ffn.softmax == "sigmoid" else router.softmax(-1)
    close(trace["blocks.0.ffn.probs"], probs)
    wanted = probs + trace.model.get_parameter("decoder.blocks.0.ffn.choice").detach() if ffn.choice_bias else probs
    groups = wanted.unflatten(-1, (ffn.n_groups, -1))
    best = groups.topk(ffn.group_best).values.sum(-1).topk(ffn.top_groups).indices
    open_ = torch.zeros(groups.shape[:-1]).scatter(-1, best, 1.0).bool()[..., None].expand_as(groups).flatten(-2)
    experts = wanted.where(open_, -torch.inf).topk(ffn.top_k).indices
    weights = probs.gather(-1, experts)
    if ffn.normalize or ffn.softmax == "chosen":
        weights = weights / weights.sum(-1, keepdim=True)
    close(chosen, torch.zeros_like(router).scatter(-1, experts, ffn.factor * weights))
    written = trace["blocks.0.ffn.expert_out"]
    assert not written[chosen == 0].any()
    others = trace["blocks.0.ffn.out"] - written.sum(1)
    if ffn.d_shared:
        gate = trace["blocks.0.ffn.shared_gate"] if ffn.shared_gate else 1.0
        others = others - gate * trace["blocks.0.ffn.shared.out"]
    close(others, torch.zeros_like(others))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"top_k": 9}, "1 ≤ top_k ≤ n_experts"),
        ({"top_k": 0}, "1 ≤ top_k ≤ n_experts"),
        ({"d_expert": -1}, "d_expert"),
        ({"d_shared": -2}, "d_shared"),
        ({"shared_gate": True}, "no shared expert"),
        ({"softmax": "some"}, "softmax"),
    ],
)
def test_what_is_no_choice_of_experts_is_refused(changes: dict[str, object], message: str) -> None:
    for field in ("ffn", "ffns"):
        ffn = dataclasses.replace(Experts(), **changes)  # type: ignore[arg-type]
        with pytest.raises(ConfigError, match=f"ffn.*{message}"):
            tiny_config("pre", **{field: ffn if field == "ffn" else (Dense(), ffn)})


N = 5
IDS, TARGET = [3, 1, 4, 1, 5, 9, 1], [2, 7, 1, 2, 7]


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    with fresh_variants.installed():
        yield


def looking(n: int) -> ModelConfig:
    found = fresh_variants.looking_configs()
    assert len(found) == N
    return found[n]


def run(config_: ModelConfig, keep: Keep, edits: tuple[Edit, ...] = ()) -> Trace:
    lm = language_model(config_)
    target = TARGET if config_.kind == "encoder_decoder" else None
    return record(lm.model, lm.tokenizer, IDS, target, edits=edits, keep=keep)


@pytest.mark.parametrize("n", range(N))
@pytest.mark.parametrize("pieces", [[1] * 9, [6, 1, 2], [1, 8]], ids=str)
def test_the_cache_changes_nothing(n: int, pieces: list[int]) -> None:
    config_, ids = looking(n), torch.randint(5, (2, 9), generator=torch.Generator().manual_seed(0))
    model = language_model(config_).model
    if config_.kind == "encoder":
        return
    cache = model.new_cache()
    if config_.kind == "decoder":
        read = [model(piece, cache=cache) for piece in ids.split(pieces, dim=1)]
        close(torch.cat(read, dim=1), model(ids))
    else:
        source = model.encode(ids[:, :4])
        read = [model.decode(piece, source, cache=cache) for piece in ids.split(pieces, dim=1)]
        close(torch.cat(read, dim=1), model(ids[:, :4], ids))


@pytest.mark.parametrize("n", range(N))
def test_padding_is_not_seen_on_either_side(n: int) -> None:
    model = language_model(looking(n)).model
    long, padding = torch.tensor([[5, 6, 5, 8, 1, 5, 1], [7, 2, 2, 9, 9, 1, 3]]), torch.zeros(2, 7, dtype=torch.bool)
    padding[0, 4:] = True
    target = torch.tensor([[0, 3, 0]]) if model.config.kind == "encoder_decoder" else None
    found = model(long, None if target is None else target.expand(2, -1), padding=padding)
    close(found[:1, : 4 if target is None else 3], model(long[:1, :4], target))
    close(found[1:], model(long[1:], target))


EDITS: list[tuple[Edit, ...]] = [
    (),
    (AblateHead(layer=0, head=1),),
    (AblateHead(layer=1, head=0, to="mean"),),
    (ShuffleTokens(seed=1), Skip(layer=0, part="ffn")),
    (FlipMask(layer=0, query=3, key=1), NoPosition()),
]


@pytest.mark.parametrize("n", range(N))
@pytest.mark.parametrize("edits", EDITS)
def test_interventions_are_made_in_either_kind_of_run(n: int, edits: tuple[Edit, ...]) -> None:
    everything, stream, rows = (run(looking(n), keep, edits) for keep in ("everything", "stream", "stream"))
    for name in everything.sites:
        assert torch.equal(stream[name], everything[name]), name
        close(rows.row(name, 3), everything[name].select(int(everything.site(name).has_heads), 3))
