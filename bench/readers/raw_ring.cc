// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <liburing.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/measure/require.h"
#include "bench/readers/plain_readers.h"
#include "poniente/byte_reader.h"
#include "store/posix_file.h"
#include "util/status_macros.h"

namespace poniente::bench {
namespace {

absl::Status RingError(const char* call, int error) {
  return absl::ErrnoToStatus(error, absl::StrCat("raw ring: ", call));
}

class RawRing final : public WindowReader {
 public:
  RawRing(internal::OwnedFd fd, ReadBuffer slots)
      : fd_(std::move(fd)), slots_(std::move(slots)) {}
  ~RawRing() override {
    if (is_set_up_) io_uring_queue_exit(&ring_);
  }

  absl::Status SetUp() {
    constexpr unsigned kEntries = kInFlight * kBatch;
    // The flags of src/io/uring/uring_setup.cc.
    int error =
        io_uring_queue_init(kEntries, &ring_, IORING_SETUP_COOP_TASKRUN);
    if (error == -EINVAL) error = io_uring_queue_init(kEntries, &ring_, 0);
    if (error != 0) {
      return absl::UnavailableError(RingError("setup", -error).message());
    }
    is_set_up_ = true;
    const int fd = fd_.get();
    error = io_uring_register_files(&ring_, &fd, 1);
    if (error != 0) return RingError("register files", -error);
    const std::span<std::byte> bytes = slots_.bytes();
    const iovec memory = {bytes.data(), bytes.size()};
    // Fails where RLIMIT_MEMLOCK is small.
    has_fixed_slots_ = io_uring_register_buffers(&ring_, &memory, 1) == 0;
    return absl::OkStatus();
  }

  void ReadAll(Batches* batches) override {
    for (size_t i = 0; i < kInFlight; ++i) Start(i, batches);
    while (const unsigned fewest = FewestLeft()) {
      // No batch is complete before that many reads are.
      const int submitted = io_uring_submit_and_wait(&ring_, fewest);
      if (submitted < 0 && submitted != -EINTR) {
        Require(RingError("submit", -submitted));
      }
      Reap();
      for (size_t i = 0; i < kInFlight; ++i) {
        Flight& flight = flights_[i];
        if (flight.left != 0 || flight.offsets.empty()) continue;
        batches->Filled(flight.offsets, slot(i));
        Start(i, batches);
      }
    }
  }

  std::string note() const override {
    return has_fixed_slots_ ? "" : "slots not registered";
  }

 private:
  struct Flight {
    Batches::Offsets offsets;
    unsigned left = 0;
  };

  std::span<std::byte> slot(size_t i) const {
    return slots_.bytes().subspan(i * kSlotBytes, kSlotBytes);
  }

  // The smallest count of outstanding reads of a batch; 0 if there is none.
  unsigned FewestLeft() const {
    unsigned fewest = 0;
    for (const Flight& flight : flights_) {
      if (flight.left == 0) continue;
      fewest = fewest == 0 ? flight.left : std::min(fewest, flight.left);
    }
    return fewest;
  }

  void Start(size_t number, Batches* batches) {
    Flight& flight = flights_[number];
    flight.offsets = batches->Next();
    flight.left = static_cast<unsigned>(flight.offsets.size());
    for (size_t i = 0; i < flight.offsets.size(); ++i) {
      io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
      std::byte* const into = SlotWindow(slot(number), i).data();
      constexpr int kFile = 0;  // the registered one
      if (has_fixed_slots_) {
        io_uring_prep_read_fixed(entry, kFile, into, kWindowBytes,
                                 flight.offsets[i], 0);
      } else {
        io_uring_prep_read(entry, kFile, into, kWindowBytes, flight.offsets[i]);
      }
      entry->flags |= IOSQE_FIXED_FILE;
      entry->user_data = number;
    }
  }

  void Reap() {
    unsigned head;
    unsigned count = 0;
    io_uring_cqe* completion;
    io_uring_for_each_cqe(&ring_, head, completion) {
      if (completion->res != static_cast<int>(kWindowBytes)) {
        Require(absl::DataLossError(
            absl::StrCat("raw ring: a read gave ", completion->res)));
      }
      --flights_[completion->user_data].left;
      ++count;
    }
    io_uring_cq_advance(&ring_, count);
  }

  const internal::OwnedFd fd_;
  const ReadBuffer slots_;
  io_uring ring_ = {};
  bool is_set_up_ = false;
  bool has_fixed_slots_ = false;
  std::array<Flight, kInFlight> flights_;
};

}  // namespace

OpenedReader OpenRawRing(const std::string& path, bool direct) {
  auto fd = internal::OpenFd(path, O_RDONLY | (direct ? O_DIRECT : 0));
  if (direct && absl::IsInvalidArgument(fd.status())) {
    return absl::UnavailableError("no O_DIRECT on this file system");
  }
  PONIENTE_RETURN_IF_ERROR(fd.status());
  posix_fadvise(fd->get(), 0, 0, POSIX_FADV_RANDOM);
  PONIENTE_ASSIGN_OR_RETURN(ReadBuffer slots,
                            ReadBuffer::Allocate(kInFlight * kSlotBytes));
  auto ring = std::make_unique<RawRing>(*std::move(fd), std::move(slots));
  PONIENTE_RETURN_IF_ERROR(ring->SetUp());
  return ring;
}

}  // namespace poniente::bench
