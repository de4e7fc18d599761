// SPDX-License-Identifier: Apache-2.0
// Packs inputs into a token store: finds them, continues where another run
// stopped, and reports the result. Prints nothing and handles no signal.

#ifndef PONIENTE_PACK_PACKING_H_
#define PONIENTE_PACK_PACKING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "pack/json_line.h"
#include "pack/pack_parts.h"
#include "pack/pack_sentence_piece.h"
#include "pack/pack_state.h"
#include "pack/text_inputs.h"
#include "pack/text_splitter.h"
#include "poniente/open_token_source.h"
#include "poniente/token_store_writer.h"
#include "poniente/token_window.h"
#include "store/manifest/manifest.h"

namespace poniente::internal {

enum class InputFormat { kText, kJsonl, kTokens, kMessages, kTokenFiles };

// The arguments of Pack().
struct PackRequest {
  std::vector<std::string> inputs;
  std::vector<std::string> patterns;
  std::string out;
  // Format of the inputs. nullopt: JSONL if the file name ends like one of
  // JSONL, else text.
  std::optional<InputFormat> format;
  // For kTokenFiles: the inputs, open.
  std::vector<TextInput> token_inputs;
  // For kTokenFiles: the options that they were opened with.
  TokenSourceOptions source_options;
  SplitRule rule;
  JsonField field;
  // Whether the store gets the loss masks that the inputs have.
  bool keeps_loss_mask = true;
  Vocabulary vocabulary;
  std::optional<uint32_t> end_of_document;
  // Tokenizer for text; null for bytes.
  std::shared_ptr<const SentencePiece> model;
  uint32_t model_checksum = 0;
  // The library that makes the ids, with its version; empty if not known. A
  // request does not continue the run of a library that is known to be another.
  std::string tokenizer_library;
  // The model to name in the store; its path is absolute.
  std::optional<TokenizerModel> tokenizer_model;
  bool skip_bad_lines = false;
  int threads = 1;
  // Whether to write past the page cache; nullopt: only if the inputs are
  // large.
  std::optional<bool> writes_directly;
  uint64_t checkpoint_bytes = 0;
  // Whether the store can be read while it is packed.
  bool publishes = false;
  // Bytes of the store under one checksum: a power of two within these bounds.
  // A resumed pack derives the fingerprint, which is defined over 64 KiB, from
  // the checksums, so blocks cannot be larger.
  static constexpr uint32_t kMinBlockBytes = 4096;
  static constexpr uint32_t kMaxBlockBytes = 65536;
  uint32_t block_bytes = TokenStoreWriterOptions().block_bytes;
  // Whether to ignore the checkpoint of another run.
  bool restart = false;
  // The part of the inputs to pack, into a store below `out`; nullopt: pack all
  // inputs into `out`.
  std::optional<PackPart> part;
};

// Receives the progress of a run, on the thread that calls Pack(), in the order
// of these functions. Bytes are bytes of input.
class PackObserver {
 public:
  virtual ~PackObserver() = default;
  // Called when the inputs are known, before any file is created.
  virtual void FoundInputs() {}
  // Called if the checkpoint of another run cannot be continued; `why` is the
  // reason.
  virtual void StartsAfresh(const std::string& why) = 0;
  // Called if the run continues another one, which has packed `bytes` of
  // `total_bytes`.
  virtual void GoesOn(uint64_t bytes, uint64_t total_bytes) = 0;
  // Called before packing begins. `bytes` are left to pack; 0 if unknown.
  virtual void Begins(uint64_t bytes) = 0;
  // Called several times a second, when `bytes` of them have been packed.
  virtual void Packed(uint64_t bytes) = 0;
  // Returns whether the run shall end. Called several times a second.
  virtual bool IsInterrupted() = 0;
};

// The result of Pack().
struct PackOutcome {
  enum class End {
    kPacked,
    kNothing,      // no document, and no store; a part makes an empty store
    kInterrupted,  // a store that was at `path` is unchanged
  };
  End end = End::kPacked;
  std::string path;  // of the store
  // State over all runs that made the store.
  PackState state;
  uint64_t num_inputs = 0;
  uint64_t total_bytes = 0;    // of all inputs, without streams
  uint64_t resumed_bytes = 0;  // packed before this run
  LeftOut left_out;
  // For kPacked.
  TokenStoreFacts facts = {};
  // For kInterrupted: whether the same request would continue where this one
  // ended.
  bool can_go_on = false;
};

// Returns the format that an input of this path has unless it is stated: kJsonl
// or kText.
InputFormat FormatOfName(std::string path);

// Packs the inputs into a store. Errors: those of PackRun and StoreBuilder;
// FailedPrecondition if `out` cannot hold the part, if another run that would
// be continued was made with another tokenizer_library, or if the store is to
// be read meanwhile but there is one already.
absl::StatusOr<PackOutcome> Pack(const PackRequest& request,
                                 PackObserver* observer);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACKING_H_
