/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the installed C interface on the store that consumer.cc has written. */

#include <poniente/poniente_c.h>
#include <stdio.h>
#include <string.h>

/* Returns whether `state` is the state of step 1, and calls that must fail do
 * so. */
static int states_are_right(const poniente_loader* loader, const char* state) {
  char* again;
  if (poniente_loader_state_at(loader, 1, &again)) return 0;
  const int is_same = strcmp(again, state) == 0;
  poniente_text_free(again);
  return is_same &&
         poniente_loader_state_at(loader, UINT64_MAX, &again) ==
             PONIENTE_OUT_OF_RANGE &&
         again == NULL &&
         poniente_loader_state_at(loader, 1, NULL) == PONIENTE_INVALID_ARGUMENT;
}

static int micro_batches_are_right(void) {
  const uint64_t sizes[] = {5, 4, 3, 2, 1};
  poniente_micro_batch parts[5];
  size_t count;
  if (poniente_micro_batches(sizes, 5, 14, 0, parts, 5, &count)) return 0;
  if (count != 2 || parts[0].end != 2 || parts[1].begin != 2) return 0;
  if (poniente_micro_batches(NULL, 0, 14, 0, NULL, 0, &count)) return 0;
  if (count != 0) return 0;
  return poniente_micro_batches(NULL, 5, 14, 0, parts, 5, &count) ==
         PONIENTE_INVALID_ARGUMENT;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  char toml[4096];
  snprintf(toml, sizeof toml,
           "[data]\nseq_len = 16\nbatch_size = 4\npath = '%s'\n", argv[1]);
  poniente_loader* loader;
  poniente_batch* batch;
  char* state;
  poniente_tensor tokens = {.struct_size = sizeof tokens};
  if (poniente_loader_open_text(toml, NULL, NULL, NULL, &loader) ||
      poniente_loader_next(loader, &batch) ||
      poniente_batch_tensor(batch, "tokens", &tokens) ||
      poniente_loader_state(loader, &state)) {
    fprintf(stderr, "%s\n", poniente_last_error());
    return 1;
  }
  const int is_right = tokens.dtype == PONIENTE_U32 && tokens.shape[0] == 4 &&
                       ((const uint32_t*)tokens.host)[63] == 7 &&
                       states_are_right(loader, state) &&
                       micro_batches_are_right();
  poniente_text_free(state);
  poniente_batch_release(batch);
  poniente_loader_close(loader);
  printf("poniente %s for C\n", poniente_version());
  return is_right ? 0 : 1;
}
