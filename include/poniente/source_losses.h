// SPDX-License-Identifier: Apache-2.0
// The loss of each source, computed from the losses of the samples.

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

// One entry of SourceLosses::Report().
struct SourceLoss {
  std::string name = {};  // "loss/total", "loss/prose", "loss/prose/fortunes"
  double loss = 0;        // weighted mean
  double share = 0;       // share of all samples
  double samples = 0;
  double weight = 0;
};

// Sums up losses per source between two reports:
//
//   SourceLosses losses(*loader);
//   each step:    losses.Add(batch, loss_of_each_sample)
//   each report:  MPI_Allreduce(MPI_IN_PLACE, losses.sums().data(),
//                     losses.sums().size(), MPI_DOUBLE, MPI_SUM, comm);
//                 for (const SourceLoss& one : losses.Report()) ...
//                 losses.Reset();
//
// Names: a source "prose/fortunes" counts for "loss/prose/fortunes" and for
//     "loss/prose", whether '/' separates two names or is part of one. An entry
//     contains all sources at or below its name, so sources of one name (the
//     views of a component) share an entry. A source called "total" is reported
//     as "loss/total/".
// Numbers: doubles. A loss of NaN or infinity shows in every entry that its
//     sample counts for, and in no other.
// Ownership: copies the names.
// Thread safety: as a value.
class SourceLosses {
 public:
  // Numbers per source in sums(): sum of weight * loss, sum of weights,
  // samples.
  static constexpr size_t kFields = 3;

  // Creates sums for the batches of this loader.
  explicit SourceLosses(const Loader& loader);
  // Creates sums for these LoaderSource::path, in the order of
  // Loader::sources().
  explicit SourceLosses(std::vector<std::string> paths);

  // Adds one loss for each sample of the batch, in its order, all with weight
  // 1: means are per sample. InvalidArgument, and nothing is added, if the
  // number of losses differs from the number of samples, or if the batch has
  // sources that this object does not have.
  absl::Status Add(const Batch& batch, std::span<const float> losses);
  absl::Status Add(const Batch& batch, std::span<const double> losses);

  // Adds losses with a weight each. If a sample's loss is the mean over its
  // tokens, pass the number of these tokens as its weight to get means per
  // token. The loss of a sample of weight 0 is ignored, but the sample is
  // counted. InvalidArgument also for a weight that is negative or not finite.
  absl::Status Add(const Batch& batch, std::span<const float> losses,
                   std::span<const float> weights);
  absl::Status Add(const Batch& batch, std::span<const double> losses,
                   std::span<const double> weights);

  // Returns kFields numbers per source, in the order of Loader::sources(). The
  // layout is the same on every rank, so element-wise sums over ranks are the
  // sums of the run. Report() reads nothing else.
  std::span<double> sums() { return sums_; }
  std::span<const double> sums() const { return sums_; }

  // Returns "loss/total" first, then each name in the order of the sources,
  // with groups before what they contain. Names without weight are left out.
  std::vector<SourceLoss> Report() const;

  // Sets all sums to 0.
  void Reset();

  // Takes in the sources that the loader has got since (RunChange::Add()), on
  // every rank before the next Add(); the sums of all others stay. REQUIRES: it
  // is the loader, or one of the same run, that this was made for.
  void Follow(const Loader& loader);

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
