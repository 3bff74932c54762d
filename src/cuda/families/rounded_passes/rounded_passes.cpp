// Rounded passes: what is taken, weights as bytes, tiles.
#include "cuda/families/rounded_passes/rounded_passes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda/families/common/types.hpp"
#include "cuda/launch.hpp"

namespace tapline::cuda::rounded_passes {
namespace {

using cuda_abi::Code;
using cuda_abi::RoundedPass;
using cuda_abi::RoundedPasses;

constexpr std::int64_t kMostSide = std::int64_t{1} << 30;
constexpr double kTwoTo32 = 4294967296.0;
constexpr int kMostFraction[2] = {24, 16};  // bits of a sum behind its point: what is left of 32 beside a sample's
// What passes take (H200, 4096 x 4096 at random): beside a launch's seconds, times that of a copy, by the bytes of a sample, and as
// much again for each further product of a line. Whole weights u8 52, 62 with 33 of them and 104 with 101, i16 with 33 103 us; real
// ones, some of whose sums are in doubt, u8 98 with 25 and 122 with 41, i16 169 and with 49 285.
constexpr double kWholeSeconds = 6e-6, kRealSeconds = 9e-6;
constexpr double kWholeCopies[2] = {5.9, 4.8}, kWholeStepCopies[2] = {1.8, 2};
constexpr double kRealCopies[2] = {13.7, 12.5}, kRealStepCopies[2] = {4, 10};
// Of sums in double, in multiply-adds of an output: of its own, by the bytes of a sample, of a pass and of a tap. i16 under 9 x 9,
// 25 x 25 and 49 x 49 taps 79, 130 and 228 us, u8 under 9 x 9 73; 2,912 x 2,912 i16 under 9, 33 and 73 taps of one axis 27, 43
// and 77.
constexpr double kDoublesSeconds = 6e-6;
constexpr double kOutputCost[2] = {2, 8}, kPassCost = 20, kTapCost = 1.35;
constexpr double kTwoTo52 = 4503599627370496.0;
constexpr double kLeastOffset = 4;  // which rounding sums down, twice, cannot reach

[[noreturn]] void refuse(const char* why) { throw CudaError(Code::unsupported, std::string("rounded passes: ") + why); }

struct Samples {
    int bytes;
    bool has_sign;
    [[nodiscard]] double largest() const { return bytes == 1 ? 255 : has_sign ? 32768 : 65535; }
    [[nodiscard]] double flip() const { return has_sign ? 32768 : 0; }
};

bool is_whole(const RoundedPass& pass) {
    const bool whole = std::all_of(pass.weights, pass.weights + pass.taps,
                                   [](double w) { return w == std::nearbyint(w) && w >= -127 && w <= 127; });
    return whole && pass.divisor >= 1 && pass.divisor < kMostSide && pass.divisor == std::nearbyint(pass.divisor);
}

// The bytes of a weight, -128 to 127 each, lowest first.
using Bytes = std::array<std::int8_t, kAllParts>;
using WeightBytes = std::vector<Bytes>;

// false where it takes more.
bool bytes_of(std::int64_t number, Bytes& to) {
    for (std::int8_t& byte : to) {
        const std::int64_t low = ((number & 255) ^ 128) - 128;
        byte = static_cast<std::int8_t>(low);
        number = (number - low) / 256;
    }
    return number == 0;
}

void check_whole(const RoundedPass& pass, const Samples& samples) {
    double magnitude = 0;
    for (int t = 0; t < pass.taps; ++t) { magnitude += std::fabs(pass.weights[t]); }
    const double largest = magnitude * samples.largest();
    // The quotient by a product with the inverse is exact up to there.
    if (largest >= kMostSide || (pass.divisor > 1 && largest * pass.divisor >= kTwoTo32)) { refuse("sums are too large"); }
}

void set_whole(PassArguments& to, WeightBytes& bytes, const RoundedPass& pass, const Samples& samples) {
    double sum = 0;
    for (int t = 0; t < pass.taps; ++t) {
        sum += pass.weights[t];
        bytes[static_cast<std::size_t>(t)][0] = static_cast<std::int8_t>(pass.weights[t]);
    }
    to.offset = static_cast<std::uint32_t>(-static_cast<std::int64_t>(sum * samples.flip()));
    const auto divisor = static_cast<std::uint64_t>(pass.divisor);
    to.inverse = divisor == 1 ? 0 : static_cast<std::uint32_t>(((std::uint64_t{1} << 32) + divisor - 1) / divisor);
}

// With so many bits behind the point; false where sums or weights have not that many.
bool set_real(PassArguments& to, WeightBytes& bytes, const RoundedPass& pass, const Samples& samples, int fraction) {
    // Sums of all bytes have 72 or 80 bits and lose their lowest byte or two, those of the highest ones four bytes more.
    const int dropped_bits = 8 * samples.bytes;
    const double one = std::ldexp(1.0, fraction + 32 + dropped_bits);
    const int low_parts = kAllParts - parts_of(samples.bytes, false);
    const double unit = std::ldexp(1.0, -(32 + dropped_bits));  // of an exact weight, as sums count
    double above = 0;  // by which true sums may be larger than those in whole numbers, and smaller
    double below = 0;
    double sum = 0;
    std::uint64_t halves = 0;  // of the exact sum of the weights, modulo 2^64
    std::uint64_t ones = 0;
    double magnitude = 0;
    for (int t = 0; t < pass.taps; ++t) {
        const double weight = std::nearbyint(pass.weights[t] / pass.divisor * one);
        if (!(std::fabs(weight) < 0.999 * kTwoTo32 * kTwoTo32 / 2)) { return false; }
        Bytes& own = bytes[static_cast<std::size_t>(t)];
        const auto whole = static_cast<std::int64_t>(weight);
        if (!bytes_of(whole, own)) { return false; }
        std::int64_t low = 0;
        for (int part = low_parts; part-- > 0;) { low = low * 256 + own[static_cast<std::size_t>(part)]; }
        const double off = std::fabs(static_cast<double>(low)) * unit * samples.largest();
        (low > 0 || samples.has_sign ? above : below) += off;
        if (samples.has_sign) { below += off; }
        halves += static_cast<std::uint64_t>(whole >> 1);
        ones += static_cast<std::uint64_t>(whole & 1);
        sum += static_cast<double>(whole - low) * unit;
        magnitude += std::fabs(static_cast<double>(whole - low)) * unit;
    }
    const double offset = std::ceil(above) + kLeastOffset;
    const double doubtful = offset + std::ceil(below) + kLeastOffset;
    // A sum with its offset has 32 bits; one that has a sign reaches from -2^31 on.
    const double most = samples.has_sign ? kTwoTo32 / 2 + 2 : kTwoTo32 - 2 * offset;
    if (magnitude * samples.largest() > most || doubtful * 2 >= std::ldexp(1.0, fraction)) { return false; }
    to.fraction = fraction;
    to.offset = static_cast<std::uint32_t>(static_cast<std::int64_t>(offset - std::floor(sum * samples.flip())));
    to.doubtful = static_cast<std::uint32_t>(std::ldexp(doubtful, 32 - fraction));
    to.nudge = static_cast<std::uint32_t>(std::ceil(std::ldexp(kNudge, fraction + 32)));
    // Half of the sum of the weights: 2^15 of them, without the sixteen bits that are dropped.
    to.exact_offset = kSlack - (samples.has_sign ? halves + ones / 2 : 0);
    return true;
}

// Refuses sums that the type does not hold.
void set_pass(PassArguments& to, const RoundedPass& pass, const Samples& samples, bool whole) {
    to.taps = pass.taps;
    to.origin = pass.origin;
    to.boundary = pass.boundary;
    to.steps = (pass.taps + kGroup - 1 + kStepTaps - 1) / kStepTaps;
    double magnitude = 0;
    double total = 0;
    bool has_negative = false;
    for (int t = 0; t < pass.taps; ++t) {
        const double weight = pass.weights[t] / pass.divisor;
        if (!std::isfinite(weight)) { refuse("weights are not finite"); }
        total += weight;
        magnitude += std::fabs(weight);
        has_negative = has_negative || weight < 0;
    }
    if (whole) {
        check_whole(pass, samples);
        return;
    }
    to.keeps_flat = std::fabs(total - 1) < kNudge / 2 ? 1 : 0;
    const std::vector<double> weights(pass.weights, pass.weights + pass.taps);
    to.keeps_lines =
        to.keeps_flat != 0 && pass.taps % 2 == 1 && std::equal(weights.begin(), weights.end(), weights.rbegin()) ? 1 : 0;
    to.origin_of_even = pass.taps / 2;
    const double reached = samples.largest() * magnitude * (1 + kNudge);
    if (samples.has_sign ? reached > 32768.5 : has_negative || reached >= samples.largest() + 1) { refuse("sums leave the type"); }
}

// The weights' bytes of one pass; none where there is none.
WeightBytes bytes_of_pass(PassArguments& to, const RoundedPass& pass, const Samples& samples, bool whole) {
    WeightBytes bytes(static_cast<std::size_t>(pass.taps));
    if (pass.taps == 0) { return bytes; }
    if (whole) {
        set_whole(to, bytes, pass, samples);
        return bytes;
    }
    for (int fraction = kMostFraction[samples.bytes - 1]; fraction > 0; --fraction) {
        if (set_real(to, bytes, pass, samples, fraction)) { return bytes; }
    }
    refuse("weights need more bits");
}

void append_table(std::vector<std::uint32_t>& to, const WeightBytes& bytes, int parts, int words) {
    const int taps = static_cast<int>(bytes.size());
    for (int part = 0; part < parts; ++part) {
        for (int word = 0; word < words; ++word) {
            std::uint32_t four = 0;
            for (int b = 0; b < 4; ++b) {
                const int tap = word - (kGroup - 1) + b;
                if (tap < 0 || tap >= taps) { continue; }
                const auto byte = static_cast<std::uint8_t>(bytes[static_cast<std::size_t>(tap)][static_cast<std::size_t>(part)]);
                four |= std::uint32_t{byte} << (8 * b);
            }
            to.push_back(four);
        }
    }
}

// Tiles of an image and a block's shared memory. Neighbouring lines of four words lie in all banks.
std::size_t set_tiles(PassesArguments& a, const Samples& samples, bool whole, int rows, int columns) {
    constexpr int kBanks = 32;
    const bool along = a.pass[1].taps > 0;
    const bool both = along && a.pass[0].taps > 0;
    a.tile_rows = rows;
    a.tile_columns = columns;
    a.tiles_down = (a.rows + rows - 1) / rows;
    a.tiles_across = (a.columns + columns - 1) / columns;
    a.lead = both ? (4 - a.pass[1].origin % 4) % 4 : 0;  // rows alone begin anywhere
    const int lines = round_up(a.lead + columns + (along ? a.pass[1].taps - 1 : 0), kLines);
    a.in_pitch = round_up(lines - 8, kBanks / 2) + 8;
    a.in_rows = rows - kGroup + kStepTaps * a.pass[0].steps;
    const int run = std::max(columns - kGroup + kStepTaps * a.pass[1].steps, lines) + 4;
    a.out_pitch = round_up(run - 16, kBanks) + 16;
    a.table_words = kStepTaps * std::max(a.pass[0].steps, a.pass[1].steps) + kGroup;
    const int plane = std::max(a.in_pitch * a.in_rows, a.out_pitch * rows);
    const int bytes = 8 * parts_of(samples.bytes, whole) * a.table_words + samples.bytes * (plane + a.out_pitch * rows);
    return static_cast<std::size_t>(bytes);
}

// The same of sums in double: samples of 16 bits, in vectors.
std::size_t set_wide_tiles(PassesArguments& a, int rows, int columns) {
    a.tile_rows = rows;
    a.tile_columns = columns;
    a.tiles_down = (a.rows + rows - 1) / rows;
    a.tiles_across = (a.columns + columns - 1) / columns;
    a.in_pitch = round_up(columns + std::max(a.pass[1].taps - 1, 0), kRun);
    a.in_rows = round_up(rows + std::max(a.pass[0].taps - 1, 0), 4);
    constexpr int kBeyond = kRun;  // that a word of the last row may reach
    return sizeof(std::uint16_t) * static_cast<std::size_t>((a.in_rows + rows) * a.in_pitch + kBeyond);
}

// The largest tiles that give every multiprocessor some blocks; where windows reach far, larger ones.
template <class SetTiles>
std::size_t choose_tiles(PassesArguments& a, std::int64_t images, const cuda_abi::Device& device, const SetTiles& set) {
    constexpr int kBlocksEach = 3;
    constexpr int kFar = 48;
    constexpr int kSizes[][2] = {{128, 128}, {64, 128}, {64, 64}, {32, 64}, {32, 32}};
    const bool far = (a.pass[0].taps > 0 ? a.pass[0] : a.pass[1]).taps > kFar;
    std::size_t shared_bytes = 0;
    for (const auto& [rows, columns] : kSizes) {
        if (rows == 128 && !far) { continue; }
        shared_bytes = set(rows, columns);
        const std::int64_t blocks = images * a.tiles_down * a.tiles_across;
        if (shared_bytes <= 100000 && blocks >= std::int64_t{kBlocksEach} * device.multiprocessors) { break; }
    }
    return shared_bytes;
}

double outputs_of(const RoundedPasses& p) { return static_cast<double>(p.images) * static_cast<double>(p.rows * p.columns); }

double seconds_in_double(const PassesArguments& a, const RoundedPasses& p, const Samples& samples, const cuda_abi::Device& device) {
    double cost = kOutputCost[samples.bytes - 1];
    for (const PassArguments& pass : a.pass) { cost += pass.taps > 0 ? kPassCost + kTapCost * pass.taps : 0; }
    if (a.pass[0].taps > 0 && a.pass[1].taps > 0) {  // the second one's surroundings
        cost += kTapCost * a.pass[0].taps * static_cast<double>(a.pass[1].taps - 1) / a.tile_columns;
    }
    return kDoublesSeconds + 2 * cost * outputs_of(p) * device.single_to_double / device.peak_flops;
}

double seconds_in_bytes(const PassesArguments& a, const RoundedPasses& p, const Samples& samples, bool whole,
                        const cuda_abi::Device& device) {
    const int which = samples.bytes - 1;
    const int further = std::max(a.pass[0].steps, a.pass[1].steps) - 1;
    const double copies =
        whole ? kWholeCopies[which] + kWholeStepCopies[which] * further : kRealCopies[which] + kRealStepCopies[which] * further;
    const double moved = 2 * samples.bytes * outputs_of(p);
    return (whole ? kWholeSeconds : kRealSeconds) + copies * moved / device.copy_bytes_per_second;
}

void prepare_doubles(Prepared& prepared, const RoundedPasses& p, const Samples& samples, bool whole,
                     const cuda_abi::Device& device) {
    PassesArguments& a = prepared.arguments.passes;
    prepared.arguments.zero = kTwoTo52 + samples.flip();
    for (const int which : {0, 1}) {
        const RoundedPass& pass = which == 0 ? p.down : p.along;
        std::copy_n(pass.weights, pass.taps, prepared.arguments.weights[which]);
        prepared.arguments.scale[which] = whole && pass.divisor == 1 ? 1 : (1 + kNudge) / pass.divisor;
    }
    prepared.shared_bytes =
        choose_tiles(a, p.images, device, [&](int rows, int columns) { return set_wide_tiles(a, rows, columns); });
    prepared.in_double = doubles_kernel_of(samples.bytes);
    prepared.seconds = seconds_in_double(a, p, samples, device);
}

void prepare_bytes(Prepared& prepared, const RoundedPasses& p, const Samples& samples, bool whole, const cuda_abi::Device& device) {
    PassesArguments& a = prepared.arguments.passes;
    const WeightBytes down = bytes_of_pass(a.pass[0], p.down, samples, whole);
    const WeightBytes along = bytes_of_pass(a.pass[1], p.along, samples, whole);
    prepared.shared_bytes =
        choose_tiles(a, p.images, device, [&](int rows, int columns) { return set_tiles(a, samples, whole, rows, columns); });
    const int parts = whole ? 1 : kAllParts;
    append_table(prepared.tables, down, parts, a.table_words);
    append_table(prepared.tables, along, parts, a.table_words);
    prepared.kernel = kernel_of(samples.bytes, whole);
    prepared.in_double = nullptr;
    prepared.seconds = seconds_in_bytes(a, p, samples, whole, device);
}

void check_sizes(const RoundedPasses& p) {
    const auto is_pass = [](const RoundedPass& pass) {
        return pass.taps >= 1 && pass.taps <= kMostTaps && pass.origin >= 0 && pass.origin < pass.taps;
    };
    if (std::min({p.images, p.rows, p.columns}) < 1 || std::max({p.images, p.rows, p.columns}) >= kMostSide) {
        refuse("sides are 1 to 2^30");
    }
    const bool none = p.down.taps == 0 && p.along.taps == 0;
    if (none || (p.down.taps != 0 && !is_pass(p.down)) || (p.along.taps != 0 && !is_pass(p.along))) {
        refuse("passes have 1 to 128 weights");
    }
    if (p.in_row < 0 || p.in_image < 0 || p.out_row < 0 || p.out_image < 0) { refuse("rows are not in order"); }
}

}  // namespace

Prepared prepare_passes(const RoundedPasses& p, const cuda_abi::Device& device) {
    if (device.major < 8) { refuse("needs tensor cores that multiply bytes (compute capability 8.0)"); }
    if (p.dtype != Dtype::u8 && p.dtype != Dtype::u16 && p.dtype != Dtype::i16) { refuse("takes u8, u16 and i16"); }
    check_sizes(p);
    const Samples samples{p.dtype == Dtype::u8 ? 1 : 2, p.dtype == Dtype::i16};
    const bool whole = (p.down.taps == 0 || is_whole(p.down)) && (p.along.taps == 0 || is_whole(p.along));
    Prepared prepared;
    PassesArguments& a = prepared.arguments.passes;
    a.in_image = p.in_image;
    a.in_row = p.in_row;
    a.out_image = p.out_image;
    a.out_row = p.out_row;
    a.rows = static_cast<std::int32_t>(p.rows);
    a.columns = static_cast<std::int32_t>(p.columns);
    a.in_elements = (p.images - 1) * p.in_image + (p.rows - 1) * p.in_row + p.columns;
    a.flip = samples.has_sign ? 0x8000 : 0;
    a.constant =
        (static_cast<std::uint32_t>(static_cast<std::int64_t>(p.constant)) ^ a.flip) & (samples.bytes == 1 ? 0xff : 0xffff);
    if (p.down.taps > 0) { set_pass(a.pass[0], p.down, samples, whole); }
    if (p.along.taps > 0) { set_pass(a.pass[1], p.along, samples, whole); }
    if (has_fast_double(device)) { prepare_doubles(prepared, p, samples, whole, device); }
    if (prepared.in_double == nullptr || seconds_in_bytes(a, p, samples, whole, device) < prepared.seconds) {
        prepare_bytes(prepared, p, samples, whole, device);
    }
    const std::int64_t blocks = p.images * a.tiles_down * a.tiles_across;
    if (blocks >= kMostSide || prepared.shared_bytes > static_cast<std::size_t>(device.shared_bytes_per_block)) {
        refuse("too many tiles, or too large ones");
    }
    prepared.blocks = static_cast<unsigned>(blocks);
    return prepared;
}

void load_passes(const Prepared& prepared, const cuda_abi::Device& device) {
    if (prepared.in_double != nullptr) {
        load_kernel(prepared.in_double, prepared.shared_bytes, device);
    } else {
        load_kernel(prepared.kernel, prepared.shared_bytes, device);
    }
}

void launch_passes(const Prepared& prepared, const void* tables, void* out, const void* in, cudaStream_t stream) {
    DoublesArguments arguments = prepared.arguments;
    arguments.passes.out = out;
    arguments.passes.in = in;
    arguments.passes.tables = static_cast<const std::uint32_t*>(tables);
    if (prepared.in_double != nullptr) {
        launch_kernel(prepared.in_double, prepared.blocks, kThreads, prepared.shared_bytes, stream, arguments);
    } else {
        launch_kernel(prepared.kernel, prepared.blocks, kThreads, prepared.shared_bytes, stream, arguments.passes);
    }
}

}  // namespace tapline::cuda::rounded_passes
