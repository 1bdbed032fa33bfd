"""A page as a list: what stands on it from above to below, and what opens.

An item is a function of a :class:`viz_model.island.look.Look`. It returns a picture (a scene), sentences (lines), a
control that chooses among what the message holds, a question, or None where the run has nothing of the kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from viz_model.config import ModelConfig
from viz_model.drawing import plotted
from viz_model.drawing.scene import Scene
from viz_model.drawing.tables import Among
from viz_model.island.beats import Story
from viz_model.island.look import Look
from viz_model.island.prose import Line
from viz_model.island.tabs import Tabs, Trials
from viz_model.runs.trace import Trace
from viz_model.texts import Texts

if TYPE_CHECKING:
    import plotly.graph_objects as go

T = TypeVar("T")


class Chooser(NamedTuple):
    """A control of the page's own: an axis of its tables, or an option that the server reads.

    Attributes:
        name: of the axis, and in the address.
        options: names in the address -> labels, in order; the n-th is entry n of the axis. Or numbers from 0 on; or
            names and labels that are others where something else is selected.
        label: what it chooses.
        help: what that means, in a sentence.
        usual: the option where nobody has chosen; the first unless said.
        asks: whether another option is another message, because tables do not hold it.
        is_scale: whether options are steps of a scale, to be gone through with a slider.
        anew: what goes back to what is usual with each choice.
        is_list: whether options are many or long, and stand in a list that opens.
    """

    name: str
    options: dict[str, str] | range | tuple[Among, Among]
    label: str
    help: str = ""
    usual: str = ""
    asks: bool = False
    is_scale: bool = False
    anew: tuple[str, ...] = ()
    is_list: bool = False

    @property
    def every(self) -> list[str]:
        """All names in the address."""
        return [*map(str, self.options[0].names if isinstance(self.options, tuple) else self.options)]

    @property
    def plain(self) -> dict[str, Any]:
        """For the browser."""
        if isinstance(self.options, range):
            return {"kind": "chooser", **self._asdict(), "options": len(self.options)}
        split = self.options if isinstance(self.options, tuple) else (list(self.options), list(self.options.values()))
        return {"kind": "chooser", **self._asdict(), "names": split[0], "options": split[1]}


class Typed(NamedTuple):
    """What an option may be that is any text: ``usual`` where nobody has typed one, at most so many characters; or one
    of a ``pattern``.
    """

    usual: str = ""
    most: int = 120
    pattern: str = ""


class Field(NamedTuple):
    """A box to type an option in, letter by letter another message.

    Attributes:
        name: in the address.
        label: what is typed.
        help: what that means, in a sentence.
        hint: what stands there while nothing is typed.
        most: characters.
        anew: as of a chooser.
        pattern: what may be asked for, as in :class:`Typed`; anything else is gone once one leaves the box.
    """

    name: str
    label: str
    help: str = ""
    hint: str = ""
    most: int = 120
    anew: tuple[str, ...] = ()
    pattern: str = ""


class Quiz(NamedTuple):
    """A question that this run answers, to be guessed first.

    Attributes:
        asked: the question, Markdown.
        options: labels [N] (a table where they differ by selection).
        right: the number of the right one (a table).
        said: what is said whatever was guessed, Markdown.
        own: what each option has, [N], for who picked another one.
    """

    asked: Any
    options: Any
    right: Any
    said: Any
    own: Any = ()


class Button(NamedTuple):
    """What a click does.

    Attributes:
        label: written on it; it, ``change`` and ``is_off`` may be tables.
        options: what is chosen then, by name.
        words: what is written into the boxes of the sentence, "text" or "target".
        change: the parts of the view that it changes, as of an offer; "edits" as an address has them.
        press: which of the page's ``presses`` it is.
        is_off: whether there is nothing to click.
    """

    label: Any
    options: Mapping[str, str] = {}
    words: Mapping[str, str] = {}
    change: Mapping[str, Any] = {}
    press: str = ""
    is_off: Any = False


class Buttons(NamedTuple):
    """Buttons in a row; what they choose is another message."""

    name: str
    buttons: Sequence[Button]


class Ribbon(NamedTuple):
    """Tokens in a row that are not the page's own.

    Attributes:
        label: what they are.
        chips: as :func:`viz_model.drawing.chips.chip` makes them.
        selected: the number of one of them, or a table of such; −1 for none.
        option: what a click on one chooses, its number; "" where nothing is to be chosen.
        at: the dimension whose selected place stands before that number: "3.5".
    """

    name: str
    label: str
    chips: Sequence[dict[str, object]]
    selected: Any = -1
    option: str = ""
    at: str = ""

    @property
    def plain(self) -> dict[str, Any]:
        """For the browser."""
        own = {"first": 0, "ends": [], "selects": False, "many": True, "flat": False, "light": False}
        return {"kind": "ribbon", **own, **self._asdict()}


class Plain(NamedTuple):
    """What the browser draws of plain data: "parts", a table of two models, or "tree", a tree of modules."""

    kind: str
    name: str
    data: Mapping[str, Any]


class Offer(NamedTuple):
    """Another sentence, model or place to see, on a button.

    Attributes:
        said: what it would show.
        label: on the button.
        change: the parts of the view that it changes (text, target, to, side, model, token), each a value or a table.
        present: whether there is such a thing for what is selected (a table).
    """

    said: Line
    label: str
    change: dict[str, Any]
    present: Any = True


class Plot(NamedTuple):
    """A picture that is read by its axes and is the same whatever is selected: the browser draws it with Plotly.

    Attributes:
        id: as of a scene.
        figure: what is its own, in Plotly's words: traces with the hues of :data:`viz_model.drawing.theme.ROLES`, each
            with a dash or a symbol of its own beside, and the titles and kinds of axes. ``frontend/src/plot.js`` adds
            the look that all share. Names that a visitor has typed are escaped (:func:`viz_model.drawing.theme.plain`).
        alt: what it shows, in a sentence: its name for those who do not see it.
        data: the arrays that it was drawn from, a NamedTuple.
        sites, call, other, own: as of a scene.
    """

    id: str
    figure: go.Figure
    alt: str
    data: Any = None
    sites: Sequence[str] = ()
    call: str = ""
    other: str = ""
    own: bool = True

    @property
    def scene(self) -> Scene:
        """For files."""
        known = {"data": self.data, "sites": self.sites, "call": self.call, "other": self.other, "own": self.own}
        return plotted.scene(self.id, self.alt, self.figure, **known)


Made: TypeAlias = (
    Scene | Plot | Plain | Chooser | Field | Quiz | Offer | Buttons | Ribbon | Story | Iterable[Line] | None
)
Item: TypeAlias = Callable[[Look], Made]
Words: TypeAlias = Callable[..., str]
"""The labels of what is drawn where there is no look, by their keys."""


class Row(NamedTuple):
    """Columns side by side, as wide as ``shares`` say, and more of them in further rows; those that are empty in a run
    are left out. On a narrow screen they stand one below the other.
    """

    columns: Sequence[Sequence[Item | Row]]
    shares: tuple[int, ...] = (2, 1)


def beside(picture: Item | Sequence[Item | Row], *said: Item) -> Row:
    """A picture, or some below each other, with what is said of it on the right."""
    return Row((picture if isinstance(picture, Sequence) else (picture,), said))


def through(other: Callable[[Look], Look | None], *items: Item | Row) -> tuple[Any, ...]:
    """Items of another look than the page's, which is made of it; they stand there where it is."""

    def one(item: Item | Row) -> Item | Row:
        if isinstance(item, Row):
            return item._replace(columns=[through(other, *column) for column in item.columns])
        return lambda look: None if (found := other(look)) is None else item(found)

    return tuple(map(one, items))


def where(needs: Callable[[Look], object], *items: Item | Row) -> tuple[Any, ...]:
    """Items that stand there only for runs that have something of the kind."""
    return through(lambda look: look if needs(look) else None, *items)


def there(found: T | None) -> T:
    """What stands there: :func:`where` asks for nothing of it otherwise."""
    assert found is not None
    return found


def narrow(*items: Item | Row) -> tuple[Any, ...]:
    """Items of the selected layer alone (:attr:`viz_model.island.look.Look.narrow`)."""
    return through(lambda look: look.narrow, *items)


def wide(*items: Item | Row) -> tuple[Any, ...]:
    """Items of all layers, where others are of the selected one alone (:attr:`viz_model.island.look.Look.wide`)."""
    return through(lambda look: look.wide, *items)


def late(*items: Item | Row) -> tuple[Any, ...]:
    """The same, but of the selected layer alone until another is asked for."""
    return through(lambda look: look.late, *items)


def columns(*items: Item | Sequence[Item | Row]) -> Row:
    """Columns of equal width."""
    return Row(tuple(one if isinstance(one, Sequence) else (one,) for one in items), (1,) * len(items))


@dataclass(frozen=True)
class Section:
    """What stands behind a title and is sent once a visitor opens it.

    Attributes:
        name: after ``door_`` the name of its title in the topic's texts, and with ``_line`` after it of a line on what
            is behind it; and in the address.
        items: from above to below.
        opened_by: parameters of an address, or a parameter and its value, with which it is open.
        needs: whether the run has anything of the kind.
    """

    name: str
    items: Sequence[Item | Row]
    opened_by: tuple[str, ...] = ()
    needs: Callable[[Look], bool] | None = None


def has_text(config: ModelConfig) -> bool:
    """Whether there is a text in a model, as in those that most pages show: what it reads, or what it writes."""
    return not config.is_vision_encoder


def reads_text(config: ModelConfig) -> bool:
    """Whether a model reads a text, and no picture."""
    return not config.reads_pictures


@dataclass(frozen=True)
class Page:
    """A page.

    Attributes:
        topic: the group of its texts.
        items: what everybody meets, then sections.
        end: what stands below all of it, such as a question.
        options: what a visitor chooses beside the selection: names and what they may be, the usual one first; or whole
            numbers, of which none is the usual one: "" is for the page to fill in; or any text.
        tabs: the four in which it is worked out.
        trials: what can be broken and mistaken here.
        fits: the models that it is of.
        has_twin: whether it reads the same text in the model's twin too (:attr:`viz_model.island.look.Look.twin`).
        other: who stands beside a model where nobody has chosen, of a page that compares two: given its name, that of
            its twin and the configs of all models.
        presses: by name what a click does that takes runs of the model: it says what of the view becomes what, and
            under "options" what is chosen.
        reads_plain: whether it is of the run without a visitor's interventions; the topic's text ``plain`` says why.
        unattended: what stands in the place of all that where a layer without attention weights is selected; nothing
            where all is the same there.
        observed: whether it is of models whose runs are observed elsewhere, and not recomputed; of no others.
        unattended_tabs: its four tabs then.
    """

    topic: str
    items: Sequence[Item | Row | Section]
    end: Sequence[Item] = ()
    options: Sequence[tuple[str, Sequence[str] | range | Typed]] = ()
    tabs: Tabs | None = None
    trials: Trials | None = None
    fits: Callable[[ModelConfig], bool] = has_text
    has_twin: bool = False
    other: Callable[[str, str | None, Mapping[str, ModelConfig]], str | None] | None = None
    presses: Mapping[str, Callable[[Look], Mapping[str, Any]]] = field(default_factory=dict)
    reads_plain: bool = False
    unattended: Sequence[Item | Row | Section] = ()
    observed: bool = False
    unattended_tabs: Tabs | None = None

    @property
    def sections(self) -> tuple[Section, ...]:
        return tuple(item for item in (*self.items, *self.unattended) if isinstance(item, Section))

    def seen(self, look: Look) -> Page:
        """What it shows at the selected layer."""
        if not self.unattended or look.has("attn.pattern"):
            return self
        return replace(self, items=self.unattended, end=(), tabs=self.unattended_tabs)


@dataclass(frozen=True)
class Topic:
    """What one page of the app tells of, whatever the model.

    Attributes:
        name: of its room, its file in ``pages/`` and its address.
        pages: what it shows; the first that fits the model.
        part: whose heads it tells of, "attn" or "cross": where nobody has chosen one, it shows one that says something.
        telling: the layer and head that it shows of a token where nobody has chosen, if it is not that one; its text
            ``telling`` says why.
        of_words: whether it tells of words alone: of a model that writes what it reads in a picture, of its decoder.
        has_place: whether what it shows first is of a layer or of a head.
        needs: which models it can show; None where it shows all.
        prefers: of the models that it can show, which it opens on where nobody has chosen one.
        without: what of layer, head and token makes no difference to it.
        start: the layer, head and token that it shows of a run where nobody has chosen, in place of the usual ones.
        mixes: whether it shows models too that have layers without attention weights, or a gate behind them.
        sums_heads: whether it shows those of them whose layers write sums over the model's heads
            (:attr:`viz_model.config.ModelConfig.sums_heads`).
        formerly: options as addresses had them before: what they are called now, and names of values.
        is_story: whether it stands by itself, with its own choice of model and language and no sidebar.
    """

    name: str
    pages: tuple[Page, ...]
    part: str = "attn"
    telling: Callable[[Trace, int], tuple[int, int] | None] | None = None
    of_words: bool = False
    has_place: bool = True
    needs: Callable[[ModelConfig], bool] | None = None
    prefers: Callable[[ModelConfig], bool] = lambda config: True
    without: frozenset[str] = frozenset()
    start: Callable[[Trace], tuple[int, int, int]] | None = None
    is_story: bool = False
    mixes: bool = False
    sums_heads: bool = False
    formerly: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)

    def page(self, config: ModelConfig) -> Page | None:
        """What it shows of a model; None where there is nothing to show."""
        page = next((page for page in self.pages if page.observed == config.observed and page.fits(config)), None)
        if config.observed:
            return page or self._said("observed_otherwise")
        if page is not None and not (self.mixes or config.attends or (self.sums_heads and config.sums_heads)):
            return self._said("mixed_otherwise")
        return page if page is None or config.attends else replace(page, trials=None)

    def heading(self, page: Page | None, t: Texts) -> str:
        """What it is called; a page that some models have in its place may have a name of its own."""
        own = f"{page.topic}.heading" if page is not None else ""
        return t(own) if t.has_label(own) else t(f"common.page_{self.name}")

    def _said(self, key: str) -> Page:
        """A sentence in the place of a page."""
        return Page(self.pages[0].topic, items=(lambda look: [Line(look.common(key))],))


def flat(items: Iterable[Item | Row | Section]) -> Iterator[Item]:
    """All items, in the order of reading."""
    for item in items:
        match item:
            case Row():
                for column in item.columns:
                    yield from flat(column)
            case Section():
                yield from flat(item.items)
            case _:
                yield item


def scenes(page: Page, look: Look) -> Iterator[tuple[Item, Scene]]:
    """The pictures of a page with what draws them, those of its sections too."""
    for part in (*page.items, *page.end):
        if isinstance(part, Section) and not is_there(part, look):
            continue
        for item in flat([part]):
            if isinstance(made := item(look), Scene | Plot):
                yield item, made.scene if isinstance(made, Plot) else made


def is_there(section: Section, look: Look) -> bool:
    """Whether a run has anything of what a section shows."""
    return section.needs is None or section.needs(look)
