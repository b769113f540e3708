"""Near-identical texts: MinHash signatures of 5-word shingles, and the bands that find pairs.

The share of permutations with equal minima estimates the Jaccard similarity of the two sets of
shingles (standard error at most 1/16 with 64 permutations). Needs numpy and datasketch.
"""

from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np
from datasketch import MinHash
from numpy.typing import NDArray

N_PERMUTATIONS = 64
SHINGLE_WORDS = 5
# Share of the pairs exactly at the threshold that the bands must find.
MIN_RECALL = 0.995
# Fixed, with the scheme below: signatures of different runs and versions are compared with each other.
_SEED = 1
_SCHEME: Any = "affine32"
# Odd 64-bit multipliers make a shingle's hash depend on the order of its words.
_MULTIPLIERS = np.array([pow(0x9E3779B97F4A7C15, k, 1 << 64) for k in range(1, SHINGLE_WORDS + 1)], dtype=np.uint64)


def shingle_signature(body: str) -> NDArray[np.int64]:
    """The MinHash signature, 64 values below 2**32, of the lower-cased white space 5-word shingles of ``body``.

    A text of fewer than five words is one shingle; white space alone is the empty shingle.
    """
    sketch = MinHash(N_PERMUTATIONS, seed=_SEED, hashfunc=_as_is, permutations=_permutations(), scheme=_SCHEME)
    sketch.update_batch(_shingle_hashes(body.lower().split()).tolist())
    signature: NDArray[np.int64] = sketch.hashvalues.astype(np.int64)
    return signature


def _shingle_hashes(words: list[str]) -> NDArray[np.uint64]:
    """32-bit hashes of the different shingles. Each word is hashed once, the shingles are sums in numpy:
    hashing every shingle's bytes would cost five times as much."""
    hashes = np.fromiter((crc32(w.encode("utf-8", "surrogatepass")) for w in words), dtype=np.uint64, count=len(words))
    if len(words) < SHINGLE_WORDS:
        shingles = (hashes * _MULTIPLIERS[: len(words)]).sum(keepdims=True, dtype=np.uint64)
    else:
        windows = np.lib.stride_tricks.sliding_window_view(hashes, SHINGLE_WORDS)
        shingles = (windows * _MULTIPLIERS).sum(axis=1, dtype=np.uint64)
    mixed: NDArray[np.uint64] = (shingles ^ (shingles >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.unique(mixed >> np.uint64(32))


def _as_is(value: int) -> int:
    return value


@lru_cache(maxsize=1)
def _permutations() -> Any:
    return MinHash(N_PERMUTATIONS, seed=_SEED, scheme=_SCHEME).permutations


def band_rows(threshold: float) -> int:
    """Rows a band for pairs of similarity ``threshold`` and above: as many as keep the recall at ``MIN_RECALL``.

    Longer bands bring fewer pairs that are then found to differ. With 0.8: 4 rows, 16 bands, recall 0.9998.
    """
    for rows in range(N_PERMUTATIONS, 1, -1):
        bands = N_PERMUTATIONS // rows
        if 1 - (1 - threshold**rows) ** bands >= MIN_RECALL:
            return rows
    return 1
