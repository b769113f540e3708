"""What annotators are trained on: articles with stand-off, but for the held-out fold's, as texts with labels."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from udfs.annotator_examples import EXAMPLES, STAND_OFF_ARTICLES
from udfs.annotator_training import HELD_OUT, TRAIN


def stand_off_articles(articles: DataFrame, *, held_out_fold: int, held_out_articles: int) -> dict[str, DataFrame]:
    """The articles of each part, columns of ``STAND_OFF_ARTICLES``: those that name something.

    Args:
        held_out_articles: at most so many are held out. Ids are hashes: the smallest are a fair sample, and
            stay the same when others arrive.
    """
    named = articles.where("size(stand_off) > 0")
    of_fold = F.col("fold") == held_out_fold
    columns = STAND_OFF_ARTICLES.names
    return {
        TRAIN: named.where(~of_fold).select(*columns),
        HELD_OUT: named.where(of_fold).select(*columns).orderBy("article_id").limit(held_out_articles),
    }


def annotator_examples(articles: DataFrame, *, make_examples: Any, tasks: int) -> DataFrame:
    """``EXAMPLES``, one row an article, in order of their ids over all tasks: the order is part of what comes out.

    Args:
        make_examples: ``udfs.annotator_examples.make_ner_examples``.
    """
    in_order = articles.repartitionByRange(tasks, "article_id").sortWithinPartitions("article_id")
    return in_order.mapInArrow(make_examples, EXAMPLES).select(*EXAMPLES.names)
