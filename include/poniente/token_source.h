// SPDX-License-Identifier: Apache-2.0
// Tokenized documents that lie end to end, in any format: a token store
// (token_store.h) or the files of another project (open_token_source.h).

#ifndef PONIENTE_TOKEN_SOURCE_H_
#define PONIENTE_TOKEN_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "poniente/async_dataset.h"
#include "poniente/byte_reader.h"
#include "poniente/extend/piecewise_items.h"
#include "poniente/packing.h"
#include "poniente/score_order.h"
#include "poniente/selection.h"
#include "poniente/task.h"
#include "poniente/token_window.h"

namespace poniente {

struct FileRange;

// How ids are stored in a file: as little-endian integers. Ids are below 2^32
// and never negative, even if the type could hold more.
enum class StoredType : uint8_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kU64,
  kI64
};

uint32_t StoredTypeBytes(StoredType type);
// Returns "u8", "i8", "u16", ...
std::string_view StoredTypeName(StoredType type);
// Returns the type of this name; InvalidArgument for any other text.
absl::StatusOr<StoredType> ParseStoredType(std::string_view name);
// Returns the smallest number that is greater than all ids of the type: 2^7,
// 2^8, ... 2^32.
uint64_t StoredTypeLimit(StoredType type);

// Tokens [begin, end) of a source.
struct TokenRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  uint64_t size() const { return end - begin; }
  friend bool operator==(const TokenRange&, const TokenRange&) = default;
};

// How windows of a given length are cut from a source.
struct WindowRule {
  // Tokens that a window shares with the next, 0 or 1. With 1, a window of L +
  // 1 tokens has L labels, and every token except the first is a label exactly
  // once.
  uint32_t overlap = 0;
  // Whether windows may span shards; if not, each shard is cut by itself.
  bool across_shards = true;
  // Whether the tokens that are left at the end of a shard form a shorter
  // window; if not, they are dropped. If windows span shards, this applies to
  // the end of the source.
  bool keep_tail = false;

  friend bool operator==(const WindowRule&, const WindowRule&) = default;
};

// Tokens of a source from first_token on, stored as one array in a file.
struct TokenArray {
  uint64_t first_token = 0;
  uint32_t file = 0;    // number of the file in reader()
  uint64_t offset = 0;  // bytes
};

// How a loss mask is stored: as bits in token stores, as numbers in the files
// of other projects. Entry t belongs to token t itself: it says whether a model
// has loss when it is trained to predict token t.
struct LossMaskEncoding {
  enum class Rule : uint8_t {
    kBits,       // 1 bit per token: 1 has loss
    kZeroOrOne,  // a number per token: 1 has loss, 0 has none
    kAllBut,     // a number per token: all have loss, except those of `value`
    kOnly,       // a number per token: only those of `value` have loss
  };
  Rule rule = Rule::kBits;
  StoredType type = StoredType::kU8;  // of the numbers
  int64_t value = 0;                  // in the range of `type`

  friend bool operator==(const LossMaskEncoding&,
                         const LossMaskEncoding&) = default;
};

// The loss mask of the tokens of a source from first_token on. With kBits, that
// of token t is bit i % 8 of byte offset + i / 8 of the file, where i = t -
// first_token; else it is number i from byte `offset` on.
struct LossMaskArray {
  uint64_t first_token = 0;
  // Number of the file in reader(); nullopt: no mask is stored, and all tokens
  // have loss.
  std::optional<uint32_t> file = std::nullopt;
  uint64_t offset = 0;  // bytes
  LossMaskEncoding encoding = {};

  friend bool operator==(const LossMaskArray&, const LossMaskArray&) = default;
};

// Where the loss mask of some consecutive tokens lies. With kBits, that of
// token tokens.begin + i is bit (first_bit + i) % 8 of byte (first_bit + i) / 8
// of the range; else it is number i. TokenSource::DecodeLossMask() decodes it.
struct LossMaskRange {
  TokenRange tokens = {};
  // Number of the file in reader(); nullopt: nothing to read, and all tokens
  // have loss.
  std::optional<uint32_t> file = std::nullopt;
  uint64_t offset = 0;  // bytes
  uint64_t bytes = 0;
  uint32_t first_bit = 0;  // 0 to 7; 0 unless bits are stored
  LossMaskEncoding encoding = {};

  friend bool operator==(const LossMaskRange&, const LossMaskRange&) = default;
};

// Reads tokens and documents of one source. Immutable.
//
// Determinism: token i is the same through every backend.
// Ownership: shared. Datasets made from it keep it open.
// Thread safety: any number of threads and executors at once.
// Errors: each names the file and the remedy. DataLoss: damaged, cut short, or
//     an id outside the vocabulary. OutOfRange: a token or document past the
//     end. FailedPrecondition: documents were asked for but are not known.
// Cancellation: as ByteReader.
class TokenSource : public std::enable_shared_from_this<TokenSource> {
 public:
  TokenSource() = default;
  TokenSource(const TokenSource&) = delete;
  TokenSource& operator=(const TokenSource&) = delete;
  virtual ~TokenSource();

  // Returns the path as given when the source was opened.
  virtual const std::string& path() const = 0;
  // Returns the format: "poniente-token-store", "megatron", ...
  virtual std::string_view format() const = 0;
  virtual StoredType stored_type() const = 0;
  // Returns the vocabulary; null if the tokenizer is not known.
  virtual const Vocabulary* known_vocabulary() const = 0;
  // Returns the id that ends each document (or begins it, if the format says
  // so); nullopt if it is not known.
  virtual std::optional<uint32_t> end_of_document() const = 0;
  // Returns whether that id begins documents instead.
  virtual bool id_begins_documents() const { return false; }
  // Returns the library that made the ids, with its version ("sentencepiece
  // 0.1.97"); empty if it is not known, or differs within the source.
  virtual std::string tokenizer_library() const { return {}; }
  virtual uint64_t num_tokens() const = 0;
  // Returns whether the format or the options say where documents end.
  virtual bool knows_documents() const { return true; }
  // Returns the number of documents; 0 if they are not known.
  virtual uint64_t num_documents() const = 0;
  // Returns the identity of the content: equal for equal content. See
  // open_token_source.h for the limits with other projects' files.
  virtual uint64_t fingerprint() const = 0;
  // Returns a hash of the first `tokens` tokens, up to the last whole block of
  // them: the same while the source grows and once it is complete. nullopt if
  // it is not known, or there are fewer tokens. May read, and block meanwhile.
  virtual std::optional<uint64_t> BeginFingerprint(uint64_t tokens) const {
    (void)tokens;
    return std::nullopt;
  }
  // Returns the bytes of all files of the source.
  virtual uint64_t num_bytes() const = 0;
  // Returns the reader of the files, which also knows the backend that serves
  // them.
  virtual const ByteReader& reader() const = 0;

  // Returns where each shard ends, in tokens: ascending; the last end is
  // num_tokens().
  virtual std::span<const uint64_t> shard_ends() const = 0;
  uint64_t num_shards() const { return shard_ends().size(); }
  // Returns each shard as an array of stored_type(); empty if tokens lie in
  // pieces or have to be decoded.
  virtual std::span<const TokenArray> arrays() const = 0;
  // Returns whether all tokens lie in files of reader() as they are, in places
  // that are known without a read: in arrays(), or in pieces.
  virtual bool has_file_ranges() const { return !arrays().empty(); }
  // Appends the ranges of files that hold tokens [begin, end), in order, none
  // empty. Does no I/O. REQUIRES: has_file_ranges(); the tokens exist.
  virtual void AppendFileRanges(uint64_t begin, uint64_t end,
                                std::vector<FileRange>* ranges) const;
  // Returns whether every id that is read is known to be valid, because the
  // writer checked the ids and reader() verifies the checksums.
  virtual bool ids_are_checked() const { return false; }

  // Returns whether a loss mask is stored for at least some of the tokens. If
  // not, all tokens have loss. Masks are files of reader(), so that they and
  // the tokens can be read by one ReadBatch(); those of token stores have
  // checksums like the tokens.
  virtual bool has_loss_mask() const { return false; }
  // Returns the arrays of the mask, by ascending first_token; the first begins
  // with token 0, and each ends where the next begins, so that some may be
  // empty. All have the same encoding. Token stores have one for each shard.
  // Empty without has_loss_mask().
  virtual std::span<const LossMaskArray> loss_mask_arrays() const { return {}; }
  // Returns where the mask of these tokens lies: ranges in order, without gaps,
  // one for each array, none empty. Without has_loss_mask(), it is one range
  // without a file. REQUIRES: the tokens lie in the source.
  std::vector<LossMaskRange> LossMaskRanges(TokenRange tokens) const;
  // Decodes the range.bytes bytes of a range at `stored`: sets each byte of
  // `has_loss` to 1 if its token has loss, else to 0. `stored` is not used if
  // the range has no file. DataLoss, naming the token, if a number of a mask of
  // zeros and ones is another. REQUIRES: has_loss.size() ==
  // range.tokens.size().
  absl::Status DecodeLossMask(const LossMaskRange& range,
                              const std::byte* stored,
                              std::span<uint8_t> has_loss) const;
  // Reads the mask of tokens [begin, begin + count): one byte per token, 1 if
  // it has loss, else 0. Errors as ReadTokens(). REQUIRES: the source outlives
  // the task.
  Task<std::vector<uint8_t>> ReadLossMask(uint64_t begin, uint64_t count) const;

  // Reads tokens [begin, begin + count).
  Task<std::vector<uint32_t>> ReadTokens(uint64_t begin, uint64_t count) const;
  // Reads the tokens of each range, in one batch of reads. REQUIRES: every
  // range lies in the source, and the source outlives the task.
  virtual Task<std::vector<TokenWindow>> ReadRanges(
      std::vector<TokenRange> ranges) const = 0;

  // Returns where a document lies. Documents follow each other without gaps;
  // some may be empty.
  virtual absl::StatusOr<TokenRange> DocumentRange(uint64_t document) const = 0;
  // Writes where each document lies: ranges.size() == documents.size(). For
  // documents in any order; may keep what it reads, for later calls.
  virtual absl::Status DocumentRanges(std::span<const uint64_t> documents,
                                      std::span<TokenRange> ranges) const;
  // Returns whether DocumentRanges() would answer from memory now, without a
  // read.
  virtual bool HasRangesInMemory(std::span<const uint64_t> documents) const {
    (void)documents;
    return false;
  }
  // Returns the bounds of `count` documents from `first` on, count + 1 numbers:
  // document first + i is tokens [bounds[i], bounds[i + 1]).
  virtual absl::StatusOr<std::vector<uint64_t>> DocumentBounds(
      uint64_t first, uint64_t count) const = 0;
  // Returns the name of a document: any bytes, by convention a path in UTF-8 or
  // where the document came from. Empty if it has no name.
  virtual absl::StatusOr<std::string> DocumentName(uint64_t document) const = 0;
  // Returns the document that contains `token`.
  virtual absl::StatusOr<uint64_t> DocumentAt(uint64_t token) const = 0;
  // Returns the pieces of documents that tokens [begin, end) consist of, in
  // order, none empty.
  virtual absl::StatusOr<std::vector<ItemPiece>> DocumentPieces(
      uint64_t begin, uint64_t end) const = 0;
  // Returns whether DocumentPieces() would answer from memory now, without a
  // read.
  virtual bool HasPiecesInMemory(uint64_t begin, uint64_t end) const {
    (void)begin, (void)end;
    return false;
  }

  // Returns how the source's own project cuts windows.
  virtual WindowRule window_rule() const { return {}; }

  // Returns the source as a dataset of windows. Item i of a shard is tokens [i
  // * (length - overlap), i * (length - overlap) + length) of the shard. If
  // documents are known, PiecesOf() (piecewise_items.h) tells which of them a
  // window contains. Without `rule`, window_rule() decides. InvalidArgument
  // unless rule.overlap < length < 2^32 - 1.
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(uint64_t length) const;
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(uint64_t length,
                                                  const WindowRule& rule) const;

  // Returns windows of the selected documents alone. Item i is tokens [i *
  // length, (i + 1) * length) of these documents end to end, in stored order;
  // the tail is dropped. A window may hold parts of several documents, and a
  // document may reach into several windows: PiecesOf() tells which.
  //
  // Reads the ends of the selected documents once, and a few of them again for
  // each window. Memory: 1.3 bits per document. InvalidArgument unless 0 <
  // length < 2^32 - 1 and documents.size() == num_documents().
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(
      uint64_t length, const Selection& documents) const;

  // Returns windows of the documents in an order, such as that of their scores.
  // Item i is tokens [i * length, (i + 1) * length) of the documents end to
  // end, the document at place 0 of `order` first; the tail is dropped.
  // PiecesOf() tells which documents a window holds, as for a selection.
  //
  // The order is the same in each epoch, and a mixture does not shuffle the
  // windows. EraShuffle() of the dataset shuffles windows that follow one
  // another.
  //
  // Reads the lengths of all documents once, and those of a few of them again
  // for each window. Memory: that of `order`, which is shared, and half a byte
  // per document. InvalidArgument unless 0 < length < 2^32 - 1 and order.size()
  // == num_documents(); FailedPrecondition if documents are not known; DataLoss
  // if a file with the order is damaged or cut short while it is in use.
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(
      uint64_t length, const ScoreOrder& order) const;
  // The same of the selected documents alone; takes 1.05 bits more per document
  // of the source. InvalidArgument unless documents.size() == num_documents().
  absl::StatusOr<DatasetPtr<TokenWindow>> Windows(
      uint64_t length, const ScoreOrder& order,
      const Selection& documents) const;

  // Returns windows of whole documents, packed with little padding (packing.h,
  // docs/packing.md). Each document that is not empty is in one window of each
  // epoch, or cut into several, as options.long_documents says. PiecesOf()
  // tells which documents a window holds; PackedItemsOf() what packing does to
  // them. Padding has the id end_of_document(), or 0.
  //
  // Each epoch has an order of its own, unless options.shuffle is false, so a
  // mixture does not shuffle the windows again. Windows cannot be cut.
  //
  // With options.chunk_documents, windows that follow each other hold nearby
  // documents. Without shuffle, they are in stored order, and a mixture does
  // not shuffle them either.
  //
  // Reads the lengths of all documents twice, unless their order is in a file;
  // with chunks once, unless a file has the windows of each chunk.
  // InvalidArgument for options out of range; FailedPrecondition if documents
  // are not known.
  absl::StatusOr<DatasetPtr<TokenWindow>> PackedWindows(
      uint64_t length, const PackingOptions& options = {}) const;
  // The same of the selected documents alone. InvalidArgument unless
  // documents.size() == num_documents().
  absl::StatusOr<DatasetPtr<TokenWindow>> PackedWindows(
      uint64_t length, const PackingOptions& options,
      const Selection& documents) const;

  // Returns PackedWindows() for each of the lengths, in their order, for a run
  // whose sequence length changes: ComponentView::keeps_epoch of a mixture, or
  // Succession(). Together they keep as many chunks in memory as one of them
  // would. With options.index_file, the file for length L has "-L" behind its
  // name. InvalidArgument also without options.chunk_documents.
  absl::StatusOr<std::vector<DatasetPtr<TokenWindow>>> PackedWindowsOfEach(
      std::span<const uint64_t> lengths, const PackingOptions& options) const;
  absl::StatusOr<std::vector<DatasetPtr<TokenWindow>>> PackedWindowsOfEach(
      std::span<const uint64_t> lengths, const PackingOptions& options,
      const Selection& documents) const;

  // Returns the source as a dataset of documents: item d is the whole of
  // document d. The dataset is empty if documents are not known.
  DatasetPtr<TokenWindow> Documents() const;
};

// Returns windows of `length` tokens over a store that does not exist yet and
// will hold `tokens` tokens. Everything that follows from sizes and names alone
// (plans, the order of a run, which step reads an item) is the same as with a
// real store of that size; only the fingerprint differs.
//
// name: used in messages as the name of the store.
// vocabulary: nullopt if it is not known; the dataset can then be mixed with
//     any other.
// Determinism, ownership, thread safety: as AsyncDataset.
// Errors: InvalidArgument unless 0 < length < 2^32 - 1. FailedPrecondition,
//     with the name, from every attempt to read an item.
absl::StatusOr<DatasetPtr<TokenWindow>> DeclaredWindows(
    const std::string& name, uint64_t tokens, uint64_t length,
    std::optional<Vocabulary> vocabulary = std::nullopt);

}  // namespace poniente

#endif  // PONIENTE_TOKEN_SOURCE_H_
