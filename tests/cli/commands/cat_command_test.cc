// SPDX-License-Identifier: Apache-2.0
// poniente cat and poniente documents, on a store and on files of others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "tests/cli/run_tool.h"
#include "tests/config/small_stores.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

std::string U16(const std::vector<uint32_t>& ids) {
  std::string bytes;
  for (const uint32_t id : ids) {
    bytes += static_cast<char>(id & 0xff);
    bytes += static_cast<char>(id >> 8);
  }
  return bytes;
}

class CatTest : public ::testing::Test {
 protected:
  CatTest() {
    for (uint32_t i = 0; i < 23; ++i) ids_.push_back(i % 5 == 4 ? 7 : 1000 + i);
    WriteFile(raw(), U16(ids_));
    std::filesystem::create_directories(folder_.path("in"));
    WriteFile(folder_.path("in/a"), "ab");
    WriteFile(folder_.path("in/b"), "cde");
    EXPECT_EQ(
        RunTool("pack " + folder_.path("in") + " --out " + store()).exit_code,
        0);
  }

  std::string raw() const { return folder_.path("ids.bin"); }
  std::string store() const { return folder_.path("store"); }
  std::string Line(size_t begin, size_t end) const {
    return absl::StrJoin(ids_.begin() + static_cast<ptrdiff_t>(begin),
                         ids_.begin() + static_cast<ptrdiff_t>(end), " ") +
           "\n";
  }

  const TempDir folder_;
  std::vector<uint32_t> ids_;
};

TEST_F(CatTest, PrintsTokensOfAStoreAndOfAFileWithoutAHeader) {
  EXPECT_EQ(RunTool("cat " + store() + " --tokens 1..5").out,
            "98 256 99 100\n");
  EXPECT_EQ(RunTool("cat " + raw() + " --dtype u16 --tokens 0..23").out,
            Line(0, 23));
  EXPECT_EQ(RunTool("cat " + raw() + " --dtype u16 --tokens 4").out,
            Line(4, 5));
  EXPECT_EQ(RunTool("cat " + raw() + " --dtype u16 --tokens 3..3").out, "\n");
  EXPECT_EQ(RunTool("cat " + raw() + " --dtype u16 --raw --tokens 0..2").out,
            std::string("\xe8\x03\0\0\xe9\x03\0\0", 8));
}

TEST_F(CatTest, PrintsDocumentsALineEach) {
  EXPECT_EQ(RunTool("cat " + store() + " --document 0..2").out,
            "97 98 256\n99 100 101 256\n");
  EXPECT_EQ(
      RunTool("cat " + raw() + " --dtype u16 --document-end 7 --document 1")
          .out,
      Line(5, 10));
  EXPECT_EQ(RunTool("cat " + raw() +
                    " --dtype u16 --document-begin 7 --document 0..2")
                .out,
            Line(0, 4) + Line(4, 9));
}

TEST_F(CatTest, PrintsJson) {
  const auto json = [&](const std::string& question) {
    return Json::parse(RunTool("cat --json " + store() + question).out, nullptr,
                       false);
  };
  EXPECT_EQ(json(" --document 0..2"),
            Json::parse(R"({"ids": [[97, 98, 256], [99, 100, 101, 256]]})"));
  EXPECT_EQ(json(" --tokens 1..3"), Json::parse(R"({"ids": [[98, 256]]})"));
  EXPECT_EQ(json(" --document 1..1"), Json::parse(R"({"ids": []})"));
}

TEST_F(CatTest, CutsWindowsAsAsked) {
  const std::string cat = "cat " + raw() + " --dtype u16 --length 8 ";
  EXPECT_EQ(RunTool(cat + "--window 0..2").out, Line(0, 8) + Line(8, 16));
  EXPECT_EQ(RunTool(cat + "--overlap 1 --window 2").out, Line(14, 22));
  EXPECT_EQ(RunTool(cat + "--keep-tail --window 2").out, Line(16, 23));
  EXPECT_THAT(RunTool(cat + "--window 2"),
              FailsWith(1, HasSubstr("has 2 windows of 8 tokens")));
}

TEST_F(CatTest, SaysWhatIsWrongWithTheQuestion) {
  const std::string cat = "cat " + raw() + " --dtype u16 ";
  EXPECT_THAT(RunTool(cat), FailsWith(2, HasSubstr("give one of --tokens")));
  EXPECT_THAT(RunTool(cat + "--tokens 1..2 --document 0"),
              FailsWith(2, HasSubstr("give one of")));
  EXPECT_THAT(RunTool(cat + "--tokens 2..1"), FailsWith(2, HasSubstr("2..1")));
  EXPECT_THAT(RunTool(cat + "--tokens x"), FailsWith(2, HasSubstr("'x'")));
  EXPECT_THAT(RunTool(cat + "--window 1"), FailsWith(2, HasSubstr("--length")));
  EXPECT_THAT(RunTool(cat + "--tokens 1 --length 2"),
              FailsWith(2, HasSubstr("only be used with --window")));
  EXPECT_THAT(RunTool(cat + "--tokens 0..24"),
              FailsWith(1, HasSubstr("has 23 tokens")));
  EXPECT_THAT(RunTool(cat + "--document 0"),
              FailsWith(1, HasSubstr("--document-end")));
  EXPECT_THAT(RunTool("cat " + raw() + " --tokens 0..1"),
              FailsWith(1, HasSubstr("dtype")));
  EXPECT_THAT(RunTool("cat " + raw() + " --dtype u17 --tokens 0..1"),
              FailsWith(2, HasSubstr("u17")));
  EXPECT_THAT(RunTool("cat " + folder_.path("none") + " --tokens 0"),
              FailsWith(1, HasSubstr("there is nothing at")));
}

TEST_F(CatTest, ListsDocuments) {
  const Json json =
      Json::parse(RunTool("documents --json " + store()).out, nullptr, false);
  EXPECT_EQ(json, Json::parse(R"({"documents": [
      {"begin": 0, "length": 3, "name": "a"},
      {"begin": 3, "length": 4, "name": "b"}]})"));
  EXPECT_EQ(RunTool("documents " + store()).out, "0\t0\t3\ta\n1\t3\t4\tb\n");
  EXPECT_EQ(RunTool("documents --dtype u16 --document-end 7 " + raw()).out,
            "0\t0\t5\n1\t5\t5\n2\t10\t5\n3\t15\t5\n4\t20\t3\n");
}

TEST_F(CatTest, ListsNoNamesWhereAStoreHasNone) {
  WriteStore(folder_.path("unnamed"), 0, 7, {"t", 250}, TokenType::kU8, "");
  EXPECT_EQ(RunTool("documents " + folder_.path("unnamed")).out, "0\t0\t7\n");
  EXPECT_THAT(RunTool("documents --json " + folder_.path("unnamed")),
              Prints(Not(HasSubstr("name"))));
  EXPECT_EQ(RunTool("documents --names " + folder_.path("unnamed")).out,
            "0\t0\t7\t\n");
}

TEST_F(CatTest, ListsTheNamesOfTheStoresOfACatalogue) {
  std::filesystem::create_directory(folder_.path("parts"));
  std::filesystem::copy(store(), folder_.path("parts/p"));
  ASSERT_EQ(RunTool("catalog " + folder_.path("parts")).exit_code, 0);
  EXPECT_EQ(RunTool("documents " + folder_.path("parts")).out,
            "0\t0\t3\ta\n1\t3\t4\tb\n");
}

// Columns 0, 8, 16 and 24; then the name, on a terminal of 60 columns of which
// one stays free.
TEST_F(CatTest, CutsNamesToTheTerminalAndNowhereElse) {
  PONIENTE_NEEDS_TERMINALS();
  const std::string fits = std::string(33, 'f') + "\u00fc\u20ac";
  const std::string longer = std::string(31, 'g') + "\u00fc\u20ac345";
  std::filesystem::create_directory(folder_.path("long"));
  for (const std::string& name : {fits, longer}) {
    WriteFile(folder_.path("long/" + name), "x");
  }
  ASSERT_EQ(RunTool("pack " + folder_.path("long") + " --out " +
                    folder_.path("named"))
                .exit_code,
            0);
  const std::string documents = "documents " + folder_.path("named");
  EXPECT_EQ(RunTool(documents).out,
            "0\t0\t2\t" + fits + "\n1\t2\t2\t" + longer + "\n");
  const std::string terminal = RunOnTerminal(documents, "TERM=xterm", 60).out;
  EXPECT_THAT(terminal, HasSubstr("\t" + fits + "\r\n"));
  EXPECT_THAT(terminal,
              HasSubstr("\t" + std::string(31, 'g') + "\u00fc...\r\n"));
  EXPECT_THAT(RunOnTerminal(documents + " --json", "TERM=xterm", 60).out,
              HasSubstr(std::string(31, 'g') + "\\u00fc\\u20ac345\""));
}

TEST_F(CatTest, InspectKnowsFilesWithoutAHeader) {
  const Json json = Json::parse(
      RunTool("inspect --json --dtype u16 " + raw()).out, nullptr, false);
  EXPECT_EQ(json["format"], "raw");
  EXPECT_EQ(json["dtype"], "u16");
  EXPECT_EQ(json["tokens"], 23);
  EXPECT_TRUE(json["documents"].is_null());
  EXPECT_EQ(json["shards"], 1);
  EXPECT_EQ(json["warnings"], Json::array());
  EXPECT_THAT(RunTool("inspect --vocab-size 1000 --dtype u16 " + raw()),
              Prints(HasSubstr("id 1022 is not below the vocabulary size")));
  EXPECT_THAT(RunTool("inspect " + raw()),
              FailsWith(1, AllOf(HasSubstr("dtype"), HasSubstr("e8 03"))));
}

TEST_F(CatTest, InspectSaysWhatAFileIsWhoseIdsAreNone) {
  std::string bytes(4000, '\1');
  bytes.replace(40, 4, "\xff\xff\xff\xff");
  WriteFile(raw(), bytes);
  const Json json = Json::parse(
      RunTool("inspect --json --dtype i32 " + raw()).out, nullptr, false);
  EXPECT_EQ(json["tokens"], 1000);
  ASSERT_FALSE(json["warnings"].empty());
  EXPECT_THAT(json["warnings"].back().get<std::string>(),
              HasSubstr("token 10 is stored as -1"));
  EXPECT_THAT(RunTool("cat --dtype i32 --tokens 0..20 " + raw()),
              FailsWith(1, HasSubstr("token 10 is stored as -1")));
}

TEST_F(CatTest, InspectWarnsOfTheWrongWidth) {
  std::vector<uint32_t> halves;
  for (uint32_t i = 0; i < 200; ++i) {
    halves.push_back(20000 + i * 50);
    halves.push_back(i % 2);
  }
  WriteFile(folder_.path("u32.bin"), U16(halves));
  EXPECT_THAT(RunTool("inspect --dtype u16 " + folder_.path("u32.bin")),
              Prints(HasSubstr("it may be of u32")));
  EXPECT_THAT(RunTool("inspect --dtype u32 " + folder_.path("u32.bin")),
              Prints(HasSubstr("warnings        none")));
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < 200; ++i) ids.push_back(20000 + i * 50);
  WriteFile(folder_.path("u16.bin"), U16(ids));
  EXPECT_THAT(RunTool("inspect --dtype u32 " + folder_.path("u16.bin")),
              Prints(HasSubstr("it may be of u16")));
}

}  // namespace
}  // namespace poniente::testing
