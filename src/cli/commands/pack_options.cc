// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "cli/commands/pack_arguments.h"
#include "cli/commands/source_options.h"

namespace poniente::cli {

std::vector<Option> PackOptions() {
  std::vector<Option> options = {
      {"out", "DIR", "where the store goes; required"},
      {"glob", "PATTERN",
       "take only files of folders that match, for example '*.h'", true},
      {"input-format", "text|jsonl|tokens|token-files",
       "what the inputs are, whatever their names; tokens is JSONL with arrays "
       "of ids. Default: token-files if all are stores or token files that "
       "`inspect` knows, jsonl for *.jsonl, *.ndjson, *.json.l (also with .gz, "
       ".zst), else text. What gzip or zstd compressed is read in place"},
      {"split", "files|paragraphs",
       "text: one document per file (default), or cut at blank lines"},
      {"delimiter", "TEXT",
       "text: cut files into documents at lines equal to TEXT"},
      {"field", "NAME",
       "JSONL: the field to take; default text, or tokens or input_ids"},
      {"tokenizer", "bytes|MODEL",
       "what makes ids of text: its bytes (default), or the file of a "
       "SentencePiece model"},
      {"tokenizer-name", "NAME",
       "what the store calls the tokenizer; needed where ids are taken as they "
       "are and nothing names it"},
      {"vocab-size", "N", "every id is below N; needed as --tokenizer-name"},
      {"eod", "ID|none",
       "the id that ends each document; default 256 for bytes, the model's "
       "end of sentence, none for ids as they are"},
      {"skip-bad-lines", "",
       "JSONL: leave out lines that cannot be read, and count them"},
      {"threads", "N",
       "threads that convert, default as many as there are cores, at most 8; "
       "the store is the same for any number"},
      {"direct", "auto|on|off",
       "write tokens past the page cache where the file system allows; auto: "
       "for at least 64 MiB of files of 512 KiB or more on the average"},
      {"part", "i/N",
       "pack part i (from 0) of N of the inputs into DIR/part-i-of-N; default: "
       "as mpirun, srun or torchrun says"},
      {"block-bytes", "SIZE",
       "bytes of the store under one checksum, 4KiB to 64KiB, a power of two; "
       "a reader that verifies reads whole blocks; default 4KiB"},
      {"restart", "", "do not go on where a run that was killed left off"},
      {"checkpoint-bytes", "SIZE",
       "how much is written between two states to go on from; default 256MiB, "
       "and at least every 10 seconds"},
  };
  for (Option& option : WithSourceOptions({})) {
    if (option.name != "glob") options.push_back(std::move(option));
  }
  options.push_back({"json", "", "print the summary as JSON"});
  options.push_back({"quiet", "", "no progress, no summary"});
  return options;
}

}  // namespace poniente::cli
