# SPDX-License-Identifier: Apache-2.0
"""Train a set ranker on DU-DIV with `Trainer`, selected on the alpha-NDCG@10 of `search_diversity`.

    python examples/train_diversifier.py                                 # the embedded sample
    python examples/train_diversifier.py --du-div FILE                   # DU-DIV's labels
    python examples/train_diversifier.py --du-div FILE --features DIR    # and its features

A transformer without positions sees all documents of a query and gives each a score. Without
--features the documents have made-up features: each subtopic of a query is a random vector, a
document is the sum of those that it covers, and noise. They stand in for a text encoder so that
there is something to learn; what is reached with them says nothing of real documents. Needs
`pip install '.[train]'`; downloads nothing.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import evaluate
import numpy as np
import numpy.typing as npt
import torch
from quotediv.loaders import du_div
from torch import Tensor, nn
from transformers import PrinterCallback, Trainer, TrainingArguments, set_seed

REPO = Path(__file__).resolve().parent.parent
SAMPLE = REPO / "examples" / "sample" / "du_div.json"

KEY = "alpha-NDCG@10"
ALPHA = 0.5  # of the ideal ranking that is learned, and of the metric
WIDTH = 64  # of made-up features and of the model
NOISE = 0.3
PADDING = -100
VALIDATION = 0.2  # of the training queries
DRAWS = 50  # of random orders: their mean is the floor

Floats = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


class Query(NamedTuple):
    """One query; the documents stand in ascending order of id, as `search_diversity` takes rows."""

    features: Floats  # (n, F)
    labels: Labels  # (n, T) of 0 and 1, padded with -100 to the T of all queries


def load_queries(path: Path, features: Path | None, seed: int) -> dict[str, list[Query]]:
    """Queries of the splits train, validation and test."""
    splits = du_div.load(data_dir=path, split_rule="released", features=features)
    rows = {name: list(splits[name]) for name in ("train", "test")}
    longest = max(len(subtopics_of(row)) for split in rows.values() for row in split)
    rng = np.random.default_rng(seed)
    queries = {name: [read(row, longest, rng) for row in split] for name, split in rows.items()}
    order = rng.permutation(len(queries["train"]))
    held_out = set(order[: max(1, int(VALIDATION * len(order)))].tolist())
    return {
        "train": [query for i, query in enumerate(queries["train"]) if i not in held_out],
        "validation": [queries["train"][i] for i in sorted(held_out)],
        "test": queries["test"],
    }


def subtopics_of(row: Mapping[str, Any]) -> list[str]:
    """The subtopics of a query in ascending order."""
    return sorted({label for labels in row["subtopics"] for label in labels}, key=int)


def read(row: Mapping[str, Any], longest: int, rng: np.random.Generator) -> Query:
    """Labels as a matrix, and the authors' features or made-up ones."""
    order = sorted(range(len(row["doc_ids"])), key=lambda i: row["doc_ids"][i].encode())
    subtopics = subtopics_of(row)
    labels = np.full((len(order), longest), PADDING)
    for place, i in enumerate(order):
        labels[place, : len(subtopics)] = [label in row["subtopics"][i] for label in subtopics]
    if "doc_features" in row:
        features = np.array(row["doc_features"])[order]
    else:
        meaning = rng.random((len(subtopics), WIDTH))
        covered = labels[:, : len(subtopics)] @ meaning
        features = covered + NOISE * rng.normal(size=covered.shape)
    return Query(features.astype(np.float32), labels)


class SetRanker(nn.Module):
    """Scores of the documents of a query, each in view of the others."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.enter = nn.Linear(width, WIDTH)
        layer = nn.TransformerEncoderLayer(
            WIDTH, nhead=4, dim_feedforward=2 * WIDTH, batch_first=True, norm_first=True
        )
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.score = nn.Linear(WIDTH, 1)

    def forward(self, features: Tensor, mask: Tensor, labels: Tensor) -> dict[str, Tensor]:
        """Loss and scores.

        Args:
            features: (B, n, F).
            mask: (B, n) bool, True for documents, False for padding.
            labels: (B, n, T) of 0, 1 and, as padding, -100.
        """
        hidden = self.encoder(self.enter(features), src_key_padding_mask=~mask)
        logits = self.score(hidden)[:, :, 0].masked_fill(~mask, -torch.inf)
        return {"loss": list_loss(logits, mask, labels), "logits": logits}


def list_loss(logits: Tensor, mask: Tensor, labels: Tensor) -> Tensor:
    """ListMLE: minus the log-likelihood of the greedy ideal ranking under the scores.

    At each rank the ideal document competes with those that are still left (Xia et al., ICML 2008).
    """
    covers, left = labels.clamp(min=0).float(), mask.clone()
    weight = torch.ones_like(covers[:, 0])  # (B, T), (1 - alpha)^documents that cover it so far
    rows, loss = torch.arange(len(logits)), logits.new_zeros(())
    for _ in range(logits.shape[1]):
        gain = (covers * weight[:, None]).sum(2).masked_fill(~left, -1)
        best = gain.argmax(1)
        valid = left.any(1)
        chance = logits.masked_fill(~left, -torch.inf)[valid].log_softmax(1)
        loss = loss - chance[torch.arange(len(chance)), best[valid]].sum()
        left = left.index_put((rows, best), torch.tensor(False))
        weight = weight * (1 - ALPHA * covers[rows, best])
    return loss / mask.sum()


def collate(queries: Sequence[Query]) -> dict[str, Tensor]:
    """Queries of a batch, padded to the most documents among them."""
    longest = max(len(query.features) for query in queries)
    width, subtopics = queries[0].features.shape[1], queries[0].labels.shape[1]
    features = torch.zeros(len(queries), longest, width)
    labels = torch.full((len(queries), longest, subtopics), PADDING)
    mask = torch.zeros(len(queries), longest, dtype=torch.bool)
    for i, query in enumerate(queries):
        n = len(query.features)
        features[i, :n] = torch.from_numpy(query.features)
        labels[i, :n] = torch.from_numpy(query.labels)
        mask[i, :n] = True
    return {"features": features, "mask": mask, "labels": labels}


def greedy_scores(query: Query) -> list[float]:
    """Scores that rank as the greedy oracle does."""
    covers = query.labels.clip(0)
    weight, left = np.ones(covers.shape[1]), list(range(len(covers)))
    scores = [0.0] * len(covers)
    while left:
        best = max(left, key=lambda i: (float(covers[i] @ weight), i))
        scores[best] = float(len(left))
        left.remove(best)
        weight *= 1 - ALPHA * covers[best]
    return scores


def baselines(metric: Any, queries: Sequence[Query], seed: int) -> dict[str, dict[str, float]]:
    """Figures of random order, the floor, and of the greedy oracle, the ceiling."""
    rng, labels = np.random.default_rng(seed), [query.labels for query in queries]
    random = [rng.random(len(query.labels)).tolist() for _ in range(DRAWS) for query in queries]
    greedy = [greedy_scores(query) for query in queries]
    return {
        "random order": metric.compute(predictions=random, references=labels * DRAWS),
        "greedy oracle": metric.compute(predictions=greedy, references=labels),
    }


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Aligned text: one line a ranker, one column a key."""
    keys, label = list(next(iter(rows.values()))), max(map(len, rows))
    lines = [" " * label + "".join(f"  {key:>13}" for key in keys)]
    for name, figures in rows.items():
        lines.append(f"{name:{label}}" + "".join(f"  {figures[key]:13.4f}" for key in keys))
    return "\n".join(lines)


def arguments_of(args: argparse.Namespace, better: bool) -> TrainingArguments:
    """What Trainer is told: an evaluation and a checkpoint an epoch, the best is kept."""
    return TrainingArguments(
        output_dir=str(args.output),
        num_train_epochs=args.epochs or (10 if args.du_div else 20),
        per_device_train_batch_size=32 if args.du_div else 4,
        per_device_eval_batch_size=64,
        learning_rate=args.learning_rate,
        eval_strategy="epoch",
        save_strategy="epoch",
        logging_strategy="epoch",
        save_total_limit=1,
        load_best_model_at_end=True,
        metric_for_best_model=KEY,
        greater_is_better=better,
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        report_to="tensorboard" if args.tensorboard else "none",
        disable_tqdm=not sys.stderr.isatty(),
        seed=args.seed,
    )


def main(argv: list[str] | None = None) -> None:
    """Train, and print the figures of the test queries."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--du-div", type=Path, metavar="FILE", help="labels; without it: the sample")
    add("--features", type=Path, metavar="DIR", help="folder of the authors' feature files")
    add("--output", type=Path, metavar="DIR", default=REPO / "build" / "diversifier")
    add("--epochs", type=float, help="20, with --du-div 10")
    add("--learning-rate", type=float, default=1e-3)
    add("--seed", type=int, default=0)
    add("--tensorboard", action="store_true", help="write event files to the output folder")
    args = parser.parse_args(argv)
    if args.features and not args.du_div:
        parser.error("--features needs --du-div")

    set_seed(args.seed)
    metric = evaluate.load(str(REPO / "metrics" / "search_diversity"), keep_in_memory=True)
    queries = load_queries(args.du_div or SAMPLE, args.features, args.seed)
    if not args.features:
        print("features: made up from the labels, to show the loop; they say nothing of real text")
    trainer = Trainer(
        model=SetRanker(queries["train"][0].features.shape[1]),
        args=arguments_of(args, metric.greater_is_better[KEY]),
        train_dataset=queries["train"],
        eval_dataset=queries["validation"],
        data_collator=collate,
        compute_metrics=metric.compute_metrics,
        preprocess_logits_for_metrics=metric.preprocess_logits_for_metrics,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    figures = trainer.evaluate(queries["test"], metric_key_prefix="test")
    signature = metric.signature
    floor, ceiling = baselines(metric, queries["test"], args.seed).items()
    trained = {key: figures[f"test_{key}"] for key in floor[1]}
    best = Path(trainer.state.best_model_checkpoint or "").name
    print(f"best of {len(queries['validation'])} validation queries: {best},", end=" ")
    print(f"{KEY} {trainer.state.best_metric:.4f}; {len(queries['test'])} test queries:\n")
    print(table(dict([floor, ("set ranker, trained", trained), ceiling])), signature, sep="\n")


if __name__ == "__main__":
    main()
