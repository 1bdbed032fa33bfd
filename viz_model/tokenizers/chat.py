"""How a conversation is written for a model: its template in Jinja, run where it reaches nothing of this machine."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

from jinja2 import Template, TemplateError
from jinja2.exceptions import SecurityError
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from viz_model.checkpoints.weights import one_line
from viz_model.tokenizers.text import TextError, check_text

MAX_TEMPLATE = 200_000
"""Characters of a template; those of published models have some thousands."""


@dataclass(frozen=True)
class ChatTemplate:
    """A model's template.

    Attributes:
        source: in Jinja, as the hub's models have it.
        names: control tokens that it may name, such as ``bos_token``.
    """

    source: str
    names: Mapping[str, str]

    def write(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        add_generation_prompt: bool = True,
        tools: Sequence[Mapping[str, Any]] | None = None,
        **values: Any,
    ) -> str:
        """The text of a conversation, control tokens written out.

        Args:
            messages: in order, each with a "role" and a "content".
            add_generation_prompt: whether the beginning of the model's answer stands at the end.
            tools: JSON schemas of functions that the model may call.
            values: what else the template asks for, such as ``enable_thinking``.

        Raises:
            TextError: the template is damaged, or refuses the conversation.
        """
        if not messages or not all(isinstance(message, Mapping) for message in messages):
            raise TextError('messages: expected a list such as [{"role": "user", "content": "Hello"}]')
        try:
            # Plain data, which the template could not change for others.
            plain = json.loads(json.dumps({"messages": list(messages), "tools": tools and list(tools), **values}))
            text = _compiled(self.source).render(
                documents=None, **self.names, **plain, add_generation_prompt=add_generation_prompt
            )
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            raise TextError(f"the chat template does not take this conversation: {one_line(error)[:300]}") from None
        check_text(text)
        return text


@lru_cache(maxsize=16)
def _compiled(source: str) -> Template:
    """A template with what Transformers gives one: no attribute of Python's own, and nothing that changes a value."""
    if len(source) > MAX_TEMPLATE:
        raise TemplateError(f"longer than {MAX_TEMPLATE:,} characters")
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = _as_json
    environment.globals["raise_exception"] = _raise
    environment.globals["strftime_now"] = lambda pattern: datetime.now().strftime(pattern)
    environment.globals["dict"] = lambda *given, **named: dict(*given, **named)
    environment.globals["namespace"] = _Namespace
    # Blocks around what the model says, which only training asks for.
    plain = _GENERATION.sub(lambda tag: f"{tag[1]} {'endif' if tag[2] else 'if true'} {tag[3]}", source)
    return environment.from_string(plain)


_GENERATION = re.compile(r"(\{%-?)\s*(end)?generation\s*(-?%\})")


class _Namespace(Namespace):
    """Variables of a template, none of which may have a name of Python's own."""

    def __init__(*args: Any, **named: Any) -> None:
        for name in named:
            _check_name(name)
        Namespace.__init__(*args, **named)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"the name {name[:40]!r} begins with an underscore")


def _as_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Jinja's own filter escapes the signs of HTML, which are text here."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise(message: str) -> NoReturn:
    raise TemplateError(message)
