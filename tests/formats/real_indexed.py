#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Token files by their own writers, to compare a reader with; run by hand.

  pip install numpy datatrove tokenizers
  pip install --no-deps megatron-core
  pip download --no-deps --no-binary :all: fairseq     # and unpack it
  real_indexed.py FOLDER --megatron .../core/datasets/indexed_dataset.py
                         --fairseq .../fairseq/data/indexed_dataset.py

Makes files below FOLDER, and FOLDER/expected.jsonl: a line for each dataset,
{"path", "dtype", "tokens": [ids], "documents": [[begin, length]]}. The modules
are loaded alone: neither torch nor a built package is needed.
"""

import argparse
import importlib.util
import json
import os
import random
import sys
import types
from unittest import mock

import numpy


class Ids:
    """What the writers ask of a tensor."""

    def __init__(self, ids):
        self.ids = numpy.array(ids, dtype=numpy.int64)

    def numpy(self):
        return self.ids

    def size(self):
        return self.ids.shape


def load(name, path):
    """The module at `path`; what it imports and is not here is a mock."""
    torch = mock.MagicMock()
    torch.utils.data.Dataset = object
    sys.modules.update({"torch": torch, "torch.utils": torch.utils,
                        "torch.utils.data": torch.utils.data})
    package = name.rpartition(".")[0]
    for stub in (package.split(".")[0], "megatron.core", package,
                 "megatron.core.datasets.object_storage_utils",
                 "megatron.core.datasets.utils_s3", "megatron.core.msc_utils",
                 "megatron.core.utils",
                 "fairseq.dataclass", "fairseq.dataclass.constants",
                 "fairseq.data.fasta_dataset", "fairseq.file_io",
                 "fairseq.data.huffman"):
        sys.modules[stub] = mock.MagicMock(__path__=[], FairseqDataset=object)
    sys.modules["megatron.core.msc_utils"].MultiStorageClientFeature = (
        types.SimpleNamespace(is_enabled=lambda: False))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def made_documents(below):
    choice = random.Random(below)
    lengths = [3, 1, 250, 7, 64] + [choice.randrange(1, 90) for _ in range(60)]
    return [[choice.randrange(below) for _ in range(n)] for n in lengths]


def expect(out, path, dtype, documents):
    tokens, bounds = [], []
    for document in documents:
        bounds.append([len(tokens), len(document)])
        tokens += document
    out.write(json.dumps({"path": path, "dtype": dtype, "tokens": tokens,
                          "documents": bounds}) + "\n")


def write_megatron(indexed, folder, out):
    for dtype, below in (("uint16", 50000), ("int32", 200000), ("int64", 99)):
        documents = made_documents(below)
        prefix = os.path.join(folder, "megatron_" + dtype)
        builder = indexed.IndexedDatasetBuilder(
            prefix + ".bin", dtype=getattr(numpy, dtype))
        for number, document in enumerate(documents):
            half = len(document) // 2 if number % 3 == 0 else 0
            lengths = [half, len(document) - half] if half else [len(document)]
            builder.add_document(Ids(document).numpy(), lengths)
        builder.finalize(prefix + ".idx")
        name = dtype.replace("uint", "u").replace("int", "i")
        expect(out, prefix + ".idx", name, documents)
        merged = indexed.IndexedDatasetBuilder(
            prefix + "_merged.bin", dtype=getattr(numpy, dtype))
        merged.add_index(prefix)
        merged.add_index(prefix)
        merged.finalize(prefix + "_merged.idx")
        expect(out, prefix + "_merged.bin", name, documents * 2)


def write_fairseq(indexed, folder, out):
    for dtype, below in (("uint16", 50000), ("uint32", 200000),
                         ("int64", 99)):
        documents = made_documents(below)
        prefix = os.path.join(folder, "fairseq_" + dtype)
        builder = indexed.MMapIndexedDatasetBuilder(
            prefix + ".bin", dtype=getattr(numpy, dtype))
        for document in documents:
            builder.add_item(Ids(document))
        builder.finalize(prefix + ".idx")
        expect(out, prefix + ".idx",
               dtype.replace("uint", "u").replace("int", "i"), documents)
    documents = made_documents(200000)
    prefix = os.path.join(folder, "tntidx_int32")
    builder = indexed.IndexedDatasetBuilder(prefix + ".bin")
    for document in documents:
        builder.add_item(Ids(document))
    builder.finalize(prefix + ".idx")
    expect(out, prefix + ".idx", "i32", documents)


def write_datatrove(folder, out):
    from datatrove.pipeline.tokens.tokenizer import TokenizedFile
    for size, name, below in ((2, "gpt2", 50000), (4, None, 200000)):
        documents = made_documents(below)
        file = TokenizedFile(folder, f"datatrove_{size}.ds", token_size=size,
                             tokenizer_name_or_path=name,
                             save_final_metadata=True)
        for document in documents:
            file.write(document, None)
        file.close()
        expect(out, os.path.join(folder, f"datatrove_{size}.ds"),
               f"u{size * 8}", documents)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--megatron", help="its indexed_dataset.py")
    parser.add_argument("--fairseq", help="its indexed_dataset.py")
    given = parser.parse_args()
    folder = os.path.abspath(given.folder)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "expected.jsonl"), "w",
              encoding="utf-8") as out:
        # First, for the others leave mocks of torch behind.
        write_datatrove(folder, out)
        if given.megatron:
            name = "megatron.core.datasets.indexed_dataset"
            write_megatron(load(name, given.megatron), folder, out)
        if given.fairseq:
            name = "fairseq.data.indexed_dataset"
            write_fairseq(load(name, given.fairseq), folder, out)


if __name__ == "__main__":
    main()
