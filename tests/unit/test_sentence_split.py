"""Sentence splitting: hard cases, properties of the spans, and F1 against GUM's gold sentences."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.cloze import PLACEHOLDER, ClozeRules, make_cloze
from udfs.sentence_split import split_sentences
from udfs.spans import Mention, Span
from udfs.story_text import StoryText, parse_story

PAPER_RULES = ClozeRules(100, 4, 10, 3)
NEWS_AND_ALIKE = ("news", "interview", "bio", "voyage", "court")


def sentences_of(text: str) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, [Span(0, len(text))])]


ONE_SENTENCE = [
    # titles, initials, abbreviations before names
    "Lt. Col. Ann Ray met the Rev. Bo Fox and Gov. Cy Lee.",
    "Then-Sen. Ann Ray and ex-Gov. Bo Fox agreed.",
    "J.T. Marsh and J. K. Rowling met George W. Bush in St. Louis.",
    "A. A. Milne wrote of Dr. No and Mr. So.",
    'George "J.R." Smith and "Dr." Dre sang.',
    "Apple Inc. Chairman Ann Ray met Sammy Davis Jr. Monday night.",
    "Brown v. Board of Education and Ali vs. Foreman were shown.",
    "The U.S. Senate and the U.K. Treasury spoke to U.S. Rep. Ray.",
    "In Boston, Mass. Governor Ray met Sen. Fox (D-Calif.) Monday.",
    # numbers
    "He lived at No. 5 and read pp. 3 to 9, Vol. II of it.",
    "It rose 3.5 per cent to $1.25bn at 10.30 on Jan. 5.",
    "They met on Tues. Oct. 5 and on Sept. Sunday.",
    "The race starts at 9 a.m. Monday and 11 p.m. Eastern time.",
    "Ann Ray (b. September 2013) owed c. IRR200,000 (r. 1066).",
    "1. Introduction",
    "a. The first point.",
    # addresses
    "See www.example.com/a.html?b=1 or mail jo.fox@example.co.uk today.",
    "Ask Node.Js about file.Txt, Amazon.Com and Group A.The now.",
    # quotations that go on
    '"Go!" he said.',
    "'Go!' he said.",
    "“Why?” asked Ann.",
    "‘Why?’ Ann Ray asked.",
    '"Why?" Mr. Ray asked, and left.',
    '"Stop!" shouted the man.',
    '"He won." said Ann.',
    # stops that are part of something
    "Yahoo! News and OK! Magazine came (!) Smith said.",
    "He waited ... and waited… and won.",
    "He waited . . . and won.",
    "It was (see Fig. 3) over, approx. five in all, i.e. Ray lost.",
    "Who? what? when?",
    "...",
]  # fmt: skip

SEVERAL = [
    ("He won. She lost! Who knew? Nobody.", ["He won.", "She lost!", "Who knew?", "Nobody."]),
    ("Really?! Yes!!! Good.", ["Really?!", "Yes!!!", "Good."]),
    ("He lives in the U.S. He likes it.", ["He lives in the U.S.", "He likes it."]),
    ("She left the U.S. The mayor stayed.", ["She left the U.S.", "The mayor stayed."]),
    ("It left the U.S. Mr. Ray stayed.", ["It left the U.S.", "Mr. Ray stayed."]),
    ("He joined Apple Inc. It was 2014.", ["He joined Apple Inc.", "It was 2014."]),
    ("She met Al Ray Jr. They left.", ["She met Al Ray Jr.", "They left."]),
    ("He lives on Main St. The house is old.", ["He lives on Main St.", "The house is old."]),
    ("It began at 9 a.m. Police came at 10 p.m. It was late.",
     ["It began at 9 a.m.", "Police came at 10 p.m.", "It was late."]),
    ("He said no. Police left.", ["He said no.", "Police left."]),
    ("They bought pens, paper, etc. Ann paid.", ["They bought pens, paper, etc.", "Ann paid."]),
    ("They sat in the Sun. Ann left in Oct. Bo stayed.", ["They sat in the Sun.", "Ann left in Oct.", "Bo stayed."]),
    ("Bo served in World War I. Ann took vitamin C. Both lived.",
     ["Bo served in World War I.", "Ann took vitamin C.", "Both lived."]),
    ("He moved to Flint, Mich. She did not.", ["He moved to Flint, Mich.", "She did not."]),
    ("They went to Mass. Ann sang for the Miss. Bo fell ill.",
     ["They went to Mass.", "Ann sang for the Miss.", "Bo fell ill."]),
    ("It cost $2.50. 20 people paid. £5 was left.", ["It cost $2.50.", "20 people paid.", "£5 was left."]),
    ("It was in 2014. In 2015 he won.", ["It was in 2014.", "In 2015 he won."]),
    # closing and opening quotes and brackets
    ('"We won." "We lost," he said. "It was fun."', ['"We won."', '"We lost," he said.', '"It was fun."']),
    ("'We won.' Ann left. ‘We lost.’ Bo stayed.", ["'We won.'", "Ann left.", "‘We lost.’", "Bo stayed."]),
    ("“Go!” “Stop!” Then silence.", ["“Go!”", "“Stop!”", "Then silence."]),
    ('"Go!" He left.', ['"Go!"', "He left."]),
    ('"Who is it?" Ann Ray asked the room. Bo knew.', ['"Who is it?"', "Ann Ray asked the room.", "Bo knew."]),
    ('"It was made in the U.S." Ann left.', ['"It was made in the U.S."', "Ann left."]),
    ("(He won.) [She lost.] It (all of it.) was good.", ["(He won.)", "[She lost.]", "It (all of it.) was good."]),
    ("They won. (see below) It rained.", ["They won.", "(see below) It rained."]),
    ("He called it 'odd.“ Others laughed.", ["He called it 'odd.“", "Others laughed."]),
    # ellipses
    ("He waited ... Then he won… Ann left.", ["He waited ...", "Then he won…", "Ann left."]),
    ('He waited. . . . "We won."', ["He waited. . . .", '"We won."']),
    # names in camel case, lost blanks, reference marks and emoticons of web pages
    ("He likes it. iPhone sales rose. eBay fell.", ["He likes it.", "iPhone sales rose.", "eBay fell."]),
    ("She lives in London.The mayor left.'He was ill.", ["She lives in London.", "The mayor left.'", "He was ill."]),
    ("He won.[1] [12] She lost. [3] Bo left? :) Yes.", ["He won.[1] [12]", "She lost. [3]", "Bo left? :)", "Yes."]),
    # spaced stops, as in news texts that went through a tokeniser
    ("He won . She lost . ", ["He won .", "She lost ."]),
    ("Ann Ray\nwon. Bo\nlost.", ["Ann Ray\nwon.", "Bo\nlost."]),
]  # fmt: skip


@pytest.mark.parametrize("text", ONE_SENTENCE)
def test_sentence_stays_whole(text: str) -> None:
    assert sentences_of(text) == [text]


@pytest.mark.parametrize(("text", "expected"), SEVERAL)
def test_sentences_are_split(text: str, expected: list[str]) -> None:
    assert sentences_of(text) == expected


def test_paragraph_end_ends_a_sentence_without_a_stop() -> None:
    text = "By Jo Fox\n\nPUBLISHED: 10:00 EST, 1 May 2014\n\nHappy: Ann Ray with her dog\n\nAnn Ray won on Monday."
    spans = split_sentences(text, parse_story(text).paragraphs)
    assert [text[start:end] for start, end in spans] == text.split("\n\n")
    assert len(spans) == 4


def test_text_outside_the_paragraphs_is_ignored() -> None:
    text = "Skip this. He won. She lost. Skip that."
    assert split_sentences(text, [Span(10, 29)]) == [Span(11, 18), Span(19, 28)]


def test_offsets_are_code_points() -> None:
    text = "Zoë 😀 won. Ann lost."
    assert split_sentences(text, [Span(0, len(text))]) == [Span(0, 10), Span(11, 20)]


def test_paragraph_of_white_space_has_no_sentence() -> None:
    assert split_sentences(" \n\t ", [Span(0, 4), Span(2, 2)]) == []


# Pieces that meet at the rules' edges: any order of them is a text.
PIECES = (
    "The A U.S. U.S Mr. Inc. No. Jan. p.m. J. St. D-Mass. Boston, War I. Ray Ray. won won. said said. he 5 5. 2.5 "
    "iPhone ! ? . .. ... … . . . \" ' “ ” ‘ ’ ( ) [1] :) – , 1 won.The won.'He Yahoo! \n \t \u00a0"
)
TEXTS = st.one_of(
    st.lists(
        st.tuples(st.sampled_from(PIECES.split(" ")), st.sampled_from(["", " ", " ", "  ", "\n"])), max_size=25
    ).map(lambda pieces: "".join(word + space for word, space in pieces)),
    st.text(max_size=60),
)


@settings(deadline=None)
@given(st.lists(TEXTS, max_size=4))
def test_spans_are_trimmed_ordered_inside_paragraphs_and_cover_all_but_white_space(blocks: list[str]) -> None:
    text = "\n\n".join(blocks)
    paragraphs, begin = [], 0
    for block in blocks:
        paragraphs.append(Span(begin, begin + len(block)))
        begin += len(block) + 2
    spans = split_sentences(text, paragraphs)
    assert "".join("".join(text[start:end].split()) for start, end in spans) == "".join(text.split())
    assert all(a.end <= b.start for a, b in pairwise(spans))
    for start, end in spans:
        assert text[start:end] == text[start:end].strip() != ""
        assert any(p.start <= start and end <= p.end for p in paragraphs)


@settings(deadline=None)
@given(TEXTS)
def test_sentence_given_as_paragraph_comes_back_whole(text: str) -> None:
    spans = split_sentences(text, [Span(0, len(text))])
    assert split_sentences(text, spans) == spans


def read_gum(shared: Path, genre: str) -> list[tuple[StoryText, dict[str, Any]]]:
    folder = shared / "data" / "gum" / genre
    stories = sorted((folder / "stories").glob("*.story"))
    assert stories, f"no stories in {folder}"
    return [
        (
            parse_story(path.read_bytes().decode()),
            json.loads((folder / "gold" / f"{path.stem}.json").read_text(encoding="utf-8")),
        )
        for path in stories
    ]


def gold_sentences(gold: dict[str, Any]) -> list[Span]:
    return [Span(s["start"], s["end"]) for s in gold["sentences"] if s["end"] <= gold["body_end"]]


def f1_of_ends(documents: list[tuple[StoryText, dict[str, Any]]], *, inner_only: bool = False) -> float:
    """F1 of sentence ends in the bodies; ``inner_only`` leaves out the ends of paragraphs, which come free."""
    right = total = 0
    for story, gold in documents:
        free = {p.end for p in story.paragraphs} if inner_only else set()
        mine = {s.end for s in split_sentences(story.text, story.paragraphs)} - free
        theirs = {s.end for s in gold_sentences(gold)} - free
        right += len(mine & theirs)
        total += len(mine) + len(theirs)
    return 2 * right / total


def test_gum_sentence_ends(shared: Path) -> None:
    documents = {genre: read_gum(shared, genre) for genre in NEWS_AND_ALIKE}
    assert f1_of_ends(documents["news"]) >= 0.99  # CoreNLP: .954
    everything = [document for genre in NEWS_AND_ALIKE for document in documents[genre]]
    assert f1_of_ends(everything) >= 0.99
    assert f1_of_ends(everything, inner_only=True) >= 0.98


def test_gum_queries_differ_only_where_sentences_do(shared: Path) -> None:
    compared = 0
    for story, gold in read_gum(shared, "news") + read_gum(shared, "bio"):
        clusters: dict[str, int] = {}
        mentions = [
            Mention(m["start"], m["end"], clusters.setdefault(m["coref"], len(clusters)), m["etype"])
            for m in gold["mentions"]
            if m["name"]
        ]
        reference, mine = gold_sentences(gold), split_sentences(story.text, story.paragraphs)
        queries = []
        for sentences in (reference, mine):
            article = make_cloze(story.text, story.paragraphs, story.highlights, sentences, mentions, PAPER_RULES)
            spans = {s.start: Span(s.start, s.end) for s in article.sentences}
            queries.append({(spans[q.sentence_start], q.placeholder, q.query) for q in article.queries})
            assert all(PLACEHOLDER in q.query for q in article.queries)
        one_sided = set(reference) ^ set(mine)
        assert {span for span, _, _ in queries[0] ^ queries[1]} <= one_sided
        compared += len(queries[0] & queries[1])
    assert compared >= 50
