"""The annotate job with AllenNLP's annotators, and what generate makes of mentions that name nothing."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from jobs import annotate_articles, generate_triples
from jobs.job_support.annotator import digest_of_annotator
from jobs.job_support.command_line import JobError
from jobs.job_support.contracts import ANNOTATIONS, ARTICLES
from jobs.job_support.store import Store
from tests.builders import article_id, make_article
from tests.conftest import ROOT
from tests.corpus.lay_out import source_articles
from tests.spark.conftest import settings_for
from udfs.model_holder import annotator_for
from udfs.story_text import parse_story


def test_annotate_by_allennlp_is_what_the_annotator_gives(
    spark: SparkSession, small_archives: Any, tmp_path: Path
) -> None:
    settings = settings_for(
        tmp_path,
        "annotate.annotator=allennlp",
        f"annotate.ner_archive={small_archives.ner}",
        f"annotate.coreference_archive={small_archives.coreference}",
    )
    store = Store(spark, settings.paths.tables)
    texts = [article.text for article in source_articles()[:3]]
    rows = [make_article("x", n) for n in range(len(texts))]
    for row, text in zip(rows, texts, strict=True):
        story = parse_story(text)
        row |= {"text": text, "stand_off": None}
        row |= {"paragraphs": [s._asdict() for s in story.paragraphs]}
        row |= {"highlights": [s._asdict() for s in story.highlights]}
    store.merge("articles", spark.createDataFrame(rows, ARTICLES.schema))
    assert annotate_articles.run(spark, settings).rows_out == len(texts)
    made = {r.article_id: r for r in store.read("annotations").collect()}
    from jobs.job_support.annotator import archives_of

    held = annotator_for("allennlp", settings.annotate.model, "cpu", archives_of(settings.annotate))
    for n, expected in enumerate(held.annotate([parse_story(text) for text in texts])):
        row = made[article_id(n)]
        assert row.annotator == "allennlp"
        assert [tuple(m) for m in row.mentions] == [tuple(m) for m in expected.mentions]
        assert [tuple(m) for m in row.unnamed] == [tuple(m) for m in expected.unnamed]
    assert any(r.unnamed for r in made.values())
    version = store.version("annotations")
    annotate_articles.run(spark, settings)  # nothing to do
    assert store.version("annotations") == version


def test_mentions_that_name_nothing_are_never_candidates(spark: SparkSession, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, "generate.min_first_part_tokens=5", "generate.min_first_part_entities=1")
    store = Store(spark, settings.paths.tables)
    body = "[Ann Ray|ann] left the old town of [Oslo|oslo] early on Friday with two large and heavy bags ."
    later = "Many people there say that [Ray|ann] was never happy in the place where she lived for years ."
    row = make_article(f"{body}\n\n{later}\n\n@highlight\n\nShe left [Oslo|oslo] at last", 1)
    store.merge("articles", spark.createDataFrame([row], ARTICLES.schema))
    annotate_articles.run(spark, settings)
    pronouns = [row["text"].index("she lived"), row["text"].index("She left")]
    unnamed = F.array(
        *(F.expr(f"named_struct('start', {p}, 'end', {p + 3}, 'cluster', 0, 'type', null)") for p in pronouns)
    )
    kind = ANNOTATIONS.schema["unnamed"].dataType
    with store.staged(store.read("annotations").withColumn("unnamed", unnamed.cast(kind))) as with_pronouns:
        store.merge("annotations", with_pronouns)
    assert len(store.read("annotations").collect()[0].unnamed) == 2
    generate_triples.run(spark, settings)
    passage = store.read("passages").collect()[0]
    surfaces = {passage.text[m.start : m.end] for m in passage.entities}
    queries = store.read("triples").collect()
    assert "Ann Ray" in surfaces
    assert not {"she", "She"} & surfaces
    assert queries
    assert not {"she", "She"} & {q.answer_surface for q in queries}
    assert not {"she", "She"} & {a.text for q in queries for a in q.answers}


@pytest.mark.parametrize("name", ["allennlp", "spacy+allennlp"])
def test_missing_archive_names_the_key(tmp_path: Path, name: str) -> None:
    pytest.importorskip("cached_path")
    settings = settings_for(tmp_path, f"annotate.annotator={name}", f"annotate.ner_archive={ROOT / 'README.md'}")
    with pytest.raises(JobError, match=r"annotate\.coreference_archive is empty: give the path"):
        digest_of_annotator(settings.annotate)
