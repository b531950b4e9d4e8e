"""A real Qwen3-VL with random weights, small enough to build in seconds and to run on any CPU.

It answers gibberish. What it shows is that an installation works: the real processor, chat template, vision tower and
generation run on the real documents of a task.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from lmms_aes_tasks.utils.errors import AesError

MARKER = ".lmms-aes-tiny-model.json"
"""In the folder: says that the model is ours, and which files are."""
PATCH = 16
_SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
# ChatML with images in place, as the Qwen family uses it; written for this package.
_CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message.role + '\\n' -}}"
    "{%- if message.content is string -%}{{- message.content -}}{%- else -%}"
    "{%- for part in message.content -%}"
    "{%- if part.type == 'image' -%}{{- '<|vision_start|><|image_pad|><|vision_end|>' -}}"
    "{%- elif part.type == 'video' -%}{{- '<|vision_start|><|video_pad|><|vision_end|>' -}}"
    "{%- else -%}{{- part.text -}}{%- endif -%}"
    "{%- endfor -%}{%- endif -%}"
    "{{- '<|im_end|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"
)


class ModelFolderError(AesError):
    """A folder that the model may not replace."""


def check_folder(folder: Path) -> None:
    """Make sure that a folder can be replaced: it is not there, empty, or a model of ours and nothing else.

    Raises:
        ModelFolderError: It is something else: a model of yours, say.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise ModelFolderError(f"{folder} is a file or a link. Name a folder for the model.")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    try:
        files = {str(name) for name in json.loads((folder / MARKER).read_bytes())["files"]} | {MARKER}
    except (OSError, ValueError, KeyError, TypeError):
        raise ModelFolderError(
            f"{folder} holds files and no {MARKER}, so it is no model of this command and stays as it is. Name another "
            "folder."
        ) from None
    foreign = sorted({path.name for path in folder.iterdir()} - files)
    if foreign:
        raise ModelFolderError(
            f"{folder} holds {', '.join(foreign[:10])} besides the model, which replacing it would delete. Move that, "
            "or name another folder."
        )


def _processor(vocabulary: dict[str, int]) -> Any:
    """Byte-level tokenizer, image processor and chat template."""
    from transformers import Qwen2Tokenizer, Qwen2VLImageProcessor, Qwen3VLProcessor, Qwen3VLVideoProcessor

    image = {"patch_size": PATCH, "temporal_patch_size": 2, "merge_size": 2}
    return Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessor(**image, image_mean=[0.5] * 3, image_std=[0.5] * 3),
        tokenizer=Qwen2Tokenizer(
            vocab=vocabulary,
            merges=[],
            eos_token="<|im_end|>",
            pad_token="<|endoftext|>",
            extra_special_tokens=list(_SPECIAL),
        ),
        video_processor=Qwen3VLVideoProcessor(**image),
        chat_template=_CHAT_TEMPLATE,
    )


def _config(vocabulary: dict[str, int]) -> Any:
    from transformers import Qwen3VLConfig

    return Qwen3VLConfig(
        text_config={
            "vocab_size": len(vocabulary),
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "num_key_value_heads": 2,
            "head_dim": 16,
            "max_position_embeddings": 32_768,
            "initializer_range": 0.5,
            "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [4, 2, 2]},
        },
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_heads": 2,
            "patch_size": PATCH,
            "out_hidden_size": 32,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
        },
        image_token_id=vocabulary["<|image_pad|>"],
        video_token_id=vocabulary["<|video_pad|>"],
        vision_start_token_id=vocabulary["<|vision_start|>"],
        vision_end_token_id=vocabulary["<|vision_end|>"],
        tie_word_embeddings=False,  # tied random weights would repeat the last token for ever
    )


def _random_model(config: Any, seed: int) -> Any:
    import torch
    from transformers import Qwen3VLForConditionalGeneration

    generator_state = torch.random.get_rng_state()
    torch.manual_seed(seed)
    try:
        return Qwen3VLForConditionalGeneration(config)
    finally:
        torch.random.set_rng_state(generator_state)


def build_tiny_qwen3_vl(folder: Path, seed: int = 0) -> int:
    """Save a random Qwen3-VL of about 0.15 million parameters, with processor and byte-level tokenizer.

    Args:
        folder: Where to save it; replaced when it holds an earlier one.
        seed: Seed of the weights.

    Returns:
        The number of parameters.

    Raises:
        ModelFolderError: `folder` is there and is not such a model alone.
    """
    check_folder(folder)
    from tokenizers import pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate((*_SPECIAL, *alphabet))}
    processor = _processor(vocabulary)
    model = _random_model(_config(vocabulary), seed)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".lmms-aes.", dir=folder.parent) as name:
        made = Path(name) / "model"
        model.save_pretrained(made)
        processor.save_pretrained(made)
        files = sorted(path.name for path in made.iterdir())
        (made / MARKER).write_text(json.dumps({"model": "lmms-aes tiny-model", "files": files}), "utf-8")
        check_folder(folder)  # what came while the model was built stays, too
        old = Path(name) / "old"
        if folder.exists():
            folder.rename(old)
        try:
            made.rename(folder)
        except BaseException:
            if old.exists():
                old.rename(folder)
            raise
    return sum(parameter.numel() for parameter in model.parameters())
