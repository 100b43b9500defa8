# SPDX-License-Identifier: Apache-2.0
"""Write the datasets that are on disk as Parquet folders that `load_dataset(folder, config)` reads.

python examples/export_datasets.py OUT --quoter DIR --du-div DIR --trec-web DIR
"""

import argparse
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import yaml
from quotediv.loaders import du_div, quoter, trec_web

CARDS = Path(__file__).resolve().parent.parent / "cards"


def builders(arguments: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    """(dataset, builder) of every config whose source file is there."""
    if arguments.quoter:
        present = [name for name in quoter.LANGUAGES if list(arguments.quoter.glob(f"{name}.txt*"))]
        for config in _some(present + [f"{name}_quotes" for name in present], arguments.quoter):
            yield "quoter", quoter.Quoter(config_name=config, data_dir=str(arguments.quoter))
    if arguments.du_div:
        for config in ("paper", "released"):
            yield "du_div", du_div.DuDiv(config_name=config, data_dir=str(arguments.du_div))
    if arguments.trec_web:
        for config in _some(trec_web.years_in(arguments.trec_web), arguments.trec_web):
            yield "trec_web", trec_web.TrecWeb(config_name=config, data_dir=str(arguments.trec_web))


def _some(configs: list[str], folder: Path) -> list[str]:
    if not configs:
        raise FileNotFoundError(f"{folder} holds none of the source files")
    return configs


def export(name: str, builder: Any, out: Path) -> dict[str, Any]:
    """Write one config into `out`/<dataset>/<config>; its name, columns and split sizes."""
    folder = out / name / builder.config.name
    builder.download_and_prepare(str(folder), file_format="parquet")
    for lock in (out / name).rglob("*.lock"):
        lock.unlink()
    print(folder)
    sizes = [
        {"name": split.name, "num_bytes": split.num_bytes, "num_examples": split.num_examples}
        for split in builder.info.splits.values()
    ]
    return {"config_name": builder.config.name, "splits": sizes}


def write_card(name: str, exported: list[dict[str, Any]], out: Path) -> None:
    """Write the card beside the data, with the configs that are there and their sizes."""
    _, head, text = (CARDS / f"{name}.md").read_text(encoding="utf-8").split("---\n", 2)
    card = yaml.safe_load(head)
    splits = {config["config_name"]: config["splits"] for config in exported}
    for key in ("configs", "dataset_info"):
        card[key] = [entry for entry in card[key] if entry["config_name"] in splits]
    for info in card["dataset_info"]:
        info["splits"] = splits[info["config_name"]]
    if not any(config.get("default") for config in card["configs"]):
        card["configs"][0]["default"] = True
    head = yaml.safe_dump(card, allow_unicode=True, sort_keys=False)
    (out / name / "README.md").write_text(f"---\n{head}---\n{text}", encoding="utf-8")


def main(argv: list[str] | None = None) -> None:
    """Export everything that was named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="folder to write to")
    parser.add_argument("--quoter", type=Path, metavar="DIR", help="the authors' <language>.txt")
    parser.add_argument("--du-div", type=Path, metavar="DIR", help="the authors' label file")
    parser.add_argument("--trec-web", type=Path, metavar="DIR", help="NIST's topics and judgements")
    arguments = parser.parse_args(argv)
    if not (arguments.quoter or arguments.du_div or arguments.trec_web):
        parser.error("name at least one of --quoter, --du-div and --trec-web")
    for name, group in groupby(builders(arguments), key=lambda pair: pair[0]):
        exported = [export(name, builder, arguments.out) for _, builder in group]
        write_card(name, exported, arguments.out)


if __name__ == "__main__":
    main()
