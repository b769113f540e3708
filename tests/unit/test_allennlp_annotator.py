"""The annotators: names, clusters, what names nothing, windows; rules on constructed cases, and trained archives."""

import itertools
from pathlib import Path

import pytest

from tests.corpus.lay_out import source_articles
from udfs import model_holder
from udfs.annotators.allennlp import annotator as annotators
from udfs.annotators.allennlp.annotator import clusters_in_windows, is_out_of_memory
from udfs.annotators.allennlp.archives import ArchiveError
from udfs.annotators.allennlp.naming import clusters_merged, clusters_of_model
from udfs.annotators.allennlp.windows import StitchedCluster, cut_long, stitch, windows_over
from udfs.annotators.base import Annotation, Archives, Token
from udfs.spans import Mention, Span
from udfs.story_text import StoryText, parse_story

MODEL = "en_core_web_sm"
POS = {"the": "DET", "of": "ADP", "mayor": "NOUN", "she": "PRON", "'s": "PART", "French": "ADJ"}


def tokens_of(text):
    tokens, at = [], 0
    for word in text.split():
        at = text.index(word, at)
        pos = POS.get(word, "PROPN" if word[0].isupper() else "VERB")
        tokens.append(Token(at, at + len(word), pos, "POS" if word == "'s" else "X", word))
        at += len(word)
    return tokens


def named(text, *surfaces, kind="PERSON", clusters=None):
    found, at = [], 0
    for n, surface in enumerate(surfaces):
        at = text.index(surface, at)
        found.append(Mention(at, at + len(surface), clusters[n] if clusters else -1, kind))
        at += len(surface)
    return found


def surfaces(text, mentions):
    return [(text[m.start : m.end], m.cluster) for m in mentions]


def cluster(*spans, windows=(0,)):
    return StitchedCluster(list(spans), frozenset(windows))


def test_spans_that_name_nothing_stay_in_the_clusters_and_are_no_mentions():
    text = "French mayor Anne Hidalgo 's aide met she the mayor of Paris"
    mentions = named(text, "Anne Hidalgo", "Paris")
    found = clusters_of_model(text, tokens_of(text), mentions, [cluster((0, 4), (7, 7), (8, 11))])
    assert surfaces(text, found.mentions) == [("Anne Hidalgo", 0), ("Paris", 1)]
    assert surfaces(text, found.unnamed) == [("she", 0), ("the mayor of Paris", 0)]


def test_shortest_span_decides_a_names_cluster():
    text = "the mayor Hidalgo met Reis"
    clusters = [cluster((0, 2), (3, 3)), cluster((2, 2), (4, 4))]
    found = clusters_of_model(text, tokens_of(text), named(text, "Hidalgo", "Reis"), clusters)
    assert surfaces(text, found.mentions) == [("Hidalgo", 0), ("Reis", 0)]
    assert surfaces(text, found.unnamed) == [("met", 1)]


def test_merged_clusters_follow_the_stated_rule():
    text = "Reis met Hidalgo Reis Porto Hidalgo she"
    linked = named(text, "Reis", "Hidalgo", "Reis", "Porto", "Hidalgo", clusters=[0, 1, 0, 2, 1])
    linked[3] = linked[3]._replace(type="GPE")
    tokens = tokens_of(text)
    # Half of each cluster of names: united; a place is no person; unnamed spans join.
    half = clusters_merged(tokens, linked, [cluster((0, 0), (2, 2), (4, 4), (6, 6))])
    assert surfaces(text, half.mentions) == [("Reis", 0), ("Hidalgo", 0), ("Reis", 0), ("Porto", 1), ("Hidalgo", 0)]
    assert surfaces(text, half.unnamed) == [("she", 0)]
    # Less than half of one of them: not united.
    text += " Reis"
    linked = named(text, "Reis", "Hidalgo", "Reis", "Hidalgo", "Reis", clusters=[0, 1, 0, 1, 0])
    third = clusters_merged(tokens_of(text), linked, [cluster((0, 0), (2, 2))])
    assert [m.cluster for m in third.mentions] == [0, 1, 0, 1, 0]
    assert [m.cluster for m in clusters_merged(tokens_of(text), linked, []).mentions] == [0, 1, 0, 1, 0]


@pytest.mark.parametrize("limit", [8, 20, 50, 1000])
def test_windows_are_of_whole_sentences_and_cover_all(limit):
    lengths = cut_long([3, 7, 0, 45, 1, 1, 8, 2, 9, 20], limit)
    assert sum(lengths) == 96
    windows = windows_over(lengths, limit, limit // 4)
    assert windows[0].start == 0
    assert windows[-1].end == len(lengths)
    for before, after in itertools.pairwise(windows):
        assert before.start < after.start <= before.end < after.end
        assert sum(lengths[after.start : before.end]) <= limit // 4
    assert all(sum(lengths[a:b]) <= limit for a, b in windows)
    assert len(windows) == 1 or limit < 96
    assert windows_over([], limit, 2) == []


def test_stitching_matches_one_to_one_by_most_shared_mentions():
    covered = [Span(0, 10), Span(5, 15)]
    first = [[(0, 0), (6, 6), (7, 7)], [(1, 1), (8, 8)]]
    second = [[(6, 6), (7, 7), (8, 8), (12, 12)], [(9, 9), (13, 13)]]
    found = stitch([first, second], covered)
    # (8, 8) stays with its first owner, whose cluster is not glued to the other.
    assert [c.mentions for c in found] == [[(0, 0), (6, 6), (7, 7), (12, 12)], [(1, 1), (8, 8)], [(9, 9), (13, 13)]]
    assert [set(c.windows) for c in found] == [{0, 1}, {0}, {1}]


def same_words(sentences):
    """A resolver: all mentions of one capitalised word in what it sees are a cluster."""
    words = [w for s in sentences for w in s]
    places = {w: [(i, i) for i, x in enumerate(words) if x == w] for w in dict.fromkeys(words) if w[0].isupper()}
    return [spans for spans in places.values() if len(spans) > 1]


def test_entity_of_the_first_window_that_returns_in_the_third_is_one_cluster():
    parts = ["Reis left . Reis came .", *["they slept for long ."] * 30, "Lin ran . Lin hid ."]
    parts += [*["they slept for long ."] * 30, "Reis rose ."]
    text = " ".join(parts)
    tokens = tokens_of(text)
    sentences = [[*s.split(), "."] for s in text.split(" .") if s.strip()]
    clusters, windows = clusters_in_windows(sentences, same_words, 128)
    assert len(windows) >= 3
    assert clusters_in_windows(sentences, same_words, 10_000)[1] == [Span(0, len(tokens))]
    characters = [Span(tokens[w.start].start, tokens[w.end - 1].end) for w in windows]
    mentions = named(text, "Reis", "Reis", "Lin", "Lin", "Reis")
    found = clusters_of_model(text, tokens, mentions, clusters, characters)
    assert surfaces(text, found.mentions) == [
        ("Reis", 0), ("Reis", 0), ("Lin", 1), ("Lin", 1), ("Reis", 0)
    ]  # fmt: skip


def test_windows_shrink_where_memory_does_not_suffice():
    sentences = [["Ann", "ran", "."]] * 200
    asked = []

    def within(limit):
        def resolve(part):
            asked.append(sum(map(len, part)))
            if asked[-1] > limit:
                raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
            return same_words(part)

        return resolve

    found, _ = clusters_in_windows(sentences, within(160), 5000)
    assert asked[:3] == [600, 300, 150]
    assert len(found) == 1
    assert len(found[0].mentions) == 200
    with pytest.raises(RuntimeError, match="out of memory"):
        clusters_in_windows(sentences, within(10), 5000)
    assert min(asked) >= 60

    def broken(_):
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        clusters_in_windows(sentences, broken, 5000)
    assert is_out_of_memory(MemoryError())


@pytest.fixture(scope="module")
def archives(small_archives):
    return Archives(ner=small_archives.ner, coreference=small_archives.coreference)


@pytest.fixture(scope="module", params=["allennlp", "spacy+allennlp"])
def loaded(request, archives):
    yield request.param, model_holder.annotator_for(request.param, MODEL, "cpu", archives)
    model_holder._annotator_on.cache_clear()


STORIES = [parse_story(article.text) for article in source_articles()[:6]]


def test_annotations_are_the_same_alone_and_in_any_batch(loaded):
    _, held = loaded
    together = list(held.annotate(STORIES))
    assert all(isinstance(made, Annotation) for made in together), together
    assert list(held.annotate(STORIES[::-1])) == together[::-1]
    assert [made for story in STORIES[:3] for made in held.annotate([story])] == together[:3]
    assert all(made.mentions and made.tokens and made.sentences for made in together)
    for story, made in zip(STORIES, together, strict=True):
        clusters = [m.cluster for m in sorted([*made.mentions, *made.unnamed], key=lambda m: (m.start, -m.end))]
        assert list(dict.fromkeys(clusters)) == list(range(len(set(clusters))))
        assert all(story.text[m.start : m.end].strip() for m in (*made.mentions, *made.unnamed))
        spans = [(m.start, m.end) for m in made.mentions]
        assert len(spans) == len(set(spans))


def test_texts_with_next_to_nothing(loaded):
    _, held = loaded
    empty = StoryText("", (), ())
    blank = StoryText(" \n\n ", (Span(0, 1),), (Span(3, 4),))
    made = list(held.annotate([empty, blank, parse_story("Ann"), parse_story("Go !"), parse_story("a \n b\n\n.")]))
    assert all(isinstance(each, Annotation) for each in made), made
    assert made[0] == made[1] == Annotation((), (), ())
    assert not any(each.unnamed for each in made)


def test_digest_is_that_of_the_loaded_and_of_the_archives_content(loaded, archives, tmp_path):
    name, held = loaded
    assert model_holder.annotator_digest(name, MODEL, archives) == held.digest
    copy = tmp_path / "other-name.tar.gz"
    copy.write_bytes(Path(archives.coreference).read_bytes())
    assert model_holder.annotator_digest(name, MODEL, archives._replace(coreference=str(copy))) == held.digest
    copy.write_bytes(copy.read_bytes() + b"\0")
    assert model_holder.annotator_digest(name, MODEL, archives._replace(coreference=str(copy))) != held.digest
    assert model_holder.annotator_digest(name, MODEL, archives._replace(window_tokens=200)) != held.digest


def test_article_that_fails_costs_only_itself(loaded, monkeypatch):
    _, held = loaded
    expected = list(held.annotate(STORIES[:1]))
    resolve = held._resolver.clusters

    def fails(sentences):
        if any("Bang" in words for words in sentences):
            raise MemoryError("too much")
        return resolve(sentences)

    monkeypatch.setattr(held._resolver, "clusters", fails)
    first, failed, last = held.annotate([STORIES[0], parse_story("Bang went the gun ."), STORIES[0]])
    assert isinstance(failed, MemoryError)
    assert [first] == [last] == expected


def test_archives_that_are_missing_or_swapped(archives):
    with pytest.raises(ArchiveError, match=r"annotate\.ner_archive is empty"):
        model_holder.annotator_digest("allennlp", MODEL, Archives())
    with pytest.raises(ArchiveError, match=r"annotate\.coreference_archive is empty"):
        model_holder.annotator_digest("spacy+allennlp", MODEL, Archives())
    swapped = Archives(ner=archives.coreference, coreference=archives.ner)
    with pytest.raises(ArchiveError, match="a model of type 'coref', not 'crf_tagger'"):
        model_holder.annotator_for("allennlp", MODEL, "cpu", swapped)


@pytest.mark.gpu
def test_card_gives_the_clusters_of_the_cpu(loaded, archives):
    import torch

    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    name, held = loaded
    on_card = model_holder.annotator_for(name, MODEL, "cuda", archives)
    assert list(on_card.annotate(STORIES)) == list(held.annotate(STORIES))
    half = annotators.SpacyAllennlpAnnotator.load(MODEL, "cuda", archives._replace(half_precision=True))
    assert all(isinstance(made, Annotation) for made in half.annotate(STORIES))
