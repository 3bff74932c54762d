#include "cuda/families/integer/integer_direct.cuh"

namespace tapline::cuda::integer {

DirectKernel direct_kernel(Sums sums) {
    switch (sums) {
        case Sums::low32:
            return &direct_sums_kernel<Sums::low32>;
        case Sums::wide32:
            return &direct_sums_kernel<Sums::wide32>;
        case Sums::low64:
            return &direct_sums_kernel<Sums::low64>;
        default:
            return nullptr;
    }
}

std::size_t direct_shared_bytes(Sums sums) {
    const auto of_warp = [&]<Sums kSums>(std::integral_constant<Sums, kSums>) {
        return Direct<kSums>::kOfWarp * sizeof(typename Direct<kSums>::X);
    };
    return kDirectWarps * (sums == Sums::low32    ? of_warp(std::integral_constant<Sums, Sums::low32>{})
                           : sums == Sums::wide32 ? of_warp(std::integral_constant<Sums, Sums::wide32>{})
                                                  : of_warp(std::integral_constant<Sums, Sums::low64>{}));
}

int direct_outputs(Sums sums) { return sums == Sums::low32 ? Direct<Sums::low32>::kTile : Direct<Sums::low64>::kTile; }

}  // namespace tapline::cuda::integer
