// One case of `tapline bench`: a problem with its data, solved by some algorithms, each checked and then timed beside the copy.
#pragma once

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/measure/cuda_device.hpp"
#include "cli/measure/reference_blocks.hpp"

namespace tapline::cli {

/// What all cases of a run have in common.
struct BenchSetup {
    Accuracy accuracy = Accuracy::standard;
    std::string device = "cpu";
    std::string algorithms = "auto";
    double within = std::numeric_limits<double>::infinity();
    std::int64_t threads = 0;
    bool rounded_taps = false;
    bool separable = false;
    bool host = false;
    double seconds = 1;
    [[nodiscard]] bool on_gpu() const { return names_cuda(device); }
    [[nodiscard]] PlanOptions plan_options(const std::string& algorithm) const {
        return {.device = device, .accuracy = accuracy, .algorithm = algorithm, .threads = static_cast<int>(threads)};
    }
};

class BenchCase {
public:
    /// `gpu`: null without one; outlives this.
    BenchCase(const BenchSetup& setup, const Problem& problem, const CudaDevice* gpu);

    /// The algorithms to time: those that setup.algorithms names and that can. Throws a usage error for a name that is none.
    [[nodiscard]] std::vector<std::string> entries() const;

    /// A line of the JSON. Throws Error for a wrong result.
    [[nodiscard]] nlohmann::ordered_json run(const std::string& algorithm);

private:
    [[nodiscard]] double check(const Plan& plan);
    /// Of what is in data_.output.
    [[nodiscard]] double require_right(const Plan& plan) const;

    const BenchSetup& setup_;
    Problem problem_;
    const CudaDevice* gpu_;
    CaseData data_;
    ReferenceBlocks expected_;
    std::optional<CudaProblem> on_gpu_;
    Plan automatic_;
};

/// `images`: the table is about images.
void print_bench_header(std::FILE* to, bool images);
void print_bench_row(std::FILE* to, const nlohmann::ordered_json& json);

}  // namespace tapline::cli
