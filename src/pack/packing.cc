// SPDX-License-Identifier: Apache-2.0
#include "pack/packing.h"

#include <atomic>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "index/keyed_hash.h"
#include "pack/pack_jsonl.h"
#include "pack/pack_run.h"
#include "pack/pack_text.h"
#include "pack/pack_token_files.h"
#include "store/manifest/manifest.h"
#include "store/manifest/manifest_text.h"
#include "store/posix_file.h"
#include "store/write/store_builder.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// Of input: below, what the page cache takes is soon written.
constexpr uint64_t kLargeBytes = uint64_t{64} << 20;
// On the average. What is smaller is put together by the page cache.
constexpr uint64_t kLargeFileBytes = uint64_t{512} << 10;

InputFormat FormatOf(const PackRequest& request, const TextInput& input) {
  return request.format.value_or(FormatOfName(input.path));
}

void AddMaskOptions(const LossMaskFiles& mask, KeyHash* hash) {
  hash->Add(std::string_view(mask.path));
  hash->Add(std::string_view(mask.glob));
  hash->Add(std::string_view(mask.column));
  for (const std::optional<int64_t>& value : {mask.no_loss, mask.loss}) {
    hash->Add(value.has_value() ? 1 : 0);
    hash->Add(value.value_or(0));
  }
}

void AddSourceOptions(const TokenSourceOptions& options, KeyHash* hash) {
  hash->Add(std::string_view(options.format));
  hash->Add(options.dtype ? static_cast<int>(*options.dtype) : -1);
  hash->Add(std::string_view(options.column));
  hash->Add(std::string_view(options.glob));
  hash->Add(options.delimiter ? int64_t{options.delimiter->id} : -1);
  hash->Add(options.delimiter && options.delimiter->begins ? 1 : 0);
  hash->Add(options.loss_mask.has_value() ? 1 : 0);
  if (options.loss_mask) AddMaskOptions(*options.loss_mask, hash);
}

// Covers every option that a byte of the store may depend on.
uint64_t OptionsDigest(const PackRequest& request) {
  KeyHash hash(4);  // of what pack makes of its options
  hash.Add(request.format ? static_cast<int>(*request.format) : -1);
  hash.Add(static_cast<int>(request.rule.kind));
  hash.Add(std::string_view(request.rule.delimiter));
  hash.Add(static_cast<int>(request.field.kind));
  for (const std::string& name : request.field.names) {
    hash.Add(std::string_view(name));
  }
  hash.Add(std::string_view(request.field.chat.turn_begin));
  hash.Add(std::string_view(request.field.chat.turn_end));
  hash.Add(request.field.chat.loss_roles.size());
  for (const std::string& role : request.field.chat.loss_roles) {
    hash.Add(std::string_view(role));
  }
  hash.Add(request.keeps_loss_mask ? 1 : 0);
  hash.Add(std::string_view(request.vocabulary.tokenizer));
  hash.Add(request.vocabulary.size);
  hash.Add(request.model_checksum);
  hash.Add(request.end_of_document ? int64_t{*request.end_of_document} : -1);
  hash.Add(request.skip_bad_lines ? 1 : 0);
  hash.Add(request.block_bytes);
  AddSourceOptions(request.source_options, &hash);
  return hash.key();
}

uint64_t InputsDigest(const std::vector<TextInput>& inputs) {
  KeyHash hash(0);
  for (const TextInput& input : inputs) {
    hash.Add(std::string_view(input.path));
    hash.Add(std::string_view(input.name));
    hash.Add(input.bytes);
    hash.Add(input.modified_nanoseconds);
    hash.Add(input.first_document);
    hash.Add(input.files_digest);
  }
  return hash.key();
}

absl::Status AnotherLibrary(const std::string& path, const std::string& before,
                            const std::string& now) {
  return absl::FailedPreconditionError(absl::StrCat(
      "cannot resume the interrupted pack into '", path,
      "': its ids were made by '", before, "', but this run would use ",
      now.empty() ? "a library that is not known" : "'" + now + "'",
      ", and a store has the ids of one version; use the version of the "
      "interrupted run, or start from the beginning with --restart"));
}

class Packing {
 public:
  Packing(const PackRequest& request, PackObserver* observer)
      : request_(request), observer_(observer) {
    outcome_.path = request.out;
  }

  absl::StatusOr<PackOutcome> Run();

 private:
  absl::Status FindInputs();
  absl::Status TakePart();
  // Returns how many tokens of a store newer than generation `committed`
  // another pack, or this one, has let runs read.
  uint64_t PublishedTokens(uint64_t committed) const;
  // Is told before the files of another run are removed; an error keeps them.
  absl::Status BeginAnew(uint64_t committed, const std::string& damage);
  absl::Status PublishFirst(StoreBuilder* store) const;
  void PlanJob();
  // What a checkpoint tells: whether to go on with it. Says so.
  absl::StatusOr<bool> GoOn(std::string_view saved);
  bool AreLarge() const;
  absl::StatusOr<std::unique_ptr<StoreBuilder>> OpenStore();
  PackOutcome Nothing();
  PackOutcome Interrupted(const PackRun& run, StoreBuilder* store);

  const PackRequest& request_;
  PackObserver* const observer_;
  TextInputs inputs_;
  PackJob job_;
  // Where it begins: at the beginning, or where another left off.
  PackState begin_;
  bool goes_on_ = false;
  PackOutcome outcome_;
};

absl::Status Packing::FindInputs() {
  if (request_.format == InputFormat::kTokenFiles) {
    inputs_.files = request_.token_inputs;
  } else {
    PONIENTE_ASSIGN_OR_RETURN(
        inputs_,
        FindTextInputs(request_.inputs, request_.patterns, request_.out));
  }
  outcome_.left_out = inputs_.left_out;
  return absl::OkStatus();
}

absl::Status Packing::TakePart() {
  if (!request_.part) return absl::OkStatus();
  const PackPart& part = *request_.part;
  PONIENTE_RETURN_IF_ERROR(CheckPartFolder(request_.out, part));
  if (request_.format == InputFormat::kTokenFiles) {
    PONIENTE_ASSIGN_OR_RETURN(inputs_.files,
                              TokenInputsOfPart(inputs_.files, part));
  } else {
    PONIENTE_ASSIGN_OR_RETURN(inputs_.files, InputsOfPart(inputs_.files, part));
  }
  outcome_.path = PathOfPart(request_.out, part);
  return absl::OkStatus();
}

uint64_t Packing::PublishedTokens(uint64_t committed) const {
  const absl::StatusOr<std::string> text =
      ReadSmallFile(absl::StrCat(outcome_.path, "/", Absl(kGrowthName)),
                    "the state of a growing store", kMaxManifestBytes);
  if (!text.ok()) return 0;
  const absl::StatusOr<StoreManifest> growth = ParseGrowth(*text);
  // A pack that dies right after its commit leaves what it has published.
  if (!growth.ok() || growth->generation <= committed) return 0;
  return growth->tokens;
}

absl::Status Packing::BeginAnew(uint64_t committed, const std::string& damage) {
  if (request_.restart) return absl::OkStatus();
  // Runs may have read what another pack has published.
  if (const uint64_t tokens = PublishedTokens(committed)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "'", outcome_.path, "' has ", tokens,
        " tokens that another pack has published, and that this one cannot go "
        "on with",
        damage.empty() ? "" : absl::StrCat(" (", damage, ")"),
        ": runs may have read them; to begin anew, and these runs, too, "
        "add --restart"));
  }
  if (!damage.empty()) observer_->StartsAfresh(damage);
  return absl::OkStatus();
}

void Packing::PlanJob() {
  for (const TextInput& input : inputs_.files) {
    outcome_.total_bytes += input.bytes;
  }
  outcome_.num_inputs = inputs_.files.size();
  job_.inputs = inputs_.files;
  job_.open = [this](const TextInput& input, const std::atomic<bool>* stop) {
    if (input.source) {
      return OpenTokenInput(input, request_.vocabulary.size,
                            request_.keeps_loss_mask);
    }
    if (FormatOf(request_, input) == InputFormat::kText) {
      return OpenTextInput(input, request_.rule, request_.model, stop);
    }
    JsonField field = request_.field;
    field.reads_loss = request_.keeps_loss_mask;
    return OpenJsonlInput(input, field, request_.model, stop);
  };
  job_.skip_bad_lines = request_.skip_bad_lines;
  job_.threads = request_.threads;
  job_.can_resume = inputs_.sizes_known;
  job_.checkpoint_bytes = request_.checkpoint_bytes;
  job_.publishes = request_.publishes;
  job_.work = {OptionsDigest(request_), InputsDigest(inputs_.files),
               request_.tokenizer_library};
}

absl::StatusOr<bool> Packing::GoOn(std::string_view saved) {
  const auto afresh = [this](const char* why) {
    observer_->StartsAfresh(absl::StrCat(why, " since the interrupted run"));
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
  const std::string& library = left->work.tokenizer_library;
  if (!library.empty() && library != request_.tokenizer_library) {
    return AnotherLibrary(outcome_.path, library, request_.tokenizer_library);
  }
  job_.work.tokenizer_library = library;
  begin_ = left->state;
  goes_on_ = true;
  return true;
}

// Each file is at least one write.
bool Packing::AreLarge() const {
  return inputs_.sizes_known && outcome_.total_bytes >= kLargeBytes &&
         outcome_.total_bytes / job_.inputs.size() >= kLargeFileBytes;
}

absl::StatusOr<std::unique_ptr<StoreBuilder>> Packing::OpenStore() {
  TokenStoreWriterOptions options;
  options.vocabulary = request_.vocabulary;
  options.end_of_document = request_.end_of_document;
  options.block_bytes = request_.block_bytes;
  options.tokenizer_library = request_.tokenizer_library;
  PONIENTE_ASSIGN_OR_RETURN(StoreManifest manifest,
                            ManifestToWrite(outcome_.path, options));
  manifest.tokenizer_model = request_.tokenizer_model;
  const auto accept = [this](std::string_view saved) -> absl::StatusOr<bool> {
    if (!job_.can_resume) return false;
    return GoOn(saved);
  };
  const auto anew = [this](uint64_t committed, const std::string& damage) {
    return BeginAnew(committed, damage);
  };
  auto store =
      job_.can_resume || job_.publishes
          ? StoreBuilder::CreateToSave(outcome_.path, manifest, accept, anew)
          : StoreBuilder::Create(outcome_.path, manifest, anew);
  if (goes_on_ &&
      (absl::IsDataLoss(store.status()) || absl::IsNotFound(store.status()))) {
    begin_ = PackState();
    goes_on_ = false;
    job_.work.tokenizer_library = request_.tokenizer_library;
    observer_->StartsAfresh(std::string(store.status().message()));
    store = StoreBuilder::CreateToSave(outcome_.path, manifest, accept, anew);
  }
  if (store.ok() && goes_on_) {
    // Not what this run has, if it is not known what the other one had.
    (*store)->RecordLibrary(job_.work.tokenizer_library);
    observer_->GoesOn(begin_.bytes, outcome_.total_bytes);
  }
  if (store.ok() && request_.writes_directly.value_or(AreLarge())) {
    // Few inputs have more ids than bytes.
    (*store)->WriteDirectly(outcome_.total_bytes * manifest.width());
  }
  if (store.ok() && job_.publishes) {
    const absl::Status published = PublishFirst(store->get());
    if (!published.ok()) {
      if (goes_on_) (*store)->KeepForLater();
      return published;
    }
  }
  return store;
}

// Readers may come before the first document, and stay if this run is killed
// before its first checkpoint.
absl::Status Packing::PublishFirst(StoreBuilder* store) const {
  PONIENTE_ASSIGN_OR_RETURN(StoreCheckpoint mark, store->Mark());
  mark.caller = EncodePackState(job_.work, begin_);
  PONIENTE_RETURN_IF_ERROR(store->Save(mark));
  return store->Publish(mark);
}

PackOutcome Packing::Nothing() {
  outcome_.end = PackOutcome::End::kNothing;
  return outcome_;
}

PackOutcome Packing::Interrupted(const PackRun& run, StoreBuilder* store) {
  outcome_.end = PackOutcome::End::kInterrupted;
  outcome_.can_go_on = run.has_saved();
  if (run.has_saved()) store->KeepForLater();
  return outcome_;
}

absl::StatusOr<PackOutcome> Packing::Run() {
  PONIENTE_RETURN_IF_ERROR(FindInputs());
  if (inputs_.files.empty()) return Nothing();
  PONIENTE_RETURN_IF_ERROR(TakePart());
  PlanJob();
  observer_->FoundInputs();
  PONIENTE_ASSIGN_OR_RETURN(const auto store, OpenStore());
  outcome_.resumed_bytes = begin_.bytes;
  observer_->Begins(inputs_.sizes_known ? outcome_.total_bytes - begin_.bytes
                                        : 0);
  PackRun run(job_, store.get(), begin_);
  const absl::Status packed = run.Run(
      [this] { return observer_->IsInterrupted(); },
      [this](uint64_t bytes) { observer_->Packed(bytes - begin_.bytes); });
  outcome_.state = run.state();
  // Runs may have read what was published, by this pack or by the one that it
  // continues. It stays until the store is complete.
  const bool has_documents =
      !packed.ok() || store->manifest().documents > 0 || request_.part;
  if (has_documents && (request_.publishes || PublishedTokens(0) > 0)) {
    store->KeepForLater();
  }
  if (absl::IsCancelled(packed)) return Interrupted(run, store.get());
  PONIENTE_RETURN_IF_ERROR(packed);
  if (!has_documents) return Nothing();
  PONIENTE_ASSIGN_OR_RETURN(outcome_.facts, store->Finish());
  return outcome_;
}

}  // namespace

InputFormat FormatOfName(std::string path) {
  path = absl::AsciiStrToLower(path);
  // Decompressed where they are read, or refused there.
  for (const char* suffix : {".gz", ".zst", ".bz2", ".xz"}) {
    if (absl::EndsWith(path, suffix)) path.resize(path.find_last_of('.'));
  }
  for (const char* suffix : {".jsonl", ".ndjson", ".json.l"}) {
    if (absl::EndsWith(path, suffix)) return InputFormat::kJsonl;
  }
  return InputFormat::kText;
}

absl::StatusOr<PackOutcome> Pack(const PackRequest& request,
                                 PackObserver* observer) {
  return Packing(request, observer).Run();
}

}  // namespace poniente::internal
