// SPDX-License-Identifier: Apache-2.0
// A dataset whose items come from a server, through a Unix socket. The program
// starts the server on a thread of its own, reads all items through a loader,
// and compares them with what they should be. docs/own_dataset.md explains it.

#include <poniente/poniente.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace {

namespace asio = boost::asio;
using asio::local::stream_protocol;
using poniente::Index;
using poniente::ItemPiece;
using poniente::LengthState;
using poniente::PieceOfItem;
using poniente::Position;
using poniente::Task;
using poniente::TokenWindow;

// A request is 64-bit numbers: what is asked for, how many numbers follow, and
// these numbers.
//   kRead, n, item...  The answer is n items of kItemTokens 32-bit ids.
//   kWait, 1, length   The answer comes when the server has so many items, or
//                      when it will get no more: the number of items, and 1 if
//                      it is final.
enum Question : uint64_t { kRead, kWait };

// The server's documents lie end to end, and are cut into items.
constexpr uint32_t kItemTokens = 16;
constexpr uint64_t kItemBytes = kItemTokens * sizeof(uint32_t);
constexpr uint64_t kDocumentTokens = 10;

class SocketDataset final : public poniente::AsyncDataset<TokenWindow>,
                            public poniente::PiecewiseItems {
 public:
  SocketDataset(std::string path, uint64_t fingerprint)
      : path_(std::move(path)), fingerprint_(fingerprint) {}

  std::string name() const override { return path_; }
  uint64_t fingerprint() const override { return fingerprint_; }
  const poniente::Vocabulary* vocabulary() const override {
    return &vocabulary_;
  }
  uint32_t item_tokens() const override { return kItemTokens; }

  LengthState length_now() const override {
    std::lock_guard lock(mu_);
    return length_;
  }

  Task<uint64_t> WaitForLength(uint64_t n) const override {
    while (true) {
      const LengthState now = length_now();
      if (now.is_final || now.readable >= n) co_return now.readable;
      std::vector<uint64_t> request = {kWait, 1, n};
      absl::StatusOr<std::vector<char>> answer =
          co_await Ask(std::move(request), 2 * sizeof(uint64_t));
      if (!answer.ok()) co_return answer.status();
      uint64_t numbers[2];
      std::memcpy(numbers, answer->data(), sizeof numbers);
      std::lock_guard lock(mu_);
      // Answers to several calls may come in any order.
      length_.readable = std::max(length_.readable, numbers[0]);
      length_.is_final |= numbers[1] == 1;
    }
  }

  Task<std::vector<TokenWindow>> GetBatch(
      std::span<const Index> indices) const override {
    if (indices.empty()) co_return std::vector<TokenWindow>();
    const Index last = *std::max_element(indices.begin(), indices.end());
    absl::StatusOr<uint64_t> readable =
        co_await WaitForLength(last == UINT64_MAX ? last : last + 1);
    if (!readable.ok()) co_return readable.status();
    if (*readable <= last) co_return NoSuch("item", last);
    std::vector<uint64_t> request = {kRead, indices.size()};
    request.insert(request.end(), indices.begin(), indices.end());
    absl::StatusOr<std::vector<char>> answer =
        co_await Ask(std::move(request), indices.size() * kItemBytes);
    if (!answer.ok()) co_return answer.status();
    absl::StatusOr<std::vector<TokenWindow>> items =
        co_await DecodeOnPool(*std::move(answer));
    co_return items;
  }

  absl::StatusOr<std::vector<ItemPiece>> Pieces(
      const Position& position) const override {
    if (position.index >= length_now().readable) {
      return NoSuch("item", position.index);
    }
    uint64_t begin = position.index * kItemTokens + position.part_begin;
    const uint64_t end = begin + std::min(position.part_length, kItemTokens);
    std::vector<ItemPiece> pieces;
    while (begin < end) {
      const uint64_t document = begin / kDocumentTokens;
      const uint64_t next = std::min(end, (document + 1) * kDocumentTokens);
      pieces.push_back({.document = document, .begin = begin, .end = next});
      begin = next;
    }
    return pieces;
  }

  bool HasPiecesInMemory(const Position&) const override { return true; }

  absl::StatusOr<std::vector<PieceOfItem>> ItemsOf(
      uint64_t document) const override {
    const uint64_t tokens = length_now().readable * kItemTokens;
    if (document >= (tokens + kDocumentTokens - 1) / kDocumentTokens) {
      return NoSuch("document", document);
    }
    uint64_t begin = document * kDocumentTokens;
    const uint64_t end = std::min(tokens, begin + kDocumentTokens);
    std::vector<PieceOfItem> pieces;
    while (begin < end) {
      const uint64_t item = begin / kItemTokens;
      const auto item_begin = static_cast<uint32_t>(begin % kItemTokens);
      const uint64_t next = std::min(end, (item + 1) * kItemTokens);
      pieces.push_back({item, item_begin, begin, next});
      begin = next;
    }
    return pieces;
  }

 private:
  // Sends a request on a connection of its own, and returns the answer.
  Task<std::vector<char>> Ask(std::vector<uint64_t> request,
                              size_t answer_bytes) const {
    const auto executor = co_await asio::this_coro::executor;
    stream_protocol::socket socket(executor);
    std::vector<char> answer(answer_bytes);
    boost::system::error_code error;
    auto token = asio::redirect_error(asio::use_awaitable, error);
    const stream_protocol::endpoint server(path_);
    co_await socket.async_connect(server, token);
    if (!error) {
      co_await asio::async_write(socket, asio::buffer(request), token);
    }
    if (!error) co_await asio::async_read(socket, asio::buffer(answer), token);
    if (error == asio::error::operation_aborted) {
      co_return absl::CancelledError("cancelled by the caller");
    }
    if (error) {
      co_return absl::UnavailableError(
          absl::StrCat("cannot read from '", path_, "': ", error.message(),
                       "; is the server running?"));
    }
    co_return answer;
  }

  Task<std::vector<TokenWindow>> DecodeOnPool(std::vector<char> bytes) const {
    // A slot without a signal: work that blocks cannot be cancelled.
    auto token = asio::bind_cancellation_slot(asio::cancellation_slot(),
                                              asio::use_awaitable);
    absl::StatusOr<std::vector<TokenWindow>> items =
        co_await asio::co_spawn(pool_, Decode(std::move(bytes)), token);
    co_return items;
  }

  // Runs on the pool, where it may block.
  static Task<std::vector<TokenWindow>> Decode(std::vector<char> bytes) {
    std::vector<TokenWindow> items(bytes.size() / kItemBytes);
    for (size_t i = 0; i < items.size(); ++i) {
      items[i].tokens.resize(kItemTokens);
      std::memcpy(items[i].tokens.data(), &bytes[i * kItemBytes], kItemBytes);
    }
    co_return items;
  }

  absl::Status NoSuch(const char* what, uint64_t number) const {
    return absl::OutOfRangeError(absl::StrCat("'", path_, "' has no ", what,
                                              " ", number, "; it has ",
                                              length_now().readable, " items"));
  }

  const std::string path_;
  const uint64_t fingerprint_;
  const poniente::Vocabulary vocabulary_ = {.tokenizer = "example", .size = 97};
  mutable std::mutex mu_;
  mutable LengthState length_;  // guarded by mu_
  mutable asio::thread_pool pool_{2};
};

constexpr uint64_t kItems = 70;

uint32_t TokenAt(uint64_t token) { return token * token % 97; }

// Answers requests, one per connection, until it is destroyed. Begins with 20
// items, and gets 20 more, or the last ones, when somebody waits for them.
class Server {
 public:
  explicit Server(std::string path)
      : path_(std::move(path)),
        acceptor_(context_, stream_protocol::endpoint(path_)),
        thread_([this] { Run(); }) {}
  ~Server() {
    shutdown(acceptor_.native_handle(), SHUT_RDWR);
    thread_.join();
    std::filesystem::remove(path_);
  }

 private:
  void Run() {
    boost::system::error_code error;
    while (true) {
      stream_protocol::socket client(context_);
      acceptor_.accept(client, error);
      if (error) return;
      Answer(client, error);
    }
  }

  void Answer(stream_protocol::socket& client,
              boost::system::error_code& error) {
    uint64_t head[2] = {};
    asio::read(client, asio::buffer(head), error);
    if (error) return;
    std::vector<uint64_t> numbers(head[1]);
    asio::read(client, asio::buffer(numbers), error);
    if (error) return;
    if (head[0] == kWait) {
      while (items_ < std::min(numbers[0], kItems)) {
        items_ = std::min(items_ + 20, kItems);
      }
      const uint64_t length[2] = {items_, items_ == kItems};
      asio::write(client, asio::buffer(length), error);
      return;
    }
    std::vector<uint32_t> ids;
    for (const uint64_t item : numbers) {
      for (uint32_t t = 0; t < kItemTokens; ++t) {
        ids.push_back(TokenAt(item * kItemTokens + t));
      }
    }
    asio::write(client, asio::buffer(ids), error);
  }

  const std::string path_;
  uint64_t items_ = 20;
  asio::io_context context_{1};
  stream_protocol::acceptor acceptor_;
  std::thread thread_;
};

// Returns whether the samples of a batch hold the items that they should.
bool IsAsExpected(const poniente::Batch& batch) {
  for (size_t i = 0; i < batch.num_samples(); ++i) {
    const uint64_t first = batch.provenance(i).item * kItemTokens;
    for (uint32_t t = 0; t < kItemTokens; ++t) {
      const uint64_t document =
          (first + t) / kDocumentTokens - first / kDocumentTokens;
      const auto id =
          static_cast<uint64_t>(batch.document_ids()[i * kItemTokens + t]);
      if (batch.tokens<uint32_t>(i)[t] != TokenAt(first + t)) return false;
      if (id != document) return false;
    }
  }
  return true;
}

absl::Status ReadAll(const std::string& path) {
  const Server server(path);
  auto root = poniente::EraShuffle<TokenWindow>(
      std::make_shared<SocketDataset>(path, /*fingerprint=*/1),
      /*era_items=*/16, /*seed=*/7);
  if (!root.ok()) return root.status();
  auto schedule =
      poniente::Schedule::Create({.batch_size = 8, .seq_len = kItemTokens});
  if (!schedule.ok()) return schedule.status();
  auto loader = poniente::Loader::Create(
      *root, *schedule, {.tensors = {poniente::BatchTensor::kDocumentIds}});
  if (!loader.ok()) return loader.status();

  std::vector<bool> seen(kItems);
  for (const auto& batch : poniente::Batches(**loader)) {
    if (!batch.ok()) return batch.status();
    if (!IsAsExpected(*batch)) return absl::DataLossError("other tokens");
    for (size_t i = 0; i < batch->num_samples(); ++i) {
      seen[batch->provenance(i).item] = true;
    }
  }
  const auto read = std::count(seen.begin(), seen.end(), true);
  std::cout << read << " items in " << (*loader)->next_step() << " steps\n";
  return read == kItems ? absl::OkStatus()
                        : absl::DataLossError("some items were not read");
}

}  // namespace

int main() {
  const auto path = std::filesystem::temp_directory_path() /
                    ("poniente." + std::to_string(getpid()) + ".socket");
  std::filesystem::remove(path);  // of a process that was killed
  const absl::Status status = ReadAll(path.string());
  if (status.ok()) return 0;
  std::cerr << "socket_dataset: " << status.message() << '\n';
  return 1;
}
