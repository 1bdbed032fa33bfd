"""Cross-attention: what each token of the target reads of the source, and decoding step by step."""

from viz_model.topics.cross_attention import page

page.run()
