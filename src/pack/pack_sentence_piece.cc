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
    if (!status.ok()) {
      *error = "is not a SentencePiece model";
      return false;
    }
    lead_ = FindLead();
    return true;
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

  bool Encode(std::string_view text, std::vector<uint32_t>* ids,
              std::vector<TokenPlace>* places,
              std::string* error) const override {
    sentencepiece::ImmutableSentencePieceText pieces;
    const auto status = processor_.Encode(text, pieces.mutable_proto());
    if (!status.ok()) *error = status.ToString();
    const size_t count = pieces.pieces_size();
    ids->resize(count);
    places->resize(count);
    for (size_t i = 0; i < count; ++i) {
      const auto piece = pieces.pieces(static_cast<int>(i));
      (*ids)[i] = piece.id();
      (*places)[i] = {piece.begin(), piece.end()};
    }
    return status.ok();
  }

  std::string Decode(std::span<const uint32_t> ids,
                     bool begins_document) const override {
    std::string text;
    std::vector<int> run;  // pieces with text
    bool at_beginning = begins_document;
    const auto end_run = [&] {
      if (run.empty()) return;
      text += TextOfRun(run, at_beginning);
      run.clear();
    };
    for (const uint32_t id : ids) {
      const bool is_piece = id < vocabulary_size();
      if (is_piece && !processor_.IsControl(static_cast<int>(id))) {
        run.push_back(static_cast<int>(id));
        continue;
      }
      end_run();
      text += is_piece ? processor_.IdToPiece(static_cast<int>(id))
                       : "<" + std::to_string(id) + ">";
      at_beginning = true;
    }
    end_run();
    return text;
  }

 private:
  // The library takes what it decodes for a whole text, and leaves out its
  // first space. Elsewhere than at the beginning of a document, another piece
  // therefore stands in front, whose text is removed again.
  std::string TextOfRun(std::vector<int> run, bool at_beginning) const {
    const bool has_lead = !at_beginning && lead_ >= 0;
    if (has_lead) run.insert(run.begin(), lead_);
    std::string text;
    if (!processor_.Decode(run, &text).ok()) return "";
    return has_lead ? text.substr(processor_.IdToPiece(lead_).size()) : text;
  }

  // Returns an ordinary piece without a space; -1 if there is none.
  int FindLead() const {
    for (int id = 0; id < processor_.GetPieceSize(); ++id) {
      if (processor_.IsControl(id) || processor_.IsUnknown(id) ||
          processor_.IsUnused(id) || processor_.IsByte(id)) {
        continue;
      }
      std::string text;
      const bool decodes = processor_.Decode(std::vector<int>{id}, &text).ok();
      if (decodes && text == processor_.IdToPiece(id)) return id;
    }
    return -1;
  }

  sentencepiece::SentencePieceProcessor processor_;
  int lead_ = -1;
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
