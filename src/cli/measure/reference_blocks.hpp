// Whether a result is right: parts of it against the textbook sum, which is computed once for all that solve a problem.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "cli/measure/case_data.hpp"
#include "reference/reference.hpp"

namespace tapline::cli {

struct CheckResult {
    double error = 0;  ///< relative L2 error over the checked outputs; for integers the number of wrong ones
    double tolerance = 0;
    std::int64_t unwritten = 0;  ///< outputs that are still NaN although all data are finite; not for integers
    [[nodiscard]] bool ok() const { return error <= tolerance && unwritten == 0; }
    /// "error 1.2e-03, allowed 2.0e-06", and how many outputs are unwritten.
    [[nodiscard]] std::string describe() const;
};

/// What blocks of a problem's output must be: at the ends (the corners of an image), in the middle and at random places of the
/// first, the last and other signals of the batch or channels of the image, or all of it if that is little work.
class ReferenceBlocks {
public:
    struct Block {
        std::int64_t item = 0;                         ///< signal of the batch, channel of the image
        std::array<std::int64_t, 3> first{}, count{};  ///< outputs along z, y and x
        std::int64_t offset = 0;                       ///< of its first output in the output, elements
        std::int64_t span = 0;                         ///< elements from there past its last output
    };

    /// Sums up the textbook way at once; keeps no reference to the data.
    ReferenceBlocks(const Problem& problem, const CaseData& data);

    /// Of an output.
    [[nodiscard]] std::size_t element_bytes() const { return size_of(output_dtype(problem_)); }

    /// `outputs_of` gives the block.span elements of the output from block.offset on.
    [[nodiscard]] CheckResult compare(Accuracy accuracy, const std::function<const std::byte*(const Block&)>& outputs_of) const;

    /// The same for a whole output in host memory, which was filled with ones before; counts unwritten elements too.
    [[nodiscard]] CheckResult compare(Accuracy accuracy, const std::byte* output) const;

private:
    struct Exact {  // of a block
        std::vector<long double> real;
        std::vector<long double> imag;
        std::vector<__int128> integers;
    };

    [[nodiscard]] Exact exact_of(const Block& block, const CaseData& data) const;
    [[nodiscard]] double tolerance(Accuracy accuracy) const;

    Problem problem_;
    reference::Shape shape_;
    std::vector<Block> blocks_;
    std::vector<Exact> exact_;
};

}  // namespace tapline::cli
