// SPDX-License-Identifier: Apache-2.0
#include "poniente/config.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "config/parse/spec_parser.h"
#include "config/spec_writer.h"
#include "config/tree/graph_builder.h"
#include "loader/batch_assembler.h"
#include "poniente/dataset_tree.h"
#include "store/manifest/known_store.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente {
namespace {

// More is refused unread.
constexpr uint64_t kMaxConfigBytes = uint64_t{64} << 20;

}  // namespace

Config::Config(DatasetPtr<TokenWindow> dataset,
               std::vector<ConfigSource> sources, Schedule schedule,
               std::shared_ptr<const internal::RunSpec> run, std::string folder)
    : dataset_(std::move(dataset)),
      sources_(std::move(sources)),
      schedule_(std::move(schedule)),
      run_(std::move(run)),
      folder_(internal::LocationOf(folder.empty() ? "." : folder)) {}

absl::StatusOr<Config> Config::Load(const std::string& path) {
  const absl::StatusOr<std::string> text =
      internal::ReadSmallFile(path, "a configuration", kMaxConfigBytes);
  if (!text.ok()) {
    return internal::Prepend(text.status(), "cannot read configuration");
  }
  return Parse(*text, path, std::filesystem::path(path).parent_path());
}

absl::StatusOr<Config> Config::Parse(std::string_view text,
                                     const std::string& name,
                                     const std::string& folder) {
  PONIENTE_ASSIGN_OR_RETURN(internal::RunSpec parsed,
                            internal::ParseSpec(text, name));
  auto run = std::make_shared<internal::RunSpec>(std::move(parsed));
  PONIENTE_ASSIGN_OR_RETURN(internal::BuiltRun built,
                            internal::BuildRun(*run, folder));
  std::move(built.warnings.begin(), built.warnings.end(),
            std::back_inserter(run->warnings));
  return Config(std::move(built.dataset), std::move(built.sources),
                std::move(built.schedule), std::move(run), folder);
}

std::string Config::ToToml() const {
  return internal::ToToml(*run_, schedule_, folder_);
}

const std::vector<std::string>& Config::warnings() const {
  return run_->warnings;
}

const LoaderOptions& Config::loader_options() const { return run_->loader; }

const ByteReaderOptions& Config::io_options() const { return run_->io; }

const Vocabulary& Config::vocabulary() const {
  static const auto* const kUnknown = new Vocabulary{"", uint64_t{1} << 32};
  const Vocabulary* const known = dataset_->vocabulary();
  return known == nullptr ? *kUnknown : *known;
}

absl::Status Config::CheckLoader() const {
  return internal::BatchAssembler::Check(DatasetTree(*dataset_), *dataset_,
                                         schedule_, loader_options());
}

absl::StatusOr<std::unique_ptr<Loader>> Config::OpenLoader() const {
  return OpenLoader(loader_options());
}

absl::StatusOr<std::unique_ptr<Loader>> Config::OpenLoader(
    const LoaderOptions& options) const {
  std::string missing;
  for (const ConfigSource& source : sources_) {
    if (source.data != nullptr) continue;
    absl::StrAppend(&missing, missing.empty() ? "" : ", ", source.path);
  }
  if (!missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the data cannot be read: these sources have only a "
                     "number of tokens, no path: ",
                     missing));
  }
  return Loader::Create(dataset_, schedule_, options);
}

}  // namespace poniente
