#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loss masks as other projects write them, against what is read; run by hand.

  pip install numpy
  pip download --no-deps megatron-core          # and unpack it
  real_masks.py FOLDER --tool build/.../poniente
                       [--megatron .../core/datasets/indexed_dataset.py]

Writes tokens and masks below FOLDER: OLMo's and open-instruct's by
numpy.memmap, others by numpy.save, and, with --megatron, pairs of datasets by
Megatron's own IndexedDatasetBuilder. Packs each with the tool, and compares the
store's ids and bits with what was written.
"""

import argparse
import gzip
import json
import os
import random
import subprocess

import numpy

from real_indexed import Ids, load


def made_documents(seed):
    choice = random.Random(seed)
    lengths = [3, 1, 250, 7, 64] + [choice.randrange(1, 90) for _ in range(60)]
    ids = [[choice.randrange(50000) for _ in range(n)] for n in lengths]
    masks = [[choice.randrange(3) == 0 for _ in range(n)] for n in lengths]
    return ids, masks


def flat(lists):
    return [one for all_of_one in lists for one in all_of_one]


def memmap(path, dtype, values):
    file = numpy.memmap(path, mode="w+", dtype=dtype, shape=(len(values),))
    file[:] = values
    file.flush()


def labels_of(ids, masks):
    return [[i if has else -100 for i, has in zip(*pair)]
            for pair in zip(ids, masks)]


def olmo(folder, parts):
    """As scripts/prepare_tulu_data.py and open-instruct's converter do."""
    for number, (ids, masks) in enumerate(parts):
        part = os.path.join(folder, f"token_ids_part_{number:04d}")
        memmap(part + ".npy", numpy.uint32, flat(ids))
        memmap(os.path.join(folder, f"labels_mask_part_{number:04d}.npy"),
               numpy.bool_, flat(masks))
        with gzip.open(part + ".csv.gz", "wt") as rows:
            end = 0
            for document in ids:
                rows.write(f"{end},{end + len(document)}\n")
                end += len(document)


def megatron(indexed, prefix, dtype, documents):
    builder = indexed.IndexedDatasetBuilder(prefix + ".bin", dtype=dtype)
    for document in documents:
        builder.add_document(Ids(document).numpy(), [len(document)])
    builder.finalize(prefix + ".idx")


def check(tool, name, arguments, ids, masks):
    out = os.path.join(os.path.dirname(arguments[0]), name + ".store")
    subprocess.run([tool, "pack", *arguments, "--vocab-size", "50000",
                    "--tokenizer-name", "x", "--input-format", "token-files",
                    "--quiet", "--out", out], check=True)
    files = {entry.split("-")[0]: os.path.join(out, entry)
             for entry in os.listdir(out)}
    count = len(flat(ids))
    with open(os.path.join(out, "manifest.json"), encoding="utf-8") as text:
        assert json.load(text)["tokens"] == count, name
    stored = numpy.fromfile(files["tokens"], dtype=numpy.uint16)[:count]
    assert stored.tolist() == flat(ids), name
    bits = numpy.unpackbits(numpy.fromfile(files["loss_mask"], numpy.uint8),
                            bitorder="little")[:count]
    assert bits.astype(bool).tolist() == flat(masks), name
    print(name, "ok:", count, "tokens,", int(bits.sum()), "with loss")


def check_arrays(folder, tool):
    parts = [made_documents(1), made_documents(2)]
    ids = parts[0][0] + parts[1][0]
    masks = parts[0][1] + parts[1][1]
    where = os.path.join(folder, "olmo")
    os.makedirs(where)
    olmo(where, parts)
    # A pattern of --glob would choose among the inputs, so part by part.
    for number, (part_ids, part_masks) in enumerate(parts):
        check(tool, f"olmo_{number}",
              [os.path.join(where, f"token_ids_part_{number:04d}.npy"),
               "--mask",
               os.path.join(where, f"labels_mask_part_{number:04d}.npy")],
              part_ids, part_masks)
    path = os.path.join(folder, "ids.npy")
    numpy.save(path, numpy.array(flat(ids), dtype=numpy.uint16))
    for name, array, more in (
            ("bools", numpy.array(flat(masks)), []),
            ("u8", numpy.array(flat(masks), dtype=numpy.uint8), []),
            ("labels", numpy.array(flat(labels_of(ids, masks))),
             ["--no-loss-value", "-100"])):
        mask = os.path.join(folder, name + ".npy")
        numpy.save(mask, array)
        check(tool, "npy_" + name, [path, "--mask", mask, *more], ids, masks)


def check_megatron(folder, tool, indexed):
    ids, masks = made_documents(3)
    flags = [[int(has) for has in mask] for mask in masks]
    roles = [[2 if has else 1 for has in mask] for mask in masks]

    def write(name, dtype, documents):
        path = os.path.join(folder, name)
        megatron(indexed, path, dtype, documents)
        return path

    text = write("x_text_document", numpy.uint16, ids)
    for dtype in (numpy.uint8, numpy.uint16, numpy.int32, numpy.int64):
        mask = write("x_loss_mask_document", dtype, flags)
        check(tool, "flagscale_" + numpy.dtype(dtype).name,
              [text, "--mask", mask], ids, masks)
    label = write("x_label_document", numpy.int32, labels_of(ids, masks))
    check(tool, "neox", [text, "--mask", label, "--no-loss-value", "-100"],
          ids, masks)
    write("alpaca_packed_input_ids_document", numpy.int32, ids)
    write("alpaca_packed_labels_document", numpy.int32, labels_of(ids, masks))
    write("alpaca_packed_attention_mask_document", numpy.int32,
          [[1] * len(document) for document in ids])
    check(tool, "mindspeed", [os.path.join(folder, "alpaca")], ids, masks)
    write("oasst-text", numpy.uint16, ids)
    write("oasst-role", numpy.int16, roles)
    check(tool, "megatron_llm", [os.path.join(folder, "oasst")], ids, masks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--tool", required=True)
    parser.add_argument("--megatron", help="its indexed_dataset.py")
    given = parser.parse_args()
    os.makedirs(given.folder)
    check_arrays(given.folder, given.tool)
    if given.megatron:
        indexed = load("megatron.core.datasets.indexed_dataset",
                       given.megatron)
        check_megatron(given.folder, given.tool, indexed)


if __name__ == "__main__":
    main()
