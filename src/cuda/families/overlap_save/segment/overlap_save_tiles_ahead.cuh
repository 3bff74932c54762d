// Tiles of one warp a segment whose samples are on their way while other tiles are computed.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save_tile_samples.cuh"
#include "cuda/primitives/bulk_copy.cuh"

namespace tapline::cuda::overlap_save {

/// Whether code is made for GPUs without such barriers, which have no room for the stage either: kernels are compiled to nothing.
TAPLINE_HOST_DEVICE constexpr bool lacks_arrivals() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    return true;
#else
    return false;
#endif
}
/// A barrier at which so many arrive in each phase.
__device__ __forceinline__ void initialize_arrivals([[maybe_unused]] CopyBarrier* barrier, [[maybe_unused]] int arrivals) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
#endif
}
/// Arrives there once this thread's copies so far have.
__device__ __forceinline__ void arrive_with_copies([[maybe_unused]] CopyBarrier* barrier) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
#endif
}

/// Teams of one warp a segment whose samples come ahead. A block's tiles are numbered through, tile s being that of team s % teams.
/// Its samples come to place s % slots of the stage, where those of tile s - slots lay: that one's team asks for them once it has
/// read its own, and this one's waits until they have arrived. So samples come while another team computes. One team (no slots)
/// fetches its own. What is kept of 16 tiles: that of s + slots + teams is written while s is computed.
template <class X, int kSamples>
class TilesAhead {
public:
    /// `arrivals`: a barrier for each team.
    __device__ __forceinline__ TilesAhead(char* kept, CopyBarrier* arrivals, const TeamThread<1>& who, int teams)
        : first_(kept), arrivals_(arrivals), who_(who), teams_(teams) {}

    [[nodiscard]] __device__ __forceinline__ KeptTile& of(std::uint32_t turn) const { return kept(number(turn)); }
    [[nodiscard]] __device__ __forceinline__ bool exists(const Segments& g, std::uint32_t turn) const {
        return exists_number(g, number(turn));
    }
    /// By all threads of the block; afterwards all know the first tiles, whose samples come.
    __device__ __forceinline__ void start(const Arguments& a, const Segments& g, char* stage) const {
        if (is_writer()) {
            initialize_arrivals(arrivals_ + team(), 32 * kAheadLines<X> + 1);
            for (int q = team() + slots(); q >= 0; q -= teams_) {
                const std::int64_t its = blockIdx.x + static_cast<std::int64_t>(q) * gridDim.x;
                kept(static_cast<std::uint32_t>(q)).set(a, g, TileDigits::at(g, its), its);
            }
        }
        __syncthreads();
        const int first = team() + slots() - teams_;
        if (slots() > 0 && first >= 0) { fetch(a, g, stage, static_cast<std::uint32_t>(first)); }
    }
    /// Waits for the samples of the team's tile, which it returns.
    template <class Sync>
    [[nodiscard]] __device__ __forceinline__ const char* wait_for(const Arguments& a, const Segments& g, char* stage,
                                                                  std::uint32_t turn, const Sync& sync) const {
        if (slots() == 0) {
            fill(a, g, stage, number(turn));
            commit_copies();
            wait_copies<0>();
            sync();
        } else {
            wait(arrivals_ + team(), turn & 1);
        }
        return place(g, stage, number(turn));
    }
    /// Asks for those of the tile that comes next to their place, all threads of the team having read what was there, and finds out
    /// where a later one lies.
    __device__ __forceinline__ void ask(const Arguments& a, const Segments& g, char* stage, std::uint32_t turn) const {
        const std::uint32_t next = number(turn) + static_cast<std::uint32_t>(slots());
        if (slots() > 0) { fetch(a, g, stage, next); }
        if (is_writer()) {
            const KeptTile& before = kept(next);
            kept(next + static_cast<std::uint32_t>(teams_))
                .set(a, g, before.digits.plus(g, g.after), before.number + static_cast<std::int64_t>(teams_) * gridDim.x);
        }
    }

private:
    [[nodiscard]] __device__ __forceinline__ int team() const { return who_.anew().team(); }
    [[nodiscard]] __device__ __forceinline__ int slots() const { return teams_ / 2; }
    [[nodiscard]] __device__ __forceinline__ bool is_writer() const { return who_.own_line() == 0 && who_.own_thread() == 0; }
    [[nodiscard]] __device__ __forceinline__ std::uint32_t number(std::uint32_t turn) const {
        return turn * static_cast<std::uint32_t>(teams_) + static_cast<std::uint32_t>(team());
    }
    [[nodiscard]] __device__ __forceinline__ KeptTile& kept(std::uint32_t number) const {
        return *reinterpret_cast<KeptTile*>(first_ + kTileBytes * (number % kMostSegments));
    }
    [[nodiscard]] static __device__ __forceinline__ bool exists_number(const Segments& g, std::uint32_t number) {
        return blockIdx.x + static_cast<std::int64_t>(number) * gridDim.x < g.rows.tiles;
    }
    [[nodiscard]] __device__ __forceinline__ char* place(const Segments& g, char* stage, std::uint32_t number) const {
        const std::uint32_t slot = slots() > 1 ? number % 2 : 0;
        return stage + slot * static_cast<std::uint32_t>(kAheadLines<X> * kSamples * g.rows.input_bytes);
    }
    __device__ __forceinline__ bool fill(const Arguments& a, const Segments& g, char* stage, std::uint32_t number) const {
        const TeamThread<1> of = who_.anew();
        return fill_stage<kSamples, kAheadLines<X>, 32 * kAheadLines<X>>(a, g, place(g, stage, number), kept(number),
                                                                         32 * of.own_line() + of.own_thread());
    }
    /// Starts a tile's copies, whose arrival its team waits for. Who wrote where the tile lies arrives besides: for what it wrote.
    __device__ __forceinline__ void fetch(const Arguments& a, const Segments& g, char* stage, std::uint32_t number) const {
        if (!exists_number(g, number)) { return; }
        // That of the team whose tile it is, found without a division.
        const int its_team = team() + slots() - (team() + slots() >= teams_ ? teams_ : 0);
        CopyBarrier* const arrivals = arrivals_ + its_team;
        if (fill(a, g, stage, number)) {
            // What a thread wrote itself arrives with the thread, not with its copies.
            commit_copies();
            wait_copies<0>();
            arrive(arrivals);
        } else {
            arrive_with_copies(arrivals);
        }
        if (is_writer()) { arrive(arrivals); }
    }
    char* first_;
    CopyBarrier* arrivals_;
    TeamThread<1> who_;
    int teams_;
};

}  // namespace tapline::cuda::overlap_save
