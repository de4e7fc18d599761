// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/token_text.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "store/posix_file.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

using internal::RecordedModel;
using internal::SentencePiece;

constexpr uint64_t kMaxShownModelBytes = uint64_t{256} << 20;
constexpr char kSayWhere[] = "; say where it is with --tokenizer PATH";

std::string HexOfChecksum(uint32_t crc32c) {
  return absl::StrCat(absl::Hex(crc32c, absl::kZeroPad8));
}

// "llama-1a2b3c4d", as `pack` calls the tokenizer of llama.model, tells as much
// of a model as older stores do.
std::optional<internal::TokenizerModel> ModelNamedBy(
    const std::string& tokenizer) {
  const size_t dash = tokenizer.rfind('-');
  uint32_t crc32c = 0;
  if (dash == std::string::npos || dash == 0 || tokenizer.size() != dash + 9 ||
      !absl::SimpleHexAtoi(tokenizer.substr(dash + 1), &crc32c) ||
      HexOfChecksum(crc32c) != tokenizer.substr(dash + 1)) {
    return std::nullopt;
  }
  return internal::TokenizerModel{tokenizer.substr(0, dash) + ".model", crc32c};
}

// What is known of the model of a source.
std::optional<RecordedModel> ModelBehind(const TokenSource* source,
                                         const Vocabulary* vocabulary) {
  if (source == nullptr) return std::nullopt;
  std::optional<RecordedModel> recorded = internal::ModelOf(*source);
  if (recorded || vocabulary == nullptr) return recorded;
  if (auto named = ModelNamedBy(vocabulary->tokenizer)) {
    return RecordedModel{*std::move(named), source->path()};
  }
  return std::nullopt;
}

// Where the model may be: in the store's folder, in the folder around it, and
// where it was when the store was packed.
std::vector<std::string> PlacesOf(const RecordedModel& recorded) {
  const std::filesystem::path path = recorded.model.path;
  const std::filesystem::path store =
      std::filesystem::path(recorded.store) / "";  // "s" and "s/" are the same
  std::vector<std::string> places;
  if (path.filename().empty()) return places;
  places.push_back((store.parent_path() / path.filename()).string());
  places.push_back(
      (store.parent_path() / ".." / path.filename()).lexically_normal());
  if (path.is_absolute()) places.push_back(path);
  return places;
}

}  // namespace

std::string TokenText::Of(std::span<const uint32_t> ids,
                          bool begins_document) const {
  if (model_ != nullptr) return model_->Decode(ids, begins_document);
  std::string text;
  for (const uint32_t id : ids) {
    if (id <= 255) {
      text += static_cast<char>(id);
    } else {
      absl::StrAppend(&text, "<", id, ">");
    }
  }
  return text;
}

Option TokenTexts::TokenizerOption() {
  return {
      "tokenizer", "PATH",
      "the SentencePiece model of the ids, for showing their text; default: "
      "where it was when the store was packed, or a copy in the store's "
      "folder or the one around it"};
}

absl::StatusOr<TokenTexts> TokenTexts::Create(const Arguments& arguments) {
  TokenTexts texts;
  const auto path = arguments.Text("tokenizer");
  if (!path) return texts;
  PONIENTE_ASSIGN_OR_RETURN(texts.stated_, Read(*path));
  return texts;
}

absl::StatusOr<TokenTexts::Model> TokenTexts::Read(const std::string& path) {
  PONIENTE_ASSIGN_OR_RETURN(
      const std::string bytes,
      internal::ReadSmallFile(path, "a SentencePiece model",
                              kMaxShownModelBytes));
  Model model{path, internal::Crc32c(std::as_bytes(std::span(bytes))), nullptr};
  std::string error;
  model.loaded = SentencePiece::Load(bytes, &error);
  if (model.loaded != nullptr) return model;
  return absl::FailedPreconditionError(absl::StrCat("'", path, "' ", error));
}

absl::StatusOr<const TokenText*> TokenTexts::For(const TokenSource* source,
                                                 const Vocabulary* vocabulary) {
  const auto [at, is_new] = texts_.try_emplace(source, std::nullopt);
  std::optional<TokenText>& text = at->second;
  if (!is_new) return text ? &*text : nullptr;
  const std::string tokenizer =
      vocabulary == nullptr ? "" : vocabulary->tokenizer;
  const std::optional<RecordedModel> recorded = ModelBehind(source, vocabulary);
  if (stated_) {
    PONIENTE_RETURN_IF_ERROR(CheckStated(recorded, source, vocabulary));
    text.emplace(stated_->loaded);
  } else if (tokenizer == "bytes") {
    text.emplace();
  } else if (recorded) {
    if (auto model = Find(*recorded, tokenizer)) text.emplace(std::move(model));
  } else {
    WarnOnce(absl::StrCat(
        "cannot show text of tokenizer '", tokenizer,
        "': the store does not name a model; if the ids are of a SentencePiece "
        "model, give it with --tokenizer PATH: showing ids instead"));
  }
  return text ? &*text : nullptr;
}

absl::Status TokenTexts::CheckStated(
    const std::optional<RecordedModel>& recorded, const TokenSource* source,
    const Vocabulary* vocabulary) {
  const std::string which =
      source == nullptr ? "the source" : absl::StrCat("'", source->path(), "'");
  if (vocabulary != nullptr && vocabulary->tokenizer == "bytes") {
    return absl::FailedPreconditionError(absl::StrCat(
        "the ids of ", which, " are bytes, not those of a model; leave ",
        "--tokenizer out"));
  }
  if (recorded && recorded->model.crc32c != stated_->crc32c) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the model '", stated_->path, "' has the CRC32C ",
        HexOfChecksum(stated_->crc32c), ", but the ids of ", which,
        " were made by '", recorded->model.path, "' with the CRC32C ",
        HexOfChecksum(recorded->model.crc32c),
        ": give that model with --tokenizer"));
  }
  if (recorded) return absl::OkStatus();
  const uint64_t pieces = stated_->loaded->vocabulary_size();
  if (vocabulary != nullptr && vocabulary->size < pieces) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the model '", stated_->path, "' has ", pieces, " pieces, but ", which,
        " has ids of '", vocabulary->tokenizer, "', which are below ",
        vocabulary->size, ": give the model that made them"));
  }
  WarnOnce(absl::StrCat(which,
                        " does not name its model: the text is right "
                        "only if '",
                        stated_->path, "' made its ids"));
  return absl::OkStatus();
}

std::shared_ptr<const SentencePiece> TokenTexts::Find(
    const RecordedModel& recorded, const std::string& tokenizer) {
  const auto known = found_.find(recorded.model.crc32c);
  if (known != found_.end()) return known->second;
  std::string why;
  for (const std::string& place : PlacesOf(recorded)) {
    std::error_code ignored;
    if (!std::filesystem::exists(place, ignored)) continue;
    const absl::StatusOr<Model> model = Read(place);
    if (!model.ok()) {
      why = std::string(model.status().message());
    } else if (model->crc32c != recorded.model.crc32c) {
      why = absl::StrCat("'", place, "' has the CRC32C ",
                         HexOfChecksum(model->crc32c), ", not ",
                         HexOfChecksum(recorded.model.crc32c),
                         " as the model that made the ids", kSayWhere);
    } else {
      found_[model->crc32c] = model->loaded;
      return model->loaded;
    }
  }
  if (why.empty()) {
    why = absl::StrCat("its model '", recorded.model.path, "' (CRC32C ",
                       HexOfChecksum(recorded.model.crc32c),
                       ") is not there, nor is a copy in the store's folder",
                       kSayWhere);
  }
  WarnOnce(absl::StrCat("cannot show text of tokenizer '", tokenizer,
                        "': ", why, ": showing ids instead"));
  return nullptr;
}

void TokenTexts::WarnOnce(std::string warning) {
  if (std::find(warnings_.begin(), warnings_.end(), warning) ==
      warnings_.end()) {
    warnings_.push_back(std::move(warning));
  }
}

}  // namespace poniente::cli
