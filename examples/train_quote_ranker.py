# SPDX-License-Identifier: Apache-2.0
"""Train a dual encoder on quotes with `Trainer`, selected on the MRR of rare quotes.

`Trainer` evaluates two groups of validation queries by `quoter_rank`, those with a rare gold quote
and the others, and keeps the checkpoint that is best in one of them.

    python examples/train_quote_ranker.py                  # the embedded sample
    python examples/train_quote_ranker.py --quoter DIR     # the data folder of thunlp/QuoteR
    python examples/train_quote_ranker.py --model DIR      # start from weights on disk

One encoder embeds the text around a quote and the quotes themselves; a quote's score is the cosine
of the two. Without --model its weights are random and its tokenizer is trained on the pool and on
the contexts of the training split. Needs `pip install '.[train]'`; downloads nothing.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import evaluate
import numpy as np
import torch
from quotediv.loaders import quoter
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor, nn
from torch.nn import functional
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    PreTrainedTokenizerFast,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    set_seed,
)

REPO = Path(__file__).resolve().parent.parent
SAMPLE = REPO / "examples" / "sample" / "quoter"
SAMPLE_BOUNDARIES = (38, 51)

EVALUATIONS = 5  # of both groups, spread over the training
GROUPS = ("rare", "frequent")
TEMPERATURE = 0.05
CHUNK = 256  # quotes or test contexts at a time
TOKENS = {"context": 160, "quote": 64}  # longer texts are cut
VOCABULARY = 16_000


@dataclass(frozen=True)
class Quotes:
    """One language: the rows of each split and the pool, in which `quote_id` is the position."""

    train: datasets.Dataset
    validation: datasets.Dataset
    test: datasets.Dataset
    pool: list[str]


def load_quotes(folder: Path, language: str, boundaries: tuple[int, int] | None) -> Quotes:
    """Load one language and its pool; None splits it as the authors do."""
    splits = quoter.load(language, data_dir=folder, boundaries=boundaries)
    pool = quoter.load(f"{language}_quotes", "quotes", data_dir=folder, boundaries=boundaries)
    return Quotes(splits["train"], splits["validation"], splits["test"], pool["quote"][:])


def by_frequency(quotes: Quotes, rare: int) -> dict[str, datasets.Dataset]:
    """The validation split in two: gold quotes with at most `rare` training lines, and others."""
    counts = Counter(quotes.train["quote_id"])
    rows: dict[str, list[int]] = {group: [] for group in GROUPS}
    for i, quote_id in enumerate(quotes.validation["quote_id"]):
        rows[GROUPS[counts[quote_id] > rare]].append(i)
    if empty := [group for group in GROUPS if not rows[group]]:
        sys.exit(f"--rare {rare}: no query of the validation split is {empty[0]}")
    return {group: quotes.validation.select(chosen) for group, chosen in rows.items()}


def train_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """Byte pairs within words; a Chinese character is a word."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    )


class DualEncoder(nn.Module):
    """Cosines of contexts and quotes, both embedded by one encoder.

    A text is the weighted mean of the encoder's output over its tokens; the weights are learned. In
    training a context is compared with the gold quotes of its batch. In evaluation it is compared
    with the pool, whose embeddings are computed once after each call of `eval()`.
    """

    def __init__(self, encoder: nn.Module, weights: Tensor, pool: Mapping[str, Tensor]) -> None:
        super().__init__()
        self.encoder = encoder
        self.weights = nn.Embedding.from_pretrained(weights[:, None], freeze=False)
        for name, tokens in pool.items():
            self.register_buffer(f"pool_{name}", tokens, persistent=False)
        self._inputs = tuple(pool)
        self._pool_embeddings: Tensor | None = None

    def train(self, mode: bool = True) -> Any:
        """Switch between training and evaluation; the weights may have changed in between."""
        self._pool_embeddings = None
        return super().train(mode)

    def forward(self, labels: Tensor | None = None, **context: Tensor) -> dict[str, Tensor]:
        """Loss, and in evaluation (B, C) logits over the pool.

        Args:
            labels: (B,) positions of the gold quotes in the pool.
            context: what the tokenizer gives for the B contexts.
        """
        contexts = self.embed(context)
        if not self.training:
            logits = contexts @ self.pool_embeddings().T / TEMPERATURE
            return {"logits": logits} | (
                {} if labels is None else {"loss": functional.cross_entropy(logits, labels)}
            )
        if labels is None:
            raise ValueError("`labels` must be given in training")
        logits = contexts @ self.embed(self._quotes(labels)).T / TEMPERATURE
        same = labels[:, None] == labels
        same.fill_diagonal_(False)
        logits = logits.masked_fill(same, -torch.inf)  # a second copy of the gold is no negative
        return {"loss": functional.cross_entropy(logits, torch.arange(len(labels)).to(labels))}

    def embed(self, tokens: Mapping[str, Tensor]) -> Tensor:
        """(B, H) unit vectors."""
        hidden = self.encoder(**tokens).last_hidden_state
        weights = self.weights(tokens["input_ids"]) * tokens["attention_mask"][:, :, None]
        return functional.normalize((hidden * weights).sum(1), dim=1)

    def pool_embeddings(self) -> Tensor:
        """(C, H) unit vectors of the pool, kept until the next change of mode."""
        if self._pool_embeddings is None:
            positions = torch.arange(len(self.get_buffer("pool_input_ids")))
            with torch.no_grad():
                parts = [self.embed(self._quotes(part)) for part in positions.split(CHUNK)]
            self._pool_embeddings = torch.cat(parts)
        return self._pool_embeddings

    def _quotes(self, positions: Tensor) -> dict[str, Tensor]:
        """Tokens of quotes of the pool, without columns that are padding in all of them."""
        rows = {name: self.get_buffer(f"pool_{name}")[positions] for name in self._inputs}
        longest = int(rows["attention_mask"].sum(1).max())
        return {name: row[:, :longest] for name, row in rows.items()}


@dataclass(frozen=True)
class Collator:
    """Tokens and labels of a batch of rows; the quote itself is left out."""

    tokenizer: Any

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """Collate the rows of a batch."""
        left, right = ([row[f"{side}_context"] for row in rows] for side in ("left", "right"))
        labels = torch.tensor([row["quote_id"] for row in rows])
        return {**tokenize(self.tokenizer, left, right, kind="context"), "labels": labels}


def tokenize(tokenizer: Any, *texts: list[str], kind: str) -> dict[str, Tensor]:
    """Tokens of texts, or of pairs of texts, padded on the right to the longest."""
    return dict(
        tokenizer(
            *texts,
            max_length=TOKENS[kind],
            truncation=True,
            padding=True,
            padding_side="right",
            return_tensors="pt",
        )
    )


def build_model(quotes: Quotes, weights: Path | None) -> tuple[DualEncoder, Any]:
    """The model and its tokenizer: of the folder `weights`, or small and new."""
    if weights is not None:
        tokenizer: Any = AutoTokenizer.from_pretrained(weights, local_files_only=True)
        encoder: Any = AutoModel.from_pretrained(weights, local_files_only=True)
    else:
        contexts = [quotes.train[f"{side}_context"][:] for side in ("left", "right")]
        tokenizer = train_tokenizer([*quotes.pool, *contexts[0], *contexts[1]])
        config = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=1024,
            num_hidden_layers=1,
            num_attention_heads=8,
            intermediate_size=1024,
            max_position_embeddings=max(TOKENS.values()),
            pad_token_id=tokenizer.pad_token_id,
        )
        encoder = BertModel(config, add_pooling_layer=False)
        # At first a text is little more than its words, and no word is near another.
        nn.init.orthogonal_(encoder.embeddings.word_embeddings.weight)
        nn.init.zeros_(encoder.embeddings.position_embeddings.weight)
        nn.init.zeros_(encoder.embeddings.token_type_embeddings.weight)
    weights = rarity(tokenizer, quotes)
    return DualEncoder(encoder, weights, tokenize(tokenizer, quotes.pool, kind="quote")), tokenizer


def rarity(tokenizer: Any, quotes: Quotes) -> Tensor:
    """(vocabulary,) inverse document frequency in the pool and the contexts of training."""
    texts = [*quotes.pool, *quotes.train["left_context"][:], *quotes.train["right_context"][:]]
    seen = Counter(token for text in texts for token in set(tokenizer(text)["input_ids"]))
    counts = torch.tensor([seen[token] for token in range(len(tokenizer))])
    weights = torch.log((1 + len(texts)) / (1 + counts))
    weights[tokenizer.all_special_ids] = 0
    return weights


class PrintEvaluations(TrainerCallback):
    """Print one figure of each evaluation in training; each group is an evaluation of its own."""

    def __init__(self, key: str) -> None:
        self.key = key

    def on_evaluate(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Print it; evaluations outside training have another prefix."""
        for group in GROUPS:
            value = more["metrics"].get(f"eval_{group}_{self.key}")
            if value is not None:
                text = f"validation, {group}: {self.key} {value:.4f}"
                print(f"epoch {state.epoch:6.2f}  {text}", flush=True)


def frequency_baseline(metric: Any, quotes: Quotes) -> dict[str, float]:
    """Figures of the ranking by count in the training split, the same for each test context."""
    counts = Counter(quotes.train["quote_id"])
    row = np.array([counts[quote_id] for quote_id in range(len(quotes.pool))], dtype=np.float32)
    gold = np.array(quotes.test["quote_id"])
    for part in np.split(gold, range(CHUNK, len(gold), CHUNK)):
        metric.add_batch(predictions=np.tile(row, (len(part), 1)), references=part)
    figures: dict[str, float] = metric.compute()
    return figures


def score(trainer: Trainer, rows: Any, keys: Iterable[str]) -> dict[str, float]:
    """Figures of the model on a split."""
    figures = trainer.evaluate(rows, metric_key_prefix="test")
    return {key: figures[f"test_{key}"] for key in keys}


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Aligned text: one line a ranker, one column a key."""
    keys = list(next(iter(rows.values())))
    label, widths = max(map(len, rows)), [max(len(key), 7) for key in keys]
    lines = [" " * label + "".join(f"  {k:>{w}}" for k, w in zip(keys, widths, strict=True))]
    for name, figures in rows.items():
        values = "".join(f"  {figures[k]:{w}.4f}" for k, w in zip(keys, widths, strict=True))
        lines.append(f"{name:{label}}{values}")
    return "\n".join(lines)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add = parser.add_argument
    add("--quoter", type=Path, metavar="DIR", help="folder of <language>.txt; without it: sample")
    add("--language", choices=quoter.LANGUAGES, default="english")
    add("--model", type=Path, metavar="DIR", help="weights and tokenizer, as save_pretrained has")
    add("--metric", default="MRR", help="key of quoter_rank that selects the checkpoint")
    add("--group", choices=GROUPS, default="rare", help="the queries that select the checkpoint")
    add("--rare", type=int, metavar="N", help="training lines of a rare quote: 1, with --quoter 4")
    add("--output", type=Path, metavar="DIR", default=REPO / "build" / "quote_ranker")
    add("--epochs", type=float, help="10, with --quoter 3")
    add("--batch-size", type=int, help="16, with --quoter 64")
    add("--learning-rate", type=float, default=3e-5)
    add("--seed", type=int, default=0)
    add("--tensorboard", action="store_true", help="write event files to the output folder")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    """Train, and print the figures of the test split beside the baseline's."""
    args = parse(argv)
    metric = evaluate.load(str(REPO / "metrics" / "quoter_rank"), keep_in_memory=True)
    boundaries = None if args.quoter else SAMPLE_BOUNDARIES
    quotes = load_quotes(args.quoter or SAMPLE, args.language, boundaries)
    set_seed(args.seed)
    rare = (4 if args.quoter else 1) if args.rare is None else args.rare
    validation = by_frequency(quotes, rare)
    model, tokenizer = build_model(quotes, args.model)
    best = f"eval_{args.group}_{args.metric}"  # a dict of datasets: eval_<name>_<key>
    every = 1 / EVALUATIONS
    arguments = TrainingArguments(
        output_dir=str(args.output),
        num_train_epochs=args.epochs or (3 if args.quoter else 10),
        per_device_train_batch_size=args.batch_size or (64 if args.quoter else 16),
        per_device_eval_batch_size=CHUNK,
        learning_rate=args.learning_rate,
        warmup_steps=0.1,
        eval_strategy="steps",
        save_strategy="steps",
        logging_strategy="steps",
        eval_steps=every,
        save_steps=every,
        logging_steps=every,
        save_total_limit=1,
        save_only_model=True,
        load_best_model_at_end=True,
        metric_for_best_model=best,
        greater_is_better=metric.greater_is_better[best],
        remove_unused_columns=False,
        dataloader_pin_memory=torch.cuda.is_available(),
        report_to="tensorboard" if args.tensorboard else "none",
        disable_tqdm=not sys.stderr.isatty(),
        seed=args.seed,
    )
    trainer = Trainer(
        model=model,
        args=arguments,
        train_dataset=quotes.train,
        eval_dataset=validation,
        data_collator=Collator(tokenizer),
        processing_class=tokenizer,
        compute_metrics=metric.compute_metrics,
        preprocess_logits_for_metrics=metric.preprocess_logits_for_metrics,
        callbacks=[PrintEvaluations(args.metric)],
    )
    trainer.remove_callback(PrinterCallback)
    keys = list(metric.greater_is_better)
    rows = {"training frequency": frequency_baseline(metric, quotes)}
    sizes = ", ".join(f"{len(split):,} {group}" for group, split in validation.items())
    print(f"validation queries: {sizes} (rare: at most {rare} training lines of the gold quote)")
    rows["dual encoder, untrained"] = score(trainer, quotes.test, keys)
    trainer.train()
    rows["dual encoder, trained"] = score(trainer, quotes.test, keys)
    print(table(rows), metric.signature, sep="\n")


if __name__ == "__main__":
    main()
