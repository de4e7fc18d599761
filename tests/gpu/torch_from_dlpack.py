#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch on a GPU reads batches by DLPack while their memory is used again.

    torch_from_dlpack.py --library libponiente_c.so run.toml [STEPS]

Needs a GPU and PyTorch, so no test of ctest runs it. Every tensor of every
batch is summed on the GPU, with weights that tell all places apart, on one of
two streams that are kept busy, so that most sums are made after the batch is
gone. The sums must be those of the same steps on the host.
"""

import argparse
import pathlib
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / 'examples'))
import embed  # noqa: E402  (of the folder above)

TENSORS = ['tokens', 'labels', 'loss_mask', 'document_ids', 'positions']
BUSY_CYCLES = 2_000_000  # about 1 ms


def weighed(tensor):
    """One number that changes if any element does, or moves."""
    flat = tensor.reshape(-1).to(torch.int64)
    places = torch.arange(flat.numel(), device=flat.device, dtype=torch.int64)
    return ((places * 2654435761 % 1000003 + 1) * (flat + 1)).sum()


def sums_on_host(lib, config, steps):
    sums = []
    with embed.Loader(lib, config, embed.I64, ','.join(TENSORS[1:])) as loader:
        for _, batch in zip(range(steps), loader):
            with batch:
                assert batch.device() == (1, 0), 'the host was asked for'
                sums.append([weighed(torch.from_dlpack(embed.Shared(batch, name)))
                             .item() for name in TENSORS])
    return sums


def sums_on_gpu(lib, config, steps):
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    sums = []
    with embed.Loader(lib, config, embed.I64, ','.join(TENSORS[1:])) as loader:
        for step, batch in zip(range(steps), loader):
            with batch, torch.cuda.stream(streams[step % 2]):
                assert batch.device() == (2, 0), 'the batch is not on the GPU'
                torch.cuda._sleep(BUSY_CYCLES)
                sums.append([])
                for name in TENSORS:
                    shared = embed.Shared(batch, name, on_device=True)
                    tensor = torch.from_dlpack(shared)
                    assert tensor.is_cuda and tensor.device.index == 0
                    assert tensor.data_ptr() == batch.tensor(name).device
                    sums[-1].append(weighed(tensor))
                    del tensor, shared
        torch.cuda.synchronize()
    return [[one.item() for one in row] for row in sums]


def main():
    parser = argparse.ArgumentParser(prog='torch_from_dlpack.py')
    parser.add_argument('config')
    parser.add_argument('steps', nargs='?', type=int, default=300)
    parser.add_argument('--library', default='libponiente_c.so.1')
    arguments = parser.parse_args()
    lib = embed.Library(arguments.library)
    host = pathlib.Path(arguments.config)
    with tempfile.NamedTemporaryFile('w', dir=host.parent, suffix='.toml') as gpu:
        gpu.write(host.read_text() + "\n[runtime]\ndevice = 'cuda'\n")
        gpu.flush()
        on_gpu = sums_on_gpu(lib, gpu.name, arguments.steps)
    on_host = sums_on_host(lib, str(host), arguments.steps)
    if on_gpu != on_host or len(on_gpu) != arguments.steps:
        sys.exit('torch_from_dlpack.py: the GPU saw other tensors')
    print(f'{len(on_gpu)} batches, {len(TENSORS)} tensors each: as on the host')


if __name__ == '__main__':
    main()
