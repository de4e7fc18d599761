// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/draw_batch.h"

#include <algorithm>

namespace poniente::internal {

void DrawBatch::Indices::Grow() {
  const size_t size = std::max<size_t>(2 * count_, 256);
  for (auto* words :
       {&keys_, &epochs_, &sizes_, &words_, &firsts_, &seconds_}) {
    words->resize(size);
  }
  pairs_.resize(size);  // last: Add() goes by its size, if one of them throws
}

// K_e of docs/index-math.md 1.1.
void DrawBatch::Indices::DeriveEpochs(const PermutationKernel& kernel) {
  kernel.add(epochs_.data(), keys_.data(), count_);
}

void DrawBatch::Indices::Derive(const PermutationKernel& kernel, Tag tag) {
  kernel.derive(tag.word(), keys_.data(), count_);
}

void DrawBatch::Indices::DeriveByWord(const PermutationKernel& kernel,
                                      Tag tag) {
  Derive(kernel, tag);
  kernel.add(words_.data(), keys_.data(), count_);
}

void DrawBatch::Indices::Permute(PermutationKernel::EachFunction each) {
  each(sizes_.data(), keys_.data(), firsts_.data(), seconds_.data(), count_);
}

void DrawBatch::Begin(const DrawTable& table, std::span<DrawSlot> slots) {
  table_ = &table;
  slots_ = slots;
  for (Indices* indices :
       {&cut_, &eras_, &windows_, &chunks_, &narrow_, &wide_}) {
    indices->Clear();
  }
  rest_.clear();
}

// draw(n) of docs/index-math.md 2.7 up to the group's shuffle.
size_t DrawBatch::Take(uint32_t component, uint64_t ordinal, size_t slot,
                       size_t count) {
  size_t taken = 0;
  while (taken < count) {
    const size_t number = table_->NumberOf(component, ordinal);
    const DrawTable::Segment& segment = table_->segment(number);
    if (segment.parts == 0) break;
    // x = J mod (Q * r), e = J / (Q * r).
    uint64_t x = ordinal + segment.offset;
    const uint64_t epoch = segment.epoch + segment.per_epoch.Divide(&x);
    uint64_t here = std::min<uint64_t>(
        {count - taken, segment.per_epoch.value() - x, segment.end - ordinal});
    const auto pair_of = [&](uint64_t i) -> Pair {
      return {static_cast<uint32_t>(number), static_cast<uint32_t>(slot + i),
              static_cast<uint32_t>(slot + std::min(i + 1, here - 1))};
    };
    if (segment.parts > 1) {
      const DrawTable::Cut& cut = table_->cut(number);
      // y = x - p * r, g = min(G, Q - p).
      uint64_t y = x;
      const uint64_t first = cut.per_group.Divide(&y) * cut.group;
      const uint64_t parts =
          std::min(cut.group, cut.length - first) * segment.parts;
      if (!PermutationKernel::IsOfEach(parts)) break;
      here = std::min(here, parts - y);
      for (uint64_t i = 0; i < here; i += 2) {
        cut_.Add(pair_of(i), segment.key, epoch, parts, first,
                 {y + i, y + std::min(i + 1, here - 1)});
      }
    } else {
      for (uint64_t i = 0; i < here; i += 2) {
        AddPlaces(pair_of(i), epoch, {x + i, x + std::min(i + 1, here - 1)});
      }
    }
    // Field by field: a whole slot would first be put together on the stack and
    // then read back.
    for (uint64_t i = 0; i < here; ++i) {
      DrawSlot& to = slots_[slot + i];
      to.epoch = epoch;
      to.child = segment.child;
      to.part.begin = 0;
      to.part.length = segment.part_length;
    }
    taken += here;
    slot += here;
    ordinal += here;
  }
  return taken;
}

inline void DrawBatch::AddPlaces(Pair pair, uint64_t epoch, Two places) {
  const DrawTable::Segment& segment = table_->segment(pair.segment);
  switch (segment.order) {
    case DrawTable::Order::kStored:
      SetIndices(pair, places);
      break;
    case DrawTable::Order::kNarrow:
      narrow_.Add(pair, segment.key, epoch, table_->LengthOf(pair.segment), 0,
                  places);
      break;
    case DrawTable::Order::kWide:
      wide_.Add(pair, segment.key, epoch, table_->LengthOf(pair.segment), 0,
                places);
      break;
    case DrawTable::Order::kParts:
      AddParts(pair, epoch, places);
      break;
  }
}

// Eras and windows of docs/index-math.md 3: place x of era or window w.
void DrawBatch::AddParts(Pair pair, uint64_t epoch, Two places) {
  const DrawTable::Parts& parts = table_->parts(pair.segment);
  Two x = places;
  const uint64_t part = parts.part_items.Divide(&x.first);
  const uint64_t other = parts.part_items.Divide(&x.second);
  // Needed if a place is to be mapped on its own.
  SetIndices(pair, places);
  if (part == other) return AddPart(pair, epoch, part, x);
  AddPart({pair.segment, pair.first, pair.first}, epoch, part,
          {x.first, x.first});
  AddPart({pair.segment, pair.second, pair.second}, epoch, other,
          {x.second, x.second});
}

inline void DrawBatch::AddPart(Pair pair, uint64_t epoch, uint64_t part,
                               Two in_part) {
  const DrawTable::Parts& parts = table_->parts(pair.segment);
  const uint64_t size = std::min(
      parts.part_items.value(), parts.places - part * parts.part_items.value());
  if (!PermutationKernel::IsOfEach(size)) {
    LeaveToRest(pair.segment, pair.first);
    LeaveToRest(pair.segment, pair.second);
    return;
  }
  (parts.is_eras ? eras_ : windows_)
      .Add(pair, table_->segment(pair.segment).key, epoch, size, part, in_part);
}

void DrawBatch::LeaveToRest(uint32_t segment, uint32_t slot) {
  rest_.push_back({slots_[slot].index, segment, slot});
}

// Epoch e, place p + y / r, part y mod r of docs/index-math.md 2.7.
void DrawBatch::TakeCuts() {
  for (size_t i = 0; i < cut_.count(); ++i) {
    const Pair pair = cut_.pair(i);
    const DrawTable::Cut& cut = table_->cut(pair.segment);
    Two part = cut_[i];
    const uint64_t first = cut_.word(i);
    const Two places = {first + cut.per_item.DivideShort(&part.first),
                        first + cut.per_item.DivideShort(&part.second)};
    if (table_->segment(pair.segment).part_length != kWholeItem) {
      slots_[pair.first].part.begin =
          static_cast<uint32_t>(part.first) * cut.part_stride;
      slots_[pair.second].part.begin =
          static_cast<uint32_t>(part.second) * cut.part_stride;
    }
    AddPlaces(pair, cut_.epoch(i), places);
  }
}

void DrawBatch::TakeEras() {
  for (size_t i = 0; i < eras_.count(); ++i) {
    const Pair pair = eras_.pair(i);
    const uint64_t begin =
        eras_.word(i) * table_->parts(pair.segment).part_items.value();
    const Two in_era = eras_[i];
    SetIndices(pair, {begin + in_era.first, begin + in_era.second});
  }
}

// v = w * W * c + P_w(x mod (W * c)) of docs/index-math.md 3.
void DrawBatch::TakeWindows() {
  for (size_t i = 0; i < windows_.count(); ++i) {
    const Pair pair = windows_.pair(i);
    const DrawTable::Parts& parts = table_->parts(pair.segment);
    // v / c = w * W + P_w(...) / c.
    const uint64_t first = windows_.word(i) * parts.window_chunks;
    Two v = windows_[i];
    const Two chunk = {first + parts.chunk_items.DivideShort(&v.first),
                       first + parts.chunk_items.DivideShort(&v.second)};
    chunks_.Add(pair, table_->segment(pair.segment).key, windows_.epoch(i),
                parts.chunks, v.first | v.second << 32, chunk);
  }
}

// P1(v / c) * c + v mod c.
void DrawBatch::TakeChunks() {
  for (size_t i = 0; i < chunks_.count(); ++i) {
    const Pair pair = chunks_.pair(i);
    const DrawTable::Parts& parts = table_->parts(pair.segment);
    const uint64_t c = parts.chunk_items.value();
    const Two chunk = chunks_[i];
    const uint64_t in_chunk = chunks_.word(i);
    const auto take = [&](uint32_t slot, uint64_t item) {
      if (item < parts.length) {
        slots_[slot].index = item;
      } else {
        LeaveToRest(pair.segment, slot);
      }
    };
    take(pair.first, chunk.first * c + static_cast<uint32_t>(in_chunk));
    take(pair.second, chunk.second * c + (in_chunk >> 32));
  }
}

void DrawBatch::TakeRest() {
  for (const Rest& rest : rest_) {
    DrawSlot& slot = slots_[rest.slot];
    const DrawTable::Parts& parts = table_->parts(rest.segment);
    const KeyHash key = table_->segment(rest.segment).key;
    slot.index = ItemOrder(parts.length, KeyHash(key).Add(slot.epoch).key(),
                           parts.spec())
                     .Forward(rest.place);
  }
}

void DrawBatch::TakeItems(const Indices& indices) {
  for (size_t i = 0; i < indices.count(); ++i) {
    SetIndices(indices.pair(i), indices[i]);
  }
}

void DrawBatch::Finish() {
  const PermutationKernel& kernel = BestPermutationKernel();
  cut_.DeriveEpochs(kernel);
  cut_.DeriveByWord(kernel, kSubWindowTag);
  cut_.Permute(kernel.each);
  TakeCuts();
  eras_.DeriveEpochs(kernel);
  eras_.DeriveByWord(kernel, kEraTag);
  eras_.Permute(kernel.each);
  TakeEras();
  windows_.DeriveEpochs(kernel);
  windows_.DeriveByWord(kernel, kWindowTag);
  windows_.Permute(kernel.each);
  TakeWindows();
  chunks_.DeriveEpochs(kernel);
  chunks_.Derive(kernel, kChunksTag);
  chunks_.Permute(kernel.each);
  TakeChunks();
  TakeRest();
  narrow_.DeriveEpochs(kernel);
  narrow_.Permute(kernel.each);
  TakeItems(narrow_);
  wide_.DeriveEpochs(kernel);
  wide_.Permute(kernel.each_wide);
  TakeItems(wide_);
}

}  // namespace poniente::internal
