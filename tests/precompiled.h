// SPDX-License-Identifier: Apache-2.0
// What most tests include, compiled once for all of them; see
// src/precompiled.h.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "src/precompiled.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_seed.h"
