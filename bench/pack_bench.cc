// SPDX-License-Identifier: Apache-2.0
// `poniente pack` beside plain loops over the same data.
//
//   pack_bench FOLDER [--mib M] [--rounds N]
//
// Makes a text of M MiB (default 512) in FOLDER, the same as JSONL, and that
// compressed, by `gzip` and `zstd`, in one file and in 8; the page cache holds
// them. Words are Zipf-distributed, so that the text is compressed to about a
// third. Every case runs once in each of N (default 5) rounds:
//   plain          one thread: read 1 MiB, CRC32C (the library's), write, and
//                  one fsync at the end. The bar for one thread of pack.
//   plain, twice   the same, but each piece is checksummed and written twice:
//                  as many bytes as a store of 2-byte ids has
//   disk           as many bytes as that store has, written past the page cache
//                  by 16 threads, 1 MiB each time, and fsync: what the disk
//                  allows any number of threads
//   bytes ...      pack of the text, 257 ids of 2 bytes each; so large a store
//                  goes past the page cache, too, written by 16 threads that
//                  wait for the disk
//   cached ...     the same with --direct off: no other threads
//   u8 ...         pack --eod none of the text: 256 ids of 1 byte
//   jsonl ...      pack of the JSONL, to 2 bytes
//   gzip -d        `gzip -dc FILE > COPY`, where both are in the page cache;
//   the
//                  same with zstd
//   gz ...         pack of the same file, 2 bytes for each of the text; "zst"
//                  the same; "gz of 8" has it in 8 files
// Cases of pack are processes, their start counted. Medians; ratios are medians
// of those of each round. CPU is of all threads.

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "bench/measure/cpu_seconds.h"
#include "bench/measure/flags.h"
#include "bench/measure/require.h"
#include "bench/measure/statistics.h"
#include "util/crc32c.h"

extern char** environ;

namespace poniente::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kPiece = size_t{1} << 20;

void RequireThat(bool good, const std::string& what) {
  if (!good) Require(absl::ErrnoToStatus(errno, what));
}

double Seconds(const std::function<void()>& run) {
  const Clock::time_point start = Clock::now();
  run();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Words by rank; their letters are as uneven as those of a language.
std::vector<std::string> Words(std::mt19937_64* random) {
  constexpr int kWords = 50'000;
  constexpr std::string_view kLetters =
      "eeeeeeeeeeeetttttttttaaaaaaaaoooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrr"
      "ddddllllcccuuummmwwffggyyppbbvk";
  std::vector<std::string> words(kWords);
  for (size_t rank = 0; rank < words.size(); ++rank) {
    const size_t letters = 1 + (rank > 20 ? 2 : 0) + (*random)() % 7;
    while (words[rank].size() < letters) {
      words[rank] += kLetters[(*random)() % kLetters.size()];
    }
  }
  return words;
}

// Lines of words, and blank lines; the same words every time.
void MakeInputs(const std::string& text_path, const std::string& jsonl_path,
                uint64_t bytes) {
  std::mt19937_64 random(1);
  const std::vector<std::string> words = Words(&random);
  const double log_words = std::log(static_cast<double>(words.size()));
  std::uniform_real_distribution<double> uniform(0, log_words);
  std::ofstream text(text_path, std::ios::binary);
  std::ofstream jsonl(jsonl_path, std::ios::binary);
  for (uint64_t made = 0; made < bytes;) {
    std::string document;
    std::string escaped;
    const size_t letters = 200 + random() % 8000;
    for (int word = 1; document.size() < letters; ++word) {
      const std::string& next =
          words[static_cast<size_t>(std::exp(uniform(random))) - 1];
      const bool is_last_of_line = word % 60 == 0;
      document += next + (is_last_of_line ? "\n" : " ");
      escaped += next + (is_last_of_line ? "\\n" : " ");
    }
    made += document.size() + 2;
    text << document << "\n\n";
    jsonl << "{\"id\": " << made << ", \"text\": \"" << escaped << "\\n\"}\n";
  }
  RequireThat(text.flush().good() && jsonl.flush().good(), text_path);
}

void WriteAll(int fd, std::span<const char> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    RequireThat(written > 0, "write");
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

int Make(const std::string& path, int flags = 0) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | flags, 0666);
  RequireThat(fd >= 0, path);
  return fd;
}

void PlainLoop(const std::string& from, const std::string& to, int times) {
  const int in = ::open(from.c_str(), O_RDONLY);
  RequireThat(in >= 0, from);
  const int out = Make(to);
  alignas(4096) static char buffer[kPiece];
  uint32_t checksum = 0;
  while (true) {
    const ssize_t got = ::read(in, buffer, sizeof buffer);
    RequireThat(got >= 0, from);
    if (got == 0) break;
    const auto piece = std::span(buffer).first(static_cast<size_t>(got));
    for (int i = 0; i < times; ++i) {
      checksum = internal::ExtendCrc32c(checksum, std::as_bytes(piece));
      WriteAll(out, piece);
    }
  }
  asm volatile("" : : "r"(checksum));
  RequireThat(::fsync(out) == 0, to);
  ::close(in);
  ::close(out);
}

// Of `bytes` bytes, whole MiB.
void WriteDirectly(const std::string& to, uint64_t bytes) {
  constexpr uint64_t kThreads = 16;
  alignas(4096) static const char buffer[kPiece] = {'x'};
  const int out = Make(to, O_DIRECT);
  const uint64_t pieces = bytes / kPiece;
  RequireThat(
      ::posix_fallocate(out, 0, static_cast<off_t>(pieces * kPiece)) == 0, to);
  std::vector<std::thread> threads;
  for (uint64_t first = 0; first < kThreads; ++first) {
    threads.emplace_back([=] {
      for (uint64_t piece = first; piece < pieces; piece += kThreads) {
        RequireThat(::pwrite(out, buffer, kPiece,
                             static_cast<off_t>(piece * kPiece)) == kPiece,
                    to);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  RequireThat(::fsync(out) == 0, to);
  ::close(out);
}

void RunCommand(std::vector<std::string> arguments) {
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  pid_t child = 0;
  RequireThat(::posix_spawnp(&child, words[0], nullptr, nullptr, words.data(),
                             environ) == 0,
              arguments[0]);
  int status = 0;
  RequireThat(::waitpid(child, &status, 0) == child, "wait");
  if (status != 0) {
    Require(absl::InternalError(absl::StrJoin(arguments, " ") + " failed"));
  }
}

void RunShell(const std::string& command) { RunCommand({"sh", "-c", command}); }

class PackBench {
 public:
  explicit PackBench(std::string folder) : folder_(std::move(folder)) {}

  void MakeCases(uint64_t bytes);
  void Run(int rounds);
  void Print() const;

 private:
  struct Case {
    std::string name;
    double read_mb;
    double written_mb;
    std::function<void()> run;
    std::vector<double> seconds = {};
    std::vector<double> cpu = {};
  };

  // Of `read` bytes of input, `times` as many are written.
  void Add(const std::string& name, uint64_t read, int times,
           std::function<void()> run) {
    const double megabytes = static_cast<double>(read) * 1e-6;
    cases_.push_back({name, megabytes, megabytes * times, std::move(run)});
  }
  // `bytes`: of the text, if the input is compressed.
  void AddPack(const std::string& name, const std::string& input, int threads,
               int times, std::vector<std::string> options, uint64_t bytes = 0);
  void AddCompressed(const std::string& program, const std::string& ending,
                     const std::string& jsonl);
  const Case& Find(const std::string& name) const {
    for (const Case& one : cases_) {
      if (one.name == name) return one;
    }
    Require(absl::NotFoundError(name));
    return cases_[0];
  }
  // How many times as fast as another; if that is too little, whether the disk
  // would take more.
  void PrintRatio(const std::string& name, const std::string& beside,
                  double bar) const;
  std::string At(const std::string& name) const { return folder_ + "/" + name; }

  const std::string folder_;
  std::vector<Case> cases_;
};

void PackBench::AddPack(const std::string& name, const std::string& input,
                        int threads, int times,
                        std::vector<std::string> options, uint64_t bytes) {
  const std::string out = At("store");
  options.insert(options.begin(),
                 {PONIENTE_TOOL, "pack", input, "--out", out, "--quiet",
                  "--threads", absl::StrCat(threads)});
  if (bytes == 0) bytes = std::filesystem::file_size(input);
  Add(name, bytes, times, [options, out] {
    RunCommand(options);
    std::filesystem::remove_all(out);
  });
}

void PackBench::AddCompressed(const std::string& program,
                              const std::string& ending,
                              const std::string& jsonl) {
  const std::string file = jsonl + "." + ending;
  const std::string folder = At("8." + ending);
  if (!std::filesystem::exists(folder)) {
    std::filesystem::create_directories(folder + ".part");
    RunShell(program + " -c " + jsonl + " > " + file);
    // Whole lines, in the same order.
    RunShell("split -n l/8 -d --additional-suffix=.jsonl --filter='" + program +
             " -c > $FILE." + ending + "' " + jsonl + " " + folder + ".part/");
    std::filesystem::rename(folder + ".part", folder);
  }
  const uint64_t size = std::filesystem::file_size(jsonl);
  const std::string copy = At("copy");
  Add(program + " -d", size, 1, [=] {
    RunShell(program + " -dc " + file + " > " + copy);
    std::filesystem::remove(copy);
  });
  AddPack(ending + ", 1 thread", file, 1, 2, {}, size);
  AddPack(ending + ", 2 threads", file, 2, 2, {}, size);
  AddPack(ending + " of 8, 2 threads", folder, 2, 2, {}, size);
}

void PackBench::MakeCases(uint64_t bytes) {
  std::filesystem::create_directories(folder_);
  const std::string text = At("text");
  const std::string jsonl = At("text.jsonl");
  if (!std::filesystem::exists(jsonl) ||
      std::filesystem::file_size(text) < bytes) {
    std::filesystem::remove_all(At("8.gz"));
    std::filesystem::remove_all(At("8.zst"));
    MakeInputs(text, jsonl, bytes);
  }
  const uint64_t size = std::filesystem::file_size(text);
  const std::string copy = At("copy");
  const auto loop = [=](int times) {
    return [=] {
      PlainLoop(text, copy, times);
      std::filesystem::remove(copy);
    };
  };
  Add("plain", size, 1, loop(1));
  AddPack("u8, 1 thread", text, 1, 1, {"--eod", "none"});
  AddPack("u8, 2 threads", text, 2, 1, {"--eod", "none"});
  Add("disk", size, 2, [=] {
    WriteDirectly(copy, 2 * size);
    std::filesystem::remove(copy);
  });
  AddPack("bytes, 1 thread", text, 1, 2, {});
  AddPack("bytes, 2 threads", text, 2, 2, {});
  AddPack("cached, 1 thread", text, 1, 2, {"--direct", "off"});
  Add("plain, twice", size, 2, loop(2));
  AddPack("jsonl, 1 thread", jsonl, 1, 2, {});
  AddPack("jsonl, 2 threads", jsonl, 2, 2, {});
  AddCompressed("gzip", "gz", jsonl);
  AddCompressed("zstd", "zst", jsonl);
}

void PackBench::Run(int rounds) {
  PlainLoop(At("text"), At("copy"), 1);  // brings it into the page cache
  PlainLoop(At("text.jsonl"), At("copy"), 1);
  ::sync();
  for (int round = 0; round < rounds; ++round) {
    for (Case& one : cases_) {
      // A virtual machine may hand free pages back to its host, and waits for
      // each again when it is written to: the run before takes that on itself.
      one.run();
      const double before = CpuSeconds() + CpuSeconds(RUSAGE_CHILDREN);
      one.seconds.push_back(Seconds(one.run));
      one.cpu.push_back(CpuSeconds() + CpuSeconds(RUSAGE_CHILDREN) - before);
    }
  }
}

void PackBench::PrintRatio(const std::string& name, const std::string& beside,
                           double bar) const {
  const Case& one = Find(name);
  const Case& other = Find(beside);
  const Case& disk = Find("disk");
  std::vector<double> ratios;
  std::vector<double> of_disk;
  std::vector<double> other_of_disk;
  for (size_t i = 0; i < one.seconds.size(); ++i) {
    ratios.push_back(other.seconds[i] / one.seconds[i]);
    const double disk_mb = disk.written_mb / disk.seconds[i];
    of_disk.push_back(one.written_mb / one.seconds[i] / disk_mb);
    other_of_disk.push_back(other.written_mb / other.seconds[i] / disk_mb);
  }
  const bool good = Median(ratios) >= bar;
  std::printf("%-18s / %-18s %6.2f   at least %.1f: %s", name.c_str(),
              beside.c_str(), Median(ratios), bar, good ? "ok" : "MISSED");
  if (!good) {
    std::printf(
        "; they write %.2f and %.2f of what the disk takes, %.1f would "
        "be %.2f",
        Median(of_disk), Median(other_of_disk), bar,
        bar * Median(other_of_disk));
  }
  std::printf("\n");
}

void PackBench::Print() const {
  std::printf("%-18s %10s %12s %8s %10s\n", "", "MB/s read", "MB/s written",
              "spread", "CPU s/GB");
  for (const Case& one : cases_) {
    const double seconds = Median(one.seconds);
    std::printf("%-18s %10.0f %12.0f %7.0f%% %10.2f\n", one.name.c_str(),
                one.read_mb / seconds, one.written_mb / seconds,
                100 * Spread(one.seconds),
                Median(one.cpu) / one.read_mb * 1000);
  }
  std::printf("\n");
  PrintRatio("bytes, 1 thread", "plain", 0.5);
  PrintRatio("bytes, 1 thread", "plain, twice", 0.5);
  PrintRatio("cached, 1 thread", "plain", 0.5);
  PrintRatio("u8, 1 thread", "plain", 0.5);
  PrintRatio("bytes, 2 threads", "bytes, 1 thread", 1.6);
  PrintRatio("u8, 2 threads", "u8, 1 thread", 1.6);
  PrintRatio("jsonl, 2 threads", "jsonl, 1 thread", 1.6);
  PrintRatio("gz, 2 threads", "gzip -d", 0.8);
  PrintRatio("gz of 8, 2 threads", "gzip -d", 0.8);
  PrintRatio("zst, 2 threads", "zstd -d", 0.8);
  PrintRatio("zst of 8, 2 threads", "zstd -d", 0.8);
}

int Main(int argc, char** argv) {
  double mib = 512;
  double rounds = 5;
  if (argc < 2 || argv[1][0] == '-' ||
      !ParseNumbers(argc, argv, 2, {{"--mib", &mib}, {"--rounds", &rounds}})) {
    std::fprintf(stderr, "usage: pack_bench FOLDER [--mib M] [--rounds N]\n");
    return 2;
  }
  PackBench bench(argv[1]);
  bench.MakeCases(static_cast<uint64_t>(mib * (1 << 20)));
  bench.Run(std::max(1, static_cast<int>(rounds)));
  bench.Print();
  return 0;
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
