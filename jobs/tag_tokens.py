"""Tags passages and selected sentences: tokens, parts of speech and lemmas, for the readers.

Reads passages, sentences, triples; writes token_tags. A stage of its own, since stand-off articles come
without tokens and only the texts that triples use are worth tagging.

    spark-submit jobs/tag_tokens.py --config conf/cluster.toml
"""

import sys

from pyspark.sql import SparkSession

from jobs.job_support.command_line import run_job
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store
from jobs.transforms.token_tags import tag_fingerprints, tag_texts, texts_to_tag
from jobs.transforms.work_list import count_by_status, tasks_for, to_make, work_list
from udfs.model_holder import annotator_digest
from udfs.token_tags import make_tag_udf

# Part of the fingerprints: raise when the same inputs and settings give other rows.
VERSION = 1
# A passage and its sentences are about a third of an article.
TEXTS_PER_ARTICLE_TASK = 8


def run(spark: SparkSession, settings: Settings, run_info: Run | None = None) -> StageCounts:
    """Tags what is missing; returns the counts."""
    run_info = run_info or Run()
    store = Store(spark, settings.paths.tables, run_info.stamp())
    clock = StageClock(store, run_info, "tag")
    passages, triples = store.read("passages"), store.read("triples")
    options = settings.annotate
    tagger_hash = stage_hash(VERSION, annotator_digest(options.annotator, options.model))
    wanted = tag_fingerprints(passages, triples, tagger_hash=tagger_hash)
    done = store.read("token_tags").where("unit = 'passage'").select("article_id", "fingerprint")
    with store.staged(work_list(wanted, done)) as work:
        counts = count_by_status(work)
        if not counts:
            return clock.finish(rows_in=0)
        texts = texts_to_tag(passages, store.read("sentences"), triples)
        n_texts = texts.join(to_make(work), on="article_id", how="left_semi").count()
        tasks = tasks_for(n_texts, TEXTS_PER_ARTICLE_TASK * options.articles_per_task)
        with progress(spark, "tag", n_texts, unit="texts") as count_done:
            tag_udf = make_tag_udf(options.annotator, options.model, count_done=count_done)
            with store.staged(tag_texts(texts, to_make(work), tag_udf=tag_udf, tasks=tasks)) as rows:
                written = store.replace_slices("token_tags", rows, work.select("article_id"))
        return clock.finish(rows_in=sum(counts.values()), rows_out=written.rows)


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
