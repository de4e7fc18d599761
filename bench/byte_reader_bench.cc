// SPDX-License-Identifier: Apache-2.0
// Random reads by the library beside plain readers and fio.
//
//   byte_reader_bench FOLDER [--rounds N] [--seconds S] [--half-batches M]
//                     [--size-mib M] [--only 'CASE;CASE...']
//
// Makes FOLDER/random-8192MiB.bin (--size-mib) of random bytes and CRC32C of
// its blocks of 64 KiB, both kept for the next run. Cases read batches of 64
// random windows of 8 KiB into slots of page-aligned memory, in N interleaved
// rounds (default 5). After 256 batches that do not count, a case reads for S
// seconds (default 2) or to the end of the file, no window twice, in one
// thread, and with four batches in flight (the loader's default) where it can.
// Before each case the page cache is brought into its state:
//   cold  nothing of the file is cached (fadvise(DONTNEED), which needs no
//         rights)
//   half  then, a random half of what the case will read has been read; it ends
//         after M batches (default 1536) at the latest
//   hot   all of the file is cached, or as much of its start as memory holds
// The cases:
//   fio ...           one job that keeps 64 reads in flight (or 256), in a
//                     random order of its own over the whole file
//   pread loop        one pread per window; ratios in the table are to this
//   pread pool        the same by 8 threads: no other case has more than one
//   raw ring ...      io_uring by hand, with registered file and slots
//   memcpy            from a mapping, all of it in the page tables
//   buffered, direct, mmap, pread
//                     ReadBatch() by this backend
//   auto              ReadBatch() by what the reader chooses; it is told to
//                     count on no page cache, as in front of a larger store
//   auto, store fits  the same, but not told so
//   ..., k=1          one batch in flight
//   ..., 2nd pass     after all of the file instead of 256 batches
//   verify ...        every window of a cached copy of the first 512 MiB, once:
//                     `unseen` by a reader that verifies at first touch, the
//                     copy being new; `seen` by another one after it; `off`,
//                     to which the ratios are; `always`
// All other cases of the library verify at first touch as well, of blocks that
// have all been seen. The first batch of each is compared with plain preads.
//
// Printed are medians over the rounds, and spreads as (max - min) / median.
// Ratios are formed within a round. CPU is user and system time per read, of
// the process or of fio's job. `cached` is the share of the windows that were
// cached before the case. A missed bar is a result, not an error.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "bench/measure/flags.h"
#include "bench/measure/require.h"
#include "bench/readers/bench_file.h"
#include "bench/readers/comparison.h"
#include "bench/readers/library_reader.h"
#include "bench/readers/measure_reader.h"
#include "bench/readers/plain_readers.h"
#include "bench/readers/random_file.h"
#include "bench/readers/windows.h"

namespace poniente::bench {
namespace {

using WarmUp = BenchFile::WarmUp;

constexpr uint64_t kFullMib = 8192;
constexpr uint64_t kCopyBytes = uint64_t{512} << 20;
constexpr IoBackend kForced[] = {IoBackend::kBuffered, IoBackend::kDirect,
                                 IoBackend::kMmap, IoBackend::kPread};

std::string NameOf(IoBackend backend) {
  return std::string(IoBackendName(backend));
}

// A reader that is told not to count on any page cache.
ByteReaderOptions By(IoBackend backend) {
  ByteReaderOptions options;
  options.backend = backend;
  options.cache_bytes = 0;
  return options;
}

std::string Name(CacheState state, const std::string& what) {
  const char* const states[] = {"cold ", "half ", "hot "};
  return states[static_cast<int>(state)] + what;
}

// The cases of one state of the cache.
class StateCases {
 public:
  StateCases(CacheState state, BenchFile* file, Comparison* comparison)
      : state_(state), file_(*file), comparison_(*comparison) {}

  void Add(const std::string& what, OpenReader open,
           WarmUp warm_up = WarmUp::kSome) {
    AddMeasured(what, [state = state_, &file = file_, open = std::move(open),
                       warm_up] { return file.Measure(state, open, warm_up); });
  }

  void AddPlain() {
    const std::string path = file_.file().path;
    Add("pread loop", [path] { return OpenPreadLoop(path); });
    Add("pread pool", [path] { return OpenPreadPool(path); });
    Add("raw ring buffered", [path] { return OpenRawRing(path, false); });
  }

  void AddLibrary(const std::string& what, const ByteReaderOptions& options,
                  size_t in_flight = kInFlight,
                  WarmUp warm_up = WarmUp::kSome) {
    LibraryCase one;
    one.files = {file_.file()};
    one.options = options;
    one.layout.slots = in_flight;
    const OpenReader open = [one] { return LibraryReader::Open(one); };
    Add(what, open, warm_up);
  }

  void AddBackends() {
    for (const IoBackend backend : kForced) {
      AddLibrary(NameOf(backend), By(backend));
    }
    AddLibrary("auto", By(IoBackend::kAuto));
  }

  void AddFio(const std::string& what, bool direct, int depth = 64) {
    std::printf("%s: %s\n", Name(state_, what).c_str(),
                FioCommand(file_.JobFor(state_, direct, depth)).c_str());
    AddMeasured(what, [state = state_, &file = file_, direct, depth] {
      return file.MeasureFio(state, direct, depth);
    });
  }

 private:
  void AddMeasured(const std::string& what, Comparison::Measure measure) {
    comparison_.Add(Name(state_, what), Name(state_, "pread loop"),
                    std::move(measure));
  }

  const CacheState state_;
  BenchFile& file_;
  Comparison& comparison_;
};

void AddCold(BenchFile* file, Comparison* comparison) {
  StateCases cases(CacheState::kCold, file, comparison);
  const std::string path = file->file().path;
  cases.AddFio("fio direct", true);
  cases.AddFio("fio buffered", false);
  cases.AddFio("fio direct, depth 256", true, kInFlight * kBatch);
  cases.AddFio("fio buffered, depth 256", false, kInFlight * kBatch);
  cases.AddPlain();
  cases.Add("raw ring direct", [path] { return OpenRawRing(path, true); });
  cases.AddBackends();
  for (const IoBackend backend : {IoBackend::kBuffered, IoBackend::kDirect}) {
    cases.AddLibrary(NameOf(backend) + ", k=1", By(backend), 1);
  }
  cases.AddLibrary("auto, store fits", {});
}

void AddHalf(BenchFile* file, Comparison* comparison) {
  StateCases cases(CacheState::kHalf, file, comparison);
  cases.AddPlain();
  cases.AddBackends();
}

void AddHot(BenchFile* file, Comparison* comparison) {
  StateCases cases(CacheState::kHot, file, comparison);
  cases.AddFio("fio buffered", false);
  cases.AddPlain();
  cases.Add("memcpy", [path = file->file().path, bytes = file->hot_bytes()] {
    return OpenMappingCopy(path, bytes);
  });
  cases.AddBackends();
  for (const IoBackend backend : {IoBackend::kMmap, IoBackend::kAuto}) {
    cases.AddLibrary(NameOf(backend) + ", 2nd pass", By(backend), kInFlight,
                     WarmUp::kWholeFile);
  }
}

struct VerifyCase {
  const char* name;
  VerifyChecksums verify;
  bool unseen;

  bool verifies() const { return unseen || verify == VerifyChecksums::kAlways; }
};

// In an order in which each case leaves to the next what it needs.
constexpr VerifyCase kVerifyCases[] = {
    {"unseen", VerifyChecksums::kFirstTouch, true},
    {"seen", VerifyChecksums::kFirstTouch, false},
    {"off", VerifyChecksums::kOff, false},
    {"always", VerifyChecksums::kAlways, false}};

void AddVerifying(const ByteFile& copy, const BenchFile& source,
                  IoBackend backend, Comparison* comparison) {
  const std::string prefix = "verify " + NameOf(backend) + ": ";
  for (const VerifyCase& how : kVerifyCases) {
    LibraryCase one;
    one.files = {copy};
    one.options = By(backend);
    one.options.verify = how.verify;
    one.verifies = how.verifies();
    comparison->Add(prefix + how.name, prefix + "off", [one, how, &source] {
      const uint64_t bytes = std::min(kCopyBytes, source.bytes());
      const std::string& path = one.files[0].path;
      if (how.unseen) CopyStart(source.file().path, path, bytes);
      Course course;
      course.files = path;
      course.offsets = WindowOrder(bytes).Upcoming(bytes / kWindowBytes);
      return MeasureReader(course, [&] { return LibraryReader::Open(one); });
    });
  }
}

// Reads the file through, so that its blocks are known to be good.
void TouchAllBlocks(const BenchFile& file) {
  std::vector<uint64_t> offsets(file.bytes() / kWindowBytes);
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = i * kWindowBytes;
  LibraryCase one;
  one.files = {file.file()};
  one.options = By(IoBackend::kPread);
  one.verifies = true;
  const auto reader = Require(LibraryReader::Open(one));
  Batches batches(offsets, std::chrono::hours(1));
  reader->ReadAll(&batches);
  if (reader->blocks_verified() != file.bytes() / kBlockBytes) {
    Require(absl::InternalError(absl::StrCat("blocks verified in one pass: ",
                                             reader->blocks_verified())));
  }
}

class Bars {
 public:
  explicit Bars(const Comparison* comparison) : comparison_(*comparison) {}

  void Reads(const std::string& name, const std::string& baseline,
             double at_least) {
    bars_.push_back(
        comparison_.RateBar(name, baseline, Bar::Limit::kAtLeast, at_least));
  }

  void Cpu(const std::string& name, const std::string& baseline) {
    bars_.push_back(
        {"CPU: " + name + " / " + baseline,
         comparison_.Ratios(&Sample::cpu_microseconds, name, baseline),
         Bar::Limit::kAtMost, 1.2});
  }

  // auto beside the forced backend that is fastest over all rounds.
  void Auto(CacheState state, double at_least) {
    std::vector<std::string> forced;
    for (const IoBackend backend : kForced) {
      forced.push_back(Name(state, NameOf(backend)));
    }
    Reads(Name(state, "auto"), comparison_.Fastest(forced), at_least);
  }

  // A ratio that is no bar.
  void Beside(const std::string& name, const std::string& baseline) {
    bars_.push_back(comparison_.RateBar(name, baseline, Bar::Limit::kNone, 0));
  }

  void Print() const { PrintBars(bars_); }

 private:
  const Comparison& comparison_;
  std::vector<Bar> bars_;
};

void PrintAllBars(const Comparison& comparison) {
  Bars bars(&comparison);
  bars.Reads("cold direct", "cold fio direct", 0.92);
  bars.Reads("cold buffered", "cold fio buffered", 1.15);
  bars.Reads("hot mmap", "hot memcpy", 0.90);
  bars.Reads("hot auto", "hot memcpy", 0.90);
  bars.Cpu("cold direct", "cold raw ring direct");
  bars.Cpu("cold buffered", "cold raw ring buffered");
  bars.Cpu("hot buffered", "hot raw ring buffered");
  bars.Auto(CacheState::kCold, 0.95);
  bars.Auto(CacheState::kHalf, 0.85);
  bars.Auto(CacheState::kHot, 0.95);
  // The bars set four batches of 64 beside fio's 64 reads in flight; these,
  // equal numbers.
  for (const char* const how : {"direct", "buffered"}) {
    const std::string ours = Name(CacheState::kCold, how);
    const std::string fio = Name(CacheState::kCold, absl::StrCat("fio ", how));
    bars.Beside(ours + ", k=1", fio);
    bars.Beside(ours, fio + ", depth 256");
  }
  bars.Beside("cold auto, store fits", "cold direct");
  bars.Print();
}

struct Options {
  BenchFileOptions file;
  int rounds = 5;
  std::string only;
};

bool ParseOptions(int argc, char** argv, Options* options) {
  if (argc < 2 || argv[1][0] == '-') return false;
  double rounds = options->rounds;
  double half_batches = static_cast<double>(options->file.half_batches);
  double mib = kFullMib;
  const std::map<std::string, double*> numbers = {
      {"--rounds", &rounds},
      {"--seconds", &options->file.seconds},
      {"--half-batches", &half_batches},
      {"--size-mib", &mib}};
  if (!ParseNumbers(argc, argv, 2, numbers, &options->only)) return false;
  options->file.folder = argv[1];
  options->rounds = std::max(1, static_cast<int>(rounds));
  options->file.half_batches =
      std::max(size_t{1}, static_cast<size_t>(half_batches));
  options->file.mib = std::max(uint64_t{1}, static_cast<uint64_t>(mib));
  return true;
}

void PrintFacts(const BenchFile& file) {
  std::printf("%s, %llu MiB", file.file().path.c_str(),
              static_cast<unsigned long long>(file.bytes() >> 20));
  if (file.bytes() >> 20 < kFullMib) std::printf(": too small for the bars");
  if (file.hot_bytes() < file.bytes()) {
    std::printf("; memory holds the first %llu MiB of it, which hot cases read",
                static_cast<unsigned long long>(file.hot_bytes() >> 20));
  }
  std::printf("\n");
}

int Main(int argc, char** argv) {
  Options options;
  if (!ParseOptions(argc, argv, &options)) {
    std::fprintf(stderr,
                 "usage: byte_reader_bench FOLDER [--rounds N] [--seconds S] "
                 "[--half-batches M] [--size-mib M] [--only 'CASE;...']\n");
    return 2;
  }
  BenchFile file(options.file);
  PrintFacts(file);
  TouchAllBlocks(file);
  Comparison comparison;
  AddCold(&file, &comparison);
  AddHalf(&file, &comparison);
  AddHot(&file, &comparison);
  ByteFile copy = file.file();
  copy.path = options.file.folder + "/copy.bin";
  for (const IoBackend backend : {IoBackend::kBuffered, IoBackend::kMmap}) {
    AddVerifying(copy, file, backend, &comparison);
  }
  comparison.KeepOnly(options.only);
  comparison.Run(options.rounds);
  std::filesystem::remove(copy.path);
  comparison.Print();
  PrintAllBars(comparison);
  return 0;
}

}  // namespace
}  // namespace poniente::bench

int main(int argc, char** argv) { return poniente::bench::Main(argc, argv); }
