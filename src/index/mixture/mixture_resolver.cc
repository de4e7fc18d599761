// SPDX-License-Identifier: Apache-2.0
// Implements MixtureMap::Resolve(). If one call, or several calls in
// succession, ask for a large part of a block, computes the whole block: its
// runs of draws, and their items, from which the order inside the block picks.
// Each thread keeps the items of its last block.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

#include "index/mixture/draw_batch.h"
#include "index/mixture/mixture_map.h"
#include "util/check.h"

namespace poniente::internal {
namespace {

// Computing a whole block costs about as much as computing one in this many of
// its samples one by one.
constexpr uint64_t kWholeBlockPart = 8;
// Several small calls together cause a whole block to be computed only if it
// has at most this many samples. A larger block takes time and memory that a
// caller of small calls does not expect.
constexpr uint64_t kMaxAddedUp = 16384;
constexpr size_t kMaxRemembered = 256;

}  // namespace

// The work of one call of Resolve(). Keeps what neighbouring indices share.
class MixtureMap::Resolver {
 public:
  explicit Resolver(const MixtureMap& map) : map_(map) {}

  void Resolve(std::span<const Position> positions,
               std::span<ChildPosition> out) {
    for (size_t at = 0; at < positions.size();) {
      const Block block = map_.plan_->BlockOf(positions[at].index);
      const uint64_t epoch = positions[at].epoch;
      size_t end = at + 1;
      while (end < positions.size() && block.Contains(positions[end].index) &&
             positions[end].epoch == epoch) {
        ++end;
      }
      const BlockOrder order = map_.plan_->OrderOf(block, map_.seed_);
      const auto here = positions.subspan(at, end - at);
      const auto there = out.subspan(at, end - at);
      if (IsWorthAll(block, epoch, here.size())) {
        TakeFromWhole(order, here, there);
      } else {
        TakeEach(order, here, there);
      }
      at = end;
    }
  }

 private:
  struct Remembered {
    const Component* component = nullptr;
    uint32_t view = 0;
    uint64_t epoch = 0;
    std::optional<ItemOrder> order;
  };

  // Identifies a block among all maps of the process; the contents of a block
  // never change.
  struct BlockId {
    uint64_t map = 0;  // 0: none
    uint64_t first = 0;
    uint64_t epoch = 0;

    friend bool operator==(const BlockId&, const BlockId&) = default;
  };

  const ItemOrder& OrderOf(const Component& component, uint32_t view,
                           uint64_t epoch) {
    Remembered& entry =
        remembered_[map_.NumberOf(component) & (remembered_.size() - 1)];
    if (entry.component != &component || entry.view != view ||
        entry.epoch != epoch) {
      entry = {&component, view, epoch, EpochOrder(component, view, epoch)};
    }
    return *entry.order;
  }

  // Writes draw `ordinal` of the component to `out`, as a position of its
  // child.
  void TakeOne(const Component& component, uint64_t ordinal,
               const Position& position, ChildPosition* out) {
    const ItemDraws::Item item = component.draws.At(ordinal);
    out->child = component.children[item.view];
    out->position.epoch = item.epoch;
    TakePart(TokensOf(item.parts, item.part), position, &out->position);
    const MapComponentView& view = component.views[item.view];
    out->position.index =
        view.is_permuted()
            ? OrderOf(component, item.view, item.epoch).Forward(item.place)
            : item.place;
  }

  void TakeEach(const BlockOrder& order, std::span<const Position> positions,
                std::span<ChildPosition> out) {
    if (remembered_.empty()) {
      remembered_.resize(std::bit_ceil(std::min(
          {positions.size(), map_.components_.size(), kMaxRemembered})));
    }
    for (size_t i = 0; i < positions.size(); ++i) {
      const Draw draw = order.At(positions[i].index);
      const Component& component = map_.components_[draw.component];
      TakeOne(component,
              map_.DrawsBefore(component, positions[i].epoch) + draw.ordinal,
              positions[i], &out[i]);
    }
  }

  // Returns the identity of an epoch's block. In an endless map it is the same
  // in all epochs.
  BlockId IdOf(const Block& block, uint64_t epoch) const {
    return {map_.id_, block.first, map_.length_ ? epoch : 0};
  }

  // Returns whether the slots already hold the block, or `count` more positions
  // make filling them worthwhile.
  bool IsWorthAll(const Block& block, uint64_t epoch, uint64_t count) {
    const BlockId id = IdOf(block, epoch);
    if (scratch_.filled == id) return true;
    if (scratch_.asked != id || block.size > kMaxAddedUp) {
      scratch_.asked = id;
      scratch_.times_asked = 0;
    }
    scratch_.times_asked += count;
    return scratch_.times_asked * kWholeBlockPart >= block.size;
  }

  void TakeFromWhole(const BlockOrder& order,
                     std::span<const Position> positions,
                     std::span<ChildPosition> out) {
    const BlockId id = IdOf(order.block(), positions.front().epoch);
    if (scratch_.filled != id) {
      scratch_.filled = {};  // in case this throws
      FillBlock(order.block(), id.epoch);
      scratch_.filled = id;
    }
    indices_.resize(positions.size());
    for (size_t i = 0; i < positions.size(); ++i) {
      indices_[i] = positions[i].index - order.block().first;
    }
    order.sigma().Forward(indices_, indices_);
    for (size_t i = 0; i < positions.size(); ++i) {
      const DrawSlot& slot = slots_[indices_[i]];
      out[i].child = slot.child;
      out[i].position.index = slot.index;
      out[i].position.epoch = slot.epoch;
      TakePart(slot.part, positions[i], &out[i].position);
    }
  }

  // Writes all samples of a block to the slots, before the order inside the
  // block is applied.
  void FillBlock(const Block& block, uint64_t epoch) {
    slots_.resize(block.size);
    map_.plan_->Expand(block, &runs_);
    few_.Begin(map_.table_, slots_);
    for (const DrawRun& run : runs_) {
      uint64_t ordinal = run.first_ordinal;
      if (epoch != 0) {
        ordinal += map_.DrawsBefore(map_.components_[run.component], epoch);
      }
      size_t taken = 0;
      if (run.count < DrawBatch::kTooMany) {
        taken = few_.Take(run.component, ordinal, run.first_slot, run.count);
      }
      if (taken == run.count) continue;
      FillSlots(map_.components_[run.component], ordinal + taken,
                run.first_slot + taken, run.count - taken);
    }
    few_.Finish();
  }

  // Writes the items of consecutive draws to their slots, one epoch at a time.
  void FillSlots(const Component& component, uint64_t first_ordinal,
                 size_t first_slot, size_t count) {
    for (size_t done = 0; done < count;) {
      done += FillEpoch(component, first_ordinal + done, first_slot + done,
                        count - done);
    }
  }

  // Fills the slots that share view, epoch and group with the first, at most
  // `most`; returns their number.
  size_t FillEpoch(const Component& component, uint64_t first_ordinal,
                   size_t first_slot, size_t most) {
    const ItemDraws::Run run = component.draws.RunAt(first_ordinal);
    const size_t count = std::min<uint64_t>(most, run.count);
    const uint32_t child = component.children[run.view];
    const TokenPart part = TokensOf(run.parts, 0);
    // Field by field: a whole slot would first be put together on the stack and
    // then read back.
    for (size_t i = first_slot; i < first_slot + count; ++i) {
      slots_[i].epoch = run.epoch;
      slots_[i].child = child;
      slots_[i].part.begin = part.begin;
      slots_[i].part.length = part.length;
    }
    if (run.parts.count == 1) {
      places_.resize(count);
      std::iota(places_.begin(), places_.end(), run.first_place + run.number);
      PermuteEpoch(component, run, first_slot);
      return count;
    }
    const uint64_t key = ItemDraws::PartKey(component.draws.EpochKey(run.epoch),
                                            run.first_place);
    places_.resize(count);
    std::iota(places_.begin(), places_.end(), run.number);
    Permutation(run.places * run.parts.count, key).Forward(places_, places_);
    TakeNumbers(run, first_slot);
    PermuteEpoch(component, run, first_slot);
    return count;
  }

  // Replaces the numbers of parts in places_ by their places, and sets the
  // parts of the slots.
  void TakeNumbers(const ItemDraws::Run& run, size_t first_slot) {
    const bool is_short = run.places * run.parts.count <= UINT32_MAX;
    for (size_t i = 0; i < places_.size(); ++i) {
      const uint64_t number = places_[i];
      const uint64_t place =
          is_short ? static_cast<uint32_t>(number) / run.parts.count
                   : number / run.parts.count;
      const auto part = static_cast<uint32_t>(number - place * run.parts.count);
      slots_[first_slot + i].part = TokensOf(run.parts, part);
      places_[i] = run.first_place + place;
    }
  }

  // Puts places_ through the order of their epoch, into the slots from
  // first_slot on.
  void PermuteEpoch(const Component& component, const ItemDraws::Run& run,
                    size_t first_slot) {
    const MapComponentView& view = component.views[run.view];
    if (view.is_permuted()) {
      EpochOrder(component, run.view, run.epoch).Forward(places_, places_);
    }
    for (size_t i = 0; i < places_.size(); ++i) {
      slots_[first_slot + i].index = places_[i];
    }
  }

  const MixtureMap& map_;
  // The last order made for each component, by the low bits of its number.
  std::vector<Remembered> remembered_;
  // Kept by each thread: about 100 bytes per sample of a block, which would
  // otherwise be allocated and freed in each call.
  struct Scratch {
    std::vector<DrawRun> runs;
    std::vector<DrawSlot> slots;
    BlockId filled;  // what the slots hold
    // The last block that they did not hold, and how many of its positions were
    // asked for.
    BlockId asked;
    uint64_t times_asked = 0;
    DrawBatch few;
    std::vector<uint64_t> indices;
    std::vector<uint64_t> places;
  };
  static Scratch& OfThisThread() {
    thread_local Scratch scratch;
    return scratch;
  }
  Scratch& scratch_ = OfThisThread();
  std::vector<DrawRun>& runs_ = scratch_.runs;
  std::vector<DrawSlot>& slots_ = scratch_.slots;
  DrawBatch& few_ = scratch_.few;
  std::vector<uint64_t>& indices_ = scratch_.indices;
  std::vector<uint64_t>& places_ = scratch_.places;
};

uint64_t MixtureMap::NextId() {
  static std::atomic<uint64_t> last = 0;
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

void MixtureMap::Resolve(std::span<const Position> positions,
                         std::span<ChildPosition> out) const {
  PONIENTE_CHECK(positions.size() == out.size()) << positions.size();
  for (const Position& position : positions) {
    PONIENTE_CHECK(!length_ || position.index < *length_)
        << position.index << " of " << *length_;
  }
  Resolver(*this).Resolve(positions, out);
}

}  // namespace poniente::internal
