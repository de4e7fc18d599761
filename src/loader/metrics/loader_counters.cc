// SPDX-License-Identifier: Apache-2.0
#include "loader/metrics/loader_counters.h"

#include <algorithm>

#include "loader/metrics/dataset_times.h"
#include "util/check.h"

namespace poniente::internal {
LoaderCounters::LoaderCounters(std::span<const TreeLeaf> leaves)
    : epochs_(leaves) {
  AddSources(leaves);
}

void LoaderCounters::Asked(Clock::time_point now) {
  MutexLock lock(&mu_);
  if (asked_.has_value()) return;
  if (working_.has_value() && now > *working_) {
    counted_.consumer_seconds += Seconds(now - *working_);
  }
  working_.reset();
  asked_ = now;
}

double LoaderCounters::EndWait(Clock::time_point end) {
  end = std::max(end, *asked_);
  const double waited = Seconds(end - *asked_);
  (is_startup_ ? counted_.startup_seconds : counted_.stall_seconds) += waited;
  asked_.reset();
  working_ = end;
  return waited;
}

void LoaderCounters::Delivered(const Batch& batch, Clock::time_point ready) {
  MutexLock lock(&mu_);
  CountDelivered(ready);
  CountSamples(batch);
}

void LoaderCounters::Delivered(uint64_t items, Clock::time_point ready) {
  MutexLock lock(&mu_);
  CountDelivered(ready);
  counted_.samples += items;
  counted_.tokens += items;
}

void LoaderCounters::CountDelivered(Clock::time_point ready) {
  PONIENTE_CHECK(asked_.has_value()) << "a batch that nobody asked for";
  const double waited = EndWait(ready);
  if (is_startup_) {
    ++counted_.startups;
  } else {
    if (waited > 0) ++counted_.stalls;
    counted_.last_stall_seconds = waited;
    counted_.longest_stall_seconds =
        std::max(counted_.longest_stall_seconds, waited);
  }
  is_startup_ = false;
  ++counted_.steps;
}

void LoaderCounters::CountSamples(const Batch& batch) {
  const uint64_t seq_len = batch.seq_len();
  counted_.samples += batch.num_samples();
  counted_.tokens += batch.num_samples() * seq_len;
  for (size_t i = 0; i < batch.num_samples(); ++i) {
    const SampleProvenance& from = batch.provenance(i);
    SourceMetrics& source = counted_.sources[from.source];
    ++source.samples;
    source.tokens += seq_len;
    source.epoch = std::max(source.epoch, from.epoch);
    source.restarts += epochs_.Restarts(from.source, from.epoch);
  }
}

void LoaderCounters::MovedTo(uint64_t step) {
  MutexLock lock(&mu_);
  epochs_.MoveTo(step);
  for (SourceMetrics& source : counted_.sources) source.epoch = 0;
}

void LoaderCounters::AddSources(std::span<const TreeLeaf> leaves) {
  MutexLock lock(&mu_);
  epochs_.Add(leaves);
  for (size_t l = counted_.sources.size(); l < leaves.size(); ++l) {
    counted_.sources.emplace_back().path = leaves[l].path;
  }
}

bool LoaderCounters::HasEpochNews() const {
  MutexLock lock(&mu_);
  return epochs_.has_news();
}

std::vector<EpochNews> LoaderCounters::TakeEpochNews() {
  MutexLock lock(&mu_);
  return epochs_.TakeNews();
}

void LoaderCounters::GaveUp(Clock::time_point now) {
  MutexLock lock(&mu_);
  if (asked_.has_value()) EndWait(now);
}

void LoaderCounters::Restarted(uint64_t ready_batches) {
  MutexLock lock(&mu_);
  is_startup_ = true;
  counted_.batches_dropped += ready_batches;
}

void LoaderCounters::Dropped(uint64_t batches) {
  MutexLock lock(&mu_);
  counted_.batches_dropped += batches;
}

double LoaderCounters::Fetching(Clock::time_point now) const {
  if (under_way_ == 0) return 0;
  return Seconds(std::max(now, fetching_until_) - fetching_until_);
}

void LoaderCounters::CountFetching(Clock::time_point now) {
  counted_.fetching_seconds += Fetching(now);
  fetching_until_ = now;
}

void LoaderCounters::FetchBegan(Clock::time_point now) {
  MutexLock lock(&mu_);
  CountFetching(now);
  ++under_way_;
}

void LoaderCounters::FetchEnded(Clock::time_point now, FetchEnd end,
                                const FetchTimes& times, uint64_t batches) {
  MutexLock lock(&mu_);
  CountFetching(now);
  --under_way_;
  if (times.datasets != nullptr) datasets_ = times.datasets;
  if (end == FetchEnd::kFailed) ++counted_.fetch_errors;
  if (end == FetchEnd::kFailed || end == FetchEnd::kNothing) return;
  counted_.batches_fetched += batches;
  if (end == FetchEnd::kDropped) counted_.batches_dropped += batches;
  counted_.length_seconds += Seconds(times.length);
  counted_.resolve_seconds += Seconds(times.resolve);
  counted_.read_seconds += Seconds(times.read);
  counted_.decode_seconds += Seconds(times.decode);
}

void LoaderCounters::ComputedElsewhere(std::chrono::nanoseconds time) {
  MutexLock lock(&mu_);
  counted_.cpu_seconds += Seconds(time);
}

LoaderMetrics LoaderCounters::Read(Clock::time_point now, OpenWork work) const {
  MutexLock lock(&mu_);
  LoaderMetrics metrics = counted_;
  if (work == OpenWork::kCounts && working_.has_value() && now > *working_) {
    metrics.consumer_seconds += Seconds(now - *working_);
  }
  metrics.fetching_seconds += Fetching(now);
  if (datasets_ != nullptr) metrics.datasets = datasets_->Read(now);
  if (asked_.has_value() && now > *asked_) {
    metrics.waiting_seconds = Seconds(now - *asked_);
  }
  return metrics;
}

}  // namespace poniente::internal
