// SPDX-License-Identifier: Apache-2.0
// A writer removes and replaces files of writers only.
#include "store/manifest/store_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "poniente/token_store_writer.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::Documents;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::NamesIn;
using ::testing::Not;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;
using testing::WriteStore;

class ForeignFileTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ForeignFileTest, IsRefusedAndStays) {
  const TempDir folder;
  const std::string name = GetParam();
  WriteFile(folder.path(name), "mine");
  EXPECT_THAT(WriteStore(folder.path(), {{"a", {1}}}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(folder.path(name)), HasSubstr("--out"),
                             HasSubstr("remove or rename"))));
  // Also no lock file, which would make it a writer's for the next attempt.
  EXPECT_THAT(NamesIn(folder.path()), ElementsAre(name));
  EXPECT_EQ(testing::ReadFile(folder.path(name)), "mine");
}

INSTANTIATE_TEST_SUITE_P(
    Names, ForeignFileTest,
    ::testing::Values("tokens-1.bin", "documents-7.bin", "checksums-2.bin",
                      "loss_mask-1.bin", "scratch-names", "scratch-ends",
                      "scratch-checkpoint", "scratch-growth.json",
                      "manifest.json.tmp", "manifest.json"));

TEST(StoreFolderTest, OtherNamesStayEvenIfTheWriterFails) {
  const TempDir folder;
  WriteFile(folder.path("scratch-pad.txt"), "ideas");
  WriteFile(folder.path("tokens-x.bin"), "tokens");
  {
    // Given up.
    ASSERT_THAT(TokenStoreWriter::Create(folder.path(), testing::ByteOptions()),
                IsOk());
  }
  EXPECT_THAT(NamesIn(folder.path()),
              ElementsAre("scratch-pad.txt", "tokens-x.bin"));
  ASSERT_THAT(WriteStore(folder.path(), {{"a", {1}}}), IsOk());
  EXPECT_EQ(testing::ReadFile(folder.path("scratch-pad.txt")), "ideas");
  EXPECT_EQ(testing::ReadFile(folder.path("tokens-x.bin")), "tokens");
}

TEST(StoreFolderTest, AManifestOfAnotherFormatIsRefused) {
  const TempDir folder;
  for (const char* text :
       {"{\"name\": \"my web app\"}", "{\"format\": \"other\"}", "[1]",
        "not JSON", "[[[[[[[[[[1]]]]]]]]]]"}) {
    WriteFile(folder.path("manifest.json"), text);
    EXPECT_THAT(WriteStore(folder.path(), {{"a", {1}}}),
                StatusIs(absl::StatusCode::kFailedPrecondition,
                         AllOf(HasSubstr(folder.path("manifest.json")),
                               HasSubstr("another path"))))
        << text;
    EXPECT_EQ(testing::ReadFile(folder.path("manifest.json")), text);
    EXPECT_THAT(NamesIn(folder.path()), ElementsAre("manifest.json"));
  }
}

TEST(StoreFolderTest, ADamagedManifestOfAStoreIsReplaced) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path("s"), {{"a", {1}}}), IsOk());
  std::string text = testing::ReadFile(folder.path("s/manifest.json"));
  const Documents documents = {{"b", {2}}};
  // The last is of a later version of the format.
  const size_t at = text.find("\"tokens\": 1");
  ASSERT_NE(at, std::string::npos);
  std::string later = text;
  later.replace(later.find("\"version\": 1"), 12, "\"version\": 9");
  for (const std::string& damaged :
       {text.substr(0, text.size() / 2), std::string(4096, '\0'),
        text.substr(0, at) + "\"tokens\": 2" + text.substr(at + 11), later}) {
    WriteFile(folder.path("s/manifest.json"), damaged);
    ASSERT_THAT(WriteStore(folder.path("s"), documents), IsOk()) << damaged;
    EXPECT_THAT(testing::ReadStore(folder.path("s")), IsOkAndHolds(documents));
    EXPECT_EQ(NamesIn(folder.path("s")).size(), 4u);
  }
}

// Left by a writer that was killed after it had the lock.
TEST(StoreFolderTest, ALockFileOfAWriterSaysThatFilesAreItsOwn) {
  const TempDir folder;
  std::string lock;
  {
    ASSERT_OK_AND_ASSIGN(
        const auto writer,
        TokenStoreWriter::Create(folder.path("s"), testing::ByteOptions()));
    lock = testing::ReadFile(folder.path("s/writer.lock"));
  }
  EXPECT_THAT(lock, Not(IsEmpty()));
  std::filesystem::create_directories(folder.path("s"));
  WriteFile(folder.path("s/writer.lock"), lock);
  WriteFile(folder.path("s/tokens-1.bin"), "left over");
  WriteFile(folder.path("s/scratch-names"), "left over");
  WriteFile(folder.path("s/scratch-ideas.txt"), "mine");
  ASSERT_THAT(WriteStore(folder.path("s"), {{"a", {1}}}), IsOk());
  EXPECT_EQ(NamesIn(folder.path("s")).size(), 5u);
  EXPECT_THAT(NamesIn(folder.path("s")), Contains("scratch-ideas.txt"));

  // Killed before it knew what else is there.
  WriteFile(folder.path("writer.lock"), "");
  WriteFile(folder.path("tokens-1.bin"), "mine");
  EXPECT_THAT(WriteStore(folder.path(), {{"a", {1}}}),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       HasSubstr(folder.path("tokens-1.bin"))));
  EXPECT_EQ(testing::ReadFile(folder.path("tokens-1.bin")), "mine");
}

TEST(StoreFolderTest, AFolderThatTakesNoFileIsAnErrorAndNoEndlessLoop) {
  EXPECT_THAT(WriteStore("/proc", {{"a", {1}}}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("/proc/writer.lock"),
                             HasSubstr("another path"))));
  const TempDir folder;
  ASSERT_EQ(::symlink(folder.path("no/where").c_str(),
                      folder.path("writer.lock").c_str()),
            0);
  EXPECT_THAT(WriteStore(folder.path(), {{"a", {1}}}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr(folder.path("writer.lock"))));
}

}  // namespace
}  // namespace poniente::internal
