"""A run becomes a bundled model: weights in half precision or in eight bits, training log, figures, card."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from viz_model.checkpoints import int8
from viz_model.checkpoints.registry import load, load_folder
from viz_model.checkpoints.weights import stored_tensors
from viz_model.runs.language_model import LanguageModel
from viz_model.tokenizers.numerals import NumeralTokenizer
from viz_model.tokenizers.patches import PatchTokenizer
from viz_model.training import card, log, loop, objective, picture_card, routing, strip_card
from viz_model.training.batches import Batches, Translations
from viz_model.training.checkpoint import TrainingError
from viz_model.training.corpus import Corpus
from viz_model.training.loop import trained_model
from viz_model.training.pictures import Pictures
from viz_model.training.recipe import Recipe, twin
from viz_model.training.samples import OWN_TEXT
from viz_model.training.strips import Strips

MODELS = Path(__file__).resolve().parents[1] / "models"
CARDS: dict[type[Batches], Any] = {Pictures: picture_card, Strips: strip_card}
"""What measures models of pictures and writes their cards, by their data."""


def publish(recipe: Recipe, data: Batches, run: Path, target: Path | None = None, kinds: Corpus | None = None) -> None:
    """Write a run's model to ``target``, by default into the package, and describe it, as :func:`describe` says.

    Raises:
        TrainingError: the run has no checkpoint.
    """
    target = target or MODELS / recipe.name
    target.mkdir(parents=True, exist_ok=True)
    tensors = stored_tensors(trained_model(recipe, run))
    vocabulary = {} if isinstance(data, Pictures) else {"tokenizer": data.tokenizer.name}
    description = {**vocabulary, "twin": twin(recipe), "config": recipe.config.to_dict()}
    if recipe.frozen:
        begun = stored_tensors(load(recipe.begin_from).model)
        tensors = {key: own for key, own in tensors.items() if key not in begun or not torch.equal(own, begun[key])}
        description["weights_of"] = recipe.begin_from
    store(recipe, tensors, target)
    _write(target / "config.json", description)

    reports = log.read(run / "log.jsonl")
    thinned = log.thin(reports)
    (target / "log.jsonl").write_text("".join(json.dumps(report) + "\n" for report in thinned), encoding="utf-8")
    if own := CARDS.get(type(data)):
        own.write_examples(data, target)
    describe(recipe, data, target, kinds)


def store(recipe: Recipe, tensors: Mapping[str, Tensor], target: Path) -> None:
    """Write weights as the recipe says that they are published."""
    is_int8 = recipe.stored == "int8"
    packed = int8.packed(tensors) if is_int8 else {key: own.half().contiguous() for key, own in tensors.items()}
    save_file(packed, target / "model.safetensors")


def describe(recipe: Recipe, data: Batches, target: Path, kinds: Corpus | None = None) -> None:
    """Measure the weights in ``target`` as shipped; write figures, curves and card beside them.

    Args:
        kinds: texts of :data:`viz_model.training.sources.KINDS`, on which routers are measured where there are any.
    """
    lm, reports = load_folder(target), log.read(target / "log.jsonl")
    ran = {"n_steps": reports[-1]["step"] + 1, "n_parameters": sum(map(torch.numel, lm.model.parameters()))}
    if own := CARDS.get(type(data)):
        found = own.figures(lm, data)
        written = own.write(recipe, lm, found, **ran)
    else:
        if kinds is not None and lm.config.has_experts:
            _write(target / routing.FILE, routing.measure(lm, kinds, data.languages))
        found = {"held_out": held_out(lm, data), "by_source": by_source(lm, data), "own_text": own_text(lm)}
        told = target / routing.FILE
        routed = json.loads(told.read_text(encoding="utf-8")) if told.exists() else None
        written = card.write(recipe, found["held_out"], found["by_source"], samples(lm), **ran, routed=routed)
    _write(target / "figures.json", found)
    (target / "curves.svg").write_text(card.curves(reports), encoding="utf-8")
    (target / "README.md").write_text(written, encoding="utf-8")


def resume_published(recipe: Recipe, run: Path, source: Path | None = None) -> None:
    """Make ``run`` stand at the recipe's last restart, with the weights and the log that were published there.

    Weights are published in half precision: what is trained on from them is not digit for digit
    what a run without a break would train on.

    Raises:
        TrainingError: the published model did not end where the recipe restarts, or ``run`` holds a run.
    """
    source = source or MODELS / recipe.name
    reports = (source / "log.jsonl").read_text(encoding="utf-8")
    ended = log.read(source / "log.jsonl")[-1]["step"] + 1
    if not recipe.restarts or ended != recipe.restarts[-1]:
        raise TrainingError(f"{recipe.name}: was published after {ended} steps, and its recipe does not restart there")
    if (run / "log.jsonl").exists():
        raise TrainingError(f"{run}: holds a run already")
    loop.begin_at_restart(recipe, load_folder(source).model, run)
    (run / "log.jsonl").write_text(reports, encoding="utf-8")


def held_out(lm: LanguageModel, data: Batches) -> dict[str, dict[str, float]]:
    """The figures of a model on all held-out text of its data, by language.

    Bits per byte and accuracy of the tokens asked for; of translators also BLEU, against the first
    translation of each sentence and against all of them. Of pictures, nats and accuracy of what was kept out
    and of the test; of strips also the share of the test that is answered exactly.
    """
    if own := CARDS.get(type(data)):
        return own.held_out(lm, data)
    figures = objective.figures(lm.model, data)
    if isinstance(data, Translations):
        for language in data.languages:
            figures[language] |= bleu(lm, data, language)
    return figures


def by_source(lm: LanguageModel, data: Batches) -> dict[str, dict[str, float]]:
    """Bits per byte of each source's held-out documents, and of a sample (``seen``) that it was trained on.

    What lies between the two was learned by heart, but for chance where documents are few; what they have
    in common is what is hard about the text. Of decoders: a translator has one source a language, and
    the few tokens of a source that are hidden from a masked model differ by chance.
    """
    return {
        sample.source: {
            "held_out": objective.measure(lm.model, sample.held_out, data.tokenizer).bits_per_byte,
            "seen": objective.measure(lm.model, sample.seen, data.tokenizer).bits_per_byte,
        }
        for language in data.languages
        for sample in data.samples(language)
    }


def bleu(lm: LanguageModel, data: Translations, language: str) -> dict[str, float]:
    """BLEU (Papineni et al. 2002) of greedy translations, as sacrebleu computes it (Post 2018)."""
    import sacrebleu

    pairs = data.held_out_pairs(language)
    said = [
        lm.generate(pair.english, target_language=language, max_new_tokens=96, temperature=0.0).text for pair in pairs
    ]
    tokenize = "zh" if language == "zh" else "13a"
    first = [[pair.translations[0] for pair in pairs]]
    most = max(len(pair.translations) for pair in pairs)
    # None stands where a sentence has no such reference: an empty string would count as one.
    every: list[Any] = [[(*pair.translations, *[None] * most)[n] for pair in pairs] for n in range(most)]
    return {
        "bleu": sacrebleu.corpus_bleu(said, first, tokenize=tokenize).score,
        "bleu_all_references": sacrebleu.corpus_bleu(said, every, tokenize=tokenize).score,
    }


OWN_SENTENCES = {"fr": "The cat is sleeping on the chair.", "zh": "The cat is sleeping on the chair."}
OWN_TRANSLATIONS = {"fr": OWN_TEXT["fr"], "zh": "猫在椅子上睡觉。"}


@torch.no_grad()
def own_text(lm: LanguageModel) -> dict[str, float]:
    """Nats a token on :data:`OWN_TEXT`, by language: the quick check of shipped weights.

    A decoder predicts each next token, a translator each token of a translation, and the masked
    model every token in turn, hidden alone; a model of pictures tells the classes of its examples, or their words.
    """
    if isinstance(lm.tokenizer, PatchTokenizer):
        return picture_card.of_examples(lm)
    if isinstance(lm.tokenizer, NumeralTokenizer):
        return strip_card.of_examples(lm)
    kind, tokenizer = lm.config.kind, lm.tokenizer
    end, mask = tokenizer.end_of_text or 0, tokenizer.mask_id or 0
    found = {}
    if kind == "encoder_decoder":
        for language, english in OWN_SENTENCES.items():
            trace = lm.trace(english, OWN_TRANSLATIONS[language], target_language=language)
            said = tokenizer.encode_target(OWN_TRANSLATIONS[language], special=False)
            found[language] = _nats(trace["logits"], [*said, end])
        return found
    for language in ("en", "zh"):
        ids = tokenizer.encode(OWN_TEXT[language])
        if kind == "decoder":
            logits = lm.model(torch.tensor([ids]))[0]
            found[language] = _nats(logits[:-1], ids[1:])
        else:
            hidden = torch.tensor([ids] * (len(ids) - 2))
            places = torch.arange(1, len(ids) - 1)
            hidden[range(len(hidden)), places] = mask
            found[language] = _nats(lm.model(hidden)[range(len(hidden)), places], ids[1:-1])
    return found


def _nats(logits: torch.Tensor, answers: list[int]) -> float:
    return torch.nn.functional.cross_entropy(logits, torch.tensor(answers)).item()


PROMPTS = ("Once upon a time, there was a little girl named", "One day, Tom", "从前，有一只小", "一天早上，")
SENTENCES = (
    "I love you.",
    "Where is the station?",
    "She is reading a book in the garden.",
    "I don't know what to say.",
)
MASKED = ("Once upon a time, there was a little [MASK] named Lily.", "从前，有一只小[MASK]住在森林里。")


def samples(lm: LanguageModel) -> list[tuple[str, str]]:
    """What the model makes of a few texts, greedily: (text, result)."""
    match lm.config.kind:
        case "decoder":
            return [(text, lm.generate(text, max_new_tokens=60, temperature=0.0).text) for text in PROMPTS]
        case "encoder_decoder":
            return [
                (f"{text} → {language}", lm.generate(text, target_language=language, temperature=0.0).text)
                for text in SENTENCES
                for language in lm.tokenizer.languages
            ]
    found = []
    for text in MASKED:
        trace = lm.trace(text)
        place = [token.id for token in trace.tokens].index(lm.tokenizer.mask_id or 0)
        found.append((text, ", ".join(f"{t.text.strip()} {p:.0%}" for t, p in trace.next_tokens(place, k=5))))
    return found


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
