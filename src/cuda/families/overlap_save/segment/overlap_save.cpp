// The rung of overlap-save: which sizes of segments it takes.
#include "cuda/families/overlap_save/segment/overlap_save_rung.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

class OverlapSave final : public SegmentRung {
public:
    static constexpr Head kHead{"27", "overlap_save", "", R"(
Idea: segments are transformed, multiplied by the filter's spectrum and transformed back in registers; they overlap by what the
filter spoils. One kernel reads the signal once and writes once
Changed: the next segment is copied to shared memory while this one is transformed back; segments of many warps, for longer
filters; every type, boundary and layout
Requires: fewer taps than a segment has samples (2,048 to 32,768); not for strict accuracy
Limited by: instructions and shared memory about alike, then the signal that is read and transformed twice
)"};

    OverlapSave()
        : SegmentRung(kHead,
                      {.source = "src/cuda/families/overlap_save/segment/overlap_save.cuh",
                       .takes_pieces = 1,
                       .takes_outer = 2,
                       .is_local = 0},
                      kWarpCounts, segment_kernel_of, "a multiprocessor") {}
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_rung() { return core::only<overlap_save::OverlapSave>(); }

}  // namespace tapline::cuda
