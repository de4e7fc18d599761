// SPDX-License-Identifier: Apache-2.0
#include "config/tree/hub_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::poniente::testing::IsOkAndHolds;
using ::poniente::testing::StatusIs;
using ::poniente::testing::TempDir;
using ::poniente::testing::WriteFile;
using ::testing::AllOf;
using ::testing::Eq;
using ::testing::HasSubstr;

class HubCacheTest : public ::testing::Test {
 protected:
  HubCacheTest() { ::setenv("HF_DATASETS_CACHE", cache_.path().c_str(), 1); }
  ~HubCacheTest() override { ::unsetenv("HF_DATASETS_CACHE"); }

  // Makes a folder of the cache with a file in it.
  std::string Make(const std::string& folder,
                   const std::string& file = "x-train.arrow") {
    const std::string path = cache_.path(folder);
    std::filesystem::create_directories(path);
    WriteFile(path + "/" + file, "");
    return path;
  }

  TempDir cache_;
};

TEST_F(HubCacheTest, TheOnlyPreparedFolderIsFound) {
  const std::string path =
      Make("roneneldan___tiny_stories/default/0.0.0/f54c09fd23315a6f");
  EXPECT_THAT(FindInHubCache("roneneldan/TinyStories", ""),
              IsOkAndHolds(Eq(path)));
  EXPECT_THAT(FindInHubCache("roneneldan/TinyStories", "default"),
              IsOkAndHolds(Eq(path)));
  EXPECT_THAT(FindInHubCache("roneneldan/tiny_stories", ""),
              IsOkAndHolds(Eq(path)));
}

TEST_F(HubCacheTest, NamesAreWrittenAsTheLibraryDoes) {
  EXPECT_THAT(FindInHubCache("a/HTTPServer2Go-v1", "").status(),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("/a___http_server2_go-v1'")));
}

TEST_F(HubCacheTest, WhatAGeneratorMadeHasNoHash) {
  const std::string path =
      Make("generator/default-784393cf77002e68/0.0.0", "generator-train.arrow");
  EXPECT_THAT(FindInHubCache("generator", ""), IsOkAndHolds(Eq(path)));
  EXPECT_THAT(FindInHubCache("generator", "default"), IsOkAndHolds(Eq(path)));
}

TEST_F(HubCacheTest, UnfinishedFoldersAreLeftOut) {
  Make("json/default/0.0.0/d78d.incomplete");
  Make("generator/default/0.0.0.incomplete");
  EXPECT_THAT(
      FindInHubCache("json", "").status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("which has default")));
  EXPECT_THAT(
      FindInHubCache("generator", "").status(),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("which has default")));
  const std::string path = Make("json/default/0.0.0/d78d");
  EXPECT_THAT(FindInHubCache("json", ""), IsOkAndHolds(Eq(path)));
}

TEST_F(HubCacheTest, AConfigurationIsNotThoseThatItsNameBegins) {
  const std::string whole = Make("o___c/en/0.0.0/1");
  Make("o___c/en-gb/0.0.0/1");
  EXPECT_THAT(FindInHubCache("o/c", "en"), IsOkAndHolds(Eq(whole)));
  EXPECT_THAT(FindInHubCache("o/c", "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("state hf_config, one of en, en-gb")));
}

TEST_F(HubCacheTest, SeveralRevisionsAreListed) {
  const std::string first = Make("o___c/default/0.0.0/1");
  const std::string second = Make("o___c/default/0.0.0/2");
  EXPECT_THAT(FindInHubCache("o/c", "").status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(first), HasSubstr(second))));
}

}  // namespace
}  // namespace poniente::internal
