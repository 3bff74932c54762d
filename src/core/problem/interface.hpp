// The base of abstract classes.
#pragma once

namespace tapline::core {

/// What is used and destroyed through a pointer, and never copied.
class Interface {
public:
    Interface() = default;
    Interface(const Interface&) = delete;
    Interface& operator=(const Interface&) = delete;
    virtual ~Interface() = default;
};

}  // namespace tapline::core
