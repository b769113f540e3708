"""The characters of a web page: which encoding its bytes are in.

In the order of the HTML standard: a byte order mark, then the charset that the page declares, in
``<meta charset>``, ``<meta http-equiv="Content-Type">`` or an XML declaration. As in browsers, "iso-8859-1"
and "ascii" mean windows-1252, which has curly quotes and the euro sign where those have nothing.

Unlike a browser this does not believe a declaration against the bytes. Text that is UTF-8 throughout, by
chance never that of another encoding, is UTF-8 whatever the page says; and a UTF-8 page with a few bytes
that are none, as where parts of other pages were pasted in, has those in windows-1252.
"""

import re
from dataclasses import dataclass

from udfs.story_text import UnusableStory

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
# What labels mean, after the Encoding standard. A label that could be read so far is not in UTF-16.
_UTF_8 = frozenset("utf-8 utf8 unicode-1-1-utf-8 utf-16 utf-16le utf-16be".split())
_WINDOWS_1252 = frozenset(
    "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso88591 iso_8859-1 latin1 latin-1 l1 "
    "ascii us-ascii ansi_x3.4-1968 cp819 ibm819".split()
)
_OTHERS = re.compile(r"(?:windows-|cp)125[0-8]|iso-8859-(?:[2-8]|1[03-6])|koi8-[ru]")
_HEAD_BYTES = 256 * 1024
# A declaration inside a comment or a script declares nothing.
_HIDDEN_OR_TAG = re.compile(
    rb"<!--.*?-->|<(script|style)\b.*?</\1|<meta\b(?P<meta>[^>]*)>|<\?xml\b(?P<xml>[^>]*)\?>", re.DOTALL | re.IGNORECASE
)
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"encoding\s*=\s*[\"']([\w.:-]+)")

# windows-1252 where it differs from latin-1; five bytes of it stand for nothing.
WINDOWS_1252_SIGNS = {b: sign for b in range(0x80, 0xA0) if (sign := bytes([b]).decode("cp1252", "ignore"))}
_ESCAPED_BYTES = {0xDC00 + b: WINDOWS_1252_SIGNS.get(b, chr(b)) for b in range(0x80, 0x100)}
_ESCAPED = re.compile("[\udc80-\udcff]")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A page's text; ``contradicts`` is the page's own label where it was not followed."""

    text: str
    encoding: str
    contradicts: str | None = None


def decode_page(page: bytes) -> Decoded:
    """Decodes a page; a wrong, unknown or missing label is no obstacle.

    Raises:
        UnusableStory: ``empty``, ``undecodable`` (binary content: a NUL byte without a mark of UTF-16).
    """
    if not page.strip():
        raise UnusableStory("empty", f"{len(page)} bytes, none but white space")
    for mark, encoding in _MARKS:
        if page.startswith(mark):
            return Decoded(page[len(mark) :].decode(encoding, "replace"), encoding)
    if b"\x00" in page:
        raise UnusableStory("undecodable", f"binary content: a NUL byte at {page.index(0)}")
    label = declared_charset(page)
    declared = _encoding_of(label)
    text, encoding = _by_the_bytes(page, declared or "windows-1252")
    if text.isascii() and declared:
        return Decoded(text, declared)
    return Decoded(text, encoding, label if encoding != declared else None)


def declared_charset(page: bytes) -> str | None:
    """The charset that the page declares in its head, in lower case; None where it declares none.

    The standard looks at the first 1,024 bytes; real pages have scripts before their declaration.
    """
    for found in _HIDDEN_OR_TAG.finditer(page, 0, _HEAD_BYTES):
        pattern = _XML_ENCODING if found["xml"] is not None else _CHARSET
        if charset := pattern.search(found["meta"] or found["xml"] or b""):
            return charset[1].decode("ascii", "replace").lower()
    return None


def _encoding_of(label: str | None) -> str | None:
    if label in _UTF_8:
        return "utf-8"
    if label in _WINDOWS_1252:
        return "windows-1252"
    if label == "iso-8859-9":
        return "windows-1254"
    return label if label and _OTHERS.fullmatch(label) else None


def _by_the_bytes(page: bytes, declared: str) -> tuple[str, str]:
    text = page.decode("utf-8", "surrogateescape")
    wrong = len(_ESCAPED.findall(text))
    if not wrong:
        return text, "utf-8"
    if len(_NOT_ASCII.findall(text)) > 2 * wrong:  # more characters of UTF-8 than bytes that are none
        return text.translate(_ESCAPED_BYTES), "utf-8+windows-1252"
    if declared in ("utf-8", "windows-1252"):
        return page.decode("latin-1").translate(WINDOWS_1252_SIGNS), "windows-1252"
    return page.decode(declared, "replace"), declared
