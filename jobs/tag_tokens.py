"""Tags passages and selected sentences: tokens, parts of speech and lemmas, for the readers.

Reads passages, sentences, triples; writes token_tags, rejects. A stage of its own, since stand-off articles come
without tokens and only the texts that triples use are worth tagging.

    spark-submit jobs/tag_tokens.py --config conf/cluster.toml
"""

import sys

from pyspark.sql import SparkSession

from jobs.job_support.annotator import TAGGER, annotator_of, digest_of_tagger
from jobs.job_support.command_line import run_job
from jobs.job_support.failures import with_failed, write_failures
from jobs.job_support.progress import progress
from jobs.job_support.run_metrics import Run, StageClock, StageCounts
from jobs.job_support.settings import Settings, stage_hash
from jobs.job_support.store import Store
from jobs.transforms.rejects import failed_articles
from jobs.transforms.token_tags import failed_tagging, tag_fingerprints, tag_rows, tag_texts, texts_to_tag
from jobs.transforms.work_list import count_by_status, count_to_make, tasks_for, to_make, work_list
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
    options = annotator_of(spark, settings.annotate)
    wanted = tag_fingerprints(passages, triples, tagger_hash=stage_hash(VERSION, digest_of_tagger(options)))
    tagged = store.read("token_tags").where("unit = 'passage'")
    with store.staged(work_list(wanted, with_failed(tagged, store, "tag"))) as work:
        counts = count_by_status(work)
        if not counts:
            return clock.finish(rows_in=0)
        texts = texts_to_tag(passages, store.read("sentences"), triples)
        n_texts = texts.join(to_make(work), on="article_id", how="left_semi").count()
        tasks = tasks_for(n_texts, TEXTS_PER_ARTICLE_TASK * options.articles_per_task)
        with progress(spark, "tag", n_texts, unit="texts") as count_done:
            tag_udf = make_tag_udf(TAGGER, options.model, count_done=count_done)
            with store.staged(tag_texts(texts, to_make(work), tag_udf=tag_udf, tasks=tasks)) as rows:
                done = work.select("article_id")
                written = store.replace_slices("token_tags", tag_rows(rows), done)
                rejects = failed_articles(failed_tagging(rows), stage="tag", reason="tagger_failed")
                failed = write_failures(
                    store, settings.limits, stage="tag", rejects=rejects, articles=done, tried=count_to_make(counts)
                )
        return clock.finish(rows_in=sum(counts.values()), rows_out=written.rows, rejects=failed)


def main(argv: list[str] | None = None) -> int:
    return run_job(lambda spark, settings, _: run(spark, settings), __doc__, argv)


if __name__ == "__main__":
    sys.exit(main())
