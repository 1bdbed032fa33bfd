"""Is this installation, and is that server, able to do what the app does?

    python -m viz_model.app.health                          # here: load a bundled model, run it, check its numbers
    python -m viz_model.app.health http://localhost:8501    # and ask a running app

A process that answers may still have a damaged model file or a broken library. So a model runs, and
what it says is held against identities that hold for every Transformer here, and against numbers
derived a second time. The exit status is 0 where all of it holds, and 1 otherwise.
"""

import argparse
import json
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from typing import NamedTuple

import torch

import viz_model as vm
from viz_model.model import sites
from viz_model.runs.derivation import TOLERANCE, derive

TEXT = "The cat sat on the mat"
"""Any text would do: what is checked holds for all of them."""

PATIENCE = 10.0
"""Seconds that a server may take to answer."""


class Health(NamedTuple):
    """What was found.

    Attributes:
        model: that ran.
        problems: one line each; empty where everything holds.
        n_checked: identities and numbers that were looked at.
        seconds: that it took, without loading the model.
    """

    model: str
    problems: tuple[str, ...]
    n_checked: int
    seconds: float

    @property
    def is_well(self) -> bool:
        return not self.problems


def check(lm: vm.LanguageModel, text: str = TEXT) -> Health:
    """Run a model once and hold its values against what must be true of them.

    For every stack: all recorded values are finite, the rows of every attention pattern sum to 1
    (they come from a softmax: Vaswani et al. 2017, equation 1), the probabilities of every position
    sum to 1, and the last value of the residual stream and one attention weight of each block come
    out the same when they are derived again in double precision (:mod:`viz_model.runs.derivation`).
    """
    began = time.perf_counter()
    problems: list[str] = []
    n_checked = 0

    def hold(name: str, holds: bool) -> None:
        nonlocal n_checked
        n_checked += 1
        if not holds:
            problems.append(f"{lm.name}: {name}")

    try:
        whole = lm.trace(text)
        for side in whole.config.sides:
            run = whole.at(side)
            for layer in range(run.config.depth(side)):
                stream, pattern, state = (f"blocks.{layer}.{of}" for of in ("resid.out", "attn.pattern", "attn.state"))
                hold(f"{side}: {stream} is finite", bool(run[stream].isfinite().all()))
                attends = pattern in run
                if attends:
                    rows = run[pattern].sum(-1)
                    is_less = f"blocks.{layer}.attn.sink" in run  # a logit that no key has takes the rest
                    is_one = torch.allclose(rows, torch.ones_like(rows), atol=1e-4)
                    is_whole = bool((rows < 1).all()) if is_less else is_one
                    hold(f"{side}: rows of {pattern} sum to {'less than ' * is_less}1", is_whole)
                for site in (stream, pattern if attends else state):
                    last = tuple(size - 1 for size in run[site].shape)
                    hold(
                        f"{side}: {site}{list(last)} is derived again within {TOLERANCE:g}",
                        derive(run, site, last).agrees,
                    )
            if any(site.name == "probs" for _, site in sites.in_order(run.config)) and side == run.config.sides[-1]:
                total = run["probs"].sum(-1)
                hold("probabilities sum to 1", torch.allclose(total, torch.ones_like(total), atol=1e-4))
    except Exception as error:  # whatever it is, it is what a visitor would meet
        problems.append(f"{lm.name}: {type(error).__name__}: {error}")
    return Health(lm.name, tuple(problems), n_checked, time.perf_counter() - began)


def ask(url: str, *, timeout: float = PATIENCE) -> tuple[str, ...]:
    """What is wrong with a running app, in lines; nothing where all is well.

    ``/_stcore/health`` says that the server takes visitors, ``/healthz`` that its model runs; the latter
    is only there where the app was started with ``--public``.
    """
    problems = []
    for path in ("/_stcore/health", "/healthz"):
        status, said = _get(url.rstrip("/") + path, timeout)
        if path == "/healthz" and status == 200 and not said.startswith("{"):
            problems.append(f"{path}: not there: start the app with viz-model --public")  # the app's own page came
        elif status != 200:
            problems.append(f"{path}: {status or 'no answer'}: {said[:200]}")
        elif path == "/healthz" and json.loads(said).get("status") != "ok":
            problems.append(f"{path}: {said[:200]}")
    return tuple(problems)


def _get(url: str, timeout: float) -> tuple[int, str]:
    """The status and text of an answer; status 0 where none came."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.status, answer.read(4096).decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read(4096).decode(errors="replace")
    except (OSError, ValueError) as error:
        return 0, str(error)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m viz_model.app.health", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("url", nargs="?", help="of a running app, such as http://localhost:8501")
    parser.add_argument("--model", default=None, help="the model to run, by default the first there is")
    told = parser.parse_args(arguments)
    name = told.model or vm.models()[0]
    try:
        found = check(vm.load(name))
    except vm.ModelError as error:
        found = Health(name, (f"{name}: {error}",), 0, 0.0)
    problems = [*found.problems, *(ask(told.url) if told.url else ())]
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(
            f"{name}: {found.n_checked} checks hold, {found.seconds:.2f} s" + (f"; {told.url} is well" * bool(told.url))
        )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
