// SPDX-License-Identifier: Apache-2.0
#include "config/parse/runtime_parser.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxBatches = 65536;

void ParseIo(TableReader& runtime, ByteReaderOptions* io) {
  const std::string backend = runtime.String("io").value_or("auto");
  if (const auto parsed = ParseIoBackend(backend); parsed.ok()) {
    io->backend = *parsed;
  } else {
    runtime.Error(
        "io",
        absl::StrCat("must be auto, buffered, direct, mmap or pread, got ",
                     backend));
  }
  const std::string verify =
      runtime.String("verify_checksums").value_or("first_touch");
  if (const auto parsed = ParseVerifyChecksums(verify); parsed.ok()) {
    io->verify = *parsed;
  } else {
    runtime.Error(
        "verify_checksums",
        absl::StrCat("must be off, first_touch or always, got ", verify));
  }
  io->cache_bytes = runtime.Unsigned("cache_bytes", 0, kMaxInteger);
}

void ParseDevice(TableReader& runtime, Device* device) {
  const std::string name = runtime.String("device").value_or("host");
  if (name == "host") return;
  absl::string_view ordinal = name;
  device->type = DeviceType::kCuda;
  if (name == "cuda") return;
  if (absl::ConsumePrefix(&ordinal, "cuda:") && !ordinal.empty() &&
      std::all_of(ordinal.begin(), ordinal.end(), absl::ascii_isdigit) &&
      absl::SimpleAtoi(ordinal, &device->ordinal)) {
    return;
  }
  runtime.Error("device",
                absl::StrCat("must be host, cuda or cuda:N, got ", name));
}

void ParseTensors(TableReader& runtime, LoaderOptions* loader) {
  const std::string type = runtime.String("token_type").value_or("u32");
  if (const auto parsed = ParseTokenType(type); parsed.ok()) {
    loader->token_type = *parsed;
  } else {
    runtime.Error("token_type",
                  absl::StrCat("must be u8, u16, u32, i32 or i64, got ", type));
  }
  for (const std::string& name : runtime.Strings("tensors")) {
    const absl::StatusOr<BatchTensor> tensor = ParseBatchTensor(name);
    if (tensor.ok()) {
      loader->tensors.push_back(*tensor);
    } else {
      runtime.Error("tensors", absl::StrCat("names an unknown tensor: ",
                                            tensor.status().message()));
    }
  }
  DocumentRules& documents = loader->documents;
  documents.attention_across =
      runtime.Bool("attention_across_documents").value_or(false);
  documents.loss_across = runtime.Bool("loss_across_documents").value_or(false);
  documents.restart_positions =
      runtime.Bool("restart_positions").value_or(true);
  documents.labels_beyond_sample =
      runtime.Bool("labels_beyond_sample").value_or(false);
  documents.max_documents = static_cast<uint32_t>(
      runtime.Unsigned("max_documents", 0, UINT32_MAX).value_or(0));
}

}  // namespace

void ParseRuntime(TableReader& runtime, Run* run) {
  ParseIo(runtime, &run->io);
  run->catalogs = runtime.Strings("catalogs");
  LoaderOptions& loader = run->loader;
  ParseTensors(runtime, &loader);
  loader.sharing.even_work = runtime.Bool("even_work").value_or(false);
  loader.sharing.linear_cost =
      runtime.Unsigned("linear_cost", 0, kMaxInteger).value_or(0);
  ParseDevice(runtime, &loader.device);
  loader.widen_on_device = runtime.Bool("widen_on_device").value_or(false);
  const auto batches = [&runtime](const char* key, uint32_t* value) {
    *value = static_cast<uint32_t>(
        runtime.Unsigned(key, 0, kMaxBatches).value_or(*value));
  };
  batches("prefetch_batches", &loader.prefetch_batches);
  batches("max_held", &loader.max_held);
  loader.waits_for_held = runtime.Bool("waits_for_held").value_or(false);
  loader.prefetch_bytes = runtime.Unsigned("prefetch_bytes", 0, kMaxInteger)
                              .value_or(loader.prefetch_bytes);
  loader.report_every_steps =
      runtime.Unsigned("report_every_steps", 0, kMaxInteger)
          .value_or(loader.report_every_steps);
  runtime.Finish();
}

}  // namespace poniente::internal
