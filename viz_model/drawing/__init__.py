"""Pictures of a Trace. A figure is data first (a view, numpy and labels), drawing second."""
