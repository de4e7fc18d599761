/* SPDX-License-Identifier: Apache-2.0 */
/* Reads batches in plain C, and goes on from a saved state in a second loader:
 *
 *   embed run.toml [STEPS]
 *
 * A line per step: its number, the shape of its ids, the source of the first
 * sample, and a hash of ids and samples that examples/embed.py and the log of
 * examples/train.cc have as well. */

#include <inttypes.h>
#include <poniente/poniente_c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with the library's words unless the call was successful. */
static void check(int32_t code) {
  if (code == PONIENTE_OK) return;
  fprintf(stderr, "embed: %s: %s\n", poniente_code_name(code),
          poniente_last_error());
  exit(1);
}

/* FNV-1a over whole numbers. */
static uint64_t mixed(uint64_t hash, uint64_t value) {
  return (hash ^ value) * UINT64_C(0x100000001b3);
}

/* The sum over all samples, so that the shares of all ranks add up. */
static uint64_t hash_of(const poniente_batch* batch) {
  poniente_tensor tokens = {.struct_size = sizeof tokens};
  check(poniente_batch_tensor(batch, "tokens", &tokens));
  const uint32_t* id = tokens.host; /* the options below ask for PONIENTE_U32 */
  uint64_t sum = 0;
  for (int64_t i = 0; i < tokens.shape[0]; ++i) {
    poniente_sample sample;
    check(poniente_batch_samples(batch, (size_t)i, 1, &sample));
    uint64_t hash = mixed(UINT64_C(0xcbf29ce484222325), sample.sample);
    for (int64_t t = 0; t < tokens.shape[1]; ++t) hash = mixed(hash, *id++);
    sum += hash;
  }
  return sum;
}

static void print_step(const poniente_loader* loader,
                       const poniente_batch* batch) {
  poniente_step step = {.struct_size = sizeof step};
  check(poniente_batch_step(batch, &step));
  poniente_source source = {.path = "-"};
  if (step.num_samples > 0) {
    poniente_sample first;
    check(poniente_batch_samples(batch, 0, 1, &first));
    check(poniente_loader_sources(loader, first.source, 1, &source));
  }
  printf("%" PRIu64 " tokens %016" PRIx64 " %" PRIu64 " x %" PRIu32
         " %s lr %g%s%s\n",
         step.step, hash_of(batch), step.num_samples, step.seq_len, source.path,
         step.lr_scale, step.stage_name[0] ? " stage " : "", step.stage_name);
}

static poniente_loader* opened(const char* path) {
  poniente_options options;
  check(poniente_options_init(&options, sizeof options));
  check(poniente_options_ranks_from_environment(&options));
  options.token_type = PONIENTE_U32;
  poniente_loader* loader;
  check(poniente_loader_open(path, &options, &loader));
  return loader;
}

/* The next step's hash. 0 at the end of the run. */
static uint64_t next_hash(poniente_loader* loader, int is_printed) {
  poniente_batch* batch;
  const int32_t code = poniente_loader_next(loader, &batch);
  if (code == PONIENTE_OUT_OF_RANGE) return 0;
  check(code);
  if (is_printed) print_step(loader, batch);
  const uint64_t hash = hash_of(batch);
  poniente_batch_release(batch);
  return hash;
}

/* Ends the program unless `state` is the state before `step`. Programs that
 * read several batches ahead take the state of an earlier step in this way. */
static void check_state(const poniente_loader* loader, uint64_t step,
                        const char* state) {
  char* again;
  check(poniente_loader_state_at(loader, step, &again));
  if (strcmp(again, state) != 0) {
    fprintf(stderr, "embed: the state of step %" PRIu64 " differs\n", step);
    exit(1);
  }
  poniente_text_free(again);
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: embed CONFIG [STEPS]\n");
    return 2;
  }
  if (poniente_abi_version() != PONIENTE_ABI_VERSION) {
    fprintf(stderr, "embed: libponiente_c.so is of ABI version %" PRIu32 "\n",
            poniente_abi_version());
    return 1;
  }
  const long steps = argc > 2 ? strtol(argv[2], NULL, 10) : 8;

  poniente_loader* loader = opened(argv[1]);
  for (long i = 0; i < steps / 2; ++i) next_hash(loader, 1);
  uint64_t saved_at;
  char* state;
  check(poniente_loader_next_step(loader, &saved_at));
  check(poniente_loader_state(loader, &state));

  poniente_loader* resumed = opened(argv[1]);
  check(poniente_loader_resume(resumed, state));
  long differing = 0;
  for (long i = steps / 2; i < steps; ++i) {
    const uint64_t hash = next_hash(loader, 1);
    if (hash != next_hash(resumed, 0)) ++differing;
  }
  check_state(loader, saved_at, state);
  poniente_text_free(state);
  poniente_loader_close(resumed);
  poniente_loader_close(loader);
  if (differing > 0) {
    fprintf(stderr, "embed: %ld steps differ in the resumed loader\n",
            differing);
    return 1;
  }
  printf("resumed after %ld steps: the same\n", steps / 2);
  return 0;
}
