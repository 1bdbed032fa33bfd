"""What pytest reads first: who brings the fixtures, and which tests run when."""

import gc
from collections.abc import Generator

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Bring the fixtures, and with them PyTorch and Streamlit, to the processes that run tests alone."""
    if config.getoption("dist", "no") == "no":
        config.pluginmanager.import_plugin("shared_fixtures")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect thousands of tests, all of which stay: nobody looks for what might have left, then or while they run."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(50_000, 20, 20)
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests into tiers before ``-m`` chooses among them."""
    import tiers

    tiers.assign(items)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How often the app made each of its claims, where the tests counted that."""
    counts: dict[str, int] = {}
    for report in (report for reports in terminalreporter.stats.values() for report in reports):
        for name, value in getattr(report, "user_properties", ()):
            if name == "claims":
                counts |= value
    if counts:
        terminalreporter.section("claims made")
        for name, times in counts.items():
            terminalreporter.line(f"{times:8d}  {name}")
