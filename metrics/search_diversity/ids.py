# SPDX-License-Identifier: Apache-2.0
"""The order of document ids, and the position of ranked ids among the documents of their query."""

import hashlib
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from .common_rows import runs, starts

Ints = NDArray[np.integer[Any]]
Words = NDArray[np.uint64]

# Masks that keep the first 0 to 8 bytes of a word.
_BYTES = np.array([0] + [(1 << 64) - (1 << (64 - 8 * n)) for n in range(1, 9)], np.uint64)


def id_words(docs: pa.Array | None, ranked: pa.Array | None) -> tuple[Words, Words]:
    """Numbers that compare as the UTF-8 bytes of the ids do.

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
    """Read ids of up to 8 bytes as big-endian numbers.

    If any id is longer, or holds a NUL, which looks like padding, number all ids in order instead.
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


def hash_ids(ids: list[tuple[pa.Array, Ints]], queries: int) -> NDArray[np.uint64]:
    """A hash for each query, the same for queries with the same ids in the same order.

    Args:
        ids: pairs (Arrow large strings, query by query; how many of them each query has).
        queries: number of queries.
    """
    hashes = [hashlib.blake2b(digest_size=8) for _ in range(queries)]
    for strings, lengths in ids:
        if not len(strings):  # it may have no buffers
            continue
        offsets = np.frombuffer(strings.buffers()[1], np.int64)[strings.offset :]
        text = memoryview(strings.buffers()[2] or b"")
        ends = np.cumsum(lengths).tolist()
        for state, start, end in zip(hashes, [0, *ends], ends, strict=False):
            if start == end:  # a hash depends on its own query: no other may add a 0 to it
                continue
            own = offsets[start : end + 1]
            state.update(np.append(end - start, np.diff(own)).tobytes())
            state.update(text[own[0] : own[-1]])
    return np.array([int.from_bytes(state.digest(), "big") for state in hashes], np.uint64)


def order_docs(docs: Words, n_docs: Ints) -> tuple[Ints, int | None]:
    """The documents in ascending order of id, query by query.

    Args:
        docs: (sum n_docs,) uint64, `id_words`.
        n_docs: (Q,) int.
    Returns:
        (indices in `docs`; index of an id that its query has twice, or None).
    """
    query, _ = runs(n_docs)
    order = _sort_by_query(docs, n_docs, query)
    return order, _repeat(order, docs, query)


def find(
    docs: Words, n_docs: Ints, order: Ints, ranked: Words, n_ranked: Ints
) -> tuple[Ints, int | None]:
    """Position of each ranked id among the documents of its query, -1 where it is unjudged.

    Args:
        docs: (sum n_docs,) uint64, `id_words` without repeats in a query.
        n_docs: (Q,) int.
        order: (sum n_docs,) int, `order_docs`.
        ranked: (sum n_ranked,) uint64, from the same call of `id_words` as `docs`.
        n_ranked: (Q,) int.
    Returns:
        (positions; index of an id that its ranking has twice, or None).
    """
    doc_query, position = runs(n_docs)
    query, _ = runs(n_ranked)
    ranked_order = _sort_by_query(ranked, n_ranked, query)
    if np.array_equal(n_docs, n_ranked) and np.array_equal(docs[order], ranked[ranked_order]):
        found = np.empty(len(ranked), np.int64)  # rankings hold exactly their query's documents
        found[ranked_order] = position[order]
        return found, None
    # Number the ids of both, then make one number of each (query, id) pair.
    both, code = np.unique(np.concatenate([docs, ranked]), return_inverse=True)
    pairs = (doc_query * len(both) + code[: len(docs)])[order]
    wanted = query * len(both) + code[len(docs) :]
    at = np.searchsorted(pairs, wanted)
    judged = np.append(pairs, -1)[at] == wanted
    found = np.where(judged, np.append(position[order], -1)[at], -1)
    return found, _repeat(ranked_order, ranked, query)


def _sort_by_query(words: Words, lengths: Ints, query: Ints) -> Ints:
    """Indices that sort the words within each query, query by query."""
    if len(words) and (lengths == lengths[0]).all():
        order = words.reshape(len(lengths), -1).argsort(axis=1)
        return np.asarray((order + starts(lengths)[:, None]).ravel())
    return np.lexsort((words, query))


def _repeat(order: Ints, words: Words, query: Ints) -> int | None:
    """Index of a word that occurs earlier in the same query, None if there is none."""
    ordered = words[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return None
    same &= np.diff(query[order]) == 0
    return next(iter(order[1:][same].tolist()), None)
