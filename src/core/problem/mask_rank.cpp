#include "core/problem/mask_rank.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tapline::core {
namespace {

// A quarter of the promise (docs/numerics.md); the passes' own rounding takes the rest.
constexpr double kRemainderF32 = 2.5e-7;
constexpr double kRemainderF64 = 2.5e-15;
// Crosses looked at: two more than are of use, so that the decomposition sees what follows the last singular value.
constexpr int kCrosses = kMaxMaskRank + 2;
// Larger masks would take a second and more to look at.
constexpr std::int64_t kMostTaps = std::int64_t{1} << 22;
// Factors so far apart from the taps that single precision's range matters are left to other algorithms.
constexpr double kLargest = 1e30, kSmallest = 1e-30;

using Column = std::vector<long double>;

long double dot(const Column& a, const Column& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0L); }

void add_scaled(Column& to, long double factor, const Column& from) {
    for (std::size_t i = 0; i < to.size(); ++i) { to[i] += factor * from[i]; }
}

struct Crosses {
    std::vector<Column> columns, rows;  ///< mask = sum of columns[r] x rows[r] + remainder
    long double remainder = 0;          ///< sum of its magnitudes
};

Crosses largest_crosses(std::vector<long double> mask, std::size_t height, std::size_t width) {
    Crosses crosses;
    for (int r = 0; r < kCrosses; ++r) {
        const auto largest = std::max_element(mask.begin(), mask.end(), [](auto a, auto b) { return std::abs(a) < std::abs(b); });
        if (*largest == 0) { break; }
        const auto at = static_cast<std::size_t>(largest - mask.begin());
        Column column(height), row(width);
        for (std::size_t i = 0; i < height; ++i) { column[i] = mask[i * width + at % width] / mask[at]; }
        for (std::size_t j = 0; j < width; ++j) { row[j] = mask[at / width * width + j]; }
        for (std::size_t i = 0; i < height; ++i) {
            for (std::size_t j = 0; j < width; ++j) { mask[i * width + j] -= column[i] * row[j]; }
        }
        crosses.columns.push_back(std::move(column));
        crosses.rows.push_back(std::move(row));
    }
    for (const long double value : mask) { crosses.remainder += std::abs(value); }
    return crosses;
}

// Turns pairs of columns until all are orthogonal (one-sided Jacobi), and `others` with them, so that the sum of their outer
// products stays the same.
void orthogonalise(std::vector<Column>& columns, std::vector<Column>& others) {
    constexpr int kSweeps = 30;
    constexpr long double kOrthogonal = 1e-18L;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        bool turned = false;
        for (std::size_t a = 0; a < columns.size(); ++a) {
            for (std::size_t b = a + 1; b < columns.size(); ++b) {
                const long double aa = dot(columns[a], columns[a]), bb = dot(columns[b], columns[b]);
                const long double ab = dot(columns[a], columns[b]);
                if (std::abs(ab) <= kOrthogonal * std::sqrt(aa * bb)) { continue; }
                turned = true;
                const long double tau = (bb - aa) / (2 * ab);
                const long double t = (tau >= 0 ? 1 : -1) / (std::abs(tau) + std::sqrt(1 + tau * tau));
                const long double c = 1 / std::sqrt(1 + t * t), s = c * t;
                for (auto* set : {&columns, &others}) {
                    for (std::size_t i = 0; i < (*set)[a].size(); ++i) {
                        const long double x = (*set)[a][i], y = (*set)[b][i];
                        (*set)[a][i] = c * x - s * y;
                        (*set)[b][i] = s * x + c * y;
                    }
                }
            }
        }
        if (!turned) { return; }
    }
}

// The singular value decomposition of a sum of outer products: rows become orthonormal, columns orthogonal, largest first.
void decompose(std::vector<Column>& columns, std::vector<Column>& rows) {
    for (std::size_t a = 0; a < rows.size(); ++a) {  // Gram-Schmidt, twice is enough; what is taken off a row goes to the columns
        for (int pass = 0; pass < 2; ++pass) {
            for (std::size_t b = 0; b < a; ++b) {
                const long double along = dot(rows[a], rows[b]);
                add_scaled(rows[a], -along, rows[b]);
                add_scaled(columns[b], along, columns[a]);
            }
        }
        const long double length = std::sqrt(dot(rows[a], rows[a]));
        for (long double& value : rows[a]) { value = length == 0 ? 0 : value / length; }
        for (long double& value : columns[a]) { value *= length; }
    }
    orthogonalise(columns, rows);
    std::vector<std::size_t> order(columns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return dot(columns[a], columns[a]) > dot(columns[b], columns[b]); });
    std::vector<Column> sorted_columns, sorted_rows;
    for (const std::size_t r : order) {
        sorted_columns.push_back(columns[r]);
        sorted_rows.push_back(rows[r]);
    }
    columns = std::move(sorted_columns);
    rows = std::move(sorted_rows);
}

// Rows with sum |row| in [1/4, 1/2): then no sum over a row of the image, which the row pass makes, is larger than the image's
// largest value.
void balance(Column& column, Column& row) {
    long double sum = 0;
    for (const long double value : row) { sum += std::abs(value); }
    if (sum == 0) { return; }
    const int exponent = std::ilogb(sum) + 2;
    for (long double& value : row) { value = std::ldexp(value, -exponent); }
    for (long double& value : column) { value = std::ldexp(value, exponent); }
}

double rounded(long double value, Dtype dtype) {
    return dtype == Dtype::f32 ? static_cast<double>(static_cast<float>(value)) : static_cast<double>(value);
}

int sign_of(long double value) { return value > 0 ? 1 : (value < 0 ? -1 : 0); }

// Zeros where the mask has nothing but zeros, whatever the decomposition left there.
void clear_empty(const std::vector<long double>& mask, std::size_t height, std::size_t width, SeparableMask& s) {
    for (std::size_t i = 0; i < height; ++i) {
        const auto* row = mask.data() + i * width;
        if (std::any_of(row, row + width, [](long double tap) { return tap != 0; })) { continue; }
        for (std::size_t r = 0; r < static_cast<std::size_t>(s.rank); ++r) { s.columns[r * height + i] = 0; }
    }
    for (std::size_t j = 0; j < width; ++j) {
        bool empty = true;
        for (std::size_t i = 0; i < height; ++i) { empty = empty && mask[i * width + j] == 0; }
        for (std::size_t r = 0; empty && r < static_cast<std::size_t>(s.rank); ++r) { s.rows[r * width + j] = 0; }
    }
}

struct Fit {
    long double remainder = 0;  ///< sum |tap - sum of products|
    long double products = 0;   ///< sum of |products|: much more than sum |taps| would mean cancellation
    bool same_signs = true;
};

Fit fit_of(const std::vector<long double>& mask, std::size_t height, std::size_t width, const SeparableMask& s) {
    Fit fit;
    for (std::size_t i = 0; i < height; ++i) {
        for (std::size_t j = 0; j < width; ++j) {
            long double sum = 0;
            for (std::size_t r = 0; r < static_cast<std::size_t>(s.rank); ++r) {
                const long double product = static_cast<long double>(s.columns[r * height + i]) * s.rows[r * width + j];
                sum += product;
                fit.products += std::abs(product);
            }
            fit.remainder += std::abs(mask[i * width + j] - sum);
            fit.same_signs = fit.same_signs && sign_of(mask[i * width + j]) == sign_of(sum);
        }
    }
    return fit;
}

}  // namespace

SeparableMask separate(const void* taps, std::int64_t height, std::int64_t width, Dtype dtype) {
    if (height * width > kMostTaps) { return {}; }
    const auto h = static_cast<std::size_t>(height), w = static_cast<std::size_t>(width);
    std::vector<long double> mask(h * w);
    long double sum = 0, largest = 0;
    for (std::size_t t = 0; t < mask.size(); ++t) {
        mask[t] = dtype == Dtype::f32 ? static_cast<const float*>(taps)[t] : static_cast<const double*>(taps)[t];
        sum += std::abs(mask[t]);
        largest = std::max(largest, std::abs(mask[t]));
    }
    if (!(largest >= kSmallest && sum <= kLargest)) { return {}; }
    const long double allowed = sum * (dtype == Dtype::f32 ? kRemainderF32 : kRemainderF64);
    Crosses crosses = largest_crosses(mask, h, w);
    if (crosses.remainder > allowed) { return {}; }
    decompose(crosses.columns, crosses.rows);
    SeparableMask s;
    for (std::size_t r = 0; r < std::min<std::size_t>(kMaxMaskRank, crosses.columns.size()); ++r) {
        balance(crosses.columns[r], crosses.rows[r]);
        for (const long double value : crosses.columns[r]) { s.columns.push_back(rounded(value, dtype)); }
        for (const long double value : crosses.rows[r]) { s.rows.push_back(rounded(value, dtype)); }
        ++s.rank;
        clear_empty(mask, h, w, s);
        const Fit fit = fit_of(mask, h, w, s);
        if (fit.remainder > allowed || fit.products > 2 * sum) { continue; }
        s.exact_specials = s.rank == 1 && fit.same_signs;
        return s;
    }
    return {};
}

}  // namespace tapline::core
