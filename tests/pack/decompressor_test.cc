// SPDX-License-Identifier: Apache-2.0
// Compressed inputs hold what zlib and zstd put into them, or are refused.

#include "pack/decompressor.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "pack/pack_file.h"
#include "pack/pack_jsonl.h"
#include "pack/pack_run.h"
#include "pack/pack_text.h"
#include "store/manifest/written_manifest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
#include "util/status_macros.h"

namespace poniente::internal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::IsOk;
using testing::ReadFile;
using testing::StatusIs;
using testing::TempDir;
using testing::TestSeed;
using testing::WriteFile;

std::string Gzip(std::string_view text) {
  z_stream stream = {};
  deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string made(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in =
      const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(made.data());
  stream.avail_out = static_cast<uInt>(made.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  made.resize(made.size() - stream.avail_out);
  deflateEnd(&stream);
  return made;
}

std::string Zstd(std::string_view text) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string made(ZSTD_compressBound(text.size()), '\0');
  made.resize(ZSTD_compress2(context, made.data(), made.size(), text.data(),
                             text.size()));
  ZSTD_freeCCtx(context);
  return made;
}

using Compress = std::string (*)(std::string_view);

std::string RandomText(size_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string text;
  while (text.size() < bytes) {
    text += absl::StrCat("word", random() % 1000, random() % 7 ? " " : "\n");
  }
  text.resize(bytes);
  return text;
}

// Feeds `piece` bytes at a time, and asks for `most`.
absl::Status Decompress(std::string_view stored, size_t piece,
                        std::string* text, size_t most = 1 << 18) {
  TextBuffer got;
  auto made = Decompressor::Create(CompressionOf(stored), "x");
  EXPECT_THAT(made, IsOk());
  while (!stored.empty()) {
    std::string_view next = stored.substr(0, piece);
    const size_t given = next.size();
    while (!next.empty() || (*made)->has_more()) {
      const size_t before = got.size();
      absl::Status status = (*made)->Next(&next, most, &got);
      if (!status.ok()) return status;
      EXPECT_LE(got.size() - before, most);
    }
    stored.remove_prefix(given);
  }
  text->append(got.view());
  return (*made)->CheckEnd();
}

class DecompressorTest : public ::testing::TestWithParam<Compress> {
 protected:
  static std::string Stored(std::string_view text) { return GetParam()(text); }
};

TEST_P(DecompressorTest, GivesTheTextWhateverThePieces) {
  for (const size_t bytes : {0, 1, 100, 300'000, 3'000'000}) {
    const std::string text = RandomText(bytes, TestSeed(45));
    const std::string stored = Stored(text);
    for (const size_t piece : {size_t{7}, size_t{65536}, stored.size() + 1}) {
      if (piece == 7 && bytes > 300'000) continue;
      for (const size_t most : {1 << 10, 1 << 18, 1 << 20}) {
        std::string got;
        EXPECT_THAT(Decompress(stored, piece, &got, most), IsOk());
        EXPECT_TRUE(got == text)
            << bytes << " in pieces of " << piece << " to " << most;
      }
    }
  }
}

TEST_P(DecompressorTest, GivesAllThatFewBytesHold) {
  // Around whole pieces, where the last bytes are taken before all is given.
  for (const size_t bytes : {size_t{1} << 18, size_t{1} << 19}) {
    for (const size_t more : {0, 1, 2, 1000, 100'000}) {
      const std::string text(bytes + more, 'x');
      std::string got;
      EXPECT_THAT(Decompress(Stored(text), 1 << 20, &got), IsOk());
      EXPECT_TRUE(got == text) << bytes + more;
    }
  }
}

TEST_P(DecompressorTest, GivesMembersOneAfterAnother) {
  const std::string a = RandomText(70'000, 1), b = RandomText(10, 2);
  const std::string stored = Stored(a) + Stored("") + Stored(b);
  for (const size_t piece : {size_t{1}, stored.size()}) {
    std::string got;
    EXPECT_THAT(Decompress(stored, piece, &got), IsOk());
    EXPECT_TRUE(got == a + b);
  }
}

TEST_P(DecompressorTest, EveryCutIsNoticed) {
  const std::string first = Stored(RandomText(500, 3));
  const std::string stored = first + Stored(RandomText(300, 4));
  for (size_t bytes = kMagicBytes; bytes < stored.size(); ++bytes) {
    std::string got;
    const absl::Status status =
        Decompress(stored.substr(0, bytes), stored.size(), &got);
    if (bytes == first.size()) {
      EXPECT_THAT(status, IsOk());
    } else {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss,
                                   HasSubstr(absl::StrCat("byte ", bytes))));
    }
  }
}

TEST_P(DecompressorTest, EveryFlippedByteIsNoticedOrChangesNothing) {
  const std::string text = RandomText(400, 5);
  const std::string stored = Stored(text);
  int noticed = 0;
  for (size_t at = kMagicBytes; at < stored.size(); ++at) {
    std::string damaged = stored;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    std::string got;
    if (!Decompress(damaged, stored.size(), &got).ok()) {
      ++noticed;
    } else {
      EXPECT_EQ(got, text) << at;  // a time or a name in the header
    }
  }
  EXPECT_GT(noticed, static_cast<int>(stored.size() * 3 / 4));
}

INSTANTIATE_TEST_SUITE_P(Formats, DecompressorTest,
                         ::testing::Values(&Gzip, &Zstd),
                         [](const auto& param) {
                           return param.index == 0 ? "Gzip" : "Zstd";
                         });

TEST(DecompressorTest, ZerosBehindGzipAreIgnoredAndOtherBytesAreNot) {
  const std::string stored = Gzip("text");
  std::string got;
  EXPECT_THAT(Decompress(stored + std::string(1000, '\0'), 100, &got), IsOk());
  EXPECT_EQ(got, "text");
  got.clear();
  EXPECT_THAT(Decompress(stored + "more", 100, &got),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("gzip")));
}

// As pzstd puts them before each frame.
std::string Skippable(std::string_view content, char kind = 0) {
  std::string frame = "\x50\x2a\x4d\x18";
  frame[0] = static_cast<char>(frame[0] | kind);
  for (int shift = 0; shift < 32; shift += 8) {
    frame += static_cast<char>(content.size() >> shift & 0xff);
  }
  return frame.append(content);
}

TEST(DecompressorTest, FramesThatZstdSkipsMayComeFirst) {
  const std::string a = RandomText(70'000, 1), b = RandomText(10, 2);
  for (int kind = 0; kind < 16; ++kind) {
    EXPECT_EQ(CompressionOf(Skippable("", static_cast<char>(kind))),
              Compression::kZstd);
  }
  EXPECT_EQ(CompressionOf("\x60\x2a\x4d\x18zz"), Compression::kNone);
  EXPECT_EQ(CompressionOf("\x5f\x2a\x4d zz"), Compression::kNone);
  for (const size_t content : {0, 4, 1000, 3'000'000}) {
    const std::string skipped = Skippable(std::string(content, 'x'), 15);
    const std::string stored =
        skipped + Skippable("") + Zstd(a) + skipped + Zstd(b) + skipped;
    for (const size_t piece : {size_t{7}, size_t{65536}, stored.size()}) {
      std::string got;
      EXPECT_THAT(Decompress(stored, piece, &got), IsOk());
      EXPECT_TRUE(got == a + b) << content << " in pieces of " << piece;
      got.clear();
      EXPECT_THAT(Decompress(skipped, piece, &got), IsOk());
      EXPECT_EQ(got, "");
    }
  }
}

TEST(DecompressorTest, EveryCutOfASkippedFrameIsNoticed) {
  const std::string skipped = Skippable("content");
  for (const std::string& before : {std::string(), skipped, Zstd("text")}) {
    const std::string stored = before + skipped;
    for (size_t cut = before.empty() ? 4 : 1; cut < skipped.size(); ++cut) {
      const size_t bytes = before.size() + cut;
      for (const size_t piece : {size_t{1}, bytes}) {
        std::string got;
        EXPECT_THAT(
            Decompress(stored.substr(0, bytes), piece, &got),
            StatusIs(absl::StatusCode::kDataLoss,
                     AllOf(HasSubstr(absl::StrCat("'x': at byte ", bytes)),
                           HasSubstr("cut short"))))
            << cut << " behind " << before.size();
      }
    }
  }
}

TEST(DecompressorTest, KnowsOthersButDoesNotReadThem) {
  for (const std::string begin : {"BZh91AY", "\xfd\x37zXZ"}) {
    EXPECT_NE(CompressionOf(begin), Compression::kNone);
    const auto made = Decompressor::Create(CompressionOf(begin), "x");
    ASSERT_THAT(made, IsOk());
    EXPECT_EQ(*made, nullptr);
  }
  EXPECT_EQ(CompressionOf("{\"text\""), Compression::kNone);
  EXPECT_EQ(CompressionOf(""), Compression::kNone);
}

// Units of an input, one after another, by an input of its own for each: what a
// run that goes on after a kill does. `bytes` is the sum of what they count.
struct Units {
  std::vector<UnitBegin> ends;
  std::vector<std::byte> tokens;
  uint64_t documents = 0;
  uint64_t bytes = 0;
};

template <class Open>
Units UnitsOf(const Open& open, bool each_anew) {
  Units units;
  auto input = open();
  UnitBegin begin;
  for (bool is_last = false; !is_last;) {
    if (each_anew) input = open();
    const auto unit = input->Cut(begin);
    EXPECT_THAT(unit, IsOk());
    if (!unit.ok()) break;
    UnitDocuments documents(2, 256);
    EXPECT_THAT(input->Convert(*unit, &documents), IsOk());
    EXPECT_TRUE(documents.bad_lines().empty());
    const auto bytes = documents.Bytes(false);
    units.tokens.insert(units.tokens.end(), bytes.begin(), bytes.end());
    units.documents += documents.TakeEnds().ends.size();
    units.bytes += unit->bytes;
    units.ends.push_back(unit->end);
    begin = unit->end;
    is_last = unit->is_last;
  }
  return units;
}

TextInput InputAt(const std::string& path, uint64_t bytes) {
  TextInput input;
  input.path = path;
  input.name = "x";
  input.bytes = bytes;
  input.is_regular = true;
  return input;
}

TEST(CompressedInputTest, HasTheDocumentsOfThePlainFileFromEveryUnitOn) {
  const TempDir folder;
  std::string lines;
  for (int i = 0; i < 9000; ++i) {
    const std::string text = RandomText(i % 400, i);
    std::string escaped;
    for (const char c : text) escaped += c == '\n' ? "\\n" : std::string(1, c);
    absl::StrAppend(&lines, "{\"text\": \"", escaped, "\"}\n");
  }
  const std::atomic<bool> stop = false;
  for (const bool is_jsonl : {true, false}) {
    const auto units = [&](const std::string& name, const std::string& stored,
                           bool each_anew) {
      WriteFile(folder.path(name), stored);
      const TextInput input = InputAt(folder.path(name), stored.size());
      return UnitsOf(
          [&] {
            SplitRule rule;
            rule.kind = SplitRule::Kind::kDelimiter;
            rule.delimiter = "{\"text\": \"\"}";
            return is_jsonl ? OpenJsonlInput(input, JsonField(), nullptr, &stop)
                            : OpenTextInput(input, rule, nullptr, &stop);
          },
          each_anew);
    };
    const Units plain = units("plain", lines, false);
    EXPECT_GT(plain.ends.size(), 2u);
    for (const Compress compress : {&Gzip, &Zstd}) {
      for (const bool each_anew : {false, true}) {
        const std::string stored = compress(lines.substr(0, 777'777)) +
                                   compress(lines.substr(777'777));
        const Units got = units("stored", stored, each_anew);
        EXPECT_TRUE(got.tokens == plain.tokens) << is_jsonl << each_anew;
        EXPECT_EQ(got.documents, plain.documents);
        if (each_anew) continue;
        EXPECT_EQ(got.bytes, stored.size());
      }
    }
  }
}

TEST(CompressedInputTest, ATruncatedOneIsAnErrorWithItsPath) {
  const TempDir folder;
  const std::string stored = Gzip(RandomText(2'000'000, 6));
  WriteFile(folder.path("x.gz"), stored.substr(0, stored.size() - 5));
  const std::atomic<bool> stop = false;
  const auto input = OpenTextInput(
      InputAt(folder.path("x.gz"), stored.size() - 5), {}, nullptr, &stop);
  absl::Status status;
  UnitBegin begin;
  for (bool is_last = false; !is_last && status.ok();) {
    const auto unit = input->Cut(begin);
    status = unit.status();
    if (!unit.ok()) break;
    begin = unit->end;
    is_last = unit->is_last;
  }
  EXPECT_THAT(status,
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("x.gz"), HasSubstr("cut short"))));
}

using OpenInput = std::unique_ptr<PackInput> (*)(const TextInput&,
                                                 const std::atomic<bool>*);
constexpr OpenInput kOpens[] = {
    [](const TextInput& input, const std::atomic<bool>* stop) {
      return OpenTextInput(input, {}, nullptr, stop);
    },
    [](const TextInput& input, const std::atomic<bool>* stop) {
      SplitRule rule;
      rule.kind = SplitRule::Kind::kParagraphs;
      return OpenTextInput(input, rule, nullptr, stop);
    },
    [](const TextInput& input, const std::atomic<bool>* stop) {
      return OpenJsonlInput(input, JsonField(), nullptr, stop);
    }};

// What cutting the first unit of a file gives, after some reading ahead.
absl::StatusOr<PackUnit> FirstUnit(OpenInput open, const std::string& path,
                                   std::string_view stored, bool ahead) {
  WriteFile(path, stored);
  const std::atomic<bool> stop = false;
  const auto input = open(InputAt(path, stored.size()), &stop);
  if (ahead) {
    EXPECT_FALSE(input->ReadAhead());
    EXPECT_FALSE(input->ReadAhead());
  }
  return input->Cut({});
}

TEST(CompressedInputTest, OneThatDoesNotBeginAsItsNameSaysIsAnError) {
  const TempDir folder;
  const std::string lines = "{\"text\": \"a\"}\n{\"text\": \"b\"}\n";
  const std::string gzip = Gzip(lines), zstd = Zstd(lines);
  const auto flipped = [](std::string stored, size_t at) {
    stored[at] = static_cast<char>(stored[at] ^ 0x10);
    return stored;
  };
  const struct {
    std::string name;
    std::string stored;
    std::string found;
  } cases[] = {
      {"x.gz", "", ".gz but is empty (0 bytes)"},
      {"x.zst", "", ".zst but is empty (0 bytes)"},
      {"x.jsonl.gz", gzip.substr(0, 1), ".gz but ends at byte 1, within the 2"},
      {"x.zst", zstd.substr(0, 1), ".zst but ends at byte 1, within the 4"},
      {"x.txt.zst", zstd.substr(0, 2), "ends at byte 2"},
      {"x.zst", zstd.substr(0, 3), "ends at byte 3"},
      {"x.zst", Skippable("abc").substr(0, 1), "ends at byte 1"},
      {"x.zst", Skippable("abc").substr(0, 3), "ends at byte 3"},
      {"x.gz", flipped(gzip, 0), "as gzip does (byte 0 is 0x0f, not 0x1f)"},
      {"x.gz", flipped(gzip, 1), "as gzip does (byte 1 is 0x9b, not 0x8b)"},
      {"X.JSONL.GZ", flipped(gzip, 0), "byte 0 is 0x0f"},
      {"x.zst", flipped(zstd, 0), "as zstd does (byte 0 is 0x38, not 0x28)"},
      {"x.zst", flipped(zstd, 1), "byte 1 is 0xa5, not 0xb5"},
      {"x.zst", flipped(zstd, 2), "byte 2 is 0x3f, not 0x2f"},
      {"x.zst", flipped(zstd, 3), "byte 3 is 0xed, not 0xfd"},
      {"x.zst", flipped(Skippable("a"), 2), "byte 2 is 0x5d, not 0x4d"},
      {"x.gz", lines, "byte 0 is 0x7b, not 0x1f"},
      {"x.zst", lines, "byte 0 is 0x7b, not 0x28"},
      {"x.jsonl.bz2", "", ".bz2 but is empty (0 bytes)"},
      {"x.txt.bz2", "BZ", ".bz2 but ends at byte 2, within the 3 bytes"},
      {"X.BZ2", "BZg9", "as bzip2 does (byte 2 is 0x67, not 0x68)"},
      {"x.bz2", lines, "byte 0 is 0x7b, not 0x42"},
      {"x.xz", "\xfd\x37zX", ".xz but ends at byte 4, within the 5 bytes"},
      {"x.jsonl.xz", "\xfc\x37zXZ", "as xz does (byte 0 is 0xfc, not 0xfd)"},
      {"x.gz", std::string(5000, '\0'), "byte 0 is 0x00, not 0x1f"},
      {"x.zst", std::string(3'000'000, '\n'), "byte 0 is 0x0a, not 0x28"}};
  for (const auto& [name, stored, found] : cases) {
    for (const OpenInput open : kOpens) {
      for (const bool ahead : {false, true}) {
        EXPECT_THAT(
            FirstUnit(open, folder.path(name), stored, ahead).status(),
            StatusIs(absl::StatusCode::kDataLoss,
                     AllOf(HasSubstr("/" + name + "' is named"),
                           HasSubstr(found), HasSubstr("truncated or damaged"),
                           HasSubstr("rename it if it is plain text"))))
            << name << " of " << stored.size() << " bytes";
      }
    }
  }
}

TEST(CompressedInputTest, EveryCutOfAFileIsAnError) {
  const TempDir folder;
  for (const Compress compress : {&Gzip, &Zstd}) {
    const std::string stored = compress("{\"text\": \"a\"}\n");
    const std::string path =
        folder.path(compress == &Gzip ? "x.jsonl.gz" : "x.jsonl.zst");
    for (size_t bytes = 0; bytes <= stored.size(); ++bytes) {
      for (const OpenInput open : kOpens) {
        const absl::Status status =
            FirstUnit(open, path, stored.substr(0, bytes), false).status();
        if (bytes == stored.size()) {
          EXPECT_THAT(status, IsOk());
        } else {
          EXPECT_THAT(status,
                      StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path)))
              << bytes;
        }
      }
    }
  }
}

TEST(CompressedInputTest, CompressedNothingIsAnEmptyFile) {
  const TempDir folder;
  const std::string cases[][2] = {{"x.gz", Gzip("")},
                                  {"x.zst", Zstd("")},
                                  {"x.zst", Skippable("content")},
                                  {"x.zst", Skippable("") + Zstd("")},
                                  {"plain", Skippable("content")},
                                  {"plain", ""}};
  const std::atomic<bool> stop = false;
  for (const auto& [name, stored] : cases) {
    for (const OpenInput open : kOpens) {
      const auto unit = FirstUnit(open, folder.path(name), stored, false);
      ASSERT_THAT(unit, IsOk());
      EXPECT_TRUE(unit->is_last);
      EXPECT_EQ(unit->end.at, 0u);
      UnitDocuments documents(2, 256);
      const auto input = open(InputAt(folder.path(name), stored.size()), &stop);
      EXPECT_THAT(input->Convert(*unit, &documents), IsOk());
      EXPECT_EQ(documents.num_tokens(), 0u);
    }
  }
}

// A compressed file loses nothing by the wrong name.
TEST(CompressedInputTest, OtherNamesSayNothing) {
  const TempDir folder;
  const std::string lines = "{\"text\": \"a\"}\n";
  const std::string cases[][2] = {
      {"x.gz", Zstd(lines)},   {"x.zst", Gzip(lines)}, {"gz", lines},
      {"x.gz.jsonl", lines},   {"x.jsonl", ""},        {"x.zst~", "\x28\xb5"},
      {"x.gz/x.jsonl", lines}, {"x", "\x1f"}};
  for (const auto& [name, stored] : cases) {
    if (name == "x.gz/x.jsonl") {
      std::filesystem::remove(folder.path("x.gz"));
      std::filesystem::create_directory(folder.path("x.gz"));
    }
    for (const OpenInput open : kOpens) {
      const auto unit = FirstUnit(open, folder.path(name), stored, false);
      ASSERT_THAT(unit, IsOk()) << name;
      const bool is_compressed = name == "x.gz" || name == "x.zst";
      EXPECT_EQ(unit->end.at, is_compressed ? lines.size() : stored.size());
    }
  }
}

std::string JsonLines(int count, uint64_t seed) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    std::string text = RandomText((i + seed) % 400, i + seed);
    for (char& c : text) c = c == '\n' ? ' ' : c;
    absl::StrAppend(&lines, "{\"text\": \"", text, "\"}\n");
  }
  return lines;
}

TEST(CompressedInputTest, ReadingAheadChangesNothing) {
  const TempDir folder;
  const std::string lines = JsonLines(9000, 1);
  const std::atomic<bool> stop = false;
  std::mt19937_64 random(1);
  WriteFile(folder.path("plain"), lines);
  const Units plain = UnitsOf(
      [&] {
        return OpenJsonlInput(InputAt(folder.path("plain"), lines.size()),
                              JsonField(), nullptr, &stop);
      },
      false);
  for (const Compress compress : {&Gzip, &Zstd}) {
    const std::string stored = compress(lines);
    WriteFile(folder.path("stored"), stored);
    for (const uint64_t limit : {uint64_t{0}, uint64_t{1} << 20, uint64_t{1}}) {
      ahead_memory.SetLimit(limit);
      const auto input =
          OpenJsonlInput(InputAt(folder.path("stored"), stored.size()),
                         JsonField(), nullptr, &stop);
      std::vector<UnitBegin> ends;
      uint64_t bytes = 0;
      uint64_t ahead = 0;
      UnitBegin begin;
      for (bool is_last = false; !is_last;) {
        for (uint64_t i = random() % 4; i > 0; --i) ahead += input->ReadAhead();
        const auto unit = input->Cut(begin);
        ASSERT_THAT(unit, IsOk());
        bytes += unit->bytes;
        begin = unit->end;
        is_last = unit->is_last;
        ends.push_back(begin);
      }
      EXPECT_EQ(ends, plain.ends);
      EXPECT_EQ(bytes, stored.size());
      EXPECT_EQ(ahead > 0, limit != 1);
      EXPECT_FALSE(input->ReadAhead());
    }
  }
  ahead_memory.SetLimit(0);
}

// Lines that are longer than what is read ahead at a time, and some that leave
// more behind a unit than can go before the next piece.
TEST(CompressedInputTest, ReadingAheadLongLinesChangesNothing) {
  const TempDir folder;
  std::mt19937_64 random(TestSeed(72));
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    const size_t bytes = random() % (i % 10 == 0 ? 3'000'000 : 300'000);
    absl::StrAppend(&lines, "{\"text\": \"", std::string(bytes, 'a' + i % 26),
                    "\"}\n");
  }
  const std::atomic<bool> stop = false;
  const auto tokens = [&](const std::string& stored, uint64_t ahead) {
    WriteFile(folder.path("stored"), stored);
    const auto input =
        OpenJsonlInput(InputAt(folder.path("stored"), stored.size()),
                       JsonField(), nullptr, &stop);
    std::vector<std::byte> all;
    UnitBegin begin;
    for (bool is_last = false; !is_last;) {
      for (uint64_t i = ahead == 0 ? 0 : random() % ahead; i > 0; --i) {
        input->ReadAhead();
      }
      const auto unit = input->Cut(begin);
      EXPECT_THAT(unit, IsOk());
      if (!unit.ok()) break;
      UnitDocuments documents(2, 256);
      EXPECT_THAT(input->Convert(*unit, &documents), IsOk());
      const auto bytes = documents.Bytes(false);
      all.insert(all.end(), bytes.begin(), bytes.end());
      begin = unit->end;
      is_last = unit->is_last;
    }
    return all;
  };
  const auto expected = tokens(lines, 0);
  EXPECT_GT(expected.size(), 2 * (lines.size() - 1000));
  for (const Compress compress : {&Gzip, &Zstd}) {
    for (const uint64_t ahead : {0, 2, 4, 20}) {
      EXPECT_TRUE(tokens(compress(lines), ahead) == expected) << ahead;
    }
  }
}

TEST(CompressedInputTest, PlainFilesAndStreamsAreNotReadAhead) {
  const TempDir folder;
  WriteFile(folder.path("plain"), "{\"text\": \"x\"}\n");
  const std::atomic<bool> stop = false;
  const auto plain = OpenJsonlInput(InputAt(folder.path("plain"), 14),
                                    JsonField(), nullptr, &stop);
  EXPECT_FALSE(plain->ReadAhead());
  TextInput fifo = InputAt(folder.path("fifo"), 0);
  fifo.is_regular = false;
  ASSERT_EQ(::mkfifo(fifo.path.c_str(), 0600), 0);
  EXPECT_FALSE(OpenJsonlInput(fifo, JsonField(), nullptr, &stop)->ReadAhead());
}

// The tokens of a store that a run makes of the inputs.
absl::StatusOr<std::string> PackedTokens(const std::vector<TextInput>& inputs,
                                         int threads) {
  const TempDir folder;
  TokenStoreWriterOptions options;
  options.vocabulary = {"bytes", 257};
  options.end_of_document = 256;
  PONIENTE_ASSIGN_OR_RETURN(
      const auto builder,
      StoreBuilder::Create(folder.path("out"), *ManifestToWrite("", options)));
  PackJob job;
  job.inputs = inputs;
  job.open = [](const TextInput& input, const std::atomic<bool>* stop) {
    return OpenJsonlInput(input, JsonField(), nullptr, stop);
  };
  job.threads = threads;
  PackRun run(job, builder.get(), PackState());
  PONIENTE_RETURN_IF_ERROR(run.Run([] { return false; }, [](uint64_t) {}));
  PONIENTE_RETURN_IF_ERROR(builder->Finish().status());
  return ReadFile(StoreFilePath(folder.path("out"), StoreFile::kTokens, 0));
}

TEST(CompressedInputTest, SeveralAtOnceGiveTheStoreOfPlainFiles) {
  const TempDir folder;
  std::vector<TextInput> plain;
  std::vector<TextInput> stored;
  for (int i = 0; i < 12; ++i) {
    const std::string lines = JsonLines(i == 5 ? 0 : 300 * i, 7 * i);
    const std::string name = folder.path(absl::StrCat(i));
    WriteFile(name, lines);
    plain.push_back(InputAt(name, lines.size()));
    if (i % 4 == 3) {
      stored.push_back(plain.back());
      continue;
    }
    const std::string bytes = i % 2 == 0 ? Gzip(lines) : Zstd(lines);
    WriteFile(name + ".z", bytes);
    stored.push_back(InputAt(name + ".z", bytes.size()));
  }
  const auto expected = PackedTokens(plain, 1);
  ASSERT_THAT(expected, IsOk());
  for (const int threads : {1, 2, 5}) {
    const auto got = PackedTokens(stored, threads);
    ASSERT_THAT(got, IsOk());
    EXPECT_TRUE(*got == *expected) << threads;
  }
  // The first error in the order of the files, whoever met it.
  for (const int damaged : {4, 6}) {
    const std::string name = stored[damaged].path;
    const std::string bytes = ReadFile(name);
    WriteFile(name, bytes.substr(0, bytes.size() / 2));
  }
  for (const int threads : {1, 2, 5}) {
    EXPECT_THAT(PackedTokens(stored, threads).status(),
                StatusIs(absl::StatusCode::kDataLoss,
                         AllOf(HasSubstr("4.z"), HasSubstr("cut short"))))
        << threads;
  }
}

// What cutting the first unit of standard input gives.
absl::StatusOr<PackUnit> FirstUnitOfStandardInput(OpenInput open,
                                                  std::string_view stored) {
  const TempDir folder;
  WriteFile(folder.path("x.gz"), stored);
  const int own = ::dup(STDIN_FILENO);
  const int file = ::open(folder.path("x.gz").c_str(), O_RDONLY);
  EXPECT_GE(file, 0);
  EXPECT_EQ(::dup2(file, STDIN_FILENO), STDIN_FILENO);
  ::close(file);
  TextInput input;
  input.path = "-";
  input.name = "stdin";
  const std::atomic<bool> stop = false;
  auto unit = open(input, &stop)->Cut({});
  if (own >= 0) {
    ::dup2(own, STDIN_FILENO);
    ::close(own);
  }
  return unit;
}

TEST(CompressedInputTest, StandardInputIsKnownByItsFirstBytesAlone) {
  const std::string lines = "{\"text\": \"a\"}\n";
  for (const std::string& stored :
       {std::string(), lines, Gzip(lines), Skippable("pzstd") + Zstd(lines)}) {
    const auto unit = FirstUnitOfStandardInput(kOpens[2], stored);
    ASSERT_THAT(unit, IsOk());
    EXPECT_EQ(unit->data.view(), stored.empty() ? "" : lines);
  }
}

TEST(CompressedInputTest, EveryCutOfStandardInputIsAnError) {
  for (const Compress compress : {&Gzip, &Zstd}) {
    const std::string stored = compress("{\"text\": \"a\"}\n");
    for (size_t bytes = 1; bytes < stored.size(); ++bytes) {
      const std::string cut = stored.substr(0, bytes);
      for (const OpenInput open : kOpens) {
        const auto unit = FirstUnitOfStandardInput(open, cut);
        if (cut == "(") {  // text, which no line of JSONL is
          ASSERT_THAT(unit, IsOk());
          EXPECT_EQ(unit->data.view(), "(");
          continue;
        }
        EXPECT_THAT(unit.status(),
                    StatusIs(absl::StatusCode::kDataLoss,
                             AllOf(HasSubstr("'standard input': at byte " +
                                             absl::StrCat(bytes)),
                                   HasSubstr("cut short"),
                                   HasSubstr("create it again"))))
            << bytes;
      }
    }
  }
}

TEST(CompressedInputTest, ShortTextOfStandardInputIsText) {
  for (const std::string text : {"(", "P", "P*", "P*M", "B", "BZ", "\x1f("}) {
    for (const OpenInput open : kOpens) {
      const auto unit = FirstUnitOfStandardInput(open, text);
      ASSERT_THAT(unit, IsOk()) << text;
      EXPECT_EQ(unit->data.view(), text);
    }
  }
}

}  // namespace
}  // namespace poniente::internal
