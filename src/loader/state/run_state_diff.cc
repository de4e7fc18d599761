// SPDX-License-Identifier: Apache-2.0
// Explains why a run cannot continue: lists every difference of its past.
#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "index/max_samples.h"
#include "index/mixture/quota_tree.h"
#include "loader/state/run_state.h"
#include "util/one_line.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kMaxNamed = 8;
// Most sources to name of a group. One of them differs; which one is not known.
constexpr size_t kMaxOfGroup = 32;

std::string Named(const std::vector<std::string>& names,
                  size_t most = kMaxNamed) {
  const size_t count = std::min(names.size(), most);
  std::string text = absl::StrJoin(
      names.begin(), names.begin() + static_cast<ptrdiff_t>(count), ", ");
  if (names.size() > count) {
    absl::StrAppend(&text, " and ", names.size() - count, " more");
  }
  return text;
}

std::string Quoted(const std::string& path) {
  return absl::StrCat("'", OneLine(path), "'");
}

std::string Words(const PastBatches& batches) {
  return absl::StrCat("batch_size ", batches.batch_size, " and seq_len ",
                      batches.seq_len, " from step ", batches.first_step,
                      " on");
}

std::string SeedWords(const std::optional<uint64_t>& seed) {
  return seed ? absl::StrCat("seed ", *seed) : "no seed";
}

std::string LengthWords(const RunState& state) {
  return absl::StrCat("max_seq_len ", state.max_seq_len,
                      state.is_trimmed ? " with trim" : "");
}

// Returns how often batch_size or seq_len changed after the beginning of the
// run.
uint64_t Changes(const RunState& state) {
  const uint64_t stretches = state.earlier_batches + state.batches.size();
  return stretches - std::min<uint64_t>(stretches, 1);
}

// Compares a state with what the run would have served under this tree and
// schedule before the same step.
class Comparison {
 public:
  Comparison(const RunState& saved, const RunState& now,
             const Schedule& schedule)
      : saved_(saved), now_(now), schedule_(schedule) {}

  std::vector<std::string> Run() {
    CompareOrderVersion();
    CompareSeed();
    CompareLengths();
    CompareBatches();
    CompareTree();
    return std::move(differences_);
  }

 private:
  template <class... Words>
  void Add(const Words&... words) {
    differences_.push_back(absl::StrCat(words...));
  }

  void CompareOrderVersion() {
    if (saved_.order_version == now_.order_version) return;
    Add("order version ", saved_.order_version, " in the state, ",
        now_.order_version,
        " in this build, so steps would see other tokens: go on with a build "
        "of order version ",
        saved_.order_version);
  }

  void CompareSeed() {
    if (saved_.tree.seed == now_.tree.seed) return;
    Add(SeedWords(saved_.tree.seed), " in the state, ",
        SeedWords(now_.tree.seed), " here: state ",
        SeedWords(saved_.tree.seed));
  }

  void CompareLengths() {
    if (saved_.max_seq_len == now_.max_seq_len &&
        saved_.is_trimmed == now_.is_trimmed) {
      return;
    }
    Add(LengthWords(saved_), " in the state, ", LengthWords(now_),
        " here: state ", LengthWords(saved_));
  }

  void CompareBatches() {
    const uint64_t step = saved_.step;
    if (schedule_.steps() > 0 && schedule_.steps() < step &&
        saved_.sample != now_.sample) {
      Add("the run would end after ", schedule_.steps(), " steps, but ", step,
          " have been served: state more steps");
      return;
    }
    const std::string remedy = absl::StrCat(
        ": batch sizes and lengths may change from step ", step, " on");
    if (saved_.earlier_batches != now_.earlier_batches) {
      Add(Changes(saved_), " changes of batch_size or seq_len before step ",
          step, " in the state, ", Changes(now_), " here", remedy);
    } else if (saved_.earlier_hash != now_.earlier_hash) {
      Add("another batch_size, seq_len or start among the first ",
          saved_.earlier_batches, " changes of the run", remedy);
    }
    const auto [a, b] =
        std::mismatch(saved_.batches.begin(), saved_.batches.end(),
                      now_.batches.begin(), now_.batches.end());
    const bool in_saved = a != saved_.batches.end();
    const bool is_here = b != now_.batches.end();
    if (in_saved || is_here) {
      Add(in_saved ? Words(*a) : absl::StrCat("no change"), " in the state, ",
          is_here ? Words(*b) : absl::StrCat("no change"), " here", remedy);
    } else if (saved_.sample != now_.sample && differences_.empty()) {
      Add("step ", step, " begins with sample ", saved_.sample,
          " in the state, with ", now_.sample, " here");
    }
  }

  void CompareTree() {
    const TreePast& saved = saved_.tree;
    const TreePast& now = now_.tree;
    if (!saved.structure) return;  // was not known
    if (!now.structure) {
      Add("datasets whose order follows from lengths that are not final here "
          "yet: await their FinalLength() first");
      return;
    }
    // Hashes of different order versions cannot be compared.
    if (saved_.order_version == now_.order_version) {
      CompareWeights();
      // The root's weights decide how far nested mixtures have been drawn, so
      // their hashes can be compared only if these weights are the same.
      if (saved.weights == now.weights && saved.nested != now.nested) {
        Add("other weights, stages or block_size in a mixture below the root "
            "(which one, the state does not say): what it has served must stay "
            "as it was");
      }
      if (saved.structure != now.structure) {
        Add("other kinds, names, filters, slices, orders, shuffles, ranges, "
            "starts of views or stated seeds of the nodes that have been read "
            "(which one, the state does not say): make the tree as it was");
      }
    }
    if (saved_.grouped_sources > 0) {
      CompareGroups();
    } else {
      CompareSources();
    }
  }

  void CompareWeights() {
    const std::optional<PastWeights>& saved = saved_.tree.weights;
    const std::optional<PastWeights>& now = now_.tree.weights;
    if (saved == now) return;
    if (!saved || !now) {
      Add("the root ", saved ? "was a mixture, here it is not"
                             : "was not a mixture, here it is");
      return;
    }
    const std::string end =
        saved->end == now->end
            ? ""
            : absl::StrCat("; the last of these blocks would end at sample ",
                           now->end, " here");
    Add("other weights, stages, block_size, group_items or lengths before "
        "sample ",
        saved->end,
        ", up to which blocks have been begun (stages or steps of "
        "ramps: ",
        saved->stages, " in the state, ", now->stages, " here", end,
        ShareWords(), "): ", EarliestStage(saved->end));
  }

  // What the state knows of the weights: the shares at its last sample.
  std::string ShareWords() const {
    if (saved_.shares.empty()) return "; the state does not list the shares";
    if (now_.shares.empty()) return "; the shares here are not known";
    std::map<std::string, uint64_t> here;
    for (const NamedShare& share : now_.shares) {
      here.emplace(share.name, share.quanta);
    }
    std::vector<std::string> others;
    for (const NamedShare& share : saved_.shares) {
      const auto found = here.find(share.name);
      const bool is_here = found != here.end();
      if (!is_here || found->second != share.quanta) {
        const std::string there = Share(share.quanta);
        const std::string own = is_here ? Share(found->second) : "none";
        others.push_back(absl::StrCat(
            Quoted(share.name), " ", there, " in the state, ", own, " here",
            there == own ? absl::StrCat(" (they differ by ",
                                        Apart(share.quanta, found->second),
                                        ": state the weights in the numbers "
                                        "that they had)")
                         : ""));
      }
      if (is_here) here.erase(found);
    }
    for (const auto& [name, quanta] : here) {
      others.push_back(absl::StrCat(Quoted(name), " none in the state, ",
                                    Share(quanta), " here"));
    }
    const std::string at =
        absl::StrCat("; shares at sample ", saved_.sample - 1, ": ");
    return others.empty()
               ? at + "the same, so an earlier stage differs, or one of the "
                      "others; which one, the state does not say"
               : at + Named(others);
  }

  static std::string Apart(uint64_t a, uint64_t b) {
    return Share(a > b ? a - b : b - a);
  }
  static std::string Share(uint64_t quanta) {
    return absl::StrCat(static_cast<double>(quanta) /
                        static_cast<double>(QuotaTree::kTotal));
  }

  std::string EarliestStage(uint64_t sample) const {
    const uint64_t end =
        schedule_.steps() > 0 ? schedule_.samples() : kMaxSamples;
    if (sample < end) {
      uint64_t step = schedule_.StepOf(sample);
      if (schedule_.Has(step) && schedule_.FirstSample(step) < sample) ++step;
      if (schedule_.Has(step)) {
        return absl::StrCat("a stage may begin at step ", step,
                            " at the earliest, and what lies before must stay "
                            "as it was");
      }
    }
    return "no step is left in which a stage could begin";
  }

  static void AddIfOther(std::string_view what,
                         const std::optional<uint64_t>& saved,
                         const std::optional<uint64_t>& here,
                         std::vector<std::string>* changed) {
    if (saved == here) return;
    changed->push_back(
        absl::StrFormat("%s (%016x in the state, %s here)", what, *saved,
                        here ? absl::StrFormat("%016x", *here)
                             : "not there yet, or not to be read,"));
  }

  void CompareSources() {
    std::map<std::string, const PastSource*> here;
    for (const PastSource& source : now_.tree.sources) {
      here.emplace(source.path, &source);
    }
    std::vector<std::string> changed, missing, growing, added;
    for (const PastSource& source : saved_.tree.sources) {
      const auto found = here.find(source.path);
      const std::string name = Quoted(source.path);
      if (found == here.end()) {
        missing.push_back(name);
      } else if (source.fingerprint && !found->second->fingerprint) {
        growing.push_back(name);
      } else if (source.fingerprint) {
        AddIfOther(name, source.fingerprint, found->second->fingerprint,
                   &changed);
      } else if (source.begin) {
        AddIfOther(absl::StrCat("what was read of ", name), source.begin,
                   found->second->begin, &changed);
      }
      if (found != here.end()) here.erase(found);
    }
    for (const auto& [path, source] : here) added.push_back(Quoted(path));
    if (!changed.empty()) {
      Add("other data", LengthNote(), " in ", Named(changed),
          ": give the data, pack_documents and fill_in_the_middle that the run "
          "began with");
    }
    if (!missing.empty()) {
      Add("not read here, but in the state: ", Named(missing));
    }
    if (!added.empty()) {
      Add("not in the state, but read here: ", Named(added),
          ": names must stay as they were");
    }
    if (!growing.empty()) {
      Add("still growing here, complete in the state: ", Named(growing));
    }
  }

  void CompareGroups() {
    const RunState::Groups groups = GroupsOf(now_.tree.sources);
    const size_t count = now_.tree.sources.size();
    if (count != saved_.grouped_sources) {
      Add(saved_.grouped_sources, " sources in the state, ", count, " here");
    }
    for (size_t g = 0; g < RunState::kGroups; ++g) {
      if (groups[g] == saved_.groups[g]) continue;
      std::vector<std::string> members;
      for (const PastSource& source : now_.tree.sources) {
        if (GroupOf(source.path) == g) members.push_back(Quoted(source.path));
      }
      Add("other data", LengthNote(), " or another name in group ", g,
          " of the sources, which here are ",
          members.empty() ? "none" : Named(members, kMaxOfGroup),
          ": give the data that the run began with");
    }
  }

  std::string LengthNote() const {
    return saved_.max_seq_len == now_.max_seq_len ? ""
                                                  : " or other windows of it";
  }

  const RunState& saved_;
  const RunState& now_;
  const Schedule& schedule_;
  std::vector<std::string> differences_;
};

// Returns whether nothing that decides a sample differs, including what
// Comparison does not report separately.
bool IsSamePast(const RunState& saved, RunState now) {
  TreePast& tree = now.tree;
  now.shares = saved.shares;    // the weights' hash covers them
  if (!saved.tree.structure) {  // was not known
    TreePast unknown;
    unknown.seed = tree.seed;
    tree = unknown;
  }
  if (saved.grouped_sources > 0) {
    now.grouped_sources = tree.sources.size();
    now.groups = GroupsOf(tree.sources);
    tree.sources.clear();
  }
  // A source that was growing then may be complete now.
  const size_t count = std::min(saved.tree.sources.size(), tree.sources.size());
  for (size_t i = 0; i < count; ++i) {
    const PastSource& source = saved.tree.sources[i];
    if (!source.fingerprint) tree.sources[i].fingerprint.reset();
    // Known only of what grew, and not in states of earlier versions.
    if (!source.begin) tree.sources[i].begin.reset();
  }
  return saved == now;
}

// Compares the journals before anything else: what the others see of a change
// that is missing says less.
absl::Status CheckJournal(const RunState& saved, const Journal& journal) {
  if (saved.changes > journal.size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the state was saved after ", saved.changes,
        " changes of the run, but its journal has ", journal.size(),
        "; give the run the journal that it wrote ([data] journal), whole"));
  }
  if (journal.Hash(saved.changes) == saved.changes_hash || saved.changes == 0) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the first ", saved.changes,
      " changes in the journal are others than those with which the state was "
      "saved; give the run the journal that it wrote ([data] journal)"));
}

}  // namespace

absl::Status CheckGoesOn(const RunState& saved, const DatasetNode& root,
                         const Schedule& schedule, const Journal& journal) {
  PONIENTE_RETURN_IF_ERROR(CheckJournal(saved, journal));
  if (saved.step == 0) return absl::OkStatus();  // nothing has been served
  RunState now = RunStateAt(root, schedule, saved.step);
  now.changes = saved.changes;
  now.changes_hash = saved.changes_hash;
  // Different batch sizes are reported separately, so compare the trees at the
  // same sample.
  // What grew then may be complete now.
  std::vector<std::string> grew;
  for (const PastSource& source : saved.tree.sources) {
    if (!source.fingerprint) grew.push_back(source.path);
  }
  if (now.sample != saved.sample || !grew.empty()) {
    now.tree = PastOf(root, saved.sample, grew);
    now.shares.clear();
    if (now.tree.weights) now.shares = SharesAt(root, saved.sample - 1);
  }
  std::vector<std::string> differences = Comparison(saved, now, schedule).Run();
  if (differences.empty()) {
    if (IsSamePast(saved, std::move(now))) return absl::OkStatus();
    differences.emplace_back(
        "the state differs from that of this run before the same step: make "
        "the run as it was");
  }
  std::string list;
  for (size_t i = 0; i < differences.size(); ++i) {
    absl::StrAppend(&list, i == 0 ? " (" : "; (", i + 1, ") ", differences[i]);
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the run cannot go on with step ", saved.step,
                   ", since what it has served would have been other:", list));
}

}  // namespace poniente::internal
