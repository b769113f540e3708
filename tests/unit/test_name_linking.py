"""Name linking on marked texts: ``[Ana Reis/PERSON]`` is a mention; PERSON may be left out."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.annotators.name_forms import fits_in_order, initials, is_acronym, is_short_person_name, normalised_words
from udfs.annotators.name_linking import link_names, resolve_names
from udfs.annotators.name_propagation import propagate_names
from udfs.annotators.name_types import UNLINKED
from udfs.spans import Mention, Span

_MARK = re.compile(r"\[([^\]/]+)(?:/([A-Z_]+))?\]")


def unmark(marked: str) -> tuple[str, list[Mention]]:
    text, reached, mentions = "", 0, []
    for match in _MARK.finditer(marked):
        text += marked[reached : match.start()]
        mentions.append(Mention(len(text), len(text) + len(match[1]), UNLINKED, match[2] or "PERSON"))
        text += match[1]
        reached = match.end()
    return text + marked[reached:], mentions


def clusters_of(marked: str) -> list[list[str]]:
    """Surfaces by cluster, clusters in order of their number."""
    text, mentions = unmark(marked)
    grouped: dict[int, list[str]] = {}
    for m in link_names(text, mentions):
        grouped.setdefault(m.cluster, []).append(text[m.start : m.end])
    assert list(grouped) == list(range(len(grouped)))
    return list(grouped.values())


def added_to(marked: str) -> list[tuple[str, str | None]]:
    """Surface and type of the mentions that propagation adds; paragraphs are separated by blank lines."""
    text, mentions = unmark(marked)
    given = {(m.start, m.end) for m in mentions}
    result = propagate_names(text, paragraphs_of(text), mentions)
    return [(text[m.start : m.end], m.type) for m in result if (m.start, m.end) not in given]


def paragraphs_of(text: str) -> list[Span]:
    return [Span(*m.span()) for m in re.finditer(r"(?:[^\n]|\n(?!\n))+", text)]


@pytest.mark.parametrize(
    ("surface", "words"),
    [
        ("The Beatles", ("beatles",)),
        ("Reis's", ("reis",)),
        ("Reis\u2019s", ("reis",)),
        ("James\u2019", ("james",)),
        ("O\u2019Brien", ("obrien",)),
        ("Zoë Núñez", ("zoe", "nunez")),
        ("Acme Corp.", ("acme",)),
        ("Smith & Co.", ("smith",)),
        ("Johnson & Johnson", ("johnson", "and", "johnson")),
        ("Jean-Claude Juncker", ("jeanclaude", "juncker")),
        ("Jean - Claude", ("jeanclaude",)),
        ("Bashar al-Assad", ("bashar", "al", "assad")),
        ("Irving, Texas", ("irving", ",", "texas")),
        ("U.S.", ("u", "s")),
        ("Ana\nReis", ("ana", "reis")),
        ("The", ("the",)),
        ("!!", ("!!",)),
    ],
)
def test_normalised_words_of_a_name(surface, words):
    assert normalised_words(surface) == words


@pytest.mark.parametrize(
    ("marked", "clusters"),
    [
        # Same name
        ("[Acme/ORG] and [the Acme Corp./ORG], [Acme\u2019s/ORG]", [["Acme", "the Acme Corp.", "Acme\u2019s"]]),
        ("[Zoë Ray] or [Zoe Ray]", [["Zoë Ray", "Zoe Ray"]]),
        ("[Jean-Luc Roy], [Jean Luc Roy]", [["Jean-Luc Roy", "Jean Luc Roy"]]),
        # Aliases
        (
            "[US/GPE] [U.S./GPE] [the United States/GPE] [America/GPE] [UK/GPE] [Britain/GPE]",
            [["US", "U.S.", "the United States", "America"], ["UK", "Britain"]],
        ),
        ("[Kiev/GPE] is [Kyiv/GPE]", [["Kiev", "Kyiv"]]),
        ("[Islamic Republic of Iran/GPE], [Iran/GPE]", [["Islamic Republic of Iran", "Iran"]]),
        ("[Republic of Korea/GPE] [Korea/GPE]", [["Republic of Korea"], ["Korea"]]),
        # Demonyms stay apart from countries
        ("[America/GPE] [American/NORP] [Oman/GPE] [Omani/NORP]", [["America"], ["American"], ["Oman"], ["Omani"]]),
        # Acronyms
        ("[World Health Organization/ORG], [WHO/ORG]", [["World Health Organization", "WHO"]]),
        ("[Bank of Northern Ireland/ORG] and [BNI/ORG]", [["Bank of Northern Ireland", "BNI"]]),
        ("[Ministry of Defence/ORG]; [MoD/ORG]", [["Ministry of Defence", "MoD"]]),
        (
            "[European Space Agency/ORG] [ESA/ORG] [Eastern Ski Area/ORG]",
            [["European Space Agency", "ESA"], ["Eastern Ski Area"]],
        ),
        # A well-known acronym keeps its meaning
        ("[Universal Studios/ORG] in the [US/GPE]", [["Universal Studios"], ["US"]]),
        (
            "[Universal Studios/ORG] ([US/ORG]) in the [United States/GPE]",
            [["Universal Studios"], ["US", "United States"]],
        ),
        # Acronyms in brackets need not be initials
        ("[Wikimedia Deutschland/ORG] ([WMDE/ORG]). [WMDE/ORG]", [["Wikimedia Deutschland", "WMDE", "WMDE"]]),
        ("[WMDE/ORG] ([Wikimedia Deutschland/ORG])", [["WMDE", "Wikimedia Deutschland"]]),
        ("[Wikimedia Deutschland/ORG], [WMDE/ORG]", [["Wikimedia Deutschland"], ["WMDE"]]),
        # Persons
        ("[Ana Maria Reis], [Reis], [Ana], [A. Reis]", [["Ana Maria Reis", "Reis", "Ana", "A. Reis"]]),
        ("[Ana Maria Reis], [Maria Reis]", [["Ana Maria Reis", "Maria Reis"]]),
        ("[Vincent van Gogh]; [van Gogh]; [Gogh]", [["Vincent van Gogh", "van Gogh", "Gogh"]]),
        ("[Bashar al-Assad]; [al-Assad]; [Assad]", [["Bashar al-Assad", "al-Assad", "Assad"]]),
        ("[Kim Jong-un], [Kim], [Jong-un]", [["Kim Jong-un", "Kim", "Jong-un"]]),
        ("[Anne-Marie Low]. [Anne-Marie]. [Anne]", [["Anne-Marie Low", "Anne-Marie"], ["Anne"]]),
        ("[Sarah Smith-Jones] and [Smith-Jones]", [["Sarah Smith-Jones", "Smith-Jones"]]),
        ("[Ana Reis] [Carlos Reis]", [["Ana Reis"], ["Carlos Reis"]]),
        ("[George W. Bush] [George H. W. Bush]", [["George W. Bush"], ["George H. W. Bush"]]),
        ("[George Bush], [George W. Bush], [G. W. Bush]", [["George Bush", "George W. Bush", "G. W. Bush"]]),
        ("[Rosa de la Cruz] [de la Cruz] [Juan de la Cruz]", [["Rosa de la Cruz", "de la Cruz"], ["Juan de la Cruz"]]),
        ("[Donald Trump] [Donald Trump Jr.] [Trump Jr.]", [["Donald Trump"], ["Donald Trump Jr.", "Trump Jr."]]),
        ("[Martin King Jr.], [King]", [["Martin King Jr.", "King"]]),
        # A surname alone that was mistaken for an organisation or a place
        ("[Ana Reis], [Reis/ORG]", [["Ana Reis", "Reis"]]),
        ("[Ana Reis] and [Reis/GPE] said", [["Ana Reis", "Reis"]]),
        ("[Denzel Washington] in [Washington/GPE]", [["Denzel Washington"], ["Washington"]]),
        ("[Ana Reis] is [Reis/NORP]", [["Ana Reis"], ["Reis"]]),
        # Titles
        ("[President Reis], [Ana Reis]", [["President Reis", "Ana Reis"]]),
        ("Mr [Reis] and Mrs [Reis]. Mr. [Reis]", [["Reis", "Reis"], ["Reis"]]),
        # Organisations
        ("[Chelsea FC/ORG], [Chelsea/ORG]", [["Chelsea FC", "Chelsea"]]),
        ("[University of Leeds/ORG]: [University/ORG]", [["University of Leeds", "University"]]),
        (
            "[Ministry of Defence Police/ORG] [Ministry of Defence/ORG]",
            [["Ministry of Defence Police"], ["Ministry of Defence"]],
        ),
        ("[Church of Scientology/ORG] [Scientology/ORG]", [["Church of Scientology", "Scientology"]]),
        ("[Bank of Scotland/ORG] [Scotland/GPE]", [["Bank of Scotland"], ["Scotland"]]),
        # Places
        ("[Irving, Texas/GPE], [Irving/GPE], [Texas/GPE]", [["Irving, Texas", "Irving"], ["Texas"]]),
        (
            "[Salem, Ohio/GPE], [Salem, Utah/GPE] and [Salem/GPE]",
            [["Salem, Ohio"], ["Salem, Utah", "Salem"]],
        ),
        ("[Kansas City/GPE] [Kansas/GPE]", [["Kansas City"], ["Kansas"]]),
        # The halves of a divided country
        ("[North Korea/GPE] [South Korea/GPE] [the North/LOC]", [["North Korea", "the North"], ["South Korea"]]),
        ("[South Korea/GPE] [Korea/GPE]; [DPRK/GPE]", [["South Korea", "Korea"], ["DPRK"]]),
        ("[North Dakota/GPE] [the North/LOC]", [["North Dakota"], ["the North"]]),
        ("[South Sudan/GPE] [Sudan/GPE] [the South/LOC]", [["South Sudan", "the South"], ["Sudan"]]),
        # The last words of an organisation's name, and its first word taken for a person
        ("[U.S. Forest Service/ORG], [Forest Service/ORG]", [["U.S. Forest Service", "Forest Service"]]),
        ("[Farmers\u2019 League/ORG]: [the League/ORG]", [["Farmers\u2019 League", "the League"]]),
        ("[Acme Bank/ORG] [Zed Bank/ORG] [Bank/ORG]", [["Acme Bank"], ["Zed Bank", "Bank"]]),
        ("[Corrigan Motors/ORG] [Corrigan]", [["Corrigan Motors", "Corrigan"]]),
        ("[Corrigan Motors/ORG] [Jo Corrigan] [Corrigan]", [["Corrigan Motors"], ["Jo Corrigan", "Corrigan"]]),
        # Nicknames
        ("[Ana Reis], known as [Kestrel]. [Kestrel]", [["Ana Reis", "Kestrel", "Kestrel"]]),
        ("[Reis], 63, nicknamed \u2018[Spud/ORG]\u2019. [Ana Reis]", [["Reis", "Spud", "Ana Reis"]]),
        ("[Lhakpa], 44, whom trekkers call [Lucky]", [["Lhakpa", "Lucky"]]),
        ("[Ana Reis], known as [Carlos Reis]", [["Ana Reis"], ["Carlos Reis"]]),
        ("[Ana Reis], known to [Kestrel]", [["Ana Reis"], ["Kestrel"]]),
        # Letters behind a name
        ("[Ana Reis QC], [Reis], [Ana Reis]", [["Ana Reis QC", "Reis", "Ana Reis"]]),
    ],
)  # fmt: skip
def test_link_names_clusters(marked, clusters):
    assert clusters_of(marked) == clusters


@pytest.mark.parametrize(
    ("marked", "of_first", "of_second"),
    [
        # To the one named last before it; before both, to the first after it
        ("[Ana Reis], [Carlos Reis]. [Reis] said", 1, 2),
        ("[Reis] won. [Ana Reis] beat [Carlos Reis]", 2, 1),
        ("[Carlos Reis], [Ana Reis]. [Reis]. [Carlos Reis]", 2, 2),
        # An article keeps what a short name stands for
        ("[Ana Reis]. [Reis] ... [Carlos Reis]. [Reis]", 3, 1),
        # Titles outweigh nearness
        ("President [Ana Reis], Senator [Carlos Reis]. President [Reis] said", 2, 1),
        ("Sen. [Ana Reis], Gov. [Carlos Reis]; Senator [Reis]", 2, 1),
        ("Mr [Ana Reis], Mrs [Carlos Reis], Mr [Reis]", 2, 1),
        ("Mr [Kim Reis], [Robin Reis], Mrs [Reis]", 1, 2),
        # So do common given names
        ("[Carlos Reis], [Ana Reis], Mr [Reis]", 2, 1),
        ("[Ana Reis], [Carlos Reis], Mrs [Reis], Ms [Reis]", 3, 1),
        ("Mr [Ana Reis], Mrs [Carlos Reis], Mrs [Reis]", 1, 2),
    ],
)
def test_ambiguous_short_name_goes_to_one_person(marked, of_first, of_second):
    found = [len(cluster) for cluster in clusters_of(marked)]
    assert sorted(found) == sorted([of_first, of_second])
    by_full_name = {name: c for c in clusters_of(marked) for name in c if " " in name}
    first, second = re.findall(r"\[(\w+ Reis)\]", marked)[:2]
    assert (len(by_full_name[first]), len(by_full_name[second])) == (of_first, of_second)


def test_surname_alone_never_joins_two_persons():
    text, mentions = unmark("[Ana Reis] [Reis] [Carlos Reis] [Reis] [Dora Reis] Mrs [Reis] [Reis/ORG]")
    full = [m.cluster for m in link_names(text, mentions) if " " in text[m.start : m.end]]
    assert len(set(full)) == 3


def test_link_names_of_nothing_is_nothing():
    assert link_names("", []) == []
    assert propagate_names("", [], []) == []


def test_link_names_without_types_still_links():
    text, typed = unmark("[Ana Reis] [Ana Reis] [Bo]")
    assert [m.cluster for m in link_names(text, [m._replace(type=None) for m in typed])] == [0, 0, 1]


@pytest.mark.parametrize(
    ("marked", "added"),
    [
        ("[Ana Reis] met Ana Reis. Reis's car", [("Ana Reis", "PERSON"), ("Reis", "PERSON")]),
        # A given name alone, where it is a common one
        ("[Ana Reis] met Ana", [("Ana", "PERSON")]),
        ("[Quill Reis] met Quill", []),
        ("[the Acme/ORG] sued. Now Acme won.", [("Acme", "ORG")]),
        ("[Acme\u2019s/ORG] Acme\u2019s", [("Acme", "ORG")]),
        ("[World Health Board/ORG] (WHB) said WHB", [("WHB", "ORG"), ("WHB", "ORG")]),
        ("[World Health Board/ORG] (Fig) said Fig", []),
        # The type most often given
        ("[Rana/GPE] [Rana/PERSON] [Rana/PERSON] Rana", [("Rana", "PERSON")]),
        # Whole words only
        ("[Reis] Reiser, anti-Reis, Reis-like, reis", []),
        ("[US/GPE] and US but not USA", [("US", "GPE")]),
        ("[Xi] Xi", []),
        # Over a line break of one paragraph, not over a paragraph's border
        ("[Ana Reis] and Ana\nReis", [("Ana\nReis", "PERSON")]),
        ("[North Rana/GPE] up North\n\nRana", []),
        ("[Ana Reis] said\n\nReis", [("Reis", "PERSON")]),
        # "Jr." is no surname
        ("[Bo King Jr.] and Jr. or Jr", []),
        # A common word at a sentence's start is no name
        ("[Church/ORG] of the church. Church today. The Church", [("Church", "ORG")]),
        # Works and numbers are not looked for
        ("[Dune/WORK_OF_ART] Dune", []),
        # The longer name wins, and what is tagged stays
        ("[Rana/GPE] [Rana Bank/ORG] Rana Bank", [("Rana Bank", "ORG")]),
        ("[Rana/GPE] [Old Rana Road/FAC]", []),
        # and a longer known name takes the place of its tagged part
        ("[Rana Bank/ORG] lost. [Rana/GPE] Bank won", [("Rana Bank", "ORG")]),
    ],
)  # fmt: skip
def test_propagate_names_adds(marked, added):
    assert added_to(marked) == added


def test_propagate_names_settles_types_of_other_kinds():
    text, mentions = unmark("[Art Hall/ORG] [the Art Hall/WORK_OF_ART] [Dune/WORK_OF_ART] [Rana/GPE] [Rana/ORG]")
    result = propagate_names(text, paragraphs_of(text), mentions)
    assert [m.type for m in result] == ["ORG", "ORG", "WORK_OF_ART", "GPE", "ORG"]


def test_acronym_predicates():
    surfaces = ["U.N.", "MoD", "WHO", "Who", "A", "A B", "ABCDEFGHI"]
    assert [surface for surface in surfaces if is_acronym(surface)] == surfaces[:3]
    assert initials("Bank of Northern Ireland") == {"boni", "bni"}
    assert initials("Centers for Disease Control's Office") == {"cfdco", "cdco"}
    assert initials("Bank") == set()
    assert fits_in_order("WMDE", "Wikimedia Deutschland")
    assert not fits_in_order("WMDX", "Wikimedia Deutschland")
    assert not fits_in_order("IMD", "Wikimedia Deutschland")


names = st.lists(
    st.sampled_from(
        ["Ana", "Carlos", "A.", "Reis", "King", "Jr.", "Bush", "van", "Al-Assad", "World", "Health", "WHO", "US"]
    ),
    min_size=1,
    max_size=3,
).map(" ".join)
types = st.sampled_from(["PERSON", "ORG", "GPE", "NORP", "PRODUCT", None])
pieces = st.lists(
    st.tuples(st.sampled_from(["", " met ", "Mr ", "Mrs ", "\n\n", ". ", " (", ") in "]), names, types, st.booleans()),
    max_size=25,
)


def lay_out(parts):
    """A text and the mentions of those pieces that are tagged."""
    text, mentions = "", []
    for before, name, type_, tagged in parts:
        text += before + (" " if text[-1:].isalnum() and not before else "")
        if tagged:
            mentions.append(Mention(len(text), len(text) + len(name), UNLINKED, type_))
        text += name + " "
    return text, mentions


@given(pieces, st.randoms())
def test_link_names_is_a_partition_whatever_the_order(parts, random):
    text, mentions = lay_out(parts)
    linked = link_names(text, mentions)
    assert [m._replace(cluster=UNLINKED) for m in linked] == sorted(mentions, key=lambda m: (m.start, m.end))
    assert list(dict.fromkeys(m.cluster for m in linked)) == list(range(len({m.cluster for m in linked})))
    shuffled = list(mentions)
    random.shuffle(shuffled)
    assert link_names(text, shuffled) == linked
    assert link_names(text, linked) == linked


two_names = st.tuples(names, st.sampled_from(["PERSON", "ORG", "GPE", "NORP"]))


@given(two_names, two_names)
def test_link_of_two_names_is_the_same_from_either_side(one, other):
    both = [lay_out([("", *first, True), (" met ", *second, True)]) for first, second in ((one, other), (other, one))]
    there, back = (len({m.cluster for m in link_names(text, mentions)}) for text, mentions in both)
    assert there == back


# Of every short name here one full name is there, so that no order decides.
unambiguous = st.lists(
    st.sampled_from(
        [
            ("Ana Maria Reis", "PERSON"), ("Reis", "PERSON"), ("A. Reis", "PERSON"), ("Reis", "ORG"),
            ("Bo King Jr.", "PERSON"), ("King", "PERSON"), ("Kim Jong-un", "PERSON"), ("Kim", "PERSON"),
            ("World Health Board", "ORG"), ("WHB", "ORG"), ("Health Board", "ORG"), ("Zed FC", "ORG"), ("Zed", "ORG"),
            ("Irving, Texas", "GPE"), ("Irving", "GPE"), ("Texas", "GPE"), ("US", "GPE"), ("the United States", "GPE"),
        ]
    ),
    max_size=20,
)  # fmt: skip


@given(unambiguous, st.randoms())
def test_links_of_unambiguous_names_do_not_depend_on_their_order_in_the_article(parts, random):
    def partition(order):
        text, mentions = lay_out([(" met ", *part, True) for part in order])
        grouped: dict[int, set[str]] = {}
        for m in link_names(text, mentions):
            grouped.setdefault(m.cluster, set()).add(text[m.start : m.end])
        return sorted(map(sorted, grouped.values()))

    shuffled = list(parts)
    random.shuffle(shuffled)
    assert partition(shuffled) == partition(parts)


one_family = st.lists(
    st.tuples(
        st.sampled_from(["", "Mr ", "Mrs ", "President ", "in ", ", known as ", ", nicknamed '", "Mr Justice "]),
        st.sampled_from(["Ana Reis", "Carlos Reis", "Reis", "Ana", "C. Reis", "Ana M. Reis", "Carlos Reis Jr."]),
        st.sampled_from(["PERSON", "PERSON", "ORG", "GPE"]),
        st.just(True),
    ),
    max_size=25,
)  # fmt: skip


@pytest.mark.parametrize("resolve", [link_names, lambda text, ms: resolve_names(text, paragraphs_of(text), ms)])
@given(parts=one_family)
def test_link_names_keeps_persons_of_different_first_names_apart(resolve, parts):
    text, mentions = lay_out([part if " " not in part[1] else (*part[:2], "PERSON", True) for part in parts])
    first_names: dict[int, set[str]] = {}
    for m in resolve(text, mentions):
        words = [w for w in text[m.start : m.end].split() if w not in ("Jr.", "Justice")]
        if len(words) > 1:
            first_names.setdefault(m.cluster, set()).add(words[0][0] + words[-1])
    assert all(len(found) == 1 for found in first_names.values())


@given(pieces)
def test_propagated_mentions_lie_in_one_paragraph_and_overlap_none(parts):
    text, mentions = lay_out(parts)
    units = paragraphs_of(text)
    result = propagate_names(text, units, mentions)
    given_spans = [(m.start, m.end) for m in mentions]
    spans = [(m.start, m.end) for m in result]
    assert [s for s in spans if s in set(given_spans)] == given_spans
    assert all(a_end <= b_start for (_, a_end), (b_start, _) in pairwise(spans))
    for span in set(spans) - set(given_spans):
        assert any(u.start <= span[0] and span[1] <= u.end for u in units)
        assert text[span[0]].isupper()


@given(st.lists(st.sampled_from(["ana", "a", "carlos", "reis", "king", "jr", "maria"]), min_size=1, max_size=4))
def test_is_short_person_name_never_by_surname_alone(words):
    full = ("ana", "maria", "reis")
    if len(words) > 1 and is_short_person_name(tuple(words), full):
        assert words[-1] == "reis"
        assert {"carlos", "king", "jr"}.isdisjoint(words)
