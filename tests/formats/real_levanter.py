#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Levanter caches with TensorStore, as Levanter's JaggedArrayStore does.

usage: real_levanter.py FOLDER     (needs: pip install tensorstore numpy)

Makes FOLDER/<cache> for each of several caches, and FOLDER/expected.jsonl: per
cache its path, and the tokens of its rows; `large` only has their number and
the CRC-32 of all ids as u32.
"""
import json
import pathlib
import sys
import zlib

import numpy as np
import tensorstore as ts

CHUNK = 256 * 1024
FILE = 512 * CHUNK


def create(path, dtype):
    spec = {
        "driver": "zarr3",
        "kvstore": {"driver": "file", "path": str(path)},
        "metadata": {
            "chunk_grid": {
                "name": "regular",
                "configuration": {"chunk_shape": [FILE]},
            },
            "codecs": [
                {
                    "name": "sharding_indexed",
                    "configuration": {
                        "chunk_shape": [CHUNK],
                        "codecs": [
                            {"name": "blosc", "configuration": {"clevel": 5}}
                        ],
                    },
                }
            ],
        },
    }
    return ts.open(spec, dtype=dtype, shape=[2**54], create=True).result()


class Field:
    """Rows are appended in batches, then the number of rows is written."""

    def __init__(self, path, dtype):
        self.data = create(path / "data", dtype)
        self.offsets = create(path / "offsets", "int64")
        self.rows = 0
        self.tokens = 0

    def extend(self, lengths, ids):
        ends = np.cumsum(lengths, dtype=np.int64) + self.tokens
        if len(ids):
            self.data[self.tokens : self.tokens + len(ids)].write(ids).result()
        self.offsets[self.rows + 1 : self.rows + 1 + len(ends)].write(
            ends
        ).result()
        self.rows += len(ends)
        self.tokens += len(ids)
        self.offsets[0].write(self.rows).result()


def ledger(shards, layout, tokens):
    return json.dumps(
        {
            "total_num_rows": sum(rows for _, rows, _ in shards),
            "shard_rows": {name: rows for name, rows, _ in shards},
            "is_finished": True,
            "finished_shards": [name for name, _, _ in shards],
            "field_counts": {"input_ids": tokens},
            "field_counts_by_shard": {
                name: {"input_ids": count} for name, _, count in shards
            }
            if layout == "sharded"
            else {},
            "layout": layout,
            "metadata": {"preprocessor_metadata": {"tokenizer": "gpt2"}},
        }
    )


def write(folder, dtype, batches):
    field = Field(folder / "input_ids", dtype)
    for rows in batches:
        field.extend(
            [len(row) for row in rows],
            np.concatenate([np.asarray(r, dtype=dtype) for r in rows]),
        )
    (folder / "shard_ledger.json").write_text(
        ledger([("s", field.rows, field.tokens)], "consolidated", field.tokens)
    )
    return field


def main():
    folder = pathlib.Path(sys.argv[1])
    random = np.random.default_rng(7)
    expected = []

    def made(count, limit):
        return [
            random.integers(0, limit, random.integers(0, 200)).tolist()
            for _ in range(count)
        ]

    for dtype, limit in [
        ("int8", 128), ("uint8", 256), ("int16", 2**15), ("uint16", 2**16),
        ("int32", 2**31), ("uint32", 2**32), ("int64", 2**32),
        ("uint64", 2**32),
    ]:
        rows = made(60, limit)
        write(folder / dtype, dtype, [rows[:1], rows[1:40], rows[40:]])
        expected.append({"path": dtype, "rows": rows})

    shards = []
    all_rows = []
    for i in range(4):
        name = f"part-{i:05d}-of-00004"
        rows = made(30, 50257) if i != 2 else []
        if rows:
            write(folder / "sharded" / name, "int32", [rows])
        shards.append((name, len(rows), sum(map(len, rows))))
        all_rows += rows
    (folder / "sharded/shard_ledger.json").write_text(
        ledger(shards, "sharded", sum(map(len, all_rows)))
    )
    expected.append({"path": "sharded", "rows": all_rows})

    # 2.5 chunks of offsets, 5.4 of ids, one of them nothing but zeros.
    lengths = random.integers(0, 5, 650_000)
    ids = random.integers(0, 50257, int(lengths.sum()), dtype=np.int32)
    ids[2 * CHUNK : 3 * CHUNK] = 0
    large = Field(folder / "large/input_ids", "int32")
    half = int(lengths[:400_000].sum())
    large.extend(lengths[:400_000], ids[:half])
    large.extend(lengths[400_000:], ids[half:])
    (folder / "large/shard_ledger.json").write_text(
        ledger([("", large.rows, large.tokens)], "consolidated", large.tokens)
    )
    expected.append(
        {"path": "large", "documents": large.rows, "tokens": large.tokens,
         "crc32": zlib.crc32(ids.astype("<u4").tobytes())}
    )
    with open(folder / "expected.jsonl", "w", encoding="utf-8") as out:
        for line in expected:
            out.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
