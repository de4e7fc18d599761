// SPDX-License-Identifier: Apache-2.0
// poniente pack: text files to a token store.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
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
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json.h"
#include "cli/progress.h"
#include "cli/text_inputs.h"
#include "cli/text_splitter.h"
#include "poniente/token_store_writer.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::cli {
namespace {

constexpr uint32_t kEndOfDocument = 256;
constexpr size_t kPieceBytes = size_t{1} << 20;

struct PackRequest {
  std::vector<std::string> inputs;
  std::vector<std::string> patterns;
  std::string out;
  SplitRule rule;
  bool json = false;
  bool quiet = false;
};

absl::StatusOr<PackRequest> ReadRequest(const Arguments& arguments) {
  PackRequest request;
  request.inputs = arguments.positionals();
  request.patterns = arguments.Texts("glob");
  request.json = arguments.Has("json");
  request.quiet = arguments.Has("quiet");
  if (request.inputs.empty()) {
    return absl::InvalidArgumentError(
        "pack: no input; name a file, a folder or -: "
        "poniente pack INPUT... --out DIR");
  }
  request.out = arguments.Text("out").value_or("");
  if (request.out.empty()) {
    return absl::InvalidArgumentError(
        "pack: --out is missing; say where the store goes: --out DIR");
  }
  if (request.json && request.quiet) {
    return absl::InvalidArgumentError(
        "pack: --json and --quiet exclude each other");
  }
  const auto tokenizer = arguments.Choice("tokenizer", {"bytes"});
  if (!tokenizer.ok()) return tokenizer.status();
  PONIENTE_ASSIGN_OR_RETURN(const std::string split,
                            arguments.Choice("split", {"files", "paragraphs"}));
  if (split == "paragraphs") {
    request.rule.kind = SplitRule::Kind::kParagraphs;
  }
  if (const auto delimiter = arguments.Text("delimiter")) {
    if (split == "paragraphs") {
      return absl::InvalidArgumentError(
          "pack: --delimiter and --split paragraphs exclude each other");
    }
    if (delimiter->find('\n') != std::string::npos) {
      return absl::InvalidArgumentError(
          "pack: --delimiter is one line, without its end");
    }
    request.rule = {SplitRule::Kind::kDelimiter, *delimiter};
  }
  return request;
}

volatile std::sig_atomic_t interrupted = 0;  // the signal

void OnInterrupt(int signal) { interrupted = signal; }

// Lets a read return, so that what was written can be removed.
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

bool LooksCompressed(std::string_view begin) {
  return begin.starts_with("\x1f\x8b") || begin.starts_with("BZh") ||
         begin.starts_with(
             "\xfd"
             "7zXZ") ||
         begin.starts_with("\x28\xb5\x2f\xfd");
}

// Writes the documents of one input after the other.
class Packer final : public DocumentSink {
 public:
  Packer(const SplitRule& rule, TokenStoreWriter* writer, Progress* progress)
      : rule_(rule),
        writer_(writer),
        progress_(progress),
        buffer_(std::make_unique_for_overwrite<char[]>(kPieceBytes)) {}

  absl::Status Pack(const TextInput& input);

  absl::Status Text(std::string_view text) override;
  absl::Status Boundary() override;

  uint64_t bytes() const { return bytes_; }
  uint64_t empty() const { return empty_; }
  uint64_t compressed() const { return compressed_; }
  const std::string& first_compressed() const { return first_compressed_; }

 private:
  // At most 1 MiB; empty at the end.
  absl::StatusOr<std::string_view> Read(int fd, const std::string& path);

  const SplitRule rule_;
  TokenStoreWriter* const writer_;
  Progress* const progress_;
  const std::unique_ptr<char[]> buffer_;
  std::string name_;
  uint64_t documents_of_input_ = 0;
  bool in_document_ = false;
  uint64_t bytes_ = 0;
  uint64_t empty_ = 0;
  uint64_t compressed_ = 0;
  std::string first_compressed_;
};

absl::Status Packer::Pack(const TextInput& input) {
  const bool standard = input.path == "-";
  internal::OwnedFd file;
  if (!standard) {
    PONIENTE_ASSIGN_OR_RETURN(file, internal::OpenFd(input.path, O_RDONLY));
  }
  const int fd = standard ? STDIN_FILENO : file.get();
  name_ = input.name;
  documents_of_input_ = 0;
  TextSplitter splitter(rule_, this);
  for (bool first = true;; first = false) {
    PONIENTE_ASSIGN_OR_RETURN(
        const std::string_view text,
        Read(fd, standard ? "standard input" : input.path));
    if (text.empty()) break;
    if (first && LooksCompressed(text) && compressed_++ == 0) {
      first_compressed_ = input.path;
    }
    PONIENTE_RETURN_IF_ERROR(splitter.Add(text));
    bytes_ += text.size();
    progress_->Update(bytes_);
  }
  PONIENTE_RETURN_IF_ERROR(splitter.Finish());
  if (documents_of_input_ == 0) ++empty_;
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> Packer::Read(int fd, const std::string& path) {
  while (true) {
    if (interrupted) return absl::CancelledError("interrupted");
    const ssize_t got = ::read(fd, buffer_.get(), kPieceBytes);
    if (got >= 0) {
      return std::string_view(buffer_.get(), static_cast<size_t>(got));
    }
    if (errno != EINTR) return internal::ErrnoError(path, "read");
  }
}

absl::Status Packer::Text(std::string_view text) {
  if (text.empty()) return absl::OkStatus();
  if (!in_document_) {
    ++documents_of_input_;
    PONIENTE_RETURN_IF_ERROR(writer_->BeginDocument(
        rule_.kind == SplitRule::Kind::kWhole
            ? name_
            : absl::StrCat(name_, "#", documents_of_input_)));
    in_document_ = true;
  }
  return writer_->AppendBytes(text);
}

absl::Status Packer::Boundary() {
  if (!in_document_) return absl::OkStatus();
  in_document_ = false;
  const uint32_t end = kEndOfDocument;
  PONIENTE_RETURN_IF_ERROR(writer_->Append(std::span(&end, 1)));
  return writer_->EndDocument();
}

std::string Skipped(const TextInputs& inputs, uint64_t empty) {
  std::vector<std::string> parts;
  const auto add = [&parts](uint64_t count, std::string_view thing,
                            std::string_view which = "") {
    if (count == 0) return;
    parts.push_back(absl::StrCat(Plural(count, thing), internal::Absl(which)));
  };
  add(empty, "empty file");
  add(inputs.links, "symbolic link");
  add(inputs.special, "special file");
  add(inputs.unmatched, "file", " outside of --glob");
  return absl::StrJoin(parts, ", ");
}

void Summarize(const PackRequest& request, const TextInputs& inputs,
               const Packer& packer, const TokenStoreFacts& facts,
               double seconds) {
  const double bytes = static_cast<double>(packer.bytes());
  std::cout << "packed " << Plural(facts.documents, "document") << ", "
            << Plural(facts.tokens, "token") << " from "
            << Plural(inputs.files.size() - packer.empty(), "file") << " ("
            << Bytes(bytes) << ") into '" << OneLine(request.out) << "' ("
            << Bytes(static_cast<double>(facts.bytes)) << ") in "
            << absl::StrFormat("%.2f s, ", seconds) << Bytes(bytes / seconds)
            << "/s\n";
  const std::string skipped = Skipped(inputs, packer.empty());
  if (!skipped.empty()) std::cout << "skipped " << skipped << '\n';
  std::cout << absl::StrFormat("fingerprint %016x\n", facts.fingerprint);
}

void SummarizeAsJson(const PackRequest& request, const TextInputs& inputs,
                     const Packer& packer, const TokenStoreFacts& facts,
                     double seconds) {
  Json json;
  json["path"] = request.out;
  json["documents"] = facts.documents;
  json["tokens"] = facts.tokens;
  json["bytes"] = facts.bytes;
  json["fingerprint"] = absl::StrFormat("%016x", facts.fingerprint);
  json["files"] = inputs.files.size() - packer.empty();
  json["input_bytes"] = packer.bytes();
  json["skipped"] = {{"empty", packer.empty()},
                     {"links", inputs.links},
                     {"special", inputs.special},
                     {"unmatched", inputs.unmatched}};
  json["compressed"] = packer.compressed();
  json["seconds"] = seconds;
  PrintJson(json);
}

absl::Status Nothing(const TextInputs& inputs, uint64_t empty) {
  const std::string skipped = Skipped(inputs, empty);
  return absl::InvalidArgumentError(absl::StrCat(
      "pack: nothing to pack: the inputs hold ",
      skipped.empty() ? "no files" : skipped, "; name a file with text in it"));
}

absl::Status Pack(const PackRequest& request) {
  PONIENTE_ASSIGN_OR_RETURN(
      const TextInputs inputs,
      FindTextInputs(request.inputs, request.patterns, request.out));
  if (inputs.files.empty()) return Nothing(inputs, 0);
  uint64_t total = 0;
  for (const TextInput& input : inputs.files) total += input.bytes;

  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", kEndOfDocument + 1};
  options.end_of_document = kEndOfDocument;
  PONIENTE_ASSIGN_OR_RETURN(const auto writer,
                            TokenStoreWriter::Create(request.out, options));
  CatchInterrupts();
  TokenStoreFacts facts;
  std::optional<Progress> progress(
      std::in_place, "packing", inputs.sizes_known ? total : 0, request.quiet);
  Packer packer(request.rule, writer.get(), &*progress);
  for (const TextInput& input : inputs.files) {
    PONIENTE_RETURN_IF_ERROR(packer.Pack(input));
  }
  if (packer.empty() == inputs.files.size()) {
    return Nothing(inputs, packer.empty());
  }
  PONIENTE_ASSIGN_OR_RETURN(facts, writer->Finish());
  const double seconds = progress->seconds();
  progress.reset();
  if (packer.compressed() > 0) {
    Warn(absl::StrCat("compressed input was packed as it is (",
                      Plural(packer.compressed(), "file"), ", the first is '",
                      packer.first_compressed(),
                      "'); unpack it first to train on its text"));
  }
  if (request.json) {
    SummarizeAsJson(request, inputs, packer, facts, seconds);
  } else if (!request.quiet) {
    Summarize(request, inputs, packer, facts, seconds);
  }
  return absl::OkStatus();
}

}  // namespace

CommandSpec PackSpec() {
  return {
      .name = "pack",
      .brief = "make a token store from text",
      .positionals = "INPUT... --out DIR",
      .summary =
          "Makes a token store from text: bytes are the ids 0 to 255, and "
          "every document\nends with the id 256. An INPUT is a file, a folder "
          "(all files below it, in\nbytewise order; links are not followed) or "
          "- for standard input. A store that\nis at DIR already is replaced "
          "when the new one is complete.",
      .options = {{"out", "DIR", "where the store goes; required"},
                  {"glob", "PATTERN",
                   "take only files of folders that match, for example '*.h'",
                   true},
                  {"split", "files|paragraphs",
                   "one document per file (default), or cut at blank lines"},
                  {"delimiter", "TEXT",
                   "cut files into documents at lines equal to TEXT"},
                  {"tokenizer", "bytes", "the only one there is yet"},
                  {"json", "", "print the summary as JSON"},
                  {"quiet", "", "no progress, no summary"}},
      .example =
          "poniente pack /usr/share/games/fortunes --glob '*.u8' "
          "--delimiter % --out fortunes"};
}

int RunPack(const std::vector<std::string>& args) {
  const auto read = ReadCommandLine(PackSpec(), args);
  if (const int* code = std::get_if<int>(&read)) return *code;
  const Arguments* const arguments = &std::get<Arguments>(read);
  const absl::StatusOr<PackRequest> request = ReadRequest(*arguments);
  if (!request.ok()) return FailUsage(std::string(request.status().message()));
  const absl::Status packed = Pack(*request);
  if (packed.ok()) return kExitOk;
  if (!absl::IsCancelled(packed)) return Fail(packed);
  Fail(absl::CancelledError(
      absl::StrCat("interrupted; '", request->out, "' is as it was")));
  return 128 + interrupted;  // as a shell says it
}

}  // namespace poniente::cli
