// SPDX-License-Identifier: Apache-2.0
#include "config/parse/config_keys.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using enum KeyTable;

constexpr std::string_view kPlace =
    "integer, below 0 from the end";  // of the run

// One row a key: the columns of docs/config.md.
// clang-format off
constexpr ConfigKey kKeys[] = {
{kTop, "data", "table", "", "required", "what is read, in which order: it alone decides the tokens"},
{kTop, "runtime", "table", "", "none", "how it is read and delivered: never changes a token"},

{kData, "seed", "integer, 0 to 2^63 - 1", "", "0", "keys every order below"},
{kData, "steps", "integer >= 1", "steps", "until the data ends", "length of the run. A finite root is repeated, each epoch in a new order, if the run is longer; not one that ends by a rule of its own (`stop`, `max_epochs`)"},
{kData, "total_tokens", "integer >= 1", "tokens", "see `steps`", "the run ends with the first step that reaches so many; instead of `steps`"},
{kData, "batch_size", "integer >= 1", "samples", "required", "samples per step, over all ranks"},
{kData, "seq_len", "integer >= 1", "tokens", "required", "tokens per sample; stores are cut into windows of `max_seq_len`, the tail of each is dropped"},
{kData, "max_seq_len", "integer >= 1", "tokens", "the longest `seq_len` of the run", "tokens per window; shorter samples are parts of windows. State it if longer samples may be wanted later: it cannot change during a run"},
{kData, "trim", "boolean", "", "false", "shorter samples are the beginnings of windows, and the rest is left; for comparisons"},
{kData, "last_batch", "`\"keep\"`, `\"drop\"`", "", "`\"keep\"`", "what a run that ends with its data does with samples that fill no batch"},
{kData, "shares_of", "`\"steps\"`, `\"tokens\"`", "", "required where they differ", "what `start_share`, `share` and `ramp_share` are shares of; they differ if batch size or length changes"},
{kData, "stages", "array of tables", "", "none", "changes during the run"},
{kData, "batch_sizes", "array of tables", "", "none", "batch sizes that change apart from stages"},
{kData, "seq_lens", "array of tables", "", "none", "lengths that change apart from stages"},
{kData, "nodes", "table of nodes by name", "", "none", "nodes for others to `use`, as often as they like"},

{kNode, "path", "string", "", "", "a token store, a folder with a [catalogue](catalog.md) of stores that are then one source, or [files of another project](formats.md); relative to the file's folder"},
{kNode, "hf_name", "string", "", "", "a tokenized dataset in the local Hugging Face cache, read in place; nothing is downloaded"},
{kNode, "tokens", "integer >= 1, or a whole float (`12e12`)", "tokens", "", "only a size: enough to plan, trace and compare runs with; reading is refused"},
{kNode, "flat", "table of nodes by name", "", "", "FlatMixture: all of them end to end under one shuffle"},
{kNode, "mixture", "table of nodes by name", "", "", "MixtureDataset: exact shares, by `weight`"},
{kNode, "concat", "array of nodes", "", "", "one after the other; each may have a `name`"},
{kNode, "use", "string", "", "", "the node of this name in `[data.nodes]`"},
{kNode, "name", "string", "", "its place, `\"0\"`, ...", "of a part of `concat`"},
{kNode, "hf_config", "string", "", "the only one there is", "configuration of an `hf_name`"},
{kNode, "hf_split", "string", "", "`\"train\"`", "split of an `hf_name`"},
{kNode, "format", "string", "", "found out from the bytes", "beside `path` and `hf_name`: one of the [formats](formats.md), where a path could be several"},
{kNode, "dtype", "`\"u8\"`, `\"i8\"`, `\"u16\"`, ..., `\"i64\"`", "", "what the files say", "beside `path`: how ids lie in files without a header, which need it"},
{kNode, "column", "string", "", "what the format's project calls it", "beside `path` and `hf_name`: the column, field or feature that holds the ids"},
{kNode, "glob", "string", "", "the format's own", "beside `path` and `hf_name`: of a folder, only the files whose names match"},
{kNode, "document_end", "integer, 0 to 2^32 - 1", "id", "none", "beside `path` and `hf_name`: the id that ends documents, where the files do not say where they end; all tokens are read to find them"},
{kNode, "document_begin", "integer, 0 to 2^32 - 1", "id", "none", "the id that begins documents; instead of `document_end`"},
{kNode, "overlap", "0 or 1", "tokens", "0", "beside `path` and `hf_name`: tokens that a window shares with the next; 1 with windows of L + 1 tokens gives every token as a label once"},
{kNode, "across_shards", "boolean", "", "as the [format's project](formats.md) cuts", "beside `path` and `hf_name`: windows reach from one file into the next, else each is cut by itself"},
{kNode, "tokenizer", "string", "", "unknown: mixes with any", "beside `tokens`, and `path` or `hf_name` of files that do not name it: the tokenizer's name"},
{kNode, "vocab_size", "integer, 1 to 2^32", "ids", "required with `tokenizer`", "beside `tokenizer`: ids are below this"},
{kNode, "documents", "table", "", "all", "beside `path`: only windows of these documents, which are chosen as by `filter`"},
{kNode, "filter", "table", "", "all", "only these items"},
{kNode, "order", "table", "", "as they are", "items in the order of a score"},
{kNode, "slice", "array `[begin, end]`", "items", "all", "items begin to end - 1, cut where there are fewer"},
{kNode, "take", "integer >= 1", "items", "all", "the first so many; makes a nested mixture finite"},
{kNode, "repeat", "integer >= 1", "epochs", "1", "so many passes, each in a new order where there is a shuffle below"},
{kNode, "shuffle", "boolean", "", "true at the root and below `mixture`, else false", "permute each epoch. A node that has an order of its own (`flat`, `mixture`, `order`, any shuffle below) is not permuted again: stating true changes nothing, stating false is an error beside `flat` and `mixture`"},
{kNode, "era_shuffle", "integer >= 1", "items", "none", "permute so many consecutive items among themselves, then the next ones; instead of `shuffle`"},
{kNode, "block_shuffle", "boolean or table", "", "none", "a shuffle that reads chunk by chunk, for storage that is slow at random access; instead of `shuffle`"},
{kNode, "weight", "number, finite, >= 0", "shares", "required", "below `mixture`: in proportion to its siblings', by the mixture's `weight_rule`; not required if the stage at the run's start states one. With `\"scores\"`, any number, or `-inf` for never"},
{kNode, "max_epochs", "integer >= 1", "epochs", "any number", "below `mixture`: the mixture ends before the block that would begin another; a longer run is refused"},
{kNode, "loss_weight", "number, finite, >= 0", "", "that of the node above, else 1", "weight of its samples' losses, in the tensor `loss_weights` that batches then have; not at the root. Changes no token"},
{kNode, "seed", "integer, 0 to 2^63 - 1", "", "from the parent and the name", "of a `flat` or `mixture` below the root: a seed of its own"},
{kNode, "block_size", "integer, 1 to 65536", "samples", "2048", "beside `mixture`: samples among which the order is shuffled"},
{kNode, "weight_rule", "`\"proportions\"`, `\"sizes\"`, `\"scores\"`", "", "`\"proportions\"`", "beside `mixture`: shares go by w^(1/T), (w * items)^(1/T), or e^(w/T)"},
{kNode, "temperature", "number, 2^-10 to `inf`", "", "1", "beside `mixture`: the T of `weight_rule`; above 1 flattens, `inf` makes equal shares"},
{kNode, "stop", "`\"restart\"`, `\"first_exhausted\"`, `\"all_exhausted\"`", "", "`\"restart\"`", "beside `mixture`: when a component has been read once, go on with its next epoch; end before that; or end once the last one has been read"},
{kNode, "group_items", "integer, 0 to 2^30", "items", "1024, or a 16th of the component", "beside `mixture`, or at the root if lengths change: windows whose parts are shuffled together"},
{kNode, "stages", "array of tables", "", "none", "beside a nested `mixture`: changes of it"},

{kSelection, "scores", "string", "", "", "a file of one score per item ([formats](selection.md#files))"},
{kSelection, "at_least", "number", "", "required with `scores`", "the least score that is chosen; `thresholds` of a stage may change it"},
{kSelection, "format", "`\"auto\"`, `\"f32\"`, `\"f64\"`", "", "`\"auto\"`", "of `scores`: NumPy's or by the end of the name; raw numbers"},
{kSelection, "bitmap", "string", "", "", "a file of one bit per item"},
{kSelection, "indices", "string", "", "", "a file of the chosen indices"},
{kSelection, "fraction", "number, 0 to 1, neither", "", "", "about so much, by a hash of the index: to hold out. An item that is in stays in when others are appended"},
{kSelection, "seed", "integer, 0 to 2^63 - 1", "", "0", "of `fraction`; never inherited"},
{kSelection, "invert", "boolean", "", "false", "all the others"},

{kOrder, "scores", "string", "", "", "a file of one score per item ([formats](selection.md#files))"},
{kOrder, "format", "`\"auto\"`, `\"f32\"`, `\"f64\"`", "", "`\"auto\"`", "of `scores`: NumPy's or by the end of the name; raw numbers"},
{kOrder, "table", "string", "", "", "a file written by `OrderFile::Write`, which is mapped; instead of `scores`"},
{kOrder, "direction", "`\"ascending\"`, `\"descending\"`", "", "`\"ascending\"`", "the least score first, or the greatest"},
{kOrder, "bucket_items", "integer >= 1", "items", "no shuffling", "so many consecutive items are shuffled among themselves in each epoch"},
{kOrder, "buckets", "integer >= 1", "buckets", "no shuffling", "the same by their number; instead of `bucket_items`"},

{kBlockShuffle, "chunk_tokens", "integer >= 1", "tokens", "2^19", "tokens per chunk"},
{kBlockShuffle, "chunk_items", "integer >= 1", "items", "see `chunk_tokens`", "items per chunk, instead"},
{kBlockShuffle, "window_chunks", "integer >= 1", "chunks", "1024", "chunks whose items are permuted together: at least the batch size in samples"},

{kStage, "start_step", kPlace, "steps", "", "where the stage starts"},
{kStage, "start_sample", kPlace, "samples", "", "the same by samples"},
{kStage, "start_token", kPlace, "tokens", "", "the same by tokens"},
{kStage, "start_share", "number, 0 to below 1", "", "", "the same by a share of the run"},
{kStage, "share", "number, above 0 to 1", "", "", "how much of the run the stage takes, instead of a start; then all stages state one, and they sum to 1"},
{kStage, "name", "string", "", "none", "for logs, plans and messages"},
{kStage, "weights", "table of numbers by component", "shares", "unchanged", "of the root mixture, from here on. A component that is not named has its first weight; 0 is never drawn"},
{kStage, "thresholds", "table of numbers by component", "", "unchanged", "`at_least` of the component's `filter` or `documents`, from here on; begins a new epoch of it"},
{kStage, "temperature", "number, 2^-10 to `inf`", "", "the mixture's", "of the root mixture in this stage"},
{kStage, "ramp_steps", "integer >= 0", "steps", "no ramp", "how long shares take to get from those before to this stage's, in a straight line"},
{kStage, "ramp_samples", "integer >= 0", "samples", "no ramp", "the same in samples"},
{kStage, "ramp_tokens", "integer >= 0", "tokens", "no ramp", "the same in tokens"},
{kStage, "ramp_share", "number, 0 to 1", "", "no ramp", "the same as a share of the run"},
{kStage, "ramp_centred", "boolean", "", "false", "half of the ramp, which is of the same unit, lies before the start"},
{kStage, "ramp_blocks", "integer, 0 to 2^32 - 1", "blocks", "0: at most 256 steps", "blocks per step of the ramp"},
{kStage, "batch_size", "integer >= 1", "samples", "unchanged", "samples per step from here on"},
{kStage, "seq_len", "integer >= 1", "tokens", "unchanged", "tokens per sample from here on"},
{kStage, "lr_scale", "number > 0", "", "1", "factor for the learning rate, handed to the trainer"},
{kStage, "lr_scale_end", "number >= 0", "", "`lr_scale`", "the factor goes in a straight line to this at the stage's end"},
{kStage, "numbers", "table of numbers", "", "none", "anything else that the trainer wants to know: a RoPE base, ..."},

{kMixtureStage, "start_sample", "integer >= 1", "samples", "", "of this mixture, in all its epochs"},
{kMixtureStage, "start_step", kPlace, "steps", "", "where the run is then; only if all nodes above are mixtures, and nothing ends or shuffles in between"},
{kMixtureStage, "start_token", kPlace, "tokens", "", "the same by tokens of the run"},
{kMixtureStage, "name", "string", "", "none", "for messages"},
{kMixtureStage, "weights", "table of numbers by component", "shares", "unchanged", "from here on. A component that is not named has its first weight; 0 is never drawn"},
{kMixtureStage, "thresholds", "table of numbers by component", "", "unchanged", "as in stages of the run"},
{kMixtureStage, "temperature", "number, 2^-10 to `inf`", "", "the mixture's", "in this stage"},
{kMixtureStage, "ramp_samples", "integer >= 0", "samples", "no ramp", "how long shares take to get here, in a straight line"},
{kMixtureStage, "ramp_blocks", "integer, 0 to 2^32 - 1", "blocks", "0: at most 256 steps", "blocks per step of the ramp"},

{kBatchSize, "start_step", kPlace, "steps", "", "from the first step at or after it"},
{kBatchSize, "start_sample", kPlace, "samples", "", "the same by samples"},
{kBatchSize, "start_token", kPlace, "tokens", "", "the same by tokens"},
{kBatchSize, "start_share", "number, 0 to below 1", "", "", "the same by a share of the run"},
{kBatchSize, "batch_size", "integer >= 1", "samples", "required", "samples per step"},

{kSeqLen, "start_step", kPlace, "steps", "", "from the first step at or after it"},
{kSeqLen, "start_sample", kPlace, "samples", "", "the same by samples"},
{kSeqLen, "start_token", kPlace, "tokens", "", "the same by tokens"},
{kSeqLen, "start_share", "number, 0 to below 1", "", "", "the same by a share of the run"},
{kSeqLen, "seq_len", "integer >= 1", "tokens", "required", "tokens per sample"},

{kFlatForm, "datasets", "array of nodes", "", "", "components of a mixture at the root, each with `path`, `hf_name` or any other kind, `weight` (above 0, default 1) and `name` (default: the last part of the path or of `hf_name`)"},
{kFlatForm, "dataset_path", "string", "", "", "one source, instead of `datasets`"},
{kFlatForm, "hf_dataset_name", "string", "", "", "the same by `hf_name`"},
{kFlatForm, "hf_dataset_config", "string", "", "the only one there is", "configuration of `hf_dataset_name`"},
{kFlatForm, "mix_temperature", "number > 0, to `inf`", "", "1", "`temperature` of the mixture, in all phases; below 2^-10 as that"},
{kFlatForm, "phases", "array of tables", "", "none", "changes during the run"},
{kFlatForm, "anneal_start_step", "integer >= 0", "steps", "0: never", "one change, instead of `phases`"},
{kFlatForm, "anneal_weights", "table of numbers by component", "shares", "unchanged", "weights from `anneal_start_step` on"},
{kFlatForm, "tokenizer_path", "string", "", "none", "not looked at: stores know their tokenizer"},
{kFlatForm, "file_pattern", "string", "", "all of the format", "of folders that are no token stores, only the files whose names match"},
{kFlatForm, "hf_dataset_split", "string", "", "`\"train\"`", "split of every `hf_name`"},
{kFlatForm, "hf_dataset_text_field", "string", "", "none", "not looked at"},
{kFlatForm, "hf_dataset_image_field", "string", "", "none", "not looked at"},
{kFlatForm, "hf_dataset_prompt_field", "string", "", "none", "not looked at"},
{kFlatForm, "hf_image_size", "integer >= 0", "pixels", "none", "not looked at"},
{kFlatForm, "hf_streaming", "boolean", "", "none", "not looked at"},
{kFlatForm, "num_workers", "integer >= 0", "", "none", "not looked at: see `[runtime]`"},
{kFlatForm, "prefetch_factor", "integer >= 1", "", "none", "not looked at: see `[runtime]`"},
{kFlatForm, "pin_memory", "boolean", "", "none", "not looked at: see `[runtime]`"},
{kFlatForm, "pack_sequences", "boolean", "", "false", "true is refused: windows follow the store"},

{kPhase, "start_step", "integer >= 0, increasing", "steps", "0", "first step of the phase, in the middle of an epoch or not"},
{kPhase, "dataset_weights", "table of numbers by component", "shares", "unchanged", "a dataset that is not named has its original weight; 0 is never drawn"},
{kPhase, "lr_scale", "number > 0", "", "1", "factor for the learning rate, handed to the trainer"},

{kTrain, "batch_size", "integer >= 1", "samples", "required", "per device and micro-step, if `data.batch_size` is missing: times `grad_accum_steps`, times `dp_shard` and `dp_replicate` of `[distributed]` where they are stated"},
{kTrain, "grad_accum_steps", "integer >= 1", "", "1", "see `batch_size`"},
{kTrain, "seq_len", "integer >= 1", "tokens", "required", "if `data.seq_len` is missing"},
{kTrain, "max_steps", "integer >= 1", "steps", "until the data ends", "if `data.steps` and `data.total_tokens` are missing"},
{kTrain, "seed", "integer, 0 to 2^63 - 1", "", "0", "if `data.seed` is missing"},

{kRuntime, "io", "`\"auto\"`, `\"buffered\"`, `\"direct\"`, `\"mmap\"`, `\"pread\"`", "", "`\"auto\"`", "how stores are read: by io_uring through the page cache or past it, copied from a mapping, by pread; `auto` takes what suits, store by store, as it sees what is cached ([reading.md](reading.md))"},
{kRuntime, "verify_checksums", "`\"off\"`, `\"first_touch\"`, `\"always\"`", "", "`\"first_touch\"`", "when a block of tokens is compared with its checksum: never, the first time that this process reads it, at each read. A block is read whole for it"},
{kRuntime, "cache_bytes", "integer >= 0", "bytes", "half of the memory available", "page cache that `auto` may count on, for all stores of the process: what fits is read through the cache"},
{kRuntime, "catalogs", "array of strings", "", "none", "folders with a [catalogue](catalog.md), relative to the file's folder: the stores that one of them lists open without a look at their files, until they are first read"},
{kRuntime, "token_type", "`\"u8\"`, `\"u16\"`, `\"u32\"`, `\"i32\"`, `\"i64\"`", "", "`\"u32\"`", "how ids lie in a batch; must hold every id of the vocabulary"},
{kRuntime, "tensors", "array of strings", "", "`[]`", "what a batch has beside its tokens: `labels`, `loss_mask`, `document_ids`, `positions`, `loss_weights` ([batches.md](batches.md)); `labels` need a signed `token_type`"},
{kRuntime, "device", "`\"host\"`, `\"cuda\"`, `\"cuda:1\"`", "", "`\"host\"`", "where batches are delivered: the host, GPU 0 or another. Where there is none they stay on the host, with a warning ([staging.md](staging.md))"},
{kRuntime, "widen_on_device", "boolean", "", "false", "ids go to a GPU as they are stored and are widened there, where that can be done; the host then has no tokens ([staging.md](staging.md))"},
{kRuntime, "prefetch_batches", "integer, 1 to 65536", "batches", "4", "slots: batches in flight or ready ahead of the consumer"},
{kRuntime, "prefetch_bytes", "integer >= 0", "bytes", "2^30", "their bytes together, at most; one batch is always fetched"},
{kRuntime, "max_held", "integer, 0 to 65536", "batches", "2", "batches that the consumer may keep when it asks for the next"},
{kRuntime, "report_every_steps", "integer >= 0", "steps", "0: never", "a line of metrics every so many steps ([metrics.md](metrics.md))"},
};
// clang-format on

}  // namespace

std::span<const ConfigKey> ConfigKeys() { return kKeys; }

std::span<const ConfigKey> ConfigKeys(KeyTable table) {
  struct ByTable {
    bool operator()(const ConfigKey& key, KeyTable at) const {
      return key.table < at;
    }
    bool operator()(KeyTable at, const ConfigKey& key) const {
      return at < key.table;
    }
  };
  const auto [begin, end] =
      std::equal_range(std::begin(kKeys), std::end(kKeys), table, ByTable());
  return {begin, end};
}

std::string_view KeyTableName(KeyTable table) {
  switch (table) {
    case kTop:
      return "the file";
    case kData:
      return "[data]";
    case kNode:
      return "a node";
    case kSelection:
      return "filter, documents";
    case kOrder:
      return "order";
    case kBlockShuffle:
      return "block_shuffle";
    case kStage:
      return "[[data.stages]]";
    case kMixtureStage:
      return "stages of a nested mixture";
    case kBatchSize:
      return "[[data.batch_sizes]]";
    case kSeqLen:
      return "[[data.seq_lens]]";
    case kFlatForm:
      return "KempnerForge's form";
    case kPhase:
      return "[[data.phases]]";
    case kTrain:
      return "[train]";
    case kRuntime:
      return "[runtime]";
  }
  return "";
}

std::string MarkdownRow(const ConfigKey& key) {
  std::string row = absl::StrCat("| `", Absl(key.name), "` |");
  for (const std::string_view cell :
       {key.type, key.unit, key.fallback, key.meaning}) {
    absl::StrAppend(&row, cell.empty() ? "" : " ", Absl(cell), " |");
  }
  return row;
}

}  // namespace poniente::internal
