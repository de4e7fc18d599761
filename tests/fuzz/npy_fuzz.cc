// SPDX-License-Identifier: Apache-2.0
// NumPy's array files, and tatm's metadata.yaml.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "formats/arrays/npy_arrays.h"
#include "formats/arrays/tatm_metadata.h"
#include "util/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace poniente::internal;
  const auto* bytes = reinterpret_cast<const std::byte*>(data);
  const MemoryBytes input("input", {bytes, bytes + size});
  const auto array = FindNpyIds(input);
  if (array.ok()) {
    PONIENTE_CHECK(array->offset <= size);
    PONIENTE_CHECK(array->tokens <= (size - array->offset) /
                                        poniente::StoredTypeBytes(array->type));
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)ParseTatmMetadata(text);
  return 0;
}
