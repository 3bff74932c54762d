// Outputs of one problem that were made in two ways, against each other.
#pragma once

#include <cmath>
#include <string>
#include <vector>

namespace tapline::test {

/// L2 norm of the finite values.
template <class T>
double norm_of(const std::vector<T>& values) {
    double squares = 0;
    for (const T x : values) { squares += std::isfinite(x) ? std::pow(static_cast<double>(x), 2) : 0; }
    return std::sqrt(squares);
}

/// Empty, or what is wrong with `got`: another length, NaN or infinity at other places, or finite values that differ by more than
/// `most` in the L2 norm.
template <class T>
std::string difference(const std::vector<T>& got, const std::vector<T>& right, double most) {
    if (got.size() != right.size()) { return "another length"; }
    double squares = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::isfinite(right[i])) {
            squares += std::pow(static_cast<double>(got[i]) - static_cast<double>(right[i]), 2);
        } else if (std::isnan(right[i]) ? !std::isnan(got[i]) : got[i] != right[i]) {
            return "output " + std::to_string(i) + " is finite or another";
        }
    }
    return std::sqrt(squares) <= most ? "" : "off by " + std::to_string(std::sqrt(squares) / most) + " times what is allowed";
}

}  // namespace tapline::test
