// SPDX-License-Identifier: Apache-2.0
// Three tables support the bitmap. The first has, for each superblock of 4096
// items, the number of selected items before it (64 bits: 1.6 %). The second
// has, for each block of 512 items, the number of selected items since the
// beginning of its superblock (16 bits: 3.1 %). OrdinalOf() adds the two, and
// counts the bits of at most 8 words. The third table has the superblock of
// every 8192nd selected item (64 bits each: 0.1 %). Select() searches the
// superblocks between two of its entries, which are few unless the selection is
// sparse there, and then goes through at most 8 blocks and 8 words.
#include "poniente/selection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "index/selection/select_in_word.h"
#include "util/check.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

constexpr uint64_t kWordItems = 64;
constexpr uint64_t kBlockWords = 8;
constexpr uint64_t kSuperblockBlocks = 8;
constexpr uint64_t kSuperblockWords = kBlockWords * kSuperblockBlocks;

constexpr uint64_t kHintPlaces = 8192;

constexpr uint64_t CeilDiv(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

absl::Status CheckSize(uint64_t size) {
  if (size <= Selection::kMaxItems) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a selection of ", size, " items, only 2^48 are possible"));
}

template <class Word>
absl::StatusOr<std::vector<Word>> Zeros(uint64_t count) {
  try {
    return std::vector<Word>(count);
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for the ", count * sizeof(Word),
                     " bytes of a selection's bitmap; select from parts of the "
                     "dataset, or free some memory"));
  }
}

absl::StatusOr<std::vector<uint64_t>> EmptyBitmap(uint64_t size) {
  PONIENTE_RETURN_IF_ERROR(CheckSize(size));
  return Zeros<uint64_t>(CeilDiv(size, kWordItems));
}

// Returns InvalidArgument if bits past the last item are set.
absl::Status CheckTail(uint64_t size, const std::vector<uint64_t>& words) {
  const uint64_t used = size % kWordItems;
  if (used == 0 || words.back() >> used == 0) return absl::OkStatus();
  const uint64_t bit =
      size - used + 63 - static_cast<uint64_t>(std::countl_zero(words.back()));
  return absl::InvalidArgumentError(
      absl::StrCat("bit ", bit, " of a bitmap of ", size,
                   " items is set; is it the bitmap of another dataset?"));
}

absl::Status CheckLength(uint64_t size, uint64_t got, uint64_t want,
                         const char* unit) {
  if (got == want) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a bitmap of ", size, " items has ", want, " ", unit,
                   ", got ", got, "; is it the bitmap of another dataset?"));
}

// Returns the bitmap of the items for which chosen(i) is true.
template <class Chosen>
absl::StatusOr<std::vector<uint64_t>> BitmapOf(uint64_t size, Chosen chosen) {
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> words, EmptyBitmap(size));
  for (uint64_t w = 0; w < words.size(); ++w) {
    const uint64_t begin = w * kWordItems;
    const uint64_t count = std::min(kWordItems, size - begin);
    uint64_t word = 0;
    for (uint64_t i = 0; i < count; ++i) {
      word |= uint64_t{chosen(begin + i)} << i;
    }
    words[w] = word;
  }
  return words;
}

template <class Score>
absl::StatusOr<std::vector<uint64_t>> BitmapAtLeast(
    std::span<const Score> scores, Score threshold) {
  if (std::isnan(threshold)) {
    return absl::InvalidArgumentError("the threshold is not a number");
  }
  const auto bad = std::find_if(scores.begin(), scores.end(),
                                [](Score score) { return std::isnan(score); });
  if (bad != scores.end()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "score ", bad - scores.begin(), " of ", scores.size(),
        " is not a number; give items that have no score one that is, such as "
        "-inf"));
  }
  return BitmapOf(scores.size(),
                  [&](uint64_t i) { return scores[i] >= threshold; });
}

}  // namespace

struct Selection::State {
  absl::Status Build();
  uint64_t CountBelow(uint64_t item) const;
  // Returns the superblock that contains the selected item with ordinal
  // `place`.
  uint64_t FindSuperblock(uint64_t place) const;
  bool Holds(uint64_t superblock, uint64_t place) const {
    return superblocks[superblock] <= place &&
           place < superblocks[superblock + 1];
  }
  uint64_t SelectIn(uint64_t superblock, uint64_t place) const;
  // Returns the first selected item after `item` in its superblock; nullopt if
  // there is none.
  std::optional<uint64_t> NextNear(uint64_t item) const;

  uint64_t size = 0;
  uint64_t count = 0;
  uint64_t fingerprint = 0;
  std::vector<uint64_t> words;
  // The number of selected items before each superblock; the last entry is the
  // number of all.
  std::vector<uint64_t> superblocks;
  // The superblocks that contain ordinals 0, kHintPlaces, ...; the last entry
  // is the last superblock.
  std::vector<uint64_t> hints;
  // The number of selected items from the beginning of the superblock to that
  // of each block.
  std::vector<uint16_t> blocks;
};

absl::Status Selection::State::Build() {
  const uint64_t full = CeilDiv(words.size(), kSuperblockWords);
  PONIENTE_ASSIGN_OR_RETURN(superblocks, Zeros<uint64_t>(full + 1));
  PONIENTE_ASSIGN_OR_RETURN(
      blocks, Zeros<uint16_t>(CeilDiv(words.size(), kBlockWords)));
  internal::KeyHash hash(size);
  hash.Add(internal::Tag("select"));
  for (uint64_t w = 0; w < words.size(); ++w) {
    if (w % kSuperblockWords == 0) superblocks[w / kSuperblockWords] = count;
    if (w % kBlockWords == 0) {
      blocks[w / kBlockWords] =
          static_cast<uint16_t>(count - superblocks[w / kSuperblockWords]);
    }
    count += static_cast<uint64_t>(std::popcount(words[w]));
    hash.Add(words[w]);
  }
  superblocks[full] = count;
  PONIENTE_ASSIGN_OR_RETURN(hints,
                            Zeros<uint64_t>(CeilDiv(count, kHintPlaces) + 1));
  uint64_t superblock = 0;
  for (uint64_t h = 0; h + 1 < hints.size(); ++h) {
    while (superblocks[superblock + 1] <= h * kHintPlaces) ++superblock;
    hints[h] = superblock;
  }
  hints.back() = full == 0 ? 0 : full - 1;
  fingerprint = hash.key();
  return absl::OkStatus();
}

uint64_t Selection::State::CountBelow(uint64_t item) const {
  if (item == size) return count;
  const uint64_t word = item / kWordItems;
  uint64_t below =
      superblocks[word / kSuperblockWords] + blocks[word / kBlockWords];
  for (uint64_t w = word / kBlockWords * kBlockWords; w < word; ++w) {
    below += static_cast<uint64_t>(std::popcount(words[w]));
  }
  const uint64_t mask = (uint64_t{1} << item % kWordItems) - 1;
  return below + static_cast<uint64_t>(std::popcount(words[word] & mask));
}

uint64_t Selection::State::FindSuperblock(uint64_t place) const {
  const uint64_t hint = place / kHintPlaces;
  const auto begin = superblocks.begin();
  const auto after = std::upper_bound(
      begin + static_cast<ptrdiff_t>(hints[hint]),
      begin + static_cast<ptrdiff_t>(hints[hint + 1]) + 1, place);
  return static_cast<uint64_t>(after - begin) - 1;
}

uint64_t Selection::State::SelectIn(uint64_t superblock, uint64_t place) const {
  uint64_t left = place - superblocks[superblock];
  uint64_t block = superblock * kSuperblockBlocks;
  const uint64_t end =
      std::min<uint64_t>(block + kSuperblockBlocks, blocks.size());
  while (block + 1 < end && blocks[block + 1] <= left) ++block;
  left -= blocks[block];
  uint64_t word = block * kBlockWords;
  while (true) {
    const auto here = static_cast<uint64_t>(std::popcount(words[word]));
    if (left < here) break;
    left -= here;
    ++word;
  }
  return word * kWordItems + internal::SelectInWord(words[word], left);
}

std::optional<uint64_t> Selection::State::NextNear(uint64_t item) const {
  uint64_t word = item / kWordItems;
  const uint64_t end = std::min<uint64_t>(
      (word / kSuperblockWords + 1) * kSuperblockWords, words.size());
  // Shifts twice, because a shift by 64 is undefined.
  uint64_t bits = words[word] & ((~uint64_t{0} << item % kWordItems) << 1);
  while (bits == 0) {
    if (++word == end) return std::nullopt;
    bits = words[word];
  }
  return word * kWordItems + static_cast<uint64_t>(std::countr_zero(bits));
}

Selection::Selection() {
  static const auto empty = [] {
    auto state = std::make_shared<State>();
    PONIENTE_CHECK(state->Build().ok());
    return std::shared_ptr<const State>(std::move(state));
  }();
  state_ = empty;
}

Selection::Selection(std::shared_ptr<const State> state)
    : state_(std::move(state)) {}

absl::StatusOr<Selection> Selection::FromChecked(uint64_t size,
                                                 std::vector<uint64_t> words) {
  auto state = std::make_shared<State>();
  state->size = size;
  state->words = std::move(words);
  PONIENTE_RETURN_IF_ERROR(state->Build());
  return Selection(std::move(state));
}

absl::StatusOr<Selection> Selection::AtLeast(std::span<const float> scores,
                                             float threshold) {
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> words,
                            BitmapAtLeast(scores, threshold));
  return FromChecked(scores.size(), std::move(words));
}

absl::StatusOr<Selection> Selection::AtLeast(std::span<const double> scores,
                                             double threshold) {
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> words,
                            BitmapAtLeast(scores, threshold));
  return FromChecked(scores.size(), std::move(words));
}

absl::StatusOr<Selection> Selection::FromBitmap(uint64_t size,
                                                std::vector<uint64_t> words) {
  PONIENTE_RETURN_IF_ERROR(CheckSize(size));
  PONIENTE_RETURN_IF_ERROR(
      CheckLength(size, words.size(), CeilDiv(size, kWordItems), "words"));
  PONIENTE_RETURN_IF_ERROR(CheckTail(size, words));
  return FromChecked(size, std::move(words));
}

absl::StatusOr<Selection> Selection::FromBitmap(
    uint64_t size, std::span<const std::byte> bytes) {
  PONIENTE_RETURN_IF_ERROR(CheckSize(size));
  PONIENTE_RETURN_IF_ERROR(
      CheckLength(size, bytes.size(), CeilDiv(size, 8), "bytes"));
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> words, EmptyBitmap(size));
  if (!bytes.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
  PONIENTE_RETURN_IF_ERROR(CheckTail(size, words));
  return FromChecked(size, std::move(words));
}

absl::StatusOr<Selection> Selection::FromIndices(
    uint64_t size, std::span<const uint64_t> indices) {
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> words, EmptyBitmap(size));
  for (size_t i = 0; i < indices.size(); ++i) {
    const uint64_t item = indices[i];
    if (item >= size) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry ", i, " of a list of indices is ", item,
                       ", the dataset has ", size, " items"));
    }
    const uint64_t bit = uint64_t{1} << item % kWordItems;
    if ((words[item / kWordItems] & bit) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("entry ", i, " of a list of indices names item ", item,
                       " a second time; name each once"));
    }
    words[item / kWordItems] |= bit;
  }
  return FromChecked(size, std::move(words));
}

absl::StatusOr<Selection> Selection::ByHash(uint64_t size, double fraction,
                                            uint64_t seed) {
  if (!(fraction > 0 && fraction < 1)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the fraction must lie between 0 and 1, both excluded, got ",
        fraction));
  }
  const auto below = static_cast<uint64_t>(std::ldexp(fraction, 64));
  internal::KeyHash key(seed);
  key.Add(internal::kHoldTag);
  PONIENTE_ASSIGN_OR_RETURN(
      std::vector<uint64_t> words, BitmapOf(size, [&](uint64_t item) {
        return internal::KeyHash(key).Add(item).key() < below;
      }));
  return FromChecked(size, std::move(words));
}

absl::StatusOr<Selection> Selection::Complement() const {
  PONIENTE_ASSIGN_OR_RETURN(std::vector<uint64_t> words, EmptyBitmap(size()));
  for (uint64_t w = 0; w < words.size(); ++w) words[w] = ~state_->words[w];
  const uint64_t used = size() % kWordItems;
  if (used != 0) words.back() &= (uint64_t{1} << used) - 1;
  return FromChecked(size(), std::move(words));
}

uint64_t Selection::size() const { return state_->size; }
uint64_t Selection::count() const { return state_->count; }
uint64_t Selection::fingerprint() const { return state_->fingerprint; }

uint64_t Selection::memory_bytes() const {
  return sizeof(State) + 8 * state_->words.capacity() +
         8 * state_->superblocks.capacity() + 8 * state_->hints.capacity() +
         2 * state_->blocks.capacity();
}

bool Selection::Contains(uint64_t item) const {
  PONIENTE_CHECK(item < size()) << item << " of " << size();
  return (state_->words[item / kWordItems] >> item % kWordItems & 1) != 0;
}

uint64_t Selection::CountBelow(uint64_t item) const {
  PONIENTE_CHECK(item <= size()) << item << " of " << size();
  return state_->CountBelow(item);
}

std::optional<uint64_t> Selection::OrdinalOf(uint64_t item) const {
  if (item >= size() || !Contains(item)) return std::nullopt;
  return state_->CountBelow(item);
}

uint64_t Selection::Select(uint64_t ordinal) const {
  uint64_t item;
  Select({&ordinal, 1}, {&item, 1});
  return item;
}

void Selection::Select(std::span<const uint64_t> ordinals,
                       std::span<uint64_t> items) const {
  PONIENTE_CHECK(ordinals.size() == items.size())
      << ordinals.size() << " places, room for " << items.size();
  const State& state = *state_;
  uint64_t superblock = 0;
  uint64_t next_ordinal = state.count;  // the one after the last; none yet
  uint64_t item = 0;
  for (size_t i = 0; i < ordinals.size(); ++i) {
    const uint64_t ordinal = ordinals[i];
    PONIENTE_CHECK(ordinal < state.count) << ordinal << " of " << state.count;
    std::optional<uint64_t> near;
    if (ordinal == next_ordinal) near = state.NextNear(item);
    if (near.has_value()) {
      item = *near;
    } else {
      if (!state.Holds(superblock, ordinal)) {
        superblock = state.FindSuperblock(ordinal);
      }
      item = state.SelectIn(superblock, ordinal);
    }
    items[i] = item;
    next_ordinal = ordinal + 1;
  }
}

}  // namespace poniente
