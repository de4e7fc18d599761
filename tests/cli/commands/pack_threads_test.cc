// SPDX-License-Identifier: Apache-2.0
// A store is the same to the byte whatever number of threads made it, and holds
// what a plain loop over the input finds in it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "tests/cli/packed_store.h"
#include "tests/cli/run_tool.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"

namespace poniente::testing {
namespace {

// A unit of work has 2^19 bytes, a line of more than 2^16 is none to cut at.
constexpr size_t kUnit = size_t{1} << 19;
constexpr size_t kLine = size_t{1} << 16;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(TestSeed(seed)) {}

  size_t Below(size_t n) { return static_cast<size_t>(engine_() % n); }
  std::string Text(size_t bytes) {
    std::string text(bytes, '\0');
    for (char& c : text) c = static_cast<char>('a' + engine_() % 26);
    return text;
  }

 private:
  std::mt19937_64 engine_;
};

// Lines short and long, blank ones between them, one that spans units.
std::string Prose(Random* random, size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    const size_t kind = random->Below(40);
    if (kind == 0) {
      text += random->Text(kLine - 3 + random->Below(8));
    } else if (kind < 10) {
      text += random->Below(2) == 0 ? " \t\r" : "";
    } else {
      text += random->Text(random->Below(3000));
    }
    text += '\n';
  }
  text += random->Text(3 * kUnit) + "\n\n\n";
  text += std::string(2 * kUnit, ' ') + "\n\nlast";
  return text;
}

// Documents cut at blank lines of at most kLine bytes.
std::vector<std::string> Paragraphs(const std::string& text) {
  std::vector<std::string> documents(1);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string line = text.substr(at, end - at);
    at = end;
    if (line.size() > kLine ||
        line.find_first_not_of(" \t\r\n") != std::string::npos) {
      documents.back() += line;
    } else if (!documents.back().empty()) {
      documents.emplace_back();
    }
  }
  if (documents.back().empty()) documents.pop_back();
  return documents;
}

class PackThreadsTest : public ::testing::Test {
 protected:
  PackThreadsTest() { std::filesystem::create_directories(in()); }

  std::string in() const { return folder_.path("in"); }
  void Write(const std::string& name, const std::string& text) {
    WriteFile(in() + "/" + name, text);
  }
  // Packs with each number of threads, and gives the documents.
  std::vector<NamedIds> PackWithEach(const std::string& options) {
    const auto path = [&](int threads) {
      return folder_.path("out-" + std::to_string(threads));
    };
    for (const int threads : {1, 2, 3, 4, 7, 8}) {
      const ToolRun run =
          RunTool("pack " + in() + " " + options + " --out " + path(threads) +
                  " --threads " + std::to_string(threads) + " --direct " +
                  (threads % 3 == 1 ? "off" : "on"));
      EXPECT_EQ(run.exit_code, 0) << run.err;
      EXPECT_TRUE(FilesIn(path(threads)) == FilesIn(path(1))) << threads;
    }
    return PackedDocuments(path(1));
  }

  const TempDir folder_;
};

TEST_F(PackThreadsTest, WholeFilesOfAnySize) {
  Random random(81);
  std::vector<NamedIds> expected;
  int i = 0;
  for (const size_t bytes : {size_t{1}, kUnit - 1, kUnit, kUnit + 1, size_t{0},
                             3 * kUnit, 2 * kUnit + 7, size_t{65536}}) {
    const std::string name(1, static_cast<char>('a' + i++));
    const std::string text = random.Text(bytes);
    Write(name, text);
    if (bytes > 0) expected.emplace_back(name, EndedBytesOf(text));
  }
  EXPECT_TRUE(PackWithEach("") == expected);
}

TEST_F(PackThreadsTest, DocumentsThatSpanUnits) {
  Random random(82);
  std::vector<NamedIds> expected;
  for (const std::string name : {"x", "y"}) {
    const std::string text = Prose(&random, 5 * kUnit + random.Below(1000));
    Write(name, text);
    const std::vector<std::string> documents = Paragraphs(text);
    for (size_t d = 0; d < documents.size(); ++d) {
      expected.emplace_back(name + "#" + std::to_string(d + 1),
                            EndedBytesOf(documents[d]));
    }
  }
  EXPECT_TRUE(PackWithEach("--split paragraphs") == expected);
}

TEST_F(PackThreadsTest, BlankLinesWhereUnitsMeet) {
  std::vector<NamedIds> expected;
  for (int shift = -3; shift <= 3; ++shift) {
    const std::string name(1, static_cast<char>('d' + shift));
    const std::string first(kUnit + static_cast<size_t>(shift + 8) - 8, 'x');
    Write(name, first + "\n\n\nsecond\n");
    expected.emplace_back(name + "#1", EndedBytesOf(first + "\n"));
    expected.emplace_back(name + "#2", EndedBytesOf("second\n"));
  }
  EXPECT_TRUE(PackWithEach("--split paragraphs") == expected);
}

TEST_F(PackThreadsTest, WithoutAnEndEveryByteIsAToken) {
  Random random(83);
  const std::string text = random.Text(2 * kUnit + 5) + "\n%\n%\n" +
                           random.Text(kUnit) + "\n%\nlast";
  Write("x", text);
  const auto documents = PackWithEach("--delimiter % --eod none");
  ASSERT_EQ(documents.size(), 3u);
  std::vector<uint32_t> all;
  for (const auto& [name, ids] : documents) {
    all.insert(all.end(), ids.begin(), ids.end());
  }
  std::string without = text;
  for (size_t at; (at = without.find("%\n")) != std::string::npos;) {
    without.erase(at, 2);
  }
  EXPECT_TRUE(all == BytesOf(without));
}

TEST_F(PackThreadsTest, LinesOfJson) {
  Random random(84);
  std::vector<NamedIds> expected;
  std::string lines;
  for (int line = 1; line <= 4000; ++line) {
    if (random.Below(50) == 0) {
      lines += " \r\n";
      continue;
    }
    const std::string text =
        random.Text(line == 77 ? 3 * kUnit : random.Below(1000) / 3);
    lines += nlohmann::json{{"id", line}, {"text", text}}.dump() + "\n";
    expected.emplace_back("x.jsonl#" + std::to_string(line),
                          EndedBytesOf(text));
  }
  Write("x.jsonl", lines.substr(0, lines.size() - 1));
  EXPECT_TRUE(PackWithEach("") == expected);
}

TEST_F(PackThreadsTest, EmptyDocumentsOfIds) {
  std::string lines;
  std::vector<NamedIds> expected;
  for (int line = 1; line <= 100000; ++line) {
    const std::vector<uint32_t> ids(line % 3, static_cast<uint32_t>(line));
    lines += nlohmann::json{{"input_ids", ids}}.dump() + "\n";
    expected.emplace_back("x#" + std::to_string(line), ids);
  }
  Write("x", lines);
  EXPECT_TRUE(PackWithEach("--input-format tokens --vocab-size 100001 "
                           "--tokenizer-name t") == expected);
}

}  // namespace
}  // namespace poniente::testing
