// SPDX-License-Identifier: Apache-2.0
// A trainer to copy: replace Model and TrainStep(). A killed run resumes
// exactly: one file holds the model and the loader of the same step.
#include <poniente/poniente.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>

using Model = std::vector<double>;  // kContexts rows of logits, then the loss
constexpr size_t kContexts = 256, kMaxIds = 65536, kSaveEvery = 50;  // steps

// Predicts each id from the one before it, and takes a step of SGD.
void TrainStep(const poniente::Batch& batch, Model& model) {
  const double predictions = batch.num_samples() * (batch.seq_len() - 1.0);
  const double rate = 0.2 * batch.plan().lr_scale;
  std::vector<double> p(model.size() / kContexts);
  model.back() = 0;
  for (size_t i = 0; i < batch.num_samples(); ++i) {
    const std::span<const uint32_t> ids = batch.tokens<uint32_t>(i);
    for (size_t t = 1; t < ids.size(); ++t) {
      double sum = 0, *logits = &model[ids[t - 1] % kContexts * p.size()];
      for (size_t k = 0; k < p.size(); ++k) sum += p[k] = std::exp(logits[k]);
      for (size_t k = 0; k < p.size(); ++k) logits[k] -= rate * p[k] / sum;
      logits[ids[t]] += rate;
      model.back() -= std::log(p[ids[t]] / sum) / predictions;
    }
  }
}

// Replaces the file at `path`. A kill leaves the old checkpoint or the new one.
absl::Status Save(const std::string& path, const Model& model,
                  const poniente::Loader& loader) {
  const std::string state = loader.State(), next = path + ".tmp";
  std::FILE* file = std::fopen(next.c_str(), "wb");
  if (!file) return absl::ErrnoToStatus(errno, "cannot create " + next);
  bool ok = std::fwrite(model.data(), 8, model.size(), file) == model.size();
  ok &= std::fwrite(state.data(), 1, state.size(), file) == state.size();
  ok &= std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  ok &= std::fclose(file) == 0;
  if (ok && std::rename(next.c_str(), path.c_str()) == 0) return {};
  return absl::ErrnoToStatus(errno, "cannot write " + path);
}

absl::Status Run(const std::string& toml, const std::string& path) {
  const auto config = poniente::Config::Load(toml);
  if (!config.ok()) return config.status();
  const auto loader = config->OpenLoader();
  if (!loader.ok()) return loader.status();
  const uint64_t ids = config->vocabulary().size;
  if (ids > kMaxIds) return absl::OutOfRangeError("too many token ids");
  Model model(kContexts * ids + 1);
  if (std::filesystem::is_regular_file(path)) {
    std::ifstream file(path, std::ios::binary);
    file.read(reinterpret_cast<char*>(model.data()), model.size() * 8);
    const std::string state{std::istreambuf_iterator<char>(file), {}};
    if (auto status = (*loader)->Resume(state); !status.ok()) return status;
    std::cout << "resumes at step " << (*loader)->next_step() << std::endl;
  }
  for (const auto& batch : poniente::Batches(**loader)) {
    if (!batch.ok()) return batch.status();
    TrainStep(*batch, model);
    if (const uint64_t done = batch->step() + 1; done % kSaveEvery == 0) {
      std::cout << "step " << done << "  loss " << model.back() << std::endl;
      if (auto saved = Save(path, model, **loader); !saved.ok()) return saved;
    }
  }
  std::cout << "done, loss " << model.back() << std::endl;
  return Save(path, model, **loader);
}

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: train_minimal TOML CKPT\n", 2;
  if (auto status = Run(argv[1], argv[2]); !status.ok()) {
    return std::cerr << "train_minimal: " << status.message() << '\n', 1;
  }
}
