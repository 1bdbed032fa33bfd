"""A conversation for a model that has a template: written message by message, and read as the template writes it."""

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import pandas as pd
import streamlit as st

import viz_model as vm
from viz_model.app import state
from viz_model.app.view import ViewState
from viz_model.drawing import theme
from viz_model.texts import Texts
from viz_model.tokenizers.text import TextError
from viz_model.tokenizers.tokenizer import Tokenizer

ROLES = ("system", "user", "assistant")
HUES = {"system": "key", "user": "query", "assistant": "value", "": "muted"}
MOST_MESSAGES, MOST_TOKENS = 12, 400
_ROWS, _GOES_ON = "conversation.rows", "conversation.goes_on"


class Piece(NamedTuple):
    """A token of a conversation, and the number of its message; of what begins the answer, one more."""

    label: str
    id: int
    message: int


def door(view: ViewState, lm: vm.LanguageModel, t: Texts) -> None:
    """A button, where the model has a template, behind which a conversation is written."""
    if lm.tokenizer.chat_template is None:
        return
    with st.popover(t("common.conversation"), icon=":material/forum:", width="stretch", key="conversation_door"):
        _editor(lm, t)


def _editor(lm: vm.LanguageModel, t: Texts) -> None:
    usual = pd.DataFrame({"role": ["user"], "content": [t("common.conversation_first")]})
    rows = st.data_editor(
        usual,
        key=_ROWS,
        num_rows="dynamic",
        hide_index=True,
        column_config={
            "role": st.column_config.SelectboxColumn(t("common.conversation_role"), options=ROLES, required=True),
            "content": st.column_config.TextColumn(t("common.conversation_content"), width="large", required=True),
        },
    )
    goes_on = st.toggle(
        t("common.conversation_goes_on"), True, key=_GOES_ON, help=t("common.conversation_goes_on_help")
    )
    messages = messages_of(rows)
    if not messages:
        return
    try:
        text = lm.chat(messages, add_generation_prompt=goes_on)
        shown = pieces(lm, messages, text)
    except TextError as wrong:
        st.warning(t.error(wrong))
        return
    st.html(_drawn(shown, [message["role"] for message in messages], t))
    st.button(
        t("common.conversation_read", n=f"{len(shown):,}"),
        key="conversation.read",
        type="primary",
        on_click=state.update,
        kwargs={"text": typed(lm.tokenizer, text), "token": None},
    )


def messages_of(rows: pd.DataFrame) -> list[dict[str, str]]:
    """What was written, without rows that are not finished."""
    found = rows.dropna().to_dict("records")[:MOST_MESSAGES]
    return [{"role": str(row["role"]), "content": str(row["content"])} for row in found if str(row["content"]).strip()]


def pieces(lm: vm.LanguageModel, messages: Sequence[dict[str, str]], text: str) -> list[Piece]:
    """The tokens of a conversation, each with its message, which ends where the text of the messages so far does."""
    ends: list[int] = []
    for n in range(1, len(messages) + 1):
        try:
            before = lm.chat(messages[:n], add_generation_prompt=False)
        except TextError:  # a template may refuse what ends with such a message
            before = text[: ends[-1]] if ends else ""
        differs = (at for at, (one, other) in enumerate(zip(before, text, strict=False)) if one != other)
        ends.append(next(differs, min(len(before), len(text))))
    return list(_tokens(lm.tokenizer, text, ends))


def typed(tokenizer: Tokenizer, text: str) -> str:
    """The text that is read as these tokens where a tokenizer puts its own control token before what is typed."""
    ids = tokenizer.encode(text, special=False)
    for name in (tokenizer.token(id).label for id in tokenizer.controls):
        if text.startswith(name) and tokenizer.encode(text.removeprefix(name)) == ids:
            return text.removeprefix(name)
    return text


def _tokens(tokenizer: Tokenizer, text: str, ends: Sequence[int]) -> list[Piece]:
    stops, found, read = [len(text[:end].encode()) for end in ends], [], 0
    for token in tokenizer.tokens(tokenizer.encode(text, special=False)):
        message = sum(read >= stop for stop in stops)
        found.append(Piece(token.label, token.id, message))
        read += len(token.bytes) or len(token.text.encode())
    return found


def _drawn(shown: Sequence[Piece], roles: Sequence[str], t: Texts) -> str:
    """Tokens as chips in the color of who speaks."""
    hues = {role: theme.PALETTES["light"][hue] for role, hue in HUES.items()}
    names = [*roles, ""]
    chips = "".join(_chip(piece, hues[names[piece.message]]) for piece in shown[:MOST_TOKENS])
    spoken = dict.fromkeys(names[piece.message] for piece in shown)
    legend = " ".join(
        f'<span style="border-bottom:3px solid {hues[role]}">{escape(role or t("common.conversation_answer"))}</span>'
        for role in spoken
    )
    return f'<p style="font-size:.8rem">{legend}</p><div style="line-height:2">{chips}</div>'


def _chip(piece: Piece, color: str) -> str:
    look = f"border-bottom:3px solid {color};margin:0 1px;padding:0 2px;font-family:monospace;white-space:pre"
    ends = "<br>" if piece.label.endswith("⏎") else ""
    return f'<span title="{piece.id}" style="{look}">{escape(piece.label)}</span><wbr>{ends}'
