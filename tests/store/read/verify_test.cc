// SPDX-License-Identifier: Apache-2.0
// What a verification finds that opening a store does not, and what it says.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "poniente/token_store.h"
#include "store/manifest/manifest.h"
#include "store/manifest/manifest_text.h"
#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "util/crc32c.h"

namespace poniente {
namespace {

using ::testing::AllOf;
using testing::ByteOptions;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ProvenDocuments;
using testing::ReadFile;
using testing::StatusIs;
using testing::TempDir;
using testing::WriteFile;
using testing::WriteStore;

TEST(VerifyTokenStoreTest, ReportsProgressUpToTheEnd) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({2000000}, 257)),
              IsOk());
  std::vector<uint64_t> seen;
  uint64_t total = 0;
  ASSERT_THAT(VerifyTokenStore(folder.path(),
                               [&](uint64_t done, uint64_t of) {
                                 seen.push_back(done);
                                 total = of;
                               }),
              IsOk());
  EXPECT_GE(seen.size(), 4u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), total);
  EXPECT_EQ(total, 4001792u + 4096);
}

TEST(VerifyTokenStoreTest, NamesFileBlockOffsetChecksumsAndRemedy) {
  const TempDir folder;
  TokenStoreWriterOptions options = ByteOptions();
  options.block_bytes = 4096;
  ASSERT_THAT(WriteStore(folder.path(), ProvenDocuments({9000}, 257), options),
              IsOk());
  std::string bytes = testing::ReadFile(folder.path("tokens-1.bin"));
  bytes[2 * 4096 + 5] ^= 1;
  testing::WriteFile(folder.path("tokens-1.bin"), bytes);
  EXPECT_THAT(VerifyTokenStore(folder.path()),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("tokens-1.bin"), HasSubstr("block 2 "),
                             HasSubstr("from byte 8192"), HasSubstr("stored"),
                             HasSubstr("computed"), HasSubstr("restore"))));
}

// Writes the manifest anew, with a right checksum, after `change`.
void ChangeManifest(
    const std::string& path,
    const std::function<void(internal::StoreManifest*)>& change) {
  auto manifest = internal::ParseManifest(ReadFile(path + "/manifest.json"));
  ASSERT_THAT(manifest, IsOk());
  change(&*manifest);
  WriteFile(path + "/manifest.json", internal::EncodeManifest(*manifest));
}

uint32_t ChecksumOf(const std::string& bytes) {
  return internal::Crc32c(std::as_bytes(std::span(bytes)));
}

// Makes all checksums of a store of one block per file right again.
void Reseal(const std::string& path) {
  std::string checksums(8, '\0');
  const uint32_t tokens = ChecksumOf(ReadFile(path + "/tokens-1.bin"));
  const uint32_t documents = ChecksumOf(ReadFile(path + "/documents-1.bin"));
  std::memcpy(checksums.data(), &tokens, 4);
  std::memcpy(checksums.data() + 4, &documents, 4);
  WriteFile(path + "/checksums-1.bin", checksums);
  ChangeManifest(path, [&](internal::StoreManifest* manifest) {
    manifest->checksums_crc32c = ChecksumOf(checksums);
  });
}

class SealedStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(WriteStore(path(), ProvenDocuments({30, 0, 7}, 257)), IsOk());
    Reseal(path());
    ASSERT_THAT(VerifyTokenStore(path()), IsOk());
  }
  std::string path() const { return folder_.path(); }

  void SetWord(size_t word, uint64_t value) {
    std::string bytes = ReadFile(path() + "/documents-1.bin");
    std::memcpy(bytes.data() + 8 * word, &value, 8);
    WriteFile(path() + "/documents-1.bin", bytes);
    Reseal(path());
  }
  void ExpectFound(const char* words) {
    EXPECT_THAT(VerifyTokenStore(path()),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr(path()), HasSubstr(words),
                               HasSubstr("restore"))));
  }

  const TempDir folder_;
};

TEST_F(SealedStoreTest, AFingerprintOfOtherContentIsFound) {
  ChangeManifest(path(), [](internal::StoreManifest* manifest) {
    manifest->fingerprint ^= 1;
  });
  ExpectFound("fingerprint");
}

TEST_F(SealedStoreTest, OtherDataUnderRightChecksumsIsFound) {
  std::string bytes = ReadFile(path() + "/tokens-1.bin");
  std::swap(bytes[0], bytes[2]);
  WriteFile(path() + "/tokens-1.bin", bytes);
  Reseal(path());
  ExpectFound("fingerprint");
}

TEST_F(SealedStoreTest, AChecksumsFileOfAnotherStoreIsFound) {
  ChangeManifest(path(), [](internal::StoreManifest* manifest) {
    manifest->checksums_crc32c ^= 1;
  });
  ExpectFound("checksums-1.bin': checksum mismatch");
}

TEST_F(SealedStoreTest, AnIdOutsideOfTheVocabularyIsFound) {
  ChangeManifest(path(), [](internal::StoreManifest* manifest) {
    manifest->vocabulary.size = 100;
    manifest->end_of_document = 99;
  });
  ExpectFound("the vocabulary has ids below 100");
}

TEST_F(SealedStoreTest, EndsThatFallAreFound) {
  SetWord(1, 29);
  ExpectFound("document 1 ends at 29, expected 30 to 37");
}

TEST_F(SealedStoreTest, EndsBeyondTheStoreAreFound) {
  SetWord(0, 38);
  ExpectFound("document 0 ends at 38, expected 0 to 37");
}

TEST_F(SealedStoreTest, ALastEndThatFallsShortIsFound) {
  SetWord(2, 36);
  ExpectFound("document 2 ends at 36, expected 37 to 37");
}

TEST_F(SealedStoreTest, NameEndsAreCheckedToo) {
  SetWord(4, 5);
  ExpectFound("name 1 ends at 5");
}

}  // namespace
}  // namespace poniente
