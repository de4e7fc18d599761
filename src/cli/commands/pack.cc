// SPDX-License-Identifier: Apache-2.0
// poniente pack: text, JSONL and ids to a token store.

#include <atomic>
#include <csignal>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/arguments.h"
#include "cli/command_line.h"
#include "cli/commands/commands.h"
#include "cli/commands/pack_arguments.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "cli/screen/progress.h"
#include "pack/pack_state.h"
#include "pack/packing.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

using internal::OddInputs;
using internal::PackOutcome;
using internal::PackState;

std::atomic<int> interrupted = 0;  // the signal
static_assert(std::atomic<int>::is_always_lock_free, "set by a signal");

void OnInterrupt(int signal) { interrupted = signal; }

// Lets the threads end, so that what was written can be kept or removed.
void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = OnInterrupt;
  action.sa_flags = SA_RESETHAND;  // a second one ends the process at once
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before = {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) ::sigaction(signal, &action, nullptr);
  }
}

std::string BytesOf(uint64_t bytes) {
  return Bytes(static_cast<double>(bytes));
}

// Tells on the terminal how far a run is.
class PackScreen final : public internal::PackObserver {
 public:
  explicit PackScreen(const PackCommand& command) : command_(command) {}

  void FoundInputs() override {
    if (!command_.launcher.empty()) {
      const internal::PackPart& part = *command_.request.part;
      Note(absl::StrCat("packing part ", part.ordinal, " of ", part.parts,
                        ", as set by ", command_.launcher));
    }
    // Before the first file is made: what an interrupt finds, the run removes.
    CatchInterrupts();
  }
  void StartsAfresh(const std::string& why) override {
    Note("starting again from the beginning: " + why);
  }
  void GoesOn(uint64_t bytes, uint64_t total_bytes) override {
    Note(absl::StrCat("resuming after ", BytesOf(bytes), " of ",
                      BytesOf(total_bytes),
                      ", where the interrupted run stopped"));
  }
  void Begins(uint64_t bytes) override {
    progress_.emplace("packing", bytes, command_.quiet);
  }
  void Packed(uint64_t bytes) override { progress_->Update(bytes); }
  bool IsInterrupted() override { return interrupted != 0; }

  // Clears the line. Returns how long was packed.
  double End() {
    const double seconds = progress_ ? progress_->seconds() : 0;
    progress_.reset();
    return seconds;
  }

 private:
  void Note(const std::string& text) const {
    if (!command_.quiet) std::cerr << "poniente: " << OneLine(text) << '\n';
  }

  const PackCommand& command_;
  std::optional<Progress> progress_;
};

std::string Skipped(const PackOutcome& outcome) {
  std::vector<std::string> parts;
  const auto add = [&parts](uint64_t count, std::string_view thing,
                            std::string_view which = "") {
    if (count == 0) return;
    parts.push_back(absl::StrCat(Plural(count, thing), internal::Absl(which)));
  };
  add(outcome.state.empty, "empty file");
  add(outcome.left_out.links, "symbolic link");
  add(outcome.left_out.special, "special file");
  add(outcome.left_out.unmatched, "file", " not matching --glob");
  add(outcome.state.bad_lines, "bad line");
  return absl::StrJoin(parts, ", ");
}

absl::Status Nothing(const PackOutcome& outcome) {
  const std::string skipped = Skipped(outcome);
  return absl::InvalidArgumentError(absl::StrCat(
      "pack: nothing to pack: the inputs hold ",
      skipped.empty() ? "no files" : skipped, "; name a file with text in it",
      outcome.state.bad_lines > 0 ? "; the first bad line is " : "",
      outcome.state.first_bad_line));
}

absl::Status Interrupted(const PackOutcome& outcome) {
  std::string message =
      absl::StrCat("interrupted; '", outcome.path, "' is unchanged");
  if (outcome.can_go_on) {
    absl::StrAppend(&message, "; run the same command to resume after ",
                    BytesOf(outcome.state.bytes), " of ",
                    BytesOf(outcome.total_bytes));
  }
  return absl::CancelledError(message);
}

void WarnOf(const PackState& state) {
  const auto odd = [](const char* what, const OddInputs& inputs,
                      const char* remedy) {
    if (inputs.count == 0) return;
    Warn(absl::StrCat(what, " was packed as it is (",
                      Plural(inputs.count, "file"), ", the first is '",
                      inputs.first, "'); ", remedy));
  };
  odd("compressed input", state.compressed,
      "decompress it first to train on its text");
  odd("input that looks binary, not text,", state.binary,
      "if it holds token ids, state --dtype or --format; convert text in other "
      "encodings to UTF-8 first");
  if (state.bad_lines > 0) {
    Warn(absl::StrCat(Plural(state.bad_lines, "bad line"),
                      " left out; the first is ", state.first_bad_line));
  }
}

void Summarize(const PackOutcome& outcome, double seconds) {
  const uint64_t now = outcome.state.bytes - outcome.resumed_bytes;
  std::cout << "packed " << Plural(outcome.facts.documents, "document") << ", "
            << Plural(outcome.facts.tokens, "token") << " from "
            << Plural(outcome.num_inputs - outcome.state.empty, "file") << " ("
            << BytesOf(outcome.state.bytes) << ") into '"
            << OneLine(outcome.path) << "' (" << BytesOf(outcome.facts.bytes)
            << ") in " << absl::StrFormat("%.2f s, ", seconds)
            << Bytes(static_cast<double>(now) / seconds) << "/s\n";
  const std::string skipped = Skipped(outcome);
  if (!skipped.empty()) std::cout << "skipped " << skipped << '\n';
  std::cout << absl::StrFormat("fingerprint %016x\n",
                               outcome.facts.fingerprint);
}

void SummarizeAsJson(const PackOutcome& outcome,
                     const internal::PackRequest& request, double seconds) {
  const PackState& state = outcome.state;
  const TokenStoreFacts& facts = outcome.facts;
  Json json;
  json["path"] = outcome.path;
  json["documents"] = facts.documents;
  json["tokens"] = facts.tokens;
  json["bytes"] = facts.bytes;
  json["fingerprint"] = absl::StrFormat("%016x", facts.fingerprint);
  json["files"] = outcome.num_inputs - state.empty;
  json["input_bytes"] = state.bytes;
  json["skipped"] = {{"empty", state.empty},
                     {"links", outcome.left_out.links},
                     {"special", outcome.left_out.special},
                     {"unmatched", outcome.left_out.unmatched},
                     {"bad_lines", state.bad_lines}};
  json["compressed"] = state.compressed.count;
  json["binary"] = state.binary.count;
  json["part"] = request.part ? Json(request.part->ordinal) : Json();
  json["parts"] = request.part ? Json(request.part->parts) : Json();
  json["threads"] = request.threads;
  json["resumed_bytes"] = outcome.resumed_bytes;
  json["seconds"] = seconds;
  PrintJson(json);
}

absl::Status Run(const PackCommand& command) {
  for (const std::string& warning : command.warnings) Warn(warning);
  PackScreen screen(command);
  const auto packed = internal::Pack(command.request, &screen);
  const double seconds = screen.End();
  PONIENTE_RETURN_IF_ERROR(packed.status());
  if (packed->end == PackOutcome::End::kInterrupted)
    return Interrupted(*packed);
  if (packed->end == PackOutcome::End::kNothing) return Nothing(*packed);
  WarnOf(packed->state);
  if (command.json) {
    SummarizeAsJson(*packed, command.request, seconds);
  } else if (!command.quiet) {
    Summarize(*packed, seconds);
  }
  return absl::OkStatus();
}

}  // namespace

CommandSpec PackSpec() {
  return {.name = "pack",
          .brief = "make a token store from text, or from token files",
          .positionals = "INPUT... --out DIR",
          .summary =
              "Makes a token store from text, from JSONL with text or ids in "
              "each line, or from\nany token files that `inspect` "
              "recognizes.\nText becomes its bytes, as ids 0 to 255, or the "
              "ids of a SentencePiece model. A\ndocument of text ends with id "
              "256, or with the model's end-of-sentence id.\nAn INPUT is a "
              "file, a folder (all files below it, in bytewise order; links "
              "are\nnot followed) or - for standard input. An existing store "
              "at DIR is replaced when\nthe new one is complete. After a kill, "
              "the same command resumes from the last\ncheckpoint.",
          .options = PackOptions(),
          .example =
              "poniente pack /usr/share/games/fortunes --glob '*.u8' "
              "--delimiter % --out fortunes"};
}

int RunPack(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(PackSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const absl::StatusOr<PackCommand> command =
      ReadPackCommand(std::get<Arguments>(read));
  if (absl::IsInvalidArgument(command.status())) {
    return FailUsage(std::string(command.status().message()));
  }
  if (!command.ok()) return Fail(command.status());
  const absl::Status packed = Run(*command);
  if (packed.ok()) return kExitOk;
  Fail(packed);
  // As a shell says it.
  return absl::IsCancelled(packed) ? 128 + interrupted : kExitError;
}

}  // namespace poniente::cli
