// SPDX-License-Identifier: Apache-2.0
// A run that chooses its own weights: every 50 steps, the losses of the sources
// become weights of the mixture (exponentiated_gradient.h), through the run's
// journal (docs/journal.md). Killed and started again, on as many ranks as you
// like, it is the same run.
//
//   adaptive_mixture TOML FOLDER [--ranks R] [--fixed] [--stop-at STEP]
//
// TOML describes a run over a mixture that has a `journal`; FOLDER keeps the
// checkpoint. The R ranks are loaders of this process; in a real run each has a
// process, an all-reduce adds up the losses, and a broadcast carries the line.
// --fixed leaves the weights as they are. --stop-at ends without a checkpoint,
// as a kill would. Prints the losses of the sources in the last 50 steps.
#include <poniente/poniente.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exponentiated_gradient.h"

namespace {

constexpr size_t kContexts = 256;
constexpr uint64_t kEvery = 50;  // steps between two changes
constexpr double kRate = 2;      // of the rule
constexpr double kFloor = 0.1;

struct Options {
  std::string toml, folder;
  uint32_t ranks = 1;
  bool is_fixed = false;
  uint64_t stop_at = UINT64_MAX;
};

// Predicts each id from the one before it. Takes a step of SGD and returns the
// mean loss of the sample.
double Train(std::span<const uint32_t> ids, double rate,
             std::vector<float>* model) {
  const size_t vocabulary = model->size() / kContexts;
  std::vector<float> p(vocabulary);
  double loss = 0;
  for (size_t t = 1; t < ids.size(); ++t) {
    float sum = 0, *logits = &(*model)[ids[t - 1] % kContexts * vocabulary];
    for (size_t k = 0; k < vocabulary; ++k) sum += p[k] = std::exp(logits[k]);
    for (size_t k = 0; k < vocabulary; ++k) {
      logits[k] -= static_cast<float>(rate) * p[k] / sum;
    }
    logits[ids[t]] += static_cast<float>(rate);
    loss -= std::log(p[ids[t]] / sum);
  }
  return loss / static_cast<double>(ids.size() - 1);
}

// The mean loss of each component of the root mixture since the last change.
struct ComponentLosses {
  explicit ComponentLosses(size_t components)
      : sums(components), samples(components) {}

  void Add(size_t component, double loss) {
    sums[component] += loss;
    samples[component] += 1;
  }
  // `otherwise` for a component that had no sample.
  std::vector<double> Means(double otherwise) const {
    std::vector<double> means;
    for (size_t c = 0; c < sums.size(); ++c) {
      means.push_back(samples[c] > 0 ? sums[c] / samples[c] : otherwise);
    }
    return means;
  }
  double Mean() const {
    double sum = 0, count = 0;
    for (const double one : sums) sum += one;
    for (const double one : samples) count += one;
    return sum / count;
  }

  std::vector<double> sums, samples;
};

class Trainer {
 public:
  explicit Trainer(Options options) : options_(std::move(options)) {}

  absl::Status Run() {
    const auto config = poniente::Config::Load(options_.toml);
    if (!config.ok()) return config.status();
    const poniente::MixturePlan* plan = config->schedule().mixture();
    if (plan == nullptr) {
      return absl::InvalidArgumentError("the run has no mixture at its root");
    }
    names_.assign(plan->names().begin(), plan->names().end());
    for (uint32_t r = 0; r < options_.ranks; ++r) {
      poniente::LoaderOptions options = config->loader_options();
      options.rank = r;
      options.ranks = options_.ranks;
      auto loader = config->OpenLoader(options);
      if (!loader.ok()) return loader.status();
      loaders_.push_back(*std::move(loader));
    }
    // The component that each leaf belongs to: the first name of its path.
    for (const poniente::LoaderSource& leaf : loaders_[0]->sources()) {
      const std::string name = leaf.path.substr(0, leaf.path.find('/'));
      component_of_.push_back(*plan->Find(name));
    }
    model_.resize(kContexts * config->vocabulary().size);
    if (auto status = Resume(); !status.ok()) return status;
    return TrainToTheEnd();
  }

 private:
  absl::Status TrainToTheEnd() {
    ComponentLosses losses(names_.size());
    const uint64_t first = loaders_[0]->next_step();
    uint64_t step = first;
    for (; loaders_[0]->schedule().Has(step); ++step) {
      if (step >= options_.stop_at) return absl::OkStatus();
      if (step > first && step % kEvery == 0) {
        if (auto status = Decide(step, losses); !status.ok()) return status;
        // A checkpoint needs no losses: the next are those behind it.
        losses = ComponentLosses(names_.size());
        if (auto status = Save(); !status.ok()) return status;
      }
      for (const auto& loader : loaders_) {
        auto batch = loader->NextBlocking();
        if (!batch.ok()) return batch.status();
        for (size_t i = 0; i < batch->num_samples(); ++i) {
          losses.Add(component_of_[batch->source(i)],
                     Train(batch->tokens<uint32_t>(i),
                           0.1 * batch->plan().lr_scale, &model_));
        }
      }
    }
    const std::vector<double> means = losses.Means(NAN);
    for (size_t c = 0; c < names_.size(); ++c) {
      std::cout << names_[c] << "  loss " << means[c] << "  weight "
                << loaders_[0]->schedule().At(step - 1).weights[c] << '\n';
    }
    return absl::OkStatus();
  }

  absl::Status Decide(uint64_t step, const ComponentLosses& losses) {
    // Decided in an earlier life: it stands in the journal, and holds.
    if (options_.is_fixed || loaders_[0]->last_decision() >= step) return {};
    const std::vector<double> next =
        example::NextWeights(loaders_[0]->schedule().At(step).weights,
                             losses.Means(losses.Mean()), kRate, kFloor);
    std::map<std::string, double> weights;
    for (size_t c = 0; c < next.size(); ++c) weights[names_[c]] = next[c];
    const auto line = loaders_[0]->Propose(poniente::RunChange::Weights(
        weights, "losses up to step " + std::to_string(step)));
    if (!line.ok()) return line.status();
    for (const auto& loader : loaders_) {  // a broadcast, in a real run
      const auto from = loader->Steer(*line);
      // So near the end that no block is left to change.
      if (absl::IsFailedPrecondition(from.status())) return {};
      if (!from.ok()) return from.status();
    }
    return absl::OkStatus();
  }

  std::string path() const { return options_.folder + "/checkpoint"; }

  absl::Status Save() {
    {
      std::ofstream file(path() + ".tmp", std::ios::binary);
      file.write(reinterpret_cast<const char*>(model_.data()),
                 static_cast<std::streamsize>(model_.size() * sizeof(float)));
      file << loaders_[0]->State();
      if (!file.flush()) return absl::UnknownError("cannot write " + path());
    }
    std::error_code error;
    std::filesystem::rename(path() + ".tmp", path(), error);
    return error ? absl::UnknownError("cannot rename " + path())
                 : absl::OkStatus();
  }

  absl::Status Resume() {
    std::ifstream file(path(), std::ios::binary);
    if (!file) return absl::OkStatus();
    file.read(reinterpret_cast<char*>(model_.data()),
              static_cast<std::streamsize>(model_.size() * sizeof(float)));
    const std::string state{std::istreambuf_iterator<char>(file), {}};
    for (const auto& loader : loaders_) {
      if (auto status = loader->Resume(state); !status.ok()) return status;
    }
    std::cout << "resumes at step " << loaders_[0]->next_step() << '\n';
    return absl::OkStatus();
  }

  const Options options_;
  std::vector<std::unique_ptr<poniente::Loader>> loaders_;  // by rank
  std::vector<std::string> names_;                          // of components
  std::vector<uint32_t> component_of_;                      // by leaf
  std::vector<float> model_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  std::vector<std::string> rest;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--fixed") {
      options.is_fixed = true;
    } else if (argument == "--ranks" && i + 1 < argc) {
      options.ranks = static_cast<uint32_t>(std::atoi(argv[++i]));
    } else if (argument == "--stop-at" && i + 1 < argc) {
      options.stop_at = std::strtoull(argv[++i], nullptr, 10);
    } else {
      rest.push_back(argument);
    }
  }
  if (rest.size() != 2 || options.ranks < 1) {
    std::cerr << "usage: adaptive_mixture TOML FOLDER [--ranks R] [--fixed] "
                 "[--stop-at STEP]\n";
    return 2;
  }
  options.toml = rest[0];
  options.folder = rest[1];
  if (const auto status = Trainer(options).Run(); !status.ok()) {
    std::cerr << "adaptive_mixture: " << status.message() << '\n';
    return 1;
  }
}
