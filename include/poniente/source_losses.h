// SPDX-License-Identifier: Apache-2.0
// The loss of each source, from the losses of the samples.

#ifndef PONIENTE_SOURCE_LOSSES_H_
#define PONIENTE_SOURCE_LOSSES_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "poniente/batch.h"

namespace poniente {

class Loader;

// A line of SourceLosses::Report().
struct SourceLoss {
  std::string name;  // "loss/total", "loss/prose", "loss/prose/fortunes"
  double loss = 0;   // mean, by weight
  double share = 0;  // of the samples
  double samples = 0;
  double weight = 0;
};

// Sums up losses between two reports:
//
//   SourceLosses losses(*loader);
//   each step:    losses.Add(batch, loss_of_each_sample)
//   each report:  MPI_Allreduce(MPI_IN_PLACE, losses.sums().data(),
//                     losses.sums().size(), MPI_DOUBLE, MPI_SUM, comm);
//                 for (const SourceLoss& one : losses.Report()) ...
//                 losses.Reset();
//
// Names: a source "prose/fortunes" counts for "loss/prose/fortunes" and for
//     "loss/prose", whether '/' joins two names or stands in one. An entry has
//     all sources at or below its name, so sources of one name (the views of a
//     component) are one entry. A source "total" is "loss/total/".
// Numbers: doubles. A loss of NaN or infinity shows in every entry that the
//     sample counts for, and in no other.
// Thread safety: as a value. Ownership: copies the names.
class SourceLosses {
 public:
  // Of each source in sums(): sum of weight * loss, sum of weights, samples.
  static constexpr size_t kFields = 3;

  // For the batches of this loader.
  explicit SourceLosses(const Loader& loader);
  // By Source::path, in the order of Loader::sources().
  explicit SourceLosses(std::vector<std::string> paths);

  // One loss for each sample of the batch, in its order, all of weight 1: means
  // are per sample. InvalidArgument, and nothing is added, if there are more or
  // fewer, or if the batch has sources that these are not.
  absl::Status Add(const Batch& batch, std::span<const float> losses);
  absl::Status Add(const Batch& batch, std::span<const double> losses);

  // With a weight for each: given the tokens that a sample's mean loss was
  // taken over, means are per token. A sample of weight 0 has no loss, whatever
  // stands there, but counts as a sample. InvalidArgument, too, for a weight
  // that is negative or not finite.
  absl::Status Add(const Batch& batch, std::span<const float> losses,
                   std::span<const float> weights);
  absl::Status Add(const Batch& batch, std::span<const double> losses,
                   std::span<const double> weights);

  // kFields numbers per source, in the order of Loader::sources(): the same
  // layout on every rank, so that element-wise sums are those of all ranks.
  // Report() reads nothing else.
  std::span<double> sums() { return sums_; }
  std::span<const double> sums() const { return sums_; }

  // "loss/total" first, then each name in the order of the sources, roll-ups
  // before what they contain. Names without weight are left out.
  std::vector<SourceLoss> Report() const;

  // Everything is 0 again.
  void Reset();

 private:
  struct Entry {
    std::string name;
    std::vector<size_t> sources;
  };

  template <class Number>
  absl::Status Check(const Batch& batch, std::span<const Number> losses,
                     const std::span<const Number>* weights) const;
  template <class Number>
  absl::Status AddAll(const Batch& batch, std::span<const Number> losses,
                      const std::span<const Number>* weights);

  std::vector<Entry> entries_;
  std::vector<double> sums_;
};

}  // namespace poniente

#endif  // PONIENTE_SOURCE_LOSSES_H_
