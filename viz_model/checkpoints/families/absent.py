"""Families that are not read: which of those here is most like one, and what it would need besides."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from viz_model.checkpoints.weights import OBSERVED


class Absent(NamedTuple):
    """``nearest`` is a family that is read; ``needed`` what the other has and no part here computes."""

    nearest: str
    needed: str


_ROWS = (
    ("beit", "vit", "a table of distances in two directions, and a learned scale of what each sub-layer writes"),
    ("clip siglip", "vit", "a second network that reads texts, and a space in which the two meet"),
    ("deit", "vit", "a second vector in front of the patches, which learns from another model"),
    ("dinov2", "vit", "a learned scale of what each sub-layer writes"),
    ("swin", "vit", "windows that shift from block to block, and patches that are joined"),
    ("deberta deberta-v2", "bert", "scores of content with position and of position with content"),
    ("mpnet", "bert", "a number for each distance, added to the scores"),
    ("xlnet", "bert", "two streams beside each other, and positions by distance"),
    ("esm nomic_bert roformer", "bert", "rotary positions"),
    ("eurobert", "modernbert", "keys and values that groups of queries share"),
    ("roberta-prelayernorm xlm-roberta-xl", "roberta", "norms before sub-layers"),
    ("megatron-bert", "bert", "norms before sub-layers"),
    ("data2vec-text", "roberta", "a table of its attributes and tensors"),
    ("bert-generation", "bert", "a table of its attributes and tensors"),
    ("ernie", "bert", "an embedding of tasks"),
    ("flaubert xlm", "bert", "an embedding of languages"),
    ("layoutlm", "bert", "positions on a page"),
    ("tapas", "bert", "embeddings of the rows and columns of a table"),
    ("roc_bert", "bert", "embeddings of how characters look and sound"),
    ("rembert", "bert", "embeddings of other widths at entry and exit"),
    ("ibert", "roberta", "computation in whole numbers"),
    ("big_bird", "bert", "attention to blocks, some of them drawn at random"),
    ("bigbird_pegasus", "bart", "attention to blocks, some of them drawn at random"),
    ("longformer", "roberta", "attention to a neighborhood, and to chosen tokens from everywhere"),
    ("led", "bart", "attention to a neighborhood, and to chosen tokens from everywhere"),
    ("pegasus_x", "bart", "attention to a neighborhood, and to chosen tokens from everywhere"),
    ("mra nystromformer yoso", "bert", "an approximation of attention"),
    ("fnet", "bert", "a Fourier transform in the place of attention"),
    ("squeezebert", "bert", "matrices that are cut into groups"),
    ("mobilebert", "bert", "narrow blocks with several feed-forward networks"),
    ("convbert", "bert", "convolutions beside heads"),
    ("funnel", "bert", "a sequence that becomes shorter from stage to stage"),
    ("gte jina_embeddings_v3", "bert", "rotary positions"),
    ("ctrl", "gpt2", "waves in the place of learned positions"),
    ("gptj", "falcon", "a table of its own: neighbors in pairs, and a bias of the logits"),
    ("codegen", "falcon", "a table of its own: one norm before both sub-layers, and a bias of the logits"),
    ("gpt_bigcode", "gpt2", "a single key and value for all heads"),
    ("openai-gpt", "gpt2", "norms after each sub-layer"),
    (
        "mamba mamba2 falcon_mamba rwkv xlstm",
        "gpt2",
        "a state that is carried from token to token, in the place of attention",
    ),
    ("mpt", "bloom", "a table of its own: no biases, and one matrix of queries, keys and values"),
    ("biogpt", "opt", "a table of its attributes and tensors"),
    ("xglm", "opt", "waves in the place of learned positions"),
    ("apertus", "llama", "an activation with learned numbers, and norms of queries and keys"),
    ("ernie4_5 helium", "llama", "a rotation of neighbors in pairs"),
    ("olmo", "llama", "norms without weights"),
    ("nanochat", "nemotron", "norms without weights"),
    ("jais2", "nemotron", "biases"),
    ("persimmon", "gpt_neox", "norms of queries and keys, and another activation"),
    ("gpt_neox_japanese", "gpt_neox", "a bias in its last layer alone"),
    ("exaone", "llama", "a table of its attributes and tensors"),
    ("cwm", "llama", "windows in some layers"),
    ("diffllama", "llama", "heads that subtract one attention map from another"),
    ("bitnet", "llama", "weights of three values, and norms within sub-layers"),
    ("bamba jamba nemotron_h recurrent_gemma zamba zamba2", "llama", "layers with a state in the place of attention"),
    ("bailing_hybrid kimi_linear olmo_hybrid", "qwen3_next", "a table of its attributes and tensors"),
    ("minimax", "mixtral", "layers with a state in the place of attention"),
    ("vaultgemma", "gemma2", "blocks without norms behind their sub-layers"),
    ("t5gemma", "gemma2", "an encoder"),
    ("falcon_h1", "llama", "a state that is carried from token to token, beside attention"),
    ("llama4 mllama llava", "llama", "pictures among the tokens"),
    ("ministral3", "mistral", "queries that grow with their position"),
    ("mistral3", "mistral", "pictures among the tokens"),
    ("exaone4", "olmo2", "windows in most layers, and no positions in the others"),
    ("qwen2_vl qwen2_5_vl", "qwen2", "pictures among the tokens"),
    ("qwen3_5", "qwen3_5_text", "pictures among the tokens"),
    ("qwen3_vl", "qwen3", "pictures among the tokens"),
    ("hunyuan_v1_dense", "qwen3", "norms of queries and keys after they are turned"),
    ("dots1 glm4_moe solar_open", "qwen3_moe", "an expert that reads every token, and experts chosen by a sigmoid"),
    ("minimax_m2", "qwen3_moe", "experts chosen by a sigmoid"),
    ("flex_olmo", "olmoe", "norms after each sub-layer"),
    ("deepseek_v32 glm_moe_dsa", "deepseek_v3", "an index that chooses the keys that are read"),
    ("glm4_moe_lite youtu", "deepseek_v3", "a table of its attributes and tensors"),
    ("granitemoeshared", "mixtral", "an expert that reads every token, and factors of several values"),
    ("jetmoe", "mixtral", "experts of queries and outputs"),
    ("granitemoe", "mixtral", "factors of the embedding, of what sub-layers write, of scores and of logits"),
    ("granitemoehybrid", "mixtral", "a state that is carried from token to token, in the place of attention"),
    ("phimoe", "mixtral", "experts that are drawn one after the other, and norms with biases"),
    ("gemma3", "gemma3_text", "pictures among the tokens"),
    ("gemma3n gemma3n_text", "gemma3_text", "an embedding for each layer, and several streams beside each other"),
    ("gemma4", "gemma4_text", "pictures and sound among the tokens"),
    ("longt5", "t5", "attention to a neighborhood and to summaries of blocks"),
    ("switch_transformers", "t5", "experts, of which a router chooses one for each token"),
    ("pegasus", "bart", "waves in the place of learned positions, and norms before sub-layers"),
    ("blenderbot-small mvp", "bart", "a table of its attributes and tensors"),
    ("prophetnet", "bart", "predictions of several tokens at once"),
    ("fsmt", "marian", "a vocabulary for each language"),
    ("nllb-moe", "mbart", "experts, of which a router chooses two for each token"),
    ("trocr", "bart", "a picture in the place of a text"),
    ("seamless_m4t seamless_m4t_v2", "mbart", "sound beside texts"),
    ("blenderbot plbart", "mbart", "a table of its attributes and tensors"),
    ("m2m_100", "mbart", "waves in the place of learned positions"),
    ("whisper", "marian", "sound in the place of tokens"),
)
ABSENT = {name: Absent(nearest, needed) for names, nearest, needed in _ROWS for name in names.split()}
"""By ``model_type``."""
MOST_NAMED = 4
"""Attributes that a refusal names."""


def told(name: object, nearest: Callable[[], tuple[str, Sequence[str]]]) -> str:
    """Why a ``model_type`` is refused, on one line: what is there, what is nearest, and what can be done.

    Args:
        nearest: of a family that stands in no row, the family that is read and knows most of its attributes, and those
            which that one does not know.
    """
    if not isinstance(name, str):
        return f"expected the name of a family, got {name!r:.80}; {OBSERVED}"
    if name in ABSENT:
        near, needed = ABSENT[name]
        return f"{name!r} is not read here; the nearest that is read is {near}, without {needed}; {OBSERVED}"
    near, unknown = nearest()
    listed = ", ".join(unknown[:MOST_NAMED]) + (", …" if len(unknown) > MOST_NAMED else "")
    needed = f"does not know {listed}" if unknown else "knows all its attributes, but perhaps in another sense"
    return f"{name[:80]!r} is not read here; the nearest that is read is {near}, which {needed}; {OBSERVED}"
