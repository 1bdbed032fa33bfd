"""SentencePiece's own files (Kudo & Richardson 2018), and Marian's pairs of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from viz_model.checkpoints.weights import ModelError, one_line
from viz_model.tokenizers.files import BYTE_PIECE, MASKS, Settings, check_size, package, read_bytes, read_ids
from viz_model.tokenizers.text import as_text_error, check_text
from viz_model.tokenizers.tokenizer import Rule, Token, Tokenizer, token_of

_LANGUAGE = re.compile(r">>[^<>\s]+<<")


class SentencePiece(Tokenizer):
    """SentencePiece's own files (Kudo & Richardson 2018), and the ids that a model gives their pieces.

    Args:
        ids: the model's id of each of the processor's pieces.
        pieces: what stands in the vocabulary, by the model's id.
        before, after: control tokens that the model expects around a text.
        target: processor and ids of the language that a decoder speaks, where it is another.
        spaced_once: whether the space before a text stands at its very start alone, and not behind control tokens.
    """

    def __init__(
        self,
        name: str,
        processor: Any,
        ids: Sequence[int],
        *,
        pieces: Mapping[int, str],
        n_rows: int,
        controls: Iterable[int],
        before: Sequence[int] = (),
        after: Sequence[int] = (),
        end_of_text: int | None = None,
        mask_id: int | None = None,
        target: tuple[Any, Sequence[int]] | None = None,
        spaced_once: bool = False,
    ) -> None:
        self.name = name
        self.n_vocab = n_rows
        self.end_of_text = end_of_text
        self.mask_id = mask_id
        self.controls = frozenset(controls) - {mask_id}
        self._source = (processor, ids)
        self._target = target or self._source
        self._pieces = pieces
        self._before, self._after = list(before), list(after)
        self._named = {pieces[id]: id for id in (*self.controls, mask_id) if id is not None and pieces.get(id)}
        self._spaced_once = spaced_once
        self._find = re.compile("|".join(re.escape(name) for name in sorted(self._named, key=len, reverse=True)))
        self.unknown_id = ids[processor.unk_id()] if processor.unk_id() >= 0 else None
        if is_unigram(processor):
            spelled = [(processor.id_to_piece(id), id) for id in range(processor.get_piece_size())]
            usable = [(piece, id) for piece, id in spelled if not processor.is_control(id)]
            scores = {piece: processor.get_score(id) for piece, id in usable if not processor.is_unknown(id)}
            self.rule = Rule("unigram", {piece: ids[id] for piece, id in usable}, scores=scores)
        self._languages = {piece: id for id, piece in pieces.items() if target and _LANGUAGE.fullmatch(piece)}

    def encode(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        """Token ids of ``text``. A language that begins it, like ``>>fra<<``, is asked for by its token."""
        check_text(text)
        begin = []
        if (match := _LANGUAGE.match(text)) and match[0] in self._languages:
            begin = [self._languages[match[0]]]
            text = text[match.end() :]
        return self._around([*begin, *self._ids(text, self._source, as_text)], special)

    def words(self, text: str) -> tuple[str, ...]:
        """The whole text is one stretch: nothing but the scores keeps a piece from crossing words."""
        check_text(text)
        with as_text_error():
            return ("".join(self._source[0].encode(text, out_type=str)),)

    def encode_target(self, text: str, *, special: bool = True, as_text: bool = False) -> list[int]:
        check_text(text)
        return self._around(self._ids(text, self._target, as_text), special)

    def _around(self, ids: list[int], special: bool) -> list[int]:
        return [*self._before, *ids, *self._after] if special else ids

    def _ids(self, text: str, side: tuple[Any, Sequence[int]], as_text: bool) -> list[int]:
        processor, ids = side
        found: list[int] = []
        start = 0
        for name in () if as_text or not self._named else self._find.finditer(text):
            found += [*self._cut(processor, ids, text, start, name.start()), self._named[name[0]]]
            start = name.end()
        return found + self._cut(processor, ids, text, start, len(text))

    def _cut(self, processor: Any, ids: Sequence[int], text: str, start: int, stop: int) -> list[int]:
        if start == stop:
            return []
        # SentencePiece puts a space before whatever it is given: before these signs, where the text goes on.
        before = "<unk>" if self._spaced_once and start else ""
        with as_text_error():
            n_before = len(processor.encode(before)) if before else 0
            return [ids[id] for id in processor.encode(before + text[start:stop])][n_before:]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ``ids``, without the space that stands before every first word."""
        return self._spelled(ids).removeprefix(" ")

    def token(self, id: int) -> Token:
        id = int(id)
        if not (piece := self._pieces.get(id)):
            return self._unused(id)
        if id in self.controls or id == self.mask_id:
            return Token(id, piece.encode(), piece)
        match = BYTE_PIECE.fullmatch(piece)
        return token_of(id, bytes.fromhex(match[1]) if match else piece.replace("▁", " ").encode())


def is_unigram(processor: Any) -> bool:
    """Whether a SentencePiece model cuts by probabilities: only then the library knows the next best way to cut."""
    try:
        processor.nbest_encode_as_ids("", 1)
    except RuntimeError:
        return False
    return True


def _processor(path: Path) -> Any:
    library = package("sentencepiece", path)
    try:
        processor = library.SentencePieceProcessor()
        processor.LoadFromSerializedProto(read_bytes(path))
        if not processor.get_piece_size():
            raise ModelError(f"{path}: no pieces")
    except (OSError, RuntimeError, TypeError) as error:
        raise ModelError(f"{path}: no SentencePiece model: {one_line(error)}"[:500]) from None
    return processor


def sentencepiece_of_file(folder: Path, path: Path, settings: Settings, n_rows: int) -> Tokenizer:
    """The ``spiece.model`` of T5 and ALBERT, or the ``tokenizer.model`` of Llama 2."""
    usual = "T5" if path.name == "spiece.model" else "Llama"
    by_model = {"t5": "T5", "mt5": "T5", "llama": "Llama", "mistral": "Llama", "albert": "Albert"}
    kind = settings.kind or by_model.get(settings.model_type, usual)
    if kind not in ("T5", "Llama", "Albert"):
        raise ModelError(f"{path}: how {kind}Tokenizer reads it is not known here; save tokenizer.json beside it")
    processor = _processor(path)
    size = processor.get_piece_size()
    pieces = {id: processor.id_to_piece(id) for id in range(size)}
    controls = {id for id in pieces if processor.is_control(id)}
    if kind == "T5":
        # T5 counts the gaps that it was trained to fill from the end of its vocabulary.
        n_extra = settings.plain.get("extra_ids", 100)
        n_extra = min(n_extra if isinstance(n_extra, int) else 0, n_rows - size)
        gaps = {size + n_extra - 1 - n: f"<extra_id_{n}>" for n in range(n_extra)}
        pieces |= gaps
        controls |= set(gaps)
    for entry in settings.added():
        if entry["id"] < n_rows:
            pieces[entry["id"]] = entry["content"]
            controls |= {entry["id"]} - {processor.unk_id()} if entry["special"] else set()
    check_size(path, [size - 1, *pieces], n_rows)

    id_of = {piece: id for id, piece in pieces.items()}
    eos = settings.named("eos_token", "[SEP]" if kind == "Albert" else "</s>")
    bos = settings.named("cls_token" if kind == "Albert" else "bos_token", "[CLS]" if kind == "Albert" else "<s>")
    with_bos = settings.flag("add_bos_token", kind != "T5")
    with_eos = settings.flag("add_eos_token", kind != "Llama")
    for name, wanted in ((bos, with_bos), (eos, with_eos)):
        if wanted and name not in id_of:
            raise ModelError(f"{path}: the token {name[:40]!r} is missing")
    mask = next((id_of[name] for name in (settings.named("mask_token"), *MASKS) if name in id_of), None)
    tokenizer = SentencePiece(
        folder.name,
        processor,
        range(size),
        pieces=pieces,
        n_rows=n_rows,
        controls=controls,
        before=[id_of[bos]] if with_bos else [],
        after=[id_of[eos]] if with_eos else [],
        end_of_text=id_of.get(eos),
        mask_id=mask,
        spaced_once=kind == "Llama" and not settings.flag("legacy", False),
    )
    tokenizer.chat_template = settings.chat
    return tokenizer


def marian_of_files(folder: Path, settings: Settings, n_rows: int) -> Tokenizer:
    """Marian's two SentencePiece models, with the one vocabulary that gives both their ids."""
    path = folder / "vocab.json"
    vocabulary = read_ids(path)
    check_size(path, vocabulary.values(), n_rows)
    eos, unknown, pad = (
        settings.named(f"{key}_token", usual) for key, usual in (("eos", "</s>"), ("unk", "<unk>"), ("pad", "<pad>"))
    )
    for name in (eos, unknown):
        if name not in vocabulary:
            raise ModelError(f"{path}: the token {name[:40]!r} is missing")

    def side(name: str) -> tuple[Any, list[int]]:
        processor = _processor(folder / name)
        pieces = (
            unknown if processor.is_unknown(id) else processor.id_to_piece(id)
            for id in range(processor.get_piece_size())
        )
        return processor, [vocabulary.get(piece, vocabulary[unknown]) for piece in pieces]

    languages = {id for piece, id in vocabulary.items() if _LANGUAGE.fullmatch(piece)}
    return SentencePiece(
        folder.name,
        *side("source.spm"),
        pieces={id: piece for piece, id in vocabulary.items()},
        n_rows=n_rows,
        controls={*languages, *(vocabulary[name] for name in (eos, pad) if name in vocabulary)},
        after=[vocabulary[eos]],
        end_of_text=vocabulary[eos],
        target=side("target.spm"),
    )
