#include "cli/plot/fonts.hpp"

#include <fontconfig/fontconfig.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <system_error>

namespace tapline::cli {
namespace {

namespace fs = std::filesystem;

// Asked for without a configuration, fontconfig complains on standard error: so its file is looked for first.
bool system_has_fonts() {
    const std::unique_ptr<FcChar8, decltype(&FcStrFree)> configuration(FcConfigFilename(nullptr), FcStrFree);
    if (configuration == nullptr) return false;
    const FcFontSet* fonts = FcConfigGetFonts(FcConfigGetCurrent(), FcSetSystem);
    return fonts != nullptr && fonts->nfont > 0;
}

bool take_fonts_beside_the_program() {
    std::error_code error;
    const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path() / "fonts";
    const auto utf8 = folder.string();
    if (error || !fs::is_directory(folder, error)) return false;
    FcConfig* fonts = FcConfigCreate();
    return fonts != nullptr && FcConfigAppFontAddDir(fonts, reinterpret_cast<const FcChar8*>(utf8.c_str())) == FcTrue &&
           FcConfigSetCurrent(fonts) == FcTrue;
}

}  // namespace

void find_fonts() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (!system_has_fonts() && !take_fonts_beside_the_program()) {
            std::fputs(
                "note: no fonts were found, so pictures have no words; install some, e.g. fonts-dejavu-core and "
                "fontconfig-config\n",
                stderr);
        }
    });
}

}  // namespace tapline::cli
