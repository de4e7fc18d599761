// SPDX-License-Identifier: Apache-2.0
// Packed chunks of lit-llama. Input: the file.

#include <cstddef>
#include <cstdint>
#include <span>

#include "formats/arrays/litpkds.h"
#include "util/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const poniente::internal::MemoryBytes file("x.bin",
                                             {bytes.begin(), bytes.end()});
  const auto array = poniente::internal::ParseLitpkds(file);
  if (!array.ok()) return 0;
  PONIENTE_CHECK(array->offset +
                     array->tokens * poniente::StoredTypeBytes(array->type) ==
                 size);
  return 0;
}
