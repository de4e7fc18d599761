// SPDX-License-Identifier: Apache-2.0
#include "formats/loss_mask_files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "formats/arrays/npy_arrays.h"
#include "formats/choose_format.h"
#include "formats/core/file_arrays.h"
#include "formats/core/found_path.h"
#include "formats/core/token_format.h"
#include "formats/megatron/index_pair.h"
#include "store/manifest/manifest.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using Rule = LossMaskEncoding::Rule;

// Most arrays of a mask: 40 bytes of memory each.
constexpr uint64_t kMaxMaskArrays = uint64_t{1} << 22;
// Numbers whose pieces are found together.
constexpr uint64_t kLocatedAtOnce = uint64_t{1} << 22;
constexpr int64_t kIgnoredLabel = -100;
constexpr int64_t kAssistantRole = 2;

// How projects name a dataset of tokens and its mask: the ends of both names.
struct MaskNames {
  std::string_view tokens;
  std::string_view mask;
  std::optional<int64_t> no_loss = std::nullopt;
  std::optional<int64_t> loss = std::nullopt;
  // Whether the project reads both if it is given what stands before the ends.
  bool has_prefix = false;
};

constexpr std::array<MaskNames, 5> kPairNames = {{
    // MindSpeed-LLM, ModelLink
    {"_packed_input_ids_document", "_packed_labels_document", kIgnoredLabel,
     std::nullopt, true},
    // epfLLM's Megatron-LLM
    {"-text", "-role", std::nullopt, kAssistantRole, true},
    // FlagScale
    {"_text_document", "_loss_mask_document"},
    // GPT-NeoX
    {"_text_document", "_label_document", kIgnoredLabel},
    {"_document", "_label_document", kIgnoredLabel},
}};

// Those of OLMo and open-instruct: the beginnings of both names.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2>
    kArrayNames = {{
        {"token_ids_part_", "labels_mask_part_"},
        {"input_ids.npy", "label_mask.npy"},
    }};

std::string WithOtherEnd(std::string_view path, std::string_view end,
                         std::string_view other) {
  path.remove_suffix(end.size());
  return absl::StrCat(Absl(path), Absl(other));
}

// Returns the mask beside a pair of files, or beside one array; empty path if
// there is none.
LossMaskFiles MaskBeside(const std::string& file) {
  LossMaskFiles mask;
  if (HasSuffix(file, ".bin")) {
    const std::string_view stem =
        std::string_view(file).substr(0, file.size() - 4);
    for (const MaskNames& names : kPairNames) {
      if (!stem.ends_with(names.tokens)) continue;
      std::string path = WithOtherEnd(stem, names.tokens, names.mask);
      if (!IndexOfPrefix(path)) continue;
      return {std::move(path), "", "", names.no_loss, names.loss};
    }
  }
  const size_t slash = file.rfind('/');
  const size_t name = slash == std::string::npos ? 0 : slash + 1;
  for (const auto& [tokens, other] : kArrayNames) {
    if (!file.substr(name).starts_with(tokens)) continue;
    std::string path = absl::StrCat(file.substr(0, name), Absl(other),
                                    file.substr(name + tokens.size()));
    if (IsRegularFile(path)) return {std::move(path)};
  }
  return mask;
}

// Returns the path of the mask, for messages.
std::string MaskForMessage(const std::string& tokens,
                           const LossMaskFiles& mask) {
  return absl::StrCat("'", mask.path.empty() ? tokens : mask.path, "'",
                      mask.glob.empty() ? "" : ", files '", mask.glob,
                      mask.glob.empty() ? "" : "'",
                      mask.column.empty() ? "" : ", column '", mask.column,
                      mask.column.empty() ? "" : "'");
}

uint64_t NumbersIn(const TokenLayout& layout) {
  uint64_t numbers = 0;
  for (const TokenShard& shard : layout.shards) numbers += shard.tokens;
  return numbers;
}

// Lays out files without a header. Their size tells the width of the numbers.
absl::StatusOr<TokenLayout> LayOutHeaderless(const FoundPath& found,
                                             uint64_t tokens, bool is_signed) {
  const auto parse = [](const InputBytes& input) -> absl::StatusOr<FileArray> {
    return FileArray{StoredType::kU8, 0, input.size()};
  };
  PONIENTE_ASSIGN_OR_RETURN(TokenLayout layout,
                            LayOutFileArrays(found, {}, found.glob, parse));
  const uint64_t bytes = NumbersIn(layout);
  const uint64_t width = tokens == 0 ? 1 : bytes / tokens;
  if (width * tokens != bytes ||
      (width != 1 && width != 2 && width != 4 && width != 8)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", bytes, " bytes without a header of a known format, but there ",
        "are ", tokens,
        " tokens, for which numbers of 1, 2, 4 or 8 bytes have ", tokens,
        " bytes, or 2, 4 or 8 times as many"));
  }
  PONIENTE_ASSIGN_OR_RETURN(
      layout.type,
      ParseStoredType(absl::StrCat(is_signed ? "i" : "u", 8 * width)));
  for (size_t i = 0; i < layout.shards.size(); ++i) {
    PONIENTE_ASSIGN_OR_RETURN(
        layout.shards[i].tokens,
        CountWhole(layout.files[i], layout.shards[i].tokens, layout.type));
  }
  return layout;
}

absl::StatusOr<TokenLayout> LayOutLossMask(const std::string& path,
                                           const TokenSourceOptions& options,
                                           const TokenLayout& tokens) {
  const LossMaskFiles& mask = *options.loss_mask;
  const bool is_in_tokens = mask.path.empty() && mask.glob.empty();
  if (is_in_tokens && mask.column.empty()) {
    return absl::InvalidArgumentError(
        "is not stated: give its path, a pattern (glob) of its files beside "
        "the tokens, or its column");
  }
  if (is_in_tokens && tokens.format != "arrow" && tokens.format != "mds") {
    return absl::InvalidArgumentError(absl::StrCat(
        "is stated as a column, which files of the format '", tokens.format,
        "' do not have; state the path of the mask"));
  }
  TokenSourceOptions of_mask;
  of_mask.column = mask.column;
  of_mask.glob = is_in_tokens ? options.glob : mask.glob;
  if (is_in_tokens) of_mask.format = options.format;
  PONIENTE_ASSIGN_OR_RETURN(FoundPath found,
                            FindFiles(mask.path.empty() ? path : mask.path));
  found.glob = of_mask.glob;
  if (found.HasFile(kManifestName)) {
    return absl::InvalidArgumentError(
        "is a token store; masks of stores are stored in them: pack tokens "
        "and mask together");
  }
  const TokenFormat* format = RecognizedFormat(found);
  if (is_in_tokens && !of_mask.format.empty()) {
    PONIENTE_ASSIGN_OR_RETURN(format, ChooseFormat(found, of_mask));
  }
  if (format == nullptr) {
    if (found.is_folder && found.glob.empty()) {
      return absl::InvalidArgumentError(
          "is a folder of files without a header; state which of them hold the "
          "mask (glob)");
    }
    return LayOutHeaderless(found, NumbersIn(tokens),
                            mask.no_loss.value_or(0) < 0);
  }
  if (format->name == kNpyFormat.name) return LayOutNpyNumbers(found, of_mask);
  return format->open(found, of_mask);
}

absl::StatusOr<LossMaskEncoding> MaskEncoding(const LossMaskFiles& mask,
                                              StoredType type) {
  LossMaskEncoding encoding{Rule::kZeroOrOne, type, 0};
  if (!mask.no_loss && !mask.loss) return encoding;
  if (mask.no_loss && mask.loss) {
    return absl::InvalidArgumentError(
        "has both a number without loss (no_loss) and a number with loss "
        "(loss); state one of them");
  }
  encoding.rule = mask.loss ? Rule::kOnly : Rule::kAllBut;
  encoding.value = mask.loss ? *mask.loss : *mask.no_loss;
  const uint64_t bits = 8 * uint64_t{StoredTypeBytes(type)};
  const bool is_signed = StoredTypeName(type)[0] == 'i';
  const int64_t most = bits == 64
                           ? INT64_MAX
                           : (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  const int64_t least = is_signed ? -most - 1 : 0;
  if (encoding.value >= least && encoding.value <= most) return encoding;
  return absl::InvalidArgumentError(
      absl::StrCat("holds ", Absl(StoredTypeName(type)), ", of which none is ",
                   encoding.value, "; state the number that stands there"));
}

// Checks that both have the same number of tokens, in documents or files of the
// same lengths.
absl::Status CheckMaskLengths(const std::string& path,
                              const TokenLayout& tokens,
                              const TokenLayout& mask) {
  const auto differ = [&](std::string_view what, uint64_t number, uint64_t mine,
                          uint64_t masks) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", masks, " numbers in ", Absl(what), " ", number, ", '", path,
        "' has ", mine, " tokens there; it is the mask of other tokens"));
  };
  const uint64_t numbers = NumbersIn(mask);
  const uint64_t count = NumbersIn(tokens);
  if (numbers != count) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", numbers, " numbers, '", path, "' has ", count,
                     " tokens; there must be one for each token"));
  }
  if (mask.documents && tokens.documents) {
    const CompactEnds& a = tokens.documents->ends();
    const CompactEnds& b = mask.documents->ends();
    for (uint64_t d = 0; d < std::min(a.size(), b.size()); ++d) {
      if (a.Length(d) != b.Length(d)) {
        return differ("document", d, a.Length(d), b.Length(d));
      }
    }
    // All that follow in the longer list are empty.
    return absl::OkStatus();
  }
  if (mask.shards.size() < 2) return absl::OkStatus();
  if (mask.shards.size() != tokens.shards.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "has ", mask.shards.size(), " files, '", path, "' has ",
        tokens.shards.size(), "; there must be one for each, or one for all"));
  }
  for (size_t i = 0; i < mask.shards.size(); ++i) {
    const uint64_t mine = tokens.shards[i].tokens;
    if (mask.shards[i].tokens != mine) {
      return differ("file", i, mine, mask.shards[i].tokens);
    }
  }
  return absl::OkStatus();
}

// Appends runs to `joined`, and joins those that follow each other.
void AppendJoined(const std::vector<TokenRun>& runs, uint64_t width,
                  std::vector<TokenRun>* joined) {
  for (const TokenRun& run : runs) {
    const bool follows =
        !joined->empty() && joined->back().place == run.place &&
        joined->back().offset + joined->back().tokens * width == run.offset;
    if (follows) {
      joined->back().tokens += run.tokens;
    } else if (run.tokens > 0) {
      joined->push_back(run);
    }
  }
}

// Returns the runs of all numbers.
absl::StatusOr<std::vector<TokenRun>> AllRuns(const TokenLayout& layout) {
  const uint64_t width = StoredTypeBytes(layout.type);
  std::vector<TokenRun> joined;
  if (!layout.locator) {
    for (const TokenShard& shard : layout.shards) {
      AppendJoined({{shard.file, shard.offset, shard.tokens}}, width, &joined);
    }
    return joined;
  }
  const uint64_t count = NumbersIn(layout);
  std::vector<TokenRun> runs;
  for (uint64_t begin = 0; begin < count; begin += kLocatedAtOnce) {
    const uint64_t end = std::min(count, begin + kLocatedAtOnce);
    runs.clear();
    PONIENTE_RETURN_IF_ERROR(layout.locator->Locate({begin, end}, &runs));
    AppendJoined(runs, width, &joined);
    if (joined.size() <= kMaxMaskArrays) continue;
    return absl::UnimplementedError(absl::StrCat(
        "lies in more than ", kMaxMaskArrays,
        " pieces, which is not read; pack tokens and mask into a store"));
  }
  return joined;
}

// Returns whether the mask's first number is the tokens' first id.
absl::StatusOr<bool> MaskIsTokens(const TokenLayout& tokens,
                                  const TokenLayout& mask,
                                  const std::vector<TokenRun>& runs) {
  if (tokens.decoder || runs.empty()) return false;
  TokenRun first;
  if (tokens.locator) {
    std::vector<TokenRun> found;
    PONIENTE_RETURN_IF_ERROR(tokens.locator->Locate({0, 1}, &found));
    first = found.front();
  } else {
    const auto shard =
        std::find_if(tokens.shards.begin(), tokens.shards.end(),
                     [](const TokenShard& s) { return s.tokens > 0; });
    first = {shard->file, shard->offset, 1};
  }
  return first.offset == runs.front().offset &&
         tokens.files[first.place] == mask.files[runs.front().place];
}

absl::Status AddCheckedMask(const std::string& path,
                            const LossMaskFiles& stated,
                            const TokenLayout& mask, TokenLayout* tokens) {
  if (mask.decoder) {
    return absl::UnimplementedError(absl::StrCat(
        "is compressed, or in chunks (format '", mask.format,
        "'), which is not read as a mask; pack tokens and mask into a store, "
        "or unpack it"));
  }
  PONIENTE_ASSIGN_OR_RETURN(const LossMaskEncoding encoding,
                            MaskEncoding(stated, mask.type));
  PONIENTE_RETURN_IF_ERROR(CheckMaskLengths(path, *tokens, mask));
  PONIENTE_ASSIGN_OR_RETURN(const std::vector<TokenRun> runs, AllRuns(mask));
  PONIENTE_ASSIGN_OR_RETURN(const bool is_tokens,
                            MaskIsTokens(*tokens, mask, runs));
  if (is_tokens) {
    return absl::InvalidArgumentError(
        "is the tokens themselves; state the files or the column of the mask");
  }
  // The mask may be in files of the tokens.
  std::unordered_map<std::string, uint32_t> numbered;
  for (size_t i = 0; i < tokens->files.size(); ++i) {
    numbered.try_emplace(tokens->files[i], static_cast<uint32_t>(i));
  }
  std::vector<uint32_t> numbers;
  for (const std::string& file : mask.files) {
    const auto [at, is_new] =
        numbered.try_emplace(file, static_cast<uint32_t>(tokens->files.size()));
    numbers.push_back(at->second);
    if (is_new) tokens->files.push_back(file);
  }
  if (!stated.path.empty() || !stated.glob.empty()) tokens->bytes += mask.bytes;
  uint64_t first = 0;
  for (const TokenRun& run : runs) {
    tokens->loss_mask.push_back(
        {first, numbers[run.place], run.offset, encoding});
    first += run.tokens;
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<MaskedPrefix> FindMaskedPrefix(const std::string& path) {
  for (const MaskNames& names : kPairNames) {
    if (!names.has_prefix) continue;
    std::string tokens = absl::StrCat(path, Absl(names.tokens));
    std::string mask = absl::StrCat(path, Absl(names.mask));
    if (!IndexOfPrefix(tokens) || !IndexOfPrefix(mask)) continue;
    return MaskedPrefix{std::move(tokens),
                        {std::move(mask), "", "", names.no_loss, names.loss}};
  }
  return std::nullopt;
}

std::optional<std::string> UnreadMask(const TokenLayout& tokens) {
  if (tokens.files.empty()) return std::nullopt;
  const LossMaskFiles mask = MaskBeside(tokens.files.front());
  if (mask.path.empty()) return std::nullopt;
  std::string meaning;
  if (mask.no_loss) meaning = absl::StrCat(" and no_loss = ", *mask.no_loss);
  if (mask.loss) meaning = absl::StrCat(" and loss = ", *mask.loss);
  return absl::StrCat("beside '", tokens.files.front(), "' lies '", mask.path,
                      "', which is called like its loss mask but is not read; "
                      "to read it, state it as the loss_mask",
                      meaning);
}

absl::Status AddLossMask(const std::string& path,
                         const TokenSourceOptions& options,
                         TokenLayout* tokens) {
  const LossMaskFiles& stated = *options.loss_mask;
  const absl::StatusOr<TokenLayout> mask =
      LayOutLossMask(path, options, *tokens);
  const absl::Status status =
      mask.ok() ? AddCheckedMask(path, stated, *mask, tokens) : mask.status();
  return Prepend(status,
                 absl::StrCat("the loss mask ", MaskForMessage(path, stated)));
}

}  // namespace poniente::internal
