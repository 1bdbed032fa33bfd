"""A corpus of made-up sentences, a vocabulary of single bytes, and recipes that train in milliseconds."""

import functools
import itertools
import json
import re
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import tiktoken
import torch
from tiny_models import of_pictures, of_strips, tiny_config

from viz_model.config import ClassHead, Kind, Learned, MaskedHead, Patches
from viz_model.tokenizers.tokenizer import END_OF_TEXT, MASK, STORY_CONTROLS, STORY_PATTERN, TARGET_TAGS, ByteLevel
from viz_model.training import __main__ as command
from viz_model.training import batches, publish
from viz_model.training.batches import Batches
from viz_model.training.corpus import Corpus, Documents, PairCorpus, PairSplit, Split
from viz_model.training.loop import StepReport
from viz_model.training.pictures import Labeled
from viz_model.training.recipe import Classes, MaskedToken, NextToken, Objective, Recipe, Transcription, Translation
from viz_model.training.sources import PAIRS, PICTURES, TEXTS, Pair, split

KINDS: tuple[Kind, ...] = ("decoder", "encoder", "encoder_decoder")
WORDS = {
    "en": (
        ["The tailor", "A gray heron", "My aunt", "The lamp"],
        [" mended a sail", " counted stones", " hummed"],
        [" by the pier.", " in the attic.", " at dusk."],
    ),
    "fr": (
        ["Le tailleur", "Un héron gris", "Ma tante", "La lampe"],
        [" recousait une voile", " comptait des pierres", " fredonnait"],
        [" près du quai.", " au grenier.", " au crépuscule."],
    ),
    "zh": (
        ["裁缝", "苍鹭", "姑妈", "小灯"],
        ["补好了船帆", "数石头", "哼着歌"],
        ["在码头边。", "在阁楼里。", "在黄昏。"],
    ),
}


def sentences(language: str) -> list[str]:
    """36 of them; those at the same place mean the same in every language."""
    return ["".join(parts) for parts in itertools.product(*WORDS[language])]


def write_corpus(folder: Path) -> Path:
    """Every file that the training reads, under ``folder``."""
    for n, source in enumerate(TEXTS):
        lines = sentences(source.language)
        lines = lines[n:] + lines[:n]
        stories = [" ".join(lines[i : i + 3]) for i in range(0, len(lines), 3)]
        text = "\n".join(lines) if source.per_line else f"\n{END_OF_TEXT}\n".join(stories)
        _write(folder / source.file, text)
    for pair_source in PAIRS:
        others = sentences(pair_source.language)
        known = zip(sentences("en"), others, strict=True)
        rows = [f"{english}\t{other}\tnumber {n}" for n, (english, other) in enumerate(known)]
        # A second translation of some sentences, and a line that stands there twice.
        rows += [f"{english}\t{others[0]}" for english in sentences("en")[::5]] + rows[:1]
        _write(folder / pair_source.file, "\n".join(rows))
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


@functools.cache
def byte_tokenizer(kind: Kind = "decoder") -> ByteLevel:
    """The bundled vocabulary in small: the 256 bytes and the same control tokens, used alike."""
    encoding = tiktoken.Encoding(
        "bytes",
        pat_str=STORY_PATTERN,
        mergeable_ranks={bytes([byte]): byte for byte in range(256)},
        special_tokens={name: 256 + n for n, name in enumerate(STORY_CONTROLS)},
    )
    end = [encoding.encode_single_token(END_OF_TEXT)]
    tags = {language: encoding.encode_single_token(tag) for language, tag in TARGET_TAGS.items()}
    around: dict[Kind, dict[str, Any]] = {"encoder_decoder": {"after": end, "languages": tags}}
    return ByteLevel(encoding, **{"encoder": {"before": end, "after": end, "mask": MASK}, **around}.get(kind, {}))


OBJECTIVES: dict[Kind, Objective] = {
    "decoder": NextToken(rows={"en": 3, "zh": 2}),
    "encoder": MaskedToken(tokens=320),
    "encoder_decoder": Translation(tokens=480, repeats={"fr": 1, "zh": 2}),
}

SHORT: dict[str, Any] = {"steps": 12, "peak_rate": 1e-2, "warmup": 3, "decay_steps": 4, "validate_every": 5}


def tiny_recipe(kind: Kind = "decoder", *, config: dict[str, Any] | None = None, **changes: Any) -> Recipe:
    """Twelve steps of a model of this kind, in the shape of the bundled recipe for it."""
    sizes: dict[str, Any] = {"n_vocab": byte_tokenizer().n_vocab, "n_context": 64, "d_model": 12, "d_ffn": 20}
    if kind == "encoder":
        sizes |= {"head": MaskedHead()}
    if kind == "encoder_decoder":
        sizes |= {"n_encoder_layers": 2, "start_id": byte_tokenizer(kind).languages["fr"]}
    described: dict[str, Any] = {"name": f"tiny-{kind}", "objective": OBJECTIVES[kind], **SHORT}
    return Recipe(config=tiny_config(kind=kind, **{**sizes, **(config or {})}), **{**described, **changes})


@functools.cache
def texts(kind: Kind = "decoder") -> Corpus:
    """English and Chinese sentences in memory."""
    tokenizer = byte_tokenizer(kind)
    parts = {language: split(sentences(language), seed=0) for language in ("en", "zh")}
    both = {name: [Documents.encode(part, tokenizer) for part in made] for name, made in parts.items()}
    return Corpus({name: Split(train, held_out) for name, (train, held_out) in both.items()}, tokenizer)


@functools.cache
def pairs() -> PairCorpus:
    """English sentences with their translations, in memory."""
    tokenizer = byte_tokenizer("encoder_decoder")

    def both(found: list[Pair]) -> tuple[Documents, Documents]:
        english, others = [pair.english for pair in found], [pair.translations[0] for pair in found]
        return Documents.encode(english, tokenizer), Documents.encode(others, tokenizer)

    languages = {}
    for language in ("fr", "zh"):
        known = [Pair(english, (other,)) for english, other in zip(sentences("en"), sentences(language), strict=True)]
        train, held_out = split(known, seed=0)
        languages[language] = PairSplit(train=both(train), held_out=both(held_out), held_out_pairs=tuple(held_out))
    return PairCorpus(languages, tokenizer)


def data_of(recipe: Recipe) -> Batches:
    """The batches of a tiny recipe."""
    kind = recipe.config.kind
    return batches.build(recipe, pairs() if kind == "encoder_decoder" else texts(kind))


def tiny_picture_recipe(**changes: Any) -> Recipe:
    """Twelve steps of a classifier of digits of 6 × 9 pixels."""
    config = next(each for each in of_pictures() if isinstance(each.position, Learned))
    described: dict[str, Any] = {
        "name": "tiny-pictures",
        "objective": Classes(source="digits", pictures=20, turn=10.0, scale=0.1, slant=0.1, shift=0.5),
        "config": replace(config, head=ClassHead(labels=tuple("0123456789"))),
        **SHORT,
    }
    return Recipe(**{**described, **changes})


def tiny_strip_recipe(**changes: Any) -> Recipe:
    """Twelve steps of a model that writes the digits of a strip of 6 × 27 pixels."""
    given = Patches(height=6, width=27, patch=3, channels=1, mean=(0.2,), std=(0.3,), cls=False)
    config = next(each for each in of_strips() if isinstance(each.position, Learned))
    described: dict[str, Any] = {
        "name": "tiny-strips",
        "objective": Transcription(source="digits", pictures=20, digits=2, smallest=0.9, largest=1.0),
        "config": replace(config, inputs=given, n_context=18),
        **SHORT,
    }
    return Recipe(**{**described, **changes})


def digits(n: int = 150, seed: int = 0) -> Labeled:
    """Noisy pictures of 6 × 9 pixels, of which each class has one bright pixel of its own: any model learns that."""
    rng = np.random.default_rng(seed)
    levels, classes = rng.integers(0, 60, (n, 6, 9, 1)).astype(np.uint8), np.arange(n) % 10
    levels[np.arange(n), 1 + classes // 5 * 3, classes % 5 * 2] = 255
    return Labeled(levels, classes)


def write_digits(folder: Path) -> Path:
    """The file of the source "digits", under ``folder``."""
    path = folder / next(source for source in PICTURES if source.name == "digits").file
    path.parent.mkdir(parents=True, exist_ok=True)
    found: dict[str, np.ndarray] = {}
    for name, part in (("train", digits()), ("test", digits(60, seed=1))):
        found |= {f"x_{name}": part.levels[..., 0], f"y_{name}": part.classes.astype(np.uint8)}
    np.savez(path, **found)  # type: ignore[arg-type]
    return folder


def published_of(recipe: Recipe, data: Batches, folder: Path) -> Path:
    """The folder of a model that the command has trained and published, in another one."""
    command.run(recipe, data, folder / "run", torch.device("cpu"))
    publish.publish(recipe, data, folder / "run", folder / "model")
    return folder / "model"


def check_card(folder: Path, recipe: Recipe) -> str:
    """The card of a published model: no place left open, whole tables, the settings of its recipe. Returns it."""
    written = (folder / "README.md").read_text(encoding="utf-8")
    assert "{{" not in written and f"{recipe.steps} steps" in written
    (settings,) = re.findall(r"```json\n(.*)\n```", written)
    kept = json.loads(settings)
    assert kept["peak_rate"] == recipe.peak_rate and kept["objective"] == asdict(recipe.objective)
    for table in re.findall(r"(?:^\|.*\n)+", written, flags=re.M):
        assert len({line.count("|") for line in table.splitlines()}) == 1, table  # every row as wide as its head
    return written


def measured(report: StepReport) -> tuple[Any, ...]:
    """All of a report but the speed: what must not depend on how often a run was interrupted."""
    *rest, _, held_out, balance = astuple(report)
    return (*rest, held_out, balance)
