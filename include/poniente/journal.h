// SPDX-License-Identifier: Apache-2.0
// The journal of a run: the changes that were decided while it went on.
//
// A run is its description (run.h), its journal and a step: each change holds
// from a sample that nobody had been served when it was decided, so every
// sample stays a pure function of its number. docs/journal.md describes the
// file, with an example.

#ifndef PONIENTE_JOURNAL_H_
#define PONIENTE_JOURNAL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente {

// Consecutive numbers: begin, begin + 1, ..., end - 1.
struct NumberRange {
  uint64_t begin = 0;
  uint64_t end = 0;

  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

// A component that a mixture gets, as a change describes it.
struct ComponentText {
  std::string name = {};
  // What it is, with its weight. For runs that are described by run.h, its
  // inline table of TOML: `{ weight = 0.2, path = "stores/forum" }`;
  // AddComponent() there makes it of values. Paths are relative to the run's
  // folder. One line, from '{' to the '}' that closes it.
  std::string description = {};
  // The fingerprint of its data, which is compared wherever it is opened. 0:
  // none was stated; the loader that decides the change fills it in.
  uint64_t fingerprint = 0;

  friend bool operator==(const ComponentText&, const ComponentText&) = default;
};

// A change of a run.
struct RunChange {
  enum class Kind {
    kWeights,      // other weights of components
    kTemperature,  // another temperature of a mixture
    kRetire,       // components that are not drawn any more
    kExtend,       // more steps
    kDrop,         // documents or items that are not served any more
    kAdd,          // a component that a mixture gets
    kSplit,        // components that take the place of one
  };

  Kind kind = Kind::kWeights;
  // The mixture that changes: names from the root down, joined by '/'. Empty:
  // the root. kDrop: the source, as TreeLeaf::path.
  std::string path = {};
  // kWeights: by component of that mixture. Others keep the weight that was
  // stated for them last, until a stage of the description begins.
  std::map<std::string, double> weights = {};
  // kTemperature.
  double temperature = 1;
  // kRetire: components of that mixture. kSplit: the one that is split.
  std::vector<std::string> components = {};
  // kExtend: steps of the run from now on; more than it had.
  uint64_t steps = 0;
  // kDrop: the numbers of documents of the source, or of its items (windows):
  // ascending, and none next to another. An item that has a token of a dropped
  // document is dropped as a whole.
  std::vector<NumberRange> dropped = {};
  bool drops_items = false;
  // kDrop: items stay where they are, but the tokens of dropped documents are
  // served as padding: without loss, and apart from all others.
  bool masks = false;
  static constexpr uint64_t kMaxDropped = uint64_t{1} << 28;  // of one change
  // kAdd: the new component. kSplit: its parts.
  std::vector<ComponentText> added = {};
  // Who decided it, or why; any text of one line.
  std::string why = {};

  static RunChange Weights(std::map<std::string, double> weights,
                           std::string why = "");
  static RunChange Temperature(double temperature, std::string why = "");
  static RunChange Retire(std::vector<std::string> components,
                          std::string why = "");
  static RunChange Extend(uint64_t steps, std::string why = "");
  // Ranges in any order; they may overlap.
  static RunChange DropDocuments(std::string source,
                                 std::vector<NumberRange> documents,
                                 std::string why = "");
  static RunChange DropItems(std::string source, std::vector<NumberRange> items,
                             std::string why = "");
  static RunChange MaskDocuments(std::string source,
                                 std::vector<NumberRange> documents,
                                 std::string why = "");
  static RunChange Add(std::string name, std::string description,
                       std::string why = "");
  static RunChange Split(std::string component,
                         std::vector<ComponentText> parts,
                         std::string why = "");

  friend bool operator==(const RunChange&, const RunChange&) = default;
};

struct OpenedComponent;  // extend/opened_component.h

// Opens a component that a change adds to a mixture (RunChange::path). Must
// open the same data for the same text, in all processes of the run.
using ComponentOpener = std::function<absl::StatusOr<OpenedComponent>(
    const std::string& mixture, const ComponentText& component)>;

// Returns the change as a line of a journal has it: `weights "code" 0.4 why
// "losses"` (docs/journal.md). InvalidArgument for a change that says nothing.
absl::StatusOr<std::string> ToText(const RunChange& change);
// Reads such a text, also with names, numbers and ranges in another order,
// other decimals of a number, or more spaces. InvalidArgument, with what was
// expected, for any other.
absl::StatusOr<RunChange> ParseChange(std::string_view text);

// A change, and where it holds.
struct JournalEntry {
  // From 1 on, without gaps.
  uint64_t number = 0;
  // First sample of the run that it holds for. Never decreases.
  uint64_t sample = 0;
  // The step that was next when it was decided.
  uint64_t step = 0;
  RunChange change = {};

  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

// The entries of a journal, and the bytes of its file. An entry is a line of
// text; each line ends with a checksum of itself and all lines before it.
//
// Ownership: a value; copies share the text of the entries.
// Thread safety: const members, any number of threads.
class Journal {
 public:
  // An empty journal.
  Journal() = default;

  // Reads the bytes of a file. What a process that was killed has left of its
  // last line is not read (torn() says how many bytes). DataLoss, naming the
  // line, for anything else that was not written by a Journal. `name` stands
  // for the file in messages.
  static absl::StatusOr<Journal> Parse(std::string_view bytes,
                                       std::string_view name = "journal");

  // Returns the line that Append() would accept for `change`, without adding
  // it. InvalidArgument for a change that says nothing (no weights, no
  // components), for numbers that are not finite, and for a sample before the
  // last entry's.
  absl::StatusOr<std::string> LineOf(const RunChange& change, uint64_t sample,
                                     uint64_t step) const;

  // Returns the entry of a line that Append() would accept.
  absl::StatusOr<JournalEntry> Check(std::string_view line) const;

  // Adds a line of LineOf(), made here or by another process with the same
  // journal. Returns its entry. InvalidArgument for any other text, and for a
  // line made after other entries than these; the message says which entry is
  // missing or differs. A line that the journal has already is accepted, and
  // changes nothing.
  absl::StatusOr<JournalEntry> Append(std::string_view line);
  // Does the same with a line of which Check() has returned `entry`. REQUIRES:
  // nothing has been added since.
  void AppendChecked(std::string_view line, const JournalEntry& entry);

  size_t size() const { return lines_.size(); }
  bool empty() const { return lines_.empty(); }
  // Returns an entry, from 0 on. REQUIRES: i < size().
  JournalEntry entry(size_t i) const;
  std::vector<JournalEntry> entries() const;
  // Returns those of one kind, without reading the others.
  std::vector<JournalEntry> EntriesOf(RunChange::Kind kind) const;
  // Returns where an entry begins to hold. REQUIRES: i < size().
  uint64_t sample(size_t i) const;
  // Returns the last step at which a change was decided. What decides changes
  // by itself, and is started again from a checkpoint, makes no decision at
  // this step or before it: it stands in the journal.
  std::optional<uint64_t> last_step() const;
  // Returns how many of the first entries were decided at `step` or before.
  size_t DecidedUpTo(uint64_t step) const;

  // Returns the first line of the file, which is not written before the first
  // entry is.
  static std::string_view Head();
  // Returns the bytes of the file.
  std::string bytes() const;
  // Returns how many bytes behind the last whole line Parse() passed over.
  uint64_t torn() const { return torn_; }
  // Returns a hash of the first `size` entries. REQUIRES: size <= this->size().
  uint64_t Hash(size_t size) const;

  // Whether both have the same entries.
  friend bool operator==(const Journal& a, const Journal& b);

 private:
  struct Line;

  uint32_t LastCrc() const;

  bool has_head_ = false;
  // Shared by copies.
  std::vector<std::shared_ptr<const Line>> lines_;
  uint64_t torn_ = 0;
};

}  // namespace poniente

#endif  // PONIENTE_JOURNAL_H_
