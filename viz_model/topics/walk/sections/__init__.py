"""The stops of the walk, and what they are told with."""
