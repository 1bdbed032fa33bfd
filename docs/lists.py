"""Two lists that are made of what the package holds: the technical terms, and every value of a run.

``{terms}`` and ``{values} story-pre-ln`` in a page, in the language that the site is made in.
"""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import viz_model as vm
from viz_model.island import glossary
from viz_model.model import sites
from viz_model.texts import Texts


class Terms(SphinxDirective):
    """Every term of the app's glossary, in the order in which a text meets them."""

    def run(self) -> list[nodes.Node]:
        language = _language(self)
        t = Texts(language)
        found = nodes.definition_list()
        for term in glossary.terms(language):
            said = nodes.paragraph(text=term.says)
            if term.source:
                said += nodes.Text(t("common.brackets", text=term.source))
            name = nodes.term(text=term.name, ids=[f"term-{term.key.replace('_', '-')}"])
            found += nodes.definition_list_item("", name, nodes.definition("", said))
        return [found]


class Values(SphinxDirective):
    """Every value of a run of a bundled model, outside its blocks and in the first one: label, axes, formula."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        config, t = vm.load(self.arguments[0]).config, Texts(_language(self))
        found: list[nodes.Node] = []
        for name, site in sites.in_order(config):
            if sites.split_name(name)[0] in (None, 0):
                head = nodes.paragraph("", "", nodes.strong(text=t.site_label(site)), nodes.Text(" "))
                head += [nodes.literal(text=name), nodes.Text(f" [{' × '.join(site.axes)}]")]
                # Browsers draw MathML by themselves, so a page with many formulas loads nothing.
                found += [head, nodes.raw("", convert(site.formula, display="block"), format="html")]
        return found


def _language(directive: SphinxDirective) -> str:
    return str(directive.config.language).partition("_")[0]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("terms", Terms)
    app.add_directive("values", Values)
    return {"parallel_read_safe": True}
