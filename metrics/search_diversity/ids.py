# SPDX-License-Identifier: Apache-2.0
"""The order of document ids, and where ranked ids stand among the documents of their query."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .queries import runs

Ints = NDArray[np.integer[Any]]
Words = NDArray[np.uint64]

# Bits of the first 0 to 8 bytes of a word.
_BYTES = np.array([0] + [(1 << 64) - (1 << (64 - 8 * n)) for n in range(1, 9)], np.uint64)


def id_words(docs: pa.Array | None, ranked: pa.Array | None) -> tuple[Words, Words]:
    """Numbers that are ordered, and equal, as the UTF-8 bytes of the ids are.

    Args:
        docs: (D,) Arrow large strings, or None.
        ranked: (R,) Arrow large strings, or None.
    Returns:
        (D,) and (R,) uint64.
    """
    parts = [pa.array([], pa.large_string()) if ids is None else ids for ids in (docs, ranked)]
    words = _words(pa.chunked_array(parts).combine_chunks())
    return words[: len(parts[0])], words[len(parts[0]) :]


def _words(ids: pa.Array) -> Words:
    """Ids of up to 8 bytes are big-endian numbers.

    Longer ones, and ids with NUL, which padding cannot be told from, are numbered in order.
    """
    offsets = np.frombuffer(ids.buffers()[1], np.int64)[ids.offset : ids.offset + len(ids) + 1]
    lengths = np.diff(offsets)
    text = np.frombuffer(ids.buffers()[2] or b"", np.uint8)
    first, last = (int(offsets[0]), int(offsets[-1])) if len(ids) else (0, 0)
    if lengths.max(initial=0) > 8 or not text[first:last].all():
        encoded = ids.dictionary_encode()
        number = np.empty(len(encoded.dictionary), np.uint64)
        number[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(number))
        return np.asarray(number[encoded.indices.to_numpy()])
    padded = np.concatenate([text[first:last], np.zeros(8, np.uint8)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 8)
    words = np.ascontiguousarray(windows[offsets[:-1] - first]).view(">u8")[:, 0]
    return words.astype(np.uint64) & _BYTES[lengths]


def order_docs(docs: Words, n_docs: Ints) -> tuple[Ints, int | None]:
    """Place of each document's id among those of its query, smallest first.

    Args:
        docs: (sum n_docs,) uint64, `id_words`.
        n_docs: (Q,) int.
    Returns:
        (places, index of an id that its query has twice or None).
    """
    if n_docs.size and (n_docs == n_docs[0]).all():
        rows = docs.reshape(len(n_docs), -1)
        order = rows.argsort(axis=1)
        place = np.empty(rows.shape, np.int64)
        np.put_along_axis(place, order, np.arange(rows.shape[1])[None], axis=1)
        ordered = np.take_along_axis(rows, order, axis=1)
        repeated = np.argwhere(ordered[:, 1:] == ordered[:, :-1])[:1].tolist()
        return place.ravel(), next(
            (q * rows.shape[1] + int(order[q, i]) for q, i in repeated), None
        )
    query, position = runs(n_docs)
    by_query = np.lexsort((docs, query))
    places = np.empty(len(docs), np.int64)
    places[by_query] = position
    return places, _repeat(by_query, docs, query)


def find(docs: Words, n_docs: Ints, ranked: Words, n_ranked: Ints) -> tuple[Ints, int | None]:
    """Position of each ranked id among the documents of its query, -1 where it is unjudged.

    Args:
        docs: (sum n_docs,) uint64, `id_words` without repeats in a query.
        n_docs: (Q,) int.
        ranked: (sum n_ranked,) uint64, of the same call of `id_words`.
        n_ranked: (Q,) int.
    Returns:
        (positions, index of an id that its ranking has twice or None).
    """
    same = n_docs.size and (n_docs == n_docs[0]).all() and np.array_equal(n_docs, n_ranked)
    if same and (found := _find_in_permutations(docs, ranked, int(n_docs[0]))) is not None:
        return found, None
    doc_query, position = runs(n_docs)
    query, _ = runs(n_ranked)
    order = np.lexsort((docs, doc_query))
    # Both as numbers of one order: of ids first, then of (query, id) pairs.
    both, code = np.unique(np.concatenate([docs, ranked]), return_inverse=True)
    pairs = doc_query * len(both) + code[: len(docs)]
    wanted = query * len(both) + code[len(docs) :]
    at = np.searchsorted(pairs[order], wanted)
    judged = np.append(pairs[order], -1)[at] == wanted
    found = np.where(judged, np.append(position[order], -1)[at], -1)
    return found, _repeat(np.lexsort((ranked, query)), ranked, query)


def _find_in_permutations(docs: Words, ranked: Words, n: int) -> Ints | None:
    """The fast way where every ranking holds exactly the documents of its query."""
    docs, ranked = docs.reshape(-1, n), ranked.reshape(-1, n)
    doc_order, ranked_order = docs.argsort(axis=1), ranked.argsort(axis=1)
    sorted_docs = np.take_along_axis(docs, doc_order, axis=1)
    if not np.array_equal(sorted_docs, np.take_along_axis(ranked, ranked_order, axis=1)):
        return None
    found = np.empty(docs.shape, np.int64)
    np.put_along_axis(found, ranked_order, doc_order, axis=1)
    return found.ravel()


def _repeat(order: Ints, words: Words, query: Ints) -> int | None:
    """Index of the first word that its query holds before."""
    same = (np.diff(query[order]) == 0) & (words[order[1:]] == words[order[:-1]])
    return next(iter(order[1:][same].tolist()), None)
