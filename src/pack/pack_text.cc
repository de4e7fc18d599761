// SPDX-License-Identifier: Apache-2.0
// Units of text are cut where it does not matter for the documents: anywhere,
// if the input is one; else behind a line, or within one that is too long to be
// one to cut at, which the next unit is told.
#include "pack/pack_text.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pack/pack_file.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Of an input that goes through a model, which is held whole.
constexpr uint64_t kMaxModelBytes = uint64_t{256} << 20;

// Puts bytes into the unit.
class ByteSink final : public DocumentSink {
 public:
  explicit ByteSink(UnitDocuments* to) : to_(to) {}

  absl::Status Text(std::string_view text) override {
    to_->AppendBytes(text);
    return absl::OkStatus();
  }
  absl::Status Boundary() override {
    to_->Boundary();
    return absl::OkStatus();
  }

 private:
  UnitDocuments* const to_;
};

// Puts what a model makes of each document into the unit.
class ModelSink final : public DocumentSink {
 public:
  ModelSink(const SentencePiece* model, UnitDocuments* to)
      : model_(model), to_(to) {}

  absl::Status Text(std::string_view text) override {
    text_ += text;
    return absl::OkStatus();
  }
  absl::Status Boundary() override {
    std::string error;
    if (!model_->Encode(text_, &ids_, &error)) {
      return absl::InvalidArgumentError(error);
    }
    to_->AppendIds(ids_);
    to_->Boundary();
    text_.clear();
    return absl::OkStatus();
  }

 private:
  const SentencePiece* const model_;
  UnitDocuments* const to_;
  std::string text_;
  std::vector<uint32_t> ids_;
};

class TextPackInput final : public PackInput {
 public:
  TextPackInput(const TextInput& input, const SplitRule& rule,
                std::shared_ptr<const SentencePiece> model,
                const std::atomic<bool>* stop)
      : file_(input, stop), rule_(rule), model_(std::move(model)) {}

  absl::StatusOr<PackUnit> Cut(const UnitBegin& begin) override;
  bool ReadAhead() override { return file_.ReadAhead(); }
  absl::Status Convert(const PackUnit& unit, UnitDocuments* to) const override;
  bool is_one_document() const override {
    return rule_.kind == SplitRule::Kind::kWhole;
  }

 private:
  absl::StatusOr<PackUnit> CutWhole(const UnitBegin& begin);
  absl::Status TooLarge() const;

  PackFile file_;
  const SplitRule rule_;
  const std::shared_ptr<const SentencePiece> model_;
};

absl::StatusOr<PackUnit> TextPackInput::Cut(const UnitBegin& begin) {
  PONIENTE_RETURN_IF_ERROR(file_.SkipTo(begin.at));
  if (model_ != nullptr) return CutWhole(begin);
  const uint64_t middle = begin.at + kPackUnitBytes;
  if (!file_.is_stream() && middle >= file_.input().bytes) {
    return file_.Take(begin, {file_.input().bytes, false}, true);
  }
  if (rule_.kind == SplitRule::Kind::kWhole && !file_.is_stream()) {
    return file_.Take(begin, {middle, false}, false);
  }
  const size_t wanted = kMaxCutLineBytes + 2;
  PONIENTE_ASSIGN_OR_RETURN(const std::string_view around,
                            file_.Window(middle - 1, wanted));
  const size_t newline = around.find('\n');
  if (around.empty() ||
      (newline == std::string_view::npos && around.size() < wanted)) {
    return file_.Take(begin, {file_.End(), false}, true);
  }
  if (rule_.kind == SplitRule::Kind::kWhole) {
    return file_.Take(begin, {middle, false}, false);
  }
  if (newline == std::string_view::npos) {
    return file_.Take(begin, {middle, true}, false);
  }
  const uint64_t end = middle + newline;
  return file_.Take(begin, {end, false},
                    !file_.is_stream() && end == file_.End());
}

absl::StatusOr<PackUnit> TextPackInput::CutWhole(const UnitBegin& begin) {
  if (file_.is_stream()) {
    PONIENTE_ASSIGN_OR_RETURN(
        const std::string_view all,
        file_.Window(0, static_cast<size_t>(kMaxModelBytes) + 1));
    if (all.size() > kMaxModelBytes) return TooLarge();
    return file_.Take(begin, {all.size(), false}, true);
  }
  if (file_.input().bytes > kMaxModelBytes) return TooLarge();
  return file_.Take(begin, {file_.input().bytes, false}, true);
}

absl::Status TextPackInput::TooLarge() const {
  return absl::InvalidArgumentError(absl::StrCat(
      "'", file_.input().path, "' has more than ", kMaxModelBytes,
      " bytes, too many for a model to take at once; split it into several "
      "files, or convert it to JSONL with one document per line"));
}

absl::Status TextPackInput::Convert(const PackUnit& unit,
                                    UnitDocuments* to) const {
  thread_local std::vector<char> buffer;
  PONIENTE_ASSIGN_OR_RETURN(const std::string_view text,
                            file_.Read(unit, &buffer));
  if (unit.begin.at == 0) {
    to->looks_like = CompressionOf(text) != Compression::kNone
                         ? LooksLike::kCompressed
                     : LooksBinary(text) ? LooksLike::kBinary
                                         : LooksLike::kText;
  }
  ByteSink bytes(to);
  ModelSink ids(model_.get(), to);
  TextSplitter splitter(
      rule_, model_ == nullptr ? static_cast<DocumentSink*>(&bytes) : &ids,
      unit.begin.inside_line);
  absl::Status done = splitter.Add(text);
  if (done.ok()) done = unit.is_last ? splitter.Finish() : splitter.Pause();
  return Prepend(done, absl::StrCat("'", file_.input().path, "'"));
}

}  // namespace

std::unique_ptr<PackInput> OpenTextInput(
    const TextInput& input, const SplitRule& rule,
    std::shared_ptr<const SentencePiece> model, const std::atomic<bool>* stop) {
  return std::make_unique<TextPackInput>(input, rule, std::move(model), stop);
}

}  // namespace poniente::internal
