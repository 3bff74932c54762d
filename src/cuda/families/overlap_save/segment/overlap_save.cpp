// The rung of overlap-save: which sizes of segments it takes.
#include "cuda/families/overlap_save/segment/overlap_save_rung.hpp"

namespace tapline::cuda {
namespace overlap_save {
namespace {

class OverlapSave final : public SegmentRung {
public:
    OverlapSave() : SegmentRung(kWarpCounts, segment_kernel_of, "a multiprocessor") {}
    [[nodiscard]] RungInfo info() const override {
        RungInfo info;
        info.number = "27";
        info.name = "overlap_save";
        info.idea =
            "segments are transformed, multiplied by the filter's spectrum and transformed back in registers; they overlap by what "
            "the filter spoils. One kernel reads the signal once and writes once";
        info.changed =
            "the next segment is copied to shared memory while this one is transformed back; segments of many warps, for longer "
            "filters; "
            "every type, boundary and layout";
        info.requirements = "fewer taps than a segment has samples (2,048 to 32,768); not for strict accuracy";
        info.limited_by = "instructions and shared memory about alike, then the signal that is read and transformed twice";
        info.source = "src/cuda/families/overlap_save/segment/overlap_save.cuh";
        info.takes_pieces = 1;
        info.takes_outer = 1;
        info.is_local = 0;
        return info;
    }
};

}  // namespace
}  // namespace overlap_save

const Rung& overlap_save_rung() {
    static const overlap_save::OverlapSave rung;
    return rung;
}

}  // namespace tapline::cuda
