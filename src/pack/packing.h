// SPDX-License-Identifier: Apache-2.0
// Packs inputs into a token store: finds them, goes on where another run left
// off, and tells what has come of it. Prints nothing and handles no signal.

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
#include "poniente/token_store_writer.h"
#include "poniente/token_window.h"

namespace poniente::internal {

enum class InputFormat { kText, kJsonl, kTokens, kTokenFiles };

struct PackRequest {
  std::vector<std::string> inputs;
  std::vector<std::string> patterns;
  std::string out;
  // nullopt: JSONL where the name says so, else text.
  std::optional<InputFormat> format;
  // kTokenFiles: the inputs, open.
  std::vector<TextInput> token_inputs;
  SplitRule rule;
  JsonField field;
  Vocabulary vocabulary;
  std::optional<uint32_t> end_of_document;
  // What text goes through; null for bytes.
  std::shared_ptr<const SentencePiece> model;
  uint32_t model_checksum = 0;
  bool skip_bad_lines = false;
  int threads = 1;
  // Past the page cache; nullopt: if the inputs are large.
  std::optional<bool> writes_directly;
  uint64_t checkpoint_bytes = 0;
  // Of the store, a power of two: smaller, its checksums would take as much to
  // read as its tokens; larger, a run that goes on could not tell the store's
  // fingerprint from its checksums.
  static constexpr uint32_t kMinBlockBytes = 4096;
  static constexpr uint32_t kMaxBlockBytes = 65536;
  uint32_t block_bytes = TokenStoreWriterOptions().block_bytes;
  // Leaves what another run has saved.
  bool restart = false;
  // One part of the inputs, into a store below `out`; nullopt: all, into `out`.
  std::optional<PackPart> part;
};

// What is told while a run goes on, in this order, all on the thread that runs
// it. Bytes are of input.
class PackObserver {
 public:
  virtual ~PackObserver() = default;
  // The inputs are known; no file has been made yet.
  virtual void FoundInputs() {}
  // What another run has saved is not gone on with.
  virtual void StartsAfresh(const std::string& why) = 0;
  // What another run has saved ends behind `bytes` of `total_bytes`.
  virtual void GoesOn(uint64_t bytes, uint64_t total_bytes) = 0;
  // So many are to be packed; 0 if nobody knows.
  virtual void Begins(uint64_t bytes) = 0;
  // So many of these have been; a few times a second.
  virtual void Packed(uint64_t bytes) = 0;
  // Asked a few times a second: whether the run is to end.
  virtual bool IsInterrupted() = 0;
};

struct PackOutcome {
  enum class End {
    kPacked,
    kNothing,      // the inputs hold no document; there is no store
    kInterrupted,  // what was at `path` is as it was
  };
  End end = End::kPacked;
  std::string path;  // of the store
  // Over all runs that made the store.
  PackState state;
  uint64_t num_inputs = 0;
  uint64_t total_bytes = 0;    // of all inputs; of streams what is known
  uint64_t resumed_bytes = 0;  // that were packed before this run
  LeftOut left_out;
  // kPacked.
  TokenStoreFacts facts = {};
  // kInterrupted: the same request goes on where this one ended.
  bool can_go_on = false;
};

// Errors: those of inputs and disk, as PackRun and StoreBuilder tell them;
//     FailedPrecondition where `out` cannot take the part.
absl::StatusOr<PackOutcome> Pack(const PackRequest& request,
                                 PackObserver* observer);

}  // namespace poniente::internal

#endif  // PONIENTE_PACK_PACKING_H_
