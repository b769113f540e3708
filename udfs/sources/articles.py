"""From the bytes of one article to a row of the candidates: decode, parse, align, identify, hash.

Nothing is lost silently: what can't be used comes back as a reject with its reason, and what had to
be repaired stands in ``notes``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha1

from udfs.annotators.stand_off import MisalignedStandOff, StandOff, read_stand_off
from udfs.article_urls import url_key
from udfs.fold_of import fold_of
from udfs.near_duplicates import shingle_signature
from udfs.sources.files import MAX_STORY_BYTES
from udfs.sources.identity import publisher_of
from udfs.sources.outcomes import Candidate, RawArticle, SourceRules
from udfs.sources.pages import parse_page
from udfs.spans import Mention, Span
from udfs.story_text import StoryText, UnusableStory, decode_story, parse_story

_BYTE_ORDER_MARK = "\ufeff"


def make_candidate(raw: RawArticle, rules: SourceRules) -> Candidate:
    """The article that ``raw`` holds, or a reject; one that fails costs only itself."""
    row = Candidate(raw.source, raw.path, raw.item, raw.signature, raw.format, raw.article_id)
    row.url = raw.url or raw.listed_url
    if raw.reject_reason or raw.story is None or raw.article_id is None:
        row.reject_reason = raw.reject_reason or "unreadable_file"
        row.reject_detail = raw.reject_detail or "no story"
        return row
    if len(raw.story) > MAX_STORY_BYTES:
        row.reject_reason, row.reject_detail = "unreadable_file", f"more than {MAX_STORY_BYTES} bytes: not one article"
        return row
    try:
        story = _read_page(row, raw.story) if raw.format == "html" else _read_story(row, raw.story)
    except UnusableStory as error:
        row.reject_reason, row.reject_detail = error.reason, error.detail
        return row
    story = _with_stand_off(row, story, raw.tokens, raw.entities)
    row.text, row.paragraphs, row.highlights = story.text, story.paragraphs, story.highlights
    has_files = raw.tokens is not None or raw.entities is not None
    _identify(row, raw, rules, has_files)
    row.shingle_hashes = shingle_signature(story.text[story.paragraphs[0].start : story.paragraphs[-1].end])
    row.content_hash = content_hash(story.text, row.stand_off)
    return row


def _read_story(row: Candidate, content: bytes) -> StoryText:
    text, note = decode_story(content)
    story = parse_story(text if "\n" in text else text.replace("\r", "\n"))
    row.notes += [note] if note else []
    if "\r" in text and "\n" not in text:  # one for one: offsets stay true
        row.notes.append("line_ends:carriage_returns")
    return story


def _read_page(row: Candidate, content: bytes) -> StoryText:
    page = parse_page(content)
    story = parse_story(page.story)
    row.notes += page.notes
    row.url = row.url or page.url
    row.publisher = page.publisher
    return story


def content_hash(text: str, stand_off: Sequence[Mention] | None) -> str:
    """SHA-1 of the text and its stand-off; "no stand-off" and "no mention in it" differ."""
    digest = sha1(text.encode())
    digest.update(b"\x00-" if stand_off is None else b"\x00+")
    for start, end, cluster, _ in stand_off or ():
        digest.update(b"%d,%d,%d;" % (start, end, cluster))
    return digest.hexdigest()


def _identify(row: Candidate, raw: RawArticle, rules: SourceRules, has_files: bool) -> None:
    if rules.has_url_lists and not raw.listed_url:
        row.notes.append("url_not_listed")
    row.url_key = url_key(row.url)
    if rules.origin != "auto":
        row.origin = rules.origin
    else:
        row.origin = "hermann" if has_files or raw.in_hermann_list else "crawled"
    row.publisher = publisher_of(rules, raw.relative, row.url) or row.publisher
    row.fold = fold_of(raw.article_id or "")


def _with_stand_off(row: Candidate, story: StoryText, tokens: bytes | None, entities: bytes | None) -> StoryText:
    """Fills ``stand_off`` and ``notes``; returns the story whose text the stand-off fits."""
    if tokens is None and entities is None:
        return story
    if tokens is None or entities is None:
        row.notes.append(f"stand_off_incomplete:no {'tokens' if tokens is None else 'entities'}")
        return story
    if max(len(tokens), len(entities)) > MAX_STORY_BYTES:
        row.notes.append("stand_off_misaligned:the files are longer than any article's")
        return story
    # Digits and punctuation; any other byte becomes a character that is no digit, and is reported.
    lines = tokens.decode("latin-1"), entities.decode("latin-1")
    failure = ""
    for variant in _variants(story):
        try:
            fitted = variant.read(*lines)
        except MisalignedStandOff as error:
            failure = failure or str(error)
            continue
        row.stand_off = fitted.mentions
        row.notes += [f"stand_off_repaired:{variant.name}"] if variant.name else []
        row.notes += [f"mentions_dropped:{fitted.dropped}"] if fitted.dropped else []
        return variant.story
    row.notes.append(f"stand_off_misaligned:{failure}")
    return story


@dataclass(frozen=True)
class _Variant:
    """A copy of the story that the offsets may have been made on."""

    name: str
    story: StoryText
    has_mark: bool = False
    in_characters: bool = False

    def read(self, tokens_line: str, entities_line: str) -> StandOff:
        story = self.story
        parts = [*story.paragraphs, *story.highlights]
        if not self.has_mark:
            return read_stand_off(story.text, parts, tokens_line, entities_line, in_characters=self.in_characters)
        # The mark is not kept in the text: align with it, then shift back. A first token may include it.
        first, *others = (Span(p.start + 1, p.end + 1) for p in parts)
        fitted = read_stand_off(
            _BYTE_ORDER_MARK + story.text,
            [Span(0, first.end), *others],
            tokens_line,
            entities_line,
            in_characters=self.in_characters,
        )
        mentions = (Mention(max(0, m.start - 1), m.end - 1, m.cluster) for m in fitted.mentions)
        return StandOff(tuple(mentions), fitted.dropped)


def _variants(story: StoryText) -> Iterator[_Variant]:
    """The text as it is, then what editors, checkouts and rewrites of the script make of it: other line ends,
    a byte order mark, white space lost at the start, offsets that count characters."""
    texts = {"": story.text}
    line_feeds = story.text.replace("\r\n", "\n").replace("\r", "\n")
    for name, text in (
        ("line_feeds", line_feeds),
        ("carriage_returns", line_feeds.replace("\n", "\r\n")),
        ("stripped", story.text.strip()),
        ("stripped_line_feeds", line_feeds.strip()),
    ):
        if text not in texts.values():
            texts[name] = text
    stories = {"": story} | {name: parsed for name, text in texts.items() if name and (parsed := _parsed(text))}
    for in_characters in (False, True):
        if in_characters and story.text.isascii():
            continue
        for name, parsed in stories.items():
            for has_mark in (False, True):
                parts = (name, "byte_order_mark" if has_mark else "", "characters" if in_characters else "")
                yield _Variant("+".join(p for p in parts if p), parsed, has_mark, in_characters)


def _parsed(text: str) -> StoryText | None:
    try:
        return parse_story(text)
    except UnusableStory:  # with other line ends it begins with a marker, say: not the copy we look for
        return None
