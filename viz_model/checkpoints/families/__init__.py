"""Families of Hugging Face checkpoints: for each, what its attributes mean and what its tensors are here."""
