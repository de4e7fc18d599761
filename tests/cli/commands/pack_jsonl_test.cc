// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/packed_store.h"
#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

using Ids = std::vector<uint32_t>;

constexpr char kIds[] =
    "--input-format tokens --vocab-size 100 --tokenizer-name t ";

class PackJsonlTest : public ::testing::Test {
 protected:
  ToolRun Pack(const std::string& name, const std::string& text,
               const std::string& options = "") {
    WriteFile(folder_.path(name), text);
    return RunTool("pack " + folder_.path(name) + " --out " + out() + " " +
                   options);
  }
  ToolRun PackIds(const std::string& text, const std::string& options = "") {
    return Pack("x", text, kIds + options);
  }
  std::string out() const { return folder_.path("out"); }
  std::vector<NamedIds> Documents() const { return PackedDocuments(out()); }

  const TempDir folder_;
};

TEST_F(PackJsonlTest, EachLineIsADocumentNamedByItsNumber) {
  EXPECT_THAT(Pack("x.jsonl",
                   "{\"text\": \"a\\u00e9\\n\", \"id\": 7}\n"
                   "\n"
                   "{\"meta\": {\"text\": [\"no\"]}, \"text\": \"\"}\r\n"
                   "{\"text\": \"old\", \"text\": \"new\"}"),
              Prints(HasSubstr("3 documents, 10 tokens")));
  EXPECT_THAT(Documents(),
              ElementsAre(Pair("x.jsonl#1", EndedBytesOf("a\xc3\xa9\n")),
                          Pair("x.jsonl#3", Ids{256}),
                          Pair("x.jsonl#4", EndedBytesOf("new"))));
}

TEST_F(PackJsonlTest, TheFormatIsThatOfTheNameUnlessItIsGiven) {
  const std::string line = "{\"text\": \"a\"}";
  for (const char* name : {"a.ndjson", "a.json.l", "a.JSONL"}) {
    EXPECT_EQ(Pack(name, line).exit_code, 0) << name;
    EXPECT_THAT(Documents(),
                ElementsAre(Pair(name + std::string("#1"), EndedBytesOf("a"))));
  }
  EXPECT_EQ(Pack("a.jsonl", line, "--input-format text").exit_code, 0);
  EXPECT_THAT(Documents(), ElementsAre(Pair("a.jsonl", EndedBytesOf(line))));
  EXPECT_EQ(Pack("a.txt", line, "--input-format jsonl").exit_code, 0);
  EXPECT_THAT(Documents(), ElementsAre(Pair("a.txt#1", EndedBytesOf("a"))));
}

TEST_F(PackJsonlTest, AFieldIsChosen) {
  EXPECT_EQ(Pack("x.jsonl", R"({"text": 1, "content": "a"})", "--field content")
                .exit_code,
            0);
  EXPECT_THAT(Documents(), ElementsAre(Pair("x.jsonl#1", EndedBytesOf("a"))));
  EXPECT_EQ(PackIds(R"({"tokens": "no", "ids": [1]})", "--field ids").exit_code,
            0);
  EXPECT_THAT(Documents(), ElementsAre(Pair("x#1", Ids{1})));
}

TEST_F(PackJsonlTest, IdsAreTakenAsTheyAre) {
  EXPECT_THAT(PackIds("{\"tokens\": [0, 99, 7], \"input_ids\": [1]}\n"
                      "{\"input_ids\": []}\n"
                      "{\"input_ids\": [1, 2], \"x\": [[3], {\"tokens\": 4}]}"),
              Prints(HasSubstr("3 documents, 5 tokens")));
  EXPECT_THAT(Documents(),
              ElementsAre(Pair("x#1", Ids{0, 99, 7}), Pair("x#2", IsEmpty()),
                          Pair("x#3", Ids{1, 2})));
  const auto store = TokenStore::Open(out());
  ASSERT_THAT(store, IsOk());
  EXPECT_EQ((*store)->vocabulary(), (Vocabulary{"t", 100}));
  EXPECT_EQ((*store)->token_type(), TokenType::kU8);
  EXPECT_EQ((*store)->end_of_document(), std::nullopt);
}

TEST_F(PackJsonlTest, AnEndIsAddedToIdsThatHaveNone) {
  EXPECT_EQ(PackIds("{\"tokens\": [1, 2]}\n{\"tokens\": [1, 9]}\n"
                    "{\"tokens\": []}\n{\"tokens\": [9, 9]}",
                    "--eod 9")
                .exit_code,
            0);
  EXPECT_THAT(Documents(),
              ElementsAre(Pair("x#1", Ids{1, 2, 9}), Pair("x#2", Ids{1, 9}),
                          Pair("x#3", Ids{9}), Pair("x#4", Ids{9, 9})));
}

TEST_F(PackJsonlTest, StandardInputIsStreamed) {
  EXPECT_THAT(RunTool("pack - --input-format jsonl --out " + out(),
                      "printf '{\"text\":\"a\"}\\n{\"text\":\"b\"}' |"),
              Prints(HasSubstr("2 documents")));
  EXPECT_THAT(Documents(), ElementsAre(Pair("stdin#1", EndedBytesOf("a")),
                                       Pair("stdin#2", EndedBytesOf("b"))));
}

struct BadCase {
  const char* name;
  const char* line;
  bool is_ids;
  const char* message;
};

class BadLineTest : public PackJsonlTest,
                    public ::testing::WithParamInterface<BadCase> {};

TEST_P(BadLineTest, IsNamedByFileAndLine) {
  const BadCase& bad = GetParam();
  const std::string good =
      bad.is_ids ? "{\"tokens\": [1]}\n" : "{\"text\": \"a\"}\n";
  const std::string text = good + "\n" + bad.line + "\n" + good;
  const std::string format = bad.is_ids ? kIds : "--input-format jsonl ";
  EXPECT_THAT(Pack("x", text, format),
              FailsWith(1, AllOf(HasSubstr("/x:3: "), HasSubstr(bad.message),
                                 HasSubstr("--skip-bad-lines"))));
  EXPECT_FALSE(std::filesystem::exists(out()));

  const ToolRun skipping = Pack("x", text, format + "--skip-bad-lines");
  EXPECT_THAT(skipping, Prints(AllOf(HasSubstr("2 documents"),
                                     HasSubstr("skipped 1 bad line"))));
  EXPECT_THAT(skipping.err, AllOf(HasSubstr("warning"), HasSubstr("/x:3: "),
                                  HasSubstr(bad.message)));
}

INSTANTIATE_TEST_SUITE_P(
    Lines, BadLineTest,
    ::testing::Values(
        BadCase{"NoJson", "text", false, "is not JSON: error at byte 2"},
        BadCase{"CutShort", R"({"text": "a)", false, "is not JSON"},
        BadCase{"Rest", R"({"text": "a"} x)", false, "is not JSON"},
        BadCase{"NoUtf8", "{\"text\": \"\xff\"}", false, "is not JSON"},
        BadCase{"Array", "[1]", false, "is an array, expected an object"},
        BadCase{"String", "\"text\"", false, "is a string, expected an object"},
        BadCase{"NoField", R"({"content": "a", "id": 1})", false,
                "has no field 'text'; it has 'content', 'id'"},
        BadCase{"IdsInstead", R"({"input_ids": [1]})", false,
                "it has 'input_ids' (choose one with --field; for ids, use "
                "--input-format tokens)"},
        BadCase{"Empty", "{}", false, "the object is empty"},
        BadCase{"Null", R"({"text": null})", false,
                "'text' is null, expected a string"},
        BadCase{"Number", R"({"text": 1.5})", false, "'text' is a number"},
        BadCase{"Ids", R"({"text": [1]})", false, "'text' is an array"},
        BadCase{"NoIds", R"({"text": "a"})", true,
                "has no field 'tokens' or 'input_ids'; it has 'text'"},
        BadCase{"TextForIds", R"({"tokens": "a"})", true,
                "'tokens' is a string, expected an array of ids"},
        BadCase{
            "Outside", R"({"tokens": [1, 100]})", true,
            "id 1 of 'tokens' is 100, expected a whole number from 0 to 99"},
        BadCase{"Negative", R"({"input_ids": [-1]})", true,
                "id 0 of 'input_ids' is -1"},
        BadCase{"Fraction", R"({"tokens": [1, 2, 3.5]})", true,
                "id 2 of 'tokens' is 3.5"},
        BadCase{"Huge", R"({"tokens": [99999999999999999999]})", true,
                "id 0 of 'tokens' is 99999999999999999999"},
        BadCase{"Nested", R"({"tokens": [[1]]})", true,
                "id 0 of 'tokens' is an array"}),
    [](const auto& case_info) { return case_info.param.name; });

TEST_F(PackJsonlTest, ALineOfDeepNestingIsReadWithoutRecursion) {
  const std::string deep(1000000, '[');
  EXPECT_THAT(Pack("x.jsonl", "{\"x\": " + deep),
              FailsWith(1, HasSubstr("x.jsonl:1: is not JSON")));
  EXPECT_THAT(Pack("x.jsonl", "{\"text\": \"a\", \"x\": " + deep +
                                  std::string(deep.size(), ']') + "}"),
              Prints(HasSubstr("1 document,")));
}

TEST_F(PackJsonlTest, OnlyBadLinesAreNothingToPack) {
  EXPECT_THAT(
      Pack("x.jsonl", "no\nno\n", "--skip-bad-lines"),
      FailsWith(1, AllOf(HasSubstr("nothing to pack"), HasSubstr("2 bad lines"),
                         HasSubstr("x.jsonl:1: is not JSON"))));
}

TEST_F(PackJsonlTest, GzippedJsonlIsReadInPlace) {
  WriteFile(folder_.path("x.jsonl"),
            "{\"text\": \"a\"}\n{\"text\": \"b c\"}\n");
  ASSERT_EQ(std::system(("gzip " + folder_.path("x.jsonl")).c_str()), 0);
  EXPECT_THAT(RunTool("pack " + folder_.path("x.jsonl.gz") + " --out " + out()),
              Prints(HasSubstr("2 documents, 6 tokens")));
  EXPECT_THAT(Documents(),
              ElementsAre(Pair("x.jsonl.gz#1", EndedBytesOf("a")),
                          Pair("x.jsonl.gz#2", EndedBytesOf("b c"))));
}

TEST_F(PackJsonlTest, DamagedGzipIsAnErrorWithItsPlace) {
  EXPECT_THAT(Pack("x.jsonl.gz", "\x1f\x8b\x08 and so on"),
              FailsWith(1, AllOf(HasSubstr("x.jsonl.gz': at byte"),
                                 HasSubstr("gzip"))));
}

TEST_F(PackJsonlTest, OtherCompressionIsRefusedWithTheWayToReadIt) {
  EXPECT_THAT(Pack("x.jsonl.bz2", "BZh91AY&SY and so on"),
              FailsWith(1, AllOf(HasSubstr("x.jsonl.bz2' is compressed"),
                                 HasSubstr("| poniente pack -"))));
}

TEST_F(PackJsonlTest, WrongUsageIsNamed) {
  const auto fails = [&](const std::string& options, const std::string& words) {
    EXPECT_THAT(Pack("x.jsonl", "{\"text\": \"a\"}", options),
                FailsWith(2, HasSubstr(words)))
        << options;
  };
  fails("--input-format json",
        "text or jsonl or tokens or messages or token-files, got 'json'");
  fails("--input-format tokens", "--vocab-size N --tokenizer-name NAME");
  fails("--input-format tokens --vocab-size 0 --tokenizer-name t",
        "from 1 to 4294967296, got '0'");
  fails(std::string(kIds) + "--tokenizer bytes", "leave --tokenizer out");
  fails(std::string(kIds) + "--eod 100", "--eod 100 is outside");
  fails("--vocab-size 7", "--vocab-size is only for inputs that are ids");
  fails("--tokenizer-name t", "--tokenizer-name is for a model");
  fails("--input-format jsonl --delimiter %", "--delimiter are for text");
  fails("--input-format text --field a", "--field names a field of JSONL");
  fails("--input-format text --skip-bad-lines", "skips lines of JSONL");
  fails("--eod x", "--eod must be an id or none, got 'x'");
  fails("--threads 0", "from 1 to 256, got '0'");
  fails("--part 2/2", "such as 3/8; got '2/2'");
  fails("--checkpoint-bytes lots", "such as 256MiB, got 'lots'");
  fails("--block-bytes 2KiB", "such as 4KiB, got '2KiB'");
  fails("--block-bytes 128KiB", "such as 4KiB, got '128KiB'");
  fails("--block-bytes 6KiB", "must be a power of two, got 6144");
}

}  // namespace
}  // namespace poniente::testing
