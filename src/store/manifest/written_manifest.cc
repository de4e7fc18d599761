// SPDX-License-Identifier: Apache-2.0
#include "store/manifest/written_manifest.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Parses a text from its beginning. After the first mismatch, every call fails.
class TokenScanner {
 public:
  explicit TokenScanner(std::string_view text) : rest_(text) {}

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }

  bool Take(std::string_view literal) {
    if (!rest_.starts_with(literal)) return Fail();
    rest_.remove_prefix(literal.size());
    return ok_;
  }
  // Takes the literal if the text goes on with it; else takes nothing.
  bool TakeIf(std::string_view literal) {
    return ok_ && rest_.starts_with(literal) && Take(literal);
  }
  bool Fail() { return ok_ = false; }
  // Takes a number as JSON writes it: without leading zeros.
  uint64_t Number() {
    const bool leads_with_zero = rest_.size() > 1 && rest_[0] == '0' &&
                                 rest_[1] >= '0' && rest_[1] <= '9';
    return leads_with_zero ? Fail() : Parsed(rest_, 10);
  }
  // Takes a number in lower-case hexadecimal digits.
  uint64_t Hex(size_t digits) {
    const std::string_view text = rest_.substr(0, digits);
    if (text.size() < digits ||
        text.find_first_not_of("0123456789abcdef") != std::string_view::npos) {
      return Fail();
    }
    return Parsed(text, 16);
  }
  // Takes the text before the next quotation mark. Fails if JSON would escape
  // any of its characters.
  std::string_view Text() {
    const size_t end = rest_.find('"');
    if (end == std::string_view::npos) return Nothing();
    const std::string_view text = rest_.substr(0, end);
    if (std::any_of(text.begin(), text.end(),
                    [](char c) { return c < ' ' || c > '~' || c == '\\'; })) {
      return Nothing();
    }
    rest_.remove_prefix(end);
    return text;
  }

 private:
  std::string_view Nothing() {
    Fail();
    return {};
  }
  uint64_t Parsed(std::string_view digits, int base) {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(
        digits.data(), digits.data() + digits.size(), number, base);
    if (error != std::errc()) return Fail();
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return number;
  }

  std::string_view rest_;
  bool ok_ = true;
};

// Takes the tokenizer and the members that may follow it.
void TakeTokenizer(TokenScanner* scanner, StoreManifest* manifest) {
  scanner->Take(",\n  \"tokenizer\": \"");
  manifest->vocabulary.tokenizer = scanner->Text();
  scanner->Take("\"");
  if (scanner->TakeIf(",\n  \"tokenizer_library\": \"")) {
    manifest->tokenizer_library = scanner->Text();
    if (manifest->tokenizer_library.empty()) scanner->Fail();
    scanner->Take("\"");
  }
  if (scanner->TakeIf(",\n  \"tokenizer_model\": {\n    \"crc32c\": \"")) {
    TokenizerModel& model = manifest->tokenizer_model.emplace();
    model.crc32c = static_cast<uint32_t>(scanner->Hex(8));
    scanner->Take("\",\n    \"path\": \"");
    model.path = scanner->Text();
    scanner->Take("\"\n  }");
  }
}

// The member of `files` for one file.
struct WrittenFile {
  StoreFile file;
  uint64_t bytes = 0;
  uint64_t generation = 0;
};

// Takes the members of `files`, which are in the order of their names.
std::vector<WrittenFile> TakeFiles(TokenScanner* scanner,
                                   StoreManifest* manifest) {
  std::vector<WrittenFile> files;
  for (const StoreFile file : {StoreFile::kChecksums, StoreFile::kDocuments,
                               StoreFile::kLossMask, StoreFile::kTokens}) {
    const std::string_view kind = StoreFileKind(file);
    const std::string head =
        absl::StrCat(files.empty() ? "" : ",", "\n    \"", Absl(kind),
                     "\": {\n      \"bytes\": ");
    if (file != StoreFile::kLossMask) {
      scanner->Take(head);
    } else if (scanner->TakeIf(head)) {
      manifest->has_loss_mask = true;
    } else {
      continue;
    }
    WrittenFile& written = files.emplace_back(WrittenFile{file});
    written.bytes = scanner->Number();
    if (file == StoreFile::kChecksums) {
      scanner->Take(",\n      \"crc32c\": \"");
      manifest->checksums_crc32c = static_cast<uint32_t>(scanner->Hex(8));
      scanner->Take("\"");
    }
    scanner->Take(",\n      \"name\": \"");
    scanner->Take(kind);
    scanner->Take("-");
    written.generation = scanner->Number();
    scanner->Take(".bin\"\n    }");
  }
  return files;
}

// Returns the text without white space (except in strings) and without the line
// that begins with `without`.
std::string Compact(std::string_view text, std::string_view without) {
  const size_t begin = text.find(without);
  const size_t end = text.find('\n', begin);
  std::string compact;
  compact.reserve(text.size());
  bool in_string = false;
  for (const std::string_view part :
       {text.substr(0, begin), text.substr(end)}) {
    for (const char c : part) {
      if (c == '"') in_string = !in_string;
      if (in_string || (c != ' ' && c != '\n')) compact.push_back(c);
    }
  }
  return compact;
}

}  // namespace

std::optional<StoreManifest> ReadWrittenManifest(std::string_view text) {
  StoreManifest manifest;
  TokenScanner scanner(text);
  scanner.Take("{\n  \"block_bytes\": ");
  manifest.block_bytes = scanner.Number();
  scanner.Take(",\n  \"checksum\": \"");
  const uint64_t checksum = scanner.Hex(8);
  scanner.Take("\",\n  \"documents\": ");
  manifest.documents = scanner.Number();
  scanner.Take(",\n  \"end_of_document\": ");
  if (!scanner.TakeIf("null")) {
    const uint64_t id = scanner.Number();
    if (id > UINT32_MAX) return std::nullopt;
    manifest.end_of_document = static_cast<uint32_t>(id);
  }
  scanner.Take(",\n  \"files\": {");
  const std::vector<WrittenFile> files = TakeFiles(&scanner, &manifest);
  scanner.Take("\n  },\n  \"fingerprint\": \"");
  manifest.fingerprint = scanner.Hex(16);
  scanner.Take("\",\n  \"format\": \"");
  scanner.Take(kStoreFormat);
  scanner.Take("\",\n  \"generation\": ");
  manifest.generation = scanner.Number();
  scanner.Take(",\n  \"name_bytes\": ");
  manifest.name_bytes = scanner.Number();
  scanner.Take(",\n  \"token_type\": \"");
  const auto type = ParseTokenType(scanner.Text());
  scanner.Take("\"");
  TakeTokenizer(&scanner, &manifest);
  scanner.Take(",\n  \"tokens\": ");
  manifest.tokens = scanner.Number();
  scanner.Take(",\n  \"version\": ");
  const uint64_t version = scanner.Number();
  scanner.Take(",\n  \"vocab_size\": ");
  manifest.vocabulary.size = scanner.Number();
  scanner.Take("\n}\n");

  if (!scanner.at_end() || !type.ok() || version != manifest.version()) {
    return std::nullopt;
  }
  manifest.token_type = *type;
  if (!CheckManifest(manifest).ok()) return std::nullopt;
  for (const WrittenFile& written : files) {
    if (written.bytes != manifest.FileBytes(written.file) ||
        written.generation != manifest.generation) {
      return std::nullopt;
    }
  }
  const std::string compact = Compact(text, "  \"checksum\": ");
  if (Crc32c(std::as_bytes(std::span(compact))) != checksum) {
    return std::nullopt;
  }
  return manifest;
}

}  // namespace poniente::internal
