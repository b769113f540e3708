"""An article under two annotators: what is marked, and how."""

import re

from jobs.transforms.browse.comparison import comparison_html
from udfs.spans import Mention

TEXT = "Ann <Ray> met Bo. Ray and Bo left Oslo."
ANN, BO, RAY, BO_AGAIN, OSLO = (0, 3), (14, 16), (18, 21), (26, 28), (34, 38)


def marks(side: str) -> dict[str, tuple[str, str]]:
    """(title, style) by position and text of each mark."""
    found = re.findall(r'<mark title="([^"]*)" style="([^"]*)">([^<]*)</mark>', side)
    return {f"{n} {text}": (title, style) for n, (title, style, text) in enumerate(found)}


def test_differences_are_marked_on_their_side() -> None:
    left = [Mention(*ANN, 0), Mention(*RAY, 0), Mention(*BO, 1), Mention(*BO_AGAIN, 1), Mention(*OSLO, 2)]
    right = [Mention(*BO, 0), Mention(*ANN, 1), Mention(*RAY, 0), Mention(*BO_AGAIN, 0)]
    html = comparison_html(TEXT, ("stand-off", left), ("spa<Cy>", right))
    first, second = html.split("<h4>")[1:]
    assert first.startswith("stand-off</h4>")
    assert second.startswith("spa&lt;Cy&gt;</h4>")
    assert "Ann</mark> &lt;Ray&gt; met" in first
    ours, theirs = marks(first), marks(second)
    assert list(ours) == ["0 Ann", "1 Bo", "2 Ray", "3 Bo", "4 Oslo"]
    assert list(theirs) == ["0 Ann", "1 Bo", "2 Ray", "3 Bo"]
    assert ours["4 Oslo"][0] == "cluster 2, on this side alone"
    # Ray is Ann's on the left and Bo's on the right: all of both entities are linked otherwise.
    assert all("linked otherwise" in title for name, (title, _) in [*ours.items(), *theirs.items()] if "Oslo" not in name)


def test_the_same_entity_has_one_colour_whatever_its_number() -> None:
    left = [Mention(*ANN, 0), Mention(*RAY, 0), Mention(*BO, 1)]
    right = [Mention(*BO, 0), Mention(*ANN, 5), Mention(*RAY, 5)]
    first, second = comparison_html(TEXT, ("a", left), ("b", right)).split("<h4>")[1:]
    ours, theirs = marks(first), marks(second)
    assert {name: style for name, (_, style) in ours.items()} == {name: style for name, (_, style) in theirs.items()}
    assert ours["0 Ann"][1] != ours["1 Bo"][1]
    assert not any("otherwise" in title or "alone" in title for title, _ in [*ours.values(), *theirs.values()])
