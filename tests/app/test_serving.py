"""A server for many: headers, health, visitors beside each other, replicas."""

import copy
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from socket_visitor import Visitor, server
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

import viz_model as vm
from viz_model.app import health, serving, watching
from viz_model.runs.edits import AblateHead

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def served() -> Iterator[str]:
    with server("serve.py", environment={"VIZ_MODEL_FRAME_ANCESTORS": "https://lms.example.edu"}) as (url, _):
        yield url


def test_a_damaged_weight_is_found(lm: vm.LanguageModel) -> None:
    own = copy.deepcopy(lm.model)
    own.embedding.weight.fill_(float("nan"))
    assert any("finite" in problem for problem in health.check(replace(lm, model=own)).problems)


def test_the_command_says_what_it_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert health.main([]) == 0 and "checks hold" in capsys.readouterr().out
    assert health.main(["http://127.0.0.1:9"]) == 1  # nobody listens there
    assert "no answer" in capsys.readouterr().err and health.main(["--model", "unheard-of"]) == 1


def test_the_endpoint_says_how_many_things_are_wrong_and_not_which() -> None:
    asked = []

    def check() -> health.Health:
        asked.append(1)
        return health.Health("tiny", ("tiny: /secret/place is damaged",), 3, 0.1)

    with TestClient(Starlette(routes=[serving.health_route(check)])) as client:
        answers = [client.get(serving.HEALTH) for _ in range(3)]
    assert {answer.status_code for answer in answers} == {503}
    assert answers[0].json()["problems"] == 1 and "secret" not in answers[0].text
    assert len(asked) == 1


@pytest.mark.server
@pytest.mark.parametrize("script", ["app.py", "serve.py"])
def test_the_first_page_is_drawn_before_anybody_comes(script: str) -> None:
    both = 'cache="viz_model.app.cache._resource"} 2'  # the store of models, and the one of what was run on them
    with server(script) as (url, _):
        until, told = time.monotonic() + 60, ""
        while both not in told and time.monotonic() < until:
            time.sleep(0.2)
            with urllib.request.urlopen(f"{url}/_stcore/metrics") as answer:
                told = answer.read().decode()
        assert both in told


@pytest.mark.server
@pytest.mark.parametrize(
    ("path", "status"),
    [
        *(
            (path, 200)
            for path in ("/", "/attention", "/lessons", "/models", "/why", "/walk", "/_stcore/health", "/healthz")
        ),
        *((path, 404) for path in ("/nonsense", "/attention2", "/healthzz", "/foo/bar.js", "/metrics")),
    ],
)
def test_a_path_that_no_page_has_is_not_found_and_all_have_the_headers(path: str, status: int, served: str) -> None:
    try:
        with urllib.request.urlopen(served + path) as answer:
            found, headers = answer.status, answer.headers
    except urllib.error.HTTPError as error:
        found, headers = error.code, error.headers
    assert found == status
    policy = dict(part.split(" ", 1) for part in headers["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["frame-ancestors"] == "https://lms.example.edu"
    assert "unsafe" not in policy["script-src"] and "http" not in policy["script-src"]
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("session", "size", "status"),
    [("ada", 4, 200), ("ada", 5, 413), ("bo", 10, 200), ("bo", 11, 413), ("new", 11, 413)],
)
def test_uploads_are_bounded(session: str, size: int, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    three = SimpleNamespace(data=b"xxx")
    stored = SimpleNamespace(file_storage={"ada": {"0": three, "1": three}, "bo": {"0": SimpleNamespace(data=b"")}})
    running = SimpleNamespace(_uploaded_file_mgr=stored)
    monkeypatch.setattr("viz_model.app.watching.Runtime.instance", lambda: running)
    monkeypatch.setattr(watching, "OF_A_VISITOR", 10)
    monkeypatch.setattr(watching, "OF_ALL", 16 if session != "ada" else 100)
    reached = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(len(await Request(scope, receive).body()))
        await PlainTextResponse("ok")(scope, receive, send)

    client = TestClient(watching.Uploads(app))
    answer = client.put(f"/_stcore/upload_file/{session}/1", content=b"y" * size)
    assert answer.status_code == status and (reached == [size]) == (status == 200)
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("value", ["", "'none'; script-src *", "https://a.example,https://b.example", "a\nb"])
def test_frame_ancestors_cannot_bring_in_another_directive(value: str) -> None:
    with pytest.raises(ValueError, match="frame_ancestors"):
        serving.policy(value)


@pytest.mark.browser
def test_a_browser_has_nothing_to_refuse(served: str, chromium: object) -> None:
    page = chromium.new_page()  # type: ignore[attr-defined]
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(f"{served}/next_token?text=The+cat+sat", timeout=120_000)
    page.wait_for_selector(".viz-island canvas", timeout=120_000)
    page.goto(f"{served}/attention?text=The+cat+sat&door_large=1", timeout=120_000)
    page.wait_for_selector(".viz-island [data-section=large] canvas", timeout=120_000)
    page.close()
    assert not [line for line in said if "Content Security Policy" in line]


@pytest.mark.server
def test_another_site_cannot_open_a_connection(served: str) -> None:
    stranger = Visitor(served)
    stranger.origin = "https://elsewhere.example"
    with pytest.raises(Exception, match="403"):
        stranger.connect()


@pytest.mark.server
def test_an_oversized_message_ends_the_connection_and_nothing_else(served: str) -> None:
    cat, dog = (Visitor(served, "ablations", {"text": text}) for text in ("The cat sat", "A dog"))
    with cat as visitor, dog as other:
        visitor.open(), other.open()
        with pytest.raises(Exception, match="1009"):
            settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
            visitor.type("x" * (settings["server"]["maxWidgetStateSize"] * 1_000_000 + 200_000))
        other.type("A dog ran")
        assert other.text == "A dog ran" and not other.errors


@pytest.mark.server
def test_visitors_at_once_see_their_own_pictures_only(served: str) -> None:
    head = vm.edits.write([AblateHead(layer=0, head=1)])
    asked = [
        {"model": "story-pre-ln", "text": "The cat sat", "lang": "en"},
        {"model": "story-post-ln", "text": "The cat sat", "lang": "zh"},
        {"model": "story-pre-ln", "text": "The cat sat", "lang": "en", "edits": head},
        {"model": "story-pre-ln", "text": "A dog ran home", "lang": "zh", "edits": head},
    ]
    alone = [shown(served, query) for query in asked]
    assert len({tuple(pictures.items()) for pictures in alone}) == len(asked)
    with ThreadPoolExecutor(len(asked)) as pool:
        assert list(pool.map(partial(shown, served), asked)) == alone


def shown(url: str, query: dict[str, str]) -> dict[str, str]:
    with Visitor(url, "attention", query) as visitor:
        visitor.open()
        assert not visitor.errors and visitor.text == query["text"] and visitor.language == query["lang"]
        return visitor.digest()


def test_what_breaks_a_run_is_told_in_a_line(lm: vm.LanguageModel) -> None:
    (problem,) = health.check(lm, text="").problems
    assert problem.startswith("tiny: ValueError: ") and "\n" not in problem


def test_settings_are_fit_for_strangers() -> None:
    told = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))
    assert told["browser"]["gatherUsageStats"] is False and told["client"]["showErrorDetails"] == "none"
    assert told["server"]["enableXsrfProtection"] is True and told["server"]["enableCORS"] is True
    assert told["server"]["enableStaticServing"] is False and told["server"]["enableAgentApi"] is False


@pytest.mark.server
def test_typing_on_overtakes_the_request_before(served: str) -> None:
    with Visitor(served, "ablations", {"text": "The cat"}) as visitor:
        visitor.open()
        for text in ("The cat s", "The cat sa", "The cat sat"):
            visitor.type(text, wait=False)
        while visitor.text != "The cat sat":
            visitor.read()
        drawn = visitor.digest()
    with Visitor(served, "ablations", {"text": "The cat sat"}) as other:
        other.open()
        assert other.digest() == drawn


@pytest.mark.server
def test_a_change_is_not_undone_by_the_address_that_comes_with_it(served: str) -> None:
    """Who types before the browser has heard what the address of the sentence before is sends a former one."""
    with Visitor(served, "ablations", {"text": "The cat"}) as visitor:
        visitor.open()
        former = visitor.query
        for text in ("The cat s", "The cat sa"):
            visitor.query = former
            visitor.type(text)
            assert visitor.text == text
        visitor.open(query={"text": "The cat"})
        assert visitor.text == "The cat", "an address that comes alone is followed"
