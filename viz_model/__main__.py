"""``python -m viz_model`` is ``viz-model``."""

from viz_model.command import main

main()
