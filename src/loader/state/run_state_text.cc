// SPDX-License-Identifier: Apache-2.0
// Prints and parses the text of a RunState. The parser prints its result again
// and compares, so it accepts only texts that were printed: no line may be
// missing, repeated or misplaced, and the checksum must match.
#include <algorithm>
#include <span>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "loader/state/run_state.h"
#include "util/crc32c.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr char kHead[] = "poniente run state ";
// Format 2 has the lines `share`, format 3 the line `journal`, format 4 the
// lines `growing`; a state without them has format 1.
constexpr uint64_t kFormat = 4;
// If the sources would take more bytes than this, they are grouped; if the
// shares would, they are left out.
constexpr size_t kMaxSourceBytes = 400;
constexpr size_t kMaxShareBytes = 400;
// Sources that grow have to be known by their names.
constexpr size_t kMaxGrowingBytes = size_t{1} << 19;
// Much more than any text that is printed.
constexpr size_t kMaxTextBytes = size_t{1} << 20;

std::string Hex(uint64_t hash) { return absl::StrFormat("%016x", hash); }

std::string HexOrDash(const std::optional<uint64_t>& hash) {
  return hash ? Hex(*hash) : "-";
}

// Whether the source was growing, and what was read of it is known.
bool IsKnownBegin(const PastSource& source) {
  return !source.fingerprint && source.begin;
}

uint64_t FormatOf(const RunState& state, bool has_shares, bool lists_begins) {
  if (lists_begins) return 4;
  if (state.changes > 0) return 3;
  return has_shares ? 2 : 1;
}

std::string SourceLines(const std::vector<PastSource>& sources) {
  std::string lines;
  for (const PastSource& source : sources) {
    absl::StrAppend(
        &lines,
        IsKnownBegin(source)
            ? absl::StrCat("growing ", Hex(*source.begin))
            : absl::StrCat("source ", HexOrDash(source.fingerprint)),
        " \"", absl::Utf8SafeCHexEscape(source.path), "\"\n");
  }
  return lines;
}

std::string ShareLines(const std::vector<NamedShare>& shares) {
  std::string lines;
  for (const NamedShare& share : shares) {
    absl::StrAppend(&lines, "share ", share.quanta, " \"",
                    absl::Utf8SafeCHexEscape(share.name), "\"\n");
  }
  return lines.size() <= kMaxShareBytes ? lines : "";
}

std::string JournalLine(const RunState& state) {
  if (state.changes == 0) return "";
  return absl::StrCat("\njournal ", state.changes, " ",
                      Hex(state.changes_hash));
}

std::string Checksum(std::string_view text) {
  return absl::StrFormat("crc32c %08x\n",
                         Crc32c(std::as_bytes(std::span(text))));
}

std::string GroupLine(const RunState& state) {
  std::string line = absl::StrCat("sources ", state.grouped_sources);
  for (const uint32_t group : state.groups) {
    absl::StrAppend(&line, absl::StrFormat(" %08x", group));
  }
  return line + "\n";
}

using Fields = std::vector<absl::string_view>;

// Returns at least one field; StrSplit() returns none for a null view.
Fields Split(absl::string_view text, char at) {
  Fields fields = absl::StrSplit(text, at);
  if (fields.empty()) fields.emplace_back();
  return fields;
}

bool ReadHex(absl::string_view text, uint64_t* value) {
  return text.size() == 16 && absl::SimpleHexAtoi(text, value);
}

// Does the same; leaves the value unset for "-".
bool ReadHex(absl::string_view text, std::optional<uint64_t>* value) {
  if (text == "-") return true;
  return ReadHex(text, &value->emplace());
}

bool ReadQuoted(absl::string_view quoted, std::string* text) {
  return absl::ConsumePrefix(&quoted, "\"") &&
         absl::ConsumeSuffix(&quoted, "\"") && absl::CUnescape(quoted, text);
}

bool ReadSource(absl::string_view key, absl::string_view rest,
                RunState* state) {
  const std::pair<absl::string_view, absl::string_view> fields =
      absl::StrSplit(rest, absl::MaxSplits(' ', 1));
  PastSource& source = state->tree.sources.emplace_back();
  const bool has_hash = key == "growing"
                            ? ReadHex(fields.first, &source.begin.emplace())
                            : ReadHex(fields.first, &source.fingerprint);
  return has_hash && ReadQuoted(fields.second, &source.path);
}

bool ReadShare(absl::string_view rest, RunState* state) {
  const std::pair<absl::string_view, absl::string_view> fields =
      absl::StrSplit(rest, absl::MaxSplits(' ', 1));
  NamedShare& share = state->shares.emplace_back();
  return absl::SimpleAtoi(fields.first, &share.quanta) &&
         ReadQuoted(fields.second, &share.name);
}

bool ReadGroups(const Fields& fields, RunState* state) {
  if (fields.size() != RunState::kGroups + 1 ||
      !absl::SimpleAtoi(fields[0], &state->grouped_sources) ||
      state->grouped_sources == 0) {
    return false;
  }
  for (size_t g = 0; g < RunState::kGroups; ++g) {
    if (fields[g + 1].size() != 8 ||
        !absl::SimpleHexAtoi(fields[g + 1], &state->groups[g])) {
      return false;
    }
  }
  return true;
}

bool ReadTree(absl::string_view key, const Fields& fields, TreePast* tree) {
  if (key == "seed" && fields.size() == 1) {
    return fields[0] == "-" ||
           absl::SimpleAtoi(fields[0], &tree->seed.emplace());
  }
  if (key == "structure" && fields.size() == 1) {
    return ReadHex(fields[0], &tree->structure);
  }
  if (key == "weights" && fields.size() == 3) {
    PastWeights& weights = tree->weights.emplace();
    return absl::SimpleAtoi(fields[0], &weights.end) &&
           absl::SimpleAtoi(fields[1], &weights.stages) &&
           ReadHex(fields[2], &weights.hash);
  }
  if (key == "nested" && fields.size() == 1) {
    return ReadHex(fields[0], &tree->nested.emplace());
  }
  return false;
}

bool ReadBatches(absl::string_view key, const Fields& fields, RunState* state) {
  if (key == "earlier" && fields.size() == 2) {
    return absl::SimpleAtoi(fields[0], &state->earlier_batches) &&
           ReadHex(fields[1], &state->earlier_hash);
  }
  if (key != "batches" || fields.size() != 3) return false;
  PastBatches& batches = state->batches.emplace_back();
  return absl::SimpleAtoi(fields[0], &batches.first_step) &&
         absl::SimpleAtoi(fields[1], &batches.batch_size) &&
         absl::SimpleAtoi(fields[2], &batches.seq_len);
}

// Returns false if the line cannot be part of a state. Does not check the order
// of lines or the checksum: ParseRunState() prints the state again for that.
bool ReadLine(absl::string_view line, RunState* state) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(line, absl::MaxSplits(' ', 1));
  const auto& [key, rest] = parts;
  if (key == "source" || key == "growing") return ReadSource(key, rest, state);
  if (key == "share") return ReadShare(rest, state);
  const Fields fields = Split(rest, ' ');
  if (key == "step") return absl::SimpleAtoi(rest, &state->step);
  if (key == "sample") return absl::SimpleAtoi(rest, &state->sample);
  if (key == "journal") {
    return fields.size() == 2 && absl::SimpleAtoi(fields[0], &state->changes) &&
           ReadHex(fields[1], &state->changes_hash);
  }
  if (key == "order_version") {
    return absl::SimpleAtoi(rest, &state->order_version);
  }
  if (key == "max_seq_len") {
    state->is_trimmed = fields.size() == 2 && fields[1] == "trimmed";
    return absl::SimpleAtoi(fields[0], &state->max_seq_len);
  }
  if (key == "sources") return ReadGroups(fields, state);
  if (key == "crc32c") return true;
  return ReadBatches(key, fields, state) || ReadTree(key, fields, &state->tree);
}

absl::Status LineError(size_t number, absl::string_view line,
                       absl::string_view what) {
  constexpr size_t kMaxShown = 80;
  const std::string shown(line.substr(0, kMaxShown));
  return absl::InvalidArgumentError(absl::StrCat(
      "run state: line ", number, " ", what, ": \"",
      absl::Utf8SafeCHexEscape(shown), "\"",
      "; give the text as the loader gave it, whole and unchanged"));
}

absl::Status CheckHead(absl::string_view line) {
  uint64_t format = 0;
  absl::string_view rest = line;
  if (!absl::ConsumePrefix(&rest, kHead) || !absl::SimpleAtoi(rest, &format)) {
    return LineError(1, line, "is not that of a loader's state");
  }
  if (format >= 1 && format <= kFormat) return absl::OkStatus();
  return LineError(1, line,
                   absl::StrCat("names a format that this version does not "
                                "read (it reads 1 to ",
                                kFormat, ")"));
}

}  // namespace

std::string PrintRunState(RunState state) {
  const TreePast& tree = state.tree;
  const std::string shares = ShareLines(state.shares);
  std::string sources;
  if (state.grouped_sources == 0) {
    sources = SourceLines(tree.sources);
    const bool grows = std::any_of(
        tree.sources.begin(), tree.sources.end(),
        [](const PastSource& source) { return !source.fingerprint; });
    if (sources.size() > (grows ? kMaxGrowingBytes : kMaxSourceBytes)) {
      sources.clear();
      state.grouped_sources = tree.sources.size();
      state.groups = GroupsOf(tree.sources);
    }
  }
  const bool lists_begins =
      !sources.empty() &&
      std::any_of(tree.sources.begin(), tree.sources.end(), IsKnownBegin);
  std::string text =
      absl::StrCat(kHead, FormatOf(state, !shares.empty(), lists_begins),
                   "\nstep ", state.step, "\nsample ", state.sample,
                   JournalLine(state), "\norder_version ", state.order_version,
                   "\nseed ", tree.seed ? absl::StrCat(*tree.seed) : "-",
                   "\nstructure ", HexOrDash(tree.structure), "\n");
  if (tree.weights) {
    absl::StrAppend(&text, "weights ", tree.weights->end, " ",
                    tree.weights->stages, " ", Hex(tree.weights->hash), "\n");
  }
  absl::StrAppend(&text, shares);
  if (tree.nested) absl::StrAppend(&text, "nested ", Hex(*tree.nested), "\n");
  absl::StrAppend(&text, "max_seq_len ", state.max_seq_len,
                  state.is_trimmed ? " trimmed\n" : "\n");
  if (state.earlier_batches > 0) {
    absl::StrAppend(&text, "earlier ", state.earlier_batches, " ",
                    Hex(state.earlier_hash), "\n");
  }
  for (const PastBatches& batches : state.batches) {
    absl::StrAppend(&text, "batches ", batches.first_step, " ",
                    batches.batch_size, " ", batches.seq_len, "\n");
  }
  absl::StrAppend(&text, sources);
  if (state.grouped_sources > 0) absl::StrAppend(&text, GroupLine(state));
  return text + Checksum(text);
}

absl::StatusOr<RunState> ParseRunState(std::string_view text) {
  if (text.size() > kMaxTextBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("run state: ", text.size(),
                     " bytes are none that Loader::State() gave, which are "
                     "some hundred"));
  }
  // Accepts a text without its last newline, which a caller may have stripped.
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const Fields lines = Split(Absl(text), '\n');
  PONIENTE_RETURN_IF_ERROR(CheckHead(lines[0]));
  RunState state;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (absl::StartsWith(lines[i - 1], "crc32c ")) {
      return LineError(i + 1, lines[i], "follows the checksum");
    }
    if (!ReadLine(lines[i], &state)) {
      return LineError(i + 1, lines[i], "is not a line of a saved state");
    }
  }
  const std::string printed = PrintRunState(state);
  const Fields expected = Split(printed, '\n');  // the last is empty
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i + 1 < expected.size() && lines[i] == expected[i]) continue;
    const bool is_sum = absl::StartsWith(lines[i], "crc32c ");
    return LineError(i + 1, lines[i],
                     is_sum ? "is not the checksum of those before it"
                            : "is not where or as a state has it");
  }
  if (lines.size() + 1 == expected.size()) return state;
  return LineError(lines.size(), lines.back(), "is followed by no checksum");
}

}  // namespace poniente::internal
