// What this library offers: the rungs that ship, one line each, and depthwise correlation.
#include "cuda/api_functions.hpp"
#include "cuda/families/bytes/bytes.hpp"
#include "cuda/families/depthwise/depthwise_engine.hpp"
#include "cuda/families/depthwise/row_sums.hpp"
#include "cuda/families/direct/direct.hpp"
#include "cuda/families/direct/image_direct.hpp"
#include "cuda/families/flattened/flattened.hpp"
#include "cuda/families/image_fft/image_fft.hpp"
#include "cuda/families/image_fft_large/image_fft_large.hpp"
#include "cuda/families/image_planes/image_planes.hpp"
#include "cuda/families/image_rows/image_rows.hpp"
#include "cuda/families/image_tiles/image_tiles.hpp"
#include "cuda/families/integer/digits/integer_group.hpp"
#include "cuda/families/integer/digits/integer_tensor.hpp"
#include "cuda/families/integer/integer_any.hpp"
#include "cuda/families/integer/integer_lines.hpp"
#include "cuda/families/integer/integer_signal.hpp"
#include "cuda/families/integer/passes/integer_checked.hpp"
#include "cuda/families/integer/passes/integer_long.hpp"
#include "cuda/families/overlap_save/checked/overlap_save_checked.hpp"
#include "cuda/families/overlap_save/cluster/overlap_save_cluster.hpp"
#include "cuda/families/overlap_save/large/overlap_save_large.hpp"
#include "cuda/families/overlap_save/long/overlap_save_long.hpp"
#include "cuda/families/overlap_save/overlap_save.hpp"
#include "cuda/families/separable/separable_launch.hpp"
#include "cuda/families/strict_sums/strict_sums.hpp"
#include "cuda/families/tensor/image_tensor.hpp"
#include "cuda/families/tensor/lines/tensor_lines.hpp"
#include "cuda/families/tensor/short/short_rows.hpp"
#include "cuda/families/tensor/tensor.hpp"
#include "cuda/families/transposed/transposed.hpp"
#include "cuda/families/transposed/widened_rows.hpp"
#include "cuda/families/volume/volume.hpp"
#include "cuda/rung.hpp"

namespace tapline::cuda {

const std::vector<const Rung*>& ladder() {
    static const std::vector<const Rung*> rungs = {
        // Signals.
        &direct_few(),
        &direct_window(),
        &direct(),
        &split_taps(),
        &direct_tiles(),
        &direct_across(),
        &direct_columns(),
        &direct_rows(),
        &direct_widened(),
        &direct_words(),
        &direct_bytes(),
        &tensor_direct(),
        &tensor_lines_rung(),
        &short_rows_rung(),
        &overlap_save_rung(),
        &overlap_save_parts(),
        &overlap_save_large(),
        &overlap_save_pairs(),
        &overlap_save_long(),
        &overlap_save_cluster(),
        &overlap_save_checked(),
        &transposed_rows(),
        &widened_rows(),
        &strict_signals(),
        &integer_lines(),
        &integer_tensor(),
        &integer_group(),
        &integer_direct(),
        &integer_transforms(),
        &integer_long(),
        &checked_integer_signals(),
        &integer_signals(),
        // Images.
        &image_direct(),
        &image_tiles(),
        &image_separable(),
        &image_tensor(),
        &image_fft(),
        &image_fft_large(),
        &image_rows(),
        &image_planes(),
        &flattened_images(),
        &strict_images(),
        &integer_tiles(),
        &checked_integer_images(),
        &integer_images(),
        // Volumes.
        &volume_direct(),
        &flattened_volumes(),
        &strict_volumes(),
        &integer_planes(),
        &checked_integer_volumes(),
        &integer_volumes(),
    };
    return rungs;
}

void add_own_functions(cuda_abi::Api& api) {
    api.depthwise_forward = depthwise_forward;
    api.depthwise_workspace_bytes = depthwise_workspace_bytes;
    api.depthwise_backward = depthwise_backward;
    api.sum_rows = sum_rows;
}

}  // namespace tapline::cuda
