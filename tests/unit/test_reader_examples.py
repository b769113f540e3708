"""Passages and queries as a reader sees them, the vocabulary, and their arrays."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from udfs.annotators.base import Token
from udfs.readers.examples import (
    ReaderExample,
    UnusableExample,
    make_example,
    mentions_from_rows,
    passage_words,
    query_words,
    tokens_from_rows,
)
from udfs.readers.features import (
    EncodedExample,
    Encoder,
    Unencodable,
    collate,
    length_batches,
    shuffled_batches,
    token_span,
    word_dropout,
)
from udfs.readers.vocabulary import PAD, UNKNOWN, Vocabulary, build_vocabulary
from udfs.spans import Mention, Span

CPU = torch.device("cpu")


def tokens(text: str, *pieces: str) -> list[Token]:
    """Tokens of ``text``: its pieces in order, or what stands between blanks. Tag "T", lemma in lower case."""
    found, at = [], 0
    for piece in pieces or text.split():
        at = text.index(piece, at)
        found.append(Token(at, at + len(piece), "X", "T", piece.lower()))
        at += len(piece)
    return found


def example(
    passage: str = "Ann met Bob in Rome .",
    query: str = "@placeholder met Ann .",
    answers: tuple[Span, ...] = (),
    *,
    query_id: str = "q",
    article_id: str = "a",
) -> ReaderExample:
    return make_example(
        query_id=query_id,
        article_id=article_id,
        passage_text=passage,
        passage_tokens=tokens(passage),
        passage_entities=[],
        query=query,
        placeholder=query.index("@placeholder"),
        answer_surface=None,
        sentence_tokens=tokens(query),
        answers=answers,
    )


def forms(words: tuple, text: str) -> list[str]:
    """The words' texts, once their offsets are seen to be those of ``text``."""
    for word in words:
        assert text[word.start : word.end] == word.text
    return [w.text for w in words]


def test_query_keeps_its_sentences_tokens_and_shifts_those_after_the_placeholder() -> None:
    sentence = "Yesterday Barack Obama met Angela Merkel."
    pieces = tokens(sentence, "Yesterday", "Barack", "Obama", "met", "Angela", "Merkel", ".")
    query = "Yesterday @placeholder met Angela Merkel."
    words = query_words(query, 10, "Barack Obama", pieces)
    assert forms(words, query) == ["Yesterday", "@placeholder", "met", "Angela", "Merkel", "."]
    assert [w.lemma for w in words][2:4] == ["met", "angela"]
    assert [w.pos for w in words] == ["T", "NNP", "T", "T", "T", "T"]
    assert {w.ner for w in words} == {"O"}


@pytest.mark.parametrize(
    ("sentence", "pieces", "surface", "query", "expected"),
    [
        ("Then Obama's plan", ("Then", "Obama's", "plan"), "Obama", "Then @placeholder's plan", ["@placeholder", "'s"]),
        ("Then pro-EU plan", ("Then", "pro-EU", "plan"), "EU", "Then pro-@placeholder plan", ["pro-", "@placeholder"]),
        ("Then non-EU-led plan", ("Then", "non-EU-led", "plan"), "EU", "Then non-@placeholder-led plan",
         ["non-", "@placeholder", "-led"]),
    ],
)  # fmt: skip
def test_token_that_straddles_the_placeholder_leaves_its_rest(
    sentence: str, pieces: tuple[str, ...], surface: str, query: str, expected: list[str]
) -> None:
    words = query_words(query, query.index("@placeholder"), surface, tokens(sentence, *pieces))
    assert forms(words, query) == ["Then", *expected, "plan"]
    assert [w.lemma for w in words[1:-1]] == expected
    assert [w.pos for w in words[1:-1]] == ["NNP" if e == "@placeholder" else "T" for e in expected]


@pytest.mark.parametrize("pieces", [("@placeholder", "met", "Ann"), ("@", "placeholder", "met", "Ann")])
def test_query_without_a_known_sentence_has_one_placeholder_however_it_was_tokenised(pieces: tuple[str, ...]) -> None:
    query = "@placeholder met Ann"
    assert forms(query_words(query, 0, None, tokens(query, *pieces)), query) == ["@placeholder", "met", "Ann"]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.data())
def test_query_words_cover_what_the_sentences_tokens_covered(lengths: list[int], data: st.DataObject) -> None:
    sentence = "".join(chr(97 + i % 26) * n for i, n in enumerate(lengths))
    start = data.draw(st.integers(0, len(sentence) - 1))
    end = data.draw(st.integers(start + 1, len(sentence)))
    ends = np.cumsum(lengths).tolist()
    pieces = [Token(e - n, e, "X", "T", "l") for e, n in zip(ends, lengths, strict=True)]
    query = sentence[:start] + "@placeholder" + sentence[end:]
    words = query_words(query, start, sentence[start:end], pieces)
    assert "".join(forms(words, query)) == query
    assert all(a.end == b.start for a, b in pairwise(words))


@pytest.mark.parametrize(
    ("query", "placeholder", "surface", "complaint"),
    [
        ("He met Ann", 3, "Bob", "no @placeholder at 3"),
        ("@placeholder met Ann", -20, "Bob", "no @placeholder"),
        ("@placeholder met", 0, "Bob", "token 8-11 lies outside the sentence of 7"),
    ],
)
def test_query_with_another_sentences_tokens_is_refused(
    query: str, placeholder: int, surface: str, complaint: str
) -> None:
    with pytest.raises(UnusableExample, match=complaint):
        query_words(query, placeholder, surface, tokens("Bob met Ann"))


def test_passage_words_are_labelled_with_the_candidate_around_them() -> None:
    text = "Porto FC won in Rome , Italy"
    entities = [
        Mention(16, 20, 1, "GPE"),
        Mention(0, 8, 0, "ORG"),
        Mention(0, 5, 2, "GPE"),  # nested: not a candidate of its own
        Mention(23, 28, 3, None),
    ]
    words = passage_words(text, tokens(text), entities)
    assert [w.ner for w in words] == ["ORG", "ORG", "O", "O", "GPE", "O", "ENT"]


def test_token_that_sticks_out_of_a_candidate_is_labelled() -> None:
    text = "pro-EU's plan"
    assert [w.ner for w in passage_words(text, tokens(text), [Mention(4, 6, 0, "ORG")])] == ["ORG", "O"]


def test_passage_tokens_outside_the_text_are_refused_with_the_querys_id() -> None:
    with pytest.raises(UnusableExample, match="query q7: token 4-7 lies outside the passage of 3"):
        make_example(
            query_id="q7", article_id="a", passage_text="Ann", passage_tokens=tokens("Ann met"), passage_entities=[],
            query="@placeholder", placeholder=0, answer_surface=None, sentence_tokens=[],
        )  # fmt: skip


def test_rows_come_as_mappings_or_in_order() -> None:
    token = {"start": 0, "end": 3, "pos": "NOUN", "tag": "NN", "lemma": "ann"}
    assert tokens_from_rows([token]) == tokens_from_rows([tuple(token.values())]) == (Token(**token),)
    mention = {"start": 0, "end": 3, "cluster": 5, "type": None}
    assert mentions_from_rows([mention]) == mentions_from_rows([(0, 3, 5, None)]) == (Mention(**mention),)


def test_answer_texts_are_the_passages() -> None:
    assert example(answers=(Span(8, 11), Span(15, 19))).answer_texts == ("Bob", "Rome")


def test_vocabulary_is_in_order_of_frequency_and_counts_a_passage_once() -> None:
    one = example("b b a", "@placeholder c", query_id="1")
    two = example("b b a", "@placeholder c d d d", query_id="2")
    vocabulary = build_vocabulary([one, two])
    # d 3, b 2, c 2, a 1: the passage, which both share, counts once.
    assert vocabulary.words == ("<pad>", "<unknown>", "@placeholder", "d", "b", "c", "a")
    assert vocabulary.pos == ("<pad>", "<unknown>", "T", "NNP")
    assert vocabulary.ner == ("<pad>", "<unknown>", "O")
    assert build_vocabulary([two, one]) == vocabulary
    assert build_vocabulary([one, two], min_count=2).words[3:] == ("d", "b", "c")
    assert build_vocabulary([one, two], max_words=5).words == ("<pad>", "<unknown>", "@placeholder", "d", "b")


def test_vocabulary_holds_the_placeholder_even_where_no_query_does() -> None:
    without = ReaderExample("q", "a", "x", passage_words("x", tokens("x"), []), ())
    assert build_vocabulary([without]).words[2:] == ("@placeholder", "x")


def test_vocabulary_of_lower_case_joins_forms() -> None:
    vocabulary = build_vocabulary([example("The the THE", "@placeholder")], lower_case=True)
    assert vocabulary.words[3:] == ("the",)
    encoded = Encoder(vocabulary).encode(example("The cat", "@placeholder"))
    assert isinstance(encoded, EncodedExample)
    assert encoded.passage.words.tolist() == [3, UNKNOWN]


def test_padding_in_a_text_is_a_word_that_is_not_known() -> None:
    strange = example("<pad> <unknown> x", "@placeholder x")
    vocabulary = build_vocabulary([strange])
    assert vocabulary.words == ("<pad>", "<unknown>", "@placeholder", "x")
    encoded = Encoder(vocabulary).encode(strange)
    assert isinstance(encoded, EncodedExample)
    assert encoded.passage.words.tolist() == [UNKNOWN, UNKNOWN, 3]


@pytest.mark.parametrize(
    ("values", "complaint"), [({"min_count": 0}, "min_count 0"), ({"max_words": 2}, "max_words 2")]
)
def test_vocabulary_refuses_limits_that_make_none(values: dict[str, int], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        build_vocabulary([example()], **values)


def test_vocabulary_of_no_examples_is_refused() -> None:
    with pytest.raises(ValueError, match="no example"):
        build_vocabulary([])


def encode(of: ReaderExample, vocabulary: Vocabulary | None = None) -> EncodedExample:
    encoded = Encoder(vocabulary or build_vocabulary([of])).encode(of)
    assert isinstance(encoded, EncodedExample)
    return encoded


def test_features_are_term_frequency_and_three_matches() -> None:
    text = "Cats chased the cat"
    query = "@placeholder Cats the"
    passage = [t._replace(lemma="cat" if "cat" in t.lemma else t.lemma) for t in tokens(text)]
    of = make_example(
        query_id="q", article_id="a", passage_text=text, passage_tokens=passage, passage_entities=[],
        query=query, placeholder=0, answer_surface=None,
        sentence_tokens=[t._replace(lemma="cat" if "cat" in t.lemma else t.lemma) for t in tokens(query)],
    )  # fmt: skip
    batch = collate([encode(of)], CPU)
    np.testing.assert_allclose(
        batch.passage_features[0],
        [[0.25, 1, 1, 1], [0.25, 0, 0, 0], [0.25, 1, 1, 1], [0.25, 0, 0, 1]],
    )


def test_term_frequency_counts_lower_forms() -> None:
    encoded = encode(example("The dog , the cat", "@placeholder"))
    np.testing.assert_allclose(encoded.passage.frequency, [0.4, 0.2, 0.2, 0.4, 0.2])


def test_case_matters_to_text_and_not_to_lower_form() -> None:
    encoded = encode(example("the", "@placeholder The"))
    assert encoded.matches.tolist() == [[False, True, True]]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([(8, 11)], (2, 2)),
        ([(0, 11)], (0, 2)),
        ([(9, 11), (15, 19)], (4, 4)),  # "ob" is no token
        ([(15, 19), (8, 11)], (4, 4)),  # the order given
        ([(8, 10)], None),
        ([], None),
    ],
)
def test_target_is_the_first_answer_that_is_whole_tokens(
    answers: list[tuple[int, int]], expected: tuple[int, int] | None
) -> None:
    assert token_span(example(answers=tuple(Span(*a) for a in answers))) == expected


def test_examples_without_tokens_are_named() -> None:
    empty_passage = ReaderExample("q", "a", "", (), example().query)
    empty_query = ReaderExample("q", "a", "x", example().passage, ())
    encoder = Encoder(build_vocabulary([example()]))
    assert encoder.encode(empty_passage) == Unencodable("empty_passage")
    assert encoder.encode(empty_query) == Unencodable("empty_query")


def test_passage_shared_by_examples_is_encoded_once_and_another_is_not_mistaken_for_it() -> None:
    first = example("Ann ran", "@placeholder ran")
    second = ReaderExample("q2", "a", first.passage_text, first.passage, first.query[:1])
    third = example("Bob sat", "@placeholder ran")
    encoder = Encoder(build_vocabulary([first, third]))
    encoded = [encoder.encode(e) for e in (first, second, third)]
    assert all(isinstance(e, EncodedExample) for e in encoded)
    assert encoded[0].passage is encoded[1].passage  # type: ignore[union-attr]
    assert encoded[0].passage.words.tolist() != encoded[2].passage.words.tolist()  # type: ignore[union-attr]


def test_batch_is_padded_behind_each_row() -> None:
    one = example("Ann ran home", "@placeholder ran", (Span(0, 3),))
    two = example("Bob", "@placeholder", (Span(0, 3),), article_id="b")
    vocabulary = build_vocabulary([one, two])
    batch = collate([encode(one, vocabulary), encode(two, vocabulary)], CPU)
    assert batch.passage_lengths.tolist() == [3, 1]
    assert batch.query_lengths.tolist() == [2, 1]
    assert batch.passage_words[1].tolist() == [vocabulary.word_rows["Bob"], PAD, PAD]
    assert batch.query_words[1].tolist() == [vocabulary.word_rows["@placeholder"], PAD]
    assert not batch.passage_features[1, 1:].any()
    assert batch.targets is not None
    assert batch.targets.tolist() == [[0, 0], [0, 0]]


def test_batch_with_an_example_without_target_has_none() -> None:
    assert collate([encode(example(answers=(Span(0, 3),))), encode(example())], CPU).targets is None


def test_word_dropout_hides_the_given_share_and_never_pads() -> None:
    ids = np.arange(2, 20002, dtype=np.int32)
    hidden = word_dropout(0.05, np.random.default_rng(1))(ids)
    assert hidden.dtype == np.int32
    assert (hidden == UNKNOWN).mean() == pytest.approx(0.05, abs=0.01)
    assert ((hidden == ids) | (hidden == UNKNOWN)).all()


def test_word_dropout_leaves_features_as_they_are() -> None:
    encoded = encode(example("Ann met Ann", "@placeholder met Ann"))
    batch = collate([encoded], CPU, hide=lambda ids: np.full_like(ids, UNKNOWN))
    assert set(batch.passage_words[0].tolist()) == set(batch.query_words[0].tolist()) == {UNKNOWN}
    assert batch.passage_features[0, :, 1].tolist() == [1, 1, 1]


@given(st.lists(st.integers(1, 40), max_size=40), st.integers(1, 100))
def test_length_batches_hold_every_example_once_within_the_limit(lengths: list[int], limit: int) -> None:
    examples = [encode(example(" ".join("x" * n), "@placeholder")) for n in lengths]
    batches = list(length_batches(examples, limit))
    assert sorted(i for b in batches for i in b) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= limit
    ordered = [lengths[i] for b in batches for i in b]
    assert ordered == sorted(lengths, reverse=True)


def test_training_batches_differ_by_generator_and_hold_every_example_once() -> None:
    first, again, other = (list(shuffled_batches(10, 4, np.random.default_rng(s))) for s in (1, 1, 2))
    assert first == again != other
    assert [len(b) for b in first] == [4, 4, 2]
    assert sorted(i for b in first for i in b) == list(range(10))
