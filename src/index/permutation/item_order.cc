// SPDX-License-Identifier: Apache-2.0
#include "index/permutation/item_order.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "index/int128.h"
#include "index/keyed_hash.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr uint64_t kMaxItems = uint64_t{1} << 63;

// Chunks looked up together; they stay on the stack.
constexpr size_t kChunkBatch = 256;
// Fewer indices than this are permuted faster one by one.
constexpr size_t kWorthABatch = 8;

// Items per chunk; never more than all items, so that the padding, and with it
// the walk, stays short.
uint64_t ChunkItems(const OrderSpec& spec, uint64_t length) {
  if (spec.kind != ShuffleKind::kBlocks) return 1;
  return std::min(spec.chunk_items, length);
}

// Q = ceil(n / c) (docs/index-math.md 3).
uint64_t Chunks(uint64_t length, uint64_t chunk_items) {
  return (length - 1) / chunk_items + 1;
}

Permutation MakeOrder(const OrderShape& shape, uint64_t key) {
  if (shape.kind == ShuffleKind::kFull) return Permutation(shape.length, key);
  if (shape.kind == ShuffleKind::kBlocks) {
    return Permutation(shape.chunks, OrderShape::ChunksKey(key));
  }
  return Permutation(1, key);  // not used
}

absl::Status CheckPositive(const char* what, uint64_t value) {
  if (value > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be at least 1, got 0"));
}

absl::StatusOr<uint64_t> ResolveChunk(const BlockShuffleOptions& blocks,
                                      uint32_t item_tokens) {
  if (blocks.chunk_items && blocks.chunk_tokens) {
    return absl::InvalidArgumentError(absl::StrCat(
        "chunk_items ", *blocks.chunk_items, " and chunk_tokens ",
        *blocks.chunk_tokens, " are both stated; leave one of them out"));
  }
  if (blocks.chunk_items) {
    PONIENTE_RETURN_IF_ERROR(CheckPositive("chunk_items", *blocks.chunk_items));
    return *blocks.chunk_items;
  }
  const uint64_t tokens = blocks.chunk_tokens.value_or(kDefaultChunkTokens);
  PONIENTE_RETURN_IF_ERROR(CheckPositive("chunk_tokens", tokens));
  if (item_tokens == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "chunk_tokens ", tokens, blocks.chunk_tokens ? "" : " (the default)",
        " needs items of one length in tokens, but these differ in length or "
        "are no tokens; state chunk_items instead"));
  }
  return std::max<uint64_t>(1, tokens / item_tokens);
}

}  // namespace

absl::StatusOr<OrderSpec> ResolveShuffle(const ShuffleOptions& options,
                                         uint32_t item_tokens) {
  OrderSpec spec = {.kind = options.kind};
  if (spec.kind == ShuffleKind::kEras) {
    spec.era_items = options.era_items;
    PONIENTE_RETURN_IF_ERROR(CheckPositive("era_items", spec.era_items));
  }
  if (spec.kind == ShuffleKind::kBlocks) {
    spec.window_chunks = options.blocks.window_chunks;
    PONIENTE_RETURN_IF_ERROR(
        CheckPositive("window_chunks", spec.window_chunks));
    PONIENTE_ASSIGN_OR_RETURN(spec.chunk_items,
                              ResolveChunk(options.blocks, item_tokens));
  }
  return spec;
}

absl::Status CheckOrder(const OrderSpec& spec, uint64_t length) {
  PONIENTE_CHECK(spec.era_items > 0 && spec.chunk_items > 0 &&
                 spec.window_chunks > 0)
      << spec.era_items << ' ' << spec.chunk_items << ' ' << spec.window_chunks;
  if (length > kMaxItems) {
    return absl::InvalidArgumentError(
        absl::StrCat(length, " items cannot be shuffled, only 2^63"));
  }
  if (spec.kind != ShuffleKind::kBlocks || length == 0) {
    return absl::OkStatus();
  }
  const uint64_t chunk = ChunkItems(spec, length);
  if (Uint128{Chunks(length, chunk)} * chunk <= kMaxItems) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      length, " items in chunks of ", chunk,
      " take more than 2^63 places with the last chunk filled up; Take() at "
      "most 2^62 of them"));
}

uint64_t OrderFingerprint(const OrderSpec& spec) {
  switch (spec.kind) {
    case ShuffleKind::kFull:
      return 0;
    case ShuffleKind::kNone:
      break;
    case ShuffleKind::kEras:
      return Derive(spec.era_items, Tag("eras"));
    case ShuffleKind::kBlocks:
      return Derive(spec.chunk_items, Tag("blocks"), spec.window_chunks);
  }
  return Derive(0, Tag("stored"));
}

OrderShape::OrderShape(uint64_t items, const OrderSpec& spec)
    : kind(spec.kind),
      length(items),
      chunks(1),
      chunk_items(1),
      part_items(spec.era_items),
      places(items) {
  PONIENTE_CHECK(items >= 1 && CheckOrder(spec, items).ok()) << items;
  if (kind != ShuffleKind::kBlocks) return;
  chunk_items = ChunkItems(spec, items);
  chunks = Chunks(items, chunk_items);
  // The last chunk counts as a full one, and a window has at most all Q chunks.
  places = chunks * chunk_items;
  part_items = std::min(spec.window_chunks, chunks) * chunk_items;
}

// derive(K, 'era', j) or derive(K, 'wind', w) (docs/index-math.md 3).
uint64_t OrderShape::PartKey(ShuffleKind kind, uint64_t key, uint64_t number) {
  return Derive(key, kind == ShuffleKind::kEras ? kEraTag : kWindowTag, number);
}

// derive(K, 'chun'), the key of P1.
uint64_t OrderShape::ChunksKey(uint64_t key) { return Derive(key, kChunksTag); }

ItemOrder::ItemOrder(uint64_t length, uint64_t key, const OrderSpec& spec)
    : shape_(length, spec), key_(key), order_(MakeOrder(shape_, key)) {}

// The era or window that a place lies in: its first place, its size, its key.
ItemOrder::Part ItemOrder::PartAt(uint64_t place) const {
  const uint64_t number = place / shape_.part_items;
  const uint64_t begin = number * shape_.part_items;
  // The last era or window may be shorter.
  return {begin, std::min(shape_.part_items, shape_.places - begin),
          OrderShape::PartKey(shape_.kind, key_, number)};
}

void ItemOrder::PermuteParts(std::span<const uint64_t> in,
                             std::span<uint64_t> out) const {
  for (size_t at = 0; at < in.size();) {
    const Part part = PartAt(in[at]);
    size_t end = at;
    // Below part.begin, the difference wraps to more than any size.
    for (; end < in.size() && in[end] - part.begin < part.size; ++end) {
      out[end] = in[end] - part.begin;
    }
    const Permutation order(part.size, part.key);
    const std::span<uint64_t> run = out.subspan(at, end - at);
    if (run.size() < kWorthABatch) {
      for (uint64_t& place : run) place = order.Forward(place);
    } else {
      order.Forward(run, run);
    }
    for (uint64_t& place : run) place += part.begin;
    at = end;
  }
}

void ItemOrder::LookUpChunks(std::span<uint64_t> places) const {
  uint64_t chunks[kChunkBatch];
  for (size_t at = 0; at < places.size(); at += kChunkBatch) {
    const auto batch =
        places.subspan(at, std::min(kChunkBatch, places.size() - at));
    for (size_t i = 0; i < batch.size(); ++i) {
      // v / c: the place of the chunk; v mod c: the item inside the chunk.
      chunks[i] = batch[i] / shape_.chunk_items;
      batch[i] %= shape_.chunk_items;
    }
    order_.Forward({chunks, batch.size()}, {chunks, batch.size()});
    for (size_t i = 0; i < batch.size(); ++i) {
      // P1(v / c) * c + v mod c.
      batch[i] += chunks[i] * shape_.chunk_items;
    }
  }
}

// f(x) of docs/index-math.md 3, or the order of an era.
uint64_t ItemOrder::PassForward(uint64_t place) const {
  const Part part = PartAt(place);
  // v = w * W * c + P_w(x mod (W * c)).
  const uint64_t there =
      part.begin + Permutation(part.size, part.key).Forward(place - part.begin);
  if (shape_.kind == ShuffleKind::kEras) return there;
  // P1(v / c) * c + v mod c.
  return order_.Forward(there / shape_.chunk_items) * shape_.chunk_items +
         there % shape_.chunk_items;
}

// The inverse of f (docs/index-math.md 3): the chunk first, then the window.
uint64_t ItemOrder::PassInverse(uint64_t item) const {
  uint64_t there = item;
  if (shape_.kind == ShuffleKind::kBlocks) {
    // v = P1^-1(y / c) * c + y mod c.
    there = order_.Inverse(item / shape_.chunk_items) * shape_.chunk_items +
            item % shape_.chunk_items;
  }
  const Part part = PartAt(there);
  // w * W * c + P_w^-1(v - w * W * c).
  return part.begin +
         Permutation(part.size, part.key).Inverse(there - part.begin);
}

uint64_t ItemOrder::Forward(uint64_t index) const {
  PONIENTE_CHECK(index < shape_.length) << index << " of " << shape_.length;
  if (shape_.kind == ShuffleKind::kNone) return index;
  if (shape_.kind == ShuffleKind::kFull) return order_.Forward(index);
  // Padding of the last chunk is not an item: apply f again until one comes.
  uint64_t item = index;
  do {
    item = PassForward(item);
  } while (item >= shape_.length);
  return item;
}

uint64_t ItemOrder::Inverse(uint64_t item) const {
  PONIENTE_CHECK(item < shape_.length) << item << " of " << shape_.length;
  if (shape_.kind == ShuffleKind::kNone) return item;
  if (shape_.kind == ShuffleKind::kFull) return order_.Inverse(item);
  uint64_t index = item;
  do {
    index = PassInverse(index);
  } while (index >= shape_.length);
  return index;
}

void ItemOrder::Forward(std::span<const uint64_t> in,
                        std::span<uint64_t> out) const {
  PONIENTE_CHECK(in.size() == out.size()) << in.size() << ' ' << out.size();
  if (shape_.kind == ShuffleKind::kFull) return order_.Forward(in, out);
  for (const uint64_t index : in) {
    PONIENTE_CHECK(index < shape_.length) << index << " of " << shape_.length;
  }
  if (shape_.kind == ShuffleKind::kNone) {
    for (size_t i = 0; i < in.size(); ++i) out[i] = in[i];
    return;
  }
  PermuteParts(in, out);
  if (shape_.kind == ShuffleKind::kEras) return;
  LookUpChunks(out);
  for (uint64_t& item : out) {
    while (item >= shape_.length) item = PassForward(item);
  }
}

void ItemOrder::Inverse(std::span<const uint64_t> in,
                        std::span<uint64_t> out) const {
  PONIENTE_CHECK(in.size() == out.size()) << in.size() << ' ' << out.size();
  if (shape_.kind == ShuffleKind::kFull) return order_.Inverse(in, out);
  for (size_t i = 0; i < in.size(); ++i) out[i] = Inverse(in[i]);
}

}  // namespace poniente::internal
