// SPDX-License-Identifier: Apache-2.0
// How the samples of a step are shared among ranks, the samples of a rank among
// micro-batches, and the tokens of a sample among context-parallel ranks.
// docs/ranks.md explains when to use which.
//
// All functions are pure: their arguments alone decide the result, so every
// rank computes the shares of all ranks without communication. They may run on
// any number of threads.

#ifndef PONIENTE_SHARES_H_
#define PONIENTE_SHARES_H_

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente {

// How the samples of a step are divided among the ranks. It decides which rank
// has which samples of a step, and their order; not which samples a step has.
// All ranks must agree.
struct SampleSharing {
  // Whether all ranks get nearly the same work, by BalancedOrder(): for samples
  // of several documents and attention within documents. Else the shares are
  // consecutive.
  bool even_work = false;
  // The work of a window of packed documents is SampleWork() of their lengths,
  // with this linear_cost. Any other sample counts as one document.
  uint64_t linear_cost = 0;

  friend bool operator==(const SampleSharing&, const SampleSharing&) = default;
};

// Samples [begin, end) of a step's batch.
struct BatchShare {
  uint64_t begin = 0;
  uint64_t end = 0;

  friend bool operator==(const BatchShare&, const BatchShare&) = default;
};

// Returns what rank `rank` of `ranks` reads of a batch of `batch_size` samples.
// The shares of all ranks follow one another without gaps and differ in size by
// at most one. REQUIRES: rank < ranks.
BatchShare RankShare(uint64_t batch_size, uint32_t rank, uint32_t ranks);

// Returns the work of a sample, as BalancedOrder() takes it: the sum of the
// squares of `document_lengths`, for attention within documents, plus
// `linear_cost` for each of `tokens`, for everything else. A result beyond
// 2^64 - 1 is returned as 2^64 - 1.
//
// Lengths are in tokens. A piece of a document counts as a document. `tokens`
// is the length of the sample, padding included, if the model computes padding.
//
// `linear_cost` is the work of the linear layers for one token, where the
// attention of one token to another is 1. For a transformer of width d whose
// feed-forward layers have the width 4 * d, it is about 6 * d if the attention
// kernel computes all pairs of tokens of a document, and 12 * d if it skips
// those that a causal mask hides. With 0, only attention counts.
uint64_t SampleWork(std::span<const uint32_t> document_lengths, uint64_t tokens,
                    uint64_t linear_cost);

// Returns the samples of a step in an order in which the shares of RankShare()
// have nearly the same work: rank r of R has the samples
//
//   order[share.begin], ..., order[share.end - 1]
//   where share = RankShare(order.size(), r, R),
//
// with the greatest work first. work[i] is the work of sample i of the step, in
// any unit; the result is a permutation of 0 ... work.size() - 1.
//
// The rule is LPT (longest processing time first) in which each rank has room
// for the samples of its share: samples by descending work, equal ones by
// ascending number; each goes to the rank with the least work so far among
// those with room, among equals to the lowest rank. Because every rank has its
// samples in this order, the j-th samples of all ranks are alike, too.
//
// No work overflows: sums have 128 bits. If there are more ranks than samples,
// some shares are empty, as in RankShare(). A sample is never divided, so if
// one has more work than the mean of a rank, its rank has more, too. Takes
// O(B log R + R). REQUIRES: ranks > 0; fewer than 2^32 samples.
std::vector<uint64_t> BalancedOrder(std::span<const uint64_t> work,
                                    uint32_t ranks);

// Divides the samples of a rank into consecutive micro-batches whose sizes are
// at most `budget`. sizes[i] is the size of the i-th sample of the rank, in the
// unit of `budget`: real tokens, or work. A sample above the budget is a
// micro-batch of its own, the only kind that exceeds the budget.
//
// Returns as few micro-batches as possible, but not fewer than `at_least`. The
// number being fixed, they are evened out: micro-batches of several samples are
// at most as large as the least limit that allows this number, and are filled
// up to this limit from the first on. None is empty unless `at_least` exceeds
// the number of samples; the last ones are then empty.
//
// The numbers count the samples of the rank, in its order, from 0 on. Ranks may
// get different numbers of micro-batches. If the trainer needs the same number
// (because it communicates in each of them, as with sharded parameters), divide
// the samples of every rank, and pass the greatest number as `at_least`.
std::vector<BatchShare> MicroBatches(std::span<const uint64_t> sizes,
                                     uint64_t budget, uint64_t at_least = 0);

// How the tokens of a sample are shared among C context-parallel ranks. All
// ranks get the same number of tokens.
enum class ContextSplit {
  // C equal chunks; rank c has chunk c. Under a causal mask, later ranks have
  // more work.
  kContiguous,
  // 2 * C equal chunks; rank c has chunks c and 2 * C - 1 - c. All ranks have
  // the same work if the sample is one document.
  kZigZag,
  // Each document is cut into 2 * C equal chunks; rank c has chunks c and
  // 2 * C - 1 - c of every document. All ranks have the same work whatever the
  // documents. Their lengths must be multiples of 2 * C: pad them.
  kZigZagPerDocument
};

// Which part of each sample a context-parallel rank has.
struct ContextRank {
  uint32_t rank = 0;  // below ranks
  uint32_t ranks = 1;
  ContextSplit split = ContextSplit::kZigZag;

  friend bool operator==(const ContextRank&, const ContextRank&) = default;
};

// Tokens [begin, end) of a sample.
struct ContextChunk {
  uint32_t begin = 0;
  uint32_t end = 0;

  friend bool operator==(const ContextChunk&, const ContextChunk&) = default;
};

// Consecutive tokens of one document that lie in one chunk of a slice.
struct DocumentPart {
  // The number of the document in the sample, from 0 on. Padding behind the
  // last document counts as one more document.
  uint32_t document = 0;
  // Where the part begins, in tokens, in its document and in the sample. Token
  // i of the part has position begin_in_document + i; under a causal mask, its
  // keys are tokens 0 ... begin_in_document + i of the document.
  uint32_t begin_in_document = 0;
  uint32_t begin_in_sample = 0;
  uint32_t tokens = 0;  // at least 1

  friend bool operator==(const DocumentPart&, const DocumentPart&) = default;
};

// The part of a sample that one context-parallel rank has.
struct ContextSlice {
  // The tokens of the slice in its order, which is that of the sample. One
  // chunk, two, or two per document that is not empty; chunks that touch are
  // not joined, so that all ranks have the same number.
  std::vector<ContextChunk> chunks = {};
  // The parts of documents in the slice, in its order. Together they are all of
  // its tokens. No part spans two chunks. Empty documents have none.
  std::vector<DocumentPart> parts = {};
  // Part i is tokens [cu_seqlens[i], cu_seqlens[i + 1]) of the slice:
  // cumulative lengths of the parts in the type that attention kernels take.
  // Has parts.size() + 1 elements, the first of which is 0.
  std::vector<int32_t> cu_seqlens = {};
  // The length of the longest part; 0 if there is none.
  int32_t max_seqlen = 0;

  friend bool operator==(const ContextSlice&, const ContextSlice&) = default;
};

// Returns what context-parallel rank `rank` of `ranks` has of a sample of
// `seq_len` tokens whose documents have the lengths `document_lengths`, in the
// order of the sample, without gaps from its first token on. Tokens behind them
// are padding. Without lengths, the sample is one document. Every token is in
// the slice of exactly one rank.
//
// With kZigZagPerDocument, parts 2 * i and 2 * i + 1 are the two chunks of one
// document, of equal length. Kernels that take both as one sequence need every
// second element of cu_seqlens.
//
// InvalidArgument, with the values, if rank >= ranks, seq_len is 2^31 or more
// or not a multiple of `ranks` (kContiguous) or of 2 * ranks (others), the
// lengths add up to more than seq_len, or, with kZigZagPerDocument, a length is
// not a multiple of 2 * ranks. Takes O(documents).
absl::StatusOr<ContextSlice> MakeContextSlice(
    ContextSplit split, uint32_t seq_len,
    std::span<const uint32_t> document_lengths, uint32_t rank, uint32_t ranks);

}  // namespace poniente

#endif  // PONIENTE_SHARES_H_
