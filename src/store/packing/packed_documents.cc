// SPDX-License-Identifier: Apache-2.0
#include "store/packing/packed_documents.h"

#include <utility>

#include "index/keyed_hash.h"
#include "index/packing/packing_options.h"

namespace poniente::internal {
namespace {

// Without the seed, and the selection of documents.
uint64_t FingerprintOf(const TokenSource& source, uint32_t window_tokens,
                       const PackingOptions& options) {
  const uint64_t together = Derive(
      source.fingerprint(), Tag("packed"), uint64_t{window_tokens},
      static_cast<uint64_t>(options.long_documents), uint64_t{options.align},
      uint64_t{options.max_documents}, uint64_t{options.overlap},
      uint64_t{options.parts}, uint64_t{options.shuffle});
  const uint64_t with_ends =
      EndTokens(options) == 0 ? together : Derive(together, Tag("noends"));
  if (options.chunk_documents == 0) return with_ends;
  return Derive(with_ends, Tag("chunks"), uint64_t{options.chunk_documents},
                uint64_t{options.shuffle ? options.shuffle_chunks : 0});
}

class ChunkSets final : public ItemSets {
 public:
  ChunkSets(std::shared_ptr<const Packed> packed, uint64_t seed)
      : packed_(std::move(packed)), seed_(seed) {}

  uint64_t identity() const override {
    return Derive(packed_->chunks, Tag("sets"),
                  packed_->options.shuffle ? seed_ : uint64_t{0});
  }
  uint64_t num_sets() const override { return In(0)->num_sets(); }
  uint64_t SetOf(uint64_t epoch, uint64_t item) const override {
    return In(epoch)->SetOf(item);
  }
  uint64_t FirstOf(uint64_t epoch, uint64_t set) const override {
    return In(epoch)->FirstOfSet(set);
  }

 private:
  std::shared_ptr<const ChunkOrder> In(uint64_t epoch) const {
    return packed_->plans->ChunksIn(packed_->OrderOf(seed_, epoch));
  }

  const std::shared_ptr<const Packed> packed_;
  const uint64_t seed_;
};

}  // namespace

Packed::Packed(std::shared_ptr<const TokenSource> from,
               std::unique_ptr<const PackingPlans> made, uint32_t tokens,
               const PackingOptions& how,
               const std::optional<Selection>& selection)
    : source(std::move(from)),
      plans(std::move(made)),
      window_tokens(tokens),
      options(how),
      fingerprint(FingerprintOf(*source, tokens, how)),
      chunks(Derive(source->fingerprint(), Tag("chunks"),
                    uint64_t{how.chunk_documents},
                    uint64_t{how.shuffle ? how.shuffle_chunks : 0})) {
  if (!selection.has_value()) return;
  fingerprint = Derive(fingerprint, selection->fingerprint());
  chunks = Derive(chunks, selection->fingerprint());
}

std::shared_ptr<const ItemSets> MakeSets(std::shared_ptr<const Packed> packed,
                                         uint64_t seed) {
  if (packed->options.chunk_documents == 0) return nullptr;
  return std::make_shared<const ChunkSets>(std::move(packed), seed);
}

}  // namespace poniente::internal
