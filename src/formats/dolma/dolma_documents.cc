// SPDX-License-Identifier: Apache-2.0
#include "formats/dolma/dolma_documents.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

constexpr size_t kMaxKept = 256;
constexpr size_t kMaxKeptBytes = 4096;  // per name

absl::Status Changed(const std::string& path, uint64_t row) {
  return absl::DataLossError(absl::StrCat(
      "'", path, "': its row ", row,
      " is not what it was when the file was opened; open it again"));
}

}  // namespace

absl::StatusOr<DolmaRow> DolmaDocuments::ReadRow(size_t table,
                                                 uint64_t row) const {
  const std::string& path = tables_[table].path;
  if (cursor_ == nullptr || cursor_->table != table || cursor_->next > row) {
    cursor_.reset();
    PONIENTE_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Open(path));
    cursor_ = std::make_unique<Cursor>(table, std::move(file));
  }
  DolmaRow read;
  while (cursor_->next <= row) {
    const absl::StatusOr<bool> is_row = cursor_->rows.Next(&read);
    if (!is_row.ok() || !*is_row) {
      cursor_.reset();
      return is_row.ok() ? Changed(path, row) : is_row.status();
    }
    ++cursor_->next;
  }
  return read;
}

void DolmaDocuments::Keep(uint64_t document, const std::string& name) const {
  if (name.size() > kMaxKeptBytes) return;
  if (!kept_.emplace(document, name).second) return;
  kept_order_.push_back(document);
  if (kept_order_.size() <= kMaxKept) return;
  kept_.erase(kept_order_.front());
  kept_order_.pop_front();
}

absl::StatusOr<std::string> DolmaDocuments::Name(uint64_t document) const {
  const auto after = std::upper_bound(
      tables_.begin(), tables_.end(), document,
      [](uint64_t d, const Table& table) { return d < table.first; });
  const auto table = static_cast<size_t>(after - tables_.begin()) - 1;
  const uint64_t row = document - tables_[table].first;
  if (row >= tables_[table].rows || !tables_[table].has_names) {
    return std::string();
  }
  const MutexLock lock(&mutex_);
  if (const auto kept = kept_.find(document); kept != kept_.end()) {
    return kept->second;
  }
  PONIENTE_ASSIGN_OR_RETURN(DolmaRow read, ReadRow(table, row));
  const uint64_t first_token = ends().Begin(tables_[table].first);
  const uint64_t begin = ends().Begin(document) - first_token;
  if (read.start != begin || read.end != begin + ends().Length(document)) {
    cursor_.reset();
    return Changed(tables_[table].path, row);
  }
  Keep(document, read.name);
  return std::move(read.name);
}

}  // namespace poniente::internal
