"""Numbers computed from a Trace that are not themselves values of the forward pass."""
