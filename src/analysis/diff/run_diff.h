// SPDX-License-Identifier: Apache-2.0
// The parts of DiffRuns().

#ifndef PONIENTE_ANALYSIS_DIFF_RUN_DIFF_H_
#define PONIENTE_ANALYSIS_DIFF_RUN_DIFF_H_

#include <vector>

#include "poniente/diff.h"

namespace poniente::internal {

// What a source is, which decides how it is compared.
enum class SourceKind {
  kData,    // a store, or files: its content
  kOwn,     // a dataset of the program's own: its path and fingerprint
  kNumber,  // only a number of tokens: its path and the number
};
inline SourceKind SourceKindOf(const ConfigSource& source) {
  if (source.data != nullptr) return SourceKind::kData;
  return source.is_readable ? SourceKind::kOwn : SourceKind::kNumber;
}

// Append what differs in the trees of datasets, in the schedules, in the
// changes of the journals, in how batches are made, in the evaluations, and in
// how stores are read.
void AppendTreeDifferences(const TracedRun& a, const TracedRun& b,
                           const ComparedSamples& compared,
                           std::vector<RunDifference>* differences);
void AppendScheduleDifferences(const TracedRun& a, const TracedRun& b,
                               const ComparedSamples& compared,
                               std::vector<RunDifference>* differences);
void AppendJournalDifferences(const TracedRun& a, const TracedRun& b,
                              const ComparedSamples& compared,
                              std::vector<RunDifference>* differences);
void AppendLoaderDifferences(const LoaderOptions& a, const LoaderOptions& b,
                             std::vector<RunDifference>* differences);
void AppendEvalDifferences(const std::vector<RunEval>& a,
                           const std::vector<RunEval>& b,
                           std::vector<RunDifference>* differences);
void AppendIoDifferences(const ByteReaderOptions& a, const ByteReaderOptions& b,
                         std::vector<RunDifference>* differences);

}  // namespace poniente::internal

#endif  // PONIENTE_ANALYSIS_DIFF_RUN_DIFF_H_
