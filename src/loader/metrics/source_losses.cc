// SPDX-License-Identifier: Apache-2.0
#include "poniente/source_losses.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "poniente/loader.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

constexpr char kTotal[] = "loss/total";

std::vector<std::string> PathsOf(const Loader& loader) {
  std::vector<std::string> paths;
  for (const TreeLeaf& leaf : loader.tree().leaves()) {
    paths.push_back(leaf.path);
  }
  return paths;
}

// Returns "a", "a/b" and "a/b/c" for "a/b/c".
std::vector<std::string> NamesOf(const std::string& path) {
  std::vector<std::string> names;
  for (size_t end = path.find('/', 1); end < path.size();
       end = path.find('/', end + 1)) {
    names.push_back(path.substr(0, end));
  }
  names.push_back(path);
  return names;
}

std::string EntryName(const std::string& name) {
  std::string entry = absl::StrCat("loss/", name);
  return entry == kTotal ? absl::StrCat(kTotal, "/") : entry;
}

absl::Status CountError(uint64_t step, size_t given, const char* what,
                        size_t samples) {
  return absl::InvalidArgumentError(absl::StrCat(
      "step ", step, ": got ", given, " ", what, " for the ", samples,
      " samples of the batch; give one for each, in the batch's order"));
}

bool IsWeight(double weight) { return std::isfinite(weight) && weight >= 0; }

}  // namespace

SourceLosses::SourceLosses(const Loader& loader)
    : SourceLosses(PathsOf(loader)) {}

SourceLosses::SourceLosses(std::vector<std::string> paths)
    : sums_(paths.size() * kFields) {
  entries_.push_back({kTotal, {}});
  std::map<std::string, size_t> numbers;
  for (size_t source = 0; source < paths.size(); ++source) {
    entries_[0].sources.push_back(source);
    for (const std::string& name : NamesOf(paths[source])) {
      const auto [known, is_new] = numbers.emplace(name, entries_.size());
      if (is_new) entries_.push_back({EntryName(name), {}});
      entries_[known->second].sources.push_back(source);
    }
  }
}

void SourceLosses::Follow(const Loader& loader) {
  SourceLosses grown(loader);
  if (grown.sums_.size() <= sums_.size()) return;
  // Sources keep their numbers.
  std::copy(sums_.begin(), sums_.end(), grown.sums_.begin());
  *this = std::move(grown);
}

template <class Number>
absl::Status SourceLosses::Check(const Batch& batch,
                                 std::span<const Number> losses,
                                 const std::span<const Number>* weights) const {
  const size_t samples = batch.num_samples();
  if (losses.size() != samples) {
    return CountError(batch.step(), losses.size(), "losses", samples);
  }
  if (weights != nullptr && weights->size() != samples) {
    return CountError(batch.step(), weights->size(), "weights", samples);
  }
  const size_t sources = sums_.size() / kFields;
  for (size_t i = 0; i < samples; ++i) {
    if (batch.source(i) >= sources) {
      return absl::InvalidArgumentError(absl::StrCat(
          "step ", batch.step(), ": sample ", i, " is of source ",
          batch.source(i), ", but there are ", sources,
          " sources; take those of the loader that made the batch, and call "
          "Follow() once a source was added"));
    }
    if (weights != nullptr && !IsWeight((*weights)[i])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "step ", batch.step(), ": the weight of sample ", i,
          " must be a finite number of at least 0, got ", (*weights)[i]));
    }
  }
  return absl::OkStatus();
}

template <class Number>
absl::Status SourceLosses::AddAll(const Batch& batch,
                                  std::span<const Number> losses,
                                  const std::span<const Number>* weights) {
  PONIENTE_RETURN_IF_ERROR(Check(batch, losses, weights));
  for (size_t i = 0; i < losses.size(); ++i) {
    double* sums = &sums_[batch.source(i) * kFields];
    const double weight = weights == nullptr ? 1 : (*weights)[i];
    if (weight > 0) sums[0] += weight * losses[i];
    sums[1] += weight;
    sums[2] += 1;
  }
  return absl::OkStatus();
}

absl::Status SourceLosses::Add(const Batch& batch,
                               std::span<const float> losses) {
  return AddAll<float>(batch, losses, nullptr);
}
absl::Status SourceLosses::Add(const Batch& batch,
                               std::span<const double> losses) {
  return AddAll<double>(batch, losses, nullptr);
}
absl::Status SourceLosses::Add(const Batch& batch,
                               std::span<const float> losses,
                               std::span<const float> weights) {
  return AddAll<float>(batch, losses, &weights);
}
absl::Status SourceLosses::Add(const Batch& batch,
                               std::span<const double> losses,
                               std::span<const double> weights) {
  return AddAll<double>(batch, losses, &weights);
}

std::vector<SourceLoss> SourceLosses::Report() const {
  std::vector<SourceLoss> report;
  double all_samples = 0;
  for (size_t at = 2; at < sums_.size(); at += kFields) {
    all_samples += sums_[at];
  }
  for (const Entry& entry : entries_) {
    SourceLoss one;
    for (const size_t source : entry.sources) {
      const double* sums = &sums_[source * kFields];
      one.loss += sums[0];
      one.weight += sums[1];
      one.samples += sums[2];
    }
    if (one.weight == 0) continue;
    one.name = entry.name;
    one.loss /= one.weight;
    one.share = one.samples / all_samples;
    report.push_back(std::move(one));
  }
  return report;
}

void SourceLosses::Reset() { std::fill(sums_.begin(), sums_.end(), 0.0); }

}  // namespace poniente
