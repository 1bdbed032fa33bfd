"""Cosines, nearest rows, principal directions and averages of an embedding table."""

import numpy as np
import pytest
import torch

from viz_model.topics.embedding import table as embedding


@pytest.fixture(params=[embedding.MOST_READ, 40], ids=["whole", "in parts"], autouse=True)
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "MOST_READ", request.param)


def table(rows: int = 60, columns: int = 7, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, columns)).astype(np.float32)


def geometry(rows: np.ndarray) -> embedding.Geometry:
    return embedding.geometry(torch.from_numpy(rows))


def alike(shape: embedding.Geometry, id: int) -> np.ndarray:
    return np.concatenate([*shape.cosines(shape.units(id))])


def test_cosines_are_those_of_the_definition() -> None:
    rows = table()
    shape = geometry(rows)
    for id in (0, 17, 59):
        expected = [np.dot(rows[id], row) / (np.linalg.norm(rows[id]) * np.linalg.norm(row)) for row in rows]
        np.testing.assert_allclose((alike(shape, id)), expected, atol=1e-6)


def test_nearest_leaves_out_the_row_itself_and_is_sorted() -> None:
    shape = geometry(table())
    (ids,), (cosines,) = embedding.nearest(shape, [5], 12)
    assert len(ids) == len(cosines) == 12 and 5 not in ids
    assert (np.diff(cosines) <= 0).all()
    others = np.delete(alike(shape, 5), 5)
    np.testing.assert_allclose(cosines, np.sort(others)[::-1][:12], atol=1e-6)


def test_a_row_of_zeros_is_near_to_nothing() -> None:
    rows = table()
    rows[3] = 0.0
    shape = geometry(rows)
    assert (alike(shape, 3) == 0).all() and np.isfinite(shape.units(3)).all()


def test_principal_directions_hold_the_variance_of_the_covariance() -> None:
    rows = table(columns=5)
    points, shares = embedding.principal(torch.from_numpy(rows), np.arange(len(rows)))
    values = np.linalg.eigvalsh(np.cov(rows.astype(np.float64).T))[::-1]
    np.testing.assert_allclose(shares, values[:2] / values.sum(), rtol=1e-6)
    np.testing.assert_allclose(points.var(axis=0, ddof=1), values[:2], rtol=1e-5)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-6)


def test_averages_are_means_of_their_groups() -> None:
    rows = table(12, 6)
    np.testing.assert_allclose(
        embedding.averaged(torch.from_numpy(rows), 4, 3), rows.reshape(4, 3, 3, 2).mean(axis=(1, 3)), atol=1e-6
    )
    np.testing.assert_allclose(embedding.averaged(torch.from_numpy(rows), 100, 100), rows, atol=1e-6)
    uneven = embedding.averaged(torch.from_numpy(rows), 5, 6)
    starts = [0, 2, 4, 7, 9]
    np.testing.assert_allclose(uneven[2], rows[4:7].mean(axis=0), atol=1e-6)
    assert len(uneven) == len(starts)
