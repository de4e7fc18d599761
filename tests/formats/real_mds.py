#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes MDS and litdata folders by their own projects' writers.

usage: real_mds.py FOLDER
Needs mosaicml-streaming and litdata, and numpy; what these import beside (torch
and clients of cloud stores) is replaced by nothing if it is missing. Each
folder gets `expected.jsonl`: the tokens of one document on each line, as
`poniente cat` should print them.
"""

import importlib.abc
import importlib.machinery
import json
import os
import sys
import types
from unittest import mock

import numpy as np


REPLACED = {
    "azure", "boto3", "botocore", "google", "lightning_utilities",
    "matplotlib", "obstore", "oci", "paramiko", "tifffile", "torch",
    "torchvision", "transformers",
}


class Missing(types.ModuleType):
    """A module in which every name is there and none does anything."""

    __path__: list = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name[0].isupper():
            value = type(name, (), {"__class_getitem__": lambda cls, _: cls})
        else:
            value = mock.MagicMock(name=f"{self.__name__}.{name}")
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in REPLACED:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Missing(spec.name)

    def exec_module(self, module):
        pass


def documents(count, dtype, most=70000):
    rng = np.random.default_rng(8)
    lengths = [1, 2, 255, 256, 257, 2048] + list(rng.integers(1, 600, count))
    limit = min(50000, np.iinfo(dtype).max + 1)
    return [rng.integers(0, limit, n).astype(dtype) for n in lengths + [most]]


def expect(folder, docs):
    with open(os.path.join(folder, "expected.jsonl"), "w") as out:
        for doc in docs:
            out.write(json.dumps([int(t) for t in np.ravel(doc)]) + "\n")


def write_mds(root):
    from streaming import MDSWriter

    def write(name, columns, docs, sample, **settings):
        folder = os.path.join(root, name)
        with MDSWriter(out=folder, columns=columns, **settings) as out:
            for i, doc in enumerate(docs):
                out.write(sample(i, doc))
        expect(folder, docs)

    small = {"size_limit": 1 << 18}
    docs = documents(2000, np.int32)
    tokens = lambda i, doc: {"tokens": doc}
    write("mds-typed", {"tokens": "ndarray:int32"}, docs, tokens, **small)
    write("mds-zstd", {"tokens": "ndarray:int32"}, docs, tokens,
          compression="zstd:7", hashes=["sha1"], **small)
    write("mds-any", {"tokens": "ndarray"}, documents(500, np.uint16),
          tokens, **small)
    write("mds-bytes", {"tokens": "bytes"}, documents(500, np.int64),
          lambda i, doc: {"tokens": doc.tobytes()}, **small)
    write("mds-fixed", {"tokens": "ndarray:int32:2048"},
          [d for d in np.arange(2048 * 40, dtype=np.int32).reshape(40, 2048)],
          tokens, **small)
    write("mds-columns",
          {"tokens": "ndarray:uint32", "id": "str", "n": "int", "z": "json"},
          documents(500, np.uint32),
          lambda i, doc: {"tokens": doc, "id": f"doc {i}", "n": i,
                          "z": {"i": i}},
          compression="zstd", **small)


def write_litdata(root):
    import torch

    os.environ.update(DATA_OPTIMIZER_GLOBAL_RANK="0", WORLD_SIZE="1")
    if isinstance(torch, Missing):
        torch.cuda.is_available = torch.distributed.is_available = lambda: False
        torch.distributed.is_initialized = lambda: False
    import litdata.streaming.item_loader as item_loader
    import litdata.streaming.writer as writer

    def write(name, docs, **settings):
        folder = os.path.join(root, name)
        out = writer.BinaryWriter(folder, chunk_bytes=1 << 18,
                                  item_loader=item_loader.TokensLoader(),
                                  **settings)
        for i, doc in enumerate(docs):
            out.add_item(i, doc)
        out.done()
        out._merge_no_wait()  # there is one worker
        expect(folder, docs)

    write("litdata-raw", documents(2000, np.uint16))
    write("litdata-i64", documents(300, np.int64))
    first_empty = documents(20, np.uint16)
    write("litdata-dim-null", [first_empty[0][:0]] + first_empty)
    write("litdata-zstd", documents(2000, np.uint16), compression="zstd:7",
          compression_level="chunk")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.meta_path.append(Finder())
    os.makedirs(sys.argv[1], exist_ok=True)
    for write in (write_mds, write_litdata):
        write(sys.argv[1])


if __name__ == "__main__":
    main()
