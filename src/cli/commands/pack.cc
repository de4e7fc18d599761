// SPDX-License-Identifier: Apache-2.0
// poniente pack: text, JSONL and ids to a token store.

#include <atomic>
#include <csignal>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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
#include "cli/commands/pack_options.h"
#include "cli/commands/pack_request.h"
#include "cli/screen/console.h"
#include "cli/screen/json.h"
#include "cli/screen/progress.h"
#include "index/keyed_hash.h"
#include "pack/pack_jsonl.h"
#include "pack/pack_parts.h"
#include "pack/pack_run.h"
#include "pack/pack_text.h"
#include "pack/pack_token_files.h"
#include "pack/text_inputs.h"
#include "store/write/store_builder.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

// Of input: below, what the page cache takes is soon written.
constexpr uint64_t kLargeBytes = uint64_t{64} << 20;
// On the average. What is smaller is put together by the page cache.
constexpr uint64_t kLargeFileBytes = uint64_t{512} << 10;

using internal::StoreBuilder;

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

uint64_t InputsDigest(const std::vector<TextInput>& inputs) {
  internal::KeyHash hash(0);
  for (const TextInput& input : inputs) {
    hash.Add(std::string_view(input.path));
    hash.Add(std::string_view(input.name));
    hash.Add(input.bytes);
    hash.Add(input.modified_nanoseconds);
    hash.Add(input.first_document);
  }
  return hash.key();
}

class Packing {
 public:
  explicit Packing(const PackRequest& request)
      : request_(request), path_(request.out) {}

  absl::Status Run();

 private:
  absl::Status FindInputs();
  absl::Status TakePart();
  void PlanJob();
  // What a checkpoint tells: whether to go on with it. Says so.
  bool GoOn(std::string_view saved);
  bool AreLarge() const;
  absl::StatusOr<std::unique_ptr<StoreBuilder>> OpenStore();
  absl::Status Interrupted(const PackRun& run, StoreBuilder* store) const;
  void Note(const std::string& text) const;

  std::string Skipped(const PackState& state) const;
  absl::Status Nothing(const PackState& state) const;
  void WarnOf(const PackState& state) const;
  void Summarize(const PackState& state, const TokenStoreFacts& facts,
                 double seconds) const;
  void SummarizeAsJson(const PackState& state, const TokenStoreFacts& facts,
                       double seconds) const;

  const PackRequest& request_;
  std::string path_;  // of the store
  TextInputs inputs_;
  uint64_t total_bytes_ = 0;
  PackJob job_;
  // Where it begins: at the beginning, or where another left off.
  PackState begin_;
  bool goes_on_ = false;
};

void Packing::Note(const std::string& text) const {
  if (!request_.quiet) std::cerr << "poniente: " << OneLine(text) << '\n';
}

absl::Status Packing::FindInputs() {
  if (request_.format == InputFormat::kTokenFiles) {
    inputs_.files = request_.token_inputs;
    return TakePart();
  }
  PONIENTE_ASSIGN_OR_RETURN(
      inputs_,
      FindTextInputs(request_.inputs, request_.patterns, request_.out));
  if (inputs_.files.empty()) return Nothing(begin_);
  return TakePart();
}

absl::Status Packing::TakePart() {
  if (!request_.part) return absl::OkStatus();
  PONIENTE_RETURN_IF_ERROR(CheckPartFolder(request_.out, *request_.part));
  if (request_.format == InputFormat::kTokenFiles) {
    PONIENTE_ASSIGN_OR_RETURN(inputs_.files,
                              TokenInputsOfPart(inputs_.files, *request_.part));
  } else {
    PONIENTE_ASSIGN_OR_RETURN(inputs_.files,
                              InputsOfPart(inputs_.files, *request_.part));
  }
  path_ = PathOfPart(request_.out, *request_.part);
  if (!request_.launcher.empty()) {
    Note(absl::StrCat("packs part ", request_.part->ordinal, " of ",
                      request_.part->parts, ", as ", request_.launcher,
                      " says"));
  }
  return absl::OkStatus();
}

void Packing::PlanJob() {
  for (const TextInput& input : inputs_.files) total_bytes_ += input.bytes;
  job_.inputs = inputs_.files;
  job_.open = [this](const TextInput& input, const std::atomic<bool>* stop) {
    if (input.source) {
      return OpenTokenInput(input, request_.vocabulary.size);
    }
    return FormatOf(request_, input) == InputFormat::kText
               ? OpenTextInput(input, request_.rule, request_.model, stop)
               : OpenJsonlInput(input, request_.field, request_.model, stop);
  };
  job_.skip_bad_lines = request_.skip_bad_lines;
  job_.threads = request_.threads;
  job_.can_resume = inputs_.sizes_known;
  job_.checkpoint_bytes = request_.checkpoint_bytes;
  job_.work = {OptionsDigest(request_), InputsDigest(inputs_.files)};
}

bool Packing::GoOn(std::string_view saved) {
  const auto afresh = [this](const char* why) {
    Note(absl::StrCat("starts afresh: ", why,
                      " since the run that was ended before"));
    return false;
  };
  const std::optional<SavedPackState> left = ParsePackState(saved);
  if (!left || left->work.options != job_.work.options) {
    return afresh("the options or this tool have changed");
  }
  if (left->work.inputs != job_.work.inputs ||
      left->state.input > job_.inputs.size()) {
    return afresh("the inputs have changed");
  }
  if (request_.restart) return false;
  begin_ = left->state;
  goes_on_ = true;
  return true;
}

// Each file is at least one write.
bool Packing::AreLarge() const {
  return inputs_.sizes_known && total_bytes_ >= kLargeBytes &&
         total_bytes_ / job_.inputs.size() >= kLargeFileBytes;
}

absl::StatusOr<std::unique_ptr<StoreBuilder>> Packing::OpenStore() {
  TokenStoreWriterOptions options;
  options.vocabulary = request_.vocabulary;
  options.end_of_document = request_.end_of_document;
  PONIENTE_ASSIGN_OR_RETURN(internal::StoreManifest manifest,
                            internal::ManifestToWrite(path_, options));
  const auto accept = [this](std::string_view saved) { return GoOn(saved); };
  auto store = job_.can_resume
                   ? StoreBuilder::CreateToSave(path_, manifest, accept)
                   : StoreBuilder::Create(path_, manifest);
  if (goes_on_ &&
      (absl::IsDataLoss(store.status()) || absl::IsNotFound(store.status()))) {
    begin_ = PackState();
    goes_on_ = false;
    Note(absl::StrCat("starts afresh: ", store.status().message()));
    store = StoreBuilder::CreateToSave(path_, manifest, accept);
  }
  if (store.ok() && goes_on_) {
    Note(absl::StrCat("goes on after ",
                      Bytes(static_cast<double>(begin_.bytes)), " of ",
                      Bytes(static_cast<double>(total_bytes_)),
                      ", where a run that was ended left off"));
  }
  if (store.ok() && request_.writes_directly.value_or(AreLarge())) {
    // Few inputs have more ids than bytes.
    (*store)->WriteDirectly(total_bytes_ * manifest.width());
  }
  return store;
}

absl::Status Packing::Run() {
  PONIENTE_RETURN_IF_ERROR(FindInputs());
  PlanJob();
  // Before the first file is made: what an interrupt finds, it removes.
  CatchInterrupts();
  PONIENTE_ASSIGN_OR_RETURN(const auto store, OpenStore());
  std::optional<Progress> progress(
      std::in_place, "packing",
      inputs_.sizes_known ? total_bytes_ - begin_.bytes : 0, request_.quiet);
  PackRun run(job_, store.get(), begin_);
  const absl::Status packed =
      run.Run([] { return interrupted != 0; },
              [&](uint64_t bytes) { progress->Update(bytes - begin_.bytes); });
  if (absl::IsCancelled(packed)) {
    progress.reset();
    return Interrupted(run, store.get());
  }
  PONIENTE_RETURN_IF_ERROR(packed);
  const PackState& state = run.state();
  if (store->manifest().documents == 0 && !request_.part) return Nothing(state);
  PONIENTE_ASSIGN_OR_RETURN(const TokenStoreFacts facts, store->Finish());
  const double seconds = progress->seconds();
  progress.reset();
  WarnOf(state);
  if (request_.json) {
    SummarizeAsJson(state, facts, seconds);
  } else if (!request_.quiet) {
    Summarize(state, facts, seconds);
  }
  return absl::OkStatus();
}

absl::Status Packing::Interrupted(const PackRun& run,
                                  StoreBuilder* store) const {
  std::string message = absl::StrCat("interrupted; '", path_, "' is as it was");
  if (run.has_saved()) {
    store->KeepForLater();
    absl::StrAppend(&message, "; the same command goes on after ",
                    Bytes(static_cast<double>(run.state().bytes)), " of ",
                    Bytes(static_cast<double>(total_bytes_)));
  }
  return absl::CancelledError(message);
}

std::string Packing::Skipped(const PackState& state) const {
  std::vector<std::string> parts;
  const auto add = [&parts](uint64_t count, std::string_view thing,
                            std::string_view which = "") {
    if (count == 0) return;
    parts.push_back(absl::StrCat(Plural(count, thing), internal::Absl(which)));
  };
  add(state.empty, "empty file");
  add(inputs_.links, "symbolic link");
  add(inputs_.special, "special file");
  add(inputs_.unmatched, "file", " outside of --glob");
  add(state.bad_lines, "bad line");
  return absl::StrJoin(parts, ", ");
}

absl::Status Packing::Nothing(const PackState& state) const {
  const std::string skipped = Skipped(state);
  return absl::InvalidArgumentError(absl::StrCat(
      "pack: nothing to pack: the inputs hold ",
      skipped.empty() ? "no files" : skipped, "; name a file with text in it",
      state.bad_lines > 0 ? "; the first bad line is " : "",
      state.first_bad_line));
}

void Packing::WarnOf(const PackState& state) const {
  const auto odd = [](const char* what, const OddInputs& inputs,
                      const char* remedy) {
    if (inputs.count == 0) return;
    Warn(absl::StrCat(what, " was packed as it is (",
                      Plural(inputs.count, "file"), ", the first is '",
                      inputs.first, "'); ", remedy));
  };
  odd("compressed input", state.compressed,
      "unpack it first to train on its text");
  odd("input that looks binary, not text,", state.binary,
      "if it holds token ids, state their --dtype or --format; other text than "
      "UTF-8 is to be converted first");
  if (state.bad_lines > 0) {
    Warn(absl::StrCat(Plural(state.bad_lines, "bad line"),
                      " left out; the first is ", state.first_bad_line));
  }
}

void Packing::Summarize(const PackState& state, const TokenStoreFacts& facts,
                        double seconds) const {
  const double bytes = static_cast<double>(state.bytes);
  const double now = static_cast<double>(state.bytes - begin_.bytes);
  std::cout << "packed " << Plural(facts.documents, "document") << ", "
            << Plural(facts.tokens, "token") << " from "
            << Plural(job_.inputs.size() - state.empty, "file") << " ("
            << Bytes(bytes) << ") into '" << OneLine(path_) << "' ("
            << Bytes(static_cast<double>(facts.bytes)) << ") in "
            << absl::StrFormat("%.2f s, ", seconds) << Bytes(now / seconds)
            << "/s\n";
  const std::string skipped = Skipped(state);
  if (!skipped.empty()) std::cout << "skipped " << skipped << '\n';
  std::cout << absl::StrFormat("fingerprint %016x\n", facts.fingerprint);
}

void Packing::SummarizeAsJson(const PackState& state,
                              const TokenStoreFacts& facts,
                              double seconds) const {
  Json json;
  json["path"] = path_;
  json["documents"] = facts.documents;
  json["tokens"] = facts.tokens;
  json["bytes"] = facts.bytes;
  json["fingerprint"] = absl::StrFormat("%016x", facts.fingerprint);
  json["files"] = job_.inputs.size() - state.empty;
  json["input_bytes"] = state.bytes;
  json["skipped"] = {{"empty", state.empty},
                     {"links", inputs_.links},
                     {"special", inputs_.special},
                     {"unmatched", inputs_.unmatched},
                     {"bad_lines", state.bad_lines}};
  json["compressed"] = state.compressed.count;
  json["binary"] = state.binary.count;
  json["part"] = request_.part ? Json(request_.part->ordinal) : Json();
  json["parts"] = request_.part ? Json(request_.part->parts) : Json();
  json["threads"] = job_.threads;
  json["resumed_bytes"] = begin_.bytes;
  json["seconds"] = seconds;
  PrintJson(json);
}

}  // namespace

CommandSpec PackSpec() {
  return {
      .name = "pack",
      .brief = "make a token store from text, or from token files",
      .positionals = "INPUT... --out DIR",
      .summary =
          "Makes a token store from text, from JSONL with a text or ids in "
          "each line, or\nfrom any token files that `inspect` knows.\nText "
          "becomes bytes, the ids 0 to 255, or what a "
          "SentencePiece model makes of it;\nevery document ends with the id "
          "256, or the model's. An INPUT is a file, a folder\n(all files below "
          "it, in bytewise order; links are not followed) or - for standard\n"
          "input. A store that is at DIR already is replaced when the new one "
          "is complete.\nAfter a kill the same command goes on where the last "
          "checkpoint was made.",
      .options = PackOptions(),
      .example =
          "poniente pack /usr/share/games/fortunes --glob '*.u8' "
          "--delimiter % --out fortunes"};
}

int RunPack(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(PackSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const absl::StatusOr<PackRequest> request =
      ReadPackRequest(std::get<Arguments>(read));
  if (absl::IsInvalidArgument(request.status())) {
    return FailUsage(std::string(request.status().message()));
  }
  if (!request.ok()) return Fail(request.status());
  const absl::Status packed = Packing(*request).Run();
  if (packed.ok()) return kExitOk;
  Fail(packed);
  // As a shell says it.
  return absl::IsCancelled(packed) ? 128 + interrupted : kExitError;
}

}  // namespace poniente::cli
