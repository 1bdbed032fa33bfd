"""What all pages share: frame, state, texts, components, and the runs that are kept."""
