"""Section 3.2: passages, verdicts, queries."""

import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import marked
from tests.corpus.lay_out import source_articles
from udfs.annotators.stand_off import read_stand_off
from udfs.cloze import (
    PLACEHOLDER,
    ClozeArticle,
    ClozeRules,
    counted_tokens,
    is_question,
    make_cloze,
    ngrams,
    split_first_part,
)
from udfs.sentence_split import split_sentences
from udfs.spans import Mention, Span
from udfs.story_text import parse_story

PAPER = ClozeRules(min_first_part_tokens=100, min_first_part_entities=4, min_sentence_tokens=10, overlap_ngram=3)
SMALL = ClozeRules(min_first_part_tokens=5, min_first_part_entities=1, min_sentence_tokens=4, overlap_ngram=3)


def cloze(text: str, rules: ClozeRules = SMALL) -> ClozeArticle:
    plain, mentions = marked(text)
    story = parse_story(plain)
    sentences = split_sentences(plain, story.paragraphs)
    return make_cloze(plain, story.paragraphs, story.highlights, sentences, mentions, rules)


def reasons(article: ClozeArticle) -> list[str | None]:
    return [s.reason for s in article.sentences]


FIRST = "[Ann Ray|ann] met [Bo Lin|bo] in [Oslo|oslo]."


class TestFirstPart:
    @pytest.mark.parametrize(
        ("paragraph", "tokens"),
        [
            ("By Jo Fox", 0),
            ("By . Jo Fox .", 0),
            ("By Jo Fox In Lisbon And Sam Ode", 0),
            ("By", 0),
            ("By 6 a.m. the departure boards were solid red, and volunteers were handing out juice.", 15),
            ("By then she had gone.", 5),
            ("PUBLISHED: 10:00 EST, 1 May 2014", 0),
            ("PUBLISHED: . 10:00 EST, 1 May 2014 . | . UPDATED: . 12:31 EST, 2 May 2014 .", 0),
            ("UPDATED:", 0),
            ("15:26 EST, 27 June 2012", 0),
            ("|", 0),
            ("Lisbon, Portugal (CNN) -- Ann Ray left.", 3),
            ("(CNN) Ann Ray left.", 3),
            ("(CNN)Ann Ray left.", 3),
            ("Ann Ray told CNN (CNN is a channel) that she left.", 11),
            ("By J.T. Marsh", 0),
            ("By Dr. Jo Fox", 0),
            ("By Jo Fox, Health Reporter for the Mail", 0),
            ("By Monday the river Tame had risen two metres", 9),
            ("PUBLISHED: 16:25, 6 May 2014 | UPDATED: 07:48, 7 May 2014", 0),
            ("Last updated at 11:14 PM on 31st January 2012", 0),
            ("Tokyo (CNN) Ann Ray left.", 3),
            ("Kabul, Afghanistan (CNN)Three people left.", 3),
            ("The Associated Press (AP) reported on Tuesday that it was so.", 11),
            ("Lisbon (Reuters) - Ann Ray left.", 3),
            ("By . Łukasz Żak .", 0),
            ("Published in 1990, the book sold well.", 7),
        ],
    )
    def test_counted_tokens_leave_out_bylines_and_datelines_only(self, paragraph: str, tokens: int) -> None:
        assert counted_tokens(paragraph) == tokens

    def test_hostile_furniture_is_judged_at_once(self) -> None:
        start = time.perf_counter()
        for text in ("UPDATED  " * 300 + "x", "By " + "A. " * 300 + "x", ". | " * 400 + "x", "A " * 300 + "(CNN)"):
            counted_tokens(text)
        assert time.perf_counter() - start < 1

    def test_split_counts_name_after_bare_by_as_byline(self) -> None:
        text = "By\n\nJo Fox\n\nPUBLISHED:\n\n15:26 EST, 27 June 2012\n\nAnn Ray met Bo Lin in Oslo.\n\nMore."
        story = parse_story(text)
        assert split_first_part(text, story.paragraphs, min_tokens=7) == (5, 7)

    def test_split_takes_shortest_run_of_paragraphs(self) -> None:
        text = "one two three\n\nfour five\n\nsix seven"
        assert split_first_part(text, parse_story(text).paragraphs, min_tokens=5) == (2, 5)
        assert split_first_part(text, parse_story(text).paragraphs, min_tokens=6) == (3, 7)

    def test_split_of_too_short_an_article_takes_all(self) -> None:
        text = "one two three\n\nfour five"
        assert split_first_part(text, parse_story(text).paragraphs, min_tokens=9) == (2, 5)


class TestPassage:
    def test_text_joins_paragraphs_by_blank_and_bullets_by_mark(self) -> None:
        bullet = "@highlight\n\n[Ray|ann] beats [Lin|bo]"
        article = cloze(f"[Ann Ray|ann] won.\n\nShe beat [Bo Lin|bo].\n\nRest.\n\n{bullet}")
        passage = article.passage
        assert passage.text == "Ann Ray won. She beat Bo Lin.\n@highlight\nRay beats Lin"
        assert passage.text[: passage.first_part_end] == "Ann Ray won. She beat Bo Lin."
        assert [(passage.text[m.start : m.end], m.cluster) for m in passage.entities] == [
            ("Ann Ray", 0), ("Bo Lin", 1), ("Ray", 0), ("Lin", 1),
        ]  # fmt: skip

    def test_line_break_inside_paragraph_becomes_blank_and_offsets_stay(self) -> None:
        passage = cloze("[Ann\nRay|ann] met [Bo Lin|bo] today.\n\nRest.").passage
        assert passage.text == "Ann Ray met Bo Lin today."
        assert passage.entities[0][:2] == (0, 7)

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("[Ann|a] won.\n\nRest.", "first_part_short"),
            ("She met him in the city.\n\nRest.", "few_entities"),
            ("[Ann Ray|a] met him in town.", "nothing_follows"),
            ("[Ann Ray|a] met him in town.\n\nRest.", None),
        ],
    )
    def test_reason_is_first_failing_condition(self, text: str, reason: str | None) -> None:
        article = cloze(text)
        assert (article.passage.keep, article.passage.reason) == (reason is None, reason)
        if reason:
            assert not article.sentences

    def test_entities_are_counted_by_cluster_not_by_surface(self) -> None:
        two = replace(SMALL, min_first_part_entities=2)
        assert cloze("[Ann Ray|a] said [Ray|a] won it.\n\nRest.", two).passage.reason == "few_entities"
        assert cloze("[Ray|a] said [Ray|b] won the thing.\n\nRest.", two).passage.keep

    def test_nested_mention_is_no_candidate(self) -> None:
        passage = cloze("[[Porto|porto] FC|fc] beat [Ann|ann] at home.\n\nRest.").passage
        assert [passage.text[m.start : m.end] for m in passage.entities] == ["Porto FC", "Ann"]

    def test_straddling_mentions_keep_the_first(self) -> None:
        text = "Bank of New York Times staff met here.\n\nRest."
        mentions = [Mention(0, 16, 0), Mention(8, 22, 1)]  # "Bank of New York", "New York Times"
        story = parse_story(text)
        passage = make_cloze(text, story.paragraphs, (), [], mentions, SMALL).passage
        assert [passage.text[m.start : m.end] for m in passage.entities] == ["Bank of New York"]


class TestSentences:
    def test_verdict_is_first_failing_condition(self) -> None:
        article = cloze(
            f"{FIRST}\n\n[Ray|ann] won.\n\nDid [Lin|bo] see it there?\n\nNobody knew what had happened.\n\n"
            "[Ray|ann] then called [Cy|cy] for help.\n\nLater on [Ray|ann] called for help.\n\n@highlight\n\nNothing"
        )
        assert reasons(article) == ["short", "question", "no_entity", "entity_without_precedent", None]

    def test_all_verdicts_are_stored_not_only_the_first(self) -> None:
        sentence = cloze(f"{FIRST}\n\nReally, [Cy|cy]?").sentences[0]
        assert (sentence.is_short, sentence.is_question, sentence.lacks_precedent) == (True, True, True)
        assert sentence.reason == "short"

    def test_precedent_in_a_bullet_counts(self) -> None:
        article = cloze(f"{FIRST}\n\nThen [Cy|cy] flew away again.\n\n@highlight\n\n[Cy Om|cy] flees")
        assert reasons(article) == [None]
        assert [article.passage.text[a.start : a.end] for a in article.queries[0].answers] == ["Cy Om"]

    def test_repeated_sentence_counts_once(self) -> None:
        article = cloze(f"{FIRST}\n\nLater [Ray|ann] called for help.\n\nLater [Ray|ann] called for help.")
        assert reasons(article) == [None, "repeated_sentence"]
        assert len(article.queries) == 1

    def test_sentence_of_first_part_is_not_judged(self) -> None:
        assert [s.text for s in cloze(f"{FIRST}\n\nLater [Ray|ann] called for help.").sentences] == [
            "Later Ray called for help."
        ]

    def test_sentence_with_a_literal_placeholder_gives_no_query(self) -> None:
        article = cloze(f"{FIRST}\n\nLater [Ray|ann] wrote @placeholder on it.")
        assert reasons(article) == ["literal_placeholder"]
        assert article.queries == ()

    @pytest.mark.parametrize("sentence", ["Who?", "“Who?”", "'Who?' ", '"Is it?"”'])
    def test_question_ends_with_mark_before_closing_quotes(self, sentence: str) -> None:
        assert is_question(sentence)

    @pytest.mark.parametrize("sentence", ["“Who?” she asked.", "No.", "Who? Me.", "It was for (why?)"])
    def test_question_inside_is_none(self, sentence: str) -> None:
        assert not is_question(sentence)


class TestQueries:
    def test_one_query_for_each_mention_with_all_precedents(self) -> None:
        article = cloze(f"{FIRST} [Ray|ann] smiled.\n\nIt was [Lin|bo] whom [Ray|ann]'s mother phoned.")
        assert [(q.query, q.answer_surface) for q in article.queries] == [
            (f"It was {PLACEHOLDER} whom Ray's mother phoned.", "Lin"),
            (f"It was Lin whom {PLACEHOLDER}'s mother phoned.", "Ray"),
        ]
        passage = article.passage.text
        assert [passage[a.start : a.end] for a in article.queries[1].answers] == ["Ann Ray", "Ray"]
        assert [q.query.index(PLACEHOLDER) for q in article.queries] == [q.placeholder for q in article.queries]

    def test_overlap_is_judged_on_each_masked_query(self) -> None:
        # "met Bo Lin" stands in the passage: masking "Bo Lin" removes the overlap, masking "Ray" does not.
        article = cloze(f"{FIRST}\n\nThat [Ray|ann] met [Bo Lin|bo] was known.")
        assert [(q.answer_surface, q.overlaps, q.reason) for q in article.queries] == [
            ("Ray", True, "ngram_overlap"),
            ("Bo Lin", False, None),
        ]

    def test_overlap_keeps_case_and_whitespace_tokens(self) -> None:
        assert cloze(f"{FIRST}\n\nSome met bo lin where [Ray|ann] was.").queries[0].keep
        assert not cloze(f"{FIRST}\n\nSome met Bo Lin where [Ray|ann] was.").queries[0].keep
        assert cloze(f"{FIRST}\n\nSome met Bo Lin, where [Ray|ann] was.").queries[0].keep

    def test_overlap_does_not_span_bullets(self) -> None:
        bullets = "@highlight\n\nno gold\n\n@highlight\n\nfound when"
        text = f"{FIRST}\n\nThere was gold found when [Ray|ann] dug.\n\n{bullets}"
        assert cloze(text).queries[0].keep
        assert not cloze(text.replace("no gold\n\n@highlight\n\nfound", "gold found")).queries[0].keep

    def test_names_with_markup_signs_stay_literal(self) -> None:
        article = cloze(f"{FIRST}\n\nYesterday \\[sic\\] it was [Ray|ann] again.")
        assert article.queries[0].query == f"Yesterday [sic] it was {PLACEHOLDER} again."


def test_every_bundled_article_counts_nothing_of_its_furniture() -> None:
    for article in source_articles():
        for start, end in parse_story(article.text).paragraphs[:3]:
            paragraph = article.text[start:end]
            if paragraph.startswith(("PUBLISHED", "UPDATED")) or (paragraph.startswith("By ") and len(paragraph) < 60):
                assert counted_tokens(paragraph) == 0, f"{article.path.stem}: {paragraph}"


@given(st.text(alphabet="ab \n", max_size=40), st.integers(1, 4))
def test_ngrams_are_all_runs_of_n_tokens(text: str, n: int) -> None:
    tokens = text.split()
    assert ngrams(text, n) == {tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)}


def gum_articles(shared: Path, splitter: str) -> list[tuple[ClozeArticle, set[Span]]]:
    articles = []
    for path in sorted((shared / "data" / "gum").glob("*/stories/*.story")):
        text = path.read_bytes().decode()
        story = parse_story(text)
        beside = path.parent.parent
        tokens, entities = ((beside / d / f"{path.stem}.txt").read_text() for d in ("tokens", "entities"))
        stand_off = read_stand_off(text, [*story.paragraphs, *story.highlights], tokens, entities)
        assert stand_off.dropped == 0
        gold_file = json.loads((beside / "gold" / f"{path.stem}.json").read_text())
        gold = [Span(s["start"], s["end"]) for s in gold_file["sentences"]]
        sentences = gold if splitter == "gold" else split_sentences(text, story.paragraphs)
        made = make_cloze(text, story.paragraphs, story.highlights, sentences, stand_off.mentions, PAPER)
        articles.append((made, set(gold)))
    return articles


def test_gum_with_gold_sentences_gives_the_stated_funnel(shared: Path) -> None:
    articles = [a for a, _ in gum_articles(shared, "gold")]
    assert Counter(a.passage.reason for a in articles) == {None: 43, "few_entities": 10, "nothing_follows": 1}
    assert Counter(s.reason for a in articles for s in a.sentences) == {
        "short": 289, "question": 32, "no_entity": 378, "entity_without_precedent": 456, None: 187,
    }  # fmt: skip
    assert Counter(q.reason for a in articles for q in a.queries) == {"ngram_overlap": 56, None: 203}


def test_gum_with_our_splitter_differs_only_where_sentence_spans_differ(shared: Path) -> None:
    shared_queries = 0
    for (ours, gold_spans), (gold, _) in zip(gum_articles(shared, "ours"), gum_articles(shared, "gold"), strict=True):
        our_spans = {Span(s.start, s.end) for s in ours.sentences}

        def kept(article: ClozeArticle) -> set[tuple[Span, str]]:
            ends = {s.start: s.end for s in article.sentences}
            return {(Span(q.sentence_start, ends[q.sentence_start]), q.query) for q in article.queries if q.keep}

        assert all(span not in gold_spans for span, _ in kept(ours) - kept(gold))
        assert all(span not in our_spans for span, _ in kept(gold) - kept(ours))
        shared_queries += len(kept(ours) & kept(gold))
    assert shared_queries > 150
