"""What is put right before linking, on marked texts: ``[Ana Reis/PERSON]`` is what the tagger gave."""

import pytest
from hypothesis import given

from tests.unit.test_name_linking import lay_out, paragraphs_of, pieces, unmark
from udfs.annotators.given_names import gender_of
from udfs.annotators.known_places import is_known_place
from udfs.annotators.name_forms import is_spelt_by
from udfs.annotators.name_linking import resolve_names
from udfs.annotators.name_spans import repair_names
from udfs.annotators.name_types import UNLINKED, agreed_types
from udfs.annotators.overlay import lay_over
from udfs.spans import Mention


def repaired(marked: str) -> list[str]:
    """Each mention as ``surface/TYPE``."""
    text, mentions = unmark(marked)
    return [f"{text[m.start : m.end]}/{m.type}" for m in repair_names(text, paragraphs_of(text), mentions)]


@pytest.mark.parametrize(
    ("marked", "names"),
    [
        # Two names in one
        ("[North and South Korea/GPE]", ["North/GPE", "South Korea/GPE"]),
        ("[Ann Ray for the Board/ORG] said", ["Ann Ray/PERSON", "Board/ORG"]),
        ("[Bo Zed]. [Zed the Acme/ORG] protest", ["Bo Zed/PERSON", "Zed/PERSON", "Acme/ORG"]),
        ("[Board this Court/ORG]", ["Board/ORG", "Court/ORG"]),
        ("[Centre for Zeds/ORG]", ["Centre for Zeds/ORG"]),
        # Labels, scores, marks, open brackets
        ("[Image]: x", []),
        ("[Acme Image/ORG]: x", ["Acme/ORG"]),
        ("[Image Comics/ORG] won", ["Image Comics/ORG"]),
        ("put [Zedland 1/ORG] \u2013 0 up", ["Zedland/ORG"]),
        ("[Vostok 1/PRODUCT] flew", ["Vostok 1/PRODUCT"]),
        ("[\u2018The Zeds\u2019/ORG] won", ["Zeds/ORG"]),
        ("[Zed Governor(s]) in", ["Zed/PERSON"]),
        ("[Zed (Rana)/ORG] won", ["Zed (Rana)/ORG"]),
        # Words of the sentence, roles, titles
        ("he [rang Quill]", ["Quill/PERSON"]),
        ("[van Zed] won", ["van Zed/PERSON"]),
        ("[Brothers Quill] won", ["Quill/PERSON"]),
        ("[Chief Justice] said", ["Chief Justice/PERSON"]),
        ("said [Det]. [Sgt]. [Quill Zed]", ["Quill Zed/PERSON"]),
        # No names
        ("at 9 [GMT/ORG], until [Easter] or [9.40pm/ORG]", []),
        ("a piano. [Piano] repairs. [Zed/ORG]", ["Zed/ORG"]),
        ("an apple. [Apple/ORG] rose; only [Apple/ORG] rose", ["Apple/ORG", "Apple/ORG"]),
        # Cut short
        ("[Neil] Zed went; [Quill] Zed", ["Neil Zed/PERSON", "Quill/PERSON"]),
        ("[Danielle/GPE] Ruiz-Zed went", ["Danielle Ruiz-Zed/PERSON"]),
        ("Neil [Zed/ORG] went", ["Neil Zed/PERSON"]),
        ("[Neil] Museum", ["Neil/PERSON"]),
        ("said R.W. [Zed/GPE] Jr. here", ["R.W. Zed Jr./PERSON"]),
        ("the U.S. [Senate/ORG] and U.S. [Zed/ORG]", ["Senate/ORG", "Zed/ORG"]),
        # Types
        ("Mrs [Zed/ORG] and [Zed Bank/ORG]", ["Zed/PERSON", "Zed Bank/ORG"]),
        ("[Rosa Zed/ORG], [Rosa/GPE], [Rosa Museum/ORG]", ["Rosa Zed/PERSON", "Rosa/PERSON", "Rosa Museum/ORG"]),
        ("[R.J. Zed/ORG], [D.C. Circuit/ORG]", ["R.J. Zed/PERSON", "D.C. Circuit/ORG"]),
        ("[Quill Zed KC/ORG], [Quill Acme/ORG], 34, won", ["Quill Zed KC/PERSON", "Quill Acme/PERSON"]),
        ("[Quill Zed], [Zed/PRODUCT], [Zed/ORG]", ["Quill Zed/PERSON", "Zed/PERSON", "Zed/ORG"]),
        ("[\u00c5se Brekkhus], [Brekkhus/NORP]", ["\u00c5se Brekkhus/PERSON", "Brekkhus/PERSON"]),
        ("[Chris German], [German/NORP]", ["Chris German/PERSON", "German/NORP"]),
        ("[Tunisia] and [Brazil/ORG]", ["Tunisia/GPE", "Brazil/ORG"]),
        ("[Jack London] and [London]", ["Jack London/PERSON", "London/PERSON"]),
        # Names that nobody tagged
        ("the High Zed Rescue (HZR) and HZR", ["High Zed Rescue/ORG", "HZR/ORG"]),
        ("the Zed Safety Board, or ZSB, won", ["Zed Safety Board/ORG", "ZSB/ORG"]),
        ("High [Zed] Rescue [HZR]".replace("[HZR]", "(HZR)"), ["High Zed Rescue/ORG", "HZR/ORG"]),
        ("WHB (World Health Board)", ["WHB/ORG", "World Health Board/ORG"]),
        ("The World Health Board (Fig)", []),
        ("told President Quill Zed and General Zed", ["Quill Zed/PERSON"]),
        ("saw Rosa Zed and Rosa Museum, Will Zed", ["Rosa Zed/PERSON"]),
        ("in Peru, Papua New Guinea and Peru Street", ["Peru/GPE", "Papua New Guinea/GPE"]),
        ("a writer for The Onion. The Bank", ["Onion/ORG"]),
        ("for The [New York Times/ORG]", ["New York Times/ORG"]),
        ("[Quill Zed], 63, nicknamed 'Spud', won", ["Quill Zed/PERSON", "Spud/PERSON"]),
        ("[Acme/ORG], known as Spud, won", ["Acme/ORG"]),
        # Not over a paragraph's border
        ("saw Rosa\n\nZed. [Neil]\n\nZed", ["Neil/PERSON"]),
    ],
)  # fmt: skip
def test_repair_names(marked, names):
    assert repaired(marked) == names


def test_acronym_is_spelt_by_the_first_letters_of_words():
    assert is_spelt_by("FIRST", "For Inspiration and Recognition of Science and Technology")
    assert is_spelt_by("MoD", "Ministry of Defence")
    assert is_spelt_by("KPA", "Korean People\u2019s Army")
    assert not is_spelt_by("KPA", "Korean Army")
    assert not is_spelt_by("B", "Bank")


def test_tables_of_names_leave_out_what_is_ambiguous():
    assert (gender_of("ana"), gender_of("carlos")) == ("woman", "man")
    assert [gender_of(w) for w in ("will", "virginia", "robin", "jordan", "reis", "")] == [""] * 6
    assert is_known_place("PERU")
    assert not any(is_known_place(name) for name in ("Turkey", "Jordan", "Chad", "Georgia", "Washington", ""))


def test_lay_over_needs_room_or_holds_what_it_replaces():
    def at(start: int, end: int) -> Mention:
        return Mention(start, end, UNLINKED, "ORG")

    there = [at(0, 2), at(4, 6), at(8, 10)]
    assert lay_over(there, []) == there
    assert lay_over(there, [at(2, 4)]) == [at(0, 2), at(2, 4), at(4, 6), at(8, 10)]
    assert lay_over(there, [at(3, 7)]) == [at(0, 2), at(3, 7), at(8, 10)]
    assert lay_over(there, [at(0, 6)]) == [at(0, 6), at(8, 10)]
    for no_room in (at(0, 2), at(1, 3), at(5, 6), at(5, 9)):
        assert lay_over(there, [no_room]) == there
    assert lay_over([], [at(0, 3), at(2, 5), at(5, 6)]) == [at(0, 3), at(5, 6)]


def test_agreed_types_of_a_cluster_are_those_of_most_of_its_mentions():
    given_types = ["GPE", "ORG", "ORG", None, "GPE", "ORG"]
    mentions = [Mention(i, i + 1, i // 4, type_) for i, type_ in enumerate(given_types)]
    assert [m.type for m in agreed_types(mentions)] == ["ORG", "ORG", "ORG", None, "GPE", "GPE"]


@given(pieces)
def test_repaired_and_resolved_mentions_are_trimmed_pieces_of_one_paragraph(parts):
    text, mentions = lay_out(parts)
    mentions = [m for m in mentions if m.type]
    units = paragraphs_of(text)
    for result in (repair_names(text, units, mentions), resolve_names(text, units, mentions)):
        assert [(m.start, m.end) for m in result] == sorted({(m.start, m.end) for m in result})
        for m in result:
            assert any(u.start <= m.start < m.end <= u.end for u in units)
            assert text[m.start : m.end] == text[m.start : m.end].strip()
            assert m.type
    assert resolve_names(text, units, mentions[::-1]) == resolve_names(text, units, mentions)
