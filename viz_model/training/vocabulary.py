"""Learning the byte-level BPE vocabulary (Sennrich et al. 2016, on bytes)."""

import base64
import os
from collections.abc import Iterable
from pathlib import Path

from viz_model.tokenizers.text import byte_symbols
from viz_model.tokenizers.tokenizer import STORY_CONTROLS, STORY_PATTERN


def learn(texts: Iterable[str], n_vocab: int, target: Path) -> None:
    """Write the tiktoken ranks of a vocabulary to ``target``; the last ids are left to the control tokens.

    The ``tokenizers`` library counts the pairs. Ranks are the order in which tokens were merged:
    first the 256 bytes, then each merge.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(STORY_PATTERN), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=n_vocab - len(STORY_CONTROLS),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=[],
        show_progress=True,
    )
    bpe.train_from_iterator(texts, trainer)

    byte_of = {symbol: byte for byte, symbol in byte_symbols().items()}
    by_rank = sorted(bpe.get_vocab().items(), key=lambda entry: entry[1])
    merged = [bytes(byte_of[symbol] for symbol in token) for token, _ in by_rank]
    single = [bytes([byte]) for byte in range(256)]
    tokens = single + [token for token in merged if len(token) > 1]
    lines = (base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    partial = target.with_suffix(".partial")
    partial.write_bytes(b"".join(lines))
    os.replace(partial, target)
