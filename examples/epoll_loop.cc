// SPDX-License-Identifier: Apache-2.0
// A loop of epoll alone, on one thread, serves a timer, a loader by its
// descriptor, and a coroutine that awaits batches of a second loader.
// docs/consuming.md explains each part.

#include <poniente/poniente.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <exception>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "number_loader.h"

namespace {

namespace asio = boost::asio;

// Runs functions on the thread of a loop: queues them and wakes the loop.
struct LoopExecutor {
  void execute(auto function) const {
    asio::post(*queue, std::move(function));
    eventfd_write(wake, 1);
  }
  asio::io_context& query(asio::execution::context_t) const noexcept {
    return *queue;
  }
  static constexpr auto query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  bool operator==(const LoopExecutor&) const noexcept = default;

  asio::io_context* queue;
  int wake;  // an eventfd
};

poniente::Task<> Validate(poniente::Loader* loader, uint64_t* batches) {
  while (true) {
    absl::StatusOr<poniente::Batch> batch = co_await loader->Next();
    if (absl::IsOutOfRange(batch.status())) co_return absl::OkStatus();
    if (!batch.ok()) co_return batch.status();
    ++*batches;
  }
}

// Takes batches that are ready. Returns OutOfRange at the end of the run.
absl::Status Train(poniente::Loader& loader, uint64_t* batches) {
  for (int i = 0; i < 8; ++i) {  // then let others have their turn
    const auto batch = loader.TryNext();
    if (!batch.has_value()) break;
    if (!batch->ok()) return batch->status();
    ++*batches;
  }
  return absl::OkStatus();
}

struct Descriptor {
  ~Descriptor() { close(fd); }
  int fd;
};

// All of it is used on one thread. The loaders are destroyed first: until then,
// their threads may use the executor.
struct Program {
  const Descriptor loop{epoll_create1(EPOLL_CLOEXEC)};
  const Descriptor timer{timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)};
  const Descriptor wake{eventfd(0, EFD_CLOEXEC)};
  asio::io_context queue;
  std::unique_ptr<poniente::Loader> train, validation;
  uint64_t trained = 0, validated = 0, ticks = 0;
  bool is_training = true, is_validating = true;
  absl::Status status;
};

void Watch(const Program& program, int fd) {
  epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};
  epoll_ctl(program.loop.fd, EPOLL_CTL_ADD, fd, &event);
}

void StartValidation(Program& program) {
  auto ended = [&program](std::exception_ptr, absl::Status status) {
    program.is_validating = false;
    program.status.Update(status);
  };
  const LoopExecutor executor{&program.queue, program.wake.fd};
  asio::co_spawn(executor,
                 Validate(program.validation.get(), &program.validated),
                 std::move(ended));
}

void OnReady(Program& program, int fd) {
  const absl::Status taken = Train(*program.train, &program.trained);
  if (taken.ok()) return;
  epoll_ctl(program.loop.fd, EPOLL_CTL_DEL, fd, nullptr);
  program.is_training = false;
  if (!absl::IsOutOfRange(taken)) program.status.Update(taken);
}

// Runs what the executor has queued.
void OnWake(Program& program) {
  eventfd_t count;
  eventfd_read(program.wake.fd, &count);
  program.queue.restart();
  program.queue.poll();
}

void OnTimer(Program& program) {
  uint64_t count;
  if (read(program.timer.fd, &count, sizeof count) > 0) program.ticks += count;
}

void Loop(Program& program, int ready) {
  for (const int fd : {ready, program.wake.fd, program.timer.fd}) {
    Watch(program, fd);
  }
  while (program.is_training || program.is_validating || program.ticks == 0) {
    epoll_event event;
    if (epoll_wait(program.loop.fd, &event, 1, -1) != 1) continue;
    if (event.data.fd == ready) OnReady(program, ready);
    if (event.data.fd == program.wake.fd) OnWake(program);
    if (event.data.fd == program.timer.fd) OnTimer(program);
  }
}

absl::Status Run(const std::string& store) {
  absl::Status written = examples::WriteStore(store);
  if (!written.ok()) return written;
  auto train = examples::OpenLoader(store, 200);
  if (!train.ok()) return train.status();
  auto validation = examples::OpenLoader(store, 50);
  if (!validation.ok()) return validation.status();
  Program program;
  program.train = *std::move(train);
  program.validation = *std::move(validation);
  auto ready = program.train->ReadyFd();
  if (!ready.ok()) return ready.status();

  const itimerspec each_ms = {{0, 1'000'000}, {0, 1'000'000}};
  timerfd_settime(program.timer.fd, 0, &each_ms, nullptr);
  StartValidation(program);
  Loop(program, *ready);
  std::cout << program.trained << " batches by the descriptor, "
            << program.validated << " in a coroutine, and the timer fired\n";
  return program.status;
}

}  // namespace

int main() { return examples::RunWithStore("epoll_loop", Run); }
