"""Quality, speed and memory of the annotators on articles with gold names and coreference.

    make bench-annotators [GOLD=<folder>] [SCORER=<file>]      prints a table, writes build/bench/annotators.json

Measured of each back end that is installed here: P, R and F1 of named mentions, untyped and typed; of links, that is
of pairs of mentions of one entity, also of "hard" pairs whose names differ; B3; F1 of sentence ends; articles per CPU
second once the model is loaded; and the peak memory of a process that does nothing else. The project's bundled
articles are scored beside the gold of the folder. The baselines link spaCy's mentions by the scorer's simple rules.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.annotation_scores import (
    Document,
    GoldError,
    bundled_gold,
    load_scorer,
    read_gold,
    scores,
    sentence_end_f1,
    system_rows,
)
from tests.benchmarks.fresh_process import in_fresh_process, peak_mib
from tests.conftest import ROOT
from udfs.annotators.base import Annotation
from udfs.model_holder import annotator_digest, annotator_for
from udfs.story_text import parse_story

BUNDLED = "bundled"
BASELINES = {"exact": "exact names", "name": "name linking", "name+prop": "name linking + propagation"}


class BackEnd(NamedTuple):
    """An annotator of ``udfs.model_holder`` with its model and device."""

    annotator: str
    model: str
    device: str = "cpu"

    def __str__(self) -> str:
        return self.annotator if self.device == "cpu" else f"{self.annotator} on {self.device}"


BACK_ENDS = (
    BackEnd("spacy", "en_core_web_sm"),
    # one line for each further annotator; those that are not installed are passed over
)


class Measured(NamedTuple):
    """What a back end gave for the documents of one file, and what it took."""

    annotations: list[Annotation]
    cpu_seconds: float
    peak_mib: float


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("RECORD_SPARK_SHARED", ROOT.parent / "shared"))
    parser.add_argument("--gold", type=Path, default=shared / "data" / "gum_gold", metavar="FOLDER")
    parser.add_argument("--scorer", type=Path, default=shared / "tools" / "score_annotations.py", metavar="FILE")
    parser.add_argument(
        "--back-end", action="append", default=[], type=_back_end, metavar="NAME=MODEL[@DEVICE]",
        help="measure these in place of the usual ones",
    )  # fmt: skip
    parser.add_argument("--without-bundled", action="store_true", help="leave out the project's own articles")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "annotators.json", metavar="FILE")
    arguments = parser.parse_args(argv)
    try:
        scorer = load_scorer(arguments.scorer)
        gold = read_gold(arguments.gold) | ({} if arguments.without_bundled else {BUNDLED: bundled_gold()})
    except GoldError as error:
        print(error, file=sys.stderr)
        return 2
    rows = []
    for back_end in arguments.back_end or BACK_ENDS:
        if missing := _missing(back_end):
            print(f"{back_end}: not measured: {missing}", file=sys.stderr)
            continue
        for genre, documents in gold.items():
            rows.append(figures(scorer, genre, documents, back_end))
    for genre, documents in gold.items():
        rows += baseline_figures(scorer, genre, documents)
    report = {"gold": str(arguments.gold), "documents": {g: len(d) for g, d in gold.items()}, "systems": rows}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(table(rows))
    return 0


def _back_end(value: str) -> BackEnd:
    name, _, rest = value.partition("=")
    model, _, device = rest.rpartition("@") if "@" in rest else (rest, "", "cpu")
    if not name or not model:
        raise argparse.ArgumentTypeError(f"{value!r}: NAME=MODEL or NAME=MODEL@DEVICE, as spacy=en_core_web_sm")
    return BackEnd(name, model, device)


def _missing(back_end: BackEnd) -> str | None:
    """Why a back end can't run here; None where it can."""
    try:
        annotator_digest(back_end.annotator, back_end.model)
    except (ValueError, ImportError, OSError) as error:
        return str(error)
    return None


def figures(scorer: Any, genre: str, documents: Sequence[Document], back_end: BackEnd) -> dict[str, Any]:
    """All figures of a back end on the documents of one file."""
    measured = in_fresh_process(annotate, [d["text"] for d in documents], back_end)
    sentences = [annotation.sentences for annotation in measured.annotations]
    return {
        "gold": genre,
        "system": str(back_end),
        **scores(scorer, documents, system_rows(documents, measured.annotations)),
        "sentence_ends": sentence_end_f1(documents, sentences),
        "documents_per_cpu_second": len(documents) / measured.cpu_seconds,
        "peak_mib": measured.peak_mib,
    }


def annotate(texts: Sequence[str], back_end: BackEnd) -> Measured:
    """Annotates the texts once the model is loaded and has seen one.

    Raises:
        Exception: what the annotator gave for a text that failed: scores without it would flatter.
    """
    held = annotator_for(*back_end)
    stories = [parse_story(text) for text in texts]
    list(held.annotate(stories[:1]))
    begun = time.process_time()
    results = list(held.annotate(stories))
    seconds = time.process_time() - begun
    for result in results:
        if isinstance(result, Exception):
            raise result
    return Measured([r for r in results if isinstance(r, Annotation)], seconds, peak_mib())


def baseline_figures(scorer: Any, genre: str, documents: Sequence[Document]) -> list[dict[str, Any]]:
    """The simple baselines over spaCy's mentions; [] where the pipeline is not installed."""
    if _missing(BACK_ENDS[0]):
        return []
    found = in_fresh_process(tagged_names, [d["text"] for d in documents], BACK_ENDS[0].model)
    rows = [{"id": d["id"], "ner": [[*name, -1] for name in names]} for d, names in zip(documents, found, strict=True)]
    return [
        {"gold": genre, "system": f"baseline: {name}", **scores(scorer, documents, rows, linker)}
        for linker, name in BASELINES.items()
    ]


def tagged_names(texts: Sequence[str], model: str) -> list[list[tuple[int, int, str]]]:
    """Of each text start, end and type of what a spaCy pipeline tags, unit by unit, and nothing else."""
    import spacy

    from udfs.annotators.spacy_pipelines import locate

    nlp = spacy.load(locate(model))
    found = []
    for story in map(parse_story, texts):
        names = []
        for start, end in (*story.paragraphs, *story.highlights):
            doc = nlp(story.text[start:end])
            names += [(start + e.start_char, start + e.end_char, e.label_) for e in doc.ents]
        found.append(names)
    return found


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The figures as a table in Markdown."""
    head = ("gold", "system", "NER P/R/F1", "typed F1", "link P/R/F1", "hard P/R", "B3 F1", "sentence ends F1",
            "articles per CPU s", "peak MiB")  # fmt: skip
    lines = [head, ("---",) * len(head), *map(_cells, rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    ends, speed, peak = (row.get(key) for key in ("sentence_ends", "documents_per_cpu_second", "peak_mib"))
    return (
        row["gold"],
        row["system"],
        _joined(row["ner"]),
        f"{row['typed'][2]:.3f}",
        _joined(row["link"]),
        _joined(row["hard"]),
        f"{row['b3'][2]:.3f}",
        "" if ends is None else f"{ends:.3f}",
        "" if speed is None else f"{speed:.1f}",
        "" if peak is None else f"{peak:.0f}",
    )


def _joined(figures: Sequence[float]) -> str:
    return " / ".join(f"{figure:.3f}" for figure in figures)


if __name__ == "__main__":
    sys.exit(main())
