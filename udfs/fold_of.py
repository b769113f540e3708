"""Folds: a stable hash of the article id, so no article moves when others arrive."""

from hashlib import sha1

N_FOLDS = 5


def fold_of(article_id: str) -> int:
    """The fold, 0 to 4, of an article and all of its queries: SHA-1 of the id, modulo 5."""
    return int(sha1(article_id.encode()).hexdigest(), 16) % N_FOLDS
