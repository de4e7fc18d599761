// SPDX-License-Identifier: Apache-2.0
#include "formats/megatron/one_based_ids.h"

#include <algorithm>
#include <type_traits>

#include "absl/strings/str_cat.h"
#include "util/byte_order.h"

namespace poniente::internal {

absl::Status OneBasedIds::Locate(TokenRange tokens,
                                 std::vector<TokenRun>* runs) const {
  const uint64_t per_block = kBlockBytes / StoredTypeBytes(type_);
  for (uint64_t at = tokens.begin; at < tokens.end;) {
    const uint64_t within = at % per_block;
    const uint64_t some = std::min(per_block - within, tokens.end - at);
    runs->push_back({at / per_block, within * StoredTypeBytes(type_), some});
    at += some;
  }
  return absl::OkStatus();
}

absl::StatusOr<BlockDecoder::Stored> OneBasedIds::Find(uint64_t block) const {
  return Stored{0, block * kBlockBytes, DecodedBytes(block)};
}

uint64_t OneBasedIds::DecodedBytes(uint64_t block) const {
  return std::min(kBlockBytes, bytes_ - block * kBlockBytes);
}

template <class Id>
absl::Status OneBasedIds::TakeOneOff(uint64_t block,
                                     std::span<const std::byte> stored,
                                     std::span<std::byte> decoded) const {
  using Bits = std::make_unsigned_t<Id>;
  for (size_t at = 0; at + sizeof(Id) <= decoded.size(); at += sizeof(Id)) {
    const auto id = static_cast<Id>(LoadLittle<Bits>(&stored[at]));
    if (id <= 0) {
      return absl::DataLossError(absl::StrCat(
          "'", path_, "': byte ", block * kBlockBytes + at, " stores ", id,
          ", expected at least 1: Fairseq stores ids one greater; the file is "
          "damaged or is not Fairseq's"));
    }
    StoreLittle(static_cast<Bits>(id - 1), &decoded[at]);
  }
  return absl::OkStatus();
}

absl::Status OneBasedIds::Decode(uint64_t block,
                                 std::span<const std::byte> stored,
                                 std::span<std::byte> decoded) const {
  if (stored.size() != decoded.size()) {
    return absl::DataLossError(
        absl::StrCat("'", path_, "': ", stored.size(), " bytes at byte ",
                     block * kBlockBytes, ", expected ", decoded.size()));
  }
  switch (type_) {
    case StoredType::kU8:
      return TakeOneOff<uint8_t>(block, stored, decoded);
    case StoredType::kI8:
      return TakeOneOff<int8_t>(block, stored, decoded);
    case StoredType::kU16:
      return TakeOneOff<uint16_t>(block, stored, decoded);
    case StoredType::kI16:
      return TakeOneOff<int16_t>(block, stored, decoded);
    case StoredType::kU32:
      return TakeOneOff<uint32_t>(block, stored, decoded);
    case StoredType::kI32:
      return TakeOneOff<int32_t>(block, stored, decoded);
    case StoredType::kU64:
      return TakeOneOff<uint64_t>(block, stored, decoded);
    case StoredType::kI64:
      return TakeOneOff<int64_t>(block, stored, decoded);
  }
  return absl::InternalError("unknown stored type");
}

}  // namespace poniente::internal
