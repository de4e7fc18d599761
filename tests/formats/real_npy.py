#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files by NumPy and by dolma's own writer, and what a reader has to find.

    pip install numpy; pip install dolma   (dolma is left out if it is not there)
    python3 real_npy.py OUT > expected.jsonl

Each line: {"path", "format", "dtype" (to be stated, or null), "tokens",
"documents" (lengths, or null), "names"}.
"""
import gzip
import json
import os
import sys

import numpy as np


def say(path, fmt, tokens, dtype=None, documents=None, names=None):
    print(json.dumps({"path": path, "format": fmt, "dtype": dtype,
                      "tokens": [int(t) for t in tokens],
                      "documents": documents, "names": names}))


def numpys(out):
    for name in ("u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8"):
        ids = np.arange(100, dtype="<" + name)
        for version in ((1, 0), (2, 0), (3, 0)):
            path = os.path.join(out, f"{name}-v{version[0]}.npy")
            with open(path, "wb") as file:
                np.lib.format.write_array(file, ids, version=version)
            say(path, "npy", ids)
    rows = np.arange(24, dtype="<u2").reshape(4, 6)
    path = os.path.join(out, "rows.npy")
    np.save(path, rows)
    say(path, "npy", rows.ravel())
    folder = os.path.join(out, "folder")
    os.makedirs(folder)
    shards = [np.arange(n, dtype="<u4") + 1000 * n for n in (5, 0, 17)]
    for i, shard in enumerate(shards):
        np.save(os.path.join(folder, f"shard_{i}.npy"), shard)
    say(folder, "npy", np.concatenate(shards))


def olmos(out):
    # What OLMo-core's write_document_indices leaves: the ends of documents.
    ids = np.array([5, 6, 0, 7, 0, 0], dtype="<u2")
    path = os.path.join(out, "olmo.npy")
    ids.tofile(path)
    with gzip.open(os.path.join(out, "olmo.csv.gz"), "wt") as table:
        table.write("0,3\n3,5\n5,6\n")
    say(path, "dolma", ids, documents=[3, 2, 1], names=["", "", ""])


def dolmas(out):
    try:
        from dolma.tokenizer.data_types import TokenizerOutput
        from dolma.tokenizer.memmap_writer import MemmapWriter
    except ImportError as error:
        print(f"no dolma ({error}): its files are left out", file=sys.stderr)
        return
    texts = [("a", "s3://x/1.gz"), ('b "quoted", c', "two\nlines"), ("", "")]
    for name in ("<u2", "<u4"):
        path = os.path.join(out, f"dolma-{name[1:]}.npy")
        tokens, lengths, names = [], [], []
        with MemmapWriter(path, np.dtype(name), max_tokens=1000) as writer:
            for i, (key, src) in enumerate(texts):
                ids = list(range(10 * i + 1, 10 * i + 4 + i))
                writer.write(TokenizerOutput.from_tokens(
                    id=key, src=src, loc=i, tokens=ids))
                tokens += ids
                lengths.append(len(ids))
                names.append(f"id={key} src={src} loc={i}")
        say(path, "dolma", tokens, documents=lengths, names=names)


def main():
    out = sys.argv[1]
    os.makedirs(out)
    numpys(out)
    olmos(out)
    dolmas(out)


main()
