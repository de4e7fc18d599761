// SPDX-License-Identifier: Apache-2.0
// What a configuration states, as plain structs: checked by itself, before any
// store has been opened.

#ifndef PONIENTE_CONFIG_SPEC_H_
#define PONIENTE_CONFIG_SPEC_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "poniente/byte_reader.h"
#include "poniente/loader.h"
#include "poniente/mixture_plan.h"
#include "poniente/open_token_source.h"
#include "poniente/schedule.h"
#include "poniente/score_file.h"
#include "poniente/score_order.h"
#include "poniente/shuffle.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente::internal {

// Where a key stands, and its dotted name; every message about the key begins
// with it.
struct SourceLocation {
  std::string file;
  uint32_t line = 0;
  uint32_t column = 0;
  std::string key;
};

// Returns "file:line:column: key".
std::string ToString(const SourceLocation& location);

// Where a node stands, which decides the keys it may have and who shuffles it.
enum class NodePosition { kRoot, kComponent, kOther };

enum class NodeKind { kStore, kHub, kDeclared, kFlat, kMixture, kConcat, kUse };

// Items selected by a file or by a hash.
struct FilterSpec {
  enum class Kind { kScores, kBitmap, kIndices, kFraction };

  SourceLocation location;
  Kind kind = Kind::kScores;
  std::string path;                         // as written; none for kFraction
  ScoreFormat format = ScoreFormat::kAuto;  // kScores
  double at_least = 0;                      // kScores
  double fraction = 0;                      // kFraction
  uint64_t seed = 0;                        // kFraction
  bool invert = false;
};

struct ScoreOrderSpec {
  SourceLocation location;
  std::string path;       // as written
  bool is_table = false;  // an OrderFile; else scores
  ScoreFormat format = ScoreFormat::kAuto;
  ScoreDirection direction = ScoreDirection::kAscending;
  uint64_t bucket_items = 0;
  uint64_t buckets = 0;
};

struct SliceSpec {
  uint64_t begin = 0;
  uint64_t end = 0;
};

// A stage, from `start` on: a place in the run, or a sample of a nested
// mixture.
struct StageSpec {
  SourceLocation location;
  RunPoint start;
  std::string name;
  double lr_scale = 1;
  std::optional<double> lr_scale_end;
  std::optional<uint64_t> batch_size;
  std::optional<uint32_t> seq_len;
  std::map<std::string, double> weights;
  // Thresholds for the scores that components are filtered by, by component.
  std::map<std::string, double> thresholds;
  std::optional<double> temperature;
  std::optional<RunPoint> ramp;
  bool is_ramp_centred = false;
  uint32_t ramp_blocks = 0;
  std::map<std::string, double> numbers;
};

// What a path does not determine by itself.
struct FileSpec {
  std::string format;  // empty: found out
  std::optional<StoredType> dtype;
  std::string column;
  std::string glob;
  std::optional<DocumentDelimiter> delimiter;
  // Tokens that windows share; unset: as the format's own project cuts them.
  std::optional<uint32_t> overlap;
  std::optional<bool> across_shards;
};

// A node, with what is done to it, from the inside out: documents, filter,
// order, slice, take, repeat, shuffle.
struct NodeSpec {
  SourceLocation location;
  NodeKind kind = NodeKind::kStore;
  std::string name;
  std::string path;                      // kStore: as written
  std::string hub_name;                  // kHub
  std::string hub_config;                // kHub
  std::string hub_split;                 // kHub
  FileSpec files;                        // kStore, kHub
  uint64_t tokens = 0;                   // kDeclared
  std::optional<Vocabulary> vocabulary;  // kDeclared, kStore, kHub
  std::string use;                       // kUse: its name in [data.nodes]
  // Children in order of declaration; for kUse only the node that is used.
  std::vector<NodeSpec> children;

  std::optional<FilterSpec> documents;  // kStore
  std::optional<FilterSpec> filter;
  std::optional<ScoreOrderSpec> order;
  std::optional<SliceSpec> slice;
  std::optional<uint64_t> take;
  std::optional<uint64_t> repeat;
  // The stated shuffle; unset: the default of the node's place.
  std::optional<ShuffleOptions> shuffle;

  // Weight below a mixture.
  double weight = 1;
  bool states_weight = false;  // itself, or the stage that starts the run
  std::optional<uint64_t> max_epochs;

  std::optional<uint64_t> seed;
  std::optional<double> loss_weight;

  // For kMixture: what TOML states about any mixture.
  MixtureOptions mixture;
  std::vector<StageSpec> stages;  // after the first; not of the root
};

struct BatchSizeSpec {
  SourceLocation location;
  BatchSizeStage stage;
};

struct SeqLenSpec {
  SourceLocation location;
  SeqLenStage stage;
};

struct RunSpec {
  uint64_t seed = 0;
  uint64_t steps = 0;   // 0: until the data ends, or see tokens
  uint64_t tokens = 0;  // 0: see steps
  uint64_t batch_size = 0;
  uint32_t seq_len = 0;
  uint32_t max_seq_len = 0;  // the longest of the schedule, if not stated
  bool states_max_seq_len = false;
  bool trim = false;
  SourceLocation location;  // of [data]
  SourceLocation seq_len_location;
  NodeSpec root;
  std::vector<StageSpec> stages;
  std::vector<BatchSizeSpec> batch_sizes;
  std::vector<SeqLenSpec> seq_lens;
  // What a reader should know although nothing is wrong, with the places in
  // front.
  std::vector<std::string> warnings;
  // [runtime]
  ByteReaderOptions io;
  std::vector<std::string> catalogs;  // folders, as written
  LoaderOptions loader;               // what [data] says of it, too
};

// Returns the node that `node` stands for, with its own kind.
const NodeSpec& Used(const NodeSpec& node);

// Sets another threshold for the scores that a component is filtered by: of its
// own filter, else of the filter of what it uses, else of its documents.
// Returns false if it has none.
bool SetThreshold(double at_least, NodeSpec* node);
bool HasThreshold(const NodeSpec& node);

}  // namespace poniente::internal

#endif  // PONIENTE_CONFIG_SPEC_H_
