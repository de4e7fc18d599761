// SPDX-License-Identifier: Apache-2.0
// A run described in plain values: what a TOML file states, and the same type.
// docs/config.md says what each key means; a field here has the key's name.
//
//   using namespace poniente;
//   Run run = {.seed = 42, .batch_size = 64, .seq_len = 4096};
//   run.steps = 100'000;
//   run.data = Mixture({
//       {"web", 0.7, Source("stores/web")},
//       {"code", 0.2, Source("stores/code").Filter(Score("q.npy") >= 0.5)},
//       {"small", 0.1, Flat({{"a", Source("stores/a")}, {"b", mine}})}});
//   run.stages = {{.name = "anneal",
//                  .start = Share(0.9),
//                  .weights = {{"web", 0.2}},
//                  .ramp = Steps(1000),
//                  .lr_scale_end = 0.1}};
//   auto loader = OpenLoader(run, {.rank = 1, .ranks = 4});
//
// Here `mine` is a DatasetPtr<TokenWindow>, a dataset of the program's own.
// TOML cannot state it; of what decides tokens, it can state everything else.

#ifndef PONIENTE_RUN_H_
#define PONIENTE_RUN_H_

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/byte_reader.h"
#include "poniente/extend/infilled_piece.h"
#include "poniente/journal.h"
#include "poniente/loader.h"
#include "poniente/mixture_plan.h"
#include "poniente/node_list.h"
#include "poniente/open_token_source.h"
#include "poniente/packing.h"
#include "poniente/ranks.h"
#include "poniente/schedule.h"
#include "poniente/score_file.h"
#include "poniente/score_order.h"
#include "poniente/shuffle.h"
#include "poniente/token_source.h"
#include "poniente/token_window.h"

namespace poniente {

// Where something is stated. Messages begin with it. Readers of TOML fill it
// in; leave it empty otherwise.
struct SourceLocation {
  std::string file = {};  // empty: the run was described in C++
  uint32_t line = 0;
  uint32_t column = 0;
  std::string key = {};  // "data.mixture.web.weight"

  // Always true: where something stands makes no difference to a description.
  friend bool operator==(const SourceLocation&, const SourceLocation&) {
    return true;
  }
};

// The lowest score that is chosen: a score itself, or one that is computed from
// all scores of the file when the run is opened.
struct ScoreThreshold {
  enum class Unit {
    kScore,
    // The score at this share of all scores in ascending order, 0 to 1: of n
    // scores, number floor(value * n + 1/2), counted from 0, or the last.
    kQuantile,
    // The mean plus this many standard deviations, of all n scores (divided by
    // n, not n - 1).
    kSigmas,
  };

  ScoreThreshold() = default;
  ScoreThreshold(double score) : value(score) {}  // NOLINT: as a number
  ScoreThreshold(Unit of, double number) : unit(of), value(number) {}

  Unit unit = Unit::kScore;
  double value = 0;

  friend bool operator==(const ScoreThreshold&,
                         const ScoreThreshold&) = default;
};
inline ScoreThreshold Quantile(double share) {
  return {ScoreThreshold::Unit::kQuantile, share};
}
inline ScoreThreshold Sigmas(double deviations) {
  return {ScoreThreshold::Unit::kSigmas, deviations};
}

// Chooses items, by a file or by a hash of their index. The functions Score,
// Bitmap, Indices and Fraction below make one; `!filter` chooses all others.
struct NodeFilter {
  enum class Kind { kScores, kBitmap, kIndices, kFraction };

  Kind kind = Kind::kScores;
  std::string path = {};                    // none for kFraction
  ScoreFormat format = ScoreFormat::kAuto;  // kScores
  ScoreThreshold at_least = {};             // kScores: the lowest one chosen
  double fraction = 0;                      // kFraction: above 0, below 1
  uint64_t seed = 0;                        // kFraction; never inherited
  bool invert = false;
  SourceLocation location = {};

  friend bool operator==(const NodeFilter&, const NodeFilter&) = default;
};

// A file of one score per item. `Score("quality.npy") >= 0.5` chooses items.
struct Score {
  explicit Score(std::string scores, ScoreFormat of = ScoreFormat::kAuto)
      : path(std::move(scores)), format(of) {}
  std::string path;
  ScoreFormat format;
};
// `Score("quality.npy") >= Quantile(0.8)` chooses about the best fifth.
NodeFilter operator>=(Score score, ScoreThreshold at_least);
// A file of one bit per item, a file of indices, and about a share of the
// items, by a hash of the index.
NodeFilter Bitmap(std::string path);
NodeFilter Indices(std::string path);
NodeFilter Fraction(double fraction, uint64_t seed = 0);
NodeFilter operator!(NodeFilter filter);

// The order of a node's items, or of a source's documents, by a file of scores,
// or by a table that OrderFile::Write() has made.
struct NodeOrder {
  std::string path = {};
  bool is_table = false;
  ScoreFormat format = ScoreFormat::kAuto;  // of scores
  ScoreDirection direction = ScoreDirection::kAscending;
  // Items per bucket that is shuffled, or the number of buckets; 0: none. Of
  // documents in an order: windows per bucket.
  uint64_t bucket_items = 0;
  uint64_t buckets = 0;
  SourceLocation location = {};

  friend bool operator==(const NodeOrder&, const NodeOrder&) = default;
};

// Items [begin, end).
struct NodeSlice {
  uint64_t begin = 0;
  uint64_t end = 0;

  friend bool operator==(const NodeSlice&, const NodeSlice&) = default;
};

// What the path of a source does not determine by itself.
struct SourceFiles {
  std::string format = {};  // one of TokenFormatNames(); empty: detected
  std::optional<StoredType> dtype = std::nullopt;
  std::string column = {};
  std::string glob = {};
  std::optional<DocumentDelimiter> delimiter = std::nullopt;
  // The loss mask of files of other projects. Its path is relative to the
  // run's folder.
  std::optional<LossMaskFiles> loss_mask = std::nullopt;
  // Tokens that windows share, 0 or 1. Unset: as the format's own project cuts.
  std::optional<uint32_t> overlap = std::nullopt;
  std::optional<bool> across_shards = std::nullopt;
  // Whether the store may still be written by a writer that publishes
  // (docs/growing.md); allowed with nothing else here.
  bool growing = false;

  friend bool operator==(const SourceFiles&, const SourceFiles&) = default;
};

// Whether the documents of sources are packed whole into windows, and how
// (packing.h); if not, windows are cut from the documents end to end.
struct NodePacking {
  bool is_packed = true;
  PackingOptions options = {};
  SourceLocation location = {};

  friend bool operator==(const NodePacking&, const NodePacking&) = default;
};

// Whether documents of sources are filled in the middle, and how (docs/fim.md).
struct NodeInfilling {
  bool is_infilled = true;
  InfillingOptions options = {};
  SourceLocation location = {};

  friend bool operator==(const NodeInfilling&, const NodeInfilling&) = default;
};

// What is held out of a source (docs/evaluation.md): about this share of its
// documents, or of its windows, chosen by a hash of `seed` and their number.
// One of the two is above 0 and below 1.
struct NodeHoldOut {
  double documents = 0;
  double windows = 0;
  uint64_t seed = 0;    // never inherited
  bool invert = false;  // reads only what is held out
  SourceLocation location = {};

  friend bool operator==(const NodeHoldOut&, const NodeHoldOut&) = default;
};

// Settings of a mixture that hold in all of its stages, as in MixtureOptions.
struct NodeMixture {
  uint64_t block_size = MixtureOptions().block_size;
  WeightRule weight_rule = WeightRule::kProportions;
  double temperature = 1;
  StopRule stop_rule = StopRule::kRestart;
  // What the weights must sum to, at first and in every stage that states
  // weights; they may be off by two millionths of it. Unset: any sum.
  std::optional<double> weights_sum = std::nullopt;
  // Also for a root that is not a mixture, if lengths change.
  uint64_t group_items = 0;

  friend bool operator==(const NodeMixture&, const NodeMixture&) = default;
};

// A place in the run, or an amount of it, for starts and ramps. Counts below 0
// are taken from the end. Run::shares_of says what a share is a share of.
inline RunPoint Steps(int64_t count) { return RunPoint::Step(count); }
inline RunPoint Samples(int64_t count) { return RunPoint::Sample(count); }
inline RunPoint Tokens(int64_t count) { return RunPoint::Token(count); }
inline RunPoint Share(double share) { return RunPoint::ShareOfSteps(share); }

// A stage of the run, or of a mixture below its root; it lasts until the next.
struct RunStage {
  std::string name = {};
  // In a nested mixture: a sample of this mixture, or a step, token or share of
  // the run.
  RunPoint start = {};
  // How much of the run the stage takes, instead of a start; then all stages of
  // the list state one, and they sum to 1. Readers of TOML, and Config::run(),
  // have the starts that follow from these.
  std::optional<double> share = std::nullopt;
  // Only stages of the run have these two, `fim_rates`, `lr_scale` and
  // `numbers`.
  std::optional<uint64_t> batch_size = std::nullopt;
  std::optional<uint32_t> seq_len = std::nullopt;
  // Weights of the components from here on; one that is not named has its
  // first weight.
  std::map<std::string, double> weights = {};
  // What the weights of this stage must sum to, instead of the mixture's
  // weights_sum: those of all components, whether named here or not.
  std::optional<double> weights_sum = std::nullopt;
  // Thresholds for the scores that components are filtered by, by component.
  std::map<std::string, ScoreThreshold> thresholds = {};
  // Rates of fill_in_the_middle, by component of the root, or by the path of a
  // node below one ("code/python"), which then wins: of all sources there that
  // have this setting. Sources that are not named have their own.
  std::map<std::string, double> fim_rates = {};
  std::optional<double> temperature = std::nullopt;
  // How long the shares take to change. In a nested mixture: its own samples,
  // or an amount of the run if `start` is a place in the run.
  std::optional<RunPoint> ramp = std::nullopt;
  bool is_ramp_centred = false;
  uint32_t ramp_blocks = 0;
  double lr_scale = 1;
  std::optional<double> lr_scale_end = std::nullopt;
  std::map<std::string, double> numbers = {};
  // Whether the ramp moves the temperature, and the shares follow from it.
  bool ramps_temperature = false;
  SourceLocation location = {};

  friend bool operator==(const RunStage&, const RunStage&) = default;
};

enum class NodeKind {
  kStore,     // `path`: a token store, or files of another project
  kHub,       // `hub_name`: a dataset in the local Hugging Face cache
  kDeclared,  // `tokens`: only a size, to plan with
  kFlat,      // children end to end under one shuffle
  kMixture,   // children by weight
  kConcat,    // children one after the other
  kUse,       // the only child, under a name that several nodes share
  kDataset,   // `dataset`: one of the program's own
};

// A node of the tree, with what is done to it. The functions below make nodes
// (Source, Flat, Mixture, ...); the methods return a copy that has one setting
// more:
//
//   Source("stores/web").Filter(Score("q.npy") >= 0.5).Take(1000)
//
// Settings are applied in one order, from the inside out: documents, order of
// documents, filter, order, slice, take, repeat, shuffle. To call the methods
// in another order, or to state a setting twice, is an error of
// Config::Create(), because the order would not be what the code says: put the
// node into a Concat() of one part, and state the later settings there.
struct Node {
  Node() = default;
  // A dataset of the program's own, of windows of Run::max_seq_len tokens; how
  // many they have is checked when the loader is created if item_tokens() says
  // it, else when they are read. It is shuffled where a source would be: at the
  // root and below a mixture. Shuffle(ShuffleOptions::None()) keeps its order.
  template <class Dataset>
  requires std::convertible_to<std::shared_ptr<Dataset>,
                               DatasetPtr<TokenWindow>>
  Node(std::shared_ptr<Dataset> own)  // NOLINT(google-explicit-constructor)
      : kind(NodeKind::kDataset), dataset(std::move(own)) {}

  // Of a source, or of all sources below.
  Node PackDocuments(PackingOptions options = {}) const;
  Node FillInTheMiddle(InfillingOptions options) const;
  Node HoldOut(NodeHoldOut hold_out) const;
  Node Documents(NodeFilter filter) const;
  // Of a source: windows are cut from its documents in this order.
  Node OrderDocuments(NodeOrder order) const;
  Node Filter(NodeFilter filter) const;
  Node Order(NodeOrder order) const;
  Node Slice(uint64_t begin, uint64_t end) const;
  Node Take(uint64_t items) const;
  Node Repeat(uint64_t times) const;
  Node Shuffle(ShuffleOptions options = ShuffleOptions::Full()) const;
  // A seed of its own, for a flat node or a mixture below the root.
  Node Seed(uint64_t seed) const;
  Node LossWeight(double weight) const;
  // Below a mixture: it ends before the block that would begin another epoch.
  Node MaxEpochs(uint64_t epochs) const;
  // Of a source.
  Node Files(SourceFiles files) const;
  Node Growing() const;
  Node Tokenizer(std::string tokenizer, uint64_t vocab_size) const;
  // Of a mixture.
  Node Settings(NodeMixture settings) const;
  Node Stages(std::vector<RunStage> stages) const;

  NodeKind kind = NodeKind::kStore;
  // The name below its parent, which decides the order. Empty at the root, and
  // in a concat for the number of the part.
  std::string name = {};
  std::string path = {};
  std::string hub_name = {};
  std::string hub_config = {};
  std::string hub_split = "train";
  SourceFiles files = {};  // kStore, kHub
  uint64_t tokens = 0;
  std::optional<Vocabulary> vocabulary = std::nullopt;  // of a source
  std::string use = {};                                 // kUse: the name
  DatasetPtr<TokenWindow> dataset = nullptr;
  // In the order of declaration.
  NodeList children = {};

  // Unset: as the node above says; the root's default is not to pack.
  std::optional<NodePacking> pack_documents = std::nullopt;
  // Likewise.
  std::optional<NodeInfilling> fill_in_the_middle = std::nullopt;
  // Unset: as the node above says; by default, nothing is held out.
  std::optional<NodeHoldOut> hold_out = std::nullopt;
  std::optional<NodeFilter> documents = std::nullopt;       // kStore
  std::optional<NodeOrder> order_documents = std::nullopt;  // kStore, kHub
  std::optional<NodeFilter> filter = std::nullopt;
  std::optional<NodeOrder> order = std::nullopt;
  std::optional<NodeSlice> slice = std::nullopt;
  std::optional<uint64_t> take = std::nullopt;
  std::optional<uint64_t> repeat = std::nullopt;
  // Unset: the default of the node's position.
  std::optional<ShuffleOptions> shuffle = std::nullopt;

  // Below a mixture. The weight may be left to a stage that starts the run.
  std::optional<double> weight = std::nullopt;
  std::optional<uint64_t> max_epochs = std::nullopt;
  std::optional<uint64_t> seed = std::nullopt;
  std::optional<double> loss_weight = std::nullopt;

  NodeMixture mixture = {};
  // Stages of a mixture below the root, after its first.
  std::vector<RunStage> stages = {};

  // The first wrong call of a method, for Config::Create() to report.
  std::string mistake = {};
  SourceLocation location = {};

  friend bool operator==(const Node&, const Node&) = default;
};

struct NodePart {
  std::string name = {};
  Node node = {};
};

struct NodeComponent {
  std::string name = {};
  std::optional<double> weight = std::nullopt;
  Node node = {};
};

// A token store, a folder with a catalogue, or files of another project;
// relative to Run::folder.
Node Source(std::string path);
// A tokenized dataset in the local Hugging Face cache; nothing is downloaded.
Node HubSource(std::string name, std::string config = "",
               std::string split = "train");
// Only a number of tokens: enough to plan, trace and compare runs.
Node Declared(uint64_t tokens);
Node Flat(std::vector<NodePart> children);
Node Mixture(std::vector<NodeComponent> components);
Node Concat(std::vector<NodePart> parts);
// `node` under a name of its own, which becomes a table of [data.nodes]. Node
// values may be used any number of times without it. A tree of more than 2^18
// nodes, those of each use counted, is an error of Config::Create().
Node Use(std::string name, Node node);

// Returns the change that adds a component to the root mixture of a run that
// goes on (journal.h): AddComponent({"forum", 0.2, Source("stores/forum")}).
// For a mixture below the root, set RunChange::path of the result. Paths are
// relative to the run's folder. InvalidArgument for wrong calls of Node's
// methods, for Use(), and for datasets of the program's own and integers above
// 2^63 - 1, which no text can state. Other values are checked where the change
// is made.
absl::StatusOr<RunChange> AddComponent(const NodeComponent& component,
                                       std::string why = "");
// Returns the change that puts parts in the place of a component: the same
// sources, filtered otherwise (docs/journal.md). Otherwise as AddComponent().
absl::StatusOr<RunChange> SplitComponent(
    std::string component, const std::vector<NodeComponent>& parts,
    std::string why = "");

// An evaluation: a finite set of samples in a fixed order (docs/evaluation.md).
// It reads `data`, or with `held_out` what training sources hold out: those at
// or below these paths ("small/code"), or all if there are no paths.
struct RunEval {
  std::string name = {};
  Node data = {};
  std::optional<std::vector<std::string>> held_out = std::nullopt;
  uint64_t batch_size = 0;  // 0: that of the run
  uint32_t seq_len = 0;     // 0: that of the run; windows have this length
  // At most this many samples or tokens, not both. 0: no limit.
  uint64_t max_samples = 0;
  uint64_t max_tokens = 0;
  uint64_t every_steps = 0;  // 0: the trainer decides
  uint64_t seed = 0;         // of its order; never inherited
  SourceLocation location = {};

  // Whether it is due once `steps_done` steps are done.
  bool IsDue(uint64_t steps_done) const {
    return every_steps > 0 && steps_done > 0 && steps_done % every_steps == 0;
  }
  friend bool operator==(const RunEval&, const RunEval&) = default;
};

// The total that shares of a run are shares of.
enum class ShareOf {
  kUnstated,  // steps; refused if batch size or length changes
  kSteps,
  kTokens,
};

// Two budgets in tokens, for a short run that is to repeat its data as often as
// a long one would (simulated epoching): each source is cut to the share
// experiment / target of its items.
struct RunBudget {
  uint64_t experiment = 0;  // of the short run, which this is
  uint64_t target = 0;      // of the long run that it stands for
  // Decides which items are kept; never inherited.
  uint64_t seed = 0;
  SourceLocation location = {};

  friend bool operator==(const RunBudget&, const RunBudget&) = default;
};

// A run. Plain values: nothing is checked or opened before Config::Create() or
// OpenLoader().
//
// Determinism: `io`, `catalogs`, `evals` and `loader` (but `loader.last_batch`)
//     never decide a token; everything else does.
// Limits: no integer of the description, in nodes, stages and evaluations too,
//     may be above 2^63 - 1, where those of TOML end; many have a lower limit.
//     Config::Create() and ToToml() refuse greater ones. Counts and bytes of
//     `io` and `loader` may be greater; ToToml() writes 2^63 - 1 for them.
struct Run {
  uint64_t seed = 0;
  uint64_t batch_size = 0;  // samples per step, over all ranks; required
  uint32_t seq_len = 0;     // tokens per sample; required
  // Length of the run: steps or tokens, not both. 0: until the data ends.
  uint64_t steps = 0;
  uint64_t total_tokens = 0;
  // Tokens per window. 0: the longest seq_len of the run.
  uint32_t max_seq_len = 0;
  bool trim = false;
  // Tokens that shorter samples of one window share, 0 or 1.
  uint32_t sample_overlap = 0;
  ShareOf shares_of = ShareOf::kUnstated;
  std::optional<RunBudget> budget = std::nullopt;
  // The root of the tree.
  Node data = {};
  std::vector<RunStage> stages = {};
  std::vector<BatchSizeStage> batch_sizes = {};
  std::vector<SeqLenStage> seq_lens = {};
  // The file of the changes that are decided while the run goes on
  // (docs/journal.md); read where the run is opened, and made at the first
  // change. Empty: changes are not kept.
  std::string journal = {};
  std::vector<RunEval> evals = {};

  // What [runtime] states; ToToml() leaves out what has no key: may_map and the
  // sinks. Of `loader`, rank, ranks and start_step are not part of a
  // description; loss_weights follow from those of the nodes.
  ByteReaderOptions io = {};
  std::vector<std::string> catalogs = {};
  LoaderOptions loader = {};

  // What relative paths are relative to. Empty: the working directory.
  std::string folder = {};

  SourceLocation location = {};          // of [data]
  SourceLocation seq_len_location = {};  // of its seq_len
  SourceLocation journal_location = {};  // of its journal
  SourceLocation runtime_location = {};  // of [runtime]
  // Of the entries of batch_sizes and of seq_lens, in their order.
  std::vector<SourceLocation> batch_sizes_locations = {};
  std::vector<SourceLocation> seq_lens_locations = {};

  // Compares the whole description, node by node; datasets of the program's own
  // are equal if they are the same object. Places, and sinks of the loader,
  // make no difference. Two descriptions of the same tokens may differ: in a
  // default that one of them states, or in names such as that of a `use`.
  friend bool operator==(const Run&, const Run&) = default;
};

// Reads the description from a TOML file or text, checked by itself: no source
// is opened. Names, defaults and places are resolved as docs/config.md says, so
// KempnerForge's form becomes a mixture, too. Messages use `name` for the file;
// relative paths are relative to `folder`.
// Errors: InvalidArgument, one line per mistake, as Config::Load().
absl::StatusOr<Run> LoadRun(const std::string& path);
absl::StatusOr<Run> ParseRun(std::string_view text, const std::string& name,
                             const std::string& folder);

// Returns the description as TOML: what differs from the defaults, with paths
// as they are. ParseRun() of it is the same run: the same tokens in the same
// order. Two nodes that are used under one name get two. (Config::ToToml()
// states everything instead.) A run that LoadRun() or ParseRun() has returned
// is equal to what is read again, from the same folder.
// Errors: InvalidArgument, naming the nodes, for datasets of the program's own
//     and for what no text could show: wrong calls of Node's methods, fields of
//     another kind of node, enumerators that do not exist, text that is not
//     UTF-8, integers above 2^63 - 1. Other values are checked by ParseRun() or
//     Config::Create().
absl::StatusOr<std::string> ToToml(const Run& run);

// Opens the run's sources and a loader over it, for one rank; the same as
// Config::Create(run) and Config::OpenLoader() with these ranks. Rank 0 also
// passes Config::warnings() to run.loader.warning_sink.
// Errors: InvalidArgument for mistakes in the description, one line each, which
//     begin with the path of names ("data.mixture.web.weight"), also where the
//     node was read from a file; errors of sources and schedule then begin with
//     file:line. Otherwise as Config::Load() and Loader::Create(). Mistakes
//     that keep a run from being written (children of one name, names that are
//     not UTF-8) come alone.
absl::StatusOr<std::unique_ptr<Loader>> OpenLoader(const Run& run,
                                                   const Ranks& ranks = {});

}  // namespace poniente

#endif  // PONIENTE_RUN_H_
