// SPDX-License-Identifier: Apache-2.0
// Everything.

#ifndef PONIENTE_PONIENTE_H_
#define PONIENTE_PONIENTE_H_

#include "poniente/async_dataset.h"
#include "poniente/batch.h"
#include "poniente/byte_reader.h"
#include "poniente/config.h"
#include "poniente/consume.h"
#include "poniente/dataset_node.h"
#include "poniente/filter.h"
#include "poniente/flat_mixture.h"
#include "poniente/in_memory_dataset.h"
#include "poniente/index_datasets.h"
#include "poniente/index_map.h"
#include "poniente/index_map_dataset.h"
#include "poniente/launcher.h"
#include "poniente/loader.h"
#include "poniente/mapped_dataset.h"
#include "poniente/metrics.h"
#include "poniente/mixture_dataset.h"
#include "poniente/mixture_plan.h"
#include "poniente/order.h"
#include "poniente/permutation.h"
#include "poniente/piecewise_items.h"
#include "poniente/provenance.h"
#include "poniente/quota_tree.h"
#include "poniente/run_trace.h"
#include "poniente/schedule.h"
#include "poniente/score_file.h"
#include "poniente/score_order.h"
#include "poniente/selection.h"
#include "poniente/shuffle.h"
#include "poniente/source_losses.h"
#include "poniente/task.h"
#include "poniente/token_store.h"
#include "poniente/token_store_writer.h"
#include "poniente/token_window.h"
#include "poniente/version.h"

#endif  // PONIENTE_PONIENTE_H_
