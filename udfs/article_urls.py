"""URLs of news articles: their ids, and a key under which two spellings of one address meet.

The public script names an article by the SHA-1 of its URL *as listed*, archive prefix included
(``article_id_of_url``). To see that a crawled page is the same article, addresses are compared by
``url_key``, which leaves out what varies without naming another page.
"""

import re
from collections.abc import Iterable, Iterator
from hashlib import sha1
from urllib.parse import urlsplit

# http://web.archive.org/web/20111016030125id_/http://www.cnn.com:80/... ; the inner scheme may be missing
# or have lost a slash.
_ARCHIVE = re.compile(r"(?:https?:)?/*(?:www\.|web\.)?archive\.org(?::\d+)?/web/(?:\d+|\*)[a-z_]*/", re.IGNORECASE)
_SCHEME = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?/+|[a-z][a-z0-9+.-]*:/+", re.IGNORECASE)
_USUAL_PORT = re.compile(r":(?:80|443)?$")
_NEXT_URL = re.compile(r",(?=https?://)")


def article_id_of_url(url: str) -> str:
    """The article id: SHA-1, in hex, of the URL exactly as it was listed."""
    return sha1(url.encode("utf-8", "surrogatepass")).hexdigest()


def url_key(url: str | None) -> str | None:
    """The address without archive prefix, scheme, user, usual port, ``www.``, fragment, ``utm_`` parameters
    and trailing slash; the host in lower case. None where there is no host.

    Example: ``http://web.archive.org/web/2011id_/http://www.cnn.com:80/a/#b`` gives ``cnn.com/a``.
    """
    rest = (url or "").strip()
    while (prefix := _ARCHIVE.match(rest)) and prefix.end() < len(rest):
        rest = rest[prefix.end() :]
    if scheme := _SCHEME.match(rest):
        rest = rest[scheme.end() :]
    try:
        parts = urlsplit("//" + rest)
    except ValueError:  # brackets that hold no address
        return None
    host = _USUAL_PORT.sub("", parts.netloc.rpartition("@")[2].lower()).rstrip(".").removeprefix("www.")
    if not host or any(c.isspace() for c in host):
        return None
    query = "&".join(p for p in parts.query.split("&") if p and not p.lower().startswith("utm_"))
    return host + parts.path.rstrip("/") + (f"?{query}" if query else "")


def host_of(url: str | None) -> str | None:
    """The host of an address without ``www.`` and port: ``cnn.com``."""
    key = url_key(url)
    return re.split(r"[/?:]", key, maxsplit=1)[0] or None if key else None


def listed_urls(lines: Iterable[str]) -> Iterator[str]:
    """The URLs of a list, one a line, each exactly as it stands there.

    Some of the public script's lists hold several addresses of one article in a line, with commas
    between them. A comma may also belong to an address, so both readings are given: the id decides.
    """
    for line in lines:
        url = line.strip("\r\n\t \ufeff")
        if not url:
            continue
        yield url
        parts = _NEXT_URL.split(url)
        if len(parts) > 1:
            yield from parts
