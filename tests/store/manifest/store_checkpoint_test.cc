// SPDX-License-Identifier: Apache-2.0
#include "store/manifest/store_checkpoint.h"

#include <gtest/gtest.h>

namespace poniente::internal {
namespace {

StoreCheckpoint SomeCheckpoint() {
  StoreCheckpoint checkpoint;
  checkpoint.generation = 3;
  checkpoint.tokens = uint64_t{1} << 40;
  checkpoint.documents = 5;
  checkpoint.name_bytes = 6;
  checkpoint.block_checksum = 0xfedcba98;
  checkpoint.ends_bytes = 40;
  checkpoint.name_ends_bytes = 48;
  checkpoint.ends_checksum = 0x89abcdef;
  checkpoint.name_ends_checksum = 7;
  checkpoint.names_checksum = 8;
  checkpoint.has_loss_mask = true;
  checkpoint.loss_mask_checksum = 9;
  checkpoint.loss_mask_last_byte = 0x7f;
  checkpoint.caller = std::string("a\0b", 3);
  return checkpoint;
}

TEST(StoreCheckpointTest, ComesBackAsItWas) {
  EXPECT_EQ(ParseCheckpoint(EncodeCheckpoint(SomeCheckpoint())),
            SomeCheckpoint());
  EXPECT_EQ(ParseCheckpoint(EncodeCheckpoint({})), StoreCheckpoint());
}

TEST(StoreCheckpointTest, NothingElseIsOne) {
  const std::string text = EncodeCheckpoint(SomeCheckpoint());
  for (size_t bytes = 0; bytes < text.size(); ++bytes) {
    EXPECT_EQ(ParseCheckpoint(text.substr(0, bytes)), std::nullopt) << bytes;
  }
  for (size_t at = 0; at < text.size(); ++at) {
    std::string damaged = text;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_EQ(ParseCheckpoint(damaged), std::nullopt) << at;
  }
  EXPECT_EQ(ParseCheckpoint(text + "x"), std::nullopt);
}

}  // namespace
}  // namespace poniente::internal
