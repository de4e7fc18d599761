// SPDX-License-Identifier: Apache-2.0
// What a configuration says, as plain structs: checked in itself, but before
// any store has been opened.

#ifndef PONIENTE_CONFIG_SPEC_H_
#define PONIENTE_CONFIG_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poniente/byte_reader.h"
#include "poniente/loader.h"

namespace poniente::internal {

// Where a key stands, and its dotted name: begins every message about it.
struct Place {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string key;
};

// "file:line:column: key".
std::string ToString(const Place& place);

enum class NodeKind { kStore, kFlat, kMixture, kConcat };

// Weights that begin at a sample of a nested mixture, or at a step of the run.
struct StageSpec {
  Place place;
  uint64_t start = 0;
  std::string name;
  double lr_scale = 1;
  std::map<std::string, double> weights;
};

struct NodeSpec {
  Place place;
  NodeKind kind = NodeKind::kStore;
  std::string name;
  std::string path;                // kStore: as written
  std::vector<NodeSpec> children;  // in the order of declaration
  double weight = 1;               // below a mixture
  bool shuffle = true;             // below a mixture, and at the root
  std::optional<uint64_t> seed;
  std::optional<uint64_t> take;
  std::optional<double> loss_weight;
  uint64_t block_size = 2048;     // kMixture
  std::vector<StageSpec> stages;  // kMixture, after the first; in samples
};

struct RunSpec {
  uint64_t seed = 0;
  uint64_t steps = 0;  // 0: until the data ends
  uint64_t batch_size = 0;
  uint32_t seq_len = 0;
  Place seq_len_place;
  NodeSpec root;
  std::vector<StageSpec> stages;  // in steps
  // [runtime]
  ByteReaderOptions io;
  LoaderOptions loader;  // what [data] says of it, too
};

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_SPEC_H_
