"""Training texts of articles with stand-off: alignment, types, what else the base finds, what is left out."""

import pytest

from tests.builders import marked
from udfs.annotators.ner_examples import NerArticle, SilverTagger
from udfs.spans import Mention, Span
from udfs.story_text import StoryText, parse_story


@pytest.fixture(scope="module")
def tagger() -> SilverTagger:
    return SilverTagger.load("en_core_web_sm")


def labelled(article: NerArticle) -> list[dict[str, str]]:
    return [{t.text[s:e]: label for s, e, label in t.labels} for t in article.texts]


def examples(tagger: SilverTagger, text: str) -> NerArticle:
    plain, mentions = marked(text)
    return tagger.examples(parse_story(plain), mentions)


def test_texts_are_paragraphs_and_bullets_with_their_names(tagger: SilverTagger) -> None:
    body = "[Barack Obama|o] flew to [Paris|p] on Tuesday.\n\nThe [Zorblax|z] met him."
    article = examples(tagger, f"{body}\n\n@highlight\n\n[Obama|o] in [Paris|p]")
    assert [t.text for t in article.texts] == [
        "Barack Obama flew to Paris on Tuesday.",
        "The Zorblax met him.",
        "Obama in Paris",
    ]
    first, second, bullet = labelled(article)
    # What is no name keeps the base's label: the network must not unlearn it.
    assert first == {"Barack Obama": "PERSON", "Paris": "GPE", "Tuesday": "DATE"}
    assert list(second) == ["Zorblax"]
    assert bullet == {"Obama": "PERSON", "Paris": "GPE"}
    assert article.left_out == {}
    assert [len(t.names()) for t in article.texts] == [2, 1, 2]


def test_a_name_that_the_base_does_not_know_is_untyped(tagger: SilverTagger) -> None:
    # The base takes it for no name: half a word is none.
    article = examples(tagger, "they [walk|w] home.")
    assert labelled(article) == [{"walk": "MISC"}]


def test_names_that_stand_off_does_not_mark_are_none(tagger: SilverTagger) -> None:
    assert labelled(examples(tagger, "Barack Obama flew to [Paris|p].")) == [{"Paris": "GPE"}]


def test_the_outermost_of_nested_mentions_is_kept(tagger: SilverTagger) -> None:
    article = examples(tagger, "[[London|l] School of Economics|s] opens.")
    assert list(labelled(article)[0]) == ["London School of Economics"]
    assert article.left_out == {"nested": 1}


def test_mentions_that_do_not_align_are_counted_and_not_told_to_be_nothing(tagger: SilverTagger) -> None:
    article = examples(tagger, "Mrs. [Ray|r] left Ob[ama|o] on Tuesday.")
    [text] = article.texts
    assert labelled(article) == [{"Ray": "PERSON", "Tuesday": "DATE"}]
    assert [text.text[u.start : u.end] for u in text.unaligned] == ["ama"]
    assert article.left_out == {"not_aligned": 1}
    assert Span(*text.unaligned[0]) in text.names(), "it is missed in scores"


def test_a_finding_of_the_base_that_overlaps_a_mention_gives_way(tagger: SilverTagger) -> None:
    # Nor is its type one of a name's: annotators drop dates.
    assert labelled(examples(tagger, "He left on [Tuesday|t].")) == [{"Tuesday": "MISC"}]
    article = examples(tagger, "He left on Tues[day|t].")
    assert labelled(article) == [{}]


def test_mentions_outside_paragraphs_and_in_over_long_ones_are_counted(
    tagger: SilverTagger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tagger._nlp, "max_length", 20)
    text = "Ann Ray left.\n\nBo Lin went far far away."
    story = StoryText(text, (Span(0, 13), Span(15, len(text))), ())
    mentions = [Mention(0, 7, 0), Mention(10, 18, 1), Mention(15, 21, 2), Mention(13, 14, 3)]
    article = tagger.examples(story, mentions)
    assert [t.text for t in article.texts] == ["Ann Ray left."]
    assert article.left_out == {"outside_paragraphs": 1, "nested": 2}
    article = tagger.examples(story, [mentions[0], mentions[2], mentions[3]])
    assert article.left_out == {"outside_paragraphs": 1, "text_too_long": 1}


def test_offsets_count_code_points_and_blanks_stay(tagger: SilverTagger) -> None:
    article = examples(tagger, "\U0001f600 \u00c9mile met [Ann  Ray|a]\u2019s [caf\u00e9 \u00dcber|c].")
    [text] = article.texts
    assert {text.text[s:e] for s, e in text.names()} == {"Ann  Ray", "caf\u00e9 \u00dcber"}


def test_the_same_articles_give_the_same_texts_whatever_came_before(tagger: SilverTagger) -> None:
    text = "[Barack Obama|o] flew to [Paris|p] on Tuesday."
    first = examples(tagger, text)
    examples(tagger, "[Zorblax Quux|z] blorped.")
    assert examples(tagger, text) == first
