"""How Sphinx makes the site: once of this folder, in English, and once of ``zh``. docs/build.py calls it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import viz_model as vm

project = "viz-model"
author = "The viz-model maintainers"
copyright = author
version = release = vm.__version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_nb", "lists"]
exclude_patterns = ["zh"]
# Texts have the quotes they are to have.
smartquotes = False
html_theme = "furo"
html_title = f"viz-model {version}"
html_copy_source = html_show_sourcelink = False

# Signatures say the types; docstrings say shapes, units and errors.
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_use_type_comments = False
napoleon_use_ivar = True

myst_heading_anchors = 3
# Notebooks hold no outputs: they are run where the site is made, so that what is shown is what this version says.
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
