"""Which spans of a coreference model are which named mentions, and whose clusters the mentions get. Pure Python.

Coreference models mark whole noun phrases ("French President Emmanuel Macron's"), taggers names alone. A span is the
mention of the name that it ends with, where only determiners, adjectives and nouns stand before it, and possessive 's
may follow: "the mayor of Paris" is not Paris. Of several spans the shortest is taken. All other spans, pronouns and
nominals, name nothing: they stay in the clusters, and are never candidates.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from udfs.annotators.allennlp.windows import StitchedCluster
from udfs.annotators.base import Token
from udfs.annotators.name_linking import link_names
from udfs.spans import Mention, Span

_BEFORE_A_NAME = frozenset(("DET", "ADJ", "NOUN", "PROPN"))
_PERSON = frozenset(("PERSON", "PER"))


class Clustered(NamedTuple):
    """The named mentions and the spans that name nothing; clusters count from 0 over both, by first mention."""

    mentions: tuple[Mention, ...]
    unnamed: tuple[Mention, ...]


class _Matched(NamedTuple):
    """Of each cluster, the numbers of its named mentions; and its other spans, as characters."""

    named: list[list[int]]
    unnamed: list[list[tuple[int, int]]]


def clusters_of_model(
    text: str,
    tokens: Sequence[Token],
    named: Sequence[Mention],
    clusters: Sequence[StitchedCluster],
    windows: Sequence[Span] = (),
) -> Clustered:
    """The model's clusters alone; a name that it does not cluster is a cluster by itself.

    Of a document in windows, clusters and single names that no window shares are united where their names are linked
    by name: an entity of the first window that returns in the third is one.

    Args:
        tokens, clusters: the document's tokens in order, and clusters of spans of their indices, last included.
        named: the named mentions, in any order; their clusters are ignored.
        windows: the characters of each window.
    """
    ordered = sorted(named, key=_order)
    matched = _match(tokens, ordered, clusters)
    groups = _Groups(len(clusters) + len(ordered))
    number = _cluster_of_mention(matched, ordered)
    if len(windows) > 1:
        seen_in = [set(cluster.windows) for cluster in clusters]
        seen_in += [{n for n, w in enumerate(windows) if w.start <= m.start < w.end} for m in ordered]
        _unite_distant(number, [m.cluster for m in link_names(text, ordered)], seen_in, groups)
    return _numbered(ordered, [groups.root(n) for n in number], matched, groups)


def clusters_merged(
    tokens: Sequence[Token], linked: Sequence[Mention], clusters: Sequence[StitchedCluster]
) -> Clustered:
    """Clusters of names linked by name, united where the model agrees.

    A cluster of names belongs to the cluster of the model that holds the most of its mentions, if that is at least half
    of them. Clusters of names that belong to one cluster of the model are united, persons with persons only, others
    with others. The model's unnamed spans join them, by the first of its names. Clusters of names are never split.

    Args:
        linked: named mentions with the clusters of ``link_names``.
    """
    ordered = sorted(linked, key=_order)
    matched = _match(tokens, ordered, clusters)
    groups = _Groups(len(clusters) + len(ordered))
    size = Counter(mention.cluster for mention in ordered)
    first = {m.cluster: len(clusters) + n for n, m in reversed(list(enumerate(ordered)))}  # by their first mention
    kinds = {c: Counter(m.type in _PERSON for m in ordered if m.cluster == c).most_common(1)[0][0] for c in size}
    votes: dict[int, Counter[int]] = {}
    for at, numbers in enumerate(matched.named):
        for cluster in (ordered[n].cluster for n in numbers):
            votes.setdefault(cluster, Counter())[at] += 1
    members: dict[tuple[int, bool], int] = {}
    kind_of_model: dict[int, bool] = {}
    for cluster in sorted(votes, key=first.__getitem__):
        at, count = min(votes[cluster].items(), key=lambda pair: (-pair[1], pair[0]))
        if 2 * count < size[cluster]:
            continue
        kind_of_model.setdefault(at, kinds[cluster])
        known = members.setdefault((at, kinds[cluster]), first[cluster])
        groups.unite(known, first[cluster])
        if kind_of_model[at] == kinds[cluster]:
            groups.unite(at, first[cluster])
    return _numbered(ordered, [groups.root(first[m.cluster]) for m in ordered], matched, groups)


def _match(tokens: Sequence[Token], named: Sequence[Mention], clusters: Sequence[StitchedCluster]) -> _Matched:
    """Each name to the shortest span that is it; the longer spans of the same name are left out, not unnamed."""
    ends: dict[int, list[int]] = {}
    for number, mention in enumerate(named):
        ends.setdefault(mention.end, []).append(number)
    starts = [token.start for token in tokens]
    best: dict[int, tuple[int, int]] = {}  # mention -> (width of the span, cluster)
    result = _Matched([[] for _ in clusters], [[] for _ in clusters])
    for at, cluster in enumerate(clusters):
        for first, last in cluster.mentions:
            name = _named_by(tokens, starts, first, last, named, ends)
            if name is None:
                result.unnamed[at].append((tokens[first].start, tokens[last].end))
            else:
                best[name] = min(best.get(name, (last - first, at)), (last - first, at))
    for known, (_, at) in sorted(best.items()):
        result.named[at].append(known)
    return result


def _named_by(
    tokens: Sequence[Token],
    starts: list[int],
    first: int,
    last: int,
    named: Sequence[Mention],
    ends: dict[int, list[int]],
) -> int | None:
    candidates = ends.get(tokens[last].end) or (
        ends.get(tokens[last - 1].end) if last > first and tokens[last].tag == "POS" else None
    )
    for number in candidates or ():  # in order of start: the longest first
        mention = named[number]
        begins = bisect_left(starts, mention.start)
        if mention.start >= tokens[first].start and all(t.pos in _BEFORE_A_NAME for t in tokens[first:begins]):
            return number
    return None


def _cluster_of_mention(matched: _Matched, named: Sequence[Mention]) -> list[int]:
    """Of each mention, its cluster of the model, or a number above those, its own; same spans go together."""
    number = [len(matched.named) + n for n in range(len(named))]
    for at, numbers in enumerate(matched.named):
        for n in numbers:
            number[n] = at
    return number


def _unite_distant(number: list[int], by_name: list[int], seen_in: list[set[int]], groups: "_Groups") -> None:
    """Unites what is linked by name and was never in one window, where the model could have linked it."""
    last: dict[int, int] = {}  # of each cluster by name, the model's cluster that it was in last
    for at, name in zip(number, by_name, strict=True):
        a, b = sorted((groups.root(last.get(name, at)), groups.root(at)))
        if a != b and not seen_in[a] & seen_in[b]:
            groups.unite(a, b)
            seen_in[a] |= seen_in[b]
        last[name] = at


def _numbered(named: Sequence[Mention], roots: Sequence[int], matched: _Matched, groups: "_Groups") -> Clustered:
    spans = [(m.start, -m.end, 0, root, m) for m, root in zip(named, roots, strict=True)]
    spans += [
        (start, -end, 1, groups.root(at), Mention(start, end, 0))
        for at, unnamed in enumerate(matched.unnamed)
        for start, end in unnamed
    ]
    number: dict[int, int] = {}
    mentions: tuple[list[Mention], list[Mention]] = ([], [])
    for _, _, kind, root, mention in sorted(spans, key=lambda span: span[:4]):
        mentions[kind].append(mention._replace(cluster=number.setdefault(root, len(number))))
    return Clustered(tuple(mentions[0]), tuple(mentions[1]))


def _order(mention: Mention) -> tuple[int, int, str]:
    return mention.start, -mention.end, mention.type or ""


class _Groups:
    """Union-find; the smaller number is the root."""

    def __init__(self, n: int) -> None:
        self._parent = list(range(n))

    def root(self, n: int) -> int:
        while self._parent[n] != n:
            self._parent[n] = self._parent[self._parent[n]]
            n = self._parent[n]
        return n

    def unite(self, a: int, b: int) -> None:
        kept, gone = sorted((self.root(a), self.root(b)))
        self._parent[gone] = kept
