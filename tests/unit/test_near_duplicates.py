"""MinHash signatures and their bands."""

import random
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.near_duplicates import N_PERMUTATIONS, band_rows, shingle_signature


def words(n: int, seed: int) -> list[str]:
    return [f"w{random.Random(f'{seed}-{i}').randrange(10**6)}" for i in range(n)]


def share_of_equal(one: str, other: str) -> float:
    return float((shingle_signature(one) == shingle_signature(other)).mean())


def shingles(text: list[str]) -> set[tuple[str, ...]]:
    return {tuple(text[i : i + 5]) for i in range(len(text) - 4)}


def true_jaccard(one: list[str], other: list[str]) -> float:
    a, b = shingles(one), shingles(other)
    return len(a & b) / len(a | b)


@pytest.mark.parametrize("edits", [0, 2, 5, 20, 60, 400])
def test_signature_estimates_the_share_of_common_shingles(edits: int) -> None:
    differences = []
    for seed in range(12):
        one = words(400, seed)
        other = list(one)
        for position in random.Random(seed).sample(range(400), edits):
            other[position] += "x"
        estimate = share_of_equal(" ".join(one), " ".join(other))
        differences.append(estimate - true_jaccard(one, other))
    assert max(map(abs, differences)) < 4 / 16  # four standard errors
    assert abs(sum(differences) / 12) < 0.06


def test_signature_ignores_case_and_white_space_but_not_the_order_of_words() -> None:
    text = "Ann Ray won the race in Oslo on Monday"
    assert shingle_signature(text).tolist() == shingle_signature(text.upper().replace(" ", "\n\n ")).tolist()
    assert share_of_equal(text, " ".join(reversed(text.split()))) < 0.2


def test_signature_of_few_words_is_that_of_the_whole() -> None:
    assert shingle_signature("Ann won").tolist() == shingle_signature("ann  won").tolist()
    assert share_of_equal("Ann won", "won Ann") == 0
    assert len(shingle_signature("")) == N_PERMUTATIONS


def test_signature_is_the_same_in_another_process_and_version() -> None:
    code = "from udfs.near_duplicates import *; print(shingle_signature('Zoë Ray met Al-Din in Paris').tolist()[:3])"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert other == str(shingle_signature("Zoë Ray met Al-Din in Paris").tolist()[:3])
    # Signatures in the tables are compared with later ones: a change of these numbers needs a new ingest.
    assert other == "[2072099991, 3542800763, 2593414349]"


@given(st.text())
def test_signature_takes_any_text(text: str) -> None:
    values = shingle_signature(text)
    assert len(values) == N_PERMUTATIONS
    assert all(0 <= v < 2**32 for v in values)


def test_signature_takes_less_than_a_millisecond() -> None:
    text = " ".join(words(800, 1))
    shingle_signature(text)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        shingle_signature(text)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.001


@pytest.mark.parametrize(("threshold", "rows"), [(0.0, 1), (0.5, 2), (0.8, 4), (0.9, 7), (1.0, 64)])
def test_band_rows_find_pairs_at_the_threshold(threshold: float, rows: int) -> None:
    assert band_rows(threshold) == rows
    if threshold:
        assert 1 - (1 - threshold**rows) ** (N_PERMUTATIONS // rows) >= 0.995
