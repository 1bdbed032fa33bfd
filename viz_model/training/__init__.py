"""Training of the bundled vocabulary and models: ``python -m viz_model.training --help``."""
