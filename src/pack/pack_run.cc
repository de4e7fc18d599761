// SPDX-License-Identifier: Apache-2.0
#include "pack/pack_run.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "poniente/task.h"
#include "util/mutex.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

// A longer one is in flight alone.
constexpr uint64_t kMaxBytesInFlight = uint64_t{32} << 20;
// Of memory, to be used again.
constexpr uint64_t kMaxKeptBytes =
    kMaxBytesInFlight / PackRun::kWritesInFlight * 2;
constexpr std::chrono::milliseconds kWatchInterval(20);
constexpr std::chrono::seconds kSaveInterval(10);
constexpr std::chrono::seconds kPublishInterval(3);
// Bytes of tokens that the disk is told of at a time.
constexpr uint64_t kStartBytes = uint64_t{8} << 20;

}  // namespace

PackRun::PackRun(const PackJob& job, StoreBuilder* builder,
                 const PackState& state)
    : job_(job),
      builder_(builder),
      token_bytes_(builder->manifest().width()),
      end_of_document_(builder->manifest().end_of_document),
      cut_input_(state.input),
      cut_begin_(state.begin),
      ahead_first_(state.input),
      placed_tokens_(builder->manifest().tokens),
      placed_in_document_(state.in_document),
      placed_lines_(state.lines),
      state_(state),
      started_tokens_(builder->manifest().tokens),
      saved_tokens_(builder->manifest().tokens),
      saved_at_(Clock::now()),
      has_saved_(state != PackState()) {}

absl::Status PackRun::Run(const std::function<bool()>& interrupted,
                          const Tick& tick) {
  const int writers = builder_->writes_directly() ? kWritesInFlight : 0;
  {
    const MutexLock lock(&mu_);
    converting_ = job_.threads;
    working_ = converting_ + writers;
  }
  std::vector<std::thread> threads;
  bool was_interrupted = false;
  try {
    Start(job_.threads + writers, &threads);
    was_interrupted = Watch(interrupted, tick);
  } catch (...) {
    const MutexLock lock(&mu_);
    Fail(StatusFromException(std::current_exception()));
  }
  for (std::thread& thread : threads) thread.join();
  bool has_added = false;
  {
    const MutexLock lock(&mu_);
    if (failed_ == OutOfMemory()) {
      return absl::ResourceExhaustedError(
          absl::StrCat(failed_.message(), "; use fewer threads (--threads)"));
    }
    if (!failed_.ok()) return failed_;
    has_added = added_ > 0;
  }
  if (!was_interrupted) return absl::OkStatus();
  if (job_.can_resume && has_added) PONIENTE_RETURN_IF_ERROR(Save());
  return absl::CancelledError("interrupted");
}

// Those that convert, and after them those that write.
void PackRun::Start(int count, std::vector<std::thread>* threads) {
  for (int i = 0; i < count; ++i) {
    const bool converts = i < job_.threads;
    try {
      threads->emplace_back([this, converts] { Work(converts); });
    } catch (const std::exception& error) {
      const MutexLock lock(&mu_);
      Fail(absl::ResourceExhaustedError(absl::StrCat(
          "cannot start thread ", i + 1, " of ", count, ": ", error.what(),
          "; use fewer threads (--threads), or raise the limits of processes "
          "and memory (ulimit -u, -v)")));
      HasEnded(converts);
    }
  }
}

// What a thread of the run does; nothing that is thrown leaves it.
void PackRun::Work(bool converts) {
  absl::Status thrown;
  try {
    converts ? Convert() : WriteStaged();
  } catch (...) {
    thrown = StatusFromException(std::current_exception());
  }
  const MutexLock lock(&mu_);
  if (!thrown.ok()) Fail(std::move(thrown));
  HasEnded(converts);
}

void PackRun::HasEnded(bool converts) {
  --working_;
  if (converts) --converting_;
  to_write_.NotifyAll();
  ended_.NotifyAll();
}

bool PackRun::Watch(const std::function<bool()>& interrupted,
                    const Tick& tick) {
  bool was_interrupted = false;
  MutexLock lock(&mu_);
  // Once even if all has been done before it is looked at.
  do {
    if (working_ > 0) ended_.WaitFor(&mu_, kWatchInterval);
    const uint64_t tokens = builder_->manifest().tokens;
    const uint64_t bytes = state_.bytes;
    lock.Unlock();
    tick(bytes);
    StartWriting(tokens);
    absl::Status saved;
    if (IsTimeToSave(tokens)) saved = Save();
    was_interrupted = interrupted() || was_interrupted;
    lock.Lock();
    if (!saved.ok()) Fail(saved);
    if (was_interrupted) Stop();
  } while (working_ > 0);
  return was_interrupted;
}

// The disk writes while the threads go on, not only at the end.
void PackRun::StartWriting(uint64_t tokens) {
  if ((tokens - started_tokens_) * token_bytes_ < kStartBytes) return;
  builder_->StartWriting(started_tokens_, tokens);
  started_tokens_ = tokens;
}

bool PackRun::IsTimeToSave(uint64_t tokens) {
  const bool saves = job_.can_resume || job_.publishes;
  if (!saves || tokens == saved_tokens_) return false;
  return (tokens - saved_tokens_) * token_bytes_ >= job_.checkpoint_bytes ||
         Clock::now() - saved_at_ >=
             (job_.publishes ? kPublishInterval : kSaveInterval);
}

absl::Status PackRun::Save() {
  StoreCheckpoint mark;
  {
    const MutexLock lock(&mu_);
    PONIENTE_ASSIGN_OR_RETURN(mark, builder_->Mark());
    mark.caller = EncodePackState(job_.work, state_);
  }
  PONIENTE_RETURN_IF_ERROR(builder_->Save(mark));
  if (job_.publishes) PONIENTE_RETURN_IF_ERROR(builder_->Publish(mark));
  has_saved_ = job_.can_resume;
  saved_tokens_ = mark.tokens;
  saved_at_ = Clock::now();
  return absl::OkStatus();
}

void PackRun::Convert() {
  UnitDocuments documents(token_bytes_, end_of_document_);
  while (const std::optional<Task> task = NextTask()) {
    documents.Clear();
    const absl::Status converted = ConvertUnit(*task, &documents);
    Written written;
    if (!TakePlace(*task, converted, documents, &written)) return;
    const std::span<const std::byte> bytes =
        documents.Bytes(written.has_end_before);
    if (!builder_->writes_directly()) {
      auto checksums = builder_->WriteTokens(written.first_token, bytes);
      if (!KeepChecksums(std::move(checksums), &written)) return;
      written.documents = documents.TakeEnds();
      Hand(task->number, std::move(written));
      continue;
    }
    std::optional<DirectWriter::Pages> pages = TakePages(bytes.size());
    if (!pages) return;
    auto checksums = builder_->StageTokens(written.first_token, bytes, &*pages);
    if (!KeepChecksums(std::move(checksums), &written)) return;
    written.documents = documents.TakeEnds();
    const MutexLock lock(&mu_);
    staged_.push_back(
        {task->number, bytes.size(), std::move(written), *std::move(pages)});
    to_write_.NotifyOne();
  }
}

bool PackRun::KeepChecksums(absl::StatusOr<PieceChecksums> checksums,
                            Written* written) {
  if (checksums.ok()) {
    written->checksums = *std::move(checksums);
    return true;
  }
  const MutexLock lock(&mu_);
  Fail(checksums.status());
  return false;
}

std::optional<DirectWriter::Pages> PackRun::TakePages(uint64_t bytes) {
  bool may_read_ahead = true;
  MutexLock lock(&mu_);
  while (!stop_ && bytes_in_flight_ != 0 &&
         bytes_in_flight_ + bytes > kMaxBytesInFlight) {
    if (!may_read_ahead) {
      changed_.Wait(&mu_);
      continue;
    }
    lock.Unlock();
    may_read_ahead = ReadAhead();
    lock.Lock();
  }
  if (stop_) return std::nullopt;
  bytes_in_flight_ += bytes;
  DirectWriter::Pages pages;
  if (!free_pages_.empty()) {
    pages = std::move(free_pages_.back());
    free_pages_.pop_back();
  }
  return pages;
}

void PackRun::WriteStaged() {
  while (true) {
    MutexLock lock(&mu_);
    while (!stop_ && staged_.empty() && converting_ != 0) to_write_.Wait(&mu_);
    if (stop_ || staged_.empty()) return;
    Staged staged = std::move(staged_.front());
    staged_.pop_front();
    lock.Unlock();
    const absl::Status status = builder_->WriteStaged(staged.pages);
    if (status.ok()) Hand(staged.number, std::move(staged.written));
    lock.Lock();
    if (!status.ok()) return Fail(status);
    bytes_in_flight_ -= staged.bytes;
    if (staged.pages.room() <= kMaxKeptBytes) {
      free_pages_.push_back(std::move(staged.pages));
    }
    changed_.NotifyAll();
  }
}

absl::Status PackRun::ConvertUnit(const Task& task,
                                  UnitDocuments* documents) const {
  PONIENTE_RETURN_IF_ERROR(task.unit.status());
  return task.input->Convert(*task.unit, documents);
}

bool PackRun::TakePlace(const Task& task, const absl::Status& converted,
                        const UnitDocuments& documents, Written* written) {
  MutexLock lock(&mu_);
  while (!stop_ && turn_ != task.number) changed_.Wait(&mu_);
  if (stop_) return false;
  if (!converted.ok()) {
    Fail(converted);
    return false;
  }
  if (!documents.bad_lines().empty() && !job_.skip_bad_lines) {
    const BadLine& bad = documents.bad_lines().front();
    Fail(absl::InvalidArgumentError(absl::StrCat(
        At(task.input_index, placed_lines_ + bad.line, bad.what),
        "; fix the line, or skip such lines with --skip-bad-lines")));
    return false;
  }
  written->input_index = task.input_index;
  written->is_one_document = task.input->is_one_document();
  written->end = task.unit->end;
  written->is_last = task.unit->is_last;
  written->bytes = task.unit->bytes;
  written->lines = documents.lines;
  written->bad_lines = documents.bad_lines();
  written->looks_like = documents.looks_like;
  written->first_token = placed_tokens_;
  written->has_end_before = documents.ends_open_document() &&
                            placed_in_document_ && end_of_document_.has_value();
  placed_tokens_ += documents.num_tokens() + (written->has_end_before ? 1 : 0);
  placed_in_document_ = documents.is_open_behind(placed_in_document_);
  placed_lines_ = task.unit->is_last ? 0 : placed_lines_ + documents.lines;
  ++turn_;
  changed_.NotifyAll();
  return true;
}

void PackRun::Stop() {
  stop_ = true;
  changed_.NotifyAll();
  to_convert_.NotifyAll();
  to_write_.NotifyAll();
}

void PackRun::Fail(absl::Status status) {
  if (failed_.ok()) failed_ = std::move(status);
  Stop();
}

void PackRun::Hand(uint64_t number, Written written) {
  const MutexLock lock(&mu_);
  written_.emplace(number, std::move(written));
  while (!written_.empty() && written_.begin()->first == added_) {
    const absl::Status added = Add(written_.begin()->second);
    if (!added.ok()) return Fail(added);
    written_.erase(written_.begin());
    ++added_;
  }
  changed_.NotifyAll();
}

absl::Status PackRun::Add(const Written& written) {
  PONIENTE_RETURN_IF_ERROR(builder_->AddTokens(written.checksums));
  if (written.documents.loss) {
    PONIENTE_RETURN_IF_ERROR(builder_->AddLossBits(
        written.first_token + (written.has_end_before ? 1 : 0),
        *written.documents.loss));
  }
  PONIENTE_RETURN_IF_ERROR(AddDocuments(written));
  NoteBadLines(written);
  const std::string& path = job_.inputs[written.input_index].path;
  if (written.looks_like == LooksLike::kCompressed) {
    state_.compressed.Note(path);
  }
  if (written.looks_like == LooksLike::kBinary) state_.binary.Note(path);
  state_.bytes += written.bytes;
  state_.lines += written.lines;
  state_.begin = written.end;
  if (written.is_last) {
    if (state_.documents_of_input == 0) ++state_.empty;
    ++state_.input;
    state_.begin = {};
    state_.lines = 0;
    state_.documents_of_input = 0;
  }
  return absl::OkStatus();
}

absl::Status PackRun::AddDocuments(const Written& written) {
  const DocumentEnds& documents = written.documents;
  uint64_t first = written.first_token;
  if (documents.ends_open_document && state_.in_document) {
    if (written.has_end_before) ++first;
    state_.in_document = false;
    PONIENTE_RETURN_IF_ERROR(builder_->EndDocument(first));
  }
  for (size_t i = 0; i < documents.ends.size(); ++i) {
    PONIENTE_RETURN_IF_ERROR(BeginDocument(written, i));
    state_.in_document = false;
    PONIENTE_RETURN_IF_ERROR(builder_->EndDocument(first + documents.ends[i]));
  }
  if (!documents.is_open) return absl::OkStatus();
  return BeginDocument(written, documents.ends.size());
}

absl::Status PackRun::BeginDocument(const Written& written, size_t place) {
  if (state_.in_document) return absl::OkStatus();
  state_.in_document = true;
  const uint64_t number = ++state_.documents_of_input;
  const DocumentEnds& documents = written.documents;
  if (place < documents.names.size()) {
    return builder_->BeginDocument(documents.names[place]);
  }
  const std::string& name = job_.inputs[written.input_index].name;
  if (written.is_one_document) return builder_->BeginDocument(name);
  return builder_->BeginDocument(absl::StrCat(
      name, "#",
      place < documents.lines.size() ? state_.lines + documents.lines[place]
                                     : number));
}

void PackRun::NoteBadLines(const Written& written) {
  if (written.bad_lines.empty()) return;
  if (state_.bad_lines == 0) {
    const BadLine& first = written.bad_lines.front();
    state_.first_bad_line =
        At(written.input_index, state_.lines + first.line, first.what);
  }
  state_.bad_lines += written.bad_lines.size();
}

std::string PackRun::At(uint64_t input, uint64_t line,
                        const std::string& what) const {
  const std::string& path = job_.inputs[input].path;
  return absl::StrCat(path == "-" ? "standard input" : path, ":", line, ": ",
                      what);
}

}  // namespace poniente::internal
