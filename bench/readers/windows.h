// SPDX-License-Identifier: Apache-2.0
// Batches of random windows of a file, and the interface of what reads them.

#ifndef PONIENTE_BENCH_READERS_WINDOWS_H_
#define PONIENTE_BENCH_READERS_WINDOWS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::bench {

inline constexpr size_t kWindowBytes = 8192;
inline constexpr size_t kBatch = 64;
inline constexpr size_t kSlotBytes = kBatch * kWindowBytes;
// Batches in flight, of what can have more than one: the loader's default.
inline constexpr size_t kInFlight = 4;

// What batches are read into.
struct SlotLayout {
  size_t slots = kInFlight;
  size_t windows = kBatch;  // in each: those of a batch

  size_t slot_bytes() const { return windows * kWindowBytes; }
  size_t bytes() const { return slots * slot_bytes(); }
};

// All windows of a file in a random order, round and round. As many as the file
// has, one after the other, are all different.
class WindowOrder {
 public:
  explicit WindowOrder(uint64_t file_bytes);

  size_t num_windows() const { return offsets_.size(); }
  // Offsets of the next `windows`; they stay the next ones until Skip().
  std::vector<uint64_t> Upcoming(size_t windows) const;
  void Skip(size_t windows) { next_ = (next_ + windows) % offsets_.size(); }

 private:
  std::vector<uint64_t> offsets_;
  size_t next_ = 0;
};

// What one case reads: batches of a stretch, until it or the time is over.
class Batches {
 public:
  using Clock = std::chrono::steady_clock;
  using Offsets = std::span<const uint64_t>;
  using Check = std::function<void(Offsets, std::span<const std::byte> slot)>;

  // Borrows `offsets`. REQUIRES: offsets.size() is a multiple of `windows`, the
  // size of a batch.
  Batches(Offsets offsets, Clock::duration limit, size_t windows = kBatch)
      : offsets_(offsets),
        windows_(windows),
        filled_at_(Clock::now()),
        end_(filled_at_ + limit) {
    seconds_.reserve(offsets.size() / windows);
  }

  // `check` sees the first batch that is read.
  void CheckFirst(Check check) { check_ = std::move(check); }
  // The next call of Filled() looks at the slot.
  bool checks_next() const { return check_ != nullptr; }

  // Offsets of the windows of the next batch, or none.
  Offsets Next() {
    if (given_ == offsets_.size() || Clock::now() >= end_) return {};
    given_ += windows_;
    return offsets_.subspan(given_ - windows_, windows_);
  }
  // To be called for each batch as soon as its slot holds it.
  void Filled(Offsets offsets, std::span<const std::byte> slot) {
    const Clock::time_point now = Clock::now();
    seconds_.push_back(std::chrono::duration<double>(now - filled_at_).count());
    filled_at_ = now;
    if (check_) std::exchange(check_, nullptr)(offsets, slot);
  }

  size_t windows_given() const { return given_; }
  // From the batch before, or the start, to each batch.
  std::span<const double> seconds() const { return seconds_; }

 private:
  const Offsets offsets_;
  const size_t windows_;
  Clock::time_point filled_at_;
  const Clock::time_point end_;
  size_t given_ = 0;
  std::vector<double> seconds_;
  Check check_;
};

// Window i of a slot.
inline std::span<std::byte> SlotWindow(std::span<std::byte> slot, size_t i) {
  return slot.subspan(i * kWindowBytes, kWindowBytes);
}

// A way of reading. Keeps its slots and files from one call to the next.
class WindowReader {
 public:
  virtual ~WindowReader() = default;

  // Reads all that `batches` gives, and returns when it has been read. A read
  // that fails ends the program.
  virtual void ReadAll(Batches* batches) = 0;
  // What is to be told beside the figures.
  virtual std::string note() const { return ""; }
};

// Unavailable where this machine does not have such a reader.
using OpenedReader = absl::StatusOr<std::unique_ptr<WindowReader>>;
using OpenReader = std::function<OpenedReader()>;

}  // namespace poniente::bench

#endif  // PONIENTE_BENCH_READERS_WINDOWS_H_
