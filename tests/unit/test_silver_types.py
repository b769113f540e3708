"""Types of mentions that have none: the pipeline's for their cluster, else a fallback."""

from hypothesis import given
from hypothesis import strategies as st

from udfs.annotators.silver_types import silver_types
from udfs.spans import Mention, Span


def types(mentions: list[Mention], tagged: dict[tuple[int, int], str]) -> list[str | None]:
    return [m.type for m in silver_types(mentions, {Span(*s): t for s, t in tagged.items()}, "MISC")]


def test_a_tagged_span_gives_its_type_to_the_whole_cluster() -> None:
    mentions = [Mention(0, 7, 3), Mention(20, 23, 3), Mention(30, 34, 5)]
    assert types(mentions, {(20, 23): "PERSON", (30, 34): "GPE"}) == ["PERSON", "PERSON", "GPE"]


def test_the_majority_of_a_cluster_wins_over_a_mentions_own_tag() -> None:
    mentions = [Mention(10 * n, 10 * n + 5, 1) for n in range(3)]
    assert types(mentions, {(0, 5): "ORG", (10, 15): "PERSON", (20, 25): "PERSON"}) == ["PERSON"] * 3


def test_of_equally_frequent_types_a_mentions_own_goes_first_then_the_earliest() -> None:
    mentions = [Mention(20, 25, 1), Mention(0, 5, 1), Mention(10, 15, 1)]
    assert types(mentions, {(0, 5): "ORG", (10, 15): "PERSON"}) == ["ORG", "ORG", "PERSON"]


def test_other_spans_and_other_clusters_say_nothing() -> None:
    mentions = [Mention(0, 5, 1), Mention(10, 15, 2)]
    assert types(mentions, {(0, 6): "ORG", (10, 15): "GPE"}) == ["MISC", "GPE"]


MENTIONS = st.lists(
    st.builds(Mention, st.integers(0, 9), st.integers(10, 19), st.integers(0, 3), st.none()), unique=True
)
TAGS = st.dictionaries(st.tuples(st.integers(0, 9), st.integers(10, 19)), st.sampled_from("ABC"))


@given(MENTIONS, TAGS)
def test_every_mention_keeps_its_place_and_gets_a_type_that_its_cluster_has(
    mentions: list[Mention], tagged: dict[tuple[int, int], str]
) -> None:
    typed = silver_types(mentions, {Span(*s): t for s, t in tagged.items()}, "MISC")
    assert [m._replace(type=None) for m in typed] == mentions
    for mention in typed:
        of_cluster = {t for m in mentions if m.cluster == mention.cluster and (t := tagged.get((m.start, m.end)))}
        assert mention.type in (of_cluster or {"MISC"})


@given(MENTIONS, TAGS)
def test_the_order_of_the_mentions_does_not_matter(mentions: list[Mention], tagged: dict[tuple[int, int], str]) -> None:
    spans = {Span(*s): t for s, t in tagged.items()}
    assert sorted(silver_types(mentions[::-1], spans, "MISC")) == sorted(silver_types(mentions, spans, "MISC"))
