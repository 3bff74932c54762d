#include "cli/plot/fonts.hpp"

#include <fontconfig/fontconfig.h>

#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>

namespace tapline::cli {
namespace {

namespace fs = std::filesystem;

bool has_fonts(FcConfig* configuration, FcSetName set) {
    const FcFontSet* fonts = FcConfigGetFonts(configuration, set);
    return fonts != nullptr && fonts->nfont > 0;
}

void add_fonts_beside_the_program(FcConfig* configuration) {
    std::error_code error;
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    for (const fs::directory_entry& file : fs::directory_iterator(program.parent_path() / "fonts", error)) {
        const std::string path = file.path().string();
        FcConfigAppFontAddFile(configuration, reinterpret_cast<const FcChar8*>(path.c_str()));
    }
}

// The system's configuration if there is one, and fonts of our own if it knows none. fontconfig by itself would complain on
// standard error of a system without a configuration and, after a while, look for one again.
bool find() {
    FcConfig* configuration = FcConfigCreate();
    if (FcConfigParseAndLoad(configuration, nullptr, FcFalse) == FcTrue) FcConfigBuildFonts(configuration);
    if (!has_fonts(configuration, FcSetSystem)) add_fonts_beside_the_program(configuration);
    const bool found = has_fonts(configuration, FcSetSystem) || has_fonts(configuration, FcSetApplication);
    FcConfigSetRescanInterval(configuration, 0);
    FcConfigSetCurrent(configuration);
    return found;
}

}  // namespace

void find_fonts() {
    static std::once_flag once;
    std::call_once(once, [] {
        if (find()) return;
        std::fputs(
            "note: no fonts were found, so pictures have no words; install some: packages fontconfig-config, fonts-dejavu-core\n",
            stderr);
    });
}

}  // namespace tapline::cli
