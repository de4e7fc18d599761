// SPDX-License-Identifier: Apache-2.0
// Every byte of a store changed, every file cut at every length: a Status or
// the values that were written, never a crash, never other values that pass.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/store/small_stores.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace poniente {
namespace {

using testing::Documents;
using testing::IsOk;
using testing::ProvenDocuments;
using testing::TempDir;
using testing::WriteStore;

const Documents& SmallDocuments() {
  static const auto* documents =
      new Documents(testing::WithProvenLoss(ProvenDocuments({40, 0, 3}, 257)));
  return *documents;
}

absl::StatusOr<std::shared_ptr<const TokenStore>> Open(
    const std::string& path) {
  TokenStoreOptions options;
  options.io.backend = IoBackend::kPread;
  // What is left to notice it with; verified_reads_test.cc has the rest.
  options.io.verify = VerifyChecksums::kOff;
  return TokenStore::Open(path, options);
}

// In place: to write a whole file anew costs milliseconds each time.
void SetByte(const std::string& path, size_t offset, char byte) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
  ASSERT_TRUE(file.good()) << path;
}

// What a reader of all there is sees: an error, or that the store verified and
// holds what was written. Anything else fails the test.
void ExpectNoticedOrUnchanged(const std::string& path) {
  const auto store = Open(path);
  if (!store.ok()) return;
  const absl::Status verified = VerifyTokenStore(**store);
  const auto content = testing::ReadStore(**store);
  for (uint64_t t = 0; t < (*store)->num_tokens(); ++t) {
    (*store)->DocumentAt(t).IgnoreError();
  }
  if (!verified.ok()) return;
  ASSERT_THAT(content, IsOk());
  EXPECT_EQ(*content, SmallDocuments());
  EXPECT_EQ((*store)->vocabulary(), (Vocabulary{"bytes", 257}));
  EXPECT_EQ((*store)->end_of_document(), 256u);
}

class DamageTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    ASSERT_THAT(WriteStore(folder_.path(), SmallDocuments()), IsOk());
    bytes_ = testing::ReadFile(file());
    ASSERT_GT(bytes_.size(), 0u);
  }
  std::string file() const { return folder_.path(GetParam()); }

  const TempDir folder_;
  std::string bytes_;
};

TEST_P(DamageTest, AChangedByteIsNoticedOrHarmless) {
  for (size_t i = 0; i < bytes_.size(); ++i) {
    for (const int mask : {0x01, 0x02, 0x20, 0x80, 0xff}) {
      if (mask != 0xff && i > 1024) continue;  // padding
      SetByte(file(), i, static_cast<char>(bytes_[i] ^ mask));
      ExpectNoticedOrUnchanged(folder_.path());
      SetByte(file(), i, bytes_[i]);
      if (HasFailure()) {
        FAIL() << "byte " << i << " of " << GetParam() << " ^ " << mask;
      }
    }
  }
}

TEST_P(DamageTest, AChangedByteOfADataFileNeverVerifies) {
  if (std::string(GetParam()) == "manifest.json") {
    return;  // white space may change; the test above says the rest
  }
  for (size_t i = 0; i < bytes_.size(); i += 3) {
    SetByte(file(), i, static_cast<char>(bytes_[i] ^ 4));
    ASSERT_FALSE(VerifyTokenStore(folder_.path()).ok()) << i;
    SetByte(file(), i, bytes_[i]);
  }
}

TEST_P(DamageTest, EveryOtherLengthIsNoticed) {
  const bool is_manifest = std::string(GetParam()) == "manifest.json";
  for (size_t size = bytes_.size(); size-- > 0;) {
    std::filesystem::resize_file(file(), size);
    // The last byte of a manifest is white space.
    ASSERT_EQ(Open(folder_.path()).ok(),
              is_manifest && size + 1 == bytes_.size())
        << size;
  }
  testing::WriteFile(file(), bytes_ + "x");
  EXPECT_FALSE(Open(folder_.path()).ok());
  testing::WriteFile(file(), bytes_);
  EXPECT_THAT(Open(folder_.path()), IsOk());
}

INSTANTIATE_TEST_SUITE_P(Files, DamageTest,
                         ::testing::Values("manifest.json", "tokens-1.bin",
                                           "documents-1.bin", "checksums-1.bin",
                                           "loss_mask-1.bin"),
                         [](const auto& file_info) {
                           const std::string name = file_info.param;
                           return name.substr(0, name.find_first_of("-."));
                         });

TEST(DamagedStoreTest, FilesOfAnotherStoreAreNoticed) {
  const TempDir folder;
  ASSERT_THAT(WriteStore(folder.path("a"), ProvenDocuments({50}, 257)), IsOk());
  ASSERT_THAT(WriteStore(folder.path("b"), ProvenDocuments({51}, 257)), IsOk());
  for (const char* name :
       {"/tokens-1.bin", "/documents-1.bin", "/checksums-1.bin"}) {
    std::filesystem::copy_file(
        folder.path("a") + name, folder.path("b") + name,
        std::filesystem::copy_options::overwrite_existing);
  }
  EXPECT_FALSE(VerifyTokenStore(folder.path("b")).ok());
}

TEST(DamagedStoreTest, AnUnboundedManifestIsNotRead) {
  const TempDir folder;
  std::filesystem::create_directory(folder.path("s"));
  testing::WriteFile(folder.path("s/manifest.json"), std::string(65537, ' '));
  EXPECT_THAT(Open(folder.path("s")),
              testing::StatusIs(absl::StatusCode::kDataLoss,
                                ::testing::HasSubstr("65537 bytes")));
  std::filesystem::remove(folder.path("s/manifest.json"));
  std::filesystem::create_directory(folder.path("s/manifest.json"));
  EXPECT_FALSE(Open(folder.path("s")).ok());
}

}  // namespace
}  // namespace poniente
