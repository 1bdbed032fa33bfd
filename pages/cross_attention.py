"""Cross-attention: what each token of the target reads of the source, and decoding step by step."""

from viz_model.app import show
from viz_model.topics import cross_attention

show.show(cross_attention.TOPIC)
