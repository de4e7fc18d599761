// SPDX-License-Identifier: Apache-2.0
// The page that describes the format and the code that implements it agree:
// the very dump of docs/token_store_format.md is read and is written.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "poniente/token_store.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using testing::Documents;
using testing::IsOk;
using testing::IsOkAndHolds;
using testing::ReadFile;
using testing::TempDir;

// The lines of one dump to bytes.
std::string ParseDump(std::istream& in) {
  std::string bytes, line, last_row;
  bool repeats = false;
  while (std::getline(in, line) && line != "```") {
    if (line == "*") {
      repeats = true;
      continue;
    }
    std::istringstream words(line.substr(0, line.find('|')));
    size_t offset = 0;
    words >> std::hex >> offset;
    while (repeats && bytes.size() < offset) bytes += last_row;
    repeats = false;
    EXPECT_EQ(bytes.size(), offset) << line;
    std::string row;
    for (int byte; words >> std::hex >> byte;) {
      row += static_cast<char>(byte);
    }
    bytes += row;
    last_row = row;
  }
  return bytes;
}

// File name to bytes, as a section of the page says.
std::map<std::string, std::string> DumpsOf(const std::string& section) {
  std::istringstream page(
      ReadFile(PONIENTE_SOURCE_DIR "/docs/token_store_format.md"));
  std::map<std::string, std::string> files;
  std::string line, heading;
  bool is_in = false;
  while (std::getline(page, line)) {
    if (line.starts_with("## ")) is_in = line.substr(3) == section;
    if (line.starts_with("### ")) heading = line.substr(4);
    if (is_in && line == "```hexdump") files[heading] = ParseDump(page);
  }
  return files;
}

std::map<std::string, std::string> DumpsOfThePage() {
  return DumpsOf("A store of two documents, byte for byte");
}

// The page shows what differs from the store without a mask.
std::map<std::string, std::string> MaskedDumpsOfThePage() {
  std::map<std::string, std::string> files =
      DumpsOf("The same store with a loss mask");
  EXPECT_EQ(files.size(), 3u);
  files.merge(DumpsOfThePage());
  return files;
}

std::map<std::string, std::string> FilesIn(const std::string& path) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    files[entry.path().filename()] = ReadFile(entry.path());
  }
  return files;
}

// "Hello" and "ok", each followed by the end-of-document id.
const Documents kDocuments = {
    {"greetings/hello", {72, 101, 108, 108, 111, 256}},
    {"\xc3\xbc", {111, 107, 256}}};
// "He" has no loss.
const Documents kMaskedDocuments = {
    {kDocuments[0].name, kDocuments[0].ids,
     std::vector<uint8_t>{0, 0, 1, 1, 1, 1}},
    {kDocuments[1].name, kDocuments[1].ids, std::vector<uint8_t>{1, 1, 1}}};

TEST(TokenStoreFormatTest, ThePageShowsAllFourFiles) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : DumpsOfThePage()) names.push_back(name);
  EXPECT_THAT(names,
              ::testing::ElementsAre("checksums-1.bin", "documents-1.bin",
                                     "manifest.json", "tokens-1.bin"));
}

TEST(TokenStoreFormatTest, ReadsTheBytesOfThePage) {
  const TempDir folder;
  for (const auto& [name, bytes] : DumpsOfThePage()) {
    testing::WriteFile(folder.path(name), bytes);
  }
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_THAT(VerifyTokenStore(*store), IsOk());
  EXPECT_THAT(testing::ReadStore(*store), IsOkAndHolds(kDocuments));
  EXPECT_EQ(store->vocabulary(), (Vocabulary{"bytes", 257}));
  EXPECT_EQ(store->token_type(), TokenType::kU16);
  EXPECT_EQ(store->end_of_document(), 256u);
  EXPECT_EQ(store->num_tokens(), 9u);
  EXPECT_EQ(store->num_documents(), 2u);
  EXPECT_EQ(store->tokenizer_library(), "poniente-bytes 1");
  EXPECT_EQ(store->fingerprint(), 0x9922b6069d386e22u);
  EXPECT_EQ(store->num_bytes(), 0x26fu + 4096 + 4096 + 8);
}

TEST(TokenStoreFormatTest, TheWriterMakesTheBytesOfThePage) {
  const TempDir folder;
  const std::string path = folder.path("store");
  TokenStoreWriterOptions options = testing::ByteOptions();
  options.tokenizer_library = "poniente-bytes 1";
  ASSERT_THAT(testing::WriteStore(path, kDocuments, options), IsOk());
  EXPECT_EQ(FilesIn(path), DumpsOfThePage());
}

TEST(TokenStoreFormatTest, ReadsTheBytesOfThePageWithAMask) {
  const TempDir folder;
  for (const auto& [name, bytes] : MaskedDumpsOfThePage()) {
    testing::WriteFile(folder.path(name), bytes);
  }
  ASSERT_OK_AND_ASSIGN(const auto store, TokenStore::Open(folder.path()));
  EXPECT_THAT(VerifyTokenStore(*store), IsOk());
  EXPECT_TRUE(store->has_loss_mask());
  EXPECT_THAT(testing::ReadStore(*store), IsOkAndHolds(kMaskedDocuments));
}

TEST(TokenStoreFormatTest, TheWriterMakesTheBytesOfThePageWithAMask) {
  const TempDir folder;
  const std::string path = folder.path("store");
  TokenStoreWriterOptions options = testing::ByteOptions();
  options.tokenizer_library = "poniente-bytes 1";
  // Documents without a mask have loss everywhere.
  Documents documents = kMaskedDocuments;
  documents[1].has_loss.reset();
  ASSERT_THAT(testing::WriteStore(path, documents, options), IsOk());
  EXPECT_EQ(FilesIn(path), MaskedDumpsOfThePage());
}

// The literals are those of a Python program written from the page alone.
TEST(TokenStoreFormatTest, ManyBlocksHaveTheChecksumsThatThePageDefines) {
  const TempDir folder;
  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", 256};
  options.block_bytes = 65536;
  testing::TextDocument document = {"d", {}};
  for (uint32_t i = 0; i < 70000; ++i) document.ids.push_back(i * 7 % 251);
  ASSERT_OK_AND_ASSIGN(const TokenStoreFacts facts,
                       testing::WriteStore(folder.path(), {document}, options));
  EXPECT_EQ(facts.fingerprint, 0x05ef3f4c2d608940u);
  const unsigned char checksums[] = {0xfe, 0x4c, 0x6d, 0x8c, 0x9a, 0xcb,
                                     0xed, 0xfb, 0xca, 0x2b, 0x0a, 0x5a};
  EXPECT_EQ(ReadFile(folder.path("checksums-1.bin")),
            std::string(reinterpret_cast<const char*>(checksums), 12));
}

TEST(TokenStoreFormatTest, AMaskOfManyBlocksHasTheChecksumsThatThePageDefines) {
  const TempDir folder;
  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", 256};
  testing::TextDocument document = {"d", {}, std::vector<uint8_t>()};
  for (uint32_t i = 0; i < 70000; ++i) {
    document.ids.push_back(i * 7 % 251);
    document.has_loss->push_back(i % 3 == 0 || i % 5 == 1 ? 1 : 0);
  }
  ASSERT_OK_AND_ASSIGN(const TokenStoreFacts facts,
                       testing::WriteStore(folder.path(), {document}, options));
  EXPECT_EQ(facts.fingerprint, 0x29a8200226be0287u);
  const unsigned char last[] = {0xa1, 0x11, 0xcc, 0x7c, 0xf8, 0x54,
                                0x5b, 0x8f, 0xe0, 0x20, 0xd5, 0x77};
  const std::string checksums = ReadFile(folder.path("checksums-1.bin"));
  EXPECT_EQ(checksums.substr(checksums.size() - 12),
            std::string(reinterpret_cast<const char*>(last), 12));
}

}  // namespace
}  // namespace poniente
