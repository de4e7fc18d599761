// SPDX-License-Identifier: Apache-2.0
// poniente pack of what is tokenized already.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::testing {
namespace {

using ::testing::HasSubstr;

class PackTokenFilesTest : public ::testing::Test {
 protected:
  // Ids with documents that end with 7; some reach over several units of work.
  void SetUp() override {
    std::mt19937_64 random(TestSeed(95));
    std::string bytes;
    const auto add = [&](uint32_t id) {
      bytes += static_cast<char>(id & 0xff);
      bytes += static_cast<char>(id >> 8);
    };
    for (const uint64_t length : {1, 3, 300'000, 2, 1, 700'000, 5, 262'144}) {
      for (uint64_t t = 0; t + 1 < length; ++t) {
        add(8 + static_cast<uint32_t>(random() % 60000));
      }
      add(7);
    }
    WriteFile(raw(), bytes);
  }

  std::string raw() const { return folder_.path("ids.bin"); }
  std::string out(const std::string& name) const { return folder_.path(name); }
  static std::string What() {
    return " --dtype u16 --vocab-size 65536 --tokenizer-name x "
           "--document-end 7 ";
  }
  ToolRun Pack(const std::string& input, const std::string& to,
               const std::string& options) {
    return RunTool("pack " + input + " --out " + out(to) + " " + options);
  }

  const TempDir folder_;
};

TEST_F(PackTokenFilesTest, TheStoreHoldsTheSameTokensAndDocuments) {
  for (const int threads : {1, 3}) {
    const std::string name = absl::StrCat("store", threads);
    ASSERT_THAT(Pack(raw(), name, What() + absl::StrCat("--threads ", threads)),
                Prints(HasSubstr("packed 8 documents, 1,262,156 tokens")));
    EXPECT_EQ(RunTool("cat --tokens 0..1262156 " + out(name)).out,
              RunTool("cat --tokens 0..1262156 --dtype u16 " + raw()).out);
    // The names are new.
    EXPECT_EQ(RunTool("documents " + out(name) + " | cut -f 1-3").out,
              RunTool("documents --dtype u16 --document-end 7 " + raw()).out);
    EXPECT_THAT(RunTool("inspect --verify --json " + out(name)),
                Prints(HasSubstr("\"end_of_document\": 7")));
  }
  for (const char* file : {"manifest.json", "tokens-1.bin", "documents-1.bin",
                           "checksums-1.bin"}) {
    EXPECT_EQ(ReadFile(out("store1/") + file), ReadFile(out("store3/") + file));
  }
}

TEST_F(PackTokenFilesTest, AStoreOfAStoreIsTheSame) {
  ASSERT_EQ(Pack(raw(), "a", What()).exit_code, 0);
  ASSERT_EQ(Pack(out("a"), "b", "").exit_code, 0);
  EXPECT_EQ(ReadFile(out("a/manifest.json")), ReadFile(out("b/manifest.json")));
  // One after the other, and the parts of many machines.
  ASSERT_THAT(Pack(out("a") + " " + out("b"), "both", ""),
              Prints(HasSubstr("packed 16 documents, 2,524,312 tokens")));
  for (int part = 0; part < 2; ++part) {
    ASSERT_EQ(Pack(out("a") + " " + out("b"), "parts",
                   absl::StrCat("--part ", part, "/2"))
                  .exit_code,
              0);
  }
  ASSERT_EQ(RunTool("catalog " + out("parts")).exit_code, 0);
  EXPECT_EQ(RunTool("documents --names " + out("parts")).out,
            RunTool("documents --names " + out("both")).out);
  EXPECT_EQ(RunTool("cat --window 0..3 --length 500000 " + out("parts")).out,
            RunTool("cat --window 0..3 --length 500000 " + out("both")).out);
  EXPECT_THAT(RunTool("inspect --verify " + out("parts")),
              Prints(HasSubstr("all checksums match")));
}

// One input is divided, too, at documents.
TEST_F(PackTokenFilesTest, PartsOfOneInputAreItsDocuments) {
  ASSERT_EQ(Pack(raw(), "whole", What()).exit_code, 0);
  for (const int parts : {1, 3, 7}) {
    const std::string folder = absl::StrCat("parts", parts);
    for (int part = 0; part < parts; ++part) {
      ASSERT_EQ(Pack(raw(), folder,
                     What() + absl::StrCat("--part ", part, "/", parts))
                    .exit_code,
                0);
    }
    ASSERT_EQ(RunTool("catalog " + out(folder)).exit_code, 0);
    EXPECT_EQ(RunTool("documents --names " + out(folder)).out,
              RunTool("documents --names " + out("whole")).out);
    EXPECT_EQ(RunTool("cat --tokens 0..1262156 " + out(folder)).out,
              RunTool("cat --tokens 0..1262156 " + out("whole")).out);
  }
  EXPECT_THAT(RunTool("inspect --json " + out("parts3/part-00001-of-00003")),
              Prints(::testing::Not(HasSubstr("\"tokens\": 0,"))));
}

TEST_F(PackTokenFilesTest, NamesOfDocumentsThatReachOverUnitsAreKept) {
  ASSERT_EQ(Pack(raw(), "a", What()).exit_code, 0);
  ASSERT_EQ(Pack(out("a"), "other", "").exit_code, 0);
  EXPECT_EQ(RunTool("documents --names " + out("other")).out,
            RunTool("documents --names " + out("a")).out);
}

TEST_F(PackTokenFilesTest, TextBesideTokenFilesIsRefused) {
  ASSERT_EQ(Pack(raw(), "a", What()).exit_code, 0);
  WriteFile(out("text"), "abc");
  EXPECT_THAT(Pack(out("a") + " " + out("text"), "s", ""),
              FailsWith(2, HasSubstr("pack them separately")));
}

TEST_F(PackTokenFilesTest, WithoutDocumentsEachFileIsOne) {
  std::filesystem::create_directories(out("raws"));
  std::filesystem::copy_file(raw(), out("raws/1.bin"));
  std::filesystem::copy_file(raw(), out("raws/2.bin"));
  ASSERT_THAT(Pack(out("raws"), "store",
                   "--dtype u16 --vocab-size 65536 --tokenizer-name x"),
              Prints(HasSubstr("packed 2 documents, 2,524,312 tokens")));
  EXPECT_EQ(RunTool("documents --names " + out("store")).out,
            "0\t0\t1262156\traws#1\n1\t1262156\t1262156\traws#2\n");
}

TEST_F(PackTokenFilesTest, SaysWhatIsMissing) {
  EXPECT_THAT(Pack(raw(), "s", "--dtype u16"),
              FailsWith(2, HasSubstr("state --vocab-size N and")));
  EXPECT_THAT(Pack(raw(), "s", "--dtype u16 --vocab-size 100"),
              FailsWith(2, HasSubstr("must be given together")));
  EXPECT_THAT(Pack(raw(), "s", What() + "--tokenizer bytes"),
              FailsWith(2, HasSubstr("leave --tokenizer out")));
  EXPECT_THAT(
      Pack(raw(), "s", "--dtype u16 --vocab-size 100 --tokenizer-name x"),
      FailsWith(1, HasSubstr("100")));
  ASSERT_EQ(Pack(raw(), "a", What()).exit_code, 0);
  WriteFile(out("text"), "abc");
  ASSERT_EQ(Pack(out("text"), "b", "").exit_code, 0);
  EXPECT_THAT(Pack(out("a") + " " + out("b"), "s", ""),
              FailsWith(2, HasSubstr("a store has one tokenizer")));
}

}  // namespace
}  // namespace poniente::testing
