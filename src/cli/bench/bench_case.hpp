// One benchmark case: check the result, then time it beside the copy.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/shared/elements.hpp"
#include "tapline/plan.hpp"

namespace tapline::cli {

/// Random signals and taps of a problem, and room for its output and for the copy.
struct BenchData {
    Bytes signal;
    Bytes taps;
    Bytes output;
    Bytes copied;  ///< as large as the signal
};

/// Floating values are uniform in [-1, 1); integers so small that no sum can overflow. The same data for the same problem.
/// Every page of signal and taps, and of `copied` if it is wanted, is touched.
BenchData make_bench_data(const Problem& problem, bool with_copy = true);

/// Rounds the taps, f32, to the type of the signal, f16 or bf16, as taps are where all else is of that type.
void round_taps(BenchData& data, const Problem& problem);

/// Elements as above; f16 and bf16 too.
Bytes random_bytes(Dtype dtype, std::int64_t count, std::uint64_t seed);

struct CheckResult {
    double error = 0;  ///< relative L2 error over the checked outputs; for integers the number of wrong ones
    double tolerance = 0;
    std::int64_t unwritten = 0;  ///< outputs that are still NaN although all data are finite; not for integers
    [[nodiscard]] bool ok() const { return error <= tolerance && unwritten == 0; }
    /// "error 1.2e-03, allowed 2.0e-06", and how many outputs are unwritten.
    [[nodiscard]] std::string describe() const;
};

/// What blocks of a problem's output must be: at both ends, in the middle and at random places of the first, the last and
/// other rows, or all of it if that is little work. Signals and output are packed.
class ReferenceBlocks {
public:
    struct Block {
        std::int64_t row;
        std::int64_t first;  ///< output of the row
        std::int64_t count;
        std::int64_t offset;  ///< of its first output in the packed output, in elements
    };

    /// Sums up the textbook way at once; keeps no reference to the data.
    ReferenceBlocks(const Problem& problem, const BenchData& data);

    [[nodiscard]] const std::vector<Block>& blocks() const { return blocks_; }

    /// `outputs_of` gives a block's outputs, elements of the problem's output type side by side.
    [[nodiscard]] CheckResult compare(Accuracy accuracy, const std::function<const std::byte*(const Block&)>& outputs_of) const;

    /// The same for a whole output in host memory, which was filled with ones before; counts unwritten elements too.
    [[nodiscard]] CheckResult compare(Accuracy accuracy, const std::byte* output) const;

private:
    struct Exact {
        std::vector<long double> real;
        std::vector<long double> imag;
        std::vector<__int128> integers;
    };

    Problem problem_;
    std::vector<Block> blocks_;
    std::vector<Exact> exact_;  // of each block
};

/// Executes once into an output full of NaN and compares.
CheckResult check(const Plan& plan, const BenchData& data, const ReferenceBlocks& expected);

struct Timing {
    double median = 0;
    double least = 0;
    double most = 0;
    int runs = 0;
};

struct CaseTimes {
    Timing convolution;
    double copy_seconds = 0;            ///< std::memcpy of the signal on the plan's threads, median
    double streaming_copy_seconds = 0;  ///< with streaming stores
};

/// Convolution, copy and streaming copy take turns for about `seconds`, at least three times each. Short ones are repeated
/// inside one measurement, so that the clock does not count.
CaseTimes time_case(const Plan& plan, const BenchData& data, double seconds);

/// The same for any `run` whose input is `in`, as large as `copied`, and which is predicted to take so long.
CaseTimes time_beside_copy(const std::function<void()>& run, const Bytes& copied, const Bytes& in, int threads,
                           double predicted_seconds, double seconds);

/// Multiplications and additions of the textbook sum for one execution.
double textbook_flops(const Problem& problem);

}  // namespace tapline::cli
