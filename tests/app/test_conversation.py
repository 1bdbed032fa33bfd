"""A conversation is read as the model's own template writes it, each token with its message."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

import viz_model as vm
from viz_model.app import conversation
from viz_model.texts import Texts
from viz_model.tokenizers.chat import ChatTemplate

TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {{ message.content }}<|endoftext|>{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "你好 <b>?"},
    {"role": "assistant", "content": "Hello!"},
    {"role": "user", "content": "Why?"},
]


def test_every_token_belongs_to_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    lm = vm.load("story-pre-ln")
    monkeypatch.setattr(lm.tokenizer, "chat_template", ChatTemplate(TEMPLATE, {}))
    text = lm.chat(MESSAGES)
    found = conversation.pieces(lm, MESSAGES, text)
    assert [piece.id for piece in found] == list(lm.trace(MESSAGES).ids) == list(lm.trace(text).ids)
    for n, message in enumerate(MESSAGES):
        own = lm.tokenizer.decode([piece.id for piece in found if piece.message == n])
        assert own == f"{message['role']}: {message['content']}<|endoftext|>"
    assert lm.tokenizer.decode([piece.id for piece in found if piece.message == len(MESSAGES)]) == "assistant:"
    drawn = conversation._drawn(found, [message["role"] for message in MESSAGES], Texts("en"))
    assert "<b>" not in drawn and "&lt;" in drawn and drawn.count("title=") == len(found)
    rows = pd.DataFrame({"role": ["user", None, "user", "assistant"], "content": ["Hi", "x", " ", None]})
    assert conversation.messages_of(rows) == [{"role": "user", "content": "Hi"}]


class Starts:
    """A tokenizer that puts its own first token before what is typed."""

    controls = frozenset({1})

    def token(self, id: int) -> Any:
        return SimpleNamespace(label="<s>")

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        ids = [1 if part == "<s>" else ord(part) for part in re.findall("<s>|.", text)]
        return [1, *ids] if special else ids


def test_a_control_token_that_a_tokenizer_adds_itself_is_not_typed() -> None:
    tokenizer: Any = Starts()
    assert conversation.typed(tokenizer, "<s>Once") == "Once"
    assert conversation.typed(tokenizer, "Once<s>") == "Once<s>"
