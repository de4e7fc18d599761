// SPDX-License-Identifier: Apache-2.0
// A loop of libuv, on one thread, serves a timer, a loader by its descriptor,
// and callbacks that receive the batches of a second loader.
// docs/consuming.md explains it.

#include <poniente/poniente.h>
#include <uv.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

#include "number_loader.h"

namespace {

namespace asio = boost::asio;

// Runs functions on the thread of a loop: queues them and wakes the loop.
struct UvExecutor {
  void execute(auto function) const {
    asio::post(*queue, std::move(function));
    uv_async_send(wake);
  }
  asio::io_context& query(asio::execution::context_t) const noexcept {
    return *queue;
  }
  static constexpr auto query(asio::execution::blocking_t) noexcept {
    return asio::execution::blocking.never;
  }
  bool operator==(const UvExecutor&) const noexcept = default;

  asio::io_context* queue;
  uv_async_t* wake;
};

// All that the callbacks use, on the thread of the loop.
struct Program {
  std::unique_ptr<poniente::Loader> train, validation;
  uint64_t trained = 0, validated = 0, ticks = 0;
  absl::Status status;
  uv_loop_t loop;
  uv_poll_t ready;
  uv_timer_t timer;
  uv_async_t wake;
  asio::io_context queue;
};

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

void OnReady(uv_poll_t* ready, int, int) {
  Program& program = *static_cast<Program*>(ready->data);
  const absl::Status taken = Train(*program.train, &program.trained);
  if (taken.ok()) return;
  uv_close(reinterpret_cast<uv_handle_t*>(ready), nullptr);
  if (!absl::IsOutOfRange(taken)) program.status.Update(taken);
}

// Runs what the executor has queued.
void OnWake(uv_async_t* wake) {
  Program& program = *static_cast<Program*>(wake->data);
  program.queue.restart();
  program.queue.poll();
}

void OnTimer(uv_timer_t* timer) {
  ++static_cast<Program*>(timer->data)->ticks;
  uv_close(reinterpret_cast<uv_handle_t*>(timer), nullptr);
}

void Validate(Program& program) {
  auto handler = [&program](absl::StatusOr<poniente::Batch> batch) {
    if (batch.ok()) {
      ++program.validated;
      return Validate(program);
    }
    if (!absl::IsOutOfRange(batch.status())) {
      program.status.Update(batch.status());
    }
    program.validation.reset();  // its thread may still use `wake`
    uv_close(reinterpret_cast<uv_handle_t*>(&program.wake), nullptr);
  };
  const UvExecutor executor{&program.queue, &program.wake};
  poniente::async_next(*program.validation,
                       asio::bind_executor(executor, std::move(handler)));
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
  auto fd = program.train->ReadyFd();
  if (!fd.ok()) return fd.status();

  uv_loop_init(&program.loop);
  uv_async_init(&program.loop, &program.wake, OnWake);
  program.wake.data = &program;
  Validate(program);
  uv_timer_init(&program.loop, &program.timer);
  program.timer.data = &program;
  uv_timer_start(&program.timer, OnTimer, 1, 0);
  uv_poll_init(&program.loop, &program.ready, *fd);
  program.ready.data = &program;
  uv_poll_start(&program.ready, UV_READABLE, OnReady);

  uv_run(&program.loop, UV_RUN_DEFAULT);  // until all handles are closed
  uv_loop_close(&program.loop);
  std::cout << program.trained << " batches by the descriptor, "
            << program.validated << " in callbacks, and the timer fired\n";
  return program.status;
}

}  // namespace

int main() { return examples::RunWithStore("libuv_loop", Run); }
