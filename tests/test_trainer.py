# SPDX-License-Identifier: Apache-2.0
"""The hooks inside `transformers.Trainer`: it logs what `compute` gives on the same logits."""

import copy
import json
import math

import numpy as np
import pytest
from support import ROOT, load

torch = pytest.importorskip("torch", reason="Trainer needs torch")
transformers = pytest.importorskip("transformers", reason="Trainer is in transformers")
pytest.importorskip("accelerate", reason="Trainer needs accelerate")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

QUERIES, POOL = 23, 40  # 23 = 5 batches of 4 and one of 3
SUBTOPICS = 6


class Stored(torch.nn.Module):
    """A model that gives the logits it is fed; its one weight scales nothing but the loss."""

    def __init__(self, outputs=1):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))
        self.outputs = outputs

    def forward(self, logits, labels):
        loss = (self.weight**2).mean()
        more = [torch.zeros(len(logits), 2)] * (self.outputs - 1)
        return {"loss": loss, "logits": logits, **{f"more{i}": x for i, x in enumerate(more)}}


class Rows(torch.utils.data.Dataset):
    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]


def collate(rows):
    """Rows of a batch, padded to the longest with -inf, labels of matrices with -100."""
    longest = max(len(row["logits"]) for row in rows)
    logits = torch.full((len(rows), longest), -math.inf)
    for i, row in enumerate(rows):
        logits[i, : len(row["logits"])] = torch.as_tensor(row["logits"])
    labels = [torch.as_tensor(row["labels"]) for row in rows]
    if labels[0].ndim:
        full = torch.full((len(rows), longest, labels[0].shape[1]), -100, dtype=labels[0].dtype)
        for i, label in enumerate(labels):
            full[i, : len(label)] = label
        return {"logits": logits, "labels": full}
    return {"logits": logits, "labels": torch.stack(labels)}


def quote_rows(ragged=False, queries=QUERIES):
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(queries):
        size = int(rng.integers(3, POOL)) if ragged else POOL
        scores = rng.integers(-20, 20, size).astype(np.float32) / 4  # with ties
        rows.append({"logits": scores, "labels": int(rng.integers(size))})
    return rows


def diversity_rows(ragged=False, queries=QUERIES):
    rng = np.random.default_rng(6)
    rows = []
    for _ in range(queries):
        n = int(rng.integers(2, 16)) if ragged else 12
        labels = (rng.random((n, SUBTOPICS)) < 0.3).astype(np.int64)
        rows.append({"logits": rng.permutation(n).astype(np.float32), "labels": labels})
    return rows


ROWS = {"quoter_rank": quote_rows, "search_diversity": diversity_rows}
OPTIONS = {
    "quoter_rank": {"ties": "pessimistic", "ndcg_k": (3, 5), "recall_k": 7},
    "search_diversity": {"k": (2, 10), "protocol": "released"},
}


def trainer(metric, rows, folder, *, hook=True, model=None, **arguments):
    arguments = {
        "output_dir": str(folder),
        "per_device_eval_batch_size": 4,
        "per_device_train_batch_size": 8,
        "report_to": "none",
        "use_cpu": True,
        "disable_tqdm": True,
        "remove_unused_columns": False,
        **arguments,
    }
    hooks = {"preprocess_logits_for_metrics": metric.preprocess_logits_for_metrics} if hook else {}
    return transformers.Trainer(
        model=model or Stored(),
        args=transformers.TrainingArguments(**arguments),
        train_dataset=Rows(rows),
        eval_dataset=Rows(rows),
        data_collator=collate,
        compute_metrics=metric.compute_metrics,
        **hooks,
    )


def computed(name, rows, **options):
    scores, labels = [row["logits"] for row in rows], [row["labels"] for row in rows]
    return load(name).compute(predictions=scores, references=labels, **options)


def logged(figures):
    return {
        key.removeprefix("eval_"): value
        for key, value in figures.items()
        if "@" in key
        or key in ("eval_MRR", "eval_MeanRank", "eval_MedianRank", "eval_RankVariance")
    }


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("hook", [True, False], ids=["hook", "no hook"])
@pytest.mark.parametrize("ragged", [True, False], ids=["ragged", "even"])
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"batch_eval_metrics": True},
        {"eval_do_concat_batches": False},
        {"eval_accumulation_steps": 2},
        {"include_for_metrics": ["inputs", "loss"]},
        {"batch_eval_metrics": True, "include_for_metrics": ["inputs"]},
    ],
    ids=lambda arguments: ", ".join(arguments) or "default",
)
def test_logged_figures_are_those_of_compute(tmp_path, name, hook, ragged, arguments):
    rows, metric = ROWS[name](ragged), load(name).configured(**OPTIONS[name])
    model = Stored()
    model.main_input_name = "logits"
    figures = trainer(metric, rows, tmp_path, hook=hook, model=model, **arguments).evaluate()
    assert logged(figures) == computed(name, rows, **OPTIONS[name])
    assert f"|n:{QUERIES}|" in metric.signature


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("hook", [True, False], ids=["hook", "no hook"])
def test_model_with_several_outputs(tmp_path, name, hook):
    rows, metric = ROWS[name](True), load(name)
    figures = trainer(metric, rows, tmp_path, hook=hook, model=Stored(outputs=2)).evaluate()
    assert logged(figures) == computed(name, rows)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_other_float_types(name, dtype):
    rows = ROWS[name](False)
    logits = torch.stack([torch.as_tensor(row["logits"]) for row in rows]).to(getattr(torch, dtype))
    labels = torch.stack([torch.as_tensor(row["labels"]) for row in rows])
    metric = load(name)
    reduced = metric.preprocess_logits_for_metrics(logits, labels)
    assert metric.compute_metrics((reduced, labels)) == computed(name, rows)
    assert metric.compute_metrics((logits, labels)) == computed(name, rows)


def test_hook_gives_two_integers_a_query():
    metric = load("quoter_rank")
    logits = torch.tensor([[0.5, 0.5, 0.1], [0.1, 0.2, 0.3]], dtype=torch.bfloat16)
    pairs = metric.preprocess_logits_for_metrics(logits, torch.tensor([0, 0]))
    assert pairs.dtype == torch.int64
    assert pairs.tolist() == [[1, 2], [3, 1]]


@pytest.mark.parametrize("name", ROWS)
def test_evaluation_uses_no_cache_files_and_no_added_rows(tmp_path, name):
    rows = ROWS[name](False)
    metric = load(name, keep_in_memory=False, cache_dir=str(tmp_path / "cache"))
    before = sorted((tmp_path / "cache").rglob("*"))
    metric.add(prediction=rows[0]["logits"], reference=rows[0]["labels"])
    figures = trainer(metric, rows, tmp_path / "run").evaluate()
    assert logged(figures) == computed(name, rows)
    assert sorted((tmp_path / "cache").rglob("*")) == before
    assert len(metric) == 1
    assert metric.compute() == computed(name, rows[:1])


# Evaluations that are broken off


class Broken(Stored):
    """Fails at the fourth batch of an evaluation, once."""

    def __init__(self):
        super().__init__()
        self.left = 3

    def forward(self, logits, labels):
        self.left -= 1
        if self.left == -1:
            raise RuntimeError("broken off")
        return super().forward(logits, labels)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("wrapped", [False, True], ids=["hook", "hook in a function"])
def test_rows_of_a_broken_evaluation_are_dropped(tmp_path, name, wrapped):
    rows, metric = ROWS[name](True), load(name)
    run = trainer(metric, rows, tmp_path, model=Broken(), batch_eval_metrics=True)
    if wrapped:
        run.compute_metrics = lambda p, compute_result: metric.compute_metrics(
            p, compute_result=compute_result
        )
    with pytest.raises(RuntimeError, match="broken off"):
        run.evaluate()
    for _ in range(2):
        assert logged(run.evaluate()) == computed(name, rows)


@pytest.mark.parametrize("name", ROWS)
def test_evaluation_inside_an_evaluation(tmp_path, name):
    """A callback evaluates another Trainer with the same metric between two batches."""
    rows, metric = ROWS[name](True), load(name)
    inner = trainer(metric, rows[:7], tmp_path / "inner", batch_eval_metrics=True)
    found = []

    class Evaluate(transformers.TrainerCallback):
        def on_prediction_step(self, args, state, control, **more):
            if len(found) < 2:
                found.append(logged(inner.evaluate()))
                found.append(metric.compute_metrics(whole))

    whole = (rows[0]["logits"][None], np.array(rows[0]["labels"])[None])
    outer = trainer(metric, rows, tmp_path / "outer", batch_eval_metrics=True)
    outer.add_callback(Evaluate())
    assert logged(outer.evaluate()) == computed(name, rows)
    assert found == [computed(name, rows[:7]), computed(name, rows[:1])]


@pytest.mark.parametrize("name", ROWS)
def test_a_metric_in_the_middle_of_an_evaluation_can_be_copied(name):
    rows, metric = ROWS[name](False), load(name)
    logits, labels = (np.stack([row[key] for row in rows]) for key in ("logits", "labels"))

    class Loop:
        def evaluation_loop(self, dataloader):
            metric.compute_metrics((logits[:9], labels[:9]), False)
            made = copy.deepcopy(metric)
            return metric.compute_metrics((logits[9:], labels[9:]), True), made

    result, made = Loop().evaluation_loop(None)
    assert result == computed(name, rows)
    assert made.compute_metrics((logits, labels), True) == result


@pytest.mark.parametrize("name", ROWS)
def test_predict_without_labels(name):
    logits = torch.rand(3, 4)
    assert load(name).preprocess_logits_for_metrics((logits,), None) is logits


@pytest.mark.parametrize("pairs", [[[3, -5]], [[1, 0]], [[0, 1]], [[-7, 1]]])
def test_integers_that_the_hook_does_not_give(pairs):
    raised(
        lambda: load("quoter_rank").compute_metrics((np.array(pairs), np.array([0]))),
        "`predictions` must be logits, or what preprocess_logits_for_metrics gave",
    )


@pytest.mark.parametrize("name", ROWS)
def test_batches_outside_trainer(name):
    rows, metric = ROWS[name](False), load(name)
    logits, labels = (np.stack([row[key] for row in rows]) for key in ("logits", "labels"))

    def batch(i):
        return transformers.EvalPrediction(logits[i : i + 8], labels[i : i + 8])

    assert metric.compute_metrics(batch(0), compute_result=False) == {}
    assert metric.compute_metrics(batch(8), compute_result=False) == {}
    assert metric.compute_metrics(batch(16), compute_result=True) == computed(name, rows)
    metric.compute_metrics(batch(0), compute_result=False)
    assert metric.compute_metrics(batch(0)) == computed(name, rows[:8])  # starts anew
    metric.compute_metrics(batch(0), compute_result=False)
    with pytest.raises(ValueError, match="label_ids|references|predictions"):
        metric.compute_metrics((logits, labels[:3]), compute_result=False)
    assert metric.compute_metrics(batch(0), compute_result=True) == computed(name, rows[:8])


@pytest.mark.parametrize("name", ROWS)
def test_batches_in_a_function_of_that_name(name):
    rows, metric = ROWS[name](False), load(name)
    logits, labels = (np.stack([row[key] for row in rows]) for key in ("logits", "labels"))

    def prediction_loop(i):
        return metric.compute_metrics((logits[i : i + 8], labels[i : i + 8]), i == 16)

    results = [prediction_loop(i) for i in (0, 8, 16)]
    assert results == [{}, {}, computed(name, rows)]


# Refusals


def raised(call, *fragments):
    with pytest.raises(ValueError) as caught:
        call()
    for fragment in fragments:
        assert fragment in str(caught.value), str(caught.value)


@pytest.mark.parametrize("hook", [True, False], ids=["hook", "no hook"])
def test_nan_logits_are_refused(tmp_path, hook):
    rows = quote_rows()
    rows[17]["logits"][3] = math.nan
    run = trainer(load("quoter_rank"), rows, tmp_path, hook=hook)
    raised(run.evaluate, "`predictions` must hold no NaN", "at query 17")


@pytest.mark.parametrize("hook", [True, False], ids=["hook", "no hook"])
@pytest.mark.parametrize("label", [-1, -100, POOL])
def test_labels_outside_the_row_are_refused(tmp_path, hook, label):
    rows = quote_rows()
    rows[6]["labels"] = label
    run = trainer(load("quoter_rank"), rows, tmp_path, hook=hook)
    raised(run.evaluate, "`references` must be a position", f"got {label}", "at query 6")


@pytest.mark.parametrize("scores", [[-200.0, -100.0], [-100.0, -100.0], [-100.0, -300.0]])
def test_scores_that_may_be_padding(scores):
    metric = load("quoter_rank")
    logits, labels = torch.tensor([[0.5, 0.1], scores]), torch.tensor([0, 0])
    raised(
        lambda: metric.compute_metrics((logits.numpy(), labels.numpy())),
        "`predictions` must hold no -100.0 at or above the gold",
        "at query 1",
        "preprocess_logits_for_metrics=metric.preprocess_logits_for_metrics",
    )
    reduced = metric.preprocess_logits_for_metrics(logits, labels)
    expected = load("quoter_rank").compute(predictions=logits, references=labels)
    assert metric.compute_metrics((reduced, labels)) == expected


def test_golds_far_below_the_padding_without_padding():
    metric = load("quoter_rank")
    logits, labels = np.array([[-400.0, -300.0, -500.0]]), np.array([0])
    assert metric.compute_metrics((logits, labels))["MeanRank"] == 2.0


def test_broadcast_labels_are_refused(tmp_path):
    rows = diversity_rows(True)
    for row in rows[20:]:  # the last batch is shorter and has one column: Trainer broadcasts it
        row["labels"], row["logits"] = row["labels"][:2, :1], row["logits"][:2]
    run = trainer(load("search_diversity"), rows, tmp_path)
    raised(run.evaluate, "`label_ids` must have 6 columns", "got 1", "at query 20", "-100")


@pytest.mark.parametrize("dtype", ["bool", "uint8"])
@pytest.mark.parametrize("hook", [True, False], ids=["hook", "no hook"])
def test_labels_that_padding_would_change(dtype, hook):
    metric = load("search_diversity")
    scores, labels = torch.rand(2, 3), torch.ones(2, 3, 4).to(getattr(torch, dtype))

    def run():
        predictions = metric.preprocess_logits_for_metrics(scores, labels) if hook else scores
        metric.compute_metrics((predictions, labels))

    raised(run, dtype)


@pytest.mark.parametrize(
    ("name", "logits", "labels"),
    [
        pytest.param("quoter_rank", torch.zeros(2, 3, 4), torch.zeros(2).long(), id="3-D logits"),
        pytest.param("quoter_rank", torch.zeros(2, 3).long(), torch.zeros(2).long(), id="ints"),
        pytest.param("quoter_rank", torch.zeros(2, 0), torch.zeros(2).long(), id="no candidates"),
        pytest.param("quoter_rank", torch.zeros(2, 3), torch.zeros(2), id="float labels"),
        pytest.param("quoter_rank", torch.zeros(2, 3), torch.zeros(2).bool(), id="bool labels"),
        pytest.param("quoter_rank", torch.zeros(2, 3), torch.zeros(3).long(), id="more labels"),
        pytest.param("quoter_rank", torch.zeros(2, 3), (torch.zeros(2),) * 2, id="two labels"),
        pytest.param("search_diversity", torch.zeros(2, 3), torch.zeros(2, 3).long(), id="2-D"),
        pytest.param("search_diversity", torch.zeros(2, 3), torch.zeros(2, 4, 5).long(), id="n"),
        pytest.param("search_diversity", torch.zeros(2, 3).long(), torch.zeros(2, 3, 5), id="int"),
    ],
)
def test_tensors_of_another_shape_or_type(name, logits, labels):
    metric = load(name)
    raised(lambda: metric.preprocess_logits_for_metrics(logits, labels), "must be")


@pytest.mark.parametrize("name", ROWS)
def test_batches_without_labels(name):
    rows, metric = ROWS[name](False), load(name)
    logits, labels = (np.stack([row[key] for row in rows]) for key in ("logits", "labels"))
    raised(
        lambda: metric.compute_metrics(([logits, logits], [labels])),
        "`label_ids` must be as many batches as the 2 of predictions, got 1",
    )


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("given", [None, {}, (), (None, None), ([0.5],), ([[0.5]], [0])])
def test_what_is_no_evaluation(name, given):
    with pytest.raises(ValueError):
        load(name).compute_metrics(given)


# Training


class Learner(torch.nn.Module):
    """Its one weight, the sign of the scores, moves the wrong way: the first checkpoint is best."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def forward(self, logits, labels):
        return {"loss": self.weight.sum(), "logits": logits * self.weight}


@pytest.mark.parametrize("key", ["MRR", "MeanRank", "alpha-NDCG@10"])
def test_best_checkpoint_and_tensorboard(tmp_path, monkeypatch, key):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    monkeypatch.setenv("TENSORBOARD_LOGGING_DIR", str(tmp_path / "logs"))
    name = "search_diversity" if "@" in key else "quoter_rank"
    rows, metric = ROWS[name](False), load(name)
    for row in rows:  # good at weight 1, bad below 0
        if name == "quoter_rank":
            row["logits"] = -np.abs(row["logits"]) - 1
            row["logits"][row["labels"]] = 1
        else:  # ties apart
            row["logits"] = (row["labels"].sum(1) + 0.01 * np.arange(12)).astype(np.float32)
    run = trainer(
        metric,
        rows,
        tmp_path / "run",
        model=Learner(),
        num_train_epochs=3,
        eval_strategy="epoch",
        save_strategy="epoch",
        learning_rate=0.2,
        lr_scheduler_type="constant",
        load_best_model_at_end=True,
        metric_for_best_model=key,
        greater_is_better=metric.greater_is_better[key],
        report_to="tensorboard",
    )
    run.train()
    history = [row[f"eval_{key}"] for row in run.state.log_history if f"eval_{key}" in row]
    better = max if metric.greater_is_better[key] else min
    assert len(history) == 3
    assert history[0] == better(history) != history[-1]
    assert run.state.best_metric == history[0]
    assert run.state.best_model_checkpoint.endswith("checkpoint-3")
    assert float(run.model.weight.detach()) > 0  # the best one was loaded again
    assert logged(run.evaluate())[key] == history[0]
    state = json.loads((tmp_path / "run" / "checkpoint-9" / "trainer_state.json").read_text())
    assert state["log_history"][-1][f"eval_{key}"] == history[-1]
    folders = {path.parent for path in tmp_path.rglob("events.out.tfevents.*")}
    scalars = set()
    for folder in folders:
        accumulator = events.EventAccumulator(str(folder))
        accumulator.Reload()
        scalars |= set(accumulator.Tags()["scalars"])
    assert {f"eval/{name}" for name in metric.greater_is_better} <= scalars


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("text", ["README.md", "card"])
def test_lines_of_the_documents(tmp_path, name, text):
    """The code for Trainer, as it is printed."""
    path = ROOT / "cards" / f"{name}.md" if text == "card" else ROOT / text
    section = path.read_text(encoding="utf-8").split("## In training")[1]
    code = section.split("```python\n")[1].split("```")[0]
    rows, metric = ROWS[name](True), load(name)
    arguments = transformers.TrainingArguments(
        str(tmp_path),
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
        per_device_eval_batch_size=4,
    )
    given = {
        "model": Stored(),
        "args": arguments,
        "eval_dataset": Rows(rows),
        "data_collator": collate,
    }
    if text == "card":
        code = code.replace("...,  # model, arguments, datasets", "**given,")
    names = {"Trainer": transformers.Trainer, "metric": metric, "given": given, "collate": collate}
    names |= {"model": Stored(), "arguments": arguments, "train": None, "validation": Rows(rows)}
    exec(code, names)
    assert logged(names["trainer"].evaluate()) == computed(name, rows)


def test_lines_of_the_card_for_groups(tmp_path):
    """A dict of evaluation datasets, as it is printed: each group has figures, one selects."""
    section = (ROOT / "cards" / "quoter_rank.md").read_text(encoding="utf-8")
    code = section.split("A dict of evaluation datasets")[1].split("```python\n")[1].split("```")[0]
    code = code.replace("...,  # output_dir, eval_strategy, save_strategy", "**settings,")
    code = code.replace("...,  # model, training data", "**given,")
    rows, metric = quote_rows(), load("quoter_rank")
    settings = {
        "output_dir": str(tmp_path),
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "learning_rate": 0.2,
        "lr_scheduler_type": "constant",
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        "remove_unused_columns": False,
    }
    given = {"model": Learner(), "train_dataset": Rows(rows), "data_collator": collate}
    names = {"Trainer": transformers.Trainer, "settings": settings, "given": given}
    names |= {"TrainingArguments": transformers.TrainingArguments, "metric": metric}
    names |= {"rare": Rows(rows[:9]), "frequent": Rows(rows[9:])}
    exec(code, names)
    run = names["trainer"]
    figures = run.evaluate()
    for group, part in (("rare", rows[:9]), ("frequent", rows[9:])):
        assert {key: figures[f"eval_{group}_{key}"] for key in metric.greater_is_better} == (
            computed("quoter_rank", part)
        )
    assert "eval_MRR" not in figures
    run.train()
    history = [row["eval_rare_MRR"] for row in run.state.log_history if "eval_rare_MRR" in row]
    assert run.state.best_metric == max(history) != min(history)


def test_the_traps_of_the_card(tmp_path):
    """By default the worst mean rank is kept; of a dict, a key without its group is an error."""
    rows, metric = quote_rows(), load("quoter_rank")
    settings = {
        "num_train_epochs": 3,
        "eval_strategy": "epoch",
        "save_strategy": "epoch",
        "learning_rate": 0.2,
        "lr_scheduler_type": "constant",
        "load_best_model_at_end": True,
    }
    for key, greater, kept in (("MeanRank", None, max), ("MeanRank", False, min)):
        run = trainer(
            metric,
            rows,
            tmp_path / str(greater),
            model=Learner(),
            metric_for_best_model=key,
            greater_is_better=greater,
            **settings,
        )
        run.train()
        history = [row["eval_MeanRank"] for row in run.state.log_history if "eval_MeanRank" in row]
        assert min(history) < max(history)
        assert run.state.best_metric == kept(history)
    run = trainer(metric, rows, tmp_path, model=Learner(), metric_for_best_model="MRR", **settings)
    run.eval_dataset = {"rare": run.eval_dataset, "frequent": run.eval_dataset}
    with pytest.raises(KeyError, match="eval_MRR"):
        run.train()
