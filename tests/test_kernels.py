# SPDX-License-Identifier: Apache-2.0
"""The vectorised kernels hold to the plain loops at sizes where vectorising could go wrong."""

import random

import numpy as np
import pytest
from reference import diversity_query
from support import load

ALPHAS = (0.0, 0.1, 0.5, 0.9, 1.0)
SUBTOPICS = (0, 1, 2, 7, 8, 9, 17, 64, 200)
DOCUMENTS = (1, 2, 8, 9, 33, 129, 500)


def labels(rng, documents, subtopics):
    share = rng.choice([0.02, 0.2, 0.9])
    drawn = list(range(subtopics))
    return {
        f"d{i}": [str(s) for s in drawn if rng.random() < share]
        for i in rng.sample(range(documents), documents)
    }


@pytest.mark.filterwarnings("ignore:.*are judged")
@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("subtopics", SUBTOPICS)
@pytest.mark.parametrize("documents", DOCUMENTS)
def test_bits_of_standard(search_diversity, documents, subtopics, alpha):
    """One query alone, and two of other sizes with it in the block: numpy must not add pairwise."""
    rng = random.Random(f"{documents} {subtopics} {alpha}")
    depths = sorted({1, 2, 10, min(documents, 40), min(documents, 40) + 7})
    sizes = [documents] if documents > 100 else [documents, documents + 1, max(1, documents // 2)]
    judged = [labels(rng, size, subtopics) for size in sizes]
    rankings = [rng.sample(list(query), len(query)) for query in judged]
    rows = {"predictions": rankings, "references": judged}
    found = search_diversity.compute(**rows, alpha=alpha, k=depths, per_query=True)["per_query"]
    for i, (ranking, query) in enumerate(zip(rankings, judged, strict=True)):
        expected = diversity_query(ranking, query, alpha=alpha, k=depths)
        assert {key: found[key][i] for key in expected} == expected


def test_many_queries_of_many_sizes_score_as_each_alone(search_diversity):
    rng = random.Random(5)
    judged = [labels(rng, rng.randint(1, 40), rng.randint(0, 30)) for _ in range(3000)]
    rankings = [rng.sample(list(query), rng.randint(0, len(query))) for query in judged]
    for protocol in ("standard", "released", "recipe"):
        options = {"protocol": protocol, "per_query": True}
        together = search_diversity.compute(predictions=rankings, references=judged, **options)
        for i in range(0, 3000, 29):
            if not rankings[i]:
                continue
            rows = {"predictions": [rankings[i]], "references": [judged[i]]}
            alone = search_diversity.compute(**rows, **options)["per_query"]
            assert {key: [row[i]] for key, row in together["per_query"].items()} == alone


@pytest.mark.parametrize("length", [1, 7, 8, 9, 16, 30])
def test_ids_of_every_length_order_as_bytes(search_diversity, length):
    """Short ids are compared as numbers, longer ones by their place in a dictionary."""
    rng = random.Random(length)
    letters = ["a", "b", "\x01", "é", "\U0001f600", "\uffff", "z" * length]
    ids = {"".join(rng.choices(letters, k=rng.randint(1, length))) for _ in range(12)}
    ids |= {"a", "a\x00", "ab"} if length == 9 else {"a", "ab"}
    judged = {doc: ["1"] if i % 3 else ["2"] for i, doc in enumerate(sorted(ids))}
    scores = dict.fromkeys(judged, 1.0)
    ranking = sorted(judged, key=lambda doc: doc.encode(), reverse=True)
    with pytest.warns(UserWarning, match="equal scores"):
        by_score = search_diversity.compute(
            predictions=[list(scores.values())], references=[judged], k=3
        )
    assert by_score == search_diversity.compute(predictions=[ranking], references=[judged], k=3)


CANDIDATES = (1, 2, 7, 8, 9, 255, 2039, 2040, 2041, 2048, 6108, 20_000)
DTYPES = (np.float16, np.float32, np.float64, np.longdouble)


@pytest.mark.parametrize("candidates", CANDIDATES)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_counts_of_ranks_and_ties(candidates, dtype):
    """Bytes of counts are added 255 at a time: no count may overflow, at any width."""
    rng = np.random.default_rng(candidates)
    scores = rng.integers(-3, 4, (9, candidates)).astype(dtype)
    scores[0] = 0
    scores[1] = 1
    scores[1, -1] = -1
    scores[2] = -np.inf
    scores[3, rng.integers(candidates)] = np.inf
    gold = rng.integers(0, candidates, 9)
    gold[1] = candidates - 1
    for arrangement in (scores, np.asfortranarray(scores), np.repeat(scores, 2, axis=0)[::2]):
        result = load("quoter_rank").compute(
            predictions=arrangement, references=gold, per_query=True, ties="optimistic"
        )
        last = load("quoter_rank").compute(
            predictions=arrangement, references=gold, per_query=True, ties="pessimistic"
        )
        for i, row in enumerate(scores.tolist()):
            best = 1 + sum(score > row[gold[i]] for score in row)
            assert result["per_query"]["rank"][i] == best
            assert last["per_query"]["rank"][i] == best - 1 + row.count(row[gold[i]])


@pytest.mark.parametrize("candidates", [1, 2, 9, 2041])
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
def test_nan_is_found_wherever_it_is(candidates, dtype):
    scores = np.zeros((40, candidates), dtype)
    scores[:, 0] = 1
    for query, column in ((0, 0), (7, candidates - 1), (39, candidates // 2)):
        broken = scores.copy()
        broken[query, column] = np.nan
        for gold in {0, column}:
            with pytest.raises(ValueError, match=f"^`predictions` must hold no NaN.* {query}$"):
                load("quoter_rank").compute(predictions=broken, references=[gold] * 40)


def test_memory_mapped_scores(tmp_path):
    scores = np.random.default_rng(0).random((500, 700), np.float32)
    gold = np.arange(500)
    np.save(tmp_path / "scores.npy", scores)
    mapped = np.load(tmp_path / "scores.npy", mmap_mode="r")
    expected = load("quoter_rank").compute(predictions=scores, references=gold)
    assert load("quoter_rank").compute(predictions=mapped, references=gold) == expected
