// SPDX-License-Identifier: Apache-2.0
#include "config/write/runtime_writer.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/run_nodes.h"

namespace poniente::internal {
namespace {

std::string Array(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(Quoted(text));
  return absl::StrCat("[", absl::StrJoin(quoted, ", "), "]");
}

// `all`: without the tensor of loss weights that those of nodes add.
std::vector<std::string> TensorNames(const Run& run, bool all) {
  std::vector<std::string> names;
  const bool has_weights = all && !LoaderOptionsOf(run).loss_weights.empty();
  for (const BatchTensor tensor : run.loader.tensors) {
    if (tensor == BatchTensor::kLossWeights && has_weights) continue;
    names.emplace_back(BatchTensorName(tensor));
  }
  return names;
}

std::string DeviceText(const Device& device) {
  return device.type == DeviceType::kCuda
             ? absl::StrCat("cuda:", device.ordinal)
             : "host";
}

}  // namespace

Keys RuntimeKeys(const Run& run, const std::vector<std::string>& catalogs,
                 bool all) {
  const LoaderOptions& loader = run.loader;
  const LoaderOptions usual;
  const ByteReaderOptions usual_io;
  Keys keys;
  if (all || run.io.backend != usual_io.backend) {
    keys.AddText("io", IoBackendName(run.io.backend));
  }
  if (all || run.io.verify != usual_io.verify) {
    keys.AddText("verify_checksums", VerifyChecksumsName(run.io.verify));
  }
  if (run.io.cache_bytes.has_value()) {
    keys.Add("cache_bytes", std::min(*run.io.cache_bytes, uint64_t{INT64_MAX}));
  }
  if (!catalogs.empty()) keys.Add("catalogs", Array(catalogs));
  if (all || loader.token_type != usual.token_type) {
    keys.AddText("token_type", TokenTypeName(loader.token_type));
  }
  const std::vector<std::string> tensors = TensorNames(run, all);
  if (all || !tensors.empty()) keys.Add("tensors", Array(tensors));
  if (all || loader.device.type != usual.device.type ||
      loader.device.ordinal != usual.device.ordinal) {
    keys.AddText("device", DeviceText(loader.device));
  }
  const auto add_flag = [&](const char* key, bool value, bool usual_value) {
    if (all || value != usual_value) keys.Add(key, Boolean(value));
  };
  const auto add_count = [&](const char* key, uint64_t value,
                             uint64_t usual_value) {
    // No integer of TOML is greater, and no machine has as much.
    constexpr uint64_t kGreatest = INT64_MAX;
    if (all || value != usual_value) keys.Add(key, std::min(value, kGreatest));
  };
  const DocumentRules& documents = loader.documents;
  add_flag("attention_across_documents", documents.attention_across,
           usual.documents.attention_across);
  add_flag("loss_across_documents", documents.loss_across,
           usual.documents.loss_across);
  add_flag("restart_positions", documents.restart_positions,
           usual.documents.restart_positions);
  add_flag("labels_beyond_sample", documents.labels_beyond_sample,
           usual.documents.labels_beyond_sample);
  add_count("max_documents", documents.max_documents,
            usual.documents.max_documents);
  add_flag("even_work", loader.sharing.even_work, usual.sharing.even_work);
  add_count("linear_cost", loader.sharing.linear_cost,
            usual.sharing.linear_cost);
  add_flag("widen_on_device", loader.widen_on_device, usual.widen_on_device);
  add_count("prefetch_batches", loader.prefetch_batches,
            usual.prefetch_batches);
  add_count("prefetch_bytes", loader.prefetch_bytes, usual.prefetch_bytes);
  add_count("max_held", loader.max_held, usual.max_held);
  add_flag("waits_for_held", loader.waits_for_held, usual.waits_for_held);
  add_count("report_every_steps", loader.report_every_steps,
            usual.report_every_steps);
  return keys;
}

}  // namespace poniente::internal
