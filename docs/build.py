"""The site of the documentation, in both languages; any warning is an error.

    pip install -e ".[docs]" && python docs/build.py FOLDER

English stands in the folder, Chinese in its ``zh``; FOLDER/index.html is where to begin, without a server.
"""

import argparse
from pathlib import Path

from sphinx.cmd.build import main as sphinx

HERE = Path(__file__).resolve().parent


def build(folder: Path, *, execute: bool = True) -> int:
    """Make the site in a folder; how many languages failed.

    Args:
        execute: run the notebooks, without which they have no outputs.
    """
    failed = 0
    for language, source, place in (("en", HERE, folder), ("zh_CN", HERE / "zh", folder / "zh")):
        options = ["-q", "-W", "--keep-going", "-c", str(HERE), "-D", f"language={language}"]
        options += [] if execute else ["-D", "nb_execution_mode=off"]
        # What Sphinx keeps from one time to the next stands beside the site, not in it.
        options += ["-d", str(folder.with_name(f".{folder.name}.{language}"))]
        failed += bool(sphinx([*options, str(source), str(place)]))
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    raise SystemExit(build(parser.parse_args().folder.resolve()))
