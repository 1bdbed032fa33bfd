"""Sentences to try, such as a model can read and in the visitor's language first; or pictures."""

import functools
import re
from pathlib import Path

import numpy as np

import viz_model as vm
from viz_model import images
from viz_model.checkpoints import examples as beside
from viz_model.texts import LANGUAGES
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.training import first_words

EXAMPLES = (
    "Tom had a cat and a dog. The cat and the",
    "Once upon a time, there was a little girl named",
    "The cat sat on the mat because it was",
    "小明有一只猫和一只狗。他喜欢猫和",
    "我爱深度学习",
    "从前，有一只小兔子",
    "Tom says 你好 to his friend 小明",
)
TO_TRANSLATE = (
    "The cat is sleeping on the chair.",
    "She is reading a book in the garden.",
    "Where is the station?",
    "I don't know what to say.",
    "My brother wants to buy a new car.",
)
WITH_A_GAP = (
    "Once upon a time, there was a little {mask} named Lily.",
    "The cat {mask} on the mat.",
    "Tom was very {mask} because he lost his ball.",
    "从前，有一只小{mask}住在森林里。",
)


def of(lm: vm.LanguageModel, language: str, is_story: bool = False) -> tuple[str, ...]:
    """The first is shown unasked. A story that the model is to go on with begins with one whose next token is open."""
    if is_story and lm.config.kind == "decoder" and not isinstance(lm.tokenizer, IdTokenizer):
        return (first_words.BEGINNINGS.get(language, first_words.BEGINNINGS["en"]), *of(lm, language))
    tokenizer = lm.tokenizer
    if lm.config.reads_pictures:
        return _pictures(lm.folder, *images.held(lm.config.patches.height, lm.config.patches.width))
    if isinstance(tokenizer, IdTokenizer):
        return tuple(tokenizer.decode(range(start, lm.config.n_vocab, step)[:9]) for start, step in ((0, 1), (5, 7)))
    if lm.config.kind == "encoder_decoder":
        return TO_TRANSLATE
    sentences: tuple[str, ...] = EXAMPLES
    if tokenizer.mask_id is not None and lm.config.has_logits:
        mask = tokenizer.token(tokenizer.mask_id).text
        sentences = tuple(sentence.format(mask=mask) for sentence in WITH_A_GAP)
    own = re.compile(f"[{LANGUAGES[language].letters}]")
    return tuple(sorted(sentences, key=lambda sentence: not own.match(sentence)))


@functools.cache
def _pictures(folder: Path, height: int, width: int) -> tuple[str, ...]:
    """Those that lie beside a model, as :mod:`viz_model.images` writes them; of a model without any, a ring."""
    if shown := beside.read(folder):
        return tuple(images.encode(example.levels, bits=4) for example in shown)
    middle = np.array([height, width]).reshape(2, 1, 1) / 2
    down, across = (np.indices((height, width)) + 0.5 - middle) / min(height, width)
    ring = np.clip(1 - np.abs(np.hypot(down, 1.4 * across) - 0.3) * 12, 0, 1)
    return (images.encode(np.rint(255 * ring).astype(np.uint8), bits=4),)
