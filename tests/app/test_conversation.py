"""A conversation is read as the model's own template writes it, each token with its message."""

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
