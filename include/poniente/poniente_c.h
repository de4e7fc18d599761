/* SPDX-License-Identifier: Apache-2.0 */
/* The library for C, and for every language that can call C: open, next, seek,
 * state, resume, close. docs/embedding.md tells more.
 *
 *   poniente_loader* loader;
 *   if (poniente_loader_open("run.toml", NULL, &loader) != PONIENTE_OK) {
 *     fprintf(stderr, "%s\n", poniente_last_error());
 *     return 1;
 *   }
 *   poniente_batch* batch;
 *   int32_t code;
 *   while ((code = poniente_loader_next(loader, &batch)) == PONIENTE_OK) {
 *     poniente_tensor ids = {.struct_size = sizeof ids};
 *     poniente_batch_tensor(batch, "tokens", &ids);
 *     ... ids.host, ids.shape[0] * ids.shape[1] of them ...
 *     poniente_batch_release(batch);
 *   }
 *   if (code != PONIENTE_OUT_OF_RANGE) {  // not the end of the run
 *     fprintf(stderr, "%s\n", poniente_last_error());
 *   }
 *   poniente_loader_close(loader);
 *
 * Errors: a function that gives int32_t gives PONIENTE_OK or another code of
 *     enum poniente_code; poniente_last_error() says what was wrong. Handles
 *     and pointers to results are then set to NULL, structs left as they were.
 *     A null pointer is INVALID_ARGUMENT where nothing else is said. No
 *     exception comes through this interface.
 * Threads: a loader may be used from any number of threads, but by one
 *     poniente_loader_next() at a time (a second one is FAILED_PRECONDITION),
 *     and by none while it is closed. A batch may be read from any number of
 *     threads, and by none while it is released. No function calls back, so a
 *     language with a global lock may let go of it around every call.
 * Strings: UTF-8, with a 0 at the end. `const char*` results are the library's,
 *     for as long as said; `char**` results are the caller's, for
 *     poniente_text_free().
 * Growth: functions and codes are added, never changed, while
 *     poniente_abi_version() is the same; so are fields at the end of structs
 *     that begin with struct_size, which the caller sets to what it knows
 *     (sizeof). Structs without struct_size never change. */

#ifndef PONIENTE_PONIENTE_C_H_
#define PONIENTE_PONIENTE_C_H_

#include <stddef.h>
#include <stdint.h>

#define PONIENTE_ABI_VERSION 1

#if defined(__GNUC__)
#define PONIENTE_API __attribute__((visibility("default")))
#else
#define PONIENTE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct poniente_loader poniente_loader;
typedef struct poniente_batch poniente_batch;
/* Of dlpack/dlpack.h, which is not needed to hand tensors on. */
struct DLManagedTensor;

/* Codes, numbered as Abseil's and gRPC's. Those without a comment are not given
 * at present. */
enum poniente_code {
  PONIENTE_OK = 0,
  PONIENTE_CANCELLED = 1,
  /* A code that this version has no name for. */
  PONIENTE_UNKNOWN = 2,
  /* The configuration or the call is wrong, whatever the disk holds. */
  PONIENTE_INVALID_ARGUMENT = 3,
  PONIENTE_DEADLINE_EXCEEDED = 4,
  /* No such file, store or number. */
  PONIENTE_NOT_FOUND = 5,
  PONIENTE_ALREADY_EXISTS = 6,
  PONIENTE_PERMISSION_DENIED = 7,
  /* Memory, descriptors, or more than max_held batches are held. */
  PONIENTE_RESOURCE_EXHAUSTED = 8,
  /* The right call at the wrong time, or a state of other data. */
  PONIENTE_FAILED_PRECONDITION = 9,
  PONIENTE_ABORTED = 10,
  /* The run has ended. Also: a number beyond the last. */
  PONIENTE_OUT_OF_RANGE = 11,
  PONIENTE_UNIMPLEMENTED = 12,
  /* A bug, or what a driver says. */
  PONIENTE_INTERNAL = 13,
  /* An I/O error that may pass, io_uring where the kernel forbids it. */
  PONIENTE_UNAVAILABLE = 14,
  /* Bytes fail their checksum, end early, or hold ids beyond the vocabulary. */
  PONIENTE_DATA_LOSS = 15,
  PONIENTE_UNAUTHENTICATED = 16
};

/* Types of elements. */
enum poniente_dtype {
  PONIENTE_U8 = 1,
  PONIENTE_U16 = 2,
  PONIENTE_U32 = 3,
  PONIENTE_I32 = 4,
  PONIENTE_I64 = 5,
  PONIENTE_F32 = 6
};

/* Numbered as in DLPack. */
enum poniente_device_type {
  PONIENTE_DEVICE_HOST = 1,
  PONIENTE_DEVICE_CUDA = 2
};

/* PONIENTE_ABI_VERSION as the library was built: other numbers than the
 * caller's do not fit. */
PONIENTE_API uint32_t poniente_abi_version(void);
/* "major.minor.patch". */
PONIENTE_API const char* poniente_version(void);

/* What the last function that failed on this thread says, in one or more lines
 * without an end; "" if none has failed. Lives until another one fails on the
 * same thread, or the thread ends. Never NULL. */
PONIENTE_API const char* poniente_last_error(void);
/* "OK", "INVALID_ARGUMENT"; "UNKNOWN" for numbers that are no code. */
PONIENTE_API const char* poniente_code_name(int32_t code);

/* NULL is let pass. */
PONIENTE_API void poniente_text_free(char* text);

/* ---- Options */

typedef struct poniente_options {
  size_t struct_size;
  /* Data-parallel rank and their number. -1 and 0: what the configuration
   * says, which is 0 of 1. */
  int32_t rank;
  int32_t ranks;
  /* The step that the first next gives. -1: what the configuration says,
   * which is 0. */
  int64_t start_step;
  /* PONIENTE_U8 to PONIENTE_I64: type of the ids; must hold every id of the
   * vocabulary. 0: what the configuration says. */
  int32_t token_type;
  /* PONIENTE_DEVICE_HOST, or PONIENTE_DEVICE_CUDA and the number of the GPU.
   * Where there is none, batches stay on the host, with a warning. 0: what the
   * configuration says. */
  int32_t device_type;
  int32_t device_ordinal;
  /* Batches in flight or ready, and their bytes with those that ids are widened
   * from. 0: what the configuration says. */
  uint32_t prefetch_batches;
  uint64_t prefetch_bytes;
  /* Batches that may be held when the next one is asked for; tensors handed on
   * by DLPack hold theirs. -1: what the configuration says. */
  int32_t max_held;
  uint32_t reserved; /* 0 */
  /* A line of figures on standard error every so many steps. 0: what the
   * configuration says. */
  uint64_t report_every_steps;
  /* What a batch has beside its tokens, "labels,loss_mask" (docs/batches.md);
   * loss_weights as well where the configuration has a loss_weight. NULL: what
   * the configuration says. */
  const char* tensors;
} poniente_options;

/* Everything as the configuration says. struct_size: sizeof(poniente_options),
 * as the caller knows it. */
PONIENTE_API int32_t poniente_options_init(poniente_options* options,
                                           size_t struct_size);
/* Sets rank and ranks to what torchrun, mpirun or srun say; 0 of 1 without any.
 * Reads the environment: not while another thread changes it. */
PONIENTE_API int32_t
poniente_options_ranks_from_environment(poniente_options* options);

/* ---- Loader */

/* Opens the run that a TOML file describes. options: NULL for those of
 * poniente_options_init(). Starts a thread: not before a fork(). */
PONIENTE_API int32_t poniente_loader_open(const char* path,
                                          const poniente_options* options,
                                          poniente_loader** loader);
/* The same for text in memory. `name` stands for the file in messages (NULL:
 * "config"), `folder` is what relative paths are relative to (NULL: the current
 * one). */
PONIENTE_API int32_t poniente_loader_open_text(const char* text,
                                               const char* name,
                                               const char* folder,
                                               const poniente_options* options,
                                               poniente_loader** loader);
/* Waits for reads under way. Batches stay valid. NULL is let pass. */
PONIENTE_API void poniente_loader_close(poniente_loader* loader);

/* The next batch, for poniente_batch_release(). Waits until it is there.
 * OUT_OF_RANGE: the run has ended. RESOURCE_EXHAUSTED: more than max_held
 * batches are held; release one and call again. After any other error the
 * loader stays at its step and tries it again. */
PONIENTE_API int32_t poniente_loader_next(poniente_loader* loader,
                                          poniente_batch** batch);
/* Cancels what is under way; a next that waits on another thread, and each
 * later one, is FAILED_PRECONDITION. The loader is still to be closed. */
PONIENTE_API int32_t poniente_loader_stop(poniente_loader* loader);

/* The next next gives this step; that it lies beyond the end is found out
 * there. */
PONIENTE_API int32_t poniente_loader_seek(poniente_loader* loader,
                                          uint64_t step);
PONIENTE_API int32_t poniente_loader_next_step(const poniente_loader* loader,
                                               uint64_t* step);
/* For a checkpoint: a few hundred bytes, the same for all ranks. Take it where
 * the batches received so far have been used up. */
PONIENTE_API int32_t poniente_loader_state(const poniente_loader* loader,
                                           char** state);
/* Goes on where `state` was taken, if the data before it is still the same.
 * FAILED_PRECONDITION, naming all differences, if not; the loader then stays
 * where it is. */
PONIENTE_API int32_t poniente_loader_resume(poniente_loader* loader,
                                            const char* state);

/* What holds for the whole run. Counts are 0 in a run without an end. */
typedef struct poniente_run {
  size_t struct_size;
  uint64_t steps;
  uint64_t samples;
  uint64_t tokens;
  /* Ids are below this. */
  uint64_t vocabulary_size;
  /* Name of the tokenizer. Lives until the loader is closed. */
  const char* tokenizer;
  /* Tells runs apart as they begin; the same for every rank. */
  uint64_t fingerprint;
  uint64_t num_sources;
  /* Tokens of the longest sample. */
  uint32_t max_seq_len;
  uint32_t rank;
  uint32_t ranks;
  uint32_t order_version;
} poniente_run;

PONIENTE_API int32_t poniente_loader_run(const poniente_loader* loader,
                                         poniente_run* run);

/* A step, as the schedule says. */
typedef struct poniente_step {
  size_t struct_size;
  uint64_t step;
  /* Samples [first_sample, first_sample + batch_size) of the run, over all
   * ranks; this rank has num_samples of them. */
  uint64_t first_sample;
  uint64_t batch_size;
  uint64_t num_samples;
  uint32_t seq_len;
  /* Number and name of the stage; the name may be "". Lives as long as the
   * loader or batch that was asked. */
  uint32_t stage;
  const char* stage_name;
  /* Factor for the learning rate. */
  double lr_scale;
  double temperature;
  /* 1 where a stage, a batch size or a length begins: save a checkpoint. */
  int32_t is_boundary;
  int32_t reserved;
} poniente_step;

/* OUT_OF_RANGE if the schedule has no such step. */
PONIENTE_API int32_t poniente_loader_step(const poniente_loader* loader,
                                          uint64_t step, poniente_step* info);

/* A leaf that samples come from, as it is read now. Strings live until the
 * loader is closed. */
typedef struct poniente_source {
  const char* path;    /* of names, "prose/fortunes" */
  const char* dataset; /* where a store lies */
  const char* backend; /* "buffered", "direct", "mmap", "pread", "memory" */
  const char* fallback_reason; /* usually "" */
} poniente_source;

/* Fills sources[0 .. count) with those from number `first` on. OUT_OF_RANGE if
 * there are not so many (poniente_run.num_sources). */
PONIENTE_API int32_t poniente_loader_sources(const poniente_loader* loader,
                                             size_t first, size_t count,
                                             poniente_source* sources);

/* What has been done so far, in Prometheus' text format 0.0.4
 * (docs/metrics.md). labels: names and values by turns, then NULL; or NULL. */
PONIENTE_API int32_t poniente_loader_metrics(const poniente_loader* loader,
                                             const char* const* labels,
                                             char** text);

/* ---- Batch */

/* Lets go of the batch and of what its tensors point to; tensors handed on by
 * DLPack stay. NULL is let pass. */
PONIENTE_API void poniente_batch_release(poniente_batch* batch);

/* The batch's step; num_samples is what is really there. */
PONIENTE_API int32_t poniente_batch_step(const poniente_batch* batch,
                                         poniente_step* info);
/* A number of the stage's own. NOT_FOUND without it. */
PONIENTE_API int32_t poniente_batch_number(const poniente_batch* batch,
                                           const char* name, double* value);

/* Where a sample comes from. */
typedef struct poniente_sample {
  uint64_t sample; /* number in the run, over all steps and ranks */
  uint64_t item;   /* of the source; for a store, the window */
  uint64_t epoch;
  uint32_t source;
  uint32_t token_begin; /* above 0 where items are cut */
} poniente_sample;

/* Fills samples[0 .. count) with those from number `first` of the batch on.
 * OUT_OF_RANGE if it has not so many. */
PONIENTE_API int32_t poniente_batch_samples(const poniente_batch* batch,
                                            size_t first, size_t count,
                                            poniente_sample* samples);

/* Elements of a batch, row by row without gaps. Memory lives as long as the
 * batch, and is not to be written to. */
typedef struct poniente_tensor {
  size_t struct_size;
  /* Lives for ever. */
  const char* name;
  int32_t dtype;
  int32_t ndim;
  /* [num_samples, seq_len]; [num_samples, 1] for ndim 1. */
  int64_t shape[2];
  /* Either may be NULL: the device's always on the host, the host's if there
   * are no elements, or if they are tokens that are widened on the GPU. */
  const void* host;
  const void* device;
} poniente_tensor;

/* By name: "tokens", "labels", "loss_mask", "document_ids", "positions",
 * "loss_weights" (docs/batches.md). FAILED_PRECONDITION: the loader was not
 * asked for it. INVALID_ARGUMENT: there is no such name. */
PONIENTE_API int32_t poniente_batch_tensor(const poniente_batch* batch,
                                           const char* name,
                                           poniente_tensor* tensor);
/* All tensors of a batch: 0 to count - 1. */
PONIENTE_API int32_t poniente_batch_num_tensors(const poniente_batch* batch,
                                                size_t* count);
PONIENTE_API int32_t poniente_batch_tensor_at(const poniente_batch* batch,
                                              size_t number,
                                              poniente_tensor* tensor);

/* Where the batch is to be used: PONIENTE_DEVICE_HOST, 0 or
 * PONIENTE_DEVICE_CUDA and the number of the GPU. */
PONIENTE_API int32_t poniente_batch_device(const poniente_batch* batch,
                                           int32_t* device_type,
                                           int32_t* device_ordinal);
/* What is queued on `stream` (a cudaStream_t; NULL: the default one) from now
 * on finds the tensors on the device; the thread does not wait. The stream must
 * live until the batch, and all its tensors handed on, are let go of.
 * FAILED_PRECONDITION on the host. */
PONIENTE_API int32_t poniente_batch_wait_on(const poniente_batch* batch,
                                            void* stream);
/* Waits until the tensors are on the device. */
PONIENTE_API int32_t poniente_batch_wait(const poniente_batch* batch);

/* Hands a tensor on to another framework: a DLManagedTensor of DLPack, before
 * its version 1. It shares the batch's memory, which counts as held (max_held)
 * until the tensor is let go of: by its deleter, once, on any thread, before or
 * after the batch is released and the loader closed.
 *
 * on_device: 0 for the host's memory, else the GPU's, after
 * poniente_batch_wait_on(batch, stream); FAILED_PRECONDITION if the batch is
 * not on a GPU. `stream` is ignored on the host. */
PONIENTE_API int32_t poniente_batch_dlpack(const poniente_batch* batch,
                                           const char* name, int32_t on_device,
                                           void* stream,
                                           struct DLManagedTensor** tensor);
/* Calls the deleter. NULL is let pass. */
PONIENTE_API void poniente_dlpack_release(struct DLManagedTensor* tensor);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PONIENTE_PONIENTE_C_H_ */
