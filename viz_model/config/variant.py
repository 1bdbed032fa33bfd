"""What every choice of a config has in common, and how one that cannot be is told."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viz_model.config.model import ModelConfig


class ConfigError(ValueError):
    """A config that describes no model. The message begins with the name of the wrong field."""


class Variant:
    """What every member of a union says. A member with parameters of its own checks their ranges."""

    def check(self, model: "ModelConfig") -> None:
        """Raises ConfigError where a parameter is out of its range, or does not fit the sizes of the model.

        Types are checked from the annotations.
        """
