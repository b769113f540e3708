"""What the notebook's pictures show, as small tables that Spark makes over all rows."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from jobs.job_support.reader_contracts import ANSWERED
from jobs.transforms.dataset_statistics import whitespace_tokens
from jobs.transforms.evaluation import MANY_ANSWERS
from udfs.cloze import SENTENCE_REASONS

_VERDICTS = dict(
    zip(
        SENTENCE_REASONS,
        ("is_short", "is_question", "has_no_entity", "lacks_precedent", "is_repeated", "holds_placeholder"),
        strict=True,
    )
)
STRINGS, ORIGIN, RECURRENCE, PLACE = GROUPS = (
    "different strings among the right answers",
    "origin of the article",
    "how often the passage has the same answer string",
    "where the passage names the answer",
)
RIGHT, SIMILAR, OTHER_ENTITY, NO_ENTITY, NO_ANSWER = ANSWER_KINDS = (
    "right (exact match)",
    "shares a word with a right answer",
    "another entity of the passage",
    "no entity, and no word in common",
    "no answer",
)


def passage_sizes(passages: DataFrame, triples: DataFrame) -> DataFrame:
    """(article_id, tokens, entities) of the passages that Table 1 counts: those with kept triples."""
    used = passages.where("keep").join(triples.where("keep"), on="article_id", how="left_semi")
    return used.select(
        "article_id", F.size(whitespace_tokens("text")).alias("tokens"), F.size("entities").alias("entities")
    )


def fallen_sentences(sentences: DataFrame) -> DataFrame:
    """(reason, first, also): sentences that a condition of section 3.2 stops, the most frequent first.

    ``first`` are those whose first failing condition it is, as in ``sentences.reason``; ``also`` those that fail
    it too, after another one. Conditions that stop nothing are left out.
    """
    verdicts = [
        F.struct(
            F.lit(name).alias("reason"), F.col("reason").eqNullSafe(name).alias("first"), F.col(column).alias("fails")
        )
        for name, column in _VERDICTS.items()
    ]
    each = sentences.where("not keep").select(F.explode(F.array(*verdicts)).alias("v")).select("v.*")
    return (
        each.groupBy("reason")
        .agg(F.count_if("first").alias("first"), F.count_if(F.col("fails") & ~F.col("first")).alias("also"))
        .where("first + also > 0")
        .orderBy(F.desc("first"), F.desc("also"), "reason")
    )


def answered_shares(verdicts: DataFrame, triples: DataFrame, passages: DataFrame) -> DataFrame:
    """(group, value, queries, answered): how many queries the reader answered, by what may make them easy.

    Args:
        verdicts: rows of ``machine_filter``.
    """
    strings = F.transform("answers", lambda a: F.lower(a["text"]))
    different = F.size(F.array_distinct(strings))
    in_first_part = F.exists("answers", lambda a: a["start"] < F.col("first_part_end"))
    in_bullets = F.exists("answers", lambda a: a["start"] >= F.col("first_part_end"))
    values = {
        STRINGS: F.when(different >= MANY_ANSWERS, f"{MANY_ANSWERS} or more").otherwise(different.cast("string")),
        ORIGIN: F.col("origin"),
        RECURRENCE: F.when(different < F.size("answers"), "twice or more").otherwise("once"),
        PLACE: F.when(in_first_part & in_bullets, "first part and bullets")
        .when(in_bullets, "bullets alone")
        .otherwise("first part alone"),
    }
    grouped = F.array(*(_pair(group, value) for group, value in values.items()))
    return (
        verdicts.select("query_id", "article_id", F.col("reason").eqNullSafe(ANSWERED).alias("answered"))
        .join(triples.select("query_id", "answers"), on="query_id", how="inner")
        .join(passages.select("article_id", "origin", "first_part_end"), on="article_id", how="inner")
        .select("answered", F.explode(grouped).alias("g"))
        .groupBy("g.group", "g.value")
        .agg(F.count("*").alias("queries"), F.count_if("answered").alias("answered"))
        .orderBy(F.array_position(F.array(*map(F.lit, GROUPS)), F.col("group")), "value")
    )


def _pair(group: str, value: Column) -> Column:
    return F.struct(F.lit(group).alias("group"), value.alias("value"))


def answer_kinds(predictions: DataFrame) -> DataFrame:
    """(kind, rows): how near the reader's answers come, the nearest first; kinds without rows are left out."""
    kind = (
        F.when(F.isnull("text"), NO_ANSWER)
        .when(F.col("exact_match"), RIGHT)
        .when(F.col("f1") > 0, SIMILAR)
        .when(F.col("is_candidate"), OTHER_ENTITY)
        .otherwise(NO_ENTITY)
    )
    return (
        predictions.groupBy(kind.alias("kind"))
        .agg(F.count("*").alias("rows"))
        .orderBy(F.array_position(F.array(*map(F.lit, ANSWER_KINDS)), F.col("kind")))
    )


def hard_examples(hard: DataFrame, passages: DataFrame, predictions: DataFrame, *, number: int = 10) -> DataFrame:
    """Hard triples with passage and the reader's wrong answer, chosen by a hash of their ids: a rerun shows the same.

    Each is of another article, unless there are more asked for than articles.

    Args:
        hard: rows of ``triples`` that the machine filter kept, with their splits.
        predictions: those of one reader.
    """
    by_hash = F.sha1("query_id")
    of_article = F.row_number().over(Window.partitionBy("article_id").orderBy(by_hash))
    chosen = hard.withColumn("_of_article", of_article).orderBy("_of_article", by_hash).limit(number)
    answer = F.struct("start", "end", F.col("text").alias("answer"), "f1", "is_candidate")
    return (
        chosen.join(predictions.select("query_id", answer.alias("predicted")), on="query_id", how="inner")
        .join(passages.select("article_id", "text", "entities"), on="article_id", how="inner")
        .orderBy("_of_article", by_hash)
        .select(
            *("query_id", "article_id", "split", "query", "placeholder", "answer_surface", "answers"),
            *("text", "entities", "predicted"),
        )
    )


def least_agreement(comparisons: DataFrame) -> DataFrame:
    """(annotator, article_id, mentions_f1, links_f1, common_links), lowest F1 of links first; failed ones left out."""
    return (
        comparisons.where("error is null")
        .select(
            "annotator",
            "article_id",
            *(_f1_of(what).alias(f"{what}_f1") for what in ("mentions", "links")),
            "common_links",
        )
        .orderBy(F.asc_nulls_last("links_f1"), "mentions_f1", "article_id", "annotator")
    )


def _f1_of(what: str) -> Column:
    """In percent; null where neither annotator has any."""
    both = F.col(f"line_{what}") + F.col(f"found_{what}")
    return F.when(both > 0, 200 * F.col(f"common_{what}") / both)
