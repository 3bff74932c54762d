#include "core/stream_copy.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace tapline::core {
namespace {

TEST(StreamCopy, EveryAlignmentAndLengthAndNothingBeside) {
    std::vector<unsigned char> from(400);
    for (std::size_t i = 0; i < from.size(); ++i) { from[i] = static_cast<unsigned char>(1 + i % 251); }
    for (std::size_t to_offset = 0; to_offset < 17; ++to_offset) {
        for (const std::size_t from_offset : {0, 1, 8}) {
            for (std::size_t bytes = 0; bytes < 200; ++bytes) {
                std::vector<unsigned char> to(300, 0);
                std::vector<unsigned char> wanted(300, 0);
                for (std::size_t i = 0; i < bytes; ++i) { wanted[to_offset + 32 + i] = from[from_offset + i]; }
                stream_copy(to.data() + 32 + to_offset, from.data() + from_offset, bytes);
                ASSERT_EQ(to, wanted) << bytes << " bytes from offset " << from_offset << " to " << to_offset;
            }
        }
    }
}

}  // namespace
}  // namespace tapline::core
