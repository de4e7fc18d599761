// SPDX-License-Identifier: Apache-2.0
#include "store/manifest/manifest_text.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "store/manifest/written_manifest.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 4;

absl::Status DamagedManifest(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("manifest is damaged: ", Absl(what),
                   "; restore it from a copy or pack the store again"));
}

// Returns the text of the JSON. Never throws, because it replaces bytes that
// are not UTF-8 by U+FFFD.
std::string Dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string ManifestHex(uint64_t value, int digits) {
  return digits == 16
             ? std::string(absl::StrCat(absl::Hex(value, absl::kZeroPad16)))
             : std::string(absl::StrCat(absl::Hex(value, absl::kZeroPad8)));
}

// Returns the CRC32C of all members except "checksum", written compactly with
// keys in bytewise order.
std::string SelfChecksum(Json members) {
  members.erase("checksum");
  const std::string text = Dump(members, -1);
  return ManifestHex(Crc32c(std::as_bytes(std::span(text))), 8);
}

// Typed access to the members of one object. Keeps the first error.
class Members {
 public:
  Members(const Json& object, std::string where)
      : object_(object), where_(std::move(where)) {}

  uint64_t Number(const char* key, uint64_t min, uint64_t max) {
    const Json* value = Find(key);
    if (value == nullptr) return min;
    if (!value->is_number_unsigned()) {
      Fail(key, "is not a whole number");
      return min;
    }
    const uint64_t number = value->get<uint64_t>();
    if (number >= min && number <= max) return number;
    Fail(key, absl::StrCat("is ", number, ", expected ", min, " to ", max));
    return min;
  }

  std::string Text(const char* key) {
    const Json* value = Find(key);
    if (value == nullptr) return "";
    if (!value->is_string()) {
      Fail(key, "is not a string");
      return "";
    }
    return value->get<std::string>();
  }

  uint64_t HexNumber(const char* key, int digits) {
    const std::string text = Text(key);
    uint64_t number = 0;
    if (!status_.ok()) return 0;
    if (absl::SimpleHexAtoi(text, &number) &&
        ManifestHex(number, digits) == text) {
      return number;
    }
    Fail(key, absl::StrCat("is not ", digits, " lower-case hex digits"));
    return 0;
  }

  const Json* Find(const char* key) {
    const auto found = object_.find(key);
    if (found != object_.end()) return &*found;
    Fail(key, "is missing");
    return nullptr;
  }

  void Fail(const char* key, std::string_view what) {
    if (!status_.ok()) return;
    status_ = DamagedManifest(absl::StrCat("'", where_, key, "' ", Absl(what)));
  }

  // Takes over an error of another object.
  void Take(const absl::Status& status) { status_.Update(status); }

  const absl::Status& status() const { return status_; }

 private:
  const Json& object_;
  const std::string where_;
  absl::Status status_;
};

// Parses JSON that is not nested more deeply than a manifest. A deeper one
// could exhaust the stack.
Json ParseShallow(std::string_view text, bool* too_deep) {
  const auto look = [&](int depth, Json::parse_event_t, Json&) {
    *too_deep = *too_deep || depth > kMaxDepth;
    return !*too_deep;
  };
  return Json::parse(text, look, /*allow_exceptions=*/false);
}

absl::StatusOr<Json> ParseObject(std::string_view text) {
  bool too_deep = false;
  const Json json = ParseShallow(text, &too_deep);
  if (too_deep) return DamagedManifest("it is nested too deeply");
  if (json.is_discarded()) return DamagedManifest("it is not valid JSON");
  if (!json.is_object()) return DamagedManifest("it is not a JSON object");
  return json;
}

absl::Status CheckFormat(const Json& json, std::string_view expected,
                         uint64_t last_version) {
  Members members(json, "");
  const std::string format = members.Text("format");
  PONIENTE_RETURN_IF_ERROR(members.status());
  if (format != expected) {
    return absl::InvalidArgumentError(absl::StrCat("manifest is of format '",
                                                   format, "', expected '",
                                                   Absl(expected), "'"));
  }
  const uint64_t version = members.Number("version", 0, UINT64_MAX);
  PONIENTE_RETURN_IF_ERROR(members.status());
  if (version < kStoreVersion || version > last_version) {
    std::string known = absl::StrCat("version ", kStoreVersion);
    if (last_version > kStoreVersion) {
      known = absl::StrCat("versions ", kStoreVersion, " and ", last_version);
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "manifest is of version ", version, ", this library reads ", known,
        "; use a matching release of Poniente"));
  }
  const std::string stored = members.Text("checksum");
  PONIENTE_RETURN_IF_ERROR(members.status());
  const std::string computed = SelfChecksum(json);
  if (stored == computed) return absl::OkStatus();
  return DamagedManifest(absl::StrCat("its checksum is ", stored,
                                      ", its members give ", computed));
}

// Checks that the stated names and sizes of files are those that follow from
// the other members, so that no reader opens a file other than the described
// one.
absl::Status CheckFiles(const Json& files, StoreManifest* manifest) {
  if (!files.is_object()) return DamagedManifest("'files' is not an object");
  Members entries(files, "files.");
  for (const StoreFile file : manifest->Files()) {
    const std::string kind(StoreFileKind(file));
    const Json* entry = entries.Find(kind.c_str());
    PONIENTE_RETURN_IF_ERROR(entries.status());
    if (!entry->is_object()) {
      return DamagedManifest(
          absl::StrCat("'files.", kind, "' is not an object"));
    }
    Members members(*entry, absl::StrCat("files.", kind, "."));
    const std::string name = StoreFileName(file, manifest->generation);
    if (members.Text("name") != name) {
      members.Fail("name", absl::StrCat("is not '", name, "'"));
    }
    const uint64_t bytes = manifest->FileBytes(file);
    members.Number("bytes", bytes, bytes);
    if (file == StoreFile::kChecksums) {
      manifest->checksums_crc32c =
          static_cast<uint32_t>(members.HexNumber("crc32c", 8));
    }
    PONIENTE_RETURN_IF_ERROR(members.status());
  }
  return absl::OkStatus();
}

// Reads the members that a manifest may leave out.
void ReadOptional(const Json& json, Members* members, StoreManifest* manifest) {
  if (json.contains("tokenizer_library")) {
    manifest->tokenizer_library = members->Text("tokenizer_library");
    if (manifest->tokenizer_library.empty()) {
      members->Fail("tokenizer_library", "is empty");
    }
  }
  const auto model = json.find("tokenizer_model");
  if (model == json.end()) return;
  if (!model->is_object()) {
    members->Fail("tokenizer_model", "is not an object");
    return;
  }
  Members parts(*model, "tokenizer_model.");
  manifest->tokenizer_model = {
      parts.Text("path"), static_cast<uint32_t>(parts.HexNumber("crc32c", 8))};
  members->Take(parts.status());
}

// What a growing store has, too.
Json CommonMembers(const StoreManifest& manifest, std::string_view format) {
  Json json = {
      {"block_bytes", manifest.block_bytes},
      {"documents", manifest.documents},
      {"end_of_document", nullptr},
      {"format", std::string(format)},
      {"generation", manifest.generation},
      {"name_bytes", manifest.name_bytes},
      {"token_type", std::string(TokenTypeName(manifest.token_type))},
      {"tokenizer", manifest.vocabulary.tokenizer},
      {"tokens", manifest.tokens},
      {"version", manifest.version()},
      {"vocab_size", manifest.vocabulary.size},
  };
  if (manifest.end_of_document) {
    json["end_of_document"] = *manifest.end_of_document;
  }
  if (!manifest.tokenizer_library.empty()) {
    json["tokenizer_library"] = manifest.tokenizer_library;
  }
  if (manifest.tokenizer_model) {
    json["tokenizer_model"] = {
        {"crc32c", ManifestHex(manifest.tokenizer_model->crc32c, 8)},
        {"path", manifest.tokenizer_model->path}};
  }
  return json;
}

std::string Signed(Json json) {
  json["checksum"] = SelfChecksum(json);
  return Dump(json, 2) + "\n";
}

// Reads what CommonMembers() makes. Leaves errors to `members`, but for that of
// the type.
absl::Status ReadCommon(const Json& json, Members* members,
                        StoreManifest* manifest) {
  manifest->generation = members->Number("generation", 1, UINT64_MAX);
  manifest->vocabulary.tokenizer = members->Text("tokenizer");
  manifest->vocabulary.size =
      members->Number("vocab_size", 1, uint64_t{1} << 32);
  manifest->tokens = members->Number("tokens", 0, kMaxTokens);
  manifest->documents = members->Number("documents", 0, kMaxDocuments);
  manifest->name_bytes = members->Number("name_bytes", 0, kMaxNameBytes);
  manifest->block_bytes =
      members->Number("block_bytes", kMinBlockBytes, kMaxBlockBytes);
  const Json* end = members->Find("end_of_document");
  if (end != nullptr && !end->is_null()) {
    manifest->end_of_document = static_cast<uint32_t>(
        members->Number("end_of_document", 0, UINT32_MAX));
  }
  const std::string type_name = members->Text("token_type");
  ReadOptional(json, members, manifest);
  PONIENTE_RETURN_IF_ERROR(members->status());
  const absl::StatusOr<TokenType> type = ParseTokenType(type_name);
  if (!type.ok()) return DamagedManifest(std::string(type.status().message()));
  manifest->token_type = *type;
  return absl::OkStatus();
}

}  // namespace

std::string EncodeManifest(const StoreManifest& manifest) {
  Json json = CommonMembers(manifest, kStoreFormat);
  json["fingerprint"] = ManifestHex(manifest.fingerprint, 16);
  for (const StoreFile file : manifest.Files()) {
    Json& entry = json["files"][std::string(StoreFileKind(file))];
    entry["name"] = StoreFileName(file, manifest.generation);
    entry["bytes"] = manifest.FileBytes(file);
  }
  json["files"]["checksums"]["crc32c"] =
      ManifestHex(manifest.checksums_crc32c, 8);
  return Signed(std::move(json));
}

absl::StatusOr<StoreManifest> ParseManifest(std::string_view text) {
  if (std::optional<StoreManifest> written = ReadWrittenManifest(text)) {
    return *std::move(written);
  }
  PONIENTE_ASSIGN_OR_RETURN(const Json json, ParseObject(text));
  PONIENTE_RETURN_IF_ERROR(
      CheckFormat(json, kStoreFormat, kMaskedStoreVersion));
  StoreManifest manifest;
  Members members(json, "");
  manifest.has_loss_mask =
      members.Number("version", 0, UINT64_MAX) == kMaskedStoreVersion;
  manifest.fingerprint = members.HexNumber("fingerprint", 16);
  const Json* files = members.Find("files");
  PONIENTE_RETURN_IF_ERROR(ReadCommon(json, &members, &manifest));
  const absl::Status fits = CheckManifest(manifest);
  if (!fits.ok()) return DamagedManifest(std::string(fits.message()));
  PONIENTE_RETURN_IF_ERROR(CheckFiles(*files, &manifest));
  return manifest;
}

bool IsOfOtherFormat(std::string_view text) {
  bool too_deep = false;
  const Json json = ParseShallow(text, &too_deep);
  if (too_deep) return true;
  if (json.is_discarded()) return false;
  if (!json.is_object()) return true;
  const auto format = json.find("format");
  return format == json.end() || *format != std::string(kStoreFormat);
}

std::string EncodeGrowth(const StoreManifest& manifest) {
  return Signed(CommonMembers(manifest, kGrowthFormat));
}

absl::StatusOr<StoreManifest> ParseGrowth(std::string_view text) {
  PONIENTE_ASSIGN_OR_RETURN(const Json json, ParseObject(text));
  PONIENTE_RETURN_IF_ERROR(CheckFormat(json, kGrowthFormat, kStoreVersion));
  StoreManifest manifest;
  Members members(json, "");
  PONIENTE_RETURN_IF_ERROR(ReadCommon(json, &members, &manifest));
  const absl::Status fits = CheckVocabulary(
      manifest.vocabulary, manifest.token_type, manifest.end_of_document);
  if (!fits.ok()) return DamagedManifest(std::string(fits.message()));
  const absl::Status blocks = CheckBlockBytes(manifest.block_bytes);
  if (!blocks.ok()) return DamagedManifest(std::string(blocks.message()));
  return manifest;
}

}  // namespace poniente::internal
