// SPDX-License-Identifier: Apache-2.0
// Files of other projects, and catalogues of stores, as sources of a run.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/tree/hub_cache.h"
#include "io/range_source.h"
#include "poniente/catalog.h"
#include "poniente/config.h"
#include "poniente/loader.h"
#include "tests/config/small_stores.h"
#include "tests/support/status_matchers.h"
#if __has_include(<flatbuffers/flatbuffers.h>)
#include "tests/formats/arrow_files.h"
#endif

namespace poniente {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::SmallStores;
using testing::StatusIs;
using testing::StoreToken;

class ConfigFilesTest : public SmallStores {
 protected:
  template <class Id>
  void WriteRaw(const std::string& name, uint64_t number, uint64_t tokens) {
    std::ofstream out(dir_.path(name), std::ios::binary);
    for (uint64_t t = 0; t < tokens; ++t) {
      const auto id = static_cast<Id>(StoreToken(number, t));
      out.write(reinterpret_cast<const char*>(&id), sizeof(id));
    }
  }

  absl::StatusOr<Config> Parse(const std::string& sources,
                               const std::string& more = "") {
    return Config::Parse(
        absl::StrCat("[data]\nsteps = 30\nbatch_size = 4\nseq_len = 20\n",
                     sources, more),
        "t.toml", dir_.path());
  }

  // All tokens of the run.
  static std::vector<uint32_t> Run(const Config& config) {
    std::vector<uint32_t> all;
    auto loader = config.OpenLoader();
    EXPECT_THAT(loader, IsOk());
    if (!loader.ok()) return all;
    while (true) {
      absl::StatusOr<Batch> batch = (*loader)->NextBlocking();
      if (absl::IsOutOfRange(batch.status())) return all;
      EXPECT_THAT(batch, IsOk());
      if (!batch.ok()) return all;
      const auto ids = batch->tokens<uint32_t>();
      all.insert(all.end(), ids.begin(), ids.end());
    }
  }
};

TEST_F(ConfigFilesTest, AFileWithoutAHeaderGivesTheTokensOfAStore) {
  WriteRaw<uint16_t>("a.bin", 0, 10000);
  WriteRaw<int64_t>("a.i64", 0, 10000);
  ASSERT_OK_AND_ASSIGN(const Config store,
                       Parse("mixture = { x = { path = 'a', weight = 1 } }\n"));
  const std::vector<uint32_t> expected = Run(store);
  ASSERT_EQ(expected.size(), 30u * 4 * 20);
  for (const char* files :
       {"path = 'a.bin', dtype = 'u16'", "path = 'a.i64', dtype = 'i64'",
        "path = 'a.bin', dtype = 'u16', tokenizer = 'proof', vocab_size = "
        "250"}) {
    ASSERT_OK_AND_ASSIGN(
        const Config config,
        Parse(absl::StrCat("mixture = { x = { ", files, ", weight = 1 } }\n")));
    // Read as the ranges of files, whatever the width.
    EXPECT_NE(config.dataset()->children()[0].node, nullptr);
    EXPECT_EQ(Run(config), expected) << files;
    ASSERT_OK_AND_ASSIGN(const Config again,
                         Config::Parse(config.ToToml(), "again.toml", "/"));
    EXPECT_EQ(again.ToToml(), config.ToToml());
    EXPECT_EQ(again.dataset()->fingerprint(), config.dataset()->fingerprint());
  }
}

TEST_F(ConfigFilesTest, ALossMaskBelongsToItsSource) {
  WriteRaw<uint16_t>("x.bin", 0, 1000);
  std::string flags(1000, '\1');
  std::vector<uint8_t> expected(1000, 1);
  for (size_t t = 0; t < 1000; t += 7) flags[t] = expected[t] = 0;
  testing::WriteFile(dir_.path("mask.bin"), flags);
  const std::string x = "path = 'x.bin', dtype = 'u16'";
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse(absl::StrCat("[data.flat]\nbare = { ", x, " }\nmasked = { ", x,
                         ", loss_mask = 'mask.bin' }\nother = { ", x,
                         ", loss_mask = { glob = 'mask.bin', path = '.', "
                         "no_loss = 1 } }\nsame = { ",
                         x, ", loss_mask = { path = 'mask.bin' } }\n")));
  ASSERT_EQ(config.sources().size(), 4u);
  EXPECT_FALSE(config.sources()[0].data->has_loss_mask());
  const auto mask = [&](size_t source) {
    return RunBlocking(config.sources()[source].data->ReadLossMask(0, 1000));
  };
  EXPECT_THAT(mask(1), testing::IsOkAndHolds(expected));
  for (uint8_t& one : expected) one ^= 1;
  EXPECT_THAT(mask(2), testing::IsOkAndHolds(expected));
  EXPECT_EQ(config.sources()[1].data, config.sources()[3].data);
  // From another folder, the mask is found, too.
  EXPECT_THAT(config.ToToml(),
              HasSubstr("loss_mask = { path = \"" + dir_.path("mask.bin")));
  ASSERT_OK_AND_ASSIGN(const Config again,
                       Config::Parse(config.ToToml(), "again.toml", "/"));
  EXPECT_EQ(again.ToToml(), config.ToToml());
  EXPECT_EQ(again.dataset()->fingerprint(), config.dataset()->fingerprint());
  EXPECT_THAT(
      Parse("path = 'a'\nloss_mask = 'mask.bin'\n").status(),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("token store, which has a loss mask of its own")));
  flags.pop_back();
  testing::WriteFile(dir_.path("mask.bin"), flags);
  EXPECT_THAT(Parse(absl::StrCat("[data.flat]\nm = { ", x,
                                 ", loss_mask = 'mask.bin' }\n"))
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("t.toml:6:"), HasSubstr("999 bytes"))));
}

TEST_F(ConfigFilesTest, BatchesJoinTheMaskOfFiles) {
  constexpr uint32_t kEnd = 7;
  WriteRaw<uint16_t>("x.bin", 0, 10000);
  std::string labels;
  const auto has_loss = [](uint64_t t) { return t % 5 == 0 || t % 7 == 0; };
  for (uint64_t t = 0; t < 10000; ++t) {
    const auto label =
        has_loss(t) ? static_cast<int32_t>(StoreToken(0, t)) : -100;
    labels.append(reinterpret_cast<const char*>(&label), sizeof(label));
  }
  testing::WriteFile(dir_.path("labels.bin"), labels);
  const std::string node =
      "path = 'x.bin'\ndtype = 'u16'\ndocument_end = 7\nshuffle = false\n"
      "loss_mask = { path = 'labels.bin', no_loss = -100 }\n";
  const std::string runtime = "[runtime]\ntoken_type = 'i32'\n";
  EXPECT_THAT(Parse(node, runtime)->OpenLoader().status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("neither loss_mask nor labels")));
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse(node, runtime + "tensors = ['labels', 'loss_mask']\n"));
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  uint64_t first = 0;
  uint64_t with_loss = 0;
  for (int step = 0; step < 30; ++step) {
    ASSERT_OK_AND_ASSIGN(const Batch batch, loader->NextBlocking());
    for (size_t i = 0; i < 4 * 20; ++i) {
      const uint64_t next = first + i + 1;
      const bool expected =
          next % 20 != 0 && StoreToken(0, next - 1) != kEnd && has_loss(next);
      with_loss += expected ? 1 : 0;
      ASSERT_EQ(batch.loss_mask()[i], expected ? 1 : 0) << next;
      ASSERT_EQ(batch.labels<int32_t>()[i],
                expected ? static_cast<int32_t>(StoreToken(0, next)) : -100)
          << next;
    }
    first += 4 * 20;
  }
  EXPECT_GT(with_loss, 500u);
}

TEST_F(ConfigFilesTest, OnePathMayBeReadInSeveralWays) {
  WriteRaw<uint16_t>("x.bin", 0, 1000);
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      Parse("[data.flat]\n"
            "narrow = { path = 'x.bin', dtype = 'u16' }\n"
            "bytes = { path = 'x.bin', dtype = 'u8' }\n"
            "shared = { path = 'x.bin', dtype = 'u16', overlap = 1 }\n"));
  ASSERT_EQ(config.sources().size(), 3u);
  EXPECT_EQ(config.sources()[0].tokens, 1000u);
  EXPECT_EQ(config.sources()[1].tokens, 2000u);
  EXPECT_EQ(config.sources()[0].data, config.sources()[2].data);
  EXPECT_NE(config.sources()[0].data, config.sources()[1].data);
  // Windows of 20 tokens that begin 19 apart.
  EXPECT_EQ(config.dataset()->length_now().readable,
            1000u / 20 + 2000u / 20 + 1 + (1000 - 20) / 19);
}

TEST_F(ConfigFilesTest, WhatIsWrongIsSaidWithItsPlace) {
  WriteRaw<uint16_t>("x.bin", 0, 1001);
  WriteRaw<int32_t>("signed.bin", 0, 100000);
  {
    std::fstream file(dir_.path("signed.bin"), std::ios::in | std::ios::out);
    file.seekp(4 * 100);  // where no sample is taken
    file.write("\xfe\xff\xff\xff", 4);
  }
  const auto error = [&](const std::string& node) {
    return std::string(Parse(node).status().message());
  };
  EXPECT_THAT(error("path = 'x.bin'\n"),
              AllOf(HasSubstr("t.toml:1:1"), HasSubstr("dtype")));
  EXPECT_THAT(error("path = 'x.bin'\ndtype = 'u32'\n"),
              HasSubstr("no whole number of u32"));
  EXPECT_THAT(error("path = 'x.bin'\ndtype = 'f32'\n"),
              HasSubstr("unknown type 'f32'"));
  EXPECT_THAT(
      error("path = 'x.bin'\nformat = 'zip'\n"),
      AllOf(HasSubstr("t.toml:6:"), HasSubstr("'zip'"), HasSubstr("megatron")));
  EXPECT_THAT(error("path = 'a'\ndtype = 'u32'\n"),
              HasSubstr("is a token store, which has a dtype (u16)"));
  EXPECT_THAT(error("path = 'x.bin'\ndocument_end = 1\ndocument_begin = 2\n"),
              HasSubstr("cannot be combined with document_end"));
  EXPECT_THAT(error("tokens = 5000\ndtype = 'u16'\n"), HasSubstr("dtype"));
  ASSERT_OK_AND_ASSIGN(const Config config,
                       Parse("path = 'signed.bin'\ndtype = 'i32'\nshuffle = "
                             "false\n"));
  ASSERT_OK_AND_ASSIGN(const auto loader, config.OpenLoader());
  EXPECT_THAT(loader->NextBlocking(), IsOk());
  EXPECT_THAT(loader->NextBlocking().status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       HasSubstr("token id -2 is negative; the data is "
                                 "corrupt")));
}

TEST_F(ConfigFilesTest, StoresOfACatalogueOpenWithoutALookAtThem) {
  const std::string two =
      "[data.flat]\na = { path = 'a' }\nb = { path = './b/' }\n";
  ASSERT_OK_AND_ASSIGN(const Config plain, Parse(two));
  ASSERT_THAT(StoreCatalog::Write(dir_.path()), IsOk());
  const std::string listed = "[runtime]\ncatalogs = ['.']\n";
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(two, listed));
  EXPECT_EQ(config.dataset()->fingerprint(), plain.dataset()->fingerprint());
  EXPECT_EQ(Run(config), Run(plain));
  EXPECT_THAT(config.ToToml(), HasSubstr("catalogs = [\"" + dir_.path()));
  // A store that is not there is found when it is read, not before.
  std::filesystem::rename(dir_.path("b"), dir_.path("moved"));
  EXPECT_FALSE(Parse(two).ok());
  ASSERT_OK_AND_ASSIGN(const Config late, Parse(two, listed));
  ASSERT_OK_AND_ASSIGN(const auto loader, late.OpenLoader());
  absl::Status status;
  for (int step = 0; step < 30 && status.ok(); ++step) {
    status = loader->NextBlocking().status();
  }
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr(dir_.path("b")), HasSubstr("poniente catalog")));
  EXPECT_THAT(
      std::string(
          Parse(two, "[runtime]\ncatalogs = ['nowhere']\n").status().message()),
      AllOf(::testing::StartsWith("t.toml:8:1: runtime.catalogs: "),
            HasSubstr("nowhere")));
}

class ConfigFolderTest : public ConfigFilesTest {
 protected:
  void SetUp() override {
    ConfigFilesTest::SetUp();
    std::filesystem::create_directories(dir_.path("elsewhere"));
  }
  void TearDown() override { std::filesystem::current_path(before_); }
  void GoTo(const std::string& name) const {
    std::filesystem::current_path(dir_.path(name));
  }
  absl::StatusOr<Config> ParseHere(const std::string& sources) const {
    return Config::Parse(
        "[data]\nsteps = 30\nbatch_size = 4\nseq_len = 20\n" + sources,
        "t.toml", "");
  }

 private:
  const std::filesystem::path before_ = std::filesystem::current_path();
};

TEST_F(ConfigFolderTest, RelativePathsAreThoseOfWhenItWasRead) {
  const std::string two =
      "[data.flat]\na = { path = 'a' }\nb = { path = 'b' }\n";
  const std::string listed = two + "[runtime]\ncatalogs = ['.']\n";
  ASSERT_THAT(StoreCatalog::Write(dir_.path()), IsOk());
  ASSERT_OK_AND_ASSIGN(const Config plain, Parse(two));
  for (const std::string& text : {two, listed}) {
    GoTo(".");
    ASSERT_OK_AND_ASSIGN(const Config config, ParseHere(text));
    GoTo("elsewhere");
    EXPECT_EQ(Run(config), Run(plain));
    EXPECT_THAT(config.ToToml(), HasSubstr("\"" + dir_.path("a") + "\""));
  }
}

TEST_F(ConfigFolderTest, OpenStoresTooIsOfTheFolderWhereItWasCalled) {
  GoTo(".");
  const std::string paths[] = {"a", "b"};
  ASSERT_OK_AND_ASSIGN(const auto stores, OpenStores(paths));
  GoTo("elsewhere");
  for (uint64_t number = 0; number < 2; ++number) {
    EXPECT_EQ(stores[number]->path(), paths[number]);
    ASSERT_OK_AND_ASSIGN(const auto windows, stores[number]->Windows(10));
    ASSERT_OK_AND_ASSIGN(const TokenWindow window, windows->GetBlocking(0));
    EXPECT_EQ(window.tokens[0], StoreToken(number, 0));
    EXPECT_THAT(stores[number]->DocumentRange(0), IsOk());
  }
}

TEST_F(ConfigFilesTest, AFolderWithACatalogueIsOneSource) {
  for (int part = 0; part < 3; ++part) {
    testing::WriteStore(dir_.path(absl::StrCat("parts/p", part)),
                        static_cast<uint64_t>(part), 100 + part * 7u);
  }
  EXPECT_FALSE(Parse("path = 'parts'\n").ok());
  ASSERT_THAT(StoreCatalog::Write(dir_.path("parts")), IsOk());
  ASSERT_OK_AND_ASSIGN(const Config config,
                       Parse("path = 'parts'\nshuffle = false\nrepeat = 9\n"));
  EXPECT_EQ(config.sources()[0].tokens, 321u);
  std::vector<uint32_t> all;
  for (uint64_t part = 0; part < 3; ++part) {
    for (uint64_t t = 0; t < 100 + part * 7; ++t) {
      all.push_back(StoreToken(part, t));
    }
  }
  const std::vector<uint32_t> run = Run(config);
  ASSERT_GE(run.size(), 320u);
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + 320, run.begin()));
}

#if __has_include(<flatbuffers/flatbuffers.h>)
TEST_F(ConfigFilesTest, ADatasetOfTheHubIsReadInPlace) {
  const std::string folder =
      dir_.path("hub/own___tiny_stories/default/0.0.0/abc");
  std::filesystem::create_directories(folder);
  std::vector<int64_t> ids;
  for (uint64_t t = 0; t < 300; ++t) ids.push_back(StoreToken(0, t));
  const auto stream = [&](int32_t rows) {
    testing::ArrowWriter writer;
    writer.Schema(
        {testing::ListOf("input_ids", testing::Integers("item", 64, true))});
    std::vector<int32_t> ends;
    for (int32_t r = 0; r <= rows; ++r) ends.push_back(300 * r / rows);
    return writer.Lists(ends, ids).End().bytes;
  };
  testing::WriteFile(folder + "/tiny_stories-train.arrow", stream(7));
  testing::WriteFile(folder + "/tiny_stories-test.arrow", stream(3));
  testing::WriteFile(folder + "/dataset_info.json",
                     R"({"builder_name": "json", "dataset_name": "tiny_stories",
      "splits": {"train": {"name": "train", "num_examples": 7,
                           "dataset_name": "tiny_stories"},
                 "test": {"name": "test", "num_examples": 3,
                          "dataset_name": "tiny_stories"}}})");
  ASSERT_EQ(setenv("HF_DATASETS_CACHE", dir_.path("hub").c_str(), 1), 0);
  const std::string node = "hf_name = 'own/TinyStories'\nshuffle = false\n";
  ASSERT_OK_AND_ASSIGN(const Config config, Parse(node + "repeat = 9\n"));
  EXPECT_EQ(config.sources()[0].tokens, 300u);
  EXPECT_EQ(config.sources()[0].data->num_documents(), 7u);
  const std::vector<uint32_t> run = Run(config);
  ASSERT_GE(run.size(), 300u);
  EXPECT_TRUE(std::equal(ids.begin(), ids.end(), run.begin()));
  ASSERT_OK_AND_ASSIGN(const Config test, Parse(node + "hf_split = 'test'\n"));
  EXPECT_EQ(test.sources()[0].data->num_documents(), 3u);
  EXPECT_THAT(
      std::string(Parse(node + "hf_split = 'dev'\n").status().message()),
      HasSubstr("train"));
  unsetenv("HF_DATASETS_CACHE");
}
#endif

}  // namespace
}  // namespace poniente
