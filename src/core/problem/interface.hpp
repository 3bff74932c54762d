// The base of abstract classes, and objects of which one is enough.
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

/// The one object of a class, made when it is first asked for, with the one object of each of the others.
template <class T, class... Of>
const T& only() {
    static const T object{only<Of>()...};
    return object;
}
/// The one object of a class that is made with these values.
template <class T, auto... kValues>
const T& only_of() {
    static const T object{kValues...};
    return object;
}

}  // namespace tapline::core
