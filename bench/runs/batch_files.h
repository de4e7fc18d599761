// SPDX-License-Identifier: Apache-2.0
// The files that batches_bench reads: stores and other projects' files.

#ifndef PONIENTE_BENCH_RUNS_BATCH_FILES_H_
#define PONIENTE_BENCH_RUNS_BATCH_FILES_H_

#include <cstdint>
#include <string>
#include <vector>

namespace poniente::bench {

// One kind of files, as the root of a run.
struct Kind {
  std::string name;
  std::string root;
};

// Writes files of `tokens` ids of u16 of each kind where they are not there
// yet, and makes `folder` the working directory. Arrow files only with
// FlatBuffers.
std::vector<Kind> MakeFiles(const std::string& folder, uint64_t tokens);

// Reads all files below a folder.
void BringIntoMemory(const std::string& folder);

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_RUNS_BATCH_FILES_H_
