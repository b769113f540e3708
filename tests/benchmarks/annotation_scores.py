"""Gold articles, and the shared scorer of named mentions and links applied to what an annotator gives.

The scorer is a script outside the project (``score_annotations.py``; its definitions stand at its top); this is
the adapter. Each system is scored by itself: gold mentions that are optional count where a system found them,
so one that ran along could change another's figures.
"""

import importlib
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.corpus.lay_out import source_articles
from tests.corpus.markup import SourceArticle
from udfs.annotators.base import Annotation
from udfs.spans import Span

Document = dict[str, Any]
NEEDED = ("id", "text", "tokens", "mentions")
"""What the scorer reads of a document; ``sents``, where present, are its gold sentences."""

_KINDS = {"PERSON": "person", "GPE": "place", "LOC": "place", "FAC": "place", "ORG": "organization"}
_TOKEN = re.compile(r"\w+(?:['\u2019.-]\w+)*|[^\w\s]")
_SMALL_WORDS = frozenset("a an the of and for in on at to by with from".split())


class GoldError(ValueError):
    """Gold or a scorer that is absent or not in the layout; the message names file, key and remedy."""


def read_gold(folder: Path) -> dict[str, list[Document]]:
    """The documents of each ``<genre>.json`` of a folder.

    Raises:
        GoldError: there is no such file, or one is not in the layout.
    """
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not files:
        raise GoldError(
            f"no gold in {folder}: give a folder of <genre>.json files (--gold, or make bench-annotators GOLD=...),"
            " or set RECORD_SPARK_SHARED to the folder with data/gum_gold"
        )
    return {path.stem: _documents(path) for path in files}


def _documents(path: Path) -> list[Document]:
    documents = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(documents, list) or not documents:
        raise GoldError(f"{path}: a list of documents is needed, as data/gum_gold has it")
    for number, document in enumerate(documents):
        missing = [key for key in NEEDED if key not in document]
        if missing:
            raise GoldError(f"{path}: document {number} lacks {', '.join(missing)}; see data/gum_gold for the layout")
    return documents


def bundled_gold() -> list[Document]:
    """The gold of the project's own invented articles, in the same layout."""
    return [_bundled(article) for article in source_articles()]


def _bundled(article: SourceArticle) -> Document:
    tokens = [[m.start(), m.end(), _part_of_speech(m[0])] for m in _TOKEN.finditer(article.text)]
    mentions = []
    for m in article.mentions:
        core = [
            [s, e]
            for s, e, pos in tokens
            if s < m.end and e > m.start and pos == "X" and (article.text[s].isupper() or article.text[s].isdigit())
        ]
        is_inner = any(o is not m and o.start <= m.start and m.end <= o.end for o in article.mentions)
        mentions.append(
            {
                "start": m.start, "end": m.end, "name": [m.start, m.end], "core": core, "core_x": core, "named": True,
                "type": _KINDS.get(m.type, m.type.casefold()), "ent": m.entity, "optional": is_inner, "xpos": "NNP",
            }
        )  # fmt: skip
    return {"id": article.path.stem, "text": article.text, "tokens": tokens, "mentions": mentions}


def _part_of_speech(token: str) -> str:
    """As far as the scorer asks: a mark, a small word, or another."""
    if not token[0].isalnum():
        return "PUNCT"
    return "DET" if token.casefold() in _SMALL_WORDS else "X"


def load_scorer(path: Path) -> ModuleType:
    """The scorer as a module; the baseline that it imports stands beside it.

    Raises:
        GoldError: it is absent.
    """
    if not path.is_file():
        raise GoldError(f"no scorer {path}: give its place (--scorer), or set RECORD_SPARK_SHARED")
    sys.path.insert(0, str(path.parent))
    try:
        return importlib.import_module(path.stem)
    finally:
        sys.path.remove(str(path.parent))


def system_rows(documents: Sequence[Document], annotations: Iterable[Annotation]) -> list[dict[str, Any]]:
    """An annotator's mentions as the scorer reads them."""
    return [
        {"id": document["id"], "ner": [[m.start, m.end, m.type, m.cluster] for m in annotation.mentions]}
        for document, annotation in zip(documents, annotations, strict=True)
    ]


def scores(
    scorer: ModuleType, documents: Sequence[Document], rows: Sequence[dict[str, Any]], linker: str = "given"
) -> dict[str, Any]:
    """The scorer's figures: P, R, F1 of mentions untyped and typed, of links and B3; P, R of links of hard pairs.

    Args:
        rows: one a document: its id and mentions.
        linker: "given" takes the rows' clusters; "exact", "name", "name+prop" apply the scorer's baseline instead.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "system.json"
        file.write_text(json.dumps(rows), encoding="utf-8")
        summary = scorer.summ(scorer.run(list(documents), {"system": (str(file), linker)})["system"].values())
    return {
        "ner": summary["ner"],
        "typed": summary["typed"],
        "link": summary["link"],
        "hard": summary["hard"],
        "b3": summary["b3"],
        "gold_pairs": summary["n"]["gold_pairs"],
    }


def sentence_end_f1(documents: Sequence[Document], sentences: Iterable[Sequence[Span]]) -> float | None:
    """F1 of sentence ends, pooled over the documents; None where the gold has no sentences."""
    right = total = 0
    for document, found in zip(documents, sentences, strict=True):
        ours, gold = {s.end for s in found}, {end for _, end in document.get("sents", ())}
        if gold:
            right += len(ours & gold)
            total += len(ours) + len(gold)
    return 2 * right / total if total else None
