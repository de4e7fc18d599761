// SPDX-License-Identifier: Apache-2.0
// Writes Arrow streams message by message, right or wrong.

#ifndef PONIENTE_TESTS_FORMATS_ARROW_FILES_H_
#define PONIENTE_TESTS_FORMATS_ARROW_FILES_H_

#include <flatbuffers/flatbuffers.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace poniente::testing {

template <class T>
std::string LittleEndian(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

struct ArrowField {
  std::string name;
  uint8_t type = 2;       // 2 integer, 3 float, 5 string, 12 list, 13 struct,
                          // 16 fixed_size_list, 21 large_list, 24 string view
  int32_t bits = 64;      // of integers; of fixed-size lists their size
  bool is_signed = true;  // of integers
  bool is_dictionary = false;
  std::vector<ArrowField> children = {};
};

inline ArrowField Integers(const std::string& name, int32_t bits,
                           bool is_signed) {
  return {name, 2, bits, is_signed};
}
inline ArrowField ListOf(const std::string& name, const ArrowField& element,
                         uint8_t type = 12, int32_t size = 0) {
  return {name, type, size, false, false, {element}};
}

// {length, nulls} of an array, {offset, bytes} of a buffer.
struct ArrowPair {
  int64_t first = 0;
  int64_t second = 0;
};

// A message in a file's footer. `metadata` counts the bytes before it, too.
struct ArrowBlockParts {
  int64_t offset = 0;
  int64_t metadata = 0;
  int64_t body = 0;
};

struct ArrowBatchParts {
  int64_t rows = 0;
  std::vector<ArrowPair> nodes;
  std::vector<std::string> buffers;
  std::vector<int64_t> view_buffers = {};
  bool is_compressed = false;
  // Where buffers are said to lie; empty: where they do.
  std::vector<ArrowPair> places = {};
};

class ArrowWriter {
 public:
  int16_t version = 4;  // of the format, less 1
  int16_t endianness = 0;
  // Whether messages begin as they do since Arrow 0.15.
  bool has_marks = true;

  // A magic of 8 bytes in front makes it the file form; see Footer().
  explicit ArrowWriter(std::string magic = "") : bytes(std::move(magic)) {}

  ArrowWriter& Schema(const std::vector<ArrowField>& fields) {
    flatbuffers::FlatBufferBuilder builder;
    schema_ = fields;
    const flatbuffers::uoffset_t schema = SchemaTable(&builder);
    return Message(&builder, 1, schema, "");
  }

  ArrowWriter& Batch(const ArrowBatchParts& parts) {
    flatbuffers::FlatBufferBuilder builder;
    std::string body;
    std::vector<ArrowPair> places;
    for (const std::string& buffer : parts.buffers) {
      places.push_back({static_cast<int64_t>(body.size()),
                        static_cast<int64_t>(buffer.size())});
      body += buffer;
      body.resize((body.size() + 7) / 8 * 8);
    }
    if (!parts.places.empty()) places = parts.places;
    const auto nodes = Pairs(&builder, parts.nodes);
    const auto buffers = Pairs(&builder, places);
    const auto views = builder.CreateVector(parts.view_buffers);
    flatbuffers::uoffset_t compression = 0;
    if (parts.is_compressed) {
      compression = builder.EndTable(builder.StartTable());
    }
    const auto start = builder.StartTable();
    builder.AddElement<int64_t>(Slot(0), parts.rows);
    builder.AddOffset(Slot(1), nodes);
    builder.AddOffset(Slot(2), buffers);
    if (parts.is_compressed) {
      builder.AddOffset(Slot(3),
                        flatbuffers::Offset<flatbuffers::Table>(compression));
    }
    if (!parts.view_buffers.empty()) builder.AddOffset(Slot(4), views);
    batches.push_back(static_cast<int64_t>(bytes.size()));
    return Message(&builder, 3, builder.EndTable(start), body);
  }

  // Of lists of integers that end at `ends`, the first begins at ends[0].
  template <class Offset, class Id>
  ArrowWriter& Lists(const std::vector<Offset>& ends,
                     const std::vector<Id>& ids) {
    ArrowBatchParts parts;
    parts.rows = ends.empty() ? 0 : static_cast<int64_t>(ends.size()) - 1;
    parts.nodes = {{parts.rows, 0}, {static_cast<int64_t>(ids.size()), 0}};
    parts.buffers = {"", LittleEndian(ends), "", LittleEndian(ids)};
    return Batch(parts);
  }

  ArrowWriter& End() {
    bytes += std::string("\xff\xff\xff\xff\0\0\0\0", 8);
    return *this;
  }

  // A message of any kind.
  ArrowWriter& Message(flatbuffers::FlatBufferBuilder* builder, uint8_t kind,
                       flatbuffers::uoffset_t header, const std::string& body,
                       int64_t body_bytes = -1) {
    const auto start = builder->StartTable();
    builder->AddElement<int64_t>(
        Slot(3),
        body_bytes < 0 ? static_cast<int64_t>(body.size()) : body_bytes);
    builder->AddOffset(Slot(2),
                       flatbuffers::Offset<flatbuffers::Table>(header));
    builder->AddElement<int16_t>(Slot(0), version);
    builder->AddElement<uint8_t>(Slot(1), kind);
    builder->Finish(
        flatbuffers::Offset<flatbuffers::Table>(builder->EndTable(start)));
    std::string metadata(
        reinterpret_cast<const char*>(builder->GetBufferPointer()),
        builder->GetSize());
    const std::string mark = has_marks ? "\xff\xff\xff\xff" : "";
    const size_t before = mark.size() + 4;
    metadata.resize((metadata.size() + before + 7) / 8 * 8 - before);
    const auto size = static_cast<uint32_t>(metadata.size());
    blocks_.push_back({static_cast<int64_t>(bytes.size()),
                       static_cast<int64_t>(before + metadata.size()),
                       static_cast<int64_t>(body.size())});
    bytes += mark + LittleEndian<uint32_t>({size}) + metadata;
    bytes += body;
    return *this;
  }

  // That of the file form, listing the messages at `offsets`.
  ArrowWriter& Footer(const std::vector<int64_t>& offsets) {
    std::vector<ArrowBlockParts> listed;
    for (const int64_t offset : offsets) {
      listed.push_back({offset, 8, 0});
      for (const ArrowBlockParts& block : blocks_) {
        if (block.offset == offset) listed.back() = block;
      }
    }
    return FooterOf(listed);
  }
  ArrowWriter& FooterOf(const std::vector<ArrowBlockParts>& blocks,
                        bool has_schema = true) {
    flatbuffers::FlatBufferBuilder builder;
    const auto vector = builder.CreateVectorOfStructs(blocks);
    const flatbuffers::uoffset_t schema = SchemaTable(&builder);
    const auto start = builder.StartTable();
    builder.AddElement<int16_t>(Slot(0), version);
    if (has_schema) {
      builder.AddOffset(Slot(1),
                        flatbuffers::Offset<flatbuffers::Table>(schema));
    }
    builder.AddOffset(Slot(3), vector);
    builder.Finish(
        flatbuffers::Offset<flatbuffers::Table>(builder.EndTable(start)));
    bytes.append(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                 builder.GetSize());
    bytes += LittleEndian<uint32_t>({builder.GetSize()}) + "ARROW1";
    return *this;
  }

  // Every message so far, in order.
  const std::vector<ArrowBlockParts>& blocks() const { return blocks_; }

  std::string bytes;
  // Where the batches begin.
  std::vector<int64_t> batches;

  static flatbuffers::voffset_t Slot(int field) {
    return static_cast<flatbuffers::voffset_t>(4 + 2 * field);
  }

  static flatbuffers::Offset<flatbuffers::Table> Field(
      flatbuffers::FlatBufferBuilder* builder, const ArrowField& field) {
    std::vector<flatbuffers::Offset<flatbuffers::Table>> children;
    for (const ArrowField& child : field.children) {
      children.push_back(Field(builder, child));
    }
    const auto below = builder->CreateVector(children);
    const auto name = builder->CreateString(field.name);
    auto start = builder->StartTable();
    if (field.type == 2 || field.type == 16) {
      builder->AddElement<int32_t>(Slot(0), field.bits);
    }
    if (field.type == 2) {
      builder->AddElement<uint8_t>(Slot(1), field.is_signed ? 1 : 0);
    }
    const auto type = builder->EndTable(start);
    flatbuffers::uoffset_t dictionary = 0;
    if (field.is_dictionary) {
      dictionary = builder->EndTable(builder->StartTable());
    }
    start = builder->StartTable();
    builder->AddOffset(Slot(0), name);
    builder->AddElement<uint8_t>(Slot(2), field.type);
    builder->AddOffset(Slot(3), flatbuffers::Offset<flatbuffers::Table>(type));
    if (field.is_dictionary) {
      builder->AddOffset(Slot(4),
                         flatbuffers::Offset<flatbuffers::Table>(dictionary));
    }
    builder->AddOffset(Slot(5), below);
    return flatbuffers::Offset<flatbuffers::Table>(builder->EndTable(start));
  }

 private:
  flatbuffers::uoffset_t SchemaTable(flatbuffers::FlatBufferBuilder* builder) {
    std::vector<flatbuffers::Offset<flatbuffers::Table>> tables;
    for (const ArrowField& field : schema_) {
      tables.push_back(Field(builder, field));
    }
    const auto vector = builder->CreateVector(tables);
    const auto start = builder->StartTable();
    builder->AddElement<int16_t>(Slot(0), endianness);
    builder->AddOffset(Slot(1), vector);
    return builder->EndTable(start);
  }

  static flatbuffers::Offset<flatbuffers::Vector<const ArrowPair*>> Pairs(
      flatbuffers::FlatBufferBuilder* builder,
      const std::vector<ArrowPair>& pairs) {
    return builder->CreateVectorOfStructs(pairs);
  }

  std::vector<ArrowField> schema_;
  std::vector<ArrowBlockParts> blocks_;
};

}  // namespace poniente::testing

#endif  // PONIENTE_TESTS_FORMATS_ARROW_FILES_H_
