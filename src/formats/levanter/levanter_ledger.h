// SPDX-License-Identifier: Apache-2.0
// A Levanter cache's shard_ledger.json.

#ifndef PONIENTE_FORMATS_LEVANTER_LEVANTER_LEDGER_H_
#define PONIENTE_FORMATS_LEVANTER_LEVANTER_LEDGER_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace poniente::internal {

struct LevanterLedger {
  struct Shard {
    std::string name;  // its folder below the cache
    uint64_t rows = 0;
    std::map<std::string, uint64_t> tokens;  // by field; may lack some
  };

  uint64_t rows = 0;
  // By field; older ledgers have none.
  std::map<std::string, uint64_t> tokens;
  // True: the fields lie in the folders of `shards`, in this order. False: all
  // fields lie in the cache's own folder.
  bool is_sharded = false;
  std::vector<Shard> shards;
  // Empty if it is not stated.
  std::string tokenizer;
};

// Parses a ledger. `path` is for messages. FailedPrecondition if the cache is
// not finished; DataLoss if the ledger contradicts itself.
absl::StatusOr<LevanterLedger> ParseLevanterLedger(const std::string& path,
                                                   std::string_view text);

}  // namespace poniente::internal

#endif  // PONIENTE_FORMATS_LEVANTER_LEVANTER_LEDGER_H_
