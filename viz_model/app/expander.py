"""A door: Streamlit's own sections of a page, behind a title."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viz_model.app import elements
from viz_model.app.choices import Choice, switch
from viz_model.app.page import Page


@dataclass(frozen=True)
class Door:
    """Sections behind a title, which are drawn once a visitor opens it.

    Attributes:
        name: after ``door_`` the name of its choice, of its title in the page's texts, and with ``_line`` after
            it of a line on what is behind it.
        sections: from above to below.
        choices: what is chosen behind it: who chooses one of these, or has it in the address, finds it open.
        formerly: what addresses said in its place before there was a door, such as ``"section=care"``.
        is_alone: whether what is chosen behind it shows nowhere else, and so draws nothing else again.
    """

    name: str
    sections: tuple[Callable[[Page], None], ...]
    choices: tuple[Choice[Any], ...] = ()
    formerly: str = ""
    is_alone: bool = False

    @property
    def choice(self) -> Choice[bool]:
        """Whether it is open."""
        return switch(f"door_{self.name}")

    @property
    def opened_by(self) -> dict[str, Choice[bool]]:
        """What in an address opens it: a name, or a name and its value."""
        return {asked: self.choice for asked in (self.formerly, *(choice.name for choice in self.choices)) if asked}

    def draw(self, page: Page) -> None:
        def behind() -> None:
            for section in self.sections:
                section(page)

        name = self.choice.name
        label = f"**{page.words(name)}** · {page.words(f'{name}_line')}"
        elements.door(page, self.choice, label, behind, is_alone=self.is_alone)
