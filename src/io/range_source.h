// SPDX-License-Identifier: Apache-2.0
// Tells where the items of a leaf lie in files, so that the loader can read
// them without knowing the format.

#ifndef PONIENTE_IO_RANGE_SOURCE_H_
#define PONIENTE_IO_RANGE_SOURCE_H_

#include <cstdint>
#include <vector>

#include "poniente/byte_reader.h"

namespace poniente {

struct FileRange {
  uint32_t file = 0;  // of reader()
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// An interface that leaves over files implement. Thread safety: immutable; any
// number of threads.
class RangeSource {
 public:
  virtual ~RangeSource() = default;

  virtual const ByteReader& reader() const = 0;

  // Returns the bytes per element: 1, 2, 4 or 8, little-endian.
  virtual uint32_t width_bytes() const = 0;

  // Returns the number of elements in each item; 0 if it differs among items.
  virtual uint32_t item_length() const = 0;

  // Returns whether every element read is known to be a valid id, because the
  // writer checked them against the vocabulary's size and reader() verifies
  // that it reads what was written. If false, the ids of each batch are
  // checked.
  virtual bool ids_are_checked() const { return false; }

  // Returns the bound below which elements are ids; negative elements of signed
  // types are not ids.
  virtual uint64_t id_limit() const { return uint64_t{1} << 32; }
  // Returns whether the type of the elements is signed, for messages.
  virtual bool ids_are_signed() const { return false; }

  // Returns where elements [begin, begin + count) of an item lie. REQUIRES: the
  // item exists and holds them; !has_pieces(); !items_are_split().
  virtual FileRange Locate(uint64_t item, uint32_t begin,
                           uint32_t count) const {
    (void)item, (void)begin, (void)count;
    return {};
  }

  // Returns whether an item may lie in several ranges: it may reach from one
  // file into another, or lie in pieces of a file.
  virtual bool items_are_split() const { return false; }
  // Appends where elements [begin, begin + count) of an item lie, in order.
  // REQUIRES: as Locate(), but for items_are_split().
  virtual void LocateAll(uint64_t item, uint32_t begin, uint32_t count,
                         std::vector<FileRange>* ranges) const {
    ranges->push_back(Locate(item, begin, count));
  }

  // Returns whether items lie in pieces. The leaf then implements
  // PiecewiseItems, which tells where in the source they are, and
  // LocateTokens() where that is in the files.
  virtual bool has_pieces() const { return false; }
  // Appends the ranges of files that hold elements [begin, end) of the source,
  // in order. REQUIRES: the elements exist; the leaf implements
  // PiecewiseItems.
  virtual void LocateTokens(uint64_t begin, uint64_t end,
                            std::vector<FileRange>* ranges) const {
    (void)begin, (void)end, (void)ranges;
  }
};

}  // namespace poniente

#endif  // PONIENTE_IO_RANGE_SOURCE_H_
