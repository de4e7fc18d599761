// SPDX-License-Identifier: Apache-2.0
// Helpers for every function of the C interface: they turn a status into a code
// and a message, stop exceptions, and check null pointers and struct sizes.

#ifndef PONIENTE_C_API_BOUNDARY_H_
#define PONIENTE_C_API_BOUNDARY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace poniente::internal {

// Returns the status as a code; the message of an error becomes this thread's
// last error.
int32_t CodeOf(const absl::Status& status) noexcept;
// Does the same for a text that needs no memory. `text` is a literal.
int32_t CodeOf(absl::StatusCode code, const char* text) noexcept;
// Does the same for the exception that is being handled.
int32_t CodeOfException() noexcept;
// Returns the text of poniente_last_error().
const char* LastError() noexcept;

// Calls `function` and returns its Status, or an exception that it throws, as a
// code.
template <class Function>
int32_t AtBoundary(const Function& function) noexcept {
  try {
    return CodeOf(function());
  } catch (...) {
    return CodeOfException();
  }
}

inline absl::Status NullError(const char* name) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' must not be null"));
}

// Returns InvalidArgument if the caller's struct is smaller than its first
// version, or so large that its size cannot have been set.
inline absl::Status CheckStructSize(size_t size, size_t first_size,
                                    const char* name) {
  constexpr size_t kBeyondReason = 1024;
  if (size >= first_size && size <= kBeyondReason) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "struct_size of a ", name, " is ", size, ", it must be sizeof(", name,
      "), which is ", first_size, " or more"));
}

// Copies to `out` the fields of `value` that the caller's struct has, and sets
// those that this library does not know to 0. `first_size` is the size of the
// struct's first version.
template <class Struct>
absl::Status Give(Struct value, size_t first_size, const char* name,
                  Struct* out) {
  const size_t size = out->struct_size;
  if (absl::Status status = CheckStructSize(size, first_size, name);
      !status.ok()) {
    return status;
  }
  value.struct_size = size;
  char* const to = reinterpret_cast<char*>(out);
  const size_t known = std::min(size, sizeof(Struct));
  std::memcpy(to, &value, known);
  std::memset(to + known, 0, size - known);
  return absl::OkStatus();
}

// Sets *out to a copy of the text, which the caller frees with
// poniente_text_free().
absl::Status GiveText(std::string_view text, char** out);

}  // namespace poniente::internal

#define PONIENTE_RETURN_IF_NULL(pointer)                                      \
  do {                                                                        \
    if ((pointer) == nullptr) return poniente::internal::NullError(#pointer); \
  } while (false)

#endif  // PONIENTE_C_API_BOUNDARY_H_
