// SPDX-License-Identifier: Apache-2.0
#include "store/catalog/catalog_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr char kFirstColumns[] = "path\ttokenizer\t";
constexpr char kLibraryColumn[] = "tokenizer_library\t";  // since version 2
constexpr char kLastColumns[] =
    "vocab_size\ttoken_type\tend_of_document\ttokens\t"
    "documents\tname_bytes\tblock_bytes\tgeneration\tchecksums_crc32c\t"
    "fingerprint\tmanifest_bytes\tmanifest_crc32c\tmanifest_mtime_ns\t"
    "tokens_mtime_ns\tdocuments_mtime_ns\tchecksums_mtime_ns";
constexpr char kMaskColumn[] = "\tloss_mask_mtime_ns";  // since version 3
constexpr char kNoMask[] = "-";
constexpr size_t kChecksumDigits = 8;
// No file system supports longer paths.
constexpr size_t kMaxPathBytes = 65536;

struct Escape {
  char character;
  char letter;
};
constexpr Escape kEscapes[] = {
    {'\\', '\\'}, {'\t', 't'}, {'\n', 'n'}, {'\r', 'r'}};

std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto* const found =
        std::find_if(std::begin(kEscapes), std::end(kEscapes),
                     [c](const Escape& one) { return one.character == c; });
    if (found == std::end(kEscapes)) {
      escaped.push_back(c);
    } else {
      escaped.append({'\\', found->letter});
    }
  }
  return escaped;
}

std::optional<std::string> Unescaped(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r') return std::nullopt;
    if (text[i] != '\\') {
      plain.push_back(text[i]);
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    const auto* const found =
        std::find_if(std::begin(kEscapes), std::end(kEscapes),
                     [&](const Escape& one) { return one.letter == text[i]; });
    if (found == std::end(kEscapes)) return std::nullopt;
    plain.push_back(found->character);
  }
  return plain;
}

absl::string_view HexOf(uint64_t number, size_t digits, char* into) {
  for (size_t i = digits; i-- > 0; number >>= 4) {
    into[i] = "0123456789abcdef"[number & 15];
  }
  return {into, digits};
}

std::string PaddedHex(uint64_t number, size_t digits) {
  char text[16];
  return std::string(HexOf(number, digits, text));
}

uint32_t Extend(uint32_t crc, std::string_view text) {
  return ExtendCrc32c(crc, std::as_bytes(std::span(text)));
}

// Joins lines. Each line ends with the checksum of all bytes before it.
class LineWriter {
 public:
  void Add(std::string_view fields) {
    const size_t begin = text_.size();
    absl::StrAppend(&text_, Absl(fields), "\t");
    crc_ = Extend(crc_, std::string_view(text_).substr(begin));
    const std::string ending =
        absl::StrCat(PaddedHex(crc_, kChecksumDigits), "\n");
    crc_ = Extend(crc_, ending);
    text_ += ending;
  }
  std::string Take() && { return std::move(text_); }

 private:
  std::string text_;
  uint32_t crc_ = 0;
};

std::string ColumnsOf(uint64_t version) {
  return absl::StrCat(kFirstColumns, version >= 2 ? kLibraryColumn : "",
                      kLastColumns,
                      version >= kMaskedCatalogVersion ? kMaskColumn : "");
}

uint64_t VersionFor(const std::vector<KnownStore>& stores) {
  const bool any_has_mask = std::any_of(
      stores.begin(), stores.end(),
      [](const KnownStore& store) { return store.manifest.has_loss_mask; });
  return any_has_mask ? kMaskedCatalogVersion : kCatalogVersion;
}

std::string LineOf(const KnownStore& store, uint64_t version) {
  const StoreManifest& manifest = store.manifest;
  std::string line = absl::StrCat(
      Escaped(store.path), "\t", Escaped(manifest.vocabulary.tokenizer), "\t",
      Escaped(manifest.tokenizer_library), "\t", manifest.vocabulary.size, "\t",
      Absl(TokenTypeName(manifest.token_type)), "\t",
      manifest.end_of_document ? absl::StrCat(*manifest.end_of_document)
                               : std::string("-"),
      "\t", manifest.tokens, "\t", manifest.documents, "\t",
      manifest.name_bytes, "\t");
  absl::StrAppend(&line, manifest.block_bytes, "\t", manifest.generation, "\t",
                  PaddedHex(manifest.checksums_crc32c, 8), "\t",
                  PaddedHex(manifest.fingerprint, 16), "\t",
                  store.manifest_file.bytes, "\t",
                  PaddedHex(store.manifest_crc32c, 8), "\t",
                  store.manifest_file.mtime_ns);
  for (size_t i = 0; i < manifest.Files().size(); ++i) {
    absl::StrAppend(&line, "\t", (*store.file_times_ns)[i]);
  }
  if (version >= kMaskedCatalogVersion && !manifest.has_loss_mask) {
    absl::StrAppend(&line, "\t", kNoMask);
  }
  return line;
}

absl::Status DamagedCatalog(uint64_t line, std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("line ", line, ": ", Absl(what),
                   "; write the catalogue again with `poniente catalog`"));
}

// Reads the text line by line.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}

  // Returns the number of the line that was read last, from 1.
  uint64_t number() const { return number_; }
  bool at_end() const { return rest_.empty(); }

  // Returns the next line without its checksum.
  absl::StatusOr<std::string_view> Next() {
    ++number_;
    const size_t end = rest_.find('\n');
    if (end == std::string_view::npos) {
      return DamagedCatalog(number_,
                            rest_.empty() ? "it is missing" : "it is cut off");
    }
    const std::string_view line = rest_.substr(0, end);
    if (end <= kChecksumDigits || line[end - kChecksumDigits - 1] != '\t') {
      return DamagedCatalog(number_, "it does not end in a checksum");
    }
    const size_t covered = end - kChecksumDigits;
    crc_ = Extend(crc_, line.substr(0, covered));
    const std::string computed = PaddedHex(crc_, kChecksumDigits);
    if (line.substr(covered) != computed) {
      return DamagedCatalog(number_,
                            absl::StrCat("its checksum does not match, the "
                                         "text up to there gives ",
                                         computed));
    }
    crc_ = Extend(crc_, rest_.substr(covered, kChecksumDigits + 1));
    rest_.remove_prefix(end + 1);
    return line.substr(0, covered - 1);
  }

 private:
  std::string_view rest_;
  uint32_t crc_ = 0;
  uint64_t number_ = 0;
};

// The fields of one line. Remembers the first wrong field.
class Fields {
 public:
  explicit Fields(std::string_view line) : rest_(line) {}

  std::string Text(const char* name) {
    std::optional<std::string> text = Unescaped(Take(name));
    if (!text.has_value()) Fail(name);
    return text.value_or("");
  }
  template <class Number>
  Number Decimal(const char* name) {
    const std::string_view text = Take(name);
    Number number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number);
    // Each number can be written in only one way.
    if (error != std::errc() || end != text.data() + text.size() ||
        (text.size() > 1 && text[text[0] == '-' ? 1 : 0] == '0') ||
        text == "-0") {
      Fail(name);
    }
    return number;
  }
  uint64_t Hex(const char* name, size_t digits) {
    const std::string_view text = Take(name);
    uint64_t number = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), number, 16);
    char again[16];
    if (error != std::errc() || text.size() != digits ||
        HexOf(number, digits, again) != Absl(text)) {
      Fail(name);
    }
    return number;
  }
  std::string_view Take(const char* name) {
    if (is_empty_) {
      Fail(name);
      return {};
    }
    const size_t end = std::min(rest_.find('\t'), rest_.size());
    const std::string_view field = rest_.substr(0, end);
    is_empty_ = end == rest_.size();
    rest_.remove_prefix(is_empty_ ? end : end + 1);
    return field;
  }
  void Fail(const char* name) {
    if (wrong_ == nullptr) wrong_ = name;
  }

  bool at_end() const { return is_empty_; }
  // Returns the name of the first wrong field; null if there is none.
  const char* wrong() const { return wrong_; }

 private:
  std::string_view rest_;
  bool is_empty_ = false;
  const char* wrong_ = nullptr;
};

// Returns whether the path leads to a folder below that of the catalogue.
bool IsBelow(std::string_view path) {
  if (path.empty() || path.size() > kMaxPathBytes ||
      path.find('\0') != std::string_view::npos) {
    return false;
  }
  while (true) {
    const size_t end = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, end);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == path.size()) return true;
    path.remove_prefix(end + 1);
  }
}

// Takes the time of the loss mask, which says whether there is one.
void ParseMask(Fields* fields, KnownStore* store) {
  Fields without = *fields;
  if (without.Take("loss_mask_mtime_ns") == kNoMask) {
    *fields = without;
    return;
  }
  store->manifest.has_loss_mask = true;
  store->file_times_ns->back() = fields->Decimal<int64_t>("loss_mask_mtime_ns");
}

// Parses a line. Returns the name of the first wrong field; null if there is
// none.
const char* ParseLine(std::string_view line, uint64_t version,
                      KnownStore* store) {
  Fields fields(line);
  StoreManifest& manifest = store->manifest;
  store->path = fields.Text("path");
  manifest.vocabulary.tokenizer = fields.Text("tokenizer");
  if (version >= 2) {
    manifest.tokenizer_library = fields.Text("tokenizer_library");
  }
  manifest.vocabulary.size = fields.Decimal<uint64_t>("vocab_size");
  const auto type = ParseTokenType(fields.Take("token_type"));
  if (!type.ok()) fields.Fail("token_type");
  manifest.token_type = type.value_or(TokenType::kU8);
  Fields without = fields;
  if (without.Take("end_of_document") == "-") {
    fields = without;
  } else {
    manifest.end_of_document = fields.Decimal<uint32_t>("end_of_document");
  }
  manifest.tokens = fields.Decimal<uint64_t>("tokens");
  manifest.documents = fields.Decimal<uint64_t>("documents");
  manifest.name_bytes = fields.Decimal<uint64_t>("name_bytes");
  manifest.block_bytes = fields.Decimal<uint64_t>("block_bytes");
  manifest.generation = fields.Decimal<uint64_t>("generation");
  manifest.checksums_crc32c =
      static_cast<uint32_t>(fields.Hex("checksums_crc32c", 8));
  manifest.fingerprint = fields.Hex("fingerprint", 16);
  store->manifest_file.bytes = fields.Decimal<uint64_t>("manifest_bytes");
  store->manifest_crc32c =
      static_cast<uint32_t>(fields.Hex("manifest_crc32c", 8));
  store->manifest_file.mtime_ns = fields.Decimal<int64_t>("manifest_mtime_ns");
  store->file_times_ns = {fields.Decimal<int64_t>("tokens_mtime_ns"),
                          fields.Decimal<int64_t>("documents_mtime_ns"),
                          fields.Decimal<int64_t>("checksums_mtime_ns"), 0};
  if (version >= kMaskedCatalogVersion) ParseMask(&fields, store);
  if (!fields.at_end())
    fields.Fail(version >= kMaskedCatalogVersion ? "loss_mask_mtime_ns"
                                                 : "checksums_mtime_ns");
  if (!IsBelow(store->path)) fields.Fail("path");
  return fields.wrong();
}

struct CatalogHead {
  uint64_t version = 0;
  uint64_t stores = 0;
};

absl::StatusOr<CatalogHead> ParseHead(std::string_view line) {
  Fields fields(line);
  if (fields.Take("format") != kCatalogFormat) {
    return DamagedCatalog(1, "it does not begin as a catalogue does");
  }
  const auto version = fields.Decimal<uint64_t>("version");
  if (fields.wrong() == nullptr &&
      (version < 1 || version > kMaskedCatalogVersion)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "catalogue is of version ", version,
        ", this library reads versions 1 to ", kMaskedCatalogVersion,
        "; use a matching release of Poniente"));
  }
  const auto stores = fields.Decimal<uint64_t>("stores");
  if (!fields.at_end()) fields.Fail("stores");
  if (fields.wrong() == nullptr) return CatalogHead{version, stores};
  return DamagedCatalog(1, absl::StrCat("its ", fields.wrong(), " is wrong"));
}

}  // namespace

std::string EncodeCatalog(const std::vector<KnownStore>& stores) {
  const uint64_t version = VersionFor(stores);
  LineWriter lines;
  lines.Add(
      absl::StrCat(Absl(kCatalogFormat), "\t", version, "\t", stores.size()));
  lines.Add(ColumnsOf(version));
  for (const KnownStore& store : stores) lines.Add(LineOf(store, version));
  return std::move(lines).Take();
}

absl::StatusOr<std::vector<KnownStore>> ParseCatalog(std::string_view text) {
  LineReader lines(text);
  PONIENTE_ASSIGN_OR_RETURN(const std::string_view first, lines.Next());
  PONIENTE_ASSIGN_OR_RETURN(const CatalogHead head, ParseHead(first));
  const uint64_t count = head.stores;
  PONIENTE_ASSIGN_OR_RETURN(const std::string_view columns, lines.Next());
  if (columns != ColumnsOf(head.version))
    return DamagedCatalog(2, "it does not name the columns");
  std::vector<KnownStore> stores;
  // The stated count may be wrong, so reserves at most what the text can
  // contain.
  stores.reserve(
      static_cast<size_t>(std::min<uint64_t>(count, text.size() / 100)));
  while (stores.size() < count) {
    PONIENTE_ASSIGN_OR_RETURN(const std::string_view line, lines.Next());
    KnownStore& store = stores.emplace_back();
    if (const char* const wrong = ParseLine(line, head.version, &store)) {
      return DamagedCatalog(lines.number(),
                            absl::StrCat("its ", wrong, " is wrong"));
    }
    const absl::Status fits = CheckManifest(store.manifest);
    if (!fits.ok()) {
      return DamagedCatalog(lines.number(), std::string(fits.message()));
    }
    if (stores.size() > 1 && stores[stores.size() - 2].path >= store.path) {
      return DamagedCatalog(lines.number(),
                            "its path does not follow the one before");
    }
  }
  if (!lines.at_end()) {
    return DamagedCatalog(lines.number() + 1,
                          absl::StrCat("it is one more than the ", count,
                                       " stores that line 1 says"));
  }
  return stores;
}

}  // namespace poniente::internal
