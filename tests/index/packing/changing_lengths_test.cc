// SPDX-License-Identifier: Apache-2.0
// Packed windows of lengths that change within an epoch (docs/index-math.md
// 2.8), against lists that are dealt by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "index/keyed_hash.h"
#include "index/maps/cut_map.h"
#include "index/mixture/mixture_map.h"
#include "index/packing/chunk_order.h"
#include "poniente/extend/item_sets.h"
#include "tests/index/doc_vectors.h"
#include "tests/index/map_laws.h"
#include "tests/index/packing/length_lists.h"
#include "tests/support/status_matchers.h"
#include "tests/support/test_seed.h"

namespace poniente::internal {
namespace {

using ::testing::HasSubstr;
using testing::StatusIs;

// Documents of a source, and how they are packed by chunks.
struct ChunkedSource {
  std::vector<uint64_t> lengths;
  uint64_t chunk_documents = 1;
  uint64_t shuffle_chunks = 1;
  bool is_shuffled = true;
  uint64_t seed = 0;
  PackingOptions options;

  PackingOrder OrderOf(uint64_t epoch) const {
    return is_shuffled ? PackingOrder(seed, epoch) : PackingOrder();
  }
};

// The packing of a source for one length.
class PackedForLength : public ItemSets {
 public:
  PackedForLength(const ChunkedSource& source, uint32_t tokens)
      : source_(source) {
    const uint64_t size = source.chunk_documents;
    for (uint64_t first = 0; first < source.lengths.size(); first += size) {
      const std::vector<uint64_t> chunk(
          source.lengths.begin() + static_cast<ptrdiff_t>(first),
          source.lengths.begin() + static_cast<ptrdiff_t>(std::min<uint64_t>(
                                       source.lengths.size(), first + size)));
      by_length_.push_back(testing::ByLength(chunk));
      for (uint64_t& document : by_length_.back()) document += first;
      packings_.push_back(*WindowPacking::Create(testing::HistogramOf(chunk),
                                                 tokens, source.options));
      windows_.push_back(packings_.back().num_windows());
    }
  }

  uint64_t num_windows() const {
    return std::accumulate(windows_.begin(), windows_.end(), uint64_t{0});
  }
  // Pieces (document, begin) of a bin.
  std::vector<std::pair<uint64_t, uint64_t>> Documents(const ChunkBin& bin,
                                                       uint64_t epoch) const {
    std::vector<PackedPiece> pieces;
    packings_[bin.chunk].AppendBinPieces(
        bin.bin, source_.OrderOf(epoch).OfChunk(bin.chunk), &pieces);
    std::vector<std::pair<uint64_t, uint64_t>> documents;
    for (const PackedPiece& piece : pieces) {
      documents.push_back({by_length_[bin.chunk][piece.ordinal], piece.begin});
    }
    return documents;
  }
  std::string Text(const ChunkBin& bin, uint64_t epoch) const {
    std::vector<PackedPiece> pieces;
    packings_[bin.chunk].AppendBinPieces(
        bin.bin, source_.OrderOf(epoch).OfChunk(bin.chunk), &pieces);
    std::vector<std::string> each;
    for (const PackedPiece& piece : pieces) {
      each.push_back(absl::StrCat(by_length_[bin.chunk][piece.ordinal], ":",
                                  piece.begin, "-", piece.begin + piece.length,
                                  "@", piece.offset));
    }
    return absl::StrCat(epoch, ".", bin.chunk, "/", bin.bin, "(",
                        absl::StrJoin(each, "+"), ")");
  }
  ChunkOrder In(uint64_t epoch) const {
    return ChunkOrder(windows_, source_.shuffle_chunks, source_.OrderOf(epoch));
  }

  // The windows of each set of an epoch, by lists alone.
  std::vector<std::vector<ChunkBin>> SlowSets(uint64_t epoch) const {
    const PackingOrder order = source_.OrderOf(epoch);
    const uint64_t together = source_.is_shuffled ? source_.shuffle_chunks : 1;
    std::vector<std::vector<ChunkBin>> sets;
    for (uint64_t place = 0; place < windows_.size(); ++place) {
      if (place % together == 0) sets.emplace_back();
      const uint64_t chunk =
          source_.is_shuffled
              ? Permutation(windows_.size(), Derive(order.key, Tag("chun")))
                    .Forward(place)
              : place;
      for (uint64_t bin = 0; bin < windows_[chunk]; ++bin) {
        sets.back().push_back({chunk, bin});
      }
    }
    if (!source_.is_shuffled) return sets;
    for (uint64_t v = 0; v < sets.size(); ++v) {
      const std::vector<ChunkBin> stored = sets[v];
      for (uint64_t x = 0; x < stored.size(); ++x) {
        sets[v][x] =
            stored[Permutation(stored.size(), Derive(order.key, Tag("wind"), v))
                       .Forward(x)];
      }
    }
    return sets;
  }

  uint64_t identity() const override { return source_.seed; }
  uint64_t num_sets() const override { return In(0).num_sets(); }
  uint64_t SetOf(uint64_t epoch, uint64_t item) const override {
    return In(epoch).SetOf(item);
  }
  uint64_t FirstOf(uint64_t epoch, uint64_t set) const override {
    return In(epoch).FirstOfSet(set);
  }

 private:
  const ChunkedSource& source_;
  std::vector<WindowPacking> packings_;
  std::vector<std::vector<uint64_t>> by_length_;
  std::vector<uint64_t> windows_;
};

// So many draws in windows of one length.
struct LengthSegment {
  uint32_t view = 0;
  uint64_t draws = 0;
};

struct DealtWindow {
  uint32_t view = 0;
  uint64_t epoch = 0;
  ChunkBin bin;

  friend bool operator==(const DealtWindow&, const DealtWindow&) = default;
};

// Deals windows set by set. A change of length leaves the rest of a set that
// has been begun.
std::vector<DealtWindow> Deal(
    const std::vector<std::unique_ptr<PackedForLength>>& views,
    const std::vector<LengthSegment>& segments,
    std::vector<DealtWindow>* left_out) {
  std::vector<DealtWindow> dealt;
  uint64_t epoch = 0;
  uint64_t set = 0;
  size_t taken = 0;  // of the set
  for (size_t u = 0; u < segments.size(); ++u) {
    const LengthSegment& segment = segments[u];
    const auto sets_of = [&](uint64_t e) {
      return views[segment.view]->SlowSets(e);
    };
    auto sets = sets_of(epoch);
    if (u > 0 && taken > 0) {
      const auto old = views[segments[u - 1].view]->SlowSets(epoch);
      for (size_t i = taken; i < old[set].size(); ++i) {
        left_out->push_back({segments[u - 1].view, epoch, old[set][i]});
      }
      taken = 0;
      ++set;
    }
    for (uint64_t i = 0; i < segment.draws; ++i) {
      while (set == sets.size() || taken == sets[set].size()) {
        taken = 0;
        if (set < sets.size()) ++set;
        if (set < sets.size()) continue;
        set = 0;
        sets = sets_of(++epoch);
      }
      dealt.push_back({segment.view, epoch, sets[set][taken++]});
    }
  }
  return dealt;
}

ChunkedSource RandomChunkedSource(std::mt19937_64& random) {
  ChunkedSource source;
  source.lengths.resize(1 + random() % 60);
  const std::vector<uint64_t> special = {0, 1, 7, 8, 9, 15, 16, 17, 80, 320};
  for (uint64_t& length : source.lengths) {
    length =
        random() % 2 == 0 ? special[random() % special.size()] : random() % 40;
  }
  source.lengths[random() % source.lengths.size()] = 8;  // fits everywhere
  source.chunk_documents = 1 + random() % (random() % 3 == 0 ? 70 : 12);
  source.shuffle_chunks = 1 + random() % 5;
  source.is_shuffled = random() % 5 != 0;
  source.seed = random();
  const std::vector<LongDocuments> policies = {
      LongDocuments::kSplit, LongDocuments::kSplit, LongDocuments::kTruncate,
      LongDocuments::kDrop, LongDocuments::kDrop};
  source.options.long_documents = policies[random() % policies.size()];
  source.options.align = random() % 3 == 0 ? 4 : 1;
  source.options.max_documents = random() % 3 == 0 ? 3 : 0;
  return source;
}

std::vector<std::unique_ptr<PackedForLength>> PackFor(
    const ChunkedSource& source, const std::vector<uint32_t>& tokens) {
  std::vector<std::unique_ptr<PackedForLength>> views;
  for (const uint32_t each : tokens) {
    views.push_back(std::make_unique<PackedForLength>(source, each));
  }
  return views;
}

std::vector<uint32_t> RandomLengths(std::mt19937_64& random) {
  std::vector<uint32_t> tokens(1 + random() % 5);
  for (uint32_t& each : tokens) each = uint32_t{8} << (random() % 5);
  return tokens;
}

// What a draw of the map reads, as the slow dealer says it.
DealtWindow WindowAt(const std::vector<std::unique_ptr<PackedForLength>>& views,
                     uint32_t view, const Position& position) {
  return {view, position.epoch,
          views[view]->In(position.epoch).BinAt(position.index)};
}

Position PositionOf(const std::vector<std::unique_ptr<PackedForLength>>& views,
                    const DealtWindow& window) {
  return {.index = views[window.view]->In(window.epoch).WindowOf(window.bin),
          .epoch = window.epoch};
}

// A run without a mixture.
TEST(ChangingLengthsTest, ASuccessionDealsTheListsAndFindsBack) {
  std::mt19937_64 random(testing::TestSeed(24));
  const int rounds = testing::TestRounds(1500);
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const ChunkedSource source = RandomChunkedSource(random);
    const auto views = PackFor(source, RandomLengths(random));
    std::vector<LengthSegment> segments;
    std::vector<CutMap::View> of_map;
    uint64_t start = 0;
    for (uint32_t v = 0; v < views.size(); ++v) {
      const uint64_t windows = views[v]->num_windows();
      segments.push_back(
          {v, 1 + random() % (random() % 3 == 0 ? 3 * windows : windows)});
      of_map.push_back({start, windows, views[v].get()});
      start += segments.back().draws;
    }
    std::vector<DealtWindow> left_out;
    const auto expected = Deal(views, segments, &left_out);
    ASSERT_OK_AND_ASSIGN(const auto map,
                         CutMap::CreateOfViews(of_map, source.seed));
    testing::ExpectLaws(*map, [&] {
      std::vector<Position> all(expected.size());
      for (size_t i = 0; i < all.size(); ++i) all[i].index = i;
      return all;
    }());
    // Pieces of documents served so far, by epoch.
    std::set<std::tuple<uint64_t, uint64_t, uint64_t>> served;
    std::map<std::pair<uint64_t, uint64_t>, uint32_t> view_of;
    for (uint64_t k = 0; k < expected.size(); ++k) {
      const ChildPosition at = testing::ResolveOne(*map, k);
      ASSERT_EQ(WindowAt(views, at.child, at.position), expected[k]) << k;
      for (const auto& [document, begin] :
           views[at.child]->Documents(expected[k].bin, expected[k].epoch)) {
        ASSERT_TRUE(served.insert({at.position.epoch, document, begin}).second);
        // All pieces of a document in an epoch are of one length.
        const auto [known, is_new] =
            view_of.try_emplace({at.position.epoch, document}, at.child);
        ASSERT_EQ(known->second, at.child) << document;
      }
    }
    for (const DealtWindow& window : left_out) {
      ASSERT_EQ(map->Find(window.view, PositionOf(views, window)),
                std::nullopt);
    }
    uint64_t counted = 0;
    for (const ItemDraws::Segment& each : map->draws().segments()) {
      counted += each.left_out;
    }
    ASSERT_EQ(counted, left_out.size());
  }
}

// An epoch that is begun and ended with one length is whole.
TEST(ChangingLengthsTest, WhatIsLeftOutLiesInOneShuffleWindowPerChange) {
  std::mt19937_64 random(testing::TestSeed(25));
  const int rounds = testing::TestRounds(500);
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    ChunkedSource source = RandomChunkedSource(random);
    source.options.long_documents = LongDocuments::kSplit;
    const auto views = PackFor(source, {16, 32});
    const uint64_t first = random() % (2 * views[0]->num_windows());
    const uint64_t second =
        3 * views[0]->num_windows() + 3 * views[1]->num_windows();
    std::vector<DealtWindow> left_out;
    const auto dealt = Deal(views, {{0, first + 1}, {1, second}}, &left_out);
    const uint64_t changed = dealt[first].epoch;
    std::map<uint64_t, std::set<uint64_t>> served;  // documents, by epoch
    for (const DealtWindow& window : dealt) {
      for (const auto& [document, begin] :
           views[window.view]->Documents(window.bin, window.epoch)) {
        served[window.epoch].insert(document);
      }
    }
    std::set<uint64_t> lost;
    for (const DealtWindow& window : left_out) {
      for (const auto& [document, begin] :
           views[0]->Documents(window.bin, window.epoch)) {
        if (!served[changed].contains(document)) lost.insert(document);
      }
    }
    const auto all = static_cast<uint64_t>(
        std::count_if(source.lengths.begin(), source.lengths.end(),
                      [](uint64_t length) { return length > 0; }));
    EXPECT_LE(lost.size(), source.shuffle_chunks * source.chunk_documents);
    for (uint64_t epoch = 0; epoch < dealt.back().epoch; ++epoch) {
      EXPECT_EQ(served[epoch].size() + (epoch == changed ? lost.size() : 0),
                all)
          << epoch;
    }
  }
}

// Components of a mixture, some of them not packed.
TEST(ChangingLengthsTest, AMixtureDealsTheListsOfEachComponent) {
  std::mt19937_64 random(testing::TestSeed(26));
  const int rounds = testing::TestRounds(300);
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const std::vector<uint32_t> tokens = RandomLengths(random);
    MixtureOptions options;
    options.block_size = 1 + random() % 40;
    options.max_seq_len = 128;
    uint64_t start = 0;
    for (const uint32_t each : tokens) {
      options.seq_lens.push_back({start, each});
      start += 1 + random() % 150;
    }
    const uint64_t samples = start + 100;
    const size_t count = 1 + random() % 4;
    std::vector<ChunkedSource> sources;
    std::vector<WeightedComponent> weighted;
    for (size_t c = 0; c < count; ++c) {
      sources.push_back(RandomChunkedSource(random));
      weighted.push_back({std::string(1, static_cast<char>('a' + c)),
                          1.0 + static_cast<double>(random() % 20)});
    }
    ASSERT_OK_AND_ASSIGN(const MixturePlan plan,
                         MixturePlan::Create(options, weighted));
    std::vector<MapComponent> components;
    std::vector<std::vector<std::unique_ptr<PackedForLength>>> views;
    std::vector<std::vector<DealtWindow>> dealt;
    for (uint32_t c = 0; c < count; ++c) {
      const bool is_packed = c == 0 || random() % 3 > 0;
      MapComponent& made = components.emplace_back();
      made.name = weighted[c].name;
      made.is_whole = is_packed;
      views.emplace_back();
      dealt.emplace_back();
      if (!is_packed) {
        made.views.push_back({0, 1 + random() % 50});
        continue;
      }
      views.back() = PackFor(sources[c], tokens);
      std::vector<LengthSegment> segments;
      for (uint32_t v = 0; v < tokens.size(); ++v) {
        const uint64_t from = options.seq_lens[v].start;
        const uint64_t to =
            v + 1 < tokens.size() ? options.seq_lens[v + 1].start : samples;
        made.views.push_back({from,
                              views.back()[v]->num_windows(),
                              {.kind = ShuffleKind::kNone},
                              v > 0,
                              views.back()[v].get()});
        segments.push_back({v, plan.Count(c, to) - plan.Count(c, from)});
      }
      std::vector<DealtWindow> left_out;
      dealt.back() = Deal(views.back(), segments, &left_out);
    }
    MixtureRules rules;
    rules.parts = PartsOf(options, plan.seq_lens());
    const uint64_t seed = random();
    ASSERT_OK_AND_ASSIGN(
        const auto map,
        MixtureMap::Create(plan.stages(), components, seed, rules));
    std::vector<Position> positions(samples);
    for (uint64_t k = 0; k < samples; ++k) positions[k].index = k;
    const auto resolved = testing::Resolve(*map, positions);
    for (uint64_t k = 0; k < samples; ++k) {
      const Block block = plan.stages()->BlockOf(k);
      const Draw draw = plan.stages()->OrderOf(block, seed).At(k);
      const ChildPosition& at = resolved[k];
      ASSERT_EQ(map->ComponentOf(at.child), draw.component);
      ASSERT_EQ(map->Find(at.child, at.position), positions[k]) << k;
      if (views[draw.component].empty()) {
        EXPECT_EQ(at.position.part_length == kWholeItem,
                  plan.SeqLenAt(k) == 128);
        continue;
      }
      ASSERT_EQ(at.position.part_length, kWholeItem);
      // The last block may reach beyond the samples that were dealt.
      if (draw.ordinal >= dealt[draw.component].size()) continue;
      ASSERT_EQ(tokens[map->ViewOf(at.child)], plan.SeqLenAt(k));
      ASSERT_EQ(
          WindowAt(views[draw.component], map->ViewOf(at.child), at.position),
          dealt[draw.component][draw.ordinal])
          << k;
    }
  }
}

// Sets of so many items, the same in every epoch.
class ListedSets : public ItemSets {
 public:
  explicit ListedSets(std::vector<uint64_t> items) : items_(std::move(items)) {}

  uint64_t length() const { return FirstOf(0, items_.size()); }
  uint64_t identity() const override { return 1; }
  uint64_t num_sets() const override { return items_.size(); }
  uint64_t SetOf(uint64_t epoch, uint64_t item) const override {
    uint64_t set = 0;
    while (FirstOf(epoch, set + 1) <= item) ++set;
    return set;
  }
  uint64_t FirstOf(uint64_t, uint64_t set) const override {
    return std::accumulate(items_.begin(),
                           items_.begin() + static_cast<ptrdiff_t>(set),
                           uint64_t{0});
  }

 private:
  std::vector<uint64_t> items_;
};

// "3,4,2x5": sets of 3, 4 and 2 items, and 5 draws.
TEST(ChangingLengthsTest, ViewsOfTheDocumentation) {
  const auto vectors = testing::ReadVectors("index-math.md");
  const auto [begin, end] = vectors.equal_range("views");
  ASSERT_EQ(std::distance(begin, end), 4);
  for (auto at = begin; at != end; ++at) {
    std::vector<std::unique_ptr<ListedSets>> sets;
    std::vector<CutMap::View> views;
    uint64_t start = 0;
    for (const std::string& word : at->second.arguments) {
      const std::vector<std::string> halves = absl::StrSplit(word, 'x');
      std::vector<uint64_t> items;
      for (const auto each : absl::StrSplit(halves[0], ',')) {
        items.push_back(std::stoull(std::string(each)));
      }
      const uint64_t draws = std::stoull(halves[1]);
      sets.push_back(std::make_unique<ListedSets>(items));
      views.push_back({start, sets.back()->length(), sets.back().get()});
      start += draws;
    }
    // As a component of a mixture, whose views may draw nothing.
    ItemDraws draws(0, "", {views[0].length, 0});
    for (uint32_t v = 1; v < views.size(); ++v) {
      const SetChange change = {views[v - 1].sets, views[v].sets};
      draws.Continue(views[v].start, {views[v].length, v}, ItemParts(),
                     &change);
    }
    std::vector<std::string> words;
    for (uint64_t n = 0; n < start; ++n) {
      const ItemDraws::Item item = draws.At(n);
      words.push_back(
          absl::StrCat(item.view, ":", item.epoch, ".", item.place));
    }
    EXPECT_EQ(words, at->second.expected) << at->second.line;
  }
}

// The vector of docs/packing.md, dealt by lists.
TEST(ChangingLengthsTest, WindowsOfTheDocumentation) {
  const auto vectors = testing::ReadVectors("packing.md");
  ChunkedSource source;
  for (const std::string& word : vectors.find("lengths")->second.expected) {
    source.lengths.push_back(std::stoull(word));
  }
  source.seed = 42;
  const auto [begin, end] = vectors.equal_range("changes");
  ASSERT_EQ(std::distance(begin, end), 1);
  const std::vector<std::string>& arguments = begin->second.arguments;
  std::vector<uint64_t> numbers;
  std::vector<uint32_t> tokens;
  std::vector<LengthSegment> segments;
  std::vector<CutMap::View> of_map;
  for (const std::string& word : arguments) {
    const std::vector<std::string> halves = absl::StrSplit(word, 'x');
    if (halves.size() == 1) {
      numbers.push_back(std::stoull(word));
      continue;
    }
    tokens.push_back(static_cast<uint32_t>(std::stoul(halves[0])));
    segments.push_back(
        {static_cast<uint32_t>(segments.size()), std::stoull(halves[1])});
  }
  source.options.parts = static_cast<uint32_t>(numbers[0]);
  source.chunk_documents = numbers[1];
  source.shuffle_chunks = numbers[2];
  const auto views = PackFor(source, tokens);
  std::vector<DealtWindow> left_out;
  std::vector<std::string> words;
  for (const DealtWindow& window : Deal(views, segments, &left_out)) {
    words.push_back(views[window.view]->Text(window.bin, window.epoch));
  }
  EXPECT_EQ(words, begin->second.expected) << absl::StrJoin(words, " ");
  EXPECT_FALSE(left_out.empty());
  uint64_t start = 0;
  for (const LengthSegment& segment : segments) {
    of_map.push_back(
        {start, views[segment.view]->num_windows(), views[segment.view].get()});
    start += segment.draws;
  }
  ASSERT_OK_AND_ASSIGN(const auto map, CutMap::CreateOfViews(of_map, 42));
  for (uint64_t k = 0; k < start; ++k) {
    const ChildPosition at = testing::ResolveOne(*map, k);
    const DealtWindow window = WindowAt(views, at.child, at.position);
    EXPECT_EQ(views[window.view]->Text(window.bin, window.epoch), words[k]);
  }
}

TEST(ChangingLengthsTest, ViewsOfOtherDocumentsAreRefused) {
  ChunkedSource a;
  a.lengths = {8, 8, 8, 8};
  ChunkedSource b = a;
  b.seed = 1;  // another identity
  const PackedForLength one(a, 8);
  const PackedForLength other(b, 16);
  const std::vector<CutMap::View> views = {{0, one.num_windows(), &one},
                                           {3, other.num_windows(), &other}};
  EXPECT_THAT(CutMap::CreateOfViews(views, 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the same documents in the same chunks")));
  MixtureOptions options;
  options.max_seq_len = 16;
  options.seq_lens = {{0, 8}, {3, 16}};
  ASSERT_OK_AND_ASSIGN(const MixturePlan plan,
                       MixturePlan::Create(options, {{"a"}}));
  const OrderSpec stored = {.kind = ShuffleKind::kNone};
  std::vector<MapComponent> components = {
      {"a",
       {{0, one.num_windows(), stored, false, &one},
        {3, other.num_windows(), stored, true, &other}},
       std::nullopt,
       true}};
  EXPECT_THAT(MixtureMap::Create(plan.stages(), components, 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("'a' is to continue the epoch")));
  components[0].views[1].sets = nullptr;
  EXPECT_THAT(MixtureMap::Create(plan.stages(), components, 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("chunk_documents")));
}

}  // namespace
}  // namespace poniente::internal
