#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Poniente from Python through libponiente_c.so, by ctypes alone.

    embed.py [--library libponiente_c.so] [--plain] run.toml [STEPS]

Prints what examples/embed.c prints. The library is the one named, that of the
environment variable PONIENTE_LIBRARY, or the installed one. With numpy, arrays
share the batch's memory by DLPack, as torch.from_dlpack() would; without it, or
with --plain, ids are read through a memoryview.

Loader, Batch and Shared below are to be copied; main() uses them.
"""

import argparse
import ctypes
import math
import os
import sys
import weakref
from ctypes import (POINTER, byref, c_char_p, c_double, c_int, c_int32, c_int64,
                    c_size_t, c_ssize_t, c_uint32, c_uint64, c_void_p,
                    py_object)

ABI_VERSION = 1
OK, OUT_OF_RANGE = 0, 11
U8, U16, U32, I32, I64, F32 = range(1, 7)
# How memoryviews call them, and their bytes.
FORMATS = {U8: ('B', 1), U16: ('H', 2), U32: ('I', 4), I32: ('i', 4),
           I64: ('q', 8), F32: ('f', 4)}


class Struct(ctypes.Structure):
    """One that begins with struct_size."""

    def __init__(self):
        super().__init__(struct_size=ctypes.sizeof(self))


class Options(Struct):
    _fields_ = [('struct_size', c_size_t), ('rank', c_int32),
                ('ranks', c_int32), ('start_step', c_int64),
                ('token_type', c_int32), ('device_type', c_int32),
                ('device_ordinal', c_int32), ('prefetch_batches', c_uint32),
                ('prefetch_bytes', c_uint64), ('max_held', c_int32),
                ('waits_for_held', c_int32), ('report_every_steps', c_uint64),
                ('tensors', c_char_p), ('context_rank', c_uint32),
                ('context_ranks', c_uint32), ('context_split', c_int32)]


class Step(Struct):
    _fields_ = [('struct_size', c_size_t), ('step', c_uint64),
                ('first_sample', c_uint64), ('batch_size', c_uint64),
                ('num_samples', c_uint64), ('seq_len', c_uint32),
                ('stage', c_uint32), ('stage_name', c_char_p),
                ('lr_scale', c_double), ('temperature', c_double),
                ('is_boundary', c_int32), ('num_changes', c_int32),
                ('num_weights', c_uint64)]


class Tensor(Struct):
    _fields_ = [('struct_size', c_size_t), ('name', c_char_p),
                ('dtype', c_int32), ('ndim', c_int32), ('shape', c_int64 * 2),
                ('host', c_void_p), ('device', c_void_p)]


class Run(Struct):
    _fields_ = [('struct_size', c_size_t), ('steps', c_uint64),
                ('samples', c_uint64), ('tokens', c_uint64),
                ('vocabulary_size', c_uint64), ('tokenizer', c_char_p),
                ('fingerprint', c_uint64), ('num_sources', c_uint64),
                ('max_seq_len', c_uint32), ('rank', c_uint32),
                ('ranks', c_uint32), ('order_version', c_uint32)]


class Sample(ctypes.Structure):
    _fields_ = [('sample', c_uint64), ('item', c_uint64), ('epoch', c_uint64),
                ('source', c_uint32), ('token_begin', c_uint32)]


class Source(ctypes.Structure):
    _fields_ = [('path', c_char_p), ('dataset', c_char_p),
                ('backend', c_char_p), ('fallback_reason', c_char_p)]


class Weight(ctypes.Structure):
    _fields_ = [('name', c_char_p), ('weight', c_double)]


class MicroBatch(ctypes.Structure):
    _fields_ = [('begin', c_uint64), ('end', c_uint64)]


class PonienteError(RuntimeError):
    def __init__(self, code, text):
        super().__init__(text)
        self.code = code


class Library:
    """The functions of poniente_c.h, without their prefix. Those that give a
    code raise PonienteError instead."""

    STATUS = {
        'options_init': [POINTER(Options), c_size_t],
        'options_ranks_from_environment': [POINTER(Options)],
        'loader_open': [c_char_p, POINTER(Options), POINTER(c_void_p)],
        'loader_next': [c_void_p, POINTER(c_void_p)],
        'loader_stop': [c_void_p],
        'loader_seek': [c_void_p, c_uint64],
        'loader_next_step': [c_void_p, POINTER(c_uint64)],
        'loader_state': [c_void_p, POINTER(c_void_p)],
        'loader_state_at': [c_void_p, c_uint64, POINTER(c_void_p)],
        'loader_resume': [c_void_p, c_char_p],
        'loader_propose': [c_void_p, c_char_p, POINTER(c_void_p)],
        'loader_steer': [c_void_p, c_char_p, POINTER(c_uint64)],
        'loader_last_decision': [c_void_p, POINTER(c_int64)],
        'loader_run': [c_void_p, POINTER(Run)],
        'loader_step': [c_void_p, c_uint64, POINTER(Step)],
        'loader_weights': [c_void_p, c_uint64, c_size_t, c_size_t,
                           POINTER(Weight)],
        'loader_sources': [c_void_p, c_size_t, c_size_t, POINTER(Source)],
        'loader_metrics': [c_void_p, POINTER(c_char_p), POINTER(c_void_p)],
        'batch_step': [c_void_p, POINTER(Step)],
        'batch_samples': [c_void_p, c_size_t, c_size_t, POINTER(Sample)],
        'batch_tensor': [c_void_p, c_char_p, POINTER(Tensor)],
        'batch_device': [c_void_p, POINTER(c_int32), POINTER(c_int32)],
        'batch_dlpack': [c_void_p, c_char_p, c_int32, c_void_p,
                         POINTER(c_void_p)],
        'micro_batches': [POINTER(c_uint64), c_size_t, c_uint64, c_size_t,
                          POINTER(MicroBatch), c_size_t, POINTER(c_size_t)],
    }
    NOTHING = {'loader_close': [c_void_p], 'batch_release': [c_void_p],
               'text_free': [c_void_p], 'dlpack_release': [c_void_p]}

    def __init__(self, path):
        # A CDLL lets go of Python's lock around every call: other threads run
        # while loader_next waits.
        self._dll = ctypes.CDLL(path)
        self.last_error = self._function('last_error', [], c_char_p)
        for name, arguments in self.STATUS.items():
            function = self._function(name, arguments, c_int32)
            function.errcheck = self._check
            setattr(self, name, function)
        for name, arguments in self.NOTHING.items():
            setattr(self, name, self._function(name, arguments, None))
        abi = self._function('abi_version', [], c_uint32)()
        if abi != ABI_VERSION:
            raise ImportError(f'{path} is of ABI version {abi}')

    def _function(self, name, arguments, result):
        function = getattr(self._dll, 'poniente_' + name)
        function.argtypes = arguments
        function.restype = result
        return function

    def _check(self, code, function, arguments):
        if code != OK:
            raise PonienteError(code, self.last_error().decode())

    def text(self, pointer):
        """The caller's text as a str; frees it."""
        try:
            return ctypes.string_at(pointer).decode()
        finally:
            self.text_free(pointer)


# ---- Python's own, by prototypes of ours: those of pythonapi are everybody's

_view_of_memory = ctypes.PYFUNCTYPE(py_object, c_void_p, c_ssize_t, c_int)(
    ('PyMemoryView_FromMemory', ctypes.pythonapi))
_READ = 0x100  # PyBUF_READ
_capsule_new = ctypes.PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(
    ('PyCapsule_New', ctypes.pythonapi))
_capsule_is_valid = ctypes.PYFUNCTYPE(c_int, py_object, c_char_p)(
    ('PyCapsule_IsValid', ctypes.pythonapi))
_capsule_get_pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_char_p)(
    ('PyCapsule_GetPointer', ctypes.pythonapi))

# ---- DLPack

_DLTENSOR = b'dltensor'  # must outlive every capsule
_HOST = 1  # as DLPack numbers devices, and poniente_c.h


_given = []  # (library, capsule)


def _collect():
    """Who takes a tensor renames its capsule, and calls the tensor's deleter
    when done with it. Of capsules that nobody took, and nobody holds any more,
    the tensors are let go of here. A destructor could not: capsules may go
    while an exception is pending, and ctypes then calls nothing."""
    held = []
    while _given:
        lib, capsule = _given.pop()
        if sys.getrefcount(capsule) > 2:  # more than `capsule` and the argument
            held.append((lib, capsule))
        elif _capsule_is_valid(capsule, _DLTENSOR):
            lib.dlpack_release(_capsule_get_pointer(capsule, _DLTENSOR))
    _given.extend(held)


class Shared:
    """A tensor of a batch for numpy.from_dlpack() or torch.from_dlpack(): the
    memory is the batch's, and stays when the batch is gone. Not to be written
    to. On a GPU (on_device) it is to be used on the stream that the caller of
    __dlpack__ names."""

    def __init__(self, batch, name='tokens', on_device=False):
        self._batch = batch
        self._name = name.encode()
        self._on_device = on_device

    def __del__(self):
        _collect()

    def __dlpack__(self, stream=None):
        lib = self._batch.lib
        queue = None if stream in (None, -1) else stream
        tensor = c_void_p()
        lib.batch_dlpack(self._batch.handle, self._name, self._on_device, queue,
                         byref(tensor))
        capsule = _capsule_new(tensor, _DLTENSOR, None)
        _given.append((lib, capsule))
        return capsule

    def __dlpack_device__(self):
        return self._batch.device() if self._on_device else (_HOST, 0)


# ---- Loader and batches

class Batch:
    def __init__(self, lib, handle):
        self.lib = lib
        self.handle = handle
        self.step = Step()
        lib.batch_step(handle, byref(self.step))

    def samples(self):
        samples = (Sample * self.step.num_samples)()
        self.lib.batch_samples(self.handle, 0, len(samples), samples)
        return samples

    def device(self):
        device, ordinal = c_int32(), c_int32()
        self.lib.batch_device(self.handle, byref(device), byref(ordinal))
        return device.value, ordinal.value

    def tensor(self, name='tokens'):
        tensor = Tensor()
        self.lib.batch_tensor(self.handle, name.encode(), byref(tensor))
        return tensor

    def view(self, name='tokens'):
        """A memoryview in the shape of the tensor, b'' if it has no elements.
        Must not be used once the batch has been released."""
        tensor = self.tensor(name)
        code, width = FORMATS[tensor.dtype]
        shape = tensor.shape[:tensor.ndim]
        size = width * math.prod(shape)
        if size == 0:  # no cast gives such a shape
            return memoryview(b'')
        return _view_of_memory(tensor.host, size, _READ).cast(code, shape)

    def release(self):
        handle, self.handle = self.handle, None
        self.lib.batch_release(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()


class Loader:
    """Iterates over batches; each is to be released (`with batch:`)."""

    def __init__(self, lib, config, token_type=U32, tensors=None):
        options = Options()
        lib.options_init(byref(options), ctypes.sizeof(options))
        lib.options_ranks_from_environment(byref(options))
        options.token_type = token_type
        options.tensors = tensors and tensors.encode()  # 'labels,positions'
        self.lib = lib
        handle = c_void_p()
        lib.loader_open(os.fsencode(config), byref(options), byref(handle))
        self.handle = handle
        self._close = weakref.finalize(self, lib.loader_close, handle)
        self.run = Run()
        lib.loader_run(handle, byref(self.run))

    def __iter__(self):
        return self

    def __next__(self):
        _collect()
        batch = c_void_p()
        try:
            self.lib.loader_next(self.handle, byref(batch))
        except PonienteError as error:
            if error.code == OUT_OF_RANGE:
                raise StopIteration from None
            raise
        return Batch(self.lib, batch)

    def sources(self):
        sources = (Source * self.run.num_sources)()
        self.lib.loader_sources(self.handle, 0, len(sources), sources)
        return [source.path.decode() for source in sources]

    def next_step(self):
        step = c_uint64()
        self.lib.loader_next_step(self.handle, byref(step))
        return step.value

    def weights(self, step):
        """The shares of the root mixture's components in a step, by name."""
        info = Step()
        self.lib.loader_step(self.handle, step, byref(info))
        weights = (Weight * info.num_weights)()
        self.lib.loader_weights(self.handle, step, 0, len(weights), weights)
        return {one.name.decode(): one.weight for one in weights}

    def state(self, step=None):
        """The state after the last batch received, or that before a step."""
        text = c_void_p()
        if step is None:
            self.lib.loader_state(self.handle, byref(text))
        else:
            self.lib.loader_state_at(self.handle, step, byref(text))
        return self.lib.text(text)

    def resume(self, state):
        self.lib.loader_resume(self.handle, state.encode())

    def propose(self, change):
        """The journal's line for a change such as: weights "a" 0.4 "b" 0.6"""
        line = c_void_p()
        self.lib.loader_propose(self.handle, change.encode(), byref(line))
        return self.lib.text(line)

    def steer(self, line):
        """Makes the change; every rank does, between the same two steps. Returns
        the first step that differs."""
        step = c_uint64()
        self.lib.loader_steer(self.handle, line.encode(), byref(step))
        return step.value

    def last_decision(self):
        """The step that was next at the last change; None if there is none."""
        step = c_int64()
        self.lib.loader_last_decision(self.handle, byref(step))
        return None if step.value < 0 else step.value

    def close(self):
        self.handle = None
        self._close()  # once, at the latest when the program ends

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def micro_batches(lib, sizes, budget, at_least=0):
    """Divides the samples of a rank into ranges of at most `budget`
    (docs/ranks.md). sizes: of each of its samples, in tokens or in work."""
    room = max(len(sizes), at_least)
    parts = (MicroBatch * room)()
    count = c_size_t()
    lib.micro_batches((c_uint64 * len(sizes))(*sizes), len(sizes), budget,
                      at_least, parts, room, byref(count))
    return [range(part.begin, part.end) for part in parts[:count.value]]


# ---- The example

def rows(batch, numpy):
    """The ids of each sample, as a list."""
    if numpy is None:
        return batch.view().tolist()
    return numpy.from_dlpack(Shared(batch)).tolist()


def hash_of(batch, numpy):
    total = 0
    for sample, ids in zip(batch.samples(), rows(batch, numpy)):
        value = 0xcbf29ce484222325
        for number in [sample.sample, *ids]:
            value = (value ^ number) * 0x100000001b3 % 2**64
        total += value
    return total % 2**64


def line_of(batch, names, numpy):
    step = batch.step
    first = names[batch.samples()[0].source] if step.num_samples else '-'
    stage = step.stage_name.decode()
    return (f'{step.step} tokens {hash_of(batch, numpy):016x} '
            f'{step.num_samples} x {step.seq_len} {first} lr {step.lr_scale:g}'
            + (f' stage {stage}' if stage else ''))


def check_sharing(loader, numpy):
    """An array outlives its batch; a capsule that nobody takes is let go of, or
    max_held (2) would be reached, also where it goes with an exception."""
    with next(loader) as batch:
        array = numpy.from_dlpack(Shared(batch))
        assert array.size == 0 or array.ctypes.data == batch.tensor().host
        before = array.tolist()
    for batch in (next(loader) for _ in range(4)):
        with batch:
            Shared(batch).__dlpack__()
            try:
                print(Shared(batch).__dlpack__(), [][0])
            except IndexError:
                pass
    assert array.tolist() == before, 'the memory of an array was used again'


def check_past(loader, step, state):
    """Checks the state and the weights of a step that was read before."""
    assert loader.state(step) == state
    try:
        loader.state(2**64 - 1)
    except PonienteError as error:
        assert error.code == OUT_OF_RANGE, error
    else:
        raise AssertionError('a run without an end')
    shares = loader.weights(0)
    assert not shares or abs(sum(shares.values()) - 1) < 1e-9, shares


def check_micro_batches(lib):
    sizes = [5, 4, 3, 2, 1]
    assert micro_batches(lib, sizes, 14) == [range(0, 2), range(2, 5)]
    assert micro_batches(lib, sizes, 100, 2) == [range(0, 2), range(2, 5)]
    assert micro_batches(lib, [], 14) == []


def read(loader, count, numpy, names=None):
    """The hashes of the next steps, and their lines if there are names."""
    found = []
    for _, batch in zip(range(count), loader):
        with batch:
            if names is not None:
                print(line_of(batch, names, numpy))
            found.append(hash_of(batch, numpy))
    return found


def main():
    parser = argparse.ArgumentParser(prog='embed.py')
    parser.add_argument('config')
    parser.add_argument('steps', nargs='?', type=int, default=8)
    parser.add_argument('--library',
                        default=os.environ.get('PONIENTE_LIBRARY',
                                               f'libponiente_c.so.{ABI_VERSION}'))
    parser.add_argument('--steer', metavar='CHANGE',
                        help='a change of the run after half of the steps: '
                        'weights "a" 0.4 "b" 0.6')
    parser.add_argument('--plain', action='store_true', help='without numpy')
    arguments = parser.parse_args()
    numpy = None
    if not arguments.plain:
        try:
            import numpy
        except ImportError:
            print('embed.py: no numpy: reads through memoryviews',
                  file=sys.stderr)
    lib = Library(arguments.library)

    half = arguments.steps // 2
    with Loader(lib, arguments.config) as loader, \
            Loader(lib, arguments.config) as resumed:
        names = loader.sources()
        read(loader, half, numpy, names)
        step, state = loader.next_step(), loader.state()
        resumed.resume(state)
        if arguments.steer:
            line = loader.propose(arguments.steer)
            for rank in loader, resumed:
                begin = rank.steer(line)
                assert rank.last_decision() == step
            print(f'changed from step {begin} on')
        rest = read(loader, arguments.steps - half, numpy, names)
        if read(resumed, arguments.steps - half, numpy) != rest:
            sys.exit('embed.py: the resumed loader differs')
        if not arguments.steer:  # else the state has the change, too
            check_past(loader, step, state)
        check_micro_batches(lib)
        print(f'resumed after {half} steps: the same')
        if numpy is not None:
            resumed.lib.loader_seek(resumed.handle, 0)
            check_sharing(resumed, numpy)


if __name__ == '__main__':
    try:
        main()
    except PonienteError as error:
        sys.exit(f'embed.py: {error}')
