// SPDX-License-Identifier: Apache-2.0
#include "index/mixture/draw_batch.h"

#include <algorithm>

namespace poniente::internal {

void DrawBatch::Indices::Grow() {
  const size_t size = std::max<size_t>(2 * count_, 256);
  slots_.resize(size);
  sizes_.resize(size);
  keys_.resize(size);
  indices_.resize(size);
}

void DrawBatch::Begin(const DrawTable& table, std::span<DrawSlot> slots) {
  table_ = &table;
  slots_ = slots;
  for (Indices* indices : {&cut_, &windows_, &chunks_, &narrow_, &wide_}) {
    indices->Clear();
  }
  cut_runs_.clear();
  in_windows_.clear();
  in_chunks_.clear();
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
    const uint64_t key = KeyHash(segment.key).Add(epoch).key();
    if (segment.parts > 1) {
      const DrawTable::Cut& cut = table_->cut(number);
      // y = x - p * r, g = min(G, Q - p).
      uint64_t y = x;
      const uint64_t first = cut.per_group.Divide(&y) * cut.group;
      const uint64_t parts =
          std::min(cut.group, cut.length - first) * segment.parts;
      if (!PermutationKernel::IsOfEach(parts)) break;
      here = std::min(here, parts - y);
      cut_runs_.push_back({number, key, first, slot, cut_.count(), here});
      const uint64_t part_key = ItemDraws::PartKey(key, first);
      for (uint64_t i = 0; i < here; ++i) {
        cut_.Add(slot + i, parts, part_key, y + i);
      }
    } else {
      AddPlaces(number, key, slot, here, [&](size_t i) { return x + i; });
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

template <class Place>
void DrawBatch::AddPlaces(size_t number, uint64_t epoch_key, size_t first_slot,
                          size_t count, const Place& place) {
  switch (table_->segment(number).order) {
    case DrawTable::Order::kStored:
      for (size_t i = 0; i < count; ++i) {
        slots_[first_slot + i].index = place(i);
      }
      break;
    case DrawTable::Order::kNarrow:
    case DrawTable::Order::kWide: {
      const uint64_t length = table_->LengthOf(number);
      Indices& indices =
          table_->segment(number).order == DrawTable::Order::kNarrow ? narrow_
                                                                     : wide_;
      for (size_t i = 0; i < count; ++i) {
        indices.Add(first_slot + i, length, epoch_key, place(i));
      }
      break;
    }
    case DrawTable::Order::kParts:
      AddParts(number, epoch_key, first_slot, count, place);
      break;
  }
}

// Eras and windows of docs/index-math.md 3: place x of era or window w.
template <class Place>
void DrawBatch::AddParts(size_t number, uint64_t epoch_key, size_t first_slot,
                         size_t count, const Place& place) {
  const DrawTable::Parts& parts = table_->parts(number);
  const uint64_t chunks_key =
      parts.is_eras ? 0 : OrderShape::ChunksKey(epoch_key);
  // Most draws of a run lie in the same part.
  uint64_t last = UINT64_MAX;
  uint64_t key = 0;
  for (size_t i = 0; i < count; ++i) {
    uint64_t x = place(i);
    const uint64_t part = parts.part_items.Divide(&x);
    const uint64_t begin = place(i) - x;
    const uint64_t size =
        std::min(parts.part_items.value(), parts.places - begin);
    // Needed if TakeRest() maps the place on its own.
    slots_[first_slot + i].index = place(i);
    if (!PermutationKernel::IsOfEach(size)) {
      rest_.push_back({first_slot + i, number});
      continue;
    }
    if (part != last) {
      key = OrderShape::PartKey(
          parts.is_eras ? ShuffleKind::kEras : ShuffleKind::kBlocks, epoch_key,
          part);
      last = part;
    }
    windows_.Add(first_slot + i, size, key, x);
    in_windows_.push_back({begin, chunks_key, number});
  }
}

// Epoch e, place p + y / r, part y mod r of docs/index-math.md 2.7.
void DrawBatch::TakeCuts() {
  for (const CutRun& run : cut_runs_) {
    const DrawTable::Segment& segment = table_->segment(run.segment);
    const DrawTable::Cut& cut = table_->cut(run.segment);
    uint64_t places[kTooMany];
    for (size_t i = 0; i < run.count; ++i) {
      uint64_t part = cut_[run.first + i];
      places[i] = run.first_place + cut.per_item.Divide(&part);
      if (segment.part_length != kWholeItem) {
        slots_[run.first_slot + i].part.begin =
            static_cast<uint32_t>(part) * cut.part_stride;
      }
    }
    AddPlaces(run.segment, run.epoch_key, run.first_slot, run.count,
              [&](size_t i) { return places[i]; });
  }
}

// v = w * W * c + P_w(x mod (W * c)) of docs/index-math.md 3.
void DrawBatch::TakeWindows() {
  for (size_t i = 0; i < windows_.count(); ++i) {
    const InWindow& in = in_windows_[i];
    const DrawTable::Parts& parts = table_->parts(in.segment);
    uint64_t v = in.begin + windows_[i];
    if (parts.is_eras) {
      slots_[windows_.slot(i)].index = v;
      continue;
    }
    const uint64_t chunk = parts.chunk_items.Divide(&v);
    chunks_.Add(windows_.slot(i), parts.chunks, in.chunks_key, chunk);
    in_chunks_.push_back({v, in.segment});
  }
}

// P1(v / c) * c + v mod c.
void DrawBatch::TakeChunks() {
  for (size_t i = 0; i < chunks_.count(); ++i) {
    const InChunk& in = in_chunks_[i];
    const DrawTable::Parts& parts = table_->parts(in.segment);
    const uint64_t item = chunks_[i] * parts.chunk_items.value() + in.item;
    if (item >= parts.length) {
      rest_.push_back({chunks_.slot(i), in.segment});
    } else {
      slots_[chunks_.slot(i)].index = item;
    }
  }
}

void DrawBatch::TakeRest() {
  for (const Rest& rest : rest_) {
    DrawSlot& slot = slots_[rest.slot];
    const DrawTable::Parts& parts = table_->parts(rest.segment);
    const KeyHash key = table_->segment(rest.segment).key;
    slot.index = ItemOrder(parts.length, KeyHash(key).Add(slot.epoch).key(),
                           parts.spec())
                     .Forward(slot.index);
  }
}

void DrawBatch::TakeItems(const Indices& indices) {
  for (size_t i = 0; i < indices.count(); ++i) {
    slots_[indices.slot(i)].index = indices[i];
  }
}

void DrawBatch::Finish() {
  const PermutationKernel& kernel = BestPermutationKernel();
  cut_.Permute(kernel.each);
  TakeCuts();
  windows_.Permute(kernel.each);
  TakeWindows();
  chunks_.Permute(kernel.each);
  TakeChunks();
  TakeRest();
  narrow_.Permute(kernel.each);
  TakeItems(narrow_);
  wide_.Permute(kernel.each_wide);
  TakeItems(wide_);
}

}  // namespace poniente::internal
