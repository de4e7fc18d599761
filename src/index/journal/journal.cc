// SPDX-License-Identifier: Apache-2.0
#include "poniente/journal.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "index/journal/journal_line.h"
#include "index/journal/number_ranges.h"
#include "index/keyed_hash.h"
#include "util/byte_order.h"
#include "util/check.h"
#include "util/crc32c.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

using internal::OneLine;

constexpr std::string_view kHead = "poniente journal 1\n";
constexpr std::string_view kCrc = " crc ";
constexpr size_t kCrcDigits = 8;

// The hash of a text that grows, as a name of a key.
class GrowingHash {
 public:
  void Append(std::string_view text) {
    size_ += text.size();
    while (!text.empty()) {
      const size_t taken = std::min(sizeof(word_) - used_, text.size());
      std::memcpy(word_ + used_, text.data(), taken);
      used_ += taken;
      text.remove_prefix(taken);
      if (used_ < sizeof(word_)) return;
      hash_.Add(internal::LoadLittle<uint64_t>(word_));
      used_ = 0;
    }
  }
  // Returns Derive(0, tag, text), with all that was appended.
  uint64_t Now() const {
    internal::KeyHash hash = hash_;
    if (used_ > 0) {
      char word[sizeof(word_)] = {};
      std::memcpy(word, word_, used_);
      hash.Add(internal::LoadLittle<uint64_t>(word));
    }
    return hash.Add(size_).key();
  }

 private:
  internal::KeyHash hash_ = internal::KeyHash(0).Add(internal::Tag("jour"));
  uint64_t size_ = 0;
  char word_[8] = {};  // its first used_ bytes have not been added
  size_t used_ = 0;
};

GrowingHash HashOfHead() {
  GrowingHash hash;
  hash.Append(kHead);
  return hash;
}

std::string Hex(uint32_t crc) { return absl::StrFormat("%08x", crc); }

// The checksum of a line's text, chained to the line before it.
uint32_t ChainedCrc(uint32_t before, std::string_view text) {
  const std::string chained = absl::StrCat(Hex(before), internal::Absl(text));
  return internal::Crc32c(std::as_bytes(std::span(chained)));
}

// A line without its end, taken apart.
struct SplitLine {
  std::string_view text;
  uint32_t crc = 0;
};

std::optional<SplitLine> Split(std::string_view line) {
  const size_t tail = kCrc.size() + kCrcDigits;
  if (line.size() < tail) return std::nullopt;
  const std::string_view digits = line.substr(line.size() - kCrcDigits);
  SplitLine split;
  split.text = line.substr(0, line.size() - tail);
  if (line.substr(split.text.size(), kCrc.size()) != kCrc) return std::nullopt;
  if (!absl::SimpleHexAtoi(internal::Absl(digits), &split.crc) ||
      Hex(split.crc) != digits) {
    return std::nullopt;
  }
  return split;
}

absl::Status Damaged(std::string_view name, size_t line,
                     absl::string_view what) {
  return absl::DataLossError(absl::StrCat(
      internal::Absl(name), ":", line, ": ", what,
      "; the file was changed or damaged: restore it from a copy"));
}

RunChange OfKind(RunChange::Kind kind, std::string why) {
  RunChange change;
  change.kind = kind;
  change.why = std::move(why);
  return change;
}

}  // namespace

RunChange RunChange::Weights(std::map<std::string, double> weights,
                             std::string why) {
  RunChange change = OfKind(Kind::kWeights, std::move(why));
  change.weights = std::move(weights);
  return change;
}

RunChange RunChange::Temperature(double temperature, std::string why) {
  RunChange change = OfKind(Kind::kTemperature, std::move(why));
  change.temperature = temperature;
  return change;
}

RunChange RunChange::Retire(std::vector<std::string> components,
                            std::string why) {
  RunChange change = OfKind(Kind::kRetire, std::move(why));
  change.components = std::move(components);
  return change;
}

RunChange RunChange::Extend(uint64_t steps, std::string why) {
  RunChange change = OfKind(Kind::kExtend, std::move(why));
  change.steps = steps;
  return change;
}

RunChange RunChange::DropDocuments(std::string source,
                                   std::vector<NumberRange> documents,
                                   std::string why) {
  RunChange change = OfKind(Kind::kDrop, std::move(why));
  change.path = std::move(source);
  change.dropped = internal::JoinedRanges(std::move(documents));
  return change;
}

RunChange RunChange::DropItems(std::string source,
                               std::vector<NumberRange> items,
                               std::string why) {
  RunChange change =
      DropDocuments(std::move(source), std::move(items), std::move(why));
  change.drops_items = true;
  return change;
}

RunChange RunChange::MaskDocuments(std::string source,
                                   std::vector<NumberRange> documents,
                                   std::string why) {
  RunChange change =
      DropDocuments(std::move(source), std::move(documents), std::move(why));
  change.masks = true;
  return change;
}

RunChange RunChange::Add(std::string name, std::string description,
                         std::string why) {
  RunChange change;
  change.kind = Kind::kAdd;
  change.added.push_back({std::move(name), std::move(description)});
  change.why = std::move(why);
  return change;
}

RunChange RunChange::Split(std::string component,
                           std::vector<ComponentText> parts, std::string why) {
  RunChange change;
  change.kind = Kind::kSplit;
  change.components.push_back(std::move(component));
  change.added = std::move(parts);
  change.why = std::move(why);
  return change;
}

struct Journal::Line {
  std::string text;  // with its end
  uint64_t sample;
  uint64_t step;
  uint32_t crc;
  GrowingHash hash;  // of the file up to its end
};

uint32_t Journal::LastCrc() const {
  return lines_.empty() ? 0 : lines_.back()->crc;
}

absl::StatusOr<Journal> Journal::Parse(std::string_view bytes,
                                       std::string_view name) {
  Journal journal;
  if (bytes.size() < kHead.size()) {
    // What a process that was killed has left of the first line.
    if (kHead.substr(0, bytes.size()) != bytes) {
      return Damaged(name, 1, "is no journal of a run");
    }
    journal.torn_ = bytes.size();
    return journal;
  }
  if (bytes.substr(0, kHead.size()) != kHead) {
    return Damaged(name, 1,
                   "is no journal of a run that this version can read: it does "
                   "not begin with 'poniente journal 1'");
  }
  journal.has_head_ = true;
  size_t begin = kHead.size();
  while (begin < bytes.size()) {
    const size_t number = journal.size() + 2;  // of the line
    const size_t end = bytes.find('\n', begin);
    const bool is_last = end == std::string_view::npos;
    if (is_last) break;
    const std::string_view line = bytes.substr(begin, end - begin);
    const std::optional<SplitLine> split = Split(line);
    if (!split) return Damaged(name, number, "has no checksum");
    if (ChainedCrc(journal.LastCrc(), split->text) != split->crc) {
      return Damaged(name, number,
                     "does not have the checksum that it states, after the "
                     "lines before it");
    }
    const absl::StatusOr<JournalEntry> added =
        journal.Append(bytes.substr(begin, end + 1 - begin));
    if (!added.ok()) return Damaged(name, number, added.status().message());
    begin = end + 1;
  }
  journal.torn_ = bytes.size() - begin;
  return journal;
}

absl::StatusOr<std::string> Journal::LineOf(const RunChange& change,
                                            uint64_t sample,
                                            uint64_t step) const {
  PONIENTE_RETURN_IF_ERROR(internal::CheckChange(change));
  if (!lines_.empty() && sample < lines_.back()->sample) {
    return absl::InvalidArgumentError(
        absl::StrCat("a change cannot hold from sample ", sample,
                     " on: the last one in the journal holds from sample ",
                     lines_.back()->sample, " on"));
  }
  const std::string text =
      internal::PrintEntry(size() + 1, sample, step, change);
  return absl::StrCat(text, internal::Absl(kCrc),
                      Hex(ChainedCrc(LastCrc(), text)), "\n");
}

absl::StatusOr<JournalEntry> Journal::Check(std::string_view line) const {
  const auto refused = [&line](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", OneLine(line.substr(0, 200)),
                     "' cannot be added to the journal: ", why));
  };
  if (line.empty() || line.back() != '\n') {
    return refused(
        "the line has no end; the text of a change goes to Propose(), which "
        "returns its line");
  }
  const std::optional<SplitLine> split = Split(line.substr(0, line.size() - 1));
  if (!split) return refused("it has no checksum");
  absl::StatusOr<JournalEntry> entry = internal::ParseEntry(split->text);
  if (!entry.ok()) return refused(entry.status().message());
  if (entry->number >= 1 && entry->number <= size()) {
    if (lines_[entry->number - 1]->text == line) return entry;
    return refused(absl::StrCat("its entry ", entry->number, " is another: '",
                                OneLine(lines_[entry->number - 1]->text), "'"));
  }
  if (entry->number != size() + 1) {
    return refused(absl::StrCat("the journal has ", size(),
                                " entries; the next has number ", size() + 1));
  }
  if (ChainedCrc(LastCrc(), split->text) != split->crc) {
    return refused("its checksum is that of a line behind other entries");
  }
  if (!lines_.empty() && entry->sample < lines_.back()->sample) {
    return refused(absl::StrCat("the entry before it holds from sample ",
                                lines_.back()->sample, " on"));
  }
  return entry;
}

absl::StatusOr<JournalEntry> Journal::Append(std::string_view line) {
  PONIENTE_ASSIGN_OR_RETURN(JournalEntry entry, Check(line));
  AppendChecked(line, entry);
  return entry;
}

void Journal::AppendChecked(std::string_view line, const JournalEntry& entry) {
  if (entry.number <= size()) return;
  const uint32_t crc = Split(line.substr(0, line.size() - 1))->crc;
  GrowingHash hash = lines_.empty() ? HashOfHead() : lines_.back()->hash;
  hash.Append(line);
  lines_.push_back(std::make_shared<const Line>(
      Line{std::string(line), entry.sample, entry.step, crc, hash}));
  has_head_ = true;
}

std::string_view Journal::Head() { return kHead; }

JournalEntry Journal::entry(size_t i) const {
  PONIENTE_CHECK(i < size()) << i;
  const std::string_view line = lines_[i]->text;
  // Parsed when it was added.
  return *internal::ParseEntry(Split(line.substr(0, line.size() - 1))->text);
}

std::vector<JournalEntry> Journal::EntriesOf(RunChange::Kind kind) const {
  std::vector<JournalEntry> entries;
  for (size_t i = 0; i < size(); ++i) {
    if (internal::KindOfLine(lines_[i]->text) == kind) {
      entries.push_back(entry(i));
    }
  }
  return entries;
}

bool operator==(const Journal& a, const Journal& b) {
  return std::equal(a.lines_.begin(), a.lines_.end(), b.lines_.begin(),
                    b.lines_.end(), [](const auto& one, const auto& other) {
                      return one == other || one->text == other->text;
                    });
}

uint64_t Journal::sample(size_t i) const {
  PONIENTE_CHECK(i < size()) << i;
  return lines_[i]->sample;
}

std::string Journal::bytes() const {
  size_t size = kHead.size();
  for (const auto& line : lines_) size += line->text.size();
  std::string bytes;
  if (!has_head_) return bytes;
  bytes.reserve(size);
  bytes += kHead;
  for (const auto& line : lines_) bytes += line->text;
  return bytes;
}

std::vector<JournalEntry> Journal::entries() const {
  std::vector<JournalEntry> all;
  all.reserve(size());
  for (size_t i = 0; i < size(); ++i) all.push_back(entry(i));
  return all;
}

std::optional<uint64_t> Journal::last_step() const {
  // Not the last line's: a run that went back to a checkpoint has decided more.
  std::optional<uint64_t> last;
  for (const auto& line : lines_) {
    last = std::max(last, std::optional(line->step));
  }
  return last;
}

size_t Journal::DecidedUpTo(uint64_t step) const {
  const auto after =
      std::find_if(lines_.begin(), lines_.end(),
                   [step](const auto& line) { return line->step > step; });
  return static_cast<size_t>(after - lines_.begin());
}

uint64_t Journal::Hash(size_t size) const {
  PONIENTE_CHECK(size <= lines_.size()) << size;
  return (size == 0 ? GrowingHash() : lines_[size - 1]->hash).Now();
}

}  // namespace poniente
