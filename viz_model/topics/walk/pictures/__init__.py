"""The pictures of the walk: one stage, on which marks keep their identity from the first stop to the last."""
