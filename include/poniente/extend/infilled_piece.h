// SPDX-License-Identifier: Apache-2.0
// How a piece of a document is served so that a model learns to fill in the
// middle (docs/fim.md): which of its tokens comes where.

#ifndef PONIENTE_EXTEND_INFILLED_PIECE_H_
#define PONIENTE_EXTEND_INFILLED_PIECE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"

namespace poniente {

// Which pieces of documents may be served filled in the middle.
enum class InfilledPieces : uint8_t {
  kAll,    // also parts of documents that windows or packing have cut
  kWhole,  // only whole documents
};

// Returns "all" or "whole".
std::string_view InfilledPiecesName(InfilledPieces pieces);

// How documents of a source are served for filling in the middle. All of it
// decides tokens.
struct InfillingOptions {
  // Share of the pieces that are served so, 0 to 1.
  double rate = 0.5;
  // Share of these that have the suffix first (InfillingOrder::kSpm), 0 to 1.
  double spm_rate = 0.5;
  // Ids that mark the three parts; three different ones.
  uint32_t prefix = 0;
  uint32_t middle = 0;
  uint32_t suffix = 0;
  InfilledPieces pieces = InfilledPieces::kAll;
  // Shorter pieces are served as they are. At least kMinInfilledTokens.
  uint32_t min_tokens = 16;

  friend bool operator==(const InfillingOptions&,
                         const InfillingOptions&) = default;
};

inline constexpr uint32_t kMinInfilledTokens = 8;

// Returns InvalidArgument for options out of range.
absl::Status CheckInfillingOptions(const InfillingOptions& options);

// The order of the three parts P, M and S of a document.
enum class InfillingOrder : uint8_t {
  kPsm,  // prefix id, P, suffix id, S, middle id, M
  kSpm,  // prefix id, suffix id, S, middle id, P, M
};

// Returns "psm" or "spm".
std::string_view InfillingOrderName(InfillingOrder order);

// A piece of a document as it is served: as long as the piece itself, with
// three marks in place of three of its tokens. Places count from 0 at its first
// token, for the piece and for what is served alike.
//
// The first token stays first if it is the id that begins the document, and the
// last one stays last if it ends the document. Of the others, the first three
// are left out. What is left is P M S.
//
// A value; any number of threads.
class InfilledPiece {
 public:
  // Marks in a piece, and tokens that are left out for them.
  static constexpr uint32_t kMarks = 3;

  struct Shape {
    uint32_t tokens = 0;  // of the piece
    bool keeps_first = false;
    bool keeps_last = false;
    uint32_t prefix_tokens = 0;  // of P
    uint32_t middle_tokens = 0;  // of M; the rest is S
    InfillingOrder order = InfillingOrder::kPsm;

    // Returns the tokens of P, M and S together. REQUIRES: there are enough.
    uint32_t body() const {
      return tokens - kMarks - uint32_t{keeps_first} - uint32_t{keeps_last};
    }
    uint32_t suffix_tokens() const {
      return body() - prefix_tokens - middle_tokens;
    }
    friend bool operator==(const Shape&, const Shape&) = default;
  };

  // Consecutive places that hold consecutive tokens of the piece, or one mark.
  struct Run {
    uint32_t begin = 0;
    uint32_t length = 0;
    uint32_t from = 0;                          // first token of the piece
    std::optional<uint32_t> id = std::nullopt;  // a mark: its id

    friend bool operator==(const Run&, const Run&) = default;
  };

  // REQUIRES: the parts fit into the piece.
  InfilledPiece(const Shape& shape, const InfillingOptions& marks);

  const Shape& shape() const { return shape_; }
  // Returns what is served, in order; at most 8 runs, none empty.
  std::span<const Run> runs() const { return {runs_.data(), num_runs_}; }

  // Returns the token of the piece at a place; nullopt for a mark. REQUIRES:
  // place < tokens.
  std::optional<uint32_t> TokenAt(uint32_t place) const;
  // Returns the place of a token of the piece; nullopt if it is left out.
  // REQUIRES: token < tokens.
  std::optional<uint32_t> PlaceOf(uint32_t token) const;
  // Returns the id of the mark at a place; nullopt if a token is there.
  // REQUIRES: place < tokens.
  std::optional<uint32_t> MarkAt(uint32_t place) const;

  friend bool operator==(const InfilledPiece& a, const InfilledPiece& b) {
    return a.shape_ == b.shape_ && a.num_runs_ == b.num_runs_ &&
           a.runs_ == b.runs_;
  }

 private:
  static constexpr size_t kMaxRuns = 8;

  void AddTokens(uint32_t from, uint32_t end);
  void AddMark(uint32_t id);
  // The run at a place.
  const Run& RunAt(uint32_t place) const;

  Shape shape_;
  std::array<Run, kMaxRuns> runs_ = {};
  size_t num_runs_ = 0;
  uint32_t served_ = 0;  // places of the runs so far
};

}  // namespace poniente

#endif  // PONIENTE_EXTEND_INFILLED_PIECE_H_
