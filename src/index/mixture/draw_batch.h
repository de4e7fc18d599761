// SPDX-License-Identifier: Apache-2.0
// The draws of components that have only a few in a block, taken step by step,
// all of them together: the part of an item, the window, the chunk, the item.
// Each step is one call of a permutation kernel, which takes an index of each
// of many permutations.

#ifndef PONIENTE_INDEX_MIXTURE_DRAW_BATCH_H_
#define PONIENTE_INDEX_MIXTURE_DRAW_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/mixture/draw_table.h"
#include "index/permutation/permutation_kernels.h"

namespace poniente::internal {

// What a sample reads.
struct DrawSlot {
  uint64_t index;
  uint64_t epoch;
  uint32_t child;
  TokenPart part;
};

// Keeps its memory from one block to the next.
class DrawBatch {
 public:
  // From this number on, the draws of one component are faster on their own.
  static constexpr size_t kTooMany = 17;

  // Begins a block. Borrows both until Finish().
  void Begin(const DrawTable& table, std::span<DrawSlot> slots);
  // Takes as many as it can of consecutive draws of a component, whose slots
  // follow one another, and returns how many. Their slots are complete after
  // Finish().
  size_t Take(uint32_t component, uint64_t ordinal, size_t slot, size_t count);
  void Finish();

 private:
  // Indices to be permuted, each by a permutation of its own.
  class Indices {
   public:
    void Clear() { count_ = 0; }
    void Add(size_t slot, uint64_t size, uint64_t key, uint64_t index) {
      if (count_ == slots_.size()) Grow();
      slots_[count_] = static_cast<uint32_t>(slot);
      sizes_[count_] = size;
      keys_[count_] = key;
      indices_[count_] = index;
      ++count_;
    }
    void Permute(PermutationKernel::EachFunction each) {
      each(sizes_.data(), keys_.data(), indices_.data(), count_);
    }
    size_t count() const { return count_; }
    size_t slot(size_t i) const { return slots_[i]; }
    uint64_t operator[](size_t i) const { return indices_[i]; }

   private:
    void Grow();

    size_t count_ = 0;
    std::vector<uint32_t> slots_;
    std::vector<uint64_t> sizes_;
    std::vector<uint64_t> keys_;
    std::vector<uint64_t> indices_;
  };
  // Consecutive draws of one group of a component with cut items.
  struct CutRun {
    size_t segment;
    uint64_t epoch_key;
    uint64_t first_place;
    size_t first_slot;
    size_t first;  // in cut_
    size_t count;
  };
  // Further data of the entries of windows_ and chunks_, with the same numbers.
  struct InWindow {
    uint64_t begin;
    uint64_t chunks_key;
    size_t segment;
  };
  struct InChunk {
    uint64_t item;  // in the chunk
    size_t segment;
  };
  struct Rest {
    size_t slot;
    size_t segment;
  };

  // Adds the places from place(0) to place(count - 1) of one epoch to the
  // indices that the epoch's order needs.
  template <class Place>
  void AddPlaces(size_t number, uint64_t epoch_key, size_t first_slot,
                 size_t count, const Place& place);
  template <class Place>
  void AddParts(size_t number, uint64_t epoch_key, size_t first_slot,
                size_t count, const Place& place);
  void TakeCuts();
  void TakeWindows();
  void TakeChunks();
  void TakeRest();
  void TakeItems(const Indices& indices);

  const DrawTable* table_ = nullptr;
  std::span<DrawSlot> slots_;
  Indices cut_;  // parts of groups
  std::vector<CutRun> cut_runs_;
  Indices windows_;
  std::vector<InWindow> in_windows_;
  Indices chunks_;
  std::vector<InChunk> in_chunks_;
  Indices narrow_;
  Indices wide_;
  // Slots whose index is still a place; they are taken one by one.
  std::vector<Rest> rest_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_DRAW_BATCH_H_
