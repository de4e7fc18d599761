// SPDX-License-Identifier: Apache-2.0
// The differences between the trees of two runs as they are found: what they
// are called, and from which step on they matter.

#ifndef PONIENTE_ANALYSIS_DIFF_TREE_DIFFERENCES_H_
#define PONIENTE_ANALYSIS_DIFF_TREE_DIFFERENCES_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/diff/first_reads.h"
#include "poniente/diff.h"

namespace poniente::internal {

// Returns what differences call the node at a path: "'web'", "the root".
std::string NodeWords(const std::string& path);

// Thread safety: none.
class TreeDifferences {
 public:
  // Borrows its arguments. Appends to `differences`.
  TreeDifferences(const TracedRun& a, const TracedRun& b,
                  const ComparedSamples& compared,
                  std::vector<RunDifference>* differences)
      : a_(a),
        b_(b),
        compared_(compared),
        differences_(differences),
        reads_a_(a, compared.steps),
        reads_b_(b, compared.steps) {}

  const TracedRun& a() const { return a_; }
  const TracedRun& b() const { return b_; }

  void Add(RunDifference difference) {
    differences_->push_back(std::move(difference));
  }
  // Adds a difference that decides tokens.
  void Add(std::string what, DiffValue a, DiffValue b,
           std::optional<uint64_t> from_step);
  // Adds what the runs state differently of the node at `path`, each only once.
  // Returns false if they state the same.
  bool AddOptions(const std::string& path, std::optional<uint64_t> from_step);
  // Does the same. If the runs state the same, adds how many items the nodes
  // have; with their fingerprints if this is the same, too.
  void AddOptionsOr(std::string what, const DatasetNode& a,
                    const DatasetNode& b, const std::string& path,
                    std::optional<uint64_t> from_step);

  // Return the first step in which a difference in these leaves, or below this
  // path, may matter: the first that reads them in either run, but none before
  // the runs differ. nullopt if no step reads them, or no sample differs.
  std::optional<uint64_t> AfterLeaves(std::optional<uint32_t> leaf_a,
                                      std::optional<uint32_t> leaf_b);
  std::optional<uint64_t> AfterBelow(const std::string& path);
  // Returns the step of a sample; nullopt behind the steps that both runs have.
  std::optional<uint64_t> StepOf(uint64_t sample) const;

 private:
  std::optional<uint64_t> After(std::optional<uint64_t> read_a,
                                std::optional<uint64_t> read_b) const;

  const TracedRun& a_;
  const TracedRun& b_;
  const ComparedSamples& compared_;
  std::vector<RunDifference>* const differences_;
  FirstReads reads_a_;
  FirstReads reads_b_;
  std::set<std::string> told_;  // by AddOptions()
};

// The parts of the comparison that have files of their own.

// Adds what differs between the sources of the runs.
void AddSourceDifferences(TreeDifferences* differences);

// Adds what differs between two mixtures themselves: weights, shares and rules.
// Returns false if the nodes are not both mixtures. `is_run`: their items are
// the samples of the runs.
bool AddMixtureDifferences(const DatasetNode& a, const DatasetNode& b,
                           const std::string& path, bool is_run,
                           TreeDifferences* differences);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_DIFF_TREE_DIFFERENCES_H_
