// SPDX-License-Identifier: Apache-2.0
#include "pack/text_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Keeps the documents that are not empty.
class Collector final : public DocumentSink {
 public:
  absl::Status Text(std::string_view text) override {
    document_ += text;
    return absl::OkStatus();
  }
  absl::Status Boundary() override {
    if (!document_.empty()) documents_.push_back(document_);
    document_.clear();
    return absl::OkStatus();
  }
  const std::vector<std::string>& documents() const { return documents_; }

 private:
  std::string document_;
  std::vector<std::string> documents_;
};

std::vector<std::string> Split(const SplitRule& rule,
                               const std::vector<std::string>& pieces) {
  Collector collector;
  TextSplitter splitter(rule, &collector);
  for (const std::string& piece : pieces) {
    EXPECT_TRUE(splitter.Add(piece).ok());
  }
  EXPECT_TRUE(splitter.Finish().ok());
  return collector.documents();
}

const SplitRule kWhole;
const SplitRule kPercent = {SplitRule::Kind::kDelimiter, "%"};
const SplitRule kParagraphs = {SplitRule::Kind::kParagraphs, ""};

TEST(TextSplitterTest, AWholeTextIsOneDocument) {
  EXPECT_THAT(Split(kWhole, {"a\n%\n\nb"}), ElementsAre("a\n%\n\nb"));
  EXPECT_THAT(Split(kWhole, {}), IsEmpty());
}

TEST(TextSplitterTest, CutsAtLinesThatAreTheDelimiter) {
  EXPECT_THAT(Split(kPercent, {"one\ntwo\n%\n 100%\n%%\n%\r\nlast\n%"}),
              ElementsAre("one\ntwo\n", " 100%\n%%\n", "last\n"));
  EXPECT_THAT(Split(kPercent, {"%\n%\n\n%\n"}), ElementsAre("\n"));
}

TEST(TextSplitterTest, CutsAtBlankLines) {
  EXPECT_THAT(Split(kParagraphs, {"\n\na\nb\n \t\r\n\nc"}),
              ElementsAre("a\nb\n", "c"));
}

TEST(TextSplitterTest, ALineLongerThanAnyBufferIsText) {
  const std::string line(300000, ' ');
  EXPECT_THAT(Split(kParagraphs,
                    {line.substr(0, 100000), line.substr(100000), "\n", "\nx"}),
              ElementsAre(line + "\n", "x"));
}

TEST(TextSplitterTest, PiecesDoNotChangeTheDocuments) {
  std::mt19937_64 random(testing::TestSeed(36));
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "%%\n\n\r x"[random() % 8];
    std::vector<std::string> pieces;
    for (size_t at = 0; at < text.size();) {
      const size_t size = random() % 5;
      pieces.push_back(text.substr(at, size));
      at += size;
    }
    for (const SplitRule& rule : {kPercent, kParagraphs}) {
      ASSERT_EQ(Split(rule, pieces), Split(rule, {text})) << text;
    }
  }
}

}  // namespace
}  // namespace poniente::internal
