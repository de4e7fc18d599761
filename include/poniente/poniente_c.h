/* SPDX-License-Identifier: Apache-2.0 */
/* The interface for C, and for every language that can call C: open, next,
 * seek, state, resume, close. docs/embedding.md explains it.
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
 * Errors: a function that returns int32_t returns PONIENTE_OK or another code
 *     of enum poniente_code; poniente_last_error() then has the message. On an
 *     error, handles and pointers to results are set to NULL, and structs are
 *     left unchanged. A null pointer is INVALID_ARGUMENT unless stated
 *     otherwise. No exception leaves this interface.
 * Threads: a loader may be used from any number of threads, but only one
 *     poniente_loader_next() may be in progress; a second one, or a
 *     poniente_loader_try_next(), returns FAILED_PRECONDITION. No thread may
 *     use a loader while it is closed. A batch may be read from any number of
 *     threads, but not while it is released. No function calls back, so a
 *     language with a global lock may release it around every call.
 * Strings: UTF-8, terminated by a 0. A `const char*` result belongs to the
 *     library and lives as long as its comment says; a `char**` result belongs
 *     to the caller, who frees it with poniente_text_free().
 * Growth: while poniente_abi_version() stays the same, functions and codes are
 *     only added, never changed. Structs that begin with struct_size may grow
 *     at the end; the caller sets struct_size to the size it knows (sizeof).
 *     Structs without struct_size never change. */

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
/* From dlpack/dlpack.h, which is not needed to pass tensors on. */
struct DLManagedTensor;

/* Codes, numbered as in Abseil and gRPC. Codes without a comment are returned
 * only for rare errors of the operating system, if at all. */
enum poniente_code {
  PONIENTE_OK = 0,
  PONIENTE_CANCELLED = 1,
  /* A code that this version does not know. */
  PONIENTE_UNKNOWN = 2,
  /* The configuration or the call is wrong, whatever the disk holds. */
  PONIENTE_INVALID_ARGUMENT = 3,
  PONIENTE_DEADLINE_EXCEEDED = 4,
  /* No such file, store or number. */
  PONIENTE_NOT_FOUND = 5,
  PONIENTE_ALREADY_EXISTS = 6,
  /* The operating system does not allow a file or folder to be opened. */
  PONIENTE_PERMISSION_DENIED = 7,
  /* No memory or descriptors left, or more than max_held batches are held. */
  PONIENTE_RESOURCE_EXHAUSTED = 8,
  /* A valid call at the wrong time, or a state that was taken from other
   * data. */
  PONIENTE_FAILED_PRECONDITION = 9,
  PONIENTE_ABORTED = 10,
  /* The run has ended, or a number is beyond the last. */
  PONIENTE_OUT_OF_RANGE = 11,
  /* Data are compressed or encrypted in a way that is not read, or need a
   * library that this build does not have. */
  PONIENTE_UNIMPLEMENTED = 12,
  /* A bug, or an error of a driver. */
  PONIENTE_INTERNAL = 13,
  /* An I/O error that may pass, or io_uring is forbidden by the kernel. */
  PONIENTE_UNAVAILABLE = 14,
  /* Bytes fail their checksum, end early, or hold ids outside the
   * vocabulary. */
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

/* Kinds of devices, numbered as in DLPack. */
enum poniente_device_type {
  PONIENTE_DEVICE_HOST = 1,
  PONIENTE_DEVICE_CUDA = 2
};

/* How the tokens of a sample are shared among context-parallel ranks
 * (docs/ranks.md). */
enum poniente_context_split {
  PONIENTE_CONTEXT_CONTIGUOUS = 1,
  PONIENTE_CONTEXT_ZIG_ZAG = 2,
  PONIENTE_CONTEXT_ZIG_ZAG_PER_DOCUMENT = 3
};

/* Returns PONIENTE_ABI_VERSION of the library as it was built. The library can
 * be used only if this equals the caller's PONIENTE_ABI_VERSION. */
PONIENTE_API uint32_t poniente_abi_version(void);
/* Returns "major.minor.patch". */
PONIENTE_API const char* poniente_version(void);

/* Returns the message of the last function that failed on this thread: one
 * or more lines, without a final line end; "" if none has failed. The text
 * lives until another function fails on this thread, or the thread ends.
 * Never NULL. */
PONIENTE_API const char* poniente_last_error(void);
/* Returns the name of a code: "OK", "INVALID_ARGUMENT", ...; "UNKNOWN" for
 * other numbers. */
PONIENTE_API const char* poniente_code_name(int32_t code);

/* Frees a text that the library returned. NULL has no effect. */
PONIENTE_API void poniente_text_free(char* text);

/* ---- Options */

/* How a loader serves a run. poniente_options_init() sets all fields to what
 * the configuration says. */
typedef struct poniente_options {
  size_t struct_size;
  /* Data-parallel rank (-1: the configuration's, by default 0) and the number
   * of ranks (0: the configuration's, by default 1). */
  int32_t rank;
  int32_t ranks;
  /* Step that the first poniente_loader_next() returns. -1: the
   * configuration's, by default 0. */
  int64_t start_step;
  /* Type of the ids, PONIENTE_U8 to PONIENTE_I64; must hold every id of the
   * vocabulary. 0: the configuration's. */
  int32_t token_type;
  /* PONIENTE_DEVICE_HOST, or PONIENTE_DEVICE_CUDA and the number of the GPU. If
   * there is no such GPU, batches stay on the host, with a warning. 0: the
   * configuration's. */
  int32_t device_type;
  int32_t device_ordinal;
  /* Batches in flight or ready, and their bytes including the buffers that ids
   * are widened from. 0: the configuration's. */
  uint32_t prefetch_batches;
  uint64_t prefetch_bytes;
  /* Batches that may be held when the next one is asked for; a tensor passed on
   * by DLPack holds its batch. -1: the configuration's. */
  int32_t max_held;
  /* What poniente_loader_next() does if more are held. 1: it waits until enough
   * are released, on other threads. -1: it returns RESOURCE_EXHAUSTED. 0: the
   * configuration's. */
  int32_t waits_for_held;
  /* Number of steps between lines of metrics on standard error. 0: the
   * configuration's. */
  uint64_t report_every_steps;
  /* Tensors of a batch besides its tokens, as "labels,loss_mask"
   * (docs/batches.md); loss_weights are added if the configuration has a
   * loss_weight. If a source has a loss mask, "labels" or "loss_mask" must be
   * among them. NULL: the configuration's. */
  const char* tensors;
  /* Context parallelism (docs/ranks.md): the part of each sample that this
   * loader serves. context_ranks of 0 and 1: all of it. */
  uint32_t context_rank;
  uint32_t context_ranks;
  /* PONIENTE_CONTEXT_CONTIGUOUS, ..._ZIG_ZAG or ..._ZIG_ZAG_PER_DOCUMENT; 0:
   * zig-zag. */
  int32_t context_split;
} poniente_options;

/* Sets all fields to what the configuration says. struct_size:
 * sizeof(poniente_options) as the caller knows it. */
PONIENTE_API int32_t poniente_options_init(poniente_options* options,
                                           size_t struct_size);
/* Sets rank and ranks to what torchrun, mpirun or srun state, or to 0 of 1
 * without such a launcher. Reads the environment: no other thread may change it
 * meanwhile. */
PONIENTE_API int32_t
poniente_options_ranks_from_environment(poniente_options* options);

/* ---- Loader */

/* Opens the run that a TOML file describes. options: NULL for those of
 * poniente_options_init(). Starts a thread, so fork() before it, not after. */
PONIENTE_API int32_t poniente_loader_open(const char* path,
                                          const poniente_options* options,
                                          poniente_loader** loader);
/* Opens the run that a text in memory describes. Messages use `name` as the
 * name of the file (NULL: "config"); relative paths are relative to `folder`
 * (NULL: the current folder). */
PONIENTE_API int32_t poniente_loader_open_text(const char* text,
                                               const char* name,
                                               const char* folder,
                                               const poniente_options* options,
                                               poniente_loader** loader);
/* Opens an evaluation of the run, [data.eval.NAME], by its name: a loader that
 * reads each of its samples once, from the first (docs/evaluation.md).
 * start_step of `options` is ignored. NOT_FOUND: there is none of this name. */
PONIENTE_API int32_t poniente_loader_open_eval(const char* path,
                                               const char* eval,
                                               const poniente_options* options,
                                               poniente_loader** loader);
/* The same for a text in memory, as poniente_loader_open_text(). */
PONIENTE_API int32_t poniente_loader_open_eval_text(
    const char* text, const char* name, const char* folder, const char* eval,
    const poniente_options* options, poniente_loader** loader);
/* Waits for reads in flight and closes the loader. Batches stay valid. NULL has
 * no effect. */
PONIENTE_API void poniente_loader_close(poniente_loader* loader);

/* Waits for the next batch and returns it; release it with
 * poniente_batch_release(). OUT_OF_RANGE: the run has ended.
 * RESOURCE_EXHAUSTED: more than max_held batches are held; release one and call
 * again. After any other error the loader stays at its step, and the next call
 * retries it. */
PONIENTE_API int32_t poniente_loader_next(poniente_loader* loader,
                                          poniente_batch** batch);
/* Returns the next batch like poniente_loader_next() if it is ready. If it is
 * not, returns OK and sets *batch to NULL. Never waits. */
PONIENTE_API int32_t poniente_loader_try_next(poniente_loader* loader,
                                              poniente_batch** batch);
/* Returns a descriptor for poll, epoll, select and other event loops. It is
 * readable while poniente_loader_try_next() would return a batch, an error or
 * the end of the run. The first call creates it and starts the prefetch.
 *
 * It belongs to the loader, which closes it when it is closed: do not read,
 * write or close it, and stop watching it before. It stays readable from the
 * end of the run on, and from poniente_loader_stop() on. After an error, the
 * loader reads the step again at once, and the descriptor is readable when that
 * has ended. docs/consuming.md has all rules. On an error, *fd is -1;
 * RESOURCE_EXHAUSTED: no descriptors are left. */
PONIENTE_API int32_t poniente_loader_ready_fd(poniente_loader* loader,
                                              int32_t* fd);
/* Cancels all work in progress. A poniente_loader_next() that waits on another
 * thread, and every later one, returns FAILED_PRECONDITION. The loader must
 * still be closed. */
PONIENTE_API int32_t poniente_loader_stop(poniente_loader* loader);

/* Makes `step` the next step. A step past the end is reported by
 * poniente_loader_next(), not here. */
PONIENTE_API int32_t poniente_loader_seek(poniente_loader* loader,
                                          uint64_t step);
/* Returns the step that poniente_loader_next() returns next. */
PONIENTE_API int32_t poniente_loader_next_step(const poniente_loader* loader,
                                               uint64_t* step);
/* Returns the state to put into a checkpoint: a few hundred bytes, the same for
 * all ranks. Take it once the batches received so far have been used. */
PONIENTE_API int32_t poniente_loader_state(const poniente_loader* loader,
                                           char** state);
/* Returns the state as it is before `step`, whatever has been received: for
 * several workers, pass the first step that they have not all finished. Any
 * step of the run will do, also one that has not been received yet, and the one
 * after the last. OUT_OF_RANGE if the run ends before it. */
PONIENTE_API int32_t poniente_loader_state_at(const poniente_loader* loader,
                                              uint64_t step, char** state);
/* Continues at the step at which `state` was taken, if the samples before that
 * step are still the same. FAILED_PRECONDITION, naming all differences, if they
 * are not; the loader then stays at its step. */
PONIENTE_API int32_t poniente_loader_resume(poniente_loader* loader,
                                            const char* state);

/* Changes of the run while it goes on (docs/journal.md). `change` is a text
 * such as: weights "code" 0.4 "web" 0.6 why "losses". poniente_loader_propose()
 * returns the line of the run's journal that says that it holds as soon as it
 * can, and changes nothing. Send it to all ranks; each steers by it between the
 * same two steps. `step` is then the first step that differs.
 * FAILED_PRECONDITION, naming the step, if it has been handed out. */
PONIENTE_API int32_t poniente_loader_propose(const poniente_loader* loader,
                                             const char* change, char** line);
PONIENTE_API int32_t poniente_loader_steer(poniente_loader* loader,
                                           const char* line, uint64_t* step);
/* Returns the step that was next when the last change was decided; -1 if there
 * is none. After a restart, decide nothing at this step and before. */
PONIENTE_API int32_t
poniente_loader_last_decision(const poniente_loader* loader, int64_t* step);

/* Facts about the whole run. Counts are 0 in a run without an end. */
typedef struct poniente_run {
  size_t struct_size;
  uint64_t steps;
  uint64_t samples;
  uint64_t tokens;
  /* All ids are below this. */
  uint64_t vocabulary_size;
  /* Name of the tokenizer. Lives until the loader is closed. */
  const char* tokenizer;
  /* Identifies the run as it begins; the same for every rank. */
  uint64_t fingerprint;
  uint64_t num_sources;
  /* Tokens of the longest sample. */
  uint32_t max_seq_len;
  uint32_t rank;
  uint32_t ranks;
  uint32_t order_version;
} poniente_run;

/* Returns the facts about the run. */
PONIENTE_API int32_t poniente_loader_run(const poniente_loader* loader,
                                         poniente_run* run);

/* A step, as the schedule defines it. */
typedef struct poniente_step {
  size_t struct_size;
  uint64_t step;
  /* Samples [first_sample, first_sample + batch_size) of the run, over all
   * ranks; this rank has num_samples of them. */
  uint64_t first_sample;
  uint64_t batch_size;
  uint64_t num_samples;
  /* Tokens of a sample; with context_ranks, tensors have a part of them. */
  uint32_t seq_len;
  /* Number and name of the stage; the name may be "". The name lives as long as
   * the loader or batch that returned it. */
  uint32_t stage;
  const char* stage_name;
  /* Factor for the learning rate. */
  double lr_scale;
  double temperature;
  /* 1 where something changes: save a checkpoint before this step. */
  int32_t is_boundary;
  /* How many changes poniente_loader_changes() returns for this step. */
  int32_t num_changes;
  /* How many weights poniente_loader_weights() returns for this step; 0 if the
   * root of the run is not a mixture. */
  uint64_t num_weights;
} poniente_step;

/* What changes with a step. Later versions may add kinds. */
enum {
  PONIENTE_CHANGE_STAGE = 1,      /* a stage begins */
  PONIENTE_CHANGE_BATCH_SIZE = 2, /* another number of samples per step */
  PONIENTE_CHANGE_SEQ_LEN = 3,    /* another number of tokens per sample */
  PONIENTE_CHANGE_WEIGHTS = 4,    /* a stage's weights apply at once */
  PONIENTE_CHANGE_RAMP = 5,       /* they begin to change, by a ramp */
  PONIENTE_CHANGE_RAMP_END = 6,   /* they have arrived at the stage's */
  PONIENTE_CHANGE_THRESHOLDS = 7, /* a stage filters by other thresholds */
  PONIENTE_CHANGE_DECISION = 8    /* a change of the journal holds */
};

/* A change. Strings live until the loader is closed. */
typedef struct poniente_change {
  int32_t kind;
  int32_t reserved;
  /* The nested mixture that changes, by the names down to it; "" for the run
   * itself. */
  const char* mixture;
  const char* stage; /* the stage that the change belongs to; may be "" */
  const char* text;  /* the change in words: "stage 'late' begins" */
} poniente_change;

/* Returns what the schedule says about a step. OUT_OF_RANGE if there is no such
 * step. */
PONIENTE_API int32_t poniente_loader_step(const poniente_loader* loader,
                                          uint64_t step, poniente_step* info);

/* Fills changes[0 .. count) with what changes with a step, from number `first`
 * on. OUT_OF_RANGE if there are fewer (poniente_step.num_changes), or no such
 * step. */
PONIENTE_API int32_t poniente_loader_changes(const poniente_loader* loader,
                                             uint64_t step, size_t first,
                                             size_t count,
                                             poniente_change* changes);

/* A component of the root mixture, and its share of the samples. The name lives
 * until the loader is closed. */
typedef struct poniente_weight {
  const char* name;
  double weight;
} poniente_weight;

/* Fills weights[0 .. count) with the shares of the root mixture's components,
 * from number `first` on, in the bytewise order of their names. They hold at
 * the first sample of the step, under all stages, ramps and changes so far; the
 * shares of all components sum to 1. OUT_OF_RANGE if there are fewer
 * (poniente_step.num_weights), or no such step. */
PONIENTE_API int32_t poniente_loader_weights(const poniente_loader* loader,
                                             uint64_t step, size_t first,
                                             size_t count,
                                             poniente_weight* weights);

/* A leaf that samples come from, and how it is read now. Strings live until the
 * loader is closed. */
typedef struct poniente_source {
  const char* path;    /* names down to the leaf */
  const char* dataset; /* where a store lies */
  const char* backend; /* "buffered", "direct", "mmap", "pread", "memory" */
  const char* fallback_reason; /* usually "" */
} poniente_source;

/* Fills sources[0 .. count) with the sources from number `first` on.
 * OUT_OF_RANGE if there are fewer (poniente_run.num_sources). */
PONIENTE_API int32_t poniente_loader_sources(const poniente_loader* loader,
                                             size_t first, size_t count,
                                             poniente_source* sources);

/* Returns the metrics so far, in Prometheus' text format 0.0.4
 * (docs/metrics.md). labels: alternating names and values, then NULL; or NULL
 * for none. */
PONIENTE_API int32_t poniente_loader_metrics(const poniente_loader* loader,
                                             const char* const* labels,
                                             char** text);

/* ---- Batch */

/* Releases the batch and the memory of its tensors; tensors passed on by DLPack
 * stay valid. NULL has no effect. */
PONIENTE_API void poniente_batch_release(poniente_batch* batch);

/* Returns the batch's step; num_samples is the number of samples in the
 * batch. */
PONIENTE_API int32_t poniente_batch_step(const poniente_batch* batch,
                                         poniente_step* info);
/* Returns a number that the configuration gives to the batch's stage (`numbers`
 * of the stage). NOT_FOUND if the stage has none of this name. */
PONIENTE_API int32_t poniente_batch_number(const poniente_batch* batch,
                                           const char* name, double* value);

/* Where a sample comes from: source, item, epoch and place in the item. */
typedef struct poniente_sample {
  uint64_t sample; /* number in the run, over all steps and ranks */
  uint64_t item;   /* number in the source; a store counts windows */
  uint64_t epoch;
  uint32_t source;
  uint32_t token_begin; /* above 0 only if items are cut */
} poniente_sample;

/* Fills samples[0 .. count) with the samples of the batch from number `first`
 * on. OUT_OF_RANGE if it has fewer. */
PONIENTE_API int32_t poniente_batch_samples(const poniente_batch* batch,
                                            size_t first, size_t count,
                                            poniente_sample* samples);

/* One tensor of a batch: row-major, without gaps. The memory lives as long as
 * the batch and must not be written to. */
typedef struct poniente_tensor {
  size_t struct_size;
  /* Lives for ever. */
  const char* name;
  int32_t dtype;
  int32_t ndim;
  /* [num_samples, seq_len]; [num_samples, 1] if ndim is 1. */
  int64_t shape[2];
  /* Addresses of the elements. `device` is NULL if the batch is on the host.
   * `host` is NULL if there are no elements, or for tokens that are widened on
   * the GPU. */
  const void* host;
  const void* device;
} poniente_tensor;

/* Returns a tensor by name: "tokens", "labels", "loss_mask", "document_ids",
 * "positions", "loss_weights", "cu_seqlens", "document_counts" or "max_seqlens"
 * (docs/batches.md). FAILED_PRECONDITION: the loader was not asked for it.
 * INVALID_ARGUMENT: there is no such name. */
PONIENTE_API int32_t poniente_batch_tensor(const poniente_batch* batch,
                                           const char* name,
                                           poniente_tensor* tensor);
/* Return the number of tensors of the batch, and the tensor with a number from
 * 0 to count - 1. */
PONIENTE_API int32_t poniente_batch_num_tensors(const poniente_batch* batch,
                                                size_t* count);
PONIENTE_API int32_t poniente_batch_tensor_at(const poniente_batch* batch,
                                              size_t number,
                                              poniente_tensor* tensor);

/* Returns where the batch was delivered: PONIENTE_DEVICE_HOST and 0, or
 * PONIENTE_DEVICE_CUDA and the number of the GPU. */
PONIENTE_API int32_t poniente_batch_device(const poniente_batch* batch,
                                           int32_t* device_type,
                                           int32_t* device_ordinal);
/* Makes `stream` (a cudaStream_t; NULL: the default stream) wait for the
 * tensors: work that is queued on it after this call runs once they are on the
 * device. The calling thread does not wait. The stream must live until the
 * batch and all its DLPack tensors have been released. FAILED_PRECONDITION if
 * the batch is on the host. */
PONIENTE_API int32_t poniente_batch_wait_on(const poniente_batch* batch,
                                            void* stream);
/* Blocks the thread until the tensors are on the device. */
PONIENTE_API int32_t poniente_batch_wait(const poniente_batch* batch);

/* Passes a tensor on to another framework, as a DLManagedTensor of DLPack
 * before its version 1. It shares the batch's memory, which counts as held
 * (max_held) until the tensor's deleter is called. Call the deleter once, on
 * any thread, before or after the batch is released and the loader closed.
 *
 * on_device: 0 for host memory; `stream` is then ignored. Otherwise GPU memory:
 * the function first calls poniente_batch_wait_on(batch, stream).
 * FAILED_PRECONDITION if the batch is not on a GPU. */
PONIENTE_API int32_t poniente_batch_dlpack(const poniente_batch* batch,
                                           const char* name, int32_t on_device,
                                           void* stream,
                                           struct DLManagedTensor** tensor);
/* Calls the tensor's deleter. NULL has no effect. */
PONIENTE_API void poniente_dlpack_release(struct DLManagedTensor* tensor);

/* ---- Micro-batches */

/* Samples begin, begin + 1, ..., end - 1 of a rank's batch, counted from 0. */
typedef struct poniente_micro_batch {
  uint64_t begin;
  uint64_t end;
} poniente_micro_batch;

/* Divides the samples of a rank into consecutive micro-batches whose sizes are
 * at most `budget` (docs/ranks.md). There are as few as possible, but not fewer
 * than at_least; with this number, they are evened out.
 *
 * sizes: the size of each of the num_samples samples, in their order and in the
 *     unit of `budget`: tokens, or any measure of work. May be NULL if
 *     num_samples is 0.
 * budget: a sample above it is a micro-batch of its own, the only kind that
 *     exceeds it. With a budget of 0, each sample is one, unless sizes are 0.
 * at_least: the least number of micro-batches, usually 0. If all ranks need the
 *     same number, count with 0 on each rank, and then pass the greatest count
 *     on all of them. If it is above num_samples, the last micro-batches are
 *     empty (begin == end).
 * micro_batches: an array of the caller, with `capacity` elements. The greater
 *     one of num_samples and at_least is always enough. INVALID_ARGUMENT if
 *     `capacity` is too small; nothing is written then. NULL: the micro-batches
 *     are only counted, and `capacity` is ignored.
 * count: set to the number of micro-batches; 0 if both num_samples and at_least
 *     are 0.
 *
 * Needs no loader, and keeps no pointer. Only the arguments decide the result.
 * May be called on any number of threads. */
PONIENTE_API int32_t poniente_micro_batches(const uint64_t* sizes,
                                            size_t num_samples, uint64_t budget,
                                            size_t at_least,
                                            poniente_micro_batch* micro_batches,
                                            size_t capacity, size_t* count);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PONIENTE_PONIENTE_C_H_ */
