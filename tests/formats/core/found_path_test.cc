// SPDX-License-Identifier: Apache-2.0
#include "formats/core/found_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::ExitedWithCode;
using testing::TempDir;
using testing::WriteFile;

TEST(FoundPathTest, ListsWhatIsThereInTheOrderOfItsBytes) {
  const TempDir folder;
  WriteFile(folder.path("b"), "");
  WriteFile(folder.path("B"), "");
  std::filesystem::create_directory(folder.path("inner"));
  std::filesystem::create_directory_symlink("inner", folder.path("linked"));
  std::filesystem::create_symlink("gone", folder.path("a"));
  ASSERT_OK_AND_ASSIGN(const FoundPath found, FindPath(folder.path() + "//"));
  EXPECT_EQ(found.path, folder.path());
  EXPECT_TRUE(found.is_folder);
  EXPECT_THAT(found.files, ElementsAre("B", "a", "b"));
  EXPECT_THAT(found.folders, ElementsAre("inner", "linked"));
}

// Ends the process, after telling the error: 0 if there is none.
[[noreturn]] void FindWithNoDescriptorLeft(const std::string& path,
                                           bool can_raise) {
  rlimit limit;
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = 3;
  if (!can_raise) limit.rlim_max = 3;
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) std::_Exit(2);
  const auto found = FindPath(path);
  std::cerr << found.status() << std::endl;
  std::_Exit(found.ok() ? 0 : 1);
}

TEST(FoundPathTest, TheSoftLimitOfDescriptorsIsRaisedForAFolder) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TempDir folder;
  EXPECT_EXIT(FindWithNoDescriptorLeft(folder.path(), true), ExitedWithCode(0),
              "");
}

TEST(FoundPathTest, TheHardLimitOfDescriptorsIsAnErrorWithItsRemedy) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const TempDir folder;
  EXPECT_EXIT(FindWithNoDescriptorLeft(folder.path(), false), ExitedWithCode(1),
              "RESOURCE_EXHAUSTED.*cannot be listed.*ulimit -n");
}

}  // namespace
}  // namespace poniente::internal
