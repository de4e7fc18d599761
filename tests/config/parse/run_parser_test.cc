// SPDX-License-Identifier: Apache-2.0
#include "config/parse/run_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/parse/node_parser.h"
#include "config/run_nodes.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using poniente::testing::IsOk;
using poniente::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

absl::StatusOr<Run> ParseRun(std::string_view text, const std::string& file) {
  return poniente::ParseRun(text, file, "");
}

constexpr char kGood[] = R"([data]
seed = 7
steps = 100
batch_size = 8
seq_len = 32
block_size = 64
last_batch = "drop"
[data.mixture]
web = { weight = 3, path = "stores/web", shuffle = false }
code = { weight = 0.5, concat = [ { path = "c" }, { path = "cc", name = "two" } ] }
[data.mixture.notes]
weight = 1
take = 40
seed = 9
mixture = { old = { weight = 1, path = "old" }, new = { weight = 2, path = "new" } }
stages = [ { start_sample = 10, weights = { old = 0 } } ]
[[data.stages]]
start_step = 50
name = "anneal"
lr_scale = 0.1
weights = { web = 1, notes = 0 }
[runtime]
io = "mmap"
verify_checksums = "always"
cache_bytes = 0
prefetch_batches = 2
)";

TEST(RunParserTest, ReadsEveryKey) {
  ASSERT_OK_AND_ASSIGN(const poniente::Run run, ParseRun(kGood, "good.toml"));
  EXPECT_EQ(run.seed, 7u);
  EXPECT_EQ(run.steps, 100u);
  EXPECT_EQ(run.batch_size, 8u);
  EXPECT_EQ(run.seq_len, 32u);
  EXPECT_EQ(run.loader.last_batch, LastBatch::kDrop);
  EXPECT_EQ(run.io.backend, IoBackend::kMmap);
  EXPECT_EQ(run.io.verify, VerifyChecksums::kAlways);
  EXPECT_EQ(run.io.cache_bytes, uint64_t{0});
  EXPECT_EQ(run.loader.prefetch_batches, 2u);
  ASSERT_EQ(run.data.children.size(), 3u);
  EXPECT_EQ(run.data.mixture.block_size, 64u);
  const Node& web = run.data.children[0];
  EXPECT_EQ(web.name, "web");
  EXPECT_EQ(web.weight, 3);
  EXPECT_EQ(web.path, "stores/web");
  EXPECT_EQ(web.shuffle, ShuffleOptions::None());
  const Node& code = run.data.children[1];
  EXPECT_EQ(code.kind, NodeKind::kConcat);
  EXPECT_EQ(code.children[0].name, "0");
  EXPECT_EQ(code.children[1].name, "two");
  const Node& notes = run.data.children[2];
  EXPECT_EQ(notes.take, 40u);
  EXPECT_EQ(notes.seed, 9u);
  ASSERT_EQ(notes.stages.size(), 1u);
  EXPECT_EQ(notes.stages[0].start, RunPoint::Sample(10));
  ASSERT_EQ(run.stages.size(), 1u);
  EXPECT_EQ(run.stages[0].start, RunPoint::Step(50));
  EXPECT_EQ(run.stages[0].name, "anneal");
  EXPECT_EQ(run.stages[0].lr_scale, 0.1);
  EXPECT_EQ(run.stages[0].weights.size(), 2u);
}

TEST(RunParserTest, WithoutARuntimeTableReadersChooseAndVerifyOnce) {
  ASSERT_OK_AND_ASSIGN(
      const poniente::Run run,
      ParseRun("[data]\nbatch_size = 1\nseq_len = 1\npath = 'a'\n", "x"));
  EXPECT_EQ(run.io.backend, IoBackend::kAuto);
  EXPECT_EQ(run.io.verify, VerifyChecksums::kFirstTouch);
  EXPECT_EQ(run.io.cache_bytes, std::nullopt);
}

TEST(RunParserTest, KeepsTheOrderOfDeclaration) {
  ASSERT_OK_AND_ASSIGN(
      const poniente::Run run,
      ParseRun("[data]\nbatch_size = 1\nseq_len = 1\n[data.flat]\n"
               "zoo = { path = 'z' }\nape = { path = 'a' }\n"
               "[data.flat.bee]\npath = 'b'\n",
               "x"));
  std::vector<std::string> names;
  for (const Node& child : run.data.children) names.push_back(child.name);
  EXPECT_THAT(names, ElementsAre("zoo", "ape", "bee"));
}

// The values that docs/config.md gives for the keys of [runtime].
TEST(RunParserTest, TheRuntimeTableIsAsDocumented) {
  const std::string text =
      poniente::testing::ReadFile(PONIENTE_SOURCE_DIR "/docs/config.md");
  std::istringstream rows(text.substr(text.find("## [runtime]")));
  std::map<std::string, int> values;
  for (std::string row; std::getline(rows, row);) {
    if (row.rfind("| `", 0) != 0) continue;
    const std::vector<std::string> parts = absl::StrSplit(row, '`');
    const std::string& key = parts[1];
    values[key] = 0;
    const std::vector<std::string> cells = absl::StrSplit(row, '|');
    const std::vector<std::string> quoted = absl::StrSplit(cells[2], '"');
    for (size_t i = 1; i < quoted.size(); i += 2) {
      ++values[key];
      EXPECT_THAT(ParseRun("[data]\nbatch_size = 1\nseq_len = 1\npath = 'a'\n"
                           "[runtime]\n" +
                               key + " = '" + quoted[i] + "'\n",
                           "t.toml"),
                  IsOk());
    }
  }
  EXPECT_THAT(
      values,
      ElementsAre(Pair("attention_across_documents", 0), Pair("cache_bytes", 0),
                  Pair("catalogs", 0), Pair("device", 3), Pair("even_work", 0),
                  Pair("io", 5), Pair("labels_beyond_sample", 0),
                  Pair("linear_cost", 0), Pair("loss_across_documents", 0),
                  Pair("max_documents", 0), Pair("max_held", 0),
                  Pair("prefetch_batches", 0), Pair("prefetch_bytes", 0),
                  Pair("report_every_steps", 0), Pair("restart_positions", 0),
                  Pair("tensors", 0), Pair("token_type", 5),
                  Pair("verify_checksums", 3), Pair("waits_for_held", 0),
                  Pair("widen_on_device", 0)));
}

TEST(RunParserTest, TheRuntimeTableSetsTheLoadersOptions) {
  ASSERT_OK_AND_ASSIGN(
      const poniente::Run run,
      ParseRun("[data]\nbatch_size = 1\nseq_len = 1\npath = 'a'\n"
               "[runtime]\ntoken_type = 'i32'\ndevice = 'cuda:3'\n"
               "tensors = ['positions', 'labels']\nprefetch_bytes = 0\n"
               "prefetch_batches = 7\nmax_held = 0\nwiden_on_device = true\n"
               "report_every_steps = 50\n",
               "x"));
  EXPECT_EQ(run.loader.token_type, TokenType::kI32);
  EXPECT_EQ(run.loader.device, (Device{DeviceType::kCuda, 3}));
  EXPECT_THAT(run.loader.tensors,
              ElementsAre(BatchTensor::kPositions, BatchTensor::kLabels));
  EXPECT_EQ(run.loader.prefetch_bytes, 0u);
  EXPECT_EQ(run.loader.prefetch_batches, 7u);
  EXPECT_EQ(run.loader.max_held, 0u);
  EXPECT_TRUE(run.loader.widen_on_device);
  EXPECT_EQ(run.loader.report_every_steps, 50u);
}

TEST(RunParserTest, WithoutARuntimeTableTheLoaderHasItsDefaults) {
  ASSERT_OK_AND_ASSIGN(
      const poniente::Run run,
      ParseRun("[data]\nbatch_size = 1\nseq_len = 1\npath = 'a'\n", "x"));
  const LoaderOptions defaults;
  EXPECT_EQ(run.loader.token_type, defaults.token_type);
  EXPECT_EQ(run.loader.device, defaults.device);
  EXPECT_TRUE(run.loader.tensors.empty());
  EXPECT_EQ(run.loader.prefetch_bytes, defaults.prefetch_bytes);
  EXPECT_EQ(run.loader.prefetch_batches, defaults.prefetch_batches);
  EXPECT_EQ(run.loader.max_held, defaults.max_held);
  EXPECT_EQ(run.loader.report_every_steps, defaults.report_every_steps);
}

TEST(RunParserTest, LossWeightsGoByPath) {
  ASSERT_OK_AND_ASSIGN(
      const poniente::Run run,
      ParseRun("[data]\nbatch_size = 1\nseq_len = 1\n"
               "[data.flat.prose]\nloss_weight = 0.5\n"
               "concat = [{ path = 'a', name = 'a', loss_weight = 2 },"
               " { path = 'b' }]\n"
               "[data.flat.code]\npath = 'c'\n",
               "x"));
  const LoaderOptions options = LoaderOptionsOf(run);
  EXPECT_THAT(options.loss_weights,
              ElementsAre(Pair("prose", 0.5f), Pair("prose/a", 2.0f)));
  EXPECT_THAT(options.tensors, ElementsAre(BatchTensor::kLossWeights));
}

struct BadCase {
  std::string name;
  std::string text;  // what follows a good head of five lines
  std::string error;
};

void PrintTo(const BadCase& bad, std::ostream* out) { *out << bad.name; }

class RunParserErrorTest : public ::testing::TestWithParam<BadCase> {};

TEST_P(RunParserErrorTest, PointsAtTheKeyAndSaysWhatWasExpected) {
  const std::string head =
      "[data]\nsteps = 100\nbatch_size = 8\nseq_len = 32\n";
  EXPECT_THAT(ParseRun(head + GetParam().text, "t.toml"),
              StatusIs(absl::StatusCode::kInvalidArgument, GetParam().error));
}

INSTANTIATE_TEST_SUITE_P(
    Bad, RunParserErrorTest,
    ::testing::Values(
        BadCase{"NegativeWeight",
                "[data.mixture]\ncode = { weight = -0.2, path = 'c' }\n",
                "t.toml:6:19: data.mixture.code.weight must be finite and at "
                "least 0, got -0.2"},
        BadCase{"NanWeight",
                "[data.mixture]\ncode = { weight = nan, path = 'c' }\n",
                "t.toml:6:19: data.mixture.code.weight must be a number, got "
                "nan"},
        BadCase{"NoWeight", "[data.mixture]\ncode = { path = 'c' }\n",
                "t.toml:6:8: data.mixture.code needs a weight"},
        BadCase{"AllZero",
                "[data.mixture]\na = { weight = 0, path = 'a' }\n"
                "b = { weight = 0.0, path = 'b' }\n",
                "t.toml:5:1: data.mixture has weights that are all zero: "
                "nothing could be drawn"},
        BadCase{"DocumentsBesideWindowsOverAll",
                "path = 'a'\noverlap = 1\ndocuments = { fraction = 0.5 }\n"
                "across_shards = true\n",
                "t.toml:6:11: data.overlap cannot be combined with documents: "
                "windows are cut from those that are left, end to end; leave "
                "it out\nt.toml:8:17: data.across_shards cannot be combined "
                "with documents: windows are cut from those that are left, end "
                "to end; leave it out"},
        BadCase{"LossMaskOfNothing", "path = 'a'\nloss_mask = { loss = 1 }\n",
                "t.toml:6:13: data.loss_mask needs a path, a glob or a column"},
        BadCase{"LossMaskOfTwoMeanings",
                "path = 'a'\nloss_mask = { path = 'm', loss = 1, no_loss = "
                "-100 }\n",
                "t.toml:6:34: data.loss_mask.loss cannot be combined with "
                "no_loss"},
        BadCase{"LossMaskWithUnknownKey",
                "path = 'a'\nloss_mask = { path = 'm', noloss = 0 }\n",
                "t.toml:6:27: data.loss_mask.noloss is not a known key; did "
                "you mean 'no_loss'?"},
        BadCase{"LossMaskWithoutFiles", "tokens = 500\nloss_mask = 'm'\n",
                "t.toml:6:1: data.loss_mask has no meaning here, only with "
                "'path' or 'hf_name'"},
        BadCase{"KeyOfNodesBelow", "tokens = 500\nmax_epochs = 2\n",
                "t.toml:6:1: data.max_epochs has no meaning here, only below "
                "'mixture'"},
        BadCase{"KeyOfTheRuntime", "tokens = 500\nio = 'direct'\n",
                "t.toml:6:1: data.io is not a known key here, but one of "
                "[runtime]"},
        BadCase{"KeyOfTheData", "tokens = 500\n[runtime]\nsteps = 3\n",
                "t.toml:7:1: runtime.steps is not a known key here, but one of "
                "[data]"},
        BadCase{"KeysOfOtherLoaders",
                "tokens = 500\nsequence_length = 9\nepochs = 2\n",
                "t.toml:6:1: data.sequence_length is not a known key; did you "
                "mean 'seq_len'?\n"
                "t.toml:7:1: data.epochs is not a known key; did you mean "
                "'repeat'?"},
        BadCase{"KeyOfAFilter", "tokens = 500\nat_least = 0.5\n",
                "t.toml:6:1: data.at_least is not a known key here, but one of "
                "filter, documents"},
        BadCase{"UnknownKey", "flat = { a = { path = 'a' } }\nsed = 5\n",
                "t.toml:6:1: data.sed is not a known key; did you mean "
                "'seed'?"},
        BadCase{"UnknownNodeKey",
                "[data.mixture]\na = { weihgt = 1, path = 'a' }\n",
                "t.toml:6:5: data.mixture.a needs a weight\n"
                "t.toml:6:7: data.mixture.a.weihgt is not a known key; did "
                "you mean 'weight'?"},
        BadCase{"UnknownTable", "path = 'a'\n[runtine]\n",
                "t.toml:6:2: runtine is not a known key; did you mean "
                "'runtime'?"},
        BadCase{
            "TwoKinds", "path = 'a'\nflat = { b = { path = 'b' } }\n",
            "t.toml:6:8: data.flat cannot be combined with path: a node is of "
            "one kind"},
        BadCase{"NoKind", "",
                "t.toml:1:1: data needs one of path, hf_name, tokens, flat, "
                "mixture, concat or use"},
        BadCase{"WrongType", "path = 5\n",
                "t.toml:5:8: data.path must be a string, got the integer 5"},
        BadCase{"StringForANumber", "path = 'a'\nmax_seq_len = \"16\"\n",
                "t.toml:6:15: data.max_seq_len must be an integer from 1 to "
                "4294967294, got the string \"16\""},
        BadCase{"BooleanForANumber", "path = 'a'\nmax_seq_len = true\n",
                "t.toml:6:15: data.max_seq_len must be an integer from 1 to "
                "4294967294, got the boolean true"},
        BadCase{"FloatForANumber", "path = 'a'\nmax_seq_len = 16.5\n",
                "t.toml:6:15: data.max_seq_len must be an integer from 1 to "
                "4294967294, got the float 16.5"},
        BadCase{"ArrayForANumber", "path = 'a'\nmax_seq_len = [16]\n",
                "t.toml:6:15: data.max_seq_len must be an integer from 1 to "
                "4294967294, got an array"},
        BadCase{"TableForANumber", "path = 'a'\nmax_seq_len = { a = 1 }\n",
                "t.toml:6:15: data.max_seq_len must be an integer from 1 to "
                "4294967294, got a table"},
        BadCase{"DateForANumber", "path = 'a'\nmax_seq_len = 2026-11-24\n",
                "t.toml:6:15: data.max_seq_len must be an integer from 1 to "
                "4294967294, got the date 2026-11-24"},
        BadCase{"TimeForANumber", "path = 'a'\nmax_seq_len = 16:30:00\n",
                "t.toml:6:15: data.max_seq_len must be an integer from 1 to "
                "4294967294, got the time 16:30:00"},
        BadCase{"DateAndTimeForANumber",
                "path = 'a'\nmax_seq_len = 2026-11-24T16:30:00Z\n",
                "t.toml:6:15: data.max_seq_len must be an integer from 1 to "
                "4294967294, got the date and time 2026-11-24T16:30:00Z"},
        BadCase{"StringForABoolean", "path = 'a'\ntrim = 'true'\n",
                "t.toml:6:8: data.trim must be true or false, got the string "
                "\"true\""},
        BadCase{"StringForAWeight",
                "[data.mixture]\ncode = { weight = '0.5', path = 'c' }\n",
                "t.toml:6:19: data.mixture.code.weight must be a number, got "
                "the string \"0.5\""},
        BadCase{"IntegerForATable", "flat = 5\n",
                "t.toml:5:8: data.flat must be a table, got the integer 5"},
        BadCase{"StringForASlice", "path = 'a'\nslice = '1:5'\n",
                "t.toml:6:9: data.slice must be an array of 2 integers from 0 "
                "to 4611686018427387904, got the string \"1:5\""},
        BadCase{"LongString",
                "path = 'a'\ntrim = '" + std::string(50, 'x') + "'\n",
                "t.toml:6:8: data.trim must be true or false, got the string "
                "\"" +
                    std::string(40, 'x') + "...\""},
        BadCase{"EmptyPath", "path = ''\n",
                "t.toml:5:8: data.path must not be empty"},
        BadCase{"LossWeightAtTheRoot", "path = 'a'\nloss_weight = 2\n",
                "t.toml:6:15: data.loss_weight is allowed only below the root: "
                "at the root it would scale all losses alike"},
        BadCase{"LossWeightBeyondFloat",
                "[data.flat]\na = { path = 'a', loss_weight = 1e39 }\n",
                "t.toml:6:33: data.flat.a.loss_weight must be at most "
                "3.40282e+38, got 1e+39"},
        BadCase{"SpacedDevice", "path = 'a'\n[runtime]\ndevice = 'cuda: 1'\n",
                "t.toml:7:10: runtime.device must be host, cuda or cuda:N, "
                "got cuda: 1"},
        BadCase{"Device", "path = 'a'\n[runtime]\ndevice = 'cuda:x'\n",
                "t.toml:7:10: runtime.device must be host, cuda or cuda:N, "
                "got cuda:x"},
        BadCase{"NegativeDevice", "path = 'a'\n[runtime]\ndevice = 'cuda:-1'\n",
                "t.toml:7:10: runtime.device must be host, cuda or cuda:N, "
                "got cuda:-1"},
        BadCase{"Tensor", "path = 'a'\n[runtime]\ntensors = ['mask']\n",
                "t.toml:7:11: runtime.tensors names an unknown tensor: "
                "a batch has no tensor 'mask', but tokens, labels, loss_mask, "
                "document_ids, positions, loss_weights, cu_seqlens, "
                "document_counts, max_seqlens"},
        BadCase{"Tensors", "path = 'a'\n[runtime]\ntensors = ['labels', 3]\n",
                "t.toml:7:22: runtime.tensors must hold strings, got the "
                "integer 3"},
        BadCase{"TokenType", "path = 'a'\n[runtime]\ntoken_type = 'f32'\n",
                "t.toml:7:14: runtime.token_type must be u8, u16, u32, i32 or "
                "i64, got f32"},
        BadCase{"NewlineInAValue", "path = 'a'\nlast_batch = \"ke\\nep\"\n",
                "t.toml:6:14: data.last_batch must be \"keep\" or \"drop\", "
                "got \"ke\\nep\""},
        BadCase{"StageBackwards",
                "path = 'a'\n[[data.stages]]\nstart_step = 9\n"
                "[[data.stages]]\nstart_step = 9\n",
                "t.toml:9:14: data.stages[1].start_step must be at least 10, "
                "to come after the one before it, got 9"},
        BadCase{"StageAfterTheEnd",
                "path = 'a'\n[[data.stages]]\nstart_step = 100\n",
                "t.toml:6:1: data.stages[0] starts at step 100, but the run "
                "ends after step 99"},
        BadCase{"StageWithoutStart", "path = 'a'\n[[data.stages]]\n",
                "t.toml:6:1: data.stages[0] needs start_step"},
        BadCase{"ZeroLrScale",
                "path = 'a'\n[[data.stages]]\nstart_step = 9\nlr_scale = 0\n",
                "t.toml:8:12: data.stages[0].lr_scale must be finite and above "
                "0, got 0"},
        BadCase{"UnknownComponentInStage",
                "mixture = { code = { weight = 1, path = 'c' } }\n"
                "[[data.stages]]\nstart_step = 9\nweights = { cod = 1 }\n",
                "t.toml:8:19: data.stages[0].weights.cod is not a component "
                "of data; did you mean 'code'?"},
        BadCase{"AllZeroInStage",
                "mixture = { code = { weight = 1, path = 'c' } }\n"
                "[[data.stages]]\nstart_step = 9\nweights = { code = 0 }\n",
                "t.toml:8:11: data.stages[0].weights are all zero: nothing "
                "could be drawn"},
        BadCase{"StageWeightsWithoutMixture",
                "path = 'a'\n[[data.stages]]\nstart_step = 9\n"
                "weights = { a = 1 }\n",
                "t.toml:8:11: data.stages[0].weights need a mixture at the "
                "root"},
        BadCase{"UnknownBackend", "path = 'a'\n[runtime]\nio = 'aio'\n",
                "t.toml:7:6: runtime.io must be auto, buffered, direct, mmap "
                "or pread, got aio"},
        BadCase{"UnknownVerification",
                "path = 'a'\n[runtime]\nverify_checksums = 'sometimes'\n",
                "t.toml:7:20: runtime.verify_checksums must be off, "
                "first_touch or always, got sometimes"},
        BadCase{"NegativeCache", "path = 'a'\n[runtime]\ncache_bytes = -1\n",
                "t.toml:7:15: runtime.cache_bytes must be an integer of at "
                "least 0, got -1"},
        BadCase{"WeightOutsideAMixture",
                "flat = { a = { path = 'a', weight = 2 } }\n",
                "t.toml:5:37: data.flat.a.weight is allowed only for "
                "components of a mixture"},
        BadCase{"SeedOfAStore", "flat = { a = { path = 'a', seed = 2 } }\n",
                "t.toml:5:35: data.flat.a.seed is allowed only for flat and "
                "mixture"},
        BadCase{"EmptyName", "flat = { \"\" = { path = 'a' } }\n",
                "t.toml:5:15: data.flat. must have a name, because the order "
                "of samples depends on it"},
        BadCase{"Cycle",
                "use = 'a'\n[data.nodes]\na = { flat = { x = { use = 'b' } } "
                "}\nb = { concat = [ { use = 'a' } ] }\n",
                "t.toml:8:26: data.nodes.b.concat[0].use makes a cycle: a uses "
                "b uses a"},
        BadCase{"UnknownNode",
                "use = 'wikki'\n[data.nodes]\nwiki = { path = 'a' }\n",
                "t.toml:5:7: data.use names 'wikki', which data.nodes does not "
                "have; did you mean 'wiki'?"},
        BadCase{"SharesBelowOne",
                "path = 'a'\nstages = [ { share = 0.5 }, { share = 0.4 } ]\n",
                "t.toml:6:10: data.stages have shares that sum to 0.9, not to "
                "1"},
        BadCase{"SharesAboveOne",
                "path = 'a'\nstages = [ { share = 0.5 }, { share = 0.6 } ]\n",
                "t.toml:6:10: data.stages have shares that sum to 1.1, not to "
                "1"},
        BadCase{"SomeShares",
                "path = 'a'\nstages = [ { share = 1.0 }, { start_step = 4 } "
                "]\n",
                "t.toml:6:10: data.stages must all state a share, or none of "
                "them: 1 of 2 do"},
        BadCase{
            "TwoStarts",
            "path = 'a'\nstages = [ { start_step = 4, start_share = 0.5 } "
            "]\n",
            "t.toml:6:44: data.stages[0].start_share cannot be combined with "
            "start_step"},
        BadCase{"ShareOfWhat",
                "path = 'a'\nstages = [ { start_share = 0.5, seq_len = 64 } "
                "]\n",
                "t.toml:1:1: data needs shares_of: shares of steps and of "
                "tokens differ where batch size or length changes"},
        BadCase{"StartBeforeTheRun",
                "path = 'a'\nstages = [ { start_step = -101 } ]\n",
                "t.toml:6:12: data.stages[0] starts 101 steps before the end "
                "of a run of 100"},
        BadCase{"LongerThanTheItem",
                "path = 'a'\nmax_seq_len = 48\nstages = [ { start_step = 5, "
                "seq_len = 64 } ]\n",
                "t.toml:6:15: data.max_seq_len is 48, but samples of 64 tokens "
                "are asked for"},
        BadCase{"TwoEnds", "path = 'a'\ntotal_tokens = 5\n",
                "t.toml:6:16: data.total_tokens cannot be combined with steps"},
        BadCase{"TwoNames",
                "concat = [ { path = 'a', name = 'x' }, { path = 'b', name = "
                "'x' } ]\n",
                "t.toml:5:40: data.concat[1] has the name 'x' of an earlier "
                "part: state another name"},
        BadCase{"NoTokens", "tokens = 0\n",
                "t.toml:5:10: data.tokens must be an integer from 1 to "
                "4611686018427387904, got 0"},
        BadCase{"PartOfAToken", "tokens = 1.5\n",
                "t.toml:5:10: data.tokens must be an integer from 1 to "
                "4611686018427387904, got the float 1.5"},
        BadCase{"NoVocabulary", "tokens = 5\ntokenizer = 'x'\n",
                "t.toml:6:13: data.tokenizer needs vocab_size, too"},
        BadCase{
            "TokensBesidePath", "path = 'a'\ntokens = 5\n",
            "t.toml:6:10: data.tokens cannot be combined with path: a node is "
            "of one kind"},
        BadCase{"NoFilter", "path = 'a'\nfilter = { invert = true }\n",
                "t.toml:6:10: data.filter needs one of scores, bitmap, indices "
                "or fraction"},
        BadCase{
            "TwoFilters",
            "path = 'a'\nfilter = { bitmap = 'b', fraction = 0.5 }\n",
            "t.toml:6:37: data.filter.fraction cannot be combined with bitmap"},
        BadCase{"NoThreshold", "path = 'a'\nfilter = { scores = 's' }\n",
                "t.toml:6:10: data.filter needs at_least"},
        BadCase{"Fraction", "path = 'a'\nfilter = { fraction = 1.0 }\n",
                "t.toml:6:23: data.filter.fraction must be above 0 and below "
                "1, got 1"},
        BadCase{"Direction",
                "path = 'a'\norder = { scores = 's', direction = 'up' }\n",
                "t.toml:6:37: data.order.direction must be \"ascending\" or "
                "\"descending\", got \"up\""},
        BadCase{"Slice", "path = 'a'\nslice = [5, 5]\n",
                "t.toml:6:9: data.slice must be [begin, end] with begin below "
                "end, got [5, 5]"},
        BadCase{"HalfASlice", "path = 'a'\nslice = [5]\n",
                "t.toml:6:9: data.slice must be an array of 2 integers from 0 "
                "to 4611686018427387904, got [ 5 ]"},
        BadCase{"NoFilterToChange",
                "mixture = { code = { weight = 1, path = 'c' } }\n"
                "[[data.stages]]\nstart_step = 9\nthresholds = { code = 1 }\n",
                "t.toml:8:14: data.stages[0].thresholds names code, which has "
                "no filter by scores of its own"},
        BadCase{"Temperature",
                "temperature = 0\n"
                "mixture = { code = { weight = 1, path = 'c' } }\n",
                "t.toml:5:15: data.temperature must be at least 2^-10, got 0"},
        BadCase{"NoMeaningHere", "path = 'a'\nstop = 'restart'\n",
                "t.toml:6:1: data.stop has no meaning here, only with "
                "'mixture'"},
        BadCase{"EndlessShare",
                "[data.flat.x]\nmixture = { a = { path = 'a', weight = 1 } }\n"
                "stages = [ { start_token = 5 } ]\n",
                "t.toml:7:12: data.flat.x.stages[0] cannot start at a step or "
                "token of the run: only endless mixtures may lie above it, and "
                "data is not one; state start_sample"},
        BadCase{"BlockTooLarge",
                "block_size = 65537\n"
                "mixture = { code = { weight = 1, path = 'c' } }\n",
                "t.toml:5:14: data.block_size must be an integer from 1 to "
                "65536, got 65537"}),
    [](const auto& bad) { return bad.param.name; });

// Nodes that use each other twice double with every level.
TEST(RunParserTest, NodesWithoutNumberAreRefused) {
  std::string text =
      "[data]\nbatch_size = 1\nseq_len = 1\nuse = 'n0'\n[data.nodes]\n"
      "n60 = { path = 'a' }\n";
  for (int i = 0; i < 60; ++i) {
    absl::StrAppend(&text, "n", i, " = { flat = { x = { use = 'n", i + 1,
                    "' }, y = { use = 'n", i + 1, "' } } }\n");
  }
  EXPECT_THAT(ParseRun(text, "t.toml"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("makes a tree of more than 262144 nodes")));
}

// Nor that those after the last that counts need a weight.
TEST(RunParserTest, OfTooManyNodesNoMoreIsSaid) {
  std::string text =
      "[data]\nbatch_size = 1\nseq_len = 1\n[data.nodes]\n"
      "n0 = { tokens = 8 }\n";
  for (int i = 1; i <= 14; ++i) {
    const std::string used = absl::StrCat("{ use = 'n", i - 1, "' }");
    absl::StrAppend(&text, "n", i, " = { flat = { x = ", used, ", y = ", used,
                    " } }\n");
  }
  absl::StrAppend(&text, "[data.mixture]\n");
  for (int i = 0; i < 50; ++i) {
    absl::StrAppend(&text, "c", i, " = { use = 'n14', weight = 1 }\n");
  }
  const auto run = ParseRun(text, "t.toml");
  EXPECT_THAT(run.status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("makes a tree of more than 262144 nodes")));
  EXPECT_THAT(std::string(run.status().message()), Not(HasSubstr("\n")));
}

TEST(RunParserTest, TooDeepANodeIsNotSaidToNeedAWeight) {
  std::string text = "[data]\nbatch_size = 1\nseq_len = 1\n";
  std::string node = "{ tokens = 8, weight = 1 }";
  for (int i = 0; i < NodeParser::kDeepest; ++i) {
    node = "{ weight = 1, mixture = { a = " + node + " } }";
  }
  const auto run = ParseRun(text + "mixture = { a = " + node + " }\n", "t");
  EXPECT_THAT(run.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                     HasSubstr("is nested deeper than 100")));
  EXPECT_THAT(std::string(run.status().message()), Not(HasSubstr("weight")));
}

TEST(RunParserTest, UsesMayNotMakeATreeTooDeep) {
  const auto parse = [](int uses) {
    // Each is parsed before it is used: in the order of names.
    const auto name = [](int i) { return absl::StrCat("n", 10000 + i); };
    std::string text = absl::StrCat(
        "[data]\nbatch_size = 1\nseq_len = 1\nsteps = 1\nuse = \"", name(uses),
        "\"\n[data.nodes]\n", name(0), " = { tokens = 8 }\n");
    for (int i = 1; i <= uses; ++i) {
      absl::StrAppend(&text, name(i), " = { use = \"", name(i - 1), "\" }\n");
    }
    return ParseRun(text, "t").status();
  };
  EXPECT_THAT(parse(NodeParser::kDeepest - 1), IsOk());
  for (const int uses : {NodeParser::kDeepest, 9000}) {
    EXPECT_THAT(parse(uses), StatusIs(absl::StatusCode::kInvalidArgument,
                                      HasSubstr("nested deeper than 100")));
  }
}

// Each part of a key would take a level of the stack. Quotes that are part of a
// string must not hide it.
TEST(RunParserTest, AKeyOfManyPartsIsRefusedBehindAnyString) {
  std::string key = "b";
  for (int i = 0; i < 200'000; ++i) key += ".b";
  for (const char* before :
       {"", R"(x = "\"", )", R"(x = "\\", )", R"(x = '\', )", R"(x = "", )",
        R"(x = "#", )", R"(x = "a"  , )", "x = \"\"\"\\\"\"\"\"\"\", ",
        "x = \"\"\"a\"\"\"\", ", "x = '''a'''', "}) {
    EXPECT_THAT(
        ParseRun(absl::StrCat("[data]\nnodes = { ", before, key, " = 1 }\n"),
                 "t.toml"),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 HasSubstr("t.toml:2:1: a key of more than 100 parts")))
        << before;
  }
  // Dots in strings and comments are no parts.
  const std::string dots(300, '.');
  for (const std::string& text :
       {"name = \"\\\"" + dots + "\"", "name = '''\n" + dots + "'''",
        "name = 'a' # " + dots}) {
    EXPECT_THAT(ParseRun(text + "\n", "t.toml"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("data is missing")))
        << text;
  }
}

TEST(RunParserTest, ThreeOfAlikeErrorsAreSaidAndTheOthersCounted) {
  std::string text = "[data]\nbatch_size = 1\nseq_len = 1\npath = 'a'\n";
  for (int i = 0; i < 300; ++i) absl::StrAppend(&text, "junk", i, " = 1\n");
  const auto run = ParseRun(text, "t.toml");
  EXPECT_THAT(
      std::string(run.status().message()),
      ::testing::AllOf(
          HasSubstr("\n  and 97 more like these: t.toml:16:1, t.toml:17:1, "),
          ::testing::EndsWith(", t.toml:112:1, ...\nand 200 more errors")));
}

TEST(RunParserTest, DotsInTextsAndCommentsAreNoKeys) {
  const std::string dots(300, '.');
  EXPECT_THAT(ParseRun("# " + dots +
                           " it's\n[data]\nbatch_size = 1\n"
                           "seq_len = 1\npath = \"\"\"\na" +
                           dots +
                           "\n\"\"\"\n"
                           "[runtime] # '" +
                           dots + "\n",
                       "t.toml"),
              IsOk());
}

TEST(RunParserTest, AShareNeedsARunWithAnEnd) {
  EXPECT_THAT(
      ParseRun("[data]\nbatch_size = 1\nseq_len = 1\npath = 'a'\n"
               "stages = [ { start_share = 0.5 } ]\n",
               "t.toml"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr(
                   "t.toml:5:12: data.stages[0] has a start that is a share of "
                   "the run or counted from its end, but the run has no end")));
}

TEST(RunParserTest, ReportsAllErrorsInTheOrderOfTheFile) {
  EXPECT_THAT(
      ParseRun("[data]\nseed = -1\nseq_len = 'x'\npath = 'a'\n", "t.toml"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "t.toml:1:1: data.batch_size is missing\n"
               "t.toml:2:8: data.seed must be an integer of at least 0, got "
               "-1\n"
               "t.toml:3:11: data.seq_len must be an integer from 1 to "
               "4294967294, got the string \"x\""));
}

TEST(RunParserTest, PointsAtASyntaxError) {
  EXPECT_THAT(
      ParseRun("[data]\nseed = = 1\n", "t.toml"),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("t.toml:2:8: ")));
}

TEST(RunParserTest, DottedKeysWithoutEndAreRefused) {
  std::string text = "[data]\nbatch_size = 2\nseq_len = 16\ndata";
  for (int i = 0; i < 100000; ++i) text += ".flat.a";
  text += ".path = 'x'";
  EXPECT_THAT(ParseRun(text, "t.toml"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("t.toml:4:1: a key of more than 100 parts")));
}

TEST(RunParserTest, TheFirstStageCanHaveANameAndAnLrScale) {
  ASSERT_OK_AND_ASSIGN(
      const poniente::Run run,
      ParseRun("[data]\nbatch_size = 1\nseq_len = 1\npath = 'a'\n"
               "[[data.stages]]\nstart_step = 0\nname = 'warm-up'\n"
               "lr_scale = 0.1\n",
               "t.toml"));
  EXPECT_EQ(run.stages[0].name, "warm-up");
}

TEST(RunParserTest, RefusesANameThatStandsTwice) {
  EXPECT_THAT(
      ParseRun("[data]\nflat = { a = { path = 'a' }, a = { path = 'b' } }\n",
               "t.toml"),
      StatusIs(absl::StatusCode::kInvalidArgument,
               ::testing::AllOf(HasSubstr("t.toml:2:"), HasSubstr("'a'"))));
}

TEST(RunParserTest, AnEmptyFileIsAnErrorThatHelps) {
  EXPECT_THAT(ParseRun("", "t.toml"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "t.toml:1:1: data is missing: a [data] table says what "
                       "to read"));
}

TEST(RunParserTest, NestingWithoutEndIsRefused) {
  std::string text = "[data]\nbatch_size = 1\nseq_len = 1\n";
  for (int i = 0; i < 200; ++i) text += "flat = { a = { ";
  text += "path = 'x'";
  for (int i = 0; i < 200; ++i) text += " } }";
  EXPECT_FALSE(ParseRun(text, "t.toml").ok());
}

}  // namespace
}  // namespace poniente::internal
