# SPDX-License-Identifier: Apache-2.0
"""DU-DIV's JSON files, from bytes to records."""

import json
import random
from itertools import chain
from typing import Any

from quotediv.loaders.reading import decode, read_lines

Labels = dict[str, dict[str, list[str]]]

WIDTH = 1024  # length of a feature vector
LARGEST = 3.4028234663852886e38  # float32


def read_labels(path: str) -> Labels:
    """Read {query: {document: [subtopic, ...]}}, gzipped or not.

    Raises:
        ValueError: not UTF-8, not JSON, a repeated key or another structure; names the file.
    """
    labels = _read_json(path)
    for query, documents in _mapping(labels, path, "a mapping of queries").items():
        for document, subtopics in _mapping(documents, path, f"documents of {query}").items():
            strings = isinstance(subtopics, list) and all(isinstance(s, str) for s in subtopics)
            if not strings:
                expected = f"a list of strings for document {document!r} of query {query!r}"
                raise ValueError(f"{path}: expected {expected}, got {subtopics!r}")
        _check_unicode(path, query, documents)
    return dict(labels)


def _check_unicode(path: str, query: str, documents: dict[str, list[str]]) -> None:
    try:
        "".join([query, *documents, *chain.from_iterable(documents.values())]).encode()
    except UnicodeEncodeError:
        raise ValueError(f"{path}: expected Unicode, got a lone surrogate in {query!r}") from None


def read_features(path: str) -> dict[str, list[float]]:
    """Read {query or document: 1,024 numbers}, gzipped or not.

    Raises:
        ValueError: as `read_labels`.
    """
    features = _read_json(path)
    for key, vector in _mapping(features, path, "a mapping of feature vectors").items():
        if isinstance(vector, list) and len(vector) == 1 and isinstance(vector[0], list):
            vector = features[key] = vector[0]  # a matrix of one row
        numbers = isinstance(vector, list) and all(map(_is_float32, vector))
        if not numbers or len(vector) != WIDTH:
            got = f"{len(vector)} values" if isinstance(vector, list) else repr(vector)
            raise ValueError(f"{path}: expected {WIDTH} numbers for {key!r}, got {got}")
    return dict(features)


def _is_float32(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= LARGEST


def split_queries(queries: list[str], n: int) -> tuple[list[str], list[str]]:
    """Draw `n` test queries as the authors' code does; the others are the training queries.

    Args:
        queries: all queries in the order of the file.
        n: number of test queries.
    Returns:
        (train in file order, test in the order of the draw).
    References:
        chenyiqun/MA4DIV, run/run.py: random.seed(0); random.sample(list(queries), n).
    """
    test = random.Random(0).sample(queries, n)
    drawn = set(test)
    return [query for query in queries if query not in drawn], test


def _read_json(path: str) -> Any:
    text = decode(b"".join(read_lines(path)), path, "the encoding UTF-8")
    try:
        return json.loads(text, object_pairs_hook=_no_key_twice)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: expected JSON, got {error}") from None
    except _KeyTwiceError as error:
        raise ValueError(f"{path}: expected each key once, got {error} twice") from None
    except (ValueError, RecursionError) as error:  # a number too long, lists too deep
        raise ValueError(f"{path}: expected JSON that Python reads, got {error}") from None


class _KeyTwiceError(Exception):
    pass


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _KeyTwiceError(repr(next(key for key in keys if keys.count(key) > 1)))
    return mapping


def _mapping(value: Any, path: str, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{path}: expected {what}, got {type(value).__name__}")
    return value
