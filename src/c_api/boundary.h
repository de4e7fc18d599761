// SPDX-License-Identifier: Apache-2.0
// What every function of the C interface does at its edge: statuses become
// codes and a text, exceptions stop, null pointers and sizes of structs are
// looked at.

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

// The status as a code; an error's message is this thread's last error.
int32_t CodeOf(const absl::Status& status) noexcept;
// The same for a text that takes no memory to make. `text` is a literal.
int32_t CodeOf(absl::StatusCode code, const char* text) noexcept;
// The same for the exception that is being handled.
int32_t CodeOfException() noexcept;
// See poniente_last_error().
const char* LastError() noexcept;

// What `function` gives, a Status, as a code; exceptions likewise.
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

// InvalidArgument if the caller's struct is smaller than it ever was, or so
// large that its size has not been set.
inline absl::Status CheckStructSize(size_t size, size_t first_size,
                                    const char* name) {
  constexpr size_t kBeyondReason = 1024;
  if (size >= first_size && size <= kBeyondReason) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "struct_size of a ", name, " is ", size, ", it must be sizeof(", name,
      "), which is ", first_size, " or more"));
}

// Gives the caller as much of `value` as it knows, and 0 for what this library
// does not know. `first_size`: of the struct's first version.
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

// A copy for poniente_text_free().
absl::Status GiveText(std::string_view text, char** out);

}  // namespace poniente::internal

#define PONIENTE_RETURN_IF_NULL(pointer)                                      \
  do {                                                                        \
    if ((pointer) == nullptr) return poniente::internal::NullError(#pointer); \
  } while (false)

#endif  // PONIENTE_C_API_BOUNDARY_H_
