// What the lanes of a warp hold of the two factors of a product of matrices.
#pragma once

#include <cstring>

#include "gpu/on_host/cuda_on_host.hpp"

namespace tapline::test::on_host {

class WarpFragments {
public:
    struct Own {
        unsigned a[4];
        uint2 b;
    };
    // By all lanes of a warp.
    WarpFragments(const unsigned (&a)[4], uint2 b) {
        const Own own = {{a[0], a[1], a[2], a[3]}, b};
        share_in_warp(&own, sizeof own, all_);
    }
    [[nodiscard]] Own of(int lane) const {
        Own theirs;
        std::memcpy(&theirs, all_[lane], sizeof theirs);
        return theirs;
    }

private:
    char all_[32][64];
};

}  // namespace tapline::test::on_host
