// Signals that go as images.
#pragma once

#include <optional>

#include "cpu/wrapped_algorithm.hpp"

namespace tapline::cpu {

/// The images that some problems of signals go as, none for all others.
using AsImages = std::optional<core::Resolved> (*)(const core::Resolved& signals, const core::Request& request);

/// `inner`, of signals, which has other problems than those that go as images of `images`. Pieces of signals are left to it, too.
class SignalsAsImagesAlgorithm final : public WrappedAlgorithm {
public:
    SignalsAsImagesAlgorithm(const core::Algorithm& inner, const core::Algorithm& images, AsImages as_images)
        : WrappedAlgorithm(inner), images_(images), as_images_(as_images) {}

    [[nodiscard]] bool keeps_local(const core::Resolved& problem, const core::Request& request) const override {
        const auto image = as_images_(problem, request);
        return image ? images_.keeps_local(*image, request) : inner().keeps_local(problem, request);
    }
    [[nodiscard]] bool takes_outer(const core::Resolved& problem, const core::Request& request) const override {
        return inner().takes_outer(problem, request) || as_images_(problem, request).has_value();
    }
    [[nodiscard]] core::Support supports(const core::Resolved& problem, const core::Request& request) const override {
        const auto image = as_images_(problem, request);
        return image ? images_.supports(*image, request) : inner().supports(problem, request);
    }
    [[nodiscard]] double estimate_seconds(const core::Resolved& problem, const core::Request& request) const override {
        const auto image = as_images_(problem, request);
        return image ? images_.estimate_seconds(*image, request) : inner().estimate_seconds(problem, request);
    }
    [[nodiscard]] std::unique_ptr<core::Executable> prepare(const core::Resolved& problem, const void* taps,
                                                            const core::Request& request) const override;

private:
    const core::Algorithm& images_;
    AsImages as_images_;
};

}  // namespace tapline::cpu
