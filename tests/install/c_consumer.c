/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the installed C interface on the store that consumer.cc has written. */

#include <poniente/poniente_c.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  char toml[4096];
  snprintf(toml, sizeof toml,
           "[data]\nseq_len = 16\nbatch_size = 4\npath = '%s'\n", argv[1]);
  poniente_loader* loader;
  poniente_batch* batch;
  poniente_tensor tokens = {.struct_size = sizeof tokens};
  if (poniente_loader_open_text(toml, NULL, NULL, NULL, &loader) ||
      poniente_loader_next(loader, &batch) ||
      poniente_batch_tensor(batch, "tokens", &tokens)) {
    fprintf(stderr, "%s\n", poniente_last_error());
    return 1;
  }
  const int is_right = tokens.dtype == PONIENTE_U32 && tokens.shape[0] == 4 &&
                       ((const uint32_t*)tokens.host)[63] == 7;
  poniente_batch_release(batch);
  poniente_loader_close(loader);
  printf("poniente %s for C\n", poniente_version());
  return is_right ? 0 : 1;
}
