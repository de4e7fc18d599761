// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "poniente/token_store_writer.h"
#include "tests/cli/run_tool.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class InspectTest : public ::testing::Test {
 protected:
  InspectTest() {
    std::filesystem::create_directories(folder_.path("in"));
    WriteFile(folder_.path("in/first"), "Hello\n\"you\"");
    WriteFile(folder_.path("in/second"), "\xff\xfe");
    const ToolRun run =
        RunTool("pack " + folder_.path("in") + " --out " + store());
    EXPECT_EQ(run.exit_code, 0);
    fingerprint_ = ValueOf(run.out, "fingerprint ");
  }

  std::string store() const { return folder_.path("store"); }

  Json InspectJson(const std::string& path) {
    const ToolRun run = RunTool("inspect --json " + path);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const Json json = Json::parse(run.out, nullptr, false);
    EXPECT_TRUE(json.is_object()) << run.out;
    return json;
  }

  const TempDir folder_;
  std::string fingerprint_;
};

TEST_F(InspectTest, SaysInWordsWhatTheStoreHolds) {
  EXPECT_THAT(RunTool("inspect " + store()),
              Prints(AllOf(HasSubstr("bytes"), HasSubstr("u16"),
                           HasSubstr(fingerprint_), HasSubstr("first"),
                           HasSubstr("Hello\\n\"you\""),
                           HasSubstr("72 101 108 108 111 10"))));
}

TEST_F(InspectTest, JsonHasTheKeysThatScriptsReadAndTheirValues) {
  const Json json = InspectJson(store());
  EXPECT_EQ(json["format"], "poniente-token-store");
  EXPECT_EQ(json["dtype"], "u16");
  EXPECT_EQ(json["tokens"], 15);
  EXPECT_EQ(json["documents"], 2);
  EXPECT_EQ(json["shards"], 1);
  EXPECT_EQ(json["warnings"], Json::array());
  EXPECT_EQ(json["tokenizer"], "bytes");
  EXPECT_EQ(json["vocab_size"], 257);
  EXPECT_EQ(json["end_of_document"], 256);
  EXPECT_EQ(json["fingerprint"], fingerprint_);
  EXPECT_EQ(json["first_document"], "first");
  EXPECT_EQ(json["first_text"], "Hello\n\"you\"");
  EXPECT_EQ(json["first_tokens"], Json({72, 101, 108, 108, 111, 10, 34, 121,
                                        111, 117, 34, 256, 255, 254, 256}));
}

TEST_F(InspectTest, VerifyReadsEverything) {
  EXPECT_THAT(RunTool("inspect --verify " + store()),
              Prints(HasSubstr("all checksums match")));
  std::string bytes = ReadFile(store() + "/tokens-1.bin");
  bytes[2] ^= 1;
  WriteFile(store() + "/tokens-1.bin", bytes);
  EXPECT_THAT(RunTool("inspect --verify " + store()),
              FailsWith(1, AllOf(HasSubstr("tokens-1.bin"),
                                 HasSubstr("checksum mismatch in block 0"))));
  // The tokens that it shows are checked as well.
  EXPECT_THAT(RunTool("inspect " + store()),
              FailsWith(1, HasSubstr("checksum")));
}

TEST_F(InspectTest, AStoreCutShortIsOneLine) {
  std::filesystem::resize_file(store() + "/tokens-1.bin", 4095);
  for (const char* options : {"", "--json "}) {
    EXPECT_THAT(RunTool("inspect " + std::string(options) + store()),
                FailsWith(1, AllOf(HasSubstr("tokens-1.bin"), HasSubstr("4095"),
                                   HasSubstr("4096"), HasSubstr("cut short"))));
  }
}

TEST_F(InspectTest, AMissingStoreIsOneLine) {
  EXPECT_THAT(RunTool("inspect " + folder_.path("nowhere")),
              FailsWith(1, AllOf(HasSubstr("there is nothing at"),
                                 HasSubstr("nowhere"))));
  EXPECT_THAT(RunTool("inspect"), FailsWith(2, HasSubstr("expected one PATH")));
}

TEST_F(InspectTest, WarnsOfWhatLooksWrong) {
  WriteFile(store() + "/tokens-2.bin", "half");
  EXPECT_THAT(InspectJson(store())["warnings"].dump(),
              AllOf(HasSubstr("tokens-2.bin"), HasSubstr("writer")));

  TokenStoreWriterOptions options;
  options.vocabulary = {"other", 100};
  options.end_of_document = 99;
  const std::string path = folder_.path("unended");
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       TokenStoreWriter::Create(path, options));
  ASSERT_THAT(writer->AddDocument(std::vector<uint32_t>{1, 2}, "a"), IsOk());
  ASSERT_THAT(writer->Finish(), IsOk());
  const Json json = InspectJson(path);
  EXPECT_THAT(json["warnings"].dump(), HasSubstr("end-of-document id 99"));
  EXPECT_FALSE(json.contains("first_text"));
}

TEST_F(InspectTest, AnIdAboveAStatedVocabularyIsFoundWhereverItIs) {
  std::string ids(3'000'000, '\1');
  ids[1'000'001] = '\2';  // id 0x0201, where no look without --verify falls
  const std::string path = folder_.path("ids.bin");
  WriteFile(path, ids);
  const std::string what = path + " --dtype u16 --vocab-size 512";
  EXPECT_THAT(InspectJson(what)["warnings"].dump(),
              Not(HasSubstr("vocabulary size")));
  EXPECT_THAT(InspectJson(what + " --verify")["warnings"].dump(),
              HasSubstr("id 513 is not below the vocabulary size 512"));
}

TEST_F(InspectTest, AnEmptyStoreIsWarnedOf) {
  TokenStoreWriterOptions options;
  options.vocabulary = {"other", 100};
  const std::string path = folder_.path("empty");
  ASSERT_OK_AND_ASSIGN(const auto writer,
                       TokenStoreWriter::Create(path, options));
  ASSERT_THAT(writer->Finish(), IsOk());
  const Json json = InspectJson(path);
  EXPECT_EQ(json["tokens"], 0);
  EXPECT_THAT(json["warnings"].dump(), HasSubstr("no tokens"));
}

}  // namespace
}  // namespace poniente::testing
