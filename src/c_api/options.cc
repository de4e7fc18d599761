// SPDX-License-Identifier: Apache-2.0
#include "c_api/options.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "c_api/boundary.h"
#include "poniente/batch_tensors.h"
#include "poniente/ranks.h"
#include "poniente/shares.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kFirstSize =
    offsetof(poniente_options, tensors) + sizeof(const char*);
static_assert(sizeof(poniente_options) >= kFirstSize);

absl::Status CheckSize(size_t size) {
  return CheckStructSize(size, kFirstSize, "poniente_options");
}

poniente_options Defaults() {
  poniente_options options = {};
  options.rank = -1;
  options.start_step = -1;
  options.max_held = -1;
  return options;
}

template <class Value>
absl::Status FieldError(const char* name, Value value, const char* expected) {
  return absl::InvalidArgumentError(absl::StrCat(
      "poniente_options.", name, " must be ", expected, ", got ", value));
}

// Returns InvalidArgument if the caller sets a field that only a later version
// of the library knows. Unset fields are 0.
absl::Status CheckUnknownFields(const poniente_options& options) {
  const char* const bytes = reinterpret_cast<const char*>(&options);
  for (size_t i = sizeof options; i < options.struct_size; ++i) {
    if (bytes[i] == 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "poniente_options has a field at byte ", i,
        " that this version of the library does not know; set it to 0"));
  }
  return absl::OkStatus();
}

absl::StatusOr<TokenType> TokenTypeOf(int32_t dtype) {
  switch (dtype) {
    case PONIENTE_U8:
      return TokenType::kU8;
    case PONIENTE_U16:
      return TokenType::kU16;
    case PONIENTE_U32:
      return TokenType::kU32;
    case PONIENTE_I32:
      return TokenType::kI32;
    case PONIENTE_I64:
      return TokenType::kI64;
    default:
      return FieldError("token_type", dtype,
                        "0, or PONIENTE_U8 to PONIENTE_I64");
  }
}

absl::StatusOr<Device> DeviceOf(int32_t type, int32_t ordinal) {
  if (type == PONIENTE_DEVICE_HOST) return Device();
  if (type != PONIENTE_DEVICE_CUDA) {
    return FieldError("device_type", type,
                      "0, PONIENTE_DEVICE_HOST or PONIENTE_DEVICE_CUDA");
  }
  if (ordinal < 0) return FieldError("device_ordinal", ordinal, ">= 0");
  return Device{DeviceType::kCuda, ordinal};
}

absl::StatusOr<ContextSplit> ContextSplitOf(int32_t split) {
  switch (split) {
    case PONIENTE_CONTEXT_CONTIGUOUS:
      return ContextSplit::kContiguous;
    case 0:
    case PONIENTE_CONTEXT_ZIG_ZAG:
      return ContextSplit::kZigZag;
    case PONIENTE_CONTEXT_ZIG_ZAG_PER_DOCUMENT:
      return ContextSplit::kZigZagPerDocument;
    default:
      return FieldError("context_split", split,
                        "0, or PONIENTE_CONTEXT_CONTIGUOUS to "
                        "PONIENTE_CONTEXT_ZIG_ZAG_PER_DOCUMENT");
  }
}

absl::StatusOr<std::vector<BatchTensor>> TensorsOf(const char* names) {
  std::vector<BatchTensor> tensors;
  const std::vector<std::string> split =
      absl::StrSplit(names, ',', absl::SkipEmpty());
  for (const std::string& name : split) {
    PONIENTE_ASSIGN_OR_RETURN(
        const BatchTensor tensor,
        ParseBatchTensor(std::string(absl::StripAsciiWhitespace(name))));
    tensors.push_back(tensor);
  }
  return tensors;
}

absl::Status ApplyNumbers(const poniente_options& from, LoaderOptions* to) {
  if (from.rank < -1) return FieldError("rank", from.rank, ">= -1");
  if (from.rank >= 0) to->rank = static_cast<uint32_t>(from.rank);
  if (from.ranks < 0) return FieldError("ranks", from.ranks, ">= 0");
  if (from.ranks > 0) to->ranks = static_cast<uint32_t>(from.ranks);
  if (from.start_step < -1) {
    return FieldError("start_step", from.start_step, ">= -1");
  }
  if (from.start_step >= 0) {
    to->start_step = static_cast<uint64_t>(from.start_step);
  }
  if (from.prefetch_batches > 0) to->prefetch_batches = from.prefetch_batches;
  if (from.prefetch_bytes > 0) to->prefetch_bytes = from.prefetch_bytes;
  if (from.max_held < -1) return FieldError("max_held", from.max_held, ">= -1");
  if (from.max_held >= 0) to->max_held = static_cast<uint32_t>(from.max_held);
  if (from.waits_for_held < -1 || from.waits_for_held > 1) {
    return FieldError("waits_for_held", from.waits_for_held, "-1, 0 or 1");
  }
  if (from.waits_for_held != 0) to->waits_for_held = from.waits_for_held > 0;
  if (from.report_every_steps > 0) {
    to->report_every_steps = from.report_every_steps;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ApplyOptions(const poniente_options* options,
                          LoaderOptions* loader_options) {
  if (options == nullptr) return absl::OkStatus();
  PONIENTE_RETURN_IF_ERROR(CheckSize(options->struct_size));
  PONIENTE_RETURN_IF_ERROR(CheckUnknownFields(*options));
  poniente_options known = Defaults();
  std::memcpy(&known, options, std::min(sizeof known, options->struct_size));
  PONIENTE_RETURN_IF_ERROR(ApplyNumbers(known, loader_options));
  if (known.token_type != 0) {
    PONIENTE_ASSIGN_OR_RETURN(loader_options->token_type,
                              TokenTypeOf(known.token_type));
  }
  if (known.device_type != 0) {
    PONIENTE_ASSIGN_OR_RETURN(
        loader_options->device,
        DeviceOf(known.device_type, known.device_ordinal));
  } else if (known.device_ordinal != 0) {
    return FieldError("device_ordinal", known.device_ordinal,
                      "0 without a device_type");
  }
  loader_options->context.rank = known.context_rank;
  loader_options->context.ranks = std::max(known.context_ranks, 1u);
  PONIENTE_ASSIGN_OR_RETURN(loader_options->context.split,
                            ContextSplitOf(known.context_split));
  if (known.tensors != nullptr) {
    PONIENTE_ASSIGN_OR_RETURN(loader_options->tensors,
                              TensorsOf(known.tensors));
    // Loss weights need their tensor. A configuration adds it in the same way.
    if (!loader_options->loss_weights.empty()) {
      loader_options->tensors.push_back(BatchTensor::kLossWeights);
    }
  }
  return absl::OkStatus();
}

}  // namespace poniente::internal

using namespace poniente;            // NOLINT: the functions below are C's
using namespace poniente::internal;  // NOLINT

int32_t poniente_options_init(poniente_options* options, size_t struct_size) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(options);
    PONIENTE_RETURN_IF_ERROR(CheckSize(struct_size));
    options->struct_size = struct_size;
    return Give(Defaults(), kFirstSize, "poniente_options", options);
  });
}

int32_t poniente_options_ranks_from_environment(poniente_options* options) {
  return AtBoundary([&]() -> absl::Status {
    PONIENTE_RETURN_IF_NULL(options);
    PONIENTE_RETURN_IF_ERROR(CheckSize(options->struct_size));
    PONIENTE_ASSIGN_OR_RETURN(const Ranks ranks, RanksFromEnvironment());
    if (ranks.ranks > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat(ranks.launcher, " says there are ", ranks.ranks,
                       " ranks, more than fit poniente_options"));
    }
    options->rank = static_cast<int32_t>(ranks.rank);
    options->ranks = static_cast<int32_t>(ranks.ranks);
    return absl::OkStatus();
  });
}
