"""Speed and memory of the spaCy annotator where it works: in a Spark worker, for hours, on very long articles.

    make bench-annotate [ARTICLES=200] [DOCUMENTS=5000]       prints JSON, writes build/bench/annotate_speed.json

``spark``: articles a second through the UDF in ``local[1]``, warm, beside bare ``nlp.pipe`` and the rules for names on
the same texts in the same run; ``ratio`` is of wall time, ``ratio_cpu`` of CPU time of all processes, each the median
of rounds that alternate. ``long_run``: resident memory of one process that annotates documents of words that nobody
has seen, at a tenth of them and at the end. ``long_article``: what an article of many tokens adds to the peak.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import psutil

from tests.benchmarks.fresh_process import in_fresh_process, peak_mib
from tests.benchmarks.usage import measured_usage
from tests.conftest import ROOT
from udfs.model_holder import annotator_for
from udfs.story_text import StoryText, build_story, parse_story

MODEL = "en_core_web_sm"
_SYLLABLES = "ba ke li mo nu ra se ti vo zu dra fle gri klo pru ska tre vle wro yar".split()
_FRAME = "{} said the {} of {} had {} the {}, and {} {} called it {}."
_PARAGRAPHS, _SENTENCES = 6, 4
_WORDS_A_FRAME = _FRAME.count("{}")
# Documents go to the annotator in groups, as the batches of a Spark worker do.
_GROUP = 50


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--articles", type=int, default=200, help="through Spark; 0: leave it out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=5000, help="of new words; 0: leave them out")
    parser.add_argument("--tokens", type=int, default=20_000, help="of the long article; 0: leave it out")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "bench" / "annotate_speed.json", metavar="FILE")
    arguments = parser.parse_args(argv)
    report: dict[str, Any] = {}
    if arguments.documents:
        report["long_run"] = in_fresh_process(long_run, arguments.documents)
    if arguments.tokens:
        report["long_article"] = in_fresh_process(long_article, arguments.tokens)
    if arguments.articles:
        report["spark"] = beside_spark(arguments.articles, arguments.rounds)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report, indent=1)
    arguments.out.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


def new_word(random: Random) -> str:
    """A word of five to seven syllables: of some hundred million, so that hardly any comes twice."""
    return "".join(random.choices(_SYLLABLES, k=random.randint(5, 7)))


def new_word_documents(n: int, *, seed: int = 0) -> Iterator[str]:
    """Stories whose every noun, verb and name is invented and new; document ``i`` of a seed is always the same."""
    for i in range(n):
        random = Random(f"{seed}-{i}")
        paragraphs = []
        for _ in range(_PARAGRAPHS):
            words = ([new_word(random) for _ in range(_WORDS_A_FRAME)] for _ in range(_SENTENCES))
            sentences = (_FRAME.format(w[0].title(), *w[1:5], w[5].title(), w[6].title(), w[7].title()) for w in words)
            paragraphs.append(" ".join(sentences))
        yield build_story(paragraphs, [])


def long_run(documents: int) -> dict[str, Any]:
    """Resident memory in MiB at a tenth, at each further tenth and at the end; ``growth`` is end over first."""
    held = annotator_for("spacy", MODEL)
    process = psutil.Process()
    texts = new_word_documents(documents)
    step = max(1, documents // 10)
    samples: dict[int, float] = {}
    done = 0
    while done < documents:
        group = [parse_story(next(texts)) for _ in range(min(_GROUP, documents - done, step - done % step))]
        for result in held.annotate(group):
            if isinstance(result, Exception):
                raise result
        done += len(group)
        if done % step == 0 or done == documents:
            samples[done] = round(process.memory_info().rss / 2**20, 1)
    *_, last = samples.values()
    first = next(iter(samples.values()))
    return {"rss_mib": samples, "growth": round(last / first, 4)}


def long_article(tokens: int) -> dict[str, Any]:
    """The peak of resident memory before and after one article of at least so many tokens, and how long it took."""
    held = annotator_for("spacy", MODEL)
    paragraphs: list[str] = []
    found = 0
    for text in new_word_documents(tokens, seed=1):
        if found >= tokens:
            break
        story = parse_story(text)
        paragraphs += [text[start:end] for start, end in story.paragraphs]
        found += len(text.replace(",", " ,").replace(".", " .").split())
    list(held.annotate([parse_story(build_story(paragraphs[:6], []))]))
    before, begun = peak_mib(), time.process_time()
    (result,) = held.annotate([parse_story(build_story(paragraphs, []))])
    if isinstance(result, Exception):
        raise result
    return {
        "tokens": len(result.tokens),
        "mentions": len(result.mentions),
        "cpu_seconds": round(time.process_time() - begun, 2),
        "peak_mib_before": round(before, 1),
        "peak_mib": round(peak_mib(), 1),
    }


def beside_spark(articles: int, rounds: int) -> dict[str, Any]:
    """The UDF in ``local[1]`` and the bare pipeline, in alternating rounds over generated articles."""
    from pyspark.sql import SparkSession

    from jobs.job_support.session import open_session
    from jobs.job_support.settings import load_settings
    from tests.corpus.generator import generate_articles
    from udfs.annotate_text import make_annotate_udf

    stories = [parse_story(article.text) for article in generate_articles(articles, seed=5)]
    overrides = ['spark.master="local[1]"']
    spark: SparkSession = open_session(load_settings(ROOT / "conf" / "local.toml", overrides).spark, "annotate-speed")
    try:
        rows = [(s.text, [tuple(p) for p in s.paragraphs], [tuple(h) for h in s.highlights]) for s in stories]
        span = "array<struct<start: int, end: int>>"
        frame = spark.createDataFrame(rows, f"text string, paragraphs {span}, highlights {span}").coalesce(1).cache()
        frame.count()
        annotate_udf = make_annotate_udf("spacy", MODEL)
        annotated = frame.select(annotate_udf("text", "paragraphs", "highlights").alias("made"))
        bare = _Bare()

        def through_spark() -> None:
            annotated.write.format("noop").mode("overwrite").save()

        works = {"bare": lambda: bare.annotate(stories), "spark": through_spark}
        for work in works.values():
            work()  # loads the model, starts the worker, lets the JVM compile
        taken = {name: [] for name in works}
        for _ in range(rounds):
            for name, work in works.items():
                taken[name].append(_timed(work))
    finally:
        spark.stop()
    wall, cpu = ({name: median(t[part] for t in times) for name, times in taken.items()} for part in (0, 1))
    return {
        "articles": articles,
        "articles_per_second": {name: round(articles / seconds, 2) for name, seconds in wall.items()},
        "articles_per_cpu_second": {name: round(articles / seconds, 2) for name, seconds in cpu.items()},
        "ratio": round(wall["bare"] / wall["spark"], 3),
        "ratio_cpu": round(cpu["bare"] / cpu["spark"], 3),
    }


class _Bare:
    """spaCy's own loop over the same units, then the rules for sentences and names: nothing is kept or copied."""

    def __init__(self) -> None:
        import spacy

        from udfs.annotators import spacy_annotator, spacy_pipelines

        self._nlp = spacy.load(spacy_pipelines.locate(MODEL), exclude=list(spacy_annotator._NOT_NEEDED))

    def annotate(self, stories: Sequence[StoryText]) -> None:
        from udfs.annotators.name_linking import resolve_names
        from udfs.annotators.spacy_annotator import NAME_LABELS, bare_names
        from udfs.sentence_split import split_sentences

        for story in stories:
            units = (*story.paragraphs, *story.highlights)
            found = []
            docs = self._nlp.pipe(story.text[start:end] for start, end in units)
            for (shift, _), doc in zip(units, docs, strict=True):
                for entity in doc.ents:
                    if entity.label_ in NAME_LABELS:
                        start, end = entity.start_char + shift, entity.end_char + shift
                        found += bare_names(story.text, start, end, entity.label_)
            resolve_names(story.text, units, found)
            split_sentences(story.text, story.paragraphs)


def _timed(work: Any) -> tuple[float, float]:
    """Wall seconds and CPU seconds of all processes."""
    begun = time.perf_counter()
    with measured_usage() as usage:
        work()
        seconds = time.perf_counter() - begun
    return seconds, usage.cpu_seconds


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # one core, as the worker's
    sys.exit(main())
