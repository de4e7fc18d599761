// SPDX-License-Identifier: Apache-2.0
// How the threads of a PackRun cut its inputs into units, one of them at a
// time, and read ahead meanwhile.
#include <optional>
#include <utility>

#include "pack/pack_run.h"
#include "util/mutex.h"

namespace poniente::internal {
namespace {

// Units that may wait to be converted, per other thread: a thread that
// decompresses a file does not wait for the others. Behind a unit that holds
// more bytes than kLargeUnitBytes, no unit waits.
constexpr size_t kUnitsToConvert = 2;
constexpr size_t kLargeUnitBytes = size_t{1} << 20;
// Units that may be ahead of the one that is next in the store, per thread and
// per write in flight.
constexpr uint64_t kUnitsAhead = 4;
constexpr uint64_t kUnitsAheadOfWrite = 4;

}  // namespace

std::optional<PackRun::Task> PackRun::NextTask() {
  MutexLock lock(&mu_);
  while (!stop_) {
    if (MayCut()) {
      is_cutting_ = true;
      WaitForEarlierUnits();
      lock.Unlock();
      std::optional<Task> task = CutTask();
      lock.Lock();
      is_cutting_ = false;
      cut_ended_ = !task || !task->unit.ok();
      if (task) tasks_.push_back(*std::move(task));
      cut_ended_ ? to_convert_.NotifyAll() : to_convert_.NotifyOne();
    } else if (!tasks_.empty()) {
      std::optional<Task> task(std::move(tasks_.front()));
      tasks_.pop_front();
      return task;
    } else if (cut_ended_) {
      return std::nullopt;
    } else {
      lock.Unlock();
      const bool has_read = ReadAhead();
      lock.Lock();
      if (!has_read && !stop_ && tasks_.empty() && is_cutting_) {
        to_convert_.Wait(&mu_);
      }
    }
  }
  return std::nullopt;
}

bool PackRun::MayCut() const {
  if (is_cutting_ || cut_ended_) return false;
  if (tasks_.empty()) return true;
  const size_t most = kUnitsToConvert * static_cast<size_t>(job_.threads - 1);
  return tasks_.size() < most &&
         tasks_.back().unit->data.size() <= kLargeUnitBytes;
}

void PackRun::WaitForEarlierUnits() {
  const uint64_t most_ahead =
      kUnitsAhead * static_cast<uint64_t>(job_.threads) +
      kUnitsAheadOfWrite * kWritesInFlight;
  while (!stop_ && next_number_ >= added_ + most_ahead) changed_.Wait(&mu_);
}

std::optional<PackRun::Task> PackRun::CutTask() {
  if (stop_ || cut_input_ == job_.inputs.size()) return std::nullopt;
  if (cut_ == nullptr) cut_ = TakeInput();
  std::optional<Task> task(std::in_place);
  task->number = next_number_++;
  task->input_index = cut_input_;
  task->input = cut_;
  task->unit = cut_->Cut(cut_begin_);
  if (!task->unit.ok()) return task;
  if (task->unit->is_last) {
    cut_.reset();
    cut_begin_ = {};
    ++cut_input_;
  } else {
    cut_begin_ = task->unit->end;
  }
  return task;
}

std::shared_ptr<PackInput> PackRun::TakeInput() {
  const MutexLock lock(&ahead_mu_);
  ahead_first_ = cut_input_ + 1;
  if (ahead_.empty()) return job_.open(job_.inputs[cut_input_], &stop_);
  std::shared_ptr<PackInput> input = std::move(ahead_.front());
  ahead_.pop_front();
  return input;
}

bool PackRun::ReadAhead() {
  for (size_t i = 0; i + 1 < static_cast<size_t>(job_.threads); ++i) {
    std::shared_ptr<PackInput> input;
    {
      const MutexLock lock(&ahead_mu_);
      const uint64_t index = ahead_first_ + i;
      if (index >= job_.inputs.size()) return false;
      // Earlier ones may have been taken since.
      while (ahead_.size() <= i) {
        ahead_.push_back(
            job_.open(job_.inputs[ahead_first_ + ahead_.size()], &stop_));
      }
      input = ahead_[i];
    }
    if (input->ReadAhead()) return true;
  }
  return false;
}

}  // namespace poniente::internal
