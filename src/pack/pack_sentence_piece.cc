// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_sentence_piece.h"

#ifdef PONIENTE_HAVE_SENTENCEPIECE
#include <sentencepiece_processor.h>
#endif

namespace poniente::internal {

#ifdef PONIENTE_HAVE_SENTENCEPIECE

namespace {

class LoadedModel final : public SentencePiece {
 public:
  bool Load(std::string_view model, std::string* error) {
    // The library writes what it thinks of a bad model to standard error.
    const auto status = processor_.LoadFromSerializedProto(model);
    if (!status.ok()) *error = "is not a SentencePiece model";
    return status.ok();
  }

  uint32_t vocabulary_size() const override {
    return static_cast<uint32_t>(processor_.GetPieceSize());
  }
  int end_of_sentence() const override { return processor_.eos_id(); }

  bool Encode(std::string_view text, std::vector<uint32_t>* ids,
              std::string* error) const override {
    std::vector<int> pieces;
    const auto status = processor_.Encode(text, &pieces);
    if (!status.ok()) *error = status.ToString();
    ids->assign(pieces.begin(), pieces.end());
    return status.ok();
  }

 private:
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::string SentencePiece::Library() {
  return "sentencepiece " PONIENTE_SENTENCEPIECE_VERSION;
}

std::shared_ptr<const SentencePiece> SentencePiece::Load(std::string_view model,
                                                         std::string* error) {
  auto loaded = std::make_shared<LoadedModel>();
  if (!loaded->Load(model, error)) return nullptr;
  return loaded;
}

#else

std::string SentencePiece::Library() { return ""; }

std::shared_ptr<const SentencePiece> SentencePiece::Load(std::string_view,
                                                         std::string* error) {
  *error =
      "needs SentencePiece, which this build does not have; install "
      "libsentencepiece-dev and build again, or use --tokenizer bytes";
  return nullptr;
}

#endif

}  // namespace poniente::internal
