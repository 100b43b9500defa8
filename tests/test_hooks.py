# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments of the hooks of `Trainer`: one clear error each, with or without torch."""

import numpy as np
import pytest
from support import BOTH, METRICS, load

SCORES = dict.fromkeys(METRICS, np.array([[0.3, 0.2, 0.1], [0.1, 0.2, 0.3]]))
LABELS = {"quoter_rank": np.zeros(2, int), "search_diversity": np.zeros((2, 3, 1), int)}
both = pytest.mark.parametrize("name", METRICS)

EVALUATIONS = {
    "None": lambda scores, labels: None,
    "an array": lambda scores, labels: scores,
    "a dict": lambda scores, labels: {"predictions": scores, "label_ids": labels},
    "empty tuple": lambda scores, labels: (),
    "one": lambda scores, labels: (scores,),
    "no labels": lambda scores, labels: (scores, None),
    "a dict of outputs": lambda scores, labels: ({"logits": scores}, labels),
    "no outputs": lambda scores, labels: ((), labels),
    "a dict of labels": lambda scores, labels: (scores, {"labels": labels}),
    "labels of a str": lambda scores, labels: (scores, "labels"),
    "several labels": lambda scores, labels: (scores, (labels, labels)),
    "a number": lambda scores, labels: (1.5, labels),
    "batches of nothing": lambda scores, labels: ([()], [()]),
    "batches of dicts": lambda scores, labels: ([{}], [{}]),
    "other numbers of batches": lambda scores, labels: ([scores, scores], [labels]),
    "flat scores": lambda scores, labels: (scores[0], labels),
    "labels of no dimension": lambda scores, labels: (scores, np.array(3)),
    "ranks and ragged labels": lambda scores, labels: (np.ones((2, 2), int), [[1], [1, 2]]),
    "ranks and one label": lambda scores, labels: (np.ones((2, 2), int), np.array(3)),
    "masked scores": lambda scores, labels: (np.ma.masked_array(scores), labels),
}


@both
@pytest.mark.parametrize("case", EVALUATIONS)
def test_refused_evaluations(name, case):
    metric = load(name)
    eval_pred = EVALUATIONS[case](SCORES[name], LABELS[name])
    with pytest.raises(BOTH, match="`.+` must .+, got .+"):
        metric.compute_metrics(eval_pred)
    assert metric.compute_metrics((SCORES[name], LABELS[name]))


@both
@pytest.mark.parametrize("value", ["no", 1, np.array([True, False])], ids=str)
def test_refused_compute_result(name, value):
    with pytest.raises(BOTH, match="`compute_result` must be a bool, got "):
        load(name).compute_metrics((SCORES[name], LABELS[name]), compute_result=value)


def test_golds_in_lists_and_in_arrays_of_objects():
    metric, scores = load("quoter_rank"), SCORES["quoter_rank"]
    expected = metric.compute_metrics((scores, np.array([0, 1])))
    for labels in ([0, 1], np.array([0, 1], object), [np.int64(0), 1]):
        assert metric.compute_metrics((scores, labels)) == expected


HOOKED = {
    "arrays": lambda scores, labels: (scores, labels),
    "a dict": lambda scores, labels: ({"logits": scores}, labels),
    "empty tuple": lambda scores, labels: ((), labels),
    "None": lambda scores, labels: (None, labels),
    "a list": lambda scores, labels: (scores.tolist(), labels.tolist()),
}


@both
@pytest.mark.parametrize("case", HOOKED)
def test_refused_logits(name, case):
    logits, labels = HOOKED[case](SCORES[name], LABELS[name])
    with pytest.raises(BOTH, match="`logits` must be a tensor, got "):
        load(name).preprocess_logits_for_metrics(logits, labels)


@both
@pytest.mark.parametrize("labels", [{}, (), "labels", 5, [[0]]], ids=repr)
def test_refused_labels(name, labels):
    torch = pytest.importorskip("torch")
    with pytest.raises(BOTH, match="`labels` must be "):
        load(name).preprocess_logits_for_metrics(torch.zeros((2, 3)), labels)
