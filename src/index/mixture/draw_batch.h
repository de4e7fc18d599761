// SPDX-License-Identifier: Apache-2.0
// The draws of components that have only a few in a block, taken step by step,
// all of them together: the part of an item, the window, the chunk, the item.
// Each step is one call of a permutation kernel, which takes two indices of
// each of many permutations, and derives their keys.

#ifndef PONIENTE_INDEX_MIXTURE_DRAW_BATCH_H_
#define PONIENTE_INDEX_MIXTURE_DRAW_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/keyed_hash.h"
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
  // Two draws of one epoch, which share their networks. A draw that is alone is
  // both of them.
  struct Pair {
    uint32_t segment;
    uint32_t first;  // slots
    uint32_t second;
  };
  // A number for each of them. Passed by value, in registers: an array would
  // go through memory.
  struct Two {
    uint64_t first;
    uint64_t second;
  };

  // Pairs of indices to be permuted, each pair by a permutation of its own.
  class Indices {
   public:
    void Clear() { count_ = 0; }
    // The key is that of `segment`, with the epoch of the pair's slots added;
    // `word` may be added by Derive().
    void Add(Pair pair, KeyHash segment, uint64_t epoch, uint64_t size,
             uint64_t word, Two indices) {
      // A local number: the stores could change a member.
      const size_t i = count_;
      if (i == pairs_.size()) Grow();
      pairs_[i] = pair;
      keys_[i] = segment.key();
      epochs_[i] = epoch;
      sizes_[i] = size;
      words_[i] = word;
      firsts_[i] = indices.first;
      seconds_[i] = indices.second;
      count_ = i + 1;
    }
    // The keys become those of the epochs. To be called first.
    void DeriveEpochs(const PermutationKernel& kernel);
    // Each key becomes Derive(key, tag), or Derive(key, tag, word).
    void Derive(const PermutationKernel& kernel, Tag tag);
    void DeriveByWord(const PermutationKernel& kernel, Tag tag);
    void Permute(PermutationKernel::EachFunction each);

    size_t count() const { return count_; }
    Pair pair(size_t i) const { return pairs_[i]; }
    uint64_t epoch(size_t i) const { return epochs_[i]; }
    uint64_t word(size_t i) const { return words_[i]; }
    Two operator[](size_t i) const { return {firsts_[i], seconds_[i]}; }

   private:
    void Grow();

    size_t count_ = 0;
    std::vector<Pair> pairs_;
    std::vector<uint64_t> keys_;
    std::vector<uint64_t> epochs_;
    std::vector<uint64_t> sizes_;
    std::vector<uint64_t> words_;
    std::vector<uint64_t> firsts_;
    std::vector<uint64_t> seconds_;
  };
  // A place that is mapped on its own.
  struct Rest {
    uint64_t place;
    uint32_t segment;
    uint32_t slot;
  };

  // Adds two places of an epoch to the indices that its order needs.
  void AddPlaces(Pair pair, uint64_t epoch, Two places);
  void AddParts(Pair pair, uint64_t epoch, Two places);
  // Adds two places of an era or window.
  void AddPart(Pair pair, uint64_t epoch, uint64_t part, Two in_part);
  // A draw whose slot still has its place.
  void LeaveToRest(uint32_t segment, uint32_t slot);
  void SetIndices(Pair pair, Two indices) {
    slots_[pair.first].index = indices.first;
    slots_[pair.second].index = indices.second;
  }
  void TakeCuts();
  void TakeEras();
  void TakeWindows();
  void TakeChunks();
  void TakeRest();
  void TakeItems(const Indices& indices);

  const DrawTable* table_ = nullptr;
  std::span<DrawSlot> slots_;
  Indices cut_;      // parts of groups; word: the group's first place
  Indices eras_;     // word: the era
  Indices windows_;  // word: the window
  Indices chunks_;   // word: the two items' numbers in the chunks, 32 bits each
  Indices narrow_;
  Indices wide_;
  std::vector<Rest> rest_;
};

}  // namespace poniente::internal

#endif  // PONIENTE_INDEX_MIXTURE_DRAW_BATCH_H_
