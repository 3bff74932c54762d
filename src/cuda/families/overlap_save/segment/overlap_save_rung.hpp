// What rungs of overlap-save whose segments differ in their warps have in common: sizes, policies, tables, launches.
#pragma once

#include "cuda/families/overlap_save/segment/overlap_save_segments.hpp"

namespace tapline::cuda::overlap_save {

/// Segments of each of `warp_counts` warps; the size that is predicted to be the fastest is taken unless a policy names one.
class SegmentRung : public Rung, public MakesTables {
public:
    [[nodiscard]] Refusal supports(const Problem& p, const cuda_abi::Device& device) const override;
    [[nodiscard]] double estimate_seconds(const Problem& p, const cuda_abi::Device& device) const override;
    [[nodiscard]] std::vector<Policy> policies(const Problem& p, const cuda_abi::Device& device) const override;
    [[nodiscard]] bool takes_filters_in_turn() const override { return true; }
    [[nodiscard]] std::string describe(const Prepared& prepared) const override;
    [[nodiscard]] std::int64_t granularity(const Prepared& prepared) const override;
    [[nodiscard]] std::int64_t workspace_bytes(const Prepared& prepared) const override;
    [[nodiscard]] std::unique_ptr<const Chosen> load(const Prepared& prepared) const override;
    [[nodiscard]] std::vector<std::byte> tables(Prepared& prepared) const override;
    [[nodiscard]] std::int64_t filled_table_bytes(const Prepared& prepared) const override;
    void fill_tables(const Prepared& prepared, void* to, cudaStream_t stream) const override;
    void launch(const Prepared& prepared, const Job& job, const OnDevice& on_device, void* workspace,
                cudaStream_t stream) const override;
    [[nodiscard]] std::int64_t made_table_bytes(const Prepared& prepared) const override;
    [[nodiscard]] double making_seconds(const Problem& p, const cuda_abi::Device& device) const override;
    void load_tables(const Prepared&) const override {}  // load() does
    void launch_tables(const Prepared& prepared, void* tables, void* taps, const GivenFilters& given,
                       cudaStream_t stream) const override;

protected:
    /// `kernel_of`: for those numbers of warps. `where`: a segment is transformed, for messages.
    SegmentRung(const Head& head, const RungInfo& facts, std::span<const int> warp_counts, KernelOf kernel_of, std::string where)
        : Rung(head, facts), warp_counts_(warp_counts), kernel_of_(kernel_of), where_(std::move(where)) {}

private:
    std::span<const int> warp_counts_;
    KernelOf kernel_of_;
    std::string where_;
};

}  // namespace tapline::cuda::overlap_save
