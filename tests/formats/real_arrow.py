#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Arrow files with pyarrow and Hugging Face datasets, and what is in them.

usage: real_arrow.py FOLDER        (needs: pip install datasets pyarrow)

FOLDER/expected.jsonl has a line for each source: {"path", "options",
"documents"}, where documents are lists of ids, or "error": a part of the message
to expect. Compare with `poniente cat PATH OPTIONS --document N`.
"""

import json
import os
import random
import sys

folder = os.path.abspath(sys.argv[1])
cache = os.path.join(folder, "cache")
os.environ["HF_DATASETS_CACHE"] = cache
os.environ["HF_HUB_OFFLINE"] = "1"

import datasets  # noqa: E402
import numpy as np  # noqa: E402
import pyarrow as pa  # noqa: E402

datasets.disable_progress_bars()
draw = random.Random(7)
expected = []


def expect(path, documents=None, error=None, **options):
    line = {"path": os.path.join(folder, path), "options": options}
    if error is None:
        line["documents"] = [[int(i) for i in row] for row in documents]
    else:
        line["error"] = error
    expected.append(line)


def rows(count, limit=50257):
    return [
        [draw.randrange(limit) for _ in range(draw.choice([0, 1, 5, 700]))]
        for _ in range(count)
    ]


def columns(ids):
    return {"text": ["t" * (len(row) % 5) for row in ids], "input_ids": ids}


def stream(name, table, **options):
    path = os.path.join(folder, name)
    with pa.OSFile(path, "wb") as sink:
        with pa.ipc.new_stream(sink, table.schema, **options) as writer:
            writer.write_table(table, max_chunksize=100)


def write_pyarrow():
    types = [pa.uint8(), pa.int8(), pa.uint16(), pa.int16(), pa.uint32(),
             pa.int32(), pa.uint64(), pa.int64()]
    for type_ in types:
        limit = 100 if type_.bit_width == 8 else 30000
        ids = rows(250, limit)
        for kind in (pa.list_, pa.large_list):
            name = f"{kind.__name__}-{type_}.arrow"
            stream(name, pa.table({"input_ids": pa.array(ids, kind(type_))}))
            expect(name, ids)
    ids = [[draw.randrange(30000) for _ in range(64)] for _ in range(250)]
    array = pa.array(ids, pa.list_(pa.uint16(), 64))
    stream("fixed.arrow", pa.table({"tokens": array}))
    expect("fixed.arrow", ids)
    stream("sliced.arrow", pa.table({"tokens": array}).slice(37, 150))
    expect("sliced.arrow", ids[37:187])

    ids = rows(300)
    many = pa.table({
        "null": pa.nulls(300),
        "flag": pa.array([True, None, False] * 100),
        "meta": pa.array([{"a": 1.5, "b": ["x", None]}] * 300),
        "code": pa.array(["a", "b", "a"] * 100).dictionary_encode(),
        "view": pa.array(["short", "longer than twelve bytes", None] * 100,
                         pa.string_view()),
        "map": pa.array([[("k", 1)]] * 300, pa.map_(pa.string(), pa.int64())),
        "runs": pa.array(
            pa.RunEndEncodedArray.from_arrays(pa.array([100, 300]),
                                              pa.array([1.0, 2.0]))),
        "union": pa.UnionArray.from_sparse(
            pa.array([0, 1, 0] * 100, pa.int8()),
            [pa.array([1] * 300), pa.array(["x"] * 300)]),
        "dense": pa.UnionArray.from_dense(
            pa.array([0] * 300, pa.int8()),
            pa.array(range(300), pa.int32()), [pa.array([1] * 300)]),
        "list_view": pa.array([[1], [2, 3], []] * 100,
                              pa.list_view(pa.int16())),
        "binary": pa.array([b"xy"] * 300, pa.binary(2)),
        "input_ids": pa.array(ids, pa.list_(pa.int32())),
        "labels": pa.array(ids, pa.list_(pa.int64())),
        "when": pa.array([0] * 300, pa.timestamp("us")),
    })
    stream("many.arrow", many)
    expect("many.arrow", ids)
    expect("many.arrow", ids, column="labels")
    expect("many.arrow", error="is of type list_view<i16>", column="list_view")
    stream("slice.arrow", many.slice(123, 99))
    expect("slice.arrow", ids[123:222])
    v4 = pa.ipc.IpcWriteOptions(metadata_version=pa.ipc.MetadataVersion.V4)
    no_union = many.drop_columns(["union", "dense"])
    stream("v4.arrow", no_union, options=v4)
    expect("v4.arrow", ids)
    with pa.OSFile(os.path.join(folder, "form.arrow"), "wb") as sink:
        with pa.ipc.new_file(sink, many.schema) as writer:
            writer.write_table(many, max_chunksize=100)
    expect("form.arrow", ids)
    for codec in ("lz4", "zstd"):
        stream(f"{codec}.arrow", many,
               options=pa.ipc.IpcWriteOptions(compression=codec))
        expect(f"{codec}.arrow", error=f"compressed ({codec})")
    old = pa.ipc.IpcWriteOptions(use_legacy_format=True)
    stream("old.arrow", no_union, options=old)
    expect("old.arrow", error="")  # no marks between messages: not recognised
    for name, values, error in [
            ("null-row", [[1], None], "null rows"),
            ("null-id", [[1], [None]], "null ids"),
            ("float", [[1.0]], "list<f64>"),
            ("nested", [[[1]]], "list<list<i64>>")]:
        stream(name + ".arrow", pa.table({"input_ids": pa.array(values)}))
        expect(name + ".arrow", error=error)
    with open(os.path.join(folder, "many.arrow"), "rb") as file:
        whole = file.read()
    with open(os.path.join(folder, "cut.arrow"), "wb") as file:
        file.write(whole[: len(whole) // 2])
    expect("cut.arrow", error="cut short")


def write_saved():
    ids = rows(2500)
    one = datasets.Dataset.from_dict(columns(ids))
    one.save_to_disk(os.path.join(folder, "saved"), num_shards=3)
    expect("saved", ids)
    some = one.shuffle(seed=3).select(range(0, 2000, 3))
    some.save_to_disk(os.path.join(folder, "selected"))
    expect("selected", some["input_ids"])
    loaded = datasets.load_from_disk(os.path.join(folder, "saved"))
    loaded.map(lambda row: {"input_ids": row["input_ids"][::-1]})
    loaded.shuffle(seed=1).filter(lambda row: len(row["input_ids"]) > 2)
    expect("saved", ids)
    one.select([]).save_to_disk(os.path.join(folder, "empty"))
    expect("empty", [])
    typed = one.cast_column("input_ids",
                            datasets.LargeList(datasets.Value("uint16")))
    typed.save_to_disk(os.path.join(folder, "typed"))
    expect("typed", ids)
    array = datasets.Dataset.from_dict(
        {"input_ids": np.arange(640, dtype=np.int32).reshape(10, 64)},
        features=datasets.Features(
            {"input_ids": datasets.Sequence(datasets.Value("int32"), 64)}))
    array.save_to_disk(os.path.join(folder, "fixed"))
    expect("fixed", array["input_ids"])
    split = datasets.DatasetDict(train=one, test=one.select(range(9)))
    split.save_to_disk(os.path.join(folder, "dict"))
    expect("dict", error="splits train, test")
    expect("dict/test", ids[:9])
    datasets.DatasetDict(train=one).save_to_disk(os.path.join(folder, "single"))
    expect("single", ids)


def write_cache():
    ids = rows(2000)
    source = os.path.join(folder, "TinyData")
    os.makedirs(source)
    names = {"train": ["train-0", "train-1", "train-2"], "test": ["test"]}
    parts = [ids[:900], ids[900:1000], ids[1000:], ids[:9]]
    for name, part in zip(names["train"] + names["test"], parts):
        with open(os.path.join(source, name + ".jsonl"), "w") as file:
            for row in part:
                print(json.dumps({"input_ids": row}), file=file)
    files = {key: [os.path.join(source, name + ".jsonl") for name in value]
             for key, value in names.items()}

    def cached(data, split):
        return os.path.dirname(data[split].cache_files[0]["filename"])

    where = cached(datasets.load_dataset("json", data_files=files), "train")
    expect(where, error="splits train, test")
    expect(where, ids, glob="*-train*.arrow")
    expect(where, ids[:9], glob="*-test*.arrow")
    expect(os.path.join(where, "json-test.arrow"), ids[:9])
    data = datasets.load_dataset("json", data_files=files["train"], num_proc=2)
    where = cached(data, "train")
    data["train"].map(lambda row: {"n": 1}).shuffle(seed=1)
    expect(where, data["train"]["input_ids"])
    data = datasets.load_dataset(source)
    expect(cached(data, "train"), ids, glob="*-train*")
    data = datasets.Dataset.from_generator(
        lambda: ({"input_ids": row} for row in ids))
    expect(os.path.dirname(data.cache_files[0]["filename"]), ids)


os.makedirs(folder)
write_pyarrow()
write_saved()
write_cache()
with open(os.path.join(folder, "expected.jsonl"), "w") as out:
    for line in expected:
        print(json.dumps(line), file=out)
print(f"datasets {datasets.__version__}, pyarrow {pa.__version__}: "
      f"{len(expected)} sources in {folder}/expected.jsonl")
