// SPDX-License-Identifier: Apache-2.0
#include "poniente/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "io/range_source.h"
#include "poniente/dataset_tree.h"
#include "poniente/mapped_dataset.h"
#include "poniente/token_store.h"
#include "tests/config/small_stores.h"
#include "tests/support/open_descriptors.h"
#include "tests/support/status_matchers.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::Not;
using testing::SmallStores;
using testing::StatusIs;
using testing::StoreToken;

constexpr char kData[] = R"(
[data]
seed = 42
steps = 300
batch_size = 6
seq_len = 20
[data.mixture]
a = { weight = 0.5, path = "a" }
rest = { weight = 0.5, flat = { b = { path = "b" }, c = { path = "c" }, short = { path = "short" } } }
[[data.stages]]
start_step = 200
lr_scale = 0.5
weights = { a = 0.1, rest = 0.9 }
)";

class ConfigTest : public SmallStores {
 protected:
  absl::StatusOr<Config> Parse(std::string_view text) {
    return Config::Parse(text, "t.toml", dir_.path());
  }
  absl::StatusOr<Config> ParseData(const std::string& rest) {
    return Parse("[data]\nsteps = 9\nbatch_size = 6\nseq_len = 20\n" + rest);
  }
};

TEST_F(ConfigTest, EveryTokenIsThatOfItsStore) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(kData));
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  // Sources in the order of declaration: a, b, c, short; store numbers 0 to 3.
  for (int step = 0; step < 300; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    EXPECT_EQ(batch.plan().lr_scale, step < 200 ? 1 : 0.5);
    for (size_t i = 0; i < 6; ++i) {
      const SampleProvenance& from = batch.provenance(i);
      ASSERT_LT(from.source, 3u) << "'short' holds no window";
      const auto row = batch.tokens<uint32_t>(i);
      for (uint64_t t = 0; t < 20; ++t) {
        ASSERT_EQ(row[t], StoreToken(from.source, from.item * 20 + t))
            << "step " << step << " sample " << i;
      }
    }
  }
  EXPECT_THAT(loader->NextBlocking(),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
}

// All bytes of a run, and its fingerprint.
struct ServedRun {
  std::string bytes;
  uint64_t fingerprint = 0;
};

ServedRun RunOf(const Config& config, TokenType type = TokenType::kU32) {
  LoaderOptions options = config.loader_options();
  options.token_type = type;
  const auto loader = config.OpenLoader(options);
  EXPECT_THAT(loader, IsOk());
  ServedRun run;
  run.fingerprint = (*loader)->fingerprint();
  while (true) {
    const auto batch = (*loader)->NextBlocking();
    if (absl::IsOutOfRange(batch.status())) return run;
    EXPECT_THAT(batch, IsOk());
    if (!batch.ok()) return run;
    run.bytes.append(reinterpret_cast<const char*>(batch->bytes().data()),
                     batch->bytes().size());
  }
}

class RuntimeTest : public ConfigTest,
                    public ::testing::WithParamInterface<
                        std::tuple<const char*, const char*, const char*>> {};

TEST_P(RuntimeTest, ChangesNeitherATokenNorTheFingerprint) {
  const auto& [io, verify, rest] = GetParam();
  const auto config =
      Parse(absl::StrCat(kData, "[runtime]\nio = '", io,
                         "'\nverify_checksums = '", verify, "'\n", rest));
  if (absl::IsUnavailable(config.status())) GTEST_SKIP() << config.status();
  ASSERT_THAT(config, IsOk());
  ASSERT_OK_AND_ASSIGN(const Config plain, Parse(kData));
  const ServedRun expected = RunOf(plain);
  ASSERT_EQ(expected.bytes.size(), 300u * 6 * 20 * 4);
  for (const TokenType type : {TokenType::kU32, TokenType::kI32}) {
    const ServedRun run = RunOf(*config, type);
    EXPECT_TRUE(run.bytes == expected.bytes);
    EXPECT_EQ(run.fingerprint, expected.fingerprint);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Tables, RuntimeTest,
    ::testing::Combine(
        ::testing::Values("auto", "buffered", "direct", "mmap", "pread"),
        ::testing::Values("off", "first_touch", "always"),
        ::testing::Values("cache_bytes = 0\nprefetch_batches = 1\n",
                          "cache_bytes = 1000000\nprefetch_batches = 16\n")),
    [](const auto& table) {
      return absl::StrCat(std::get<0>(table.param), "_",
                          std::get<1>(table.param), "_", table.index % 2);
    });

TEST_F(ConfigTest, TheRuntimeTableReachesTheReadersOfAllStores) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse(absl::StrCat(
          kData, "[runtime]\nio = 'pread'\nverify_checksums = 'always'\n")));
  const DatasetTree tree(*config.dataset());
  const auto blocks = [&tree] {
    std::vector<uint64_t> verified;
    for (const TreeLeaf& leaf : tree.leaves()) {
      const ByteReader& reader = leaf.node->ranges()->reader();
      EXPECT_EQ(reader.backend(), IoBackend::kPread);
      verified.push_back(reader.counters().blocks_verified);
    }
    return verified;
  };
  ASSERT_EQ(RunOf(config).bytes.size(), 300u * 6 * 20 * 4);
  const std::vector<uint64_t> once = blocks();
  ASSERT_EQ(RunOf(config).bytes.size(), 300u * 6 * 20 * 4);
  ASSERT_EQ(once.size(), 4u);  // one block each; 'short' is never read
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_GT(once[i], 1u) << i;
    EXPECT_EQ(blocks()[i], 2 * once[i]) << i;
  }
}

TEST_F(ConfigTest, ADamagedBlockIsNamedByTheLoader) {
  testing::FlipBit(dir_.path("c/tokens-1.bin"), 5000);
  const auto first_error = [this](const std::string& verify) {
    const auto config =
        Parse(kData + ("[runtime]\nverify_checksums = '" + verify + "'\n"));
    EXPECT_THAT(config, IsOk());
    const auto loader = config->OpenLoader();
    EXPECT_THAT(loader, IsOk());
    while (true) {
      const auto batch = (*loader)->NextBlocking();
      if (!batch.ok()) return batch.status();
    }
  };
  for (const char* verify : {"first_touch", "always"}) {
    EXPECT_THAT(first_error(verify),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("step "), HasSubstr("rank 0: "),
                               HasSubstr(dir_.path("c/tokens-1.bin")),
                               HasSubstr("block 1"))));
  }
  EXPECT_THAT(first_error("off"),
              StatusIs(absl::StatusCode::kOutOfRange, ::testing::_));
}

// A function on the way takes the general path: the same batches.
TEST_F(ConfigTest, TheFastPathAndTheGeneralPathGiveTheSameBatches) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(kData));
  const auto identity = Map<TokenWindow>(
      "identity", config.dataset(), [](TokenWindow window) { return window; });
  for (const TokenType type :
       {TokenType::kU8, TokenType::kU16, TokenType::kU32, TokenType::kI64}) {
    LoaderOptions options;
    options.token_type = type;
    ASSERT_OK_AND_ASSIGN(const auto fast, config.OpenLoader(options));
    ASSERT_OK_AND_ASSIGN(const auto general,
                         Loader::Create(identity, config.schedule(), options));
    for (int step = 0; step < 50; ++step) {
      ASSERT_OK_AND_ASSIGN(const Batch one, fast->NextBlocking());
      ASSERT_OK_AND_ASSIGN(const Batch two, general->NextBlocking());
      ASSERT_TRUE(std::ranges::equal(one.bytes(), two.bytes()))
          << "step " << step;
      for (size_t i = 0; i < one.num_samples(); ++i) {
        ASSERT_EQ(one.provenance(i), two.provenance(i));
      }
    }
  }
}

TEST_F(ConfigTest, AResumedRunEqualsTheUninterruptedOneWhenRanksChange) {
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(kData));
  ASSERT_OK_AND_ASSIGN(const auto whole, config.OpenLoader());
  std::vector<std::string> steps;
  while (true) {
    const auto batch = whole->NextBlocking();
    if (!batch.ok()) break;
    steps.emplace_back(reinterpret_cast<const char*>(batch->bytes().data()),
                       batch->bytes().size());
  }
  // Stops and goes on with other ranks at steps 3, 150, 199, 200 and 290.
  uint64_t step = 0;
  for (const auto& [until, ranks] : std::vector<std::pair<uint64_t, uint32_t>>{
           {3, 1}, {150, 3}, {199, 8}, {200, 2}, {290, 5}, {300, 1}}) {
    std::vector<std::unique_ptr<Loader>> loaders;
    for (uint32_t rank = 0; rank < ranks; ++rank) {
      ASSERT_OK_AND_ASSIGN(const Config again, Parse(kData));
      LoaderOptions options = again.loader_options();
      options.rank = rank;
      options.ranks = ranks;
      options.start_step = step;
      ASSERT_OK_AND_ASSIGN(auto loader, again.OpenLoader(options));
      EXPECT_EQ(loader->fingerprint(), whole->fingerprint());
      loaders.push_back(std::move(loader));
    }
    for (; step < until; ++step) {
      std::string all;
      for (const auto& loader : loaders) {
        ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
        all.append(reinterpret_cast<const char*>(batch.bytes().data()),
                   batch.bytes().size());
      }
      ASSERT_TRUE(all == steps[step]) << "step " << step << " on " << ranks;
    }
  }
}

TEST_F(ConfigTest, SaysWhichBackendServesEachStore) {
  for (const std::string io : {"mmap", "pread"}) {
    ASSERT_OK_AND_ASSIGN(const Config config,
                         Parse(kData + ("[runtime]\nio = '" + io + "'\n")));
    ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
    for (const LoaderSource& source : loader->sources()) {
      EXPECT_EQ(source.backend, io);
      EXPECT_THAT(source.dataset, HasSubstr(dir_.path()));
    }
  }
}

// From the same code, so that no difference is left for the loader to find.
TEST_F(ConfigTest, TheChecksOfALoaderNeedNoLoader) {
  const auto check = [&](const std::string& text) {
    const auto config = Parse(text);
    EXPECT_THAT(config, IsOk());
    const absl::Status checked = config->CheckLoader();
    EXPECT_EQ(checked, config->OpenLoader().status());
    return checked;
  };
  const std::string data = kData;
  EXPECT_THAT(check(data), IsOk());
  const auto refused = [](const char* words) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(words));
  };
  EXPECT_THAT(check(data + "[runtime]\ntensors = ['labels']\n"),
              refused("labels mark what is to be ignored"));
  EXPECT_THAT(check(absl::StrReplaceAll(
                  data, {{"seq_len = 20", "seq_len = 20\nblock_size = 10"},
                         {"path = \"a\"", "path = \"a\", max_epochs = 1"}})),
              refused("component 'a' has served its epoch (1) at sample "));
  // Of sources without data, all is checked but that there is some.
  const auto declared = ParseData("tokens = 900\n");
  ASSERT_THAT(declared, IsOk());
  EXPECT_THAT(declared->CheckLoader(), IsOk());
  EXPECT_THAT(declared->OpenLoader(),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr("only a number of tokens")));
}

TEST_F(ConfigTest, AnErrorOfRuntimeHasItsPlace) {
  const std::string data = kData;
  const std::string place = "t.toml:14:1: runtime: ";
  for (const auto& [runtime, error] : std::map<std::string, std::string>{
           {"token_type = 'u8'\ntensors = ['labels']\n", "labels mark"},
           {"even_work = true\n", "even_work divides samples"},
           {"labels_beyond_sample = true\nattention_across_documents = true\n"
            "even_work = true\n",
            "even_work divides samples"}}) {
    ASSERT_OK_AND_ASSIGN(const Config config,
                         Parse(data + "[runtime]\n" + runtime));
    EXPECT_THAT(config.CheckLoader(),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         ::testing::StartsWith(place + error)));
    EXPECT_EQ(config.OpenLoader().status(), config.CheckLoader());
  }
  // What the program asks for stands in no file, nor does what data cause.
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(data + "[runtime]\n"));
  LoaderOptions options = config.loader_options();
  options.tensors = {BatchTensor::kLabels};
  EXPECT_THAT(config.OpenLoader(options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       ::testing::StartsWith("labels mark")));
  ASSERT_OK_AND_ASSIGN(
      const Config ends,
      Parse(absl::StrReplaceAll(
                data, {{"seq_len = 20", "seq_len = 20\nblock_size = 10"},
                       {"path = \"a\"", "path = \"a\", max_epochs = 1"}}) +
            "[runtime]\n"));
  EXPECT_THAT(ends.CheckLoader(), StatusIs(absl::StatusCode::kInvalidArgument,
                                           Not(HasSubstr("runtime"))));
}

TEST_F(ConfigTest, ABatchIsOneSubmissionThroughIoUring) {
  const auto config =
      Parse(absl::StrCat(kData, "[runtime]\nio = 'buffered'\n"));
  if (absl::IsUnavailable(config.status())) GTEST_SKIP() << config.status();
  ASSERT_THAT(config, IsOk());
  ASSERT_OK_AND_ASSIGN(const auto loader, config->OpenLoader());
  std::map<uint32_t, std::set<uint64_t>> steps_of_source;
  for (int step = 0; step < 300; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < batch.num_samples(); ++i) {
      steps_of_source[batch.source(i)].insert(batch.step());
    }
  }
  for (const auto& [source, steps] : steps_of_source) {
    const RangeSource* ranges = loader->tree().leaves()[source].node->ranges();
    EXPECT_EQ(ranges->reader().counters().buffered.submissions, steps.size())
        << "source " << source;
  }
}

TEST_F(ConfigTest, AFiniteRootIsRepeatedForARunLongerThanAnEpoch) {
  // b has 38 windows: 54 samples are an epoch and a part of the next.
  ASSERT_OK_AND_ASSIGN(const Config config,
                       ParseData("flat = { b = { path = 'b' } }\n"));
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  std::vector<int> seen(38);
  std::vector<uint64_t> order;
  for (int step = 0; step < 9; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    ASSERT_EQ(batch.num_samples(), 6u);
    for (size_t i = 0; i < 6; ++i) order.push_back(batch.provenance(i).item);
  }
  for (int i = 0; i < 38; ++i) ++seen[order[i]];
  EXPECT_THAT(seen, ::testing::Each(1));
  EXPECT_NE(std::vector<uint64_t>(order.begin(), order.begin() + 16),
            std::vector<uint64_t>(order.begin() + 38, order.end()));
}

TEST_F(ConfigTest, ALongerRunIsStillTheSameRun) {
  const auto print = [&](const std::string& steps) {
    auto config = Parse("[data]\nbatch_size = 6\nseq_len = 20\n" + steps +
                        "flat = { b = { path = 'b' } }\n");
    EXPECT_THAT(config, IsOk());
    return (*config->OpenLoader())->fingerprint();
  };
  EXPECT_EQ(print("steps = 6\n"), print("steps = 7\n"));
  EXPECT_EQ(print("steps = 6\n"), print("steps = 700\n"));
  EXPECT_EQ(print("steps = 6\n"), print(""));
}

TEST_F(ConfigTest, AStateFitsWhatHasTheSamePast) {
  std::filesystem::create_directory(dir_.path("moved"));
  std::filesystem::copy(dir_.path("a"), dir_.path("moved/a"));
  const std::string data = kData;
  const auto resume = [&](uint64_t step, const char* from, const char* to) {
    const auto saved = *Parse(data)->OpenLoader();
    EXPECT_THAT(saved->Seek(step), IsOk());
    const auto changed = Parse(absl::StrReplaceAll(data, {{from, to}}));
    EXPECT_THAT(changed, IsOk());
    return (*changed->OpenLoader())->Resume(saved->State());
  };
  EXPECT_THAT(resume(250, "seed", "seed"), IsOk());
  EXPECT_THAT(resume(250, "path = \"a\"", "path = \"moved/a\""), IsOk());
  EXPECT_THAT(resume(250, "steps = 300", "steps = 9000"), IsOk());
  EXPECT_THAT(resume(250, "lr_scale = 0.5", "lr_scale = 0.25"), IsOk());
  // All before step 200 is one block.
  EXPECT_THAT(resume(150, "a = 0.1", "a = 0.2"), IsOk());
  const auto refused = [](const char* words) {
    return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(words));
  };
  EXPECT_THAT(resume(250, "a = 0.1", "a = 0.2"), refused("other weights"));
  EXPECT_THAT(resume(150, "start_step = 200", "start_step = 199"),
              refused("may begin at step 200 at the earliest"));
  EXPECT_THAT(resume(1, "seed = 42", "seed = 1"), refused("seed 42 in the"));
  EXPECT_THAT(resume(250, "path = \"a\"", "path = \"c\""),
              refused("other data in 'a' ("));
  EXPECT_THAT(resume(250, "b = {", "bb = {"),
              refused("in the state: 'rest/b'; "));
}

TEST_F(ConfigTest, TheOrderOfDeclarationChangesNoToken) {
  const auto first = [&](const std::string& mixture) {
    auto config = ParseData("[data.mixture]\n" + mixture);
    EXPECT_THAT(config, IsOk());
    const auto batch = (*config->OpenLoader())->NextBlocking();
    return std::vector<std::byte>(batch->bytes().begin(), batch->bytes().end());
  };
  EXPECT_EQ(first("a = { weight = 1, path = 'a' }\n"
                  "c = { weight = 2, path = 'c' }\n"),
            first("c = { weight = 2, path = 'c' }\n"
                  "a = { weight = 1, path = 'a' }\n"));
}

TEST_F(ConfigTest, AllMissingStoresAreNamedWithTheirPlaces) {
  EXPECT_THAT(
      ParseData("[data.flat]\nx = { path = 'gone' }\ny = { path = 'lost' }\n"),
      StatusIs(
          absl::StatusCode::kNotFound,
          AllOf(HasSubstr("t.toml:6:5: data.flat.x: "), HasSubstr("/gone"),
                HasSubstr("\nt.toml:7:5: data.flat.y: "), HasSubstr("/lost"))));
}

TEST_F(ConfigTest, OfManyMissingStoresThreeAreNamed) {
  std::string data = "[data.flat]\n";
  for (int i = 0; i < 250; ++i) {
    absl::StrAppend(&data, "s", i, " = { path = 'gone", i, "' }\n");
  }
  const std::string text(ParseData(data).status().message());
  EXPECT_THAT(text, AllOf(HasSubstr("data.flat.s0: "), HasSubstr("/gone2'"),
                          Not(HasSubstr("/gone3'")),
                          HasSubstr("\n  and 247 more like these: t.toml:9:6"),
                          ::testing::EndsWith(", t.toml:24:7, ...")));
}

TEST_F(ConfigTest, ManyStoresTakeNoDescriptorsBeforeTheyAreRead) {
  std::string data = "[data.flat]\n";
  for (int i = 0; i < 300; ++i) {
    const std::string name = absl::StrCat("many", i);
    testing::WriteStore(dir_.path(name), 10 + i, 100);
    absl::StrAppend(&data, name, " = { path = '", name, "' }\n");
  }
  const size_t before = testing::OpenDescriptors();
  ASSERT_OK_AND_ASSIGN(const Config config, ParseData(data));
  EXPECT_LT(testing::OpenDescriptors(), before + 10);
  // What was replaced since is no longer what the run was made of.
  testing::WriteStore(dir_.path("many7"), 1000, 100);
  for (const ConfigSource& source : config.sources()) {
    const auto tokens = RunBlocking(source.data->ReadTokens(0, 100));
    if (source.path != "many7") {
      EXPECT_THAT(tokens, IsOk());
      continue;
    }
    EXPECT_THAT(tokens, StatusIs(absl::StatusCode::kFailedPrecondition,
                                 AllOf(HasSubstr("many7' is not the store "
                                                 "that was opened"),
                                       HasSubstr("open it again"))));
  }
}

TEST_F(ConfigTest, FewStoresAreHeldFromTheBeginning) {
  ASSERT_OK_AND_ASSIGN(const Config config,
                       ParseData("[data.flat]\na = { path = 'a' }\n"));
  testing::WriteStore(dir_.path("a"), 1000, 10000);
  ASSERT_OK_AND_ASSIGN(
      const auto tokens,
      RunBlocking(config.sources()[0].data->ReadTokens(17, 1)));
  EXPECT_EQ(tokens[0], StoreToken(0, 17));
}

TEST_F(ConfigTest, TwoTokenizersAreRefusedAndBothNamed) {
  testing::WriteStore(dir_.path("other"), 5, 1000, {"llama-3", 128256},
                      TokenType::kU32);
  EXPECT_THAT(ParseData("[data.mixture]\na = { weight = 1, path = 'a' }\n"
                        "x = { weight = 1, path = 'other' }\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("'a' has tokenizer 'proof'"),
                             HasSubstr("'x' has 'llama-3'"))));
}

TEST_F(ConfigTest, ASequenceLongerThanEveryStoreIsRefusedWithTheLongest) {
  EXPECT_THAT(Parse("[data]\nbatch_size = 1\nseq_len = 10001\n[data.flat]\n"
                    "a = { path = 'a' }\nb = { path = 'b' }\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("t.toml:3:11: data.seq_len = 10001"),
                             HasSubstr("has 10000 tokens"))));
}

TEST_F(ConfigTest, AWeightedStoreWithoutAWindowIsRefusedByName) {
  EXPECT_THAT(ParseData("[data.mixture]\na = { weight = 1, path = 'a' }\n"
                        "short = { weight = 1, path = 'short' }\n"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("t.toml:7:9: data.mixture.short"),
                             HasSubstr("5 tokens"), HasSubstr("seq_len 20"))));
}

TEST_F(ConfigTest, AStoreCutShortIsRefusedWithFileAndSizes) {
  for (const auto& entry :
       std::filesystem::directory_iterator(dir_.path("a"))) {
    if (entry.path().filename().string().starts_with("tokens")) {
      std::filesystem::resize_file(entry.path(), 4096);
    }
  }
  EXPECT_THAT(ParseData("flat = { a = { path = 'a' } }\n"),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("data.flat.a: "), HasSubstr("tokens"),
                             HasSubstr("4096"))));
}

TEST_F(ConfigTest, LoadsAFileAndNamesOneThatIsNotThere) {
  testing::WriteFile(dir_.path("run.toml"), kData);
  EXPECT_THAT(Config::Load(dir_.path("run.toml")), IsOk());
  EXPECT_THAT(Config::Load(dir_.path("no.toml")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no.toml")));
  EXPECT_THAT(Config::Load(dir_.path()),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("is a directory")));
}

}  // namespace
}  // namespace poniente
