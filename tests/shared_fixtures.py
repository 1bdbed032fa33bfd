"""Fixtures shared by all tests: tiny random models, the bundled twins, the running app, a browser."""

import contextlib
import copy
import dataclasses
import functools
import importlib.util
import os
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlparse

import hypothesis
import pytest
import torch
from browser_driver import SAVES_DATA, WIDE, Visit, settle
from firefox import Firefox, Page
from firefox import running as running_firefox
from socket_visitor import server
from streamlit.components.v2 import manifest_scanner
from tab import Tab
from tiny_models import language_model, random_model, state, tiny_config
from webkit import DRIVER, Window
from webkit import running as running_webkit

import viz_model as vm
from viz_model.app import norm_training
from viz_model.checkpoints import registry
from viz_model.checkpoints.room import ANYWHERE, Placing
from viz_model.config import ModelConfig
from viz_model.model.transformer import Transformer
from viz_model.tokenizers.tokenizer import story_tokenizer

ROOT = Path(__file__).resolve().parents[1]
REQUIRE_BROWSER = "VIZ_MODEL_REQUIRE_BROWSER"
REQUIRE_PACKAGES = "VIZ_MODEL_REQUIRE_PACKAGES"
# Tabs of one profile share a process, which has compiled the scripts of the app already.
CHROMIUM_ARGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--process-per-site"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
MEDIA = {"color_scheme": "light", "reduced_motion": "no-preference"}
"""What a visitor asks of every page, and what is usual: set for a tab, not for a profile."""

# The models here are so small that threads cost more than they bring.
torch.set_num_threads(1)
# A slow machine is no failure; a failing example is found again from the code it prints.
hypothesis.settings.register_profile("viz-model", deadline=None, max_examples=60, print_blob=True)
hypothesis.settings.load_profile("viz-model")


@pytest.fixture(autouse=True, scope="session")
def _made_once() -> Iterator[None]:
    """Streamlit looks for components in every installed package, for every page that is opened: here once."""
    with pytest.MonkeyPatch.context() as patch:
        found = functools.cache(manifest_scanner.scan_component_manifests)
        patch.setattr(manifest_scanner, "scan_component_manifests", found)
        # Models before their training are the same for every visitor, and so for every test: measured once.
        measured = functools.cache(norm_training.gradients_at_start._function)
        patch.setattr(norm_training.gradients_at_start, "_function", measured)
        yield


@pytest.fixture(autouse=True, scope="session")
def _read_once() -> Iterator[None]:
    """Models that come with the package or in another are read once, unless somebody has changed what was read."""
    read, known = registry._load_path, dict[Path, tuple[vm.LanguageModel, object]]()
    lasting = {path for _, path in (*registry._bundled(), *registry._packaged())}

    def load(path: Path, ignore: Collection[str], where: Placing) -> vm.LanguageModel:
        if path not in lasting or where != ANYWHERE:
            return read(path, ignore, where)
        if path not in known or state(known[path][0].model) != known[path][1]:
            lm = read(path, (), where)
            known[path] = lm, state(lm.model)
        lm, _ = known[path]
        # A vocabulary of its own is given the name that the model is asked for by.
        own = lm.tokenizer.name == lm.name
        return dataclasses.replace(lm, tokenizer=copy.copy(lm.tokenizer)) if own else lm

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_load_path", load)
        yield


@pytest.fixture(params=["pre", "post"])
def config(request: pytest.FixtureRequest) -> ModelConfig:
    """A tiny config, once for each place of the norm."""
    return tiny_config(request.param)


@pytest.fixture
def model(config: ModelConfig) -> Transformer:
    return random_model(config)


@pytest.fixture(scope="session", params=["pre", "post"])
def lm(request: pytest.FixtureRequest) -> vm.LanguageModel:
    """A tiny random model with the bundled vocabulary, once for each place of the norm."""
    return language_model(tiny_config(request.param, n_vocab=story_tokenizer().n_vocab))


@pytest.fixture(scope="session", params=["story-pre-ln", "story-post-ln"])
def bundled(request: pytest.FixtureRequest) -> vm.LanguageModel:
    """Each of the two models that come with the package."""
    return vm.load(request.param)


@pytest.fixture(scope="session")
def package() -> Callable[[str], Path]:
    """Where an installed package with a model lies, which is not imported."""

    def find(name: str) -> Path:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            return missing(f"no package {name}: README.md says how to install it", REQUIRE_PACKAGES)
        return Path(spec.origin).parent

    return find


def missing(reason: str, variable: str = REQUIRE_BROWSER) -> NoReturn:
    """Skip a test for which something is not on this machine, or fail it where a variable says that it has to be."""
    if os.environ.get(variable):
        pytest.fail(f"{reason} ({variable} is set)")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def family_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the models of :mod:`tiny_family`."""
    from tiny_family import write_family

    folder = tmp_path_factory.mktemp("family")
    write_family(folder)
    return folder


@pytest.fixture(scope="module")
def family(family_folder: Path) -> Iterator[Path]:
    """:func:`family_folder`, its models in the app's list."""
    from viz_model.app import runs

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VIZ_MODEL_PATH", str(family_folder))
        runs.look_again()  # the app looks for models once
        yield family_folder
    runs.look_again()


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory, family_folder: Path) -> Iterator[str]:
    """The address of the app, running for all tests of the session, with a small model of every kind and a lesson."""
    own = {"VIZ_MODEL_PATH": str(family_folder), "VIZ_MODEL_LESSONS": str(ROOT / "tests" / "lessons" / "own")}
    own["VIZ_MODEL_ROOMS"] = "1"
    with running_app(tmp_path_factory.mktemp("app") / "log.txt", **own) as url:
        yield url


@pytest.fixture
def fresh_app_url(tmp_path: Path) -> Iterator[str]:
    """The address of an app that nobody has visited yet."""
    with running_app(tmp_path / "log.txt") as url:
        yield url


@contextlib.contextmanager
def running_app(log: Path, **environment: str) -> Iterator[str]:
    """Start the app, yield its address, stop it. What it logged must hold no traceback."""
    unwatched = {"STREAMLIT_SERVER_FILE_WATCHER_TYPE": "none"}
    with server("app.py", environment={**unwatched, **environment}, log=log) as (url, _):
        yield url
    text = log.read_text(errors="replace")
    assert "Traceback" not in text, f"the app logged an error:\n{text}"


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A Chromium driven by Playwright."""
    path = shutil.which("chromium") or missing("no chromium on the PATH: install it to run the browser tests")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    """A Firefox whose visitor likes dark pages."""
    path = shutil.which("firefox-esr") or shutil.which("firefox") or missing("no firefox on the PATH: install it")
    with running_firefox(path, tmp_path_factory.mktemp("firefox"), **{"ui.systemUsesDarkTheme": 1}) as browser:
        yield browser


@pytest.fixture(scope="session")
def webkit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    """A WebKit, which needs a screen."""
    path = shutil.which(DRIVER) or missing(f"no {DRIVER} on the PATH: install it")
    if "DISPLAY" not in os.environ and shutil.which("Xvfb") is None:
        missing("no Xvfb on the PATH: install it")
    with running_webkit(path, tmp_path_factory.mktemp("webkit")) as window:
        yield window


@pytest.fixture
def tab_of(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Tab]]:
    """A tab of the Firefox or the WebKit of these tests. Whatever went wrong in it fails the test."""
    tabs: list[Tab] = []

    def tab_of(browser: str) -> Tab:
        started = request.getfixturevalue(browser)
        tabs.append(started.new_page() if isinstance(started, Firefox) else started)
        return tabs[-1]

    yield tab_of
    wrong = [error for tab in tabs for error in tab.errors()]
    for tab in tabs:
        if isinstance(tab, Page):
            tab.close()
    assert not wrong, wrong


@pytest.fixture(scope="session")
def contexts(chromium: Any, app_url: str) -> Iterator[Callable[[dict[str, Any]], Any]]:
    """A browser profile for each kind of device, so that scripts are fetched and compiled once. It keeps a tab open,
    whatever tests close: its process lives as long as one."""
    opened: dict[str, Any] = {}

    def of(options: dict[str, Any]) -> Any:
        kind = repr(sorted(options.items()))
        if kind not in opened:
            opened[kind] = chromium.new_context(**options)
            opened[kind].new_page().goto(f"{app_url}/_stcore/health")
        return opened[kind]

    yield of
    for context in opened.values():
        context.close()


@pytest.fixture
def visit(contexts: Callable[[dict[str, Any]], Any], app_url: str) -> Iterator[Visit]:
    """Open a page and wait until it is painted. Whatever went wrong in the browser fails the test."""
    pages: list[Any] = []
    wrong: list[str] = []

    def refuse(dialog: Any) -> None:
        wrong.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def hear(message: Any) -> None:
        # Streamlit probes for its base path under a page's address and gets 404s by design.
        if message.type == "error" and not message.text.startswith("Failed to load"):
            wrong.append(message.text)

    def look(url: str, base: str) -> None:
        if url.startswith("http") and urlparse(url).netloc != urlparse(base).netloc:
            wrong.append(f"foreign request: {url}")

    def visit(
        path: str = "/",
        /,
        base: str = app_url,
        options: dict[str, Any] = WIDE,
        *,
        saves_data: bool = False,
        **query: str,
    ) -> Any:
        device = {name: value for name, value in options.items() if name not in (*MEDIA, "viewport")}
        page = contexts(device).new_page()
        pages.append(page)
        page.set_viewport_size(options.get("viewport", WIDE["viewport"]))
        page.emulate_media(**{name: options.get(name, usual) for name, usual in MEDIA.items()})
        if saves_data:
            page.add_init_script(SAVES_DATA)
        page.on("console", hear)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", refuse)
        page.on("request", lambda request: look(request.url, base))
        encoded = "&".join(f"{name}={quote(value)}" for name, value in query.items())
        page.goto(f"{base}{path}?{encoded}" if encoded else base + path)
        settle(page)
        return page

    yield visit
    for page in pages:
        page.close()
    for context in {page.context for page in pages}:
        context.clear_cookies()
        context.pages[0].evaluate("localStorage.clear()")  # of the tab that stays, at the address of the app
    assert not wrong, wrong
