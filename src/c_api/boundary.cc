// SPDX-License-Identifier: Apache-2.0
#include "c_api/boundary.h"

#include <cstdlib>
#include <exception>
#include <new>
#include <string>

#include "poniente/poniente_c.h"

namespace poniente::internal {
namespace {

// The last error of this thread: a literal, or null if the message is in
// `error_text`.
thread_local const char* literal = "";
thread_local std::string error_text;

static_assert(PONIENTE_OK == static_cast<int>(absl::StatusCode::kOk));
static_assert(PONIENTE_INVALID_ARGUMENT ==
              static_cast<int>(absl::StatusCode::kInvalidArgument));
static_assert(PONIENTE_FAILED_PRECONDITION ==
              static_cast<int>(absl::StatusCode::kFailedPrecondition));
static_assert(PONIENTE_DATA_LOSS ==
              static_cast<int>(absl::StatusCode::kDataLoss));
static_assert(PONIENTE_UNAUTHENTICATED ==
              static_cast<int>(absl::StatusCode::kUnauthenticated));

}  // namespace

int32_t CodeOf(absl::StatusCode code, const char* message) noexcept {
  literal = message;
  return static_cast<int32_t>(code);
}

int32_t CodeOf(const absl::Status& status) noexcept {
  if (status.ok()) return PONIENTE_OK;
  try {
    const absl::string_view message = status.message();
    error_text.assign(message.data(), message.size());
    literal = nullptr;
  } catch (...) {
    literal = "out of memory for the text of an error";
  }
  return static_cast<int32_t>(status.code());
}

int32_t CodeOfException() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return CodeOf(absl::StatusCode::kResourceExhausted, "out of memory");
  } catch (const std::exception& error) {
    try {
      return CodeOf(absl::InternalError(error.what()));
    } catch (...) {
      return CodeOf(absl::StatusCode::kInternal, "an exception");
    }
  } catch (...) {
    return CodeOf(absl::StatusCode::kInternal, "an unknown exception");
  }
}

const char* LastError() noexcept {
  return literal != nullptr ? literal : error_text.c_str();
}

absl::Status GiveText(std::string_view from, char** out) {
  char* const copy = static_cast<char*>(std::malloc(from.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, from.data(), from.size());
  copy[from.size()] = '\0';
  *out = copy;
  return absl::OkStatus();
}

}  // namespace poniente::internal

using poniente::internal::LastError;

const char* poniente_last_error(void) { return LastError(); }

const char* poniente_code_name(int32_t code) {
  switch (code) {
    case PONIENTE_OK:
      return "OK";
    case PONIENTE_CANCELLED:
      return "CANCELLED";
    case PONIENTE_INVALID_ARGUMENT:
      return "INVALID_ARGUMENT";
    case PONIENTE_DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case PONIENTE_NOT_FOUND:
      return "NOT_FOUND";
    case PONIENTE_ALREADY_EXISTS:
      return "ALREADY_EXISTS";
    case PONIENTE_PERMISSION_DENIED:
      return "PERMISSION_DENIED";
    case PONIENTE_RESOURCE_EXHAUSTED:
      return "RESOURCE_EXHAUSTED";
    case PONIENTE_FAILED_PRECONDITION:
      return "FAILED_PRECONDITION";
    case PONIENTE_ABORTED:
      return "ABORTED";
    case PONIENTE_OUT_OF_RANGE:
      return "OUT_OF_RANGE";
    case PONIENTE_UNIMPLEMENTED:
      return "UNIMPLEMENTED";
    case PONIENTE_INTERNAL:
      return "INTERNAL";
    case PONIENTE_UNAVAILABLE:
      return "UNAVAILABLE";
    case PONIENTE_DATA_LOSS:
      return "DATA_LOSS";
    case PONIENTE_UNAUTHENTICATED:
      return "UNAUTHENTICATED";
    default:
      return "UNKNOWN";
  }
}

void poniente_text_free(char* text) { std::free(text); }
