// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_jsonl.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pack/pack_file.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kWindowBytes = size_t{1} << 16;
constexpr uint64_t kMaxLineBytes = uint64_t{256} << 20;

class JsonlPackInput final : public PackInput {
 public:
  JsonlPackInput(const TextInput& input, const JsonField& field,
                 std::shared_ptr<const SentencePiece> model,
                 const std::atomic<bool>* stop)
      : file_(input, stop), field_(field), model_(std::move(model)) {}

  absl::StatusOr<PackUnit> Cut(const UnitBegin& begin) override;
  bool ReadAhead() override { return file_.ReadAhead(); }
  absl::Status Convert(const PackUnit& unit, UnitDocuments* to) const override;

 private:
  // False, with what is wrong in `error`, for a line without a document.
  bool ConvertLine(std::string_view text, size_t bytes_behind, uint64_t line,
                   JsonLine* json, UnitDocuments* to, std::string* error) const;
  // Adds the ids of a text; of these, those in `loss` have loss, or all.
  bool ConvertText(std::string_view text,
                   const std::optional<std::vector<LossSpan>>& loss,
                   UnitDocuments* to, std::string* error) const;
  bool ConvertMessages(const std::vector<ChatMessage>& messages,
                       UnitDocuments* to, std::string* error) const;

  PackFile file_;
  const JsonField field_;
  const std::shared_ptr<const SentencePiece> model_;
};

// Behind the first line that ends where the unit is full.
absl::StatusOr<PackUnit> JsonlPackInput::Cut(const UnitBegin& begin) {
  PONIENTE_RETURN_IF_ERROR(file_.SkipTo(begin.at));
  uint64_t at = begin.at + kPackUnitBytes - 1;
  while (at - begin.at < kPackUnitBytes + kMaxLineBytes) {
    PONIENTE_ASSIGN_OR_RETURN(const std::string_view window,
                              file_.Window(at, kWindowBytes));
    const size_t newline = window.find('\n');
    if (newline != std::string_view::npos) {
      const uint64_t end = at + newline + 1;
      return file_.Take(begin, {end, false},
                        !file_.is_stream() && end == file_.End());
    }
    if (window.size() < kWindowBytes) {
      return file_.Take(begin, {file_.End(), false}, true);
    }
    at += window.size();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", file_.input().path, "': a line at or after byte ",
                   begin.at, " has more than ", kMaxLineBytes,
                   " bytes; JSONL holds one document per line: split the line, "
                   "or pack the file with --input-format text"));
}

absl::Status JsonlPackInput::Convert(const PackUnit& unit,
                                     UnitDocuments* to) const {
  thread_local std::vector<char> buffer;
  PONIENTE_ASSIGN_OR_RETURN(std::string_view text, file_.Read(unit, &buffer));
  if (unit.begin.at == 0 && CompressionOf(text) != Compression::kNone) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", file_.input().path,
        "' is compressed in a format that this build cannot read (all builds "
        "read gzip, builds with libzstd also zstd); decompress it in a pipe: "
        "xzcat FILE | poniente pack - --input-format jsonl --out DIR"));
  }
  if (field_.kind == JsonField::Kind::kIds) to->KeepOwnEnds();
  JsonLine json(field_);
  std::string error;
  while (!text.empty()) {
    const size_t newline = text.find('\n');
    const std::string_view line = text.substr(0, newline);
    text.remove_prefix(newline == std::string_view::npos ? text.size()
                                                         : newline + 1);
    ++to->lines;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (!ConvertLine(line, text.size(), to->lines, &json, to, &error)) {
      to->AddBadLine(to->lines, error);
    }
  }
  return absl::OkStatus();
}

bool JsonlPackInput::ConvertLine(std::string_view text, size_t bytes_behind,
                                 uint64_t line, JsonLine* json,
                                 UnitDocuments* to, std::string* error) const {
  if (!json->Read(text, bytes_behind)) {
    *error = json->error();
    return false;
  }
  if (field_.kind == JsonField::Kind::kIds) {
    if (json->loss()) {
      to->AppendIds(json->ids(),
                    LossOfSpans(*json->loss(), json->ids().size()));
    } else {
      to->AppendIds(json->ids());
    }
  } else {
    const bool is_converted =
        field_.kind == JsonField::Kind::kMessages
            ? ConvertMessages(json->messages(), to, error)
            : ConvertText(json->text(), json->loss(), to, error);
    if (!is_converted) return false;
  }
  to->EndDocument(line);
  return true;
}

bool JsonlPackInput::ConvertText(
    std::string_view text, const std::optional<std::vector<LossSpan>>& loss,
    UnitDocuments* to, std::string* error) const {
  if (model_ == nullptr) {
    loss ? to->AppendBytes(text, LossOfSpans(*loss, text.size()))
         : to->AppendBytes(text);
    return true;
  }
  std::vector<uint32_t> ids;
  if (!loss) {
    if (!model_->Encode(text, &ids, error)) return false;
    to->AppendIds(ids);
    return true;
  }
  std::vector<TokenPlace> places;
  if (!model_->Encode(text, &ids, &places, error)) return false;
  to->AppendIds(ids, LossOfPlaces(text, *loss, places));
  return true;
}

// The text of a chat goes to the model as a whole, as a prompt does when the
// model is used.
bool JsonlPackInput::ConvertMessages(const std::vector<ChatMessage>& messages,
                                     UnitDocuments* to,
                                     std::string* error) const {
  std::string text;
  std::optional<std::vector<LossSpan>> loss(std::in_place);
  field_.chat.Render(messages, &text, &*loss);
  if (!field_.reads_loss) loss.reset();
  return ConvertText(text, loss, to, error);
}

}  // namespace

std::unique_ptr<PackInput> OpenJsonlInput(
    const TextInput& input, const JsonField& field,
    std::shared_ptr<const SentencePiece> model, const std::atomic<bool>* stop) {
  return std::make_unique<JsonlPackInput>(input, field, std::move(model), stop);
}

}  // namespace poniente::internal
