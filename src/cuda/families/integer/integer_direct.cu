#include "cuda/families/integer/integer_direct.cuh"

namespace tapline::cuda::integer {

namespace {

template <class Body>
auto with_sums(Sums sums, const Body& body) {
    switch (sums) {
        case Sums::low32:
            return body(std::integral_constant<Sums, Sums::low32>{});
        case Sums::wide32:
            return body(std::integral_constant<Sums, Sums::wide32>{});
        case Sums::low64:
            return body(std::integral_constant<Sums, Sums::low64>{});
        default:
            return decltype(body(std::integral_constant<Sums, Sums::low32>{}))();
    }
}

}  // namespace

DirectKernel direct_kernel(Sums sums) {
    return with_sums(sums, [](auto kind) -> DirectKernel { return &direct_sums_kernel<decltype(kind)::value>; });
}

std::size_t direct_shared_bytes(Sums sums) {
    return with_sums(sums, [](auto kind) {
        using Kind = Direct<decltype(kind)::value>;
        return kDirectWarps * Kind::kOfWarp * sizeof(typename Kind::X);
    });
}

int direct_outputs(Sums sums) { return sums == Sums::low32 ? Direct<Sums::low32>::kTile : Direct<Sums::low64>::kTile; }

}  // namespace tapline::cuda::integer
