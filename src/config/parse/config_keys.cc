// SPDX-License-Identifier: Apache-2.0
#include "config/parse/config_keys.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using enum KeyTable;

constexpr std::string_view kPlace =
    "integer; below 0: from the end";  // of the run

// One row a key: the columns of docs/config.md.
// clang-format off
constexpr ConfigKey kKeys[] = {
{kTop, "data", "table", "", "required", "what is read, and in which order; it alone decides the tokens"},
{kTop, "runtime", "table", "", "none", "how it is read and delivered; never changes a token"},

{kData, "seed", "integer, 0 to 2^63 - 1", "", "0", "decides every order below"},
{kData, "steps", "integer >= 1", "steps", "until the data ends", "length of the run. If the run is longer than a finite root, the root is repeated, each epoch in a new order, unless it ends by a rule of its own (`stop`, `max_epochs`)"},
{kData, "total_tokens", "integer >= 1", "tokens", "see `steps`", "the run ends with the first step that reaches this number of tokens; instead of `steps`"},
{kData, "batch_size", "integer >= 1", "samples", "required", "samples per step, over all ranks"},
{kData, "seq_len", "integer >= 1", "tokens", "required", "tokens per sample; stores are cut into windows of `max_seq_len` tokens, and the tail of each store is dropped"},
{kData, "max_seq_len", "integer >= 1", "tokens", "the longest `seq_len` of the run", "tokens per window; shorter samples are parts of windows, except for packed documents, which have windows of each length. State it if longer samples may be wanted later: it cannot change during a run"},
{kData, "sample_overlap", "0 or 1", "tokens", "0", "tokens that shorter samples of one window share: with windows of L + 1 tokens (`overlap = 1`), samples of M + 1 tokens lose none, and a window has floor(L / M) of them; cannot change during a run"},
{kData, "trim", "boolean", "", "false", "a shorter sample is the beginning of a window, and the rest of the window is not used; for comparisons"},
{kData, "last_batch", "`\"keep\"`, `\"drop\"`", "", "`\"keep\"`", "what happens to the last samples of a run that ends with its data, if they fill no batch"},
{kData, "shares_of", "`\"steps\"`, `\"tokens\"`", "", "required where they differ", "what `start_share`, `share` and `ramp_share` are shares of; they differ if batch size or length changes"},
{kData, "budget", "table", "", "none", "simulated epoching: cuts every source so that this run repeats its data as often as a longer one would ([schedule.md](schedule.md#simulated-epoching))"},
{kData, "stages", "array of tables", "", "none", "changes during the run"},
{kData, "batch_sizes", "array of tables", "", "none", "changes of the batch size that are independent of stages"},
{kData, "seq_lens", "array of tables", "", "none", "changes of the length that are independent of stages"},
{kData, "journal", "string", "", "none", "file of the [changes](journal.md) that are decided while the run goes on, by `Loader::Steer()` on rank 0; made at the first change"},
{kData, "eval", "table of evaluations by name", "", "none", "[evaluations](#dataevalname): what is read at times to measure the model, and never decides what is trained on"},
{kData, "nodes", "table of nodes by name", "", "none", "nodes that other nodes can `use`, any number of times"},

{kNode, "path", "string", "", "", "a token store, a folder with a [catalogue](catalog.md) whose stores become one source, or [files of another project](formats.md); relative to the folder of the TOML file"},
{kNode, "hf_name", "string", "", "", "a tokenized dataset in the local Hugging Face cache, read in place; nothing is downloaded"},
{kNode, "tokens", "integer >= 1, or a whole float (`12e12`)", "tokens", "", "only a size: enough to plan, trace and compare runs, but nothing can be read"},
{kNode, "flat", "table of nodes by name", "", "", "FlatMixture: all of them end to end under one shuffle"},
{kNode, "mixture", "table of nodes by name", "", "", "MixtureDataset: exact shares, by `weight`"},
{kNode, "concat", "array of nodes", "", "", "one after the other; each may have a `name`"},
{kNode, "use", "string", "", "", "the node of this name in `[data.nodes]`"},
{kNode, "name", "string", "", "its place, `\"0\"`, ...", "below `concat`: the name of the part"},
{kNode, "hf_config", "string", "", "the only one", "with `hf_name`: its configuration"},
{kNode, "hf_split", "string", "", "`\"train\"`", "with `hf_name`: its split"},
{kNode, "format", "string", "", "detected from the bytes", "with `path` or `hf_name`: one of the [formats](formats.md), if the files could have several"},
{kNode, "dtype", "`\"u8\"`, `\"i8\"`, `\"u16\"`, ..., `\"i64\"`", "", "what the files say", "with `path`: type of the ids in files without a header, which require it"},
{kNode, "column", "string", "", "the name that the format's project uses", "with `path` or `hf_name`: the column, field or feature that holds the ids"},
{kNode, "glob", "string", "", "the format's own", "with `path` or `hf_name`: in a folder, only the files whose names match"},
{kNode, "document_end", "integer, 0 to 2^32 - 1", "id", "none", "with `path` or `hf_name`: the id that ends documents, if the files do not say where documents end; all tokens are read to find it"},
{kNode, "document_begin", "integer, 0 to 2^32 - 1", "id", "none", "with `path` or `hf_name`: the id that begins documents; instead of `document_end`"},
{kNode, "loss_mask", "string or table", "", "none", "with `path` or `hf_name`: the [loss mask](formats.md#loss-masks) of files of another project, which says which tokens have loss: its path, or a table; token stores have their own"},
{kNode, "overlap", "0 or 1", "tokens", "0", "with `path` or `hf_name`: tokens that a window shares with the next; 1 with windows of L + 1 tokens gives every token as a label once"},
{kNode, "across_shards", "boolean", "", "as the [format's project](formats.md) cuts", "with `path` or `hf_name`: windows reach from one file into the next; if false, each file is cut by itself"},
{kNode, "growing", "boolean", "", "false", "with `path`: the store may still be written, by `pack --growing` ([growing.md](growing.md))"},
{kNode, "tokenizer", "string", "", "unknown: mixes with any", "with `tokens`, `path` or `hf_name`: the tokenizer's name, if the files do not name it"},
{kNode, "vocab_size", "integer, 1 to 2^32", "ids", "required with `tokenizer`", "with `tokenizer`: every id is below this"},
{kNode, "pack_documents", "boolean or table", "", "as the node above, else false", "of a source, or of all sources below: each document is kept whole and packed with others into windows, with little padding ([packing.md](packing.md)); if false, windows are cut from the documents end to end"},
{kNode, "fill_in_the_middle", "table or false", "", "as the node above, else false", "of a source, or of all sources below: some documents are served as prefix, suffix and middle, with ids that mark these ([fim.md](fim.md))"},
{kNode, "hold_out", "table", "", "as the node above, else nothing", "of a source, or of all sources below: documents or windows that training never reads ([evaluation.md](evaluation.md#hold-outs))"},
{kNode, "documents", "table", "", "all", "with `path`: only windows of these documents, which are chosen as with `filter`"},
{kNode, "order_documents", "table", "", "as they are", "with `path` or `hf_name`: windows are cut from the documents [in the order of a score](#order-order_documents)"},
{kNode, "filter", "table", "", "all", "only these items"},
{kNode, "order", "table", "", "as they are", "items in the order of a score"},
{kNode, "slice", "array `[begin, end]`", "items", "all", "items begin to end - 1, or fewer if the node ends before"},
{kNode, "take", "integer >= 1", "items", "all", "the first items, at most this many; makes a nested mixture finite"},
{kNode, "repeat", "integer >= 1", "epochs", "1", "number of passes, each in a new order if there is a shuffle below"},
{kNode, "shuffle", "boolean", "", "true at the root and below `mixture`, else false", "permute each epoch. A node that has an order of its own (`flat`, `mixture`, `order`, `order_documents`, any shuffle below) is not permuted again: stating true changes nothing, stating false is an error with `flat` and `mixture`"},
{kNode, "era_shuffle", "integer >= 1", "items", "none", "permute this many consecutive items among themselves, then the next ones; instead of `shuffle`"},
{kNode, "block_shuffle", "boolean or table", "", "none", "a shuffle that reads chunk by chunk, for storage that is slow at random access; instead of `shuffle`"},
{kNode, "weight", "number, finite, >= 0", "shares", "required", "below `mixture`: relative to the weights of its siblings, by the mixture's `weight_rule`; not required if the stage at the run's start states one. With `\"scores\"`, any number, or `-inf` for never"},
{kNode, "max_epochs", "integer >= 1", "epochs", "any number", "below `mixture`: the mixture ends before the block that would begin another epoch; a longer run is refused"},
{kNode, "loss_weight", "number, finite, >= 0", "", "that of the node above, else 1", "weight of its samples' losses, in the tensor `loss_weights` that batches then have; not at the root. Changes no token"},
{kNode, "seed", "integer, 0 to 2^63 - 1", "", "from the parent and the name", "a seed of its own for a `flat` or `mixture` below the root"},
{kNode, "block_size", "integer, 1 to 65536", "samples", "2048", "with `mixture`: samples among which the order is shuffled"},
{kNode, "weight_rule", "`\"proportions\"`, `\"sizes\"`, `\"scores\"`", "", "`\"proportions\"`", "with `mixture`: shares are in proportion to w^(1/T), (w * items)^(1/T), or e^(w/T)"},
{kNode, "temperature", "number, 2^-10 to `inf`", "", "1", "with `mixture`: the T of `weight_rule`; above 1 flattens, `inf` makes equal shares"},
{kNode, "stop", "`\"restart\"`, `\"first_exhausted\"`, `\"all_exhausted\"`", "", "`\"restart\"`", "with `mixture`: when a component has been read once, continue with its next epoch; end before that; or end once the last one has been read"},
{kNode, "weights_sum", "number > 0", "shares", "any sum", "with `mixture`: what its weights must sum to, at first and in every stage that states weights; another sum is an error that names the weights. A sum may be off by two millionths of it, for the rounding of decimals. Not with `weight_rule = \"scores\"`; changes no token"},
{kNode, "group_items", "integer, 0 to 2^30", "items", "1024, or a 16th of the component", "with `mixture`, or at the root if lengths change: windows whose parts are shuffled together"},
{kNode, "stages", "array of tables", "", "none", "with a nested `mixture`: its changes during the run"},

{kSelection, "scores", "string", "", "", "a file of one score per item ([formats](selection.md#files))"},
{kSelection, "at_least", "number or table", "", "required with `scores`", "the lowest score that is chosen: itself, or [computed from all scores](#at_least-thresholds); `thresholds` of a stage may change it"},
{kSelection, "format", "`\"auto\"`, `\"f32\"`, `\"f64\"`", "", "`\"auto\"`", "of the `scores` file: detected (a NumPy file, else by the end of its name), or raw numbers of this type"},
{kSelection, "bitmap", "string", "", "", "a file of one bit per item"},
{kSelection, "indices", "string", "", "", "a file of the chosen indices"},
{kSelection, "fraction", "number, above 0, below 1", "", "", "about this share of the items, chosen by a hash of the index, to hold items out. A chosen item stays chosen when others are appended"},
{kSelection, "seed", "integer, 0 to 2^63 - 1", "", "0", "the seed of `fraction`; never inherited"},
{kSelection, "invert", "boolean", "", "false", "choose all other items instead"},

{kThreshold, "quantile", "number, 0 to 1", "", "", "the score at this share of all scores in ascending order: 0.8 chooses about the best fifth"},
{kThreshold, "sigmas", "number, finite", "", "", "the mean of the scores plus this many standard deviations; instead of `quantile`"},

{kOrder, "scores", "string", "", "", "a file of one score per item ([formats](selection.md#files))"},
{kOrder, "format", "`\"auto\"`, `\"f32\"`, `\"f64\"`", "", "`\"auto\"`", "of the `scores` file: detected (a NumPy file, else by the end of its name), or raw numbers of this type"},
{kOrder, "table", "string", "", "", "a file written by `OrderFile::Write`, which is memory-mapped; instead of `scores`"},
{kOrder, "direction", "`\"ascending\"`, `\"descending\"`", "", "`\"ascending\"`", "the lowest score first, or the highest"},
{kOrder, "bucket_items", "integer >= 1", "items", "no shuffling", "this many consecutive items are shuffled among themselves in each epoch"},
{kOrder, "buckets", "integer >= 1", "buckets", "no shuffling", "the same, stated as the number of buckets; instead of `bucket_items`"},

{kBlockShuffle, "chunk_tokens", "integer >= 1", "tokens", "2^19", "tokens per chunk"},
{kBlockShuffle, "chunk_items", "integer >= 1", "items", "see `chunk_tokens`", "items per chunk; instead of `chunk_tokens`"},
{kBlockShuffle, "window_chunks", "integer >= 1", "chunks", "1024", "chunks whose items are permuted together; state at least the batch size in samples"},

{kPacking, "long_documents", "`\"split\"`, `\"truncate\"`, `\"truncate_left\"`, `\"drop\"`, `\"refuse\"`", "", "`\"split\"`", "documents longer than a window: cut into windows, with the rest packed; only their first or last tokens; left out; or an error"},
{kPacking, "end_of_document", "`\"keep\"`, `\"drop\"`", "", "`\"keep\"`", "the end-of-document id behind each document; `drop` leaves it out of the windows, and is an error unless every document ends with it ([packing.md](packing.md#ends-of-documents))"},
{kPacking, "align", "integer >= 1", "tokens", "1", "each document takes a multiple of this many tokens of the window; for context parallelism over C ranks, 2 C. Divides the window"},
{kPacking, "max_documents", "integer >= 0", "documents", "0, no limit", "most documents in a window"},
{kPacking, "overlap", "0 or 1", "tokens", "0", "tokens that the pieces of a split document share; 1 gives each of its tokens but the first as a label"},
{kPacking, "parts", "integer, 1 to 256", "", "64", "how far documents of one length are spread over the windows"},
{kPacking, "shuffle", "boolean", "", "true", "each epoch seats the documents, and orders the windows, anew"},
{kPacking, "chunk_documents", "integer >= 0", "documents", "0, all together", "consecutive documents that are packed apart from all others, so that windows that follow each other read nearby documents ([packing.md](packing.md#chunks))"},
{kPacking, "shuffle_chunks", "integer, 1 to 65536", "chunks", "8", "with `chunk_documents`: chunks, at random places of the source, whose windows are shuffled together"},
{kPacking, "index_file", "string", "", "in the store's folder, else in memory", "of one source: the file that holds the order of its documents by length or, with `chunk_documents`, the number of windows of each chunk; made if it does not exist. If the sequence length changes, the file for length L has `-L` behind its name. Changes no token"},

{kInfilling, "rate", "number, 0 to 1", "", "0.5", "share of the documents, or parts of documents, that are served so; `fim_rates` of a stage may change it"},
{kInfilling, "spm_rate", "number, 0 to 1", "", "0.5", "share of these that have the suffix first"},
{kInfilling, "prefix", "integer, 0 to 2^32 - 1", "", "required", "the id that marks the prefix"},
{kInfilling, "middle", "integer, 0 to 2^32 - 1", "", "required", "the id that marks the middle"},
{kInfilling, "suffix", "integer, 0 to 2^32 - 1", "", "required", "the id that marks the suffix"},
{kInfilling, "pieces", "`\"all\"`, `\"whole\"`", "", "`\"all\"`", "also parts of documents that windows or packing have cut, or only whole documents"},
{kInfilling, "min_tokens", "integer >= 8", "tokens", "16", "shorter ones are served as they are"},

{kLossMask, "path", "string", "", "that of the tokens", "the files of the mask, one number per token; relative to the folder of the TOML file"},
{kLossMask, "glob", "string", "", "the format's own", "in a folder, only the files whose names match"},
{kLossMask, "column", "string", "", "the name that the format's project uses for ids", "the column or field that holds the mask"},
{kLossMask, "no_loss", "integer", "", "see `loss`", "all numbers but this have loss; -100 for labels"},
{kLossMask, "loss", "integer", "", "1 has loss, 0 has none", "only this number has loss; instead of `no_loss`"},

{kHoldOut, "documents", "number, above 0, below 1", "", "", "about this share of the documents, chosen by a hash of their number in the store. A document that is held out stays so when others are appended"},
{kHoldOut, "windows", "number, above 0, below 1", "", "", "about this share of the windows, instead of `documents`; documents that reach beyond a held-out window are trained on in part"},
{kHoldOut, "seed", "integer, 0 to 2^63 - 1", "", "0", "the seed of the hash; never inherited"},
{kHoldOut, "invert", "boolean", "", "false", "read only what is held out; an evaluation does this by itself"},

{kEval, "held_out", "boolean or array of strings", "", "", "what training sources hold out: of all sources (`true`), or of those at or below these paths. Instead of a node"},
{kEval, "batch_size", "integer >= 1", "samples", "that of `[data]`", "samples per batch, over all ranks; the last batch may be smaller"},
{kEval, "seq_len", "integer >= 1", "tokens", "that of `[data]`", "tokens per sample; the sources are cut into windows of this length"},
{kEval, "max_samples", "integer >= 1", "samples", "all", "at most this many samples, taken from all sources in proportion to their size"},
{kEval, "max_tokens", "integer >= 1", "tokens", "all", "the same in tokens; instead of `max_samples`"},
{kEval, "every_steps", "integer >= 1", "steps", "the trainer decides", "how often the trainer evaluates: `RunEval::IsDue()`, `plan`"},
{kEval, "seed", "integer, 0 to 2^63 - 1", "", "0", "decides the order of the samples, and which `max_samples` takes; never inherited"},

{kStage, "start_step", kPlace, "steps", "", "where the stage starts"},
{kStage, "start_sample", kPlace, "samples", "", "the same in samples"},
{kStage, "start_token", kPlace, "tokens", "", "the same in tokens"},
{kStage, "start_share", "number, 0 to below 1", "", "", "the same as a share of the run"},
{kStage, "share", "number, above 0 to 1", "", "", "how much of the run the stage takes, instead of a start; then all stages state one, and they sum to 1"},
{kStage, "name", "string", "", "none", "for logs, plans and messages"},
{kStage, "weights", "table of numbers by component", "shares", "unchanged", "weights of the root mixture, from here on. A component that is not named has its first weight; a component of weight 0 is never drawn"},
{kStage, "weights_sum", "number > 0", "shares", "the mixture's", "what the weights of this stage must sum to, those of components that it does not name included"},
{kStage, "thresholds", "table of `at_least` by component", "", "unchanged", "`at_least` of the component's `filter` or `documents`, from here on; begins a new epoch of the component"},
{kStage, "fim_rates", "table of numbers by component or path", "", "unchanged", "`rate` of `fill_in_the_middle` of all sources that have this setting, of the component, or at or below a path of names (`\"code/python\"`), in this stage; the longest path counts. Sources that are not named have their own rates"},
{kStage, "temperature", "number, 2^-10 to `inf`", "", "the mixture's", "temperature of the root mixture in this stage"},
{kStage, "ramp_steps", "integer >= 0", "steps", "no ramp", "how long the shares take to change, linearly, from those before to this stage's"},
{kStage, "ramp_samples", "integer >= 0", "samples", "no ramp", "the same in samples"},
{kStage, "ramp_tokens", "integer >= 0", "tokens", "no ramp", "the same in tokens"},
{kStage, "ramp_share", "number, 0 to 1", "", "no ramp", "the same as a share of the run"},
{kStage, "ramp_centred", "boolean", "", "false", "half of the ramp lies before the start, which must be in the same unit"},
{kStage, "ramp_blocks", "integer, 0 to 2^32 - 1", "blocks", "0: at most 256 changes", "blocks from one change of the shares to the next during the ramp"},
{kStage, "ramp_temperature", "boolean", "", "false", "the ramp moves the temperature, linearly, and the shares follow from it; the weights stay those in force before the stage ([schedule.md](schedule.md#ramps))"},
{kStage, "batch_size", "integer >= 1", "samples", "unchanged", "samples per step from here on"},
{kStage, "seq_len", "integer >= 1", "tokens", "unchanged", "tokens per sample from here on"},
{kStage, "lr_scale", "number > 0", "", "1", "factor for the learning rate, handed to the trainer"},
{kStage, "lr_scale_end", "number >= 0", "", "`lr_scale`", "the factor changes linearly to this at the stage's end"},
{kStage, "numbers", "table of numbers", "", "none", "anything else that the trainer wants to know: a RoPE base, ..."},

{kMixtureStage, "start_sample", "integer >= 1", "samples", "", "where the stage starts, in samples of this mixture, whatever the epochs of its components; a mixture that ends (`stop`) begins with its first weights again in each epoch of its own"},
{kMixtureStage, "start_step", kPlace, "steps", "", "the same in steps of the run; only if all nodes above are mixtures, and nothing in between ends or reorders them"},
{kMixtureStage, "start_token", kPlace, "tokens", "", "the same in tokens of the run"},
{kMixtureStage, "start_share", "number, 0 to below 1", "", "", "the same as a share of the run; 0 only for the first stage, whose weights and thresholds are then the components' own"},
{kMixtureStage, "share", "number, above 0 to 1", "", "", "how much of the run the stage takes, instead of a start; then all stages of the mixture state one, and they sum to 1"},
{kMixtureStage, "name", "string", "", "none", "for messages"},
{kMixtureStage, "weights", "table of numbers by component", "shares", "unchanged", "weights of this mixture, from here on. A component that is not named has its first weight; a component of weight 0 is never drawn"},
{kMixtureStage, "weights_sum", "number > 0", "shares", "the mixture's", "what the weights of this stage must sum to, those of components that it does not name included"},
{kMixtureStage, "thresholds", "table of `at_least` by component", "", "unchanged", "as in stages of the run"},
{kMixtureStage, "temperature", "number, 2^-10 to `inf`", "", "the mixture's", "temperature of this mixture in this stage"},
{kMixtureStage, "ramp_samples", "integer >= 0", "samples", "no ramp", "how long the shares take to change, linearly, from those before to this stage's, in samples of this mixture"},
{kMixtureStage, "ramp_steps", "integer >= 0", "steps", "no ramp", "the same in steps of the run; only with a start in the run"},
{kMixtureStage, "ramp_tokens", "integer >= 0", "tokens", "no ramp", "the same in tokens of the run; only with a start in the run"},
{kMixtureStage, "ramp_share", "number, 0 to 1", "", "no ramp", "the same as a share of the run; only with a start in the run"},
{kMixtureStage, "ramp_centred", "boolean", "", "false", "half of the ramp lies before the start, which must be in the same unit"},
{kMixtureStage, "ramp_blocks", "integer, 0 to 2^32 - 1", "blocks", "0: at most 256 changes", "blocks from one change of the shares to the next during the ramp"},
{kMixtureStage, "ramp_temperature", "boolean", "", "false", "the ramp moves the temperature, linearly, and the shares follow from it; the weights stay those in force before the stage"},

{kBatchSize, "start_step", kPlace, "steps", "", "the change applies from the first step at or after this"},
{kBatchSize, "start_sample", kPlace, "samples", "", "the same in samples"},
{kBatchSize, "start_token", kPlace, "tokens", "", "the same in tokens"},
{kBatchSize, "start_share", "number, 0 to below 1", "", "", "the same as a share of the run"},
{kBatchSize, "batch_size", "integer >= 1", "samples", "required", "samples per step"},

{kSeqLen, "start_step", kPlace, "steps", "", "the change applies from the first step at or after this"},
{kSeqLen, "start_sample", kPlace, "samples", "", "the same in samples"},
{kSeqLen, "start_token", kPlace, "tokens", "", "the same in tokens"},
{kSeqLen, "start_share", "number, 0 to below 1", "", "", "the same as a share of the run"},
{kSeqLen, "seq_len", "integer >= 1", "tokens", "required", "tokens per sample"},

{kBudget, "experiment", "integer >= 1, or a whole float (`1e9`)", "tokens", "required", "tokens of this run"},
{kBudget, "target", "integer >= 1, or a whole float (`12e12`)", "tokens", "required", "tokens of the run that it stands for; at least `experiment`"},
{kBudget, "seed", "integer, 0 to 2^63 - 1", "", "0", "decides which items are kept; never inherited"},

{kFlatForm, "datasets", "array of nodes", "", "", "components of a mixture at the root, each with `path`, `hf_name` or any other kind, `weight` (above 0, default 1) and `name` (default: the last part of the path or of `hf_name`)"},
{kFlatForm, "dataset_path", "string", "", "", "one source, instead of `datasets`"},
{kFlatForm, "hf_dataset_name", "string", "", "", "the same, as an `hf_name`"},
{kFlatForm, "hf_dataset_config", "string", "", "the only one", "configuration of `hf_dataset_name`"},
{kFlatForm, "mix_temperature", "number > 0, to `inf`", "", "1", "`temperature` of the mixture, in all phases; values below 2^-10 count as 2^-10"},
{kFlatForm, "phases", "array of tables", "", "none", "changes during the run"},
{kFlatForm, "anneal_start_step", "integer >= 0", "steps", "0: never", "one change, instead of `phases`"},
{kFlatForm, "anneal_weights", "table of numbers by component", "shares", "unchanged", "weights from `anneal_start_step` on"},
{kFlatForm, "tokenizer_path", "string", "", "none", "ignored: stores know their tokenizer"},
{kFlatForm, "file_pattern", "string", "", "all files of the format", "in folders that are not token stores, only the files whose names match"},
{kFlatForm, "hf_dataset_split", "string", "", "`\"train\"`", "split of every `hf_name`"},
{kFlatForm, "hf_dataset_text_field", "string", "", "none", "ignored"},
{kFlatForm, "hf_dataset_image_field", "string", "", "none", "ignored"},
{kFlatForm, "hf_dataset_prompt_field", "string", "", "none", "ignored"},
{kFlatForm, "hf_image_size", "integer >= 0", "pixels", "none", "ignored"},
{kFlatForm, "hf_streaming", "boolean", "", "none", "ignored"},
{kFlatForm, "num_workers", "integer >= 0", "", "none", "ignored: see `[runtime]`"},
{kFlatForm, "prefetch_factor", "integer >= 1", "", "none", "ignored: see `[runtime]`"},
{kFlatForm, "pin_memory", "boolean", "", "none", "ignored: see `[runtime]`"},
{kFlatForm, "pack_sequences", "boolean", "", "false", "whole documents are packed into windows, as by `pack_documents`"},

{kPhase, "start_step", "integer >= 0, increasing", "steps", "0 for the first phase; required for others", "first step of the phase, in the middle of an epoch or not"},
{kPhase, "dataset_weights", "table of numbers by component", "shares", "unchanged", "a dataset that is not named has its original weight; a dataset of weight 0 is never drawn"},
{kPhase, "lr_scale", "number > 0", "", "1", "factor for the learning rate, handed to the trainer"},

{kTrain, "batch_size", "integer >= 1", "samples", "required", "per device and micro-step, if `data.batch_size` is missing: times `grad_accum_steps`, times `dp_shard` and `dp_replicate` of `[distributed]` where they are stated"},
{kTrain, "grad_accum_steps", "integer >= 1", "", "1", "see `batch_size`"},
{kTrain, "seq_len", "integer >= 1", "tokens", "required", "if `data.seq_len` is missing"},
{kTrain, "max_steps", "integer >= 1", "steps", "until the data ends", "if `data.steps` and `data.total_tokens` are missing"},
{kTrain, "seed", "integer, 0 to 2^63 - 1", "", "0", "if `data.seed` is missing"},

{kRuntime, "io", "`\"auto\"`, `\"buffered\"`, `\"direct\"`, `\"mmap\"`, `\"pread\"`", "", "`\"auto\"`", "how stores are read: by io_uring through the page cache or past it, copied from a memory mapping, or by pread; `auto` chooses for each store, by how much of it is cached ([reading.md](reading.md))"},
{kRuntime, "verify_checksums", "`\"off\"`, `\"first_touch\"`, `\"always\"`", "", "`\"first_touch\"`", "when a block of tokens is compared with its checksum: never, the first time that this process reads it, or at each read. To verify a block, all of it is read"},
{kRuntime, "cache_bytes", "integer >= 0", "bytes", "half of the memory available", "page cache that `auto` may count on, for all stores of the process: what fits is read through the cache"},
{kRuntime, "catalogs", "array of strings", "", "none", "folders with a [catalogue](catalog.md), relative to the folder of the TOML file. The files of the stores that they list are not opened before the first read"},
{kRuntime, "token_type", "`\"u8\"`, `\"u16\"`, `\"u32\"`, `\"i32\"`, `\"i64\"`", "", "`\"u32\"`", "type of the ids in a batch; must be able to hold every id of the vocabulary"},
{kRuntime, "tensors", "array of strings", "", "`[]`", "what a batch has besides its tokens: `labels`, `loss_mask`, `document_ids`, `positions`, `loss_weights`, `cu_seqlens`, `document_counts`, `max_seqlens` ([batches.md](batches.md)); `labels` need a signed `token_type`"},
{kRuntime, "attention_across_documents", "boolean", "", "false", "in `document_ids` and `cu_seqlens`, each sample is one document"},
{kRuntime, "loss_across_documents", "boolean", "", "false", "the first token of a document is the label of the last one of the document before it"},
{kRuntime, "restart_positions", "boolean", "", "true", "`positions` begin at 0 in each document; else in each sample"},
{kRuntime, "labels_beyond_sample", "boolean", "", "false", "the last token of a sample has the token behind the sample as its label, if its document goes on ([batches.md](batches.md#labels))"},
{kRuntime, "max_documents", "integer >= 0", "documents", "0: as many as packing puts into a window, or as there are tokens", "documents of a sample that `cu_seqlens` have room for, padding included; more are an error"},
{kRuntime, "even_work", "boolean", "", "false", "the samples of a step are divided among the ranks so that all have nearly the same work, instead of by their numbers; all ranks must state the same ([ranks.md](ranks.md#even-work))"},
{kRuntime, "linear_cost", "integer >= 0", "pairs of tokens", "0", "with `even_work`: work of a token besides attention"},
{kRuntime, "device", "`\"host\"`, `\"cuda\"`, `\"cuda:1\"`", "", "`\"host\"`", "where batches are delivered: the host, GPU 0 or another. If there is no such GPU, they stay on the host, with a warning ([staging.md](staging.md))"},
{kRuntime, "widen_on_device", "boolean", "", "false", "ids are copied to the GPU as they are stored and widened there, where possible; the host then has no tokens ([staging.md](staging.md))"},
{kRuntime, "prefetch_batches", "integer, 0 to 65536", "batches", "0", "batches in flight or ready ahead of the consumer; 0: 4, or, from files, as many as have 128 samples of a rank, at most 32"},
{kRuntime, "prefetch_bytes", "integer >= 0", "bytes", "2^30", "bytes of these batches together, at most; one batch is always fetched"},
{kRuntime, "max_held", "integer, 0 to 65536", "batches", "2", "batches that the consumer may keep when it asks for the next"},
{kRuntime, "waits_for_held", "boolean", "", "false", "whether asking for a batch waits while more than `max_held` are kept, instead of being an error: for batches that other threads release"},
{kRuntime, "report_every_steps", "integer >= 0", "steps", "0: never", "steps from one line of metrics to the next ([metrics.md](metrics.md))"},
};
// clang-format on

// What other loaders and trainers call a key.
struct OtherName {
  std::string_view other;
  std::string_view key;
};
constexpr OtherName kOtherNames[] = {
    {"context_length", "seq_len"}, {"drop_last", "last_batch"},
    {"epochs", "repeat"},          {"global_batch_size", "batch_size"},
    {"max_length", "seq_len"},     {"max_seq_length", "max_seq_len"},
    {"max_steps", "steps"},        {"num_epochs", "repeat"},
    {"num_steps", "steps"},        {"num_train_epochs", "repeat"},
    {"probability", "weight"},     {"proportion", "weight"},
    {"random_seed", "seed"},       {"ratio", "weight"},
    {"seq_length", "seq_len"},     {"sequence_length", "seq_len"},
    {"total_steps", "steps"},      {"train_batch_size", "batch_size"},
    {"train_iters", "steps"},      {"train_steps", "steps"},
};

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
    case kThreshold:
      return "at_least, thresholds";
    case kOrder:
      return "order, order_documents";
    case kPacking:
      return "pack_documents";
    case kInfilling:
      return "fill_in_the_middle";
    case kLossMask:
      return "loss_mask";
    case kHoldOut:
      return "hold_out";
    case kEval:
      return "[data.eval.NAME]";
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
    case kBudget:
      return "budget";
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

std::string_view TableThatHas(std::string_view key) {
  const auto has_name = [key](const ConfigKey& one) { return one.name == key; };
  if (std::ranges::any_of(ConfigKeys(kRuntime), has_name)) {
    return KeyTableName(kRuntime);
  }
  const auto found = std::ranges::find_if(kKeys, has_name);
  return found == std::end(kKeys) ? "" : KeyTableName(found->table);
}

std::string_view KeyOfOtherName(std::string_view name) {
  const auto found = std::ranges::find(kOtherNames, name, &OtherName::other);
  return found == std::end(kOtherNames) ? "" : found->key;
}

std::string PlaceOf(const ConfigKey& key) {
  const std::string_view place = key.meaning.substr(0, key.meaning.find(": "));
  if (!place.starts_with("with ") && !place.starts_with("below ")) return "";
  std::string text(place);
  std::ranges::replace(text, '`', '\'');
  return text;
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
