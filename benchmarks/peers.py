"""Other people's transformers at the shape of the study's; all take tokens and give logits at every position.

`transformers` and `x-transformers` are in the extra `peers`. To build one that is not installed raises
ModuleNotFoundError.
"""

import os
from collections.abc import Callable

import torch
from torch import Tensor, nn

from maskstudy.shape import ModelShape

Logits = Callable[[Tensor], Tensor]
HOW_TO_INSTALL = "its row is left out: `pip install -e '.[peers]'` installs it"


def gpt2(shape: ModelShape) -> tuple[nn.Module, Logits]:
    """GPT-2 of `transformers`: causal."""
    from transformers import GPT2LMHeadModel

    model = GPT2LMHeadModel(gpt2_config(shape))
    return model, lambda tokens: model(input_ids=tokens, use_cache=False).logits


def gpt2_config(shape: ModelShape) -> object:
    """The shape as GPT-2 of `transformers` has it, without dropout."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from transformers import GPT2Config

    return GPT2Config(
        vocab_size=shape.vocabulary,
        n_positions=shape.length,
        n_embd=shape.width,
        n_layer=shape.layers,
        n_head=shape.heads,
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        bos_token_id=None,
        eos_token_id=None,
    )


def bert(shape: ModelShape) -> tuple[nn.Module, Logits]:
    """BERT of `transformers`: full attention."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    from transformers import BertConfig, BertForMaskedLM

    model = BertForMaskedLM(
        BertConfig(
            vocab_size=shape.vocabulary,
            max_position_embeddings=shape.length,
            hidden_size=shape.width,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            intermediate_size=4 * shape.width,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            pad_token_id=None,
        )
    )
    return model, lambda tokens: model(input_ids=tokens).logits


def x_transformers(shape: ModelShape) -> tuple[nn.Module, Logits]:
    """The decoder of `x-transformers` with its defaults and fused attention: causal."""
    from x_transformers import Decoder, TransformerWrapper

    model = TransformerWrapper(
        num_tokens=shape.vocabulary,
        max_seq_len=shape.length,
        attn_layers=Decoder(
            dim=shape.width,
            depth=shape.layers,
            heads=shape.heads,
            attn_dim_head=shape.width // shape.heads,
            attn_flash=True,
        ),
    )
    return model, model


def torch_encoder(shape: ModelShape) -> tuple[nn.Module, Logits]:
    """`torch.nn.TransformerEncoder`, pre-norm, with learned positions: causal."""
    layer = nn.TransformerEncoderLayer(
        shape.width, shape.heads, 4 * shape.width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
    )
    parts = {
        "embedding": nn.Embedding(shape.vocabulary, shape.width),
        "position": nn.Embedding(shape.length, shape.width),
        "layers": nn.TransformerEncoder(layer, shape.layers, nn.LayerNorm(shape.width), enable_nested_tensor=False),
        "answer": nn.Linear(shape.width, shape.answers),
    }
    model = nn.ModuleDict(parts)
    places = torch.arange(shape.length)
    mask = nn.Transformer.generate_square_subsequent_mask(shape.length)

    def logits(tokens: Tensor) -> Tensor:
        stream = parts["embedding"](tokens) + parts["position"](places)
        return parts["answer"](parts["layers"](stream, mask=mask, is_causal=True))

    return model, logits


PEERS: dict[str, Callable[[ModelShape], tuple[nn.Module, Logits]]] = {
    "GPT-2 (transformers)": gpt2,
    "BERT (transformers)": bert,
    "x-transformers": x_transformers,
    "nn.TransformerEncoder": torch_encoder,
}
