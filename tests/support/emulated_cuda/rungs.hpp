// The emulated engine's rungs: what they are called, and for which problems they are.
#pragma once

#include <cstdlib>
#include <iterator>

#include "cuda/abi.hpp"

namespace tapline::emulated {

// What ships, and behind it the lessons.
enum RungNumber : std::int32_t {
    kPieces,
    kWithWorkspace,
    kWhole,
    kImage,
    kImageWhole,
    kImageAnyhow,  // pixels of any type that lie in any way
    kVolume,
    kRungs,
    kLesson = kRungs,
    kImageLesson,
    kAll
};

// Whether images of any layout and volumes are solved, too; else the tests see what becomes of those that no rung takes.
inline bool takes_any_layout() { return std::getenv("TAPLINE_EMULATED_ANY_LAYOUT") != nullptr; }

inline bool is_of_images(std::int32_t number) {
    return number == kImage || number == kImageWhole || number == kImageAnyhow || number == kImageLesson;
}
inline bool takes_whole(std::int32_t number) { return number == kWhole || number == kImageWhole; }

inline cuda_abi::RungInfo rung(std::int32_t number) {
    cuda_abi::RungInfo info;
    constexpr const char* kNames[] = {"emulated_pieces", "emulated_workspace",   "emulated_whole",
                                      "emulated_image",  "emulated_image_whole", "emulated_image_anyhow",
                                      "emulated_volume", "emulated_lesson",      "emulated_image_lesson"};
    static_assert(std::size(kNames) == kAll);
    info.name = kNames[number];
    info.idea = "every output by itself, on the host";
    info.rank = number == kVolume ? 3 : is_of_images(number) ? 2 : 1;
    info.takes_pieces = takes_whole(number) ? 0 : 1;
    return info;
}

}  // namespace tapline::emulated
