// SPDX-License-Identifier: Apache-2.0
// A checkpoint file: a head, the loader's state, which is text, and the arrays
// of State as they lie in memory.
#include "checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "absl/strings/str_format.h"

namespace example {
namespace {

struct Head {
  uint64_t magic = 0x0a344e4941525450;  // "PTRAIN4\n"
  uint64_t shape[4] = {0, kContext, kEmbedding, kHidden};
  uint64_t sources = 0;
  uint64_t loader_bytes = 0;
  uint64_t checksum = 0;  // of all that follows
};

uint64_t Checksum(const std::string& loader_state, State* state) {
  uint64_t checksum = Hash(std::span(loader_state));
  for (const std::span<std::byte> array : state->Arrays()) {
    checksum = Hash(
        std::span(reinterpret_cast<const uint8_t*>(array.data()), array.size()),
        checksum);
  }
  return checksum;
}

absl::Status WriteAll(const std::string& path, const Head& head,
                      const std::string& loader_state, State* state) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return FileError("cannot create", path);
  const auto write = [file](const void* data, size_t size) {
    return std::fwrite(data, 1, size, file) == size;
  };
  bool written = write(&head, sizeof(head)) &&
                 write(loader_state.data(), loader_state.size());
  for (const std::span<std::byte> array : state->Arrays()) {
    written = written && write(array.data(), array.size());
  }
  written = written && std::fflush(file) == 0 && fsync(fileno(file)) == 0;
  const absl::Status status = FileError("cannot write", path);
  std::fclose(file);
  return written ? absl::OkStatus() : status;
}

// Takes `bytes` apart; gives the loader's part, or what is wrong with them.
absl::StatusOr<std::string> Parse(const std::string& bytes, State* state) {
  Head head, here;
  here.shape[0] = state->vocabulary;
  if (bytes.size() >= sizeof(head)) {
    std::memcpy(&head, bytes.data(), sizeof(head));
  }
  if (bytes.size() < sizeof(head) || head.magic != here.magic) {
    return absl::DataLossError("was not written by this program");
  }
  if (!std::ranges::equal(head.shape, here.shape)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "holds a model of another shape: vocabulary %d, context %d, embedding "
        "%d, hidden %d",
        head.shape[0], head.shape[1], head.shape[2], head.shape[3]));
  }
  size_t at = sizeof(head);
  const auto left = [&] { return bytes.size() - at; };
  const absl::Status cut_short = absl::DataLossError("has been cut short");
  if (left() < head.loader_bytes) return cut_short;
  const std::string loader_state = bytes.substr(at, head.loader_bytes);
  at += head.loader_bytes;
  // The run may have got sources since, which are numbered behind the others.
  const size_t sources = state->sources();
  if (head.sources > sources) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "is of a run of %d sources, not %d", head.sources, sources));
  }
  state->Resize(head.sources);
  for (const std::span<std::byte> array : state->Arrays()) {
    if (left() < array.size()) return cut_short;
    std::memcpy(array.data(), bytes.data() + at, array.size());
    at += array.size();
  }
  if (Checksum(loader_state, state) != head.checksum) {
    return absl::DataLossError("is damaged");
  }
  state->Resize(sources);
  return loader_state;
}

absl::Status Refuse(const std::string& path, const absl::Status& reason) {
  return absl::Status(
      reason.code(),
      absl::StrFormat("checkpoint '%s' %s; go back to what it was made with, "
                      "or begin anew with another file",
                      path, reason.message()));
}

}  // namespace

absl::Status FileError(const char* what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrFormat("%s '%s'", what, path));
}

absl::Status Save(const std::string& path, const poniente::Loader& loader,
                  State* state) {
  const std::string loader_state = loader.State();
  Head head;
  head.shape[0] = state->vocabulary;
  head.sources = state->sources();
  head.loader_bytes = loader_state.size();
  head.checksum = Checksum(loader_state, state);
  const std::string temporary = path + ".tmp";
  absl::Status written = WriteAll(temporary, head, loader_state, state);
  if (!written.ok()) return written;
  if (std::rename(temporary.c_str(), path.c_str()) == 0) {
    return absl::OkStatus();
  }
  return FileError("cannot replace", path);
}

absl::Status Restore(const std::string& path, poniente::Loader* loader,
                     State* state) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::OkStatus();
  if (!std::filesystem::is_regular_file(path, error)) {
    return Refuse(path, absl::FailedPreconditionError("is not a file"));
  }
  std::ifstream file(path, std::ios::binary);
  const uintmax_t size = std::filesystem::file_size(path, error);
  std::string bytes(error ? 0 : size, '\0');
  if (error || !file.read(bytes.data(), static_cast<std::streamsize>(size))) {
    return FileError("cannot read", path);
  }
  const absl::StatusOr<std::string> loader_state = Parse(bytes, state);
  if (!loader_state.ok()) return Refuse(path, loader_state.status());
  const absl::Status resumed = loader->Resume(*loader_state);
  if (resumed.ok()) return resumed;
  return Refuse(path, absl::Status(resumed.code(),
                                   absl::StrFormat("belongs to other data: %s",
                                                   resumed.message())));
}

}  // namespace example
