#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the corpora of mds_fuzz and litdata_fuzz beside itself.

Needs the zstd program for the compressed ones.
"""

import json
import os
import struct
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


def put(folder, name, head, data):
    text = json.dumps(head[0]).encode()
    os.makedirs(os.path.join(HERE, folder), exist_ok=True)
    with open(os.path.join(HERE, folder, name), "wb") as out:
        out.write(struct.pack("<I", len(text)) + head[1] + text + data)


def table(rows, between):
    at = 4 * (len(rows) + 2) + len(between)
    ends = [at]
    for row in rows:
        ends.append(ends[-1] + len(row))
    return (struct.pack(f"<{len(ends) + 1}I", len(rows), *ends) + between
            + b"".join(rows))


def row(*variable):
    return (struct.pack(f"<{len(variable)}I", *map(len, variable))
            + b"".join(variable))


def mds(name, columns, rows, zipped=False):
    data = table(rows, b"{}")
    shard = {
        "column_names": [c[0] for c in columns],
        "column_encodings": [c[1] for c in columns],
        "column_sizes": [c[2] for c in columns],
        "compression": "zstd:7" if zipped else None, "format": "mds",
        "hashes": [], "samples": len(rows), "size_limit": 1 << 26,
        "raw_data": {"basename": "s", "bytes": len(data), "hashes": {}},
        "version": 2, "zip_data": None,
    }
    if zipped:
        data = subprocess.run(["zstd", "-7", "-c"], input=data, check=True,
                              capture_output=True).stdout
    put("mds", name, ({"shards": [shard], "version": 2}, bytes([zipped])), data)


def litdata(name, items, dim, **config):
    data = table(items, b"")
    chunk = {"chunk_bytes": len(data), "chunk_size": len(items), "dim": dim,
             "filename": "c"}
    config = {"compression": None, "data_format": ["no_header_tensor:20"],
              "encryption": None, "item_loader": "TokensLoader", **config}
    put("litdata", name, ({"chunks": [chunk], "config": config}, b""), data)


TYPED = ("tokens", "ndarray:int32", None)
ONE = b"\x04\x02" + struct.pack("<2i", 7, 8)
TWO = b"\x08\x02\x01" + struct.pack("<2i", 9, 10)
mds("typed", [TYPED], [row(ONE), row(b"\x04\x01" + b"\5\0\0\0")])
mds("axes", [TYPED], [row(TWO), row(ONE)])
mds("any", [("x", "ndarray", None)], [row(b"\x10\x04\x01\5\0")])
mds("bytes", [("tokens", "bytes", None)], [row(b"\1" + bytes(7)), row(b"")])
mds("fixed", [("tokens", "ndarray:uint16:2", 4)], [b"\1\0\2\0", b"\3\0\4\0"])
mds("columns", [("a", "str", None), ("n", "int", 8), TYPED],
    [struct.pack("<2I", 2, len(ONE)) + b"xy" + bytes(8) + ONE])
mds("empty", [TYPED], [])
mds("zipped", [TYPED], [row(ONE)] * 50, zipped=True)
litdata("two", [b"\1\0\2\0", b"\3\0"], 3)
litdata("dim-null", [b"", b"\3\0"], None)
litdata("numpy", [b"\1\0\2\0"], 1, data_format=["no_header_numpy:6"])
litdata("tree", [b"\1\0\2\0"], None, item_loader="PyTreeLoader")
