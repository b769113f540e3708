"""An article under two annotators as HTML, with the differences marked."""

from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from jobs.transforms.browse.colours import BLUE, RED
from jobs.transforms.browse.html import Marked, cluster_style, highlight
from udfs.spans import Span

_ALONE = f"background:#fff;color:#111;outline:2px solid {RED}"
_OTHER_LINKS = f"text-decoration:underline wavy {BLUE} 2px;text-underline-offset:3px"


def comparison_html(text: str, left: tuple[str, Iterable[Any]], right: tuple[str, Iterable[Any]]) -> str:
    """Two annotations of a text side by side.

    A mention that both have is in the colour of its cluster, the same one on both sides; one that is on one
    side alone is framed; one that the two link to different mentions is underlined with a wave.

    Args:
        text: the article's.
        left, right: name and mentions (start, end, cluster) of the two annotators.
    """
    of_left, of_right = _clusters(left[1]), _clusters(right[1])
    styles = _styles(of_left, of_right)
    sides = (
        _side(text, left[0], of_left, of_right, {c: cluster_style(c) for c in of_left.values()}),
        _side(text, right[0], of_right, of_left, styles),
    )
    return f"<div style='display:flex;gap:2em'>{''.join(sides)}</div>"


def _side(text: str, name: str, own: dict[Span, int], others: dict[Span, int], styles: Mapping[int, str]) -> str:
    marks = []
    for span, cluster in own.items():
        title = f"cluster {cluster}"
        if span not in others:
            marks.append(Marked(*span, f"{title}, on this side alone", _ALONE))
        elif _linked(span, own, others) != _linked(span, others, own):
            marks.append(
                Marked(*span, f"{title}, linked otherwise on the other side", f"{styles[cluster]};{_OTHER_LINKS}")
            )
        else:
            marks.append(Marked(*span, title, styles[cluster]))
    body = f"<div style='white-space:pre-wrap;line-height:1.7'>{highlight(text, marks)}</div>"
    return f"<div style='flex:1;min-width:20em'><h4>{escape(name)}</h4>{body}</div>"


def _linked(span: Span, own: dict[Span, int], others: dict[Span, int]) -> set[Span]:
    """The mentions of a mention's cluster, as far as both sides have them."""
    return {s for s, cluster in own.items() if cluster == own[span] and s in others}


def _clusters(mentions: Iterable[Any]) -> dict[Span, int]:
    found: dict[Span, int] = {}
    for m in mentions:
        found.setdefault(Span(m.start, m.end), m.cluster)
    return found


def _styles(of_left: dict[Span, int], of_right: dict[Span, int]) -> dict[int, str]:
    """The style of each cluster on the right: that of the left one with which it shares most mentions."""
    shared = Counter((of_right[span], of_left[span]) for span in of_left.keys() & of_right.keys())
    styles: dict[int, str] = {}
    for (theirs, ours), _ in sorted(shared.items(), key=lambda item: (-item[1], item[0])):
        styles.setdefault(theirs, cluster_style(ours))
    return styles
