// An algorithm that is another one for more problems.
#pragma once

#include "core/choice/engine.hpp"

namespace tapline::cpu {

/// By the name of `inner`, which has to outlive this.
class WrappedAlgorithm : public core::Algorithm {
public:
    explicit WrappedAlgorithm(const core::Algorithm& inner) : inner_(inner) {}

    [[nodiscard]] std::string_view name() const final { return inner_.name(); }
    [[nodiscard]] std::string_view summary() const final { return inner_.summary(); }
    [[nodiscard]] bool takes_rank(int rank) const final { return inner_.takes_rank(rank); }
    [[nodiscard]] bool is_local() const final { return inner_.is_local(); }

protected:
    [[nodiscard]] const core::Algorithm& inner() const { return inner_; }

private:
    const core::Algorithm& inner_;
};

}  // namespace tapline::cpu
