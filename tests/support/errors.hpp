// What a call must throw.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "tapline/error.hpp"

namespace tapline::test {

/// `call` throws an Error of this code whose message says all of `words`.
template <class Call>
void expect_error(ErrorCode code, std::initializer_list<std::string_view> words, const Call& call) {
    try {
        call();
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        for (const std::string_view word : words) {
            EXPECT_NE(std::string_view(error.what()).find(word), std::string_view::npos)
                << "'" << word << "' is not in: " << error.what();
        }
        return;
    }
    ADD_FAILURE() << "no error; expected one that says '" << (words.size() == 0 ? "" : *words.begin()) << "'";
}

template <class Call>
void expect_error(ErrorCode code, std::string_view words, const Call& call) {
    expect_error(code, {words}, call);
}

}  // namespace tapline::test
