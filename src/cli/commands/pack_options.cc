// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "cli/commands/pack_arguments.h"
#include "cli/commands/source_options.h"

namespace poniente::cli {

std::vector<Option> PackOptions() {
  std::vector<Option> options = {
      {"out", "DIR", "where the store goes; required"},
      {"glob", "PATTERN",
       "in folders, take only files that match, for example '*.h'", true},
      {"input-format", "text|jsonl|tokens|messages|token-files",
       "what the inputs are, whatever their names; tokens is JSONL with arrays "
       "of ids, messages is JSONL with chats. Default: token-files if all are "
       "stores or token files that "
       "`inspect` recognizes, jsonl for *.jsonl, *.ndjson, *.json.l (also with "
       ".gz, .zst), else text. Files compressed by gzip or zstd are read in "
       "place"},
      {"split", "files|paragraphs",
       "text: one document per file (default), or cut at blank lines"},
      {"delimiter", "TEXT",
       "text: cut files into documents at lines equal to TEXT"},
      {"field", "NAME",
       "JSONL: the field to take; default: text, for ids tokens or input_ids, "
       "for chats messages"},
      {"loss-roles", "ROLES",
       "chats: roles whose messages have loss, separated by commas; default "
       "assistant"},
      {"turn-begin", "TEXT",
       "chats: the text before each message, where {role} stands for its role "
       "and \\n for a line end; default '<|im_start|>{role}\\n'"},
      {"turn-end", "TEXT",
       "chats: the text after each message; default '<|im_end|>\\n'"},
      {"loss-mask", "keep|drop",
       "whether the store gets the loss masks of the inputs: of chats, of "
       "loss_spans and loss_mask in JSONL, of token stores; default keep"},
      {"tokenizer", "bytes|MODEL",
       "how text becomes ids: as bytes (default), or by the SentencePiece "
       "model in the file MODEL"},
      {"tokenizer-name", "NAME",
       "the tokenizer's name in the store; required for ids whose files do not "
       "state it"},
      {"tokenizer-library", "TEXT",
       "for ids: the library that made them, with its version, recorded in the "
       "store; default: what the token files state"},
      {"vocab-size", "N",
       "every id is below N; required for ids whose files do not state it"},
      {"eod", "ID|none",
       "the id that ends each document; default: 256 for bytes, the model's "
       "end of sentence, the id that token files state, else none"},
      {"skip-bad-lines", "",
       "JSONL: leave out lines that cannot be read, and count them"},
      {"threads", "N",
       "threads that convert; default: the number of cores, at most 8; the "
       "store is the same for any number"},
      {"direct", "auto|on|off",
       "write tokens past the page cache where the file system allows it; "
       "auto: if the inputs have at least 64 MiB, in files of at least 512 KiB "
       "on average"},
      {"part", "i/N",
       "pack part i (from 0) of N of the inputs into DIR/part-i-of-N; default: "
       "the rank that mpirun, srun or torchrun has set"},
      {"block-bytes", "SIZE",
       "bytes of the store under one checksum, 4KiB to 64KiB, a power of two; "
       "a reader that verifies reads whole blocks; default 4KiB"},
      {"growing", "",
       "let runs read the store while it is packed (growing = true in their "
       "configuration): what is durable is published every 3 seconds"},
      {"restart", "",
       "do not resume a run that was killed, but start from the beginning"},
      {"checkpoint-bytes", "SIZE",
       "bytes written between two checkpoints; default 256MiB; there is also "
       "one at least every 10 seconds"},
  };
  for (Option& option : WithSourceOptions({})) {
    if (option.name != "glob") options.push_back(std::move(option));
  }
  options.push_back({"json", "", "print the summary as JSON"});
  options.push_back({"quiet", "", "no progress, no summary"});
  return options;
}

}  // namespace poniente::cli
