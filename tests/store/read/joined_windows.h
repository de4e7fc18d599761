// SPDX-License-Identifier: Apache-2.0
// Windows of documents that are joined end to end, against the list of their
// tokens.

#ifndef PONIENTE_TESTS_STORE_READ_JOINED_WINDOWS_H_
#define PONIENTE_TESTS_STORE_READ_JOINED_WINDOWS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "poniente/extend/piecewise_items.h"
#include "poniente/token_store.h"
#include "tests/support/status_matchers.h"

namespace poniente::testing {

// One token of the concatenation.
struct JoinedToken {
  uint32_t id;
  uint64_t document;
  uint64_t place;  // in the store
};

// Expects the pieces of tokens [begin, begin + count).
inline void ExpectPieces(const PiecewiseItems& windows,
                         const Position& position,
                         const std::vector<JoinedToken>& tokens, uint64_t begin,
                         uint64_t count) {
  std::vector<ItemPiece> expected;
  for (uint64_t i = begin; i < begin + count; ++i) {
    const JoinedToken& token = tokens[i];
    if (expected.empty() || expected.back().document != token.document) {
      expected.push_back({token.document, token.place, token.place});
    }
    ++expected.back().end;
  }
  ASSERT_THAT(windows.Pieces(position), IsOkAndHolds(expected));
  std::vector<ItemPiece> found;
  ASSERT_OK_AND_ASSIGN(const bool has_read,
                       windows.FindInMemory(position, &found));
  ASSERT_EQ(has_read, windows.HasPiecesInMemory(position));
  ASSERT_EQ(found, has_read ? expected : std::vector<ItemPiece>());
}

// Expects that each piece knows whether it is all of its document.
inline void ExpectEnds(const TokenStore& store, const PiecewiseItems& windows,
                       const std::vector<ItemPiece>& pieces) {
  for (const ItemPiece& piece : pieces) {
    ASSERT_OK_AND_ASSIGN(const TokenRange document,
                         store.DocumentRange(piece.document));
    PieceEnds ends;
    ASSERT_THAT(windows.FindEnds(piece, /*may_read=*/true, &ends),
                IsOkAndHolds(true));
    ASSERT_EQ(ends.is_whole, piece.end - piece.begin == document.size());
  }
}

// Every window, its pieces and parts of it; every document's uses.
inline void ExpectJoinedWindows(const TokenStore& store,
                                const AsyncDataset<TokenWindow>& windows,
                                const std::vector<JoinedToken>& tokens,
                                uint64_t length) {
  const PiecewiseItems* pieces = PiecesOf(windows);
  ASSERT_NE(pieces, nullptr);
  const uint64_t count = tokens.size() / length;
  ASSERT_EQ(windows.length_now(), LengthState::Final(count));
  std::vector<std::vector<PieceOfItem>> uses(store.num_documents());
  std::mt19937_64 random(length);
  for (uint64_t w = 0; w < count; ++w) {
    ASSERT_OK_AND_ASSIGN(const TokenWindow window, windows.GetBlocking(w));
    ASSERT_EQ(window.tokens.size(), length);
    for (uint64_t t = 0; t < length; ++t) {
      ASSERT_EQ(window.tokens[t], tokens[w * length + t].id);
    }
    ExpectPieces(*pieces, {.index = w, .epoch = 3}, tokens, w * length, length);
    const auto begin = static_cast<uint32_t>(random() % length);
    const auto part = static_cast<uint32_t>(random() % (length - begin + 1));
    const std::vector<Position> position = {{w, 5, begin, part}};
    ASSERT_OK_AND_ASSIGN(const auto parts,
                         RunBlocking(windows.GetAt(position)));
    ASSERT_EQ(parts.front().tokens,
              std::vector<uint32_t>(window.tokens.begin() + begin,
                                    window.tokens.begin() + begin + part));
    ExpectPieces(*pieces, position.front(), tokens, w * length + begin, part);
    ASSERT_OK_AND_ASSIGN(const auto whole, pieces->Pieces({.index = w}));
    uint32_t at = 0;
    for (const ItemPiece& piece : whole) {
      uses[piece.document].push_back({w, at, piece.begin, piece.end});
      at += static_cast<uint32_t>(piece.end - piece.begin);
    }
    ExpectEnds(store, *pieces, whole);
  }
  for (uint64_t d = 0; d < uses.size(); ++d) {
    ASSERT_THAT(pieces->ItemsOf(d), IsOkAndHolds(uses[d])) << d;
  }
}

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_STORE_READ_JOINED_WINDOWS_H_
