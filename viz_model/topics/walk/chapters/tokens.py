"""Tokens: the text is cut into pieces, and each piece has a number."""

from __future__ import annotations

from viz_model.island.beats import Chapter, Guess, Toy
from viz_model.texts.markdown import literal
from viz_model.tokenizers.tokenizer import IdTokenizer
from viz_model.topics.walk import layout
from viz_model.topics.walk.chapters.write import pieces
from viz_model.topics.walk.run import Run


def chapter(run: Run) -> Chapter:
    look, tokenizer, trace = run.look, run.trace.tokenizer, run.trace
    beats = [run.says("tokens_1"), run.says("tokens_2", n=f"{trace.config.n_vocab:,}")]
    split = next((n for n, token in enumerate(trace.tokens) if not token.is_whole), None)
    if split is not None and not trace.config.reads_pictures:
        last = next((n for n in range(split, len(trace)) if trace.tokens[n].is_whole), len(trace))
        bytes_ = b"".join(token.bytes for token in trace.tokens[split:last])
        character = bytes_.decode("utf-8", "ignore")[:1]
        if character:
            own = character.encode()
            said = " ".join(f"0x{byte:02X}" for byte in own)
            parts = len(tokenizer.encode(character, special=False))
            beats.append(run.says("tokens_bytes", char=literal(character), bytes=said, n=len(own), k=parts))
    if tokenizer.is_lossless and not isinstance(tokenizer, IdTokenizer) and not trace.config.reads_pictures:
        word = look.words("tokens_word")
        cut = tokenizer.tokens(tokenizer.encode(word, special=False))
        most = max(4, len(cut) + 1)
        first = most - 3
        options = [str(n) for n in range(first if len(cut) > 3 else 1, most + 1)]
        guess = Guess(look.text("guess_tokens", word=word.strip()), options, options.index(str(len(cut))))
        named = look.listed(literal(one.label) for one in cut)
        beats.append(
            run.says(
                "tokens_rare" if len(cut) > 1 else "tokens_whole",
                guess=guess,
                word=word.strip(),
                k=len(cut),
                parts=named,
            )
        )
    data = pieces(run, splits=3 if split is not None else 99)
    mark = Toy(toy="pieces", width=(1, 0), height=layout.HEIGHT, data=data, label=look.words("pieces"))
    return Chapter("tokens", look.words("title_tokens"), beats, [mark], ("tokens", look.words("closer_tokens")))
