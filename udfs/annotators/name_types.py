"""Types of names: the kinds of entity that they stand for, and agreement of the types within an entity."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from enum import Enum

from udfs.spans import Mention

UNLINKED = -1
"""Cluster of a mention that has not been through ``link_names``."""


class Kind(Enum):
    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"
    PEOPLE = "people"
    OTHER = "other"


KIND_OF_TYPE = {
    "PERSON": Kind.PERSON, "PER": Kind.PERSON,
    "GPE": Kind.PLACE, "LOC": Kind.PLACE, "FAC": Kind.PLACE, "LOCATION": Kind.PLACE,
    "ORG": Kind.ORGANISATION, "ORGANIZATION": Kind.ORGANISATION,
    "NORP": Kind.PEOPLE,
}  # fmt: skip


def kind_of(type_: str | None) -> Kind:
    """The kind of a type; ``OTHER`` for works, products and what has no type."""
    return KIND_OF_TYPE.get(type_ or "", Kind.OTHER)


def mention_order(mention: Mention) -> tuple[int, int, str]:
    """Sorts by start, the longer first."""
    return mention.start, -mention.end, mention.type or ""


def agreed_types(mentions: Sequence[Mention]) -> list[Mention]:
    """The linked mentions of an article, each cluster with the one type that most of its mentions have.

    Of types that are as frequent, the one of the first mention counts.
    """
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for mention in mentions:
        if mention.type is not None:
            votes[mention.cluster][mention.type] += 1
    winners = {cluster: counter.most_common(1)[0][0] for cluster, counter in votes.items()}
    return [m if m.type is None else m._replace(type=winners[m.cluster]) for m in mentions]
