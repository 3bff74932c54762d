#pragma once

namespace tapline::cli {

/// To be called before a picture is drawn. Where the system has no fonts, those in the folder `fonts` beside the program serve,
/// which wheels bring along; where there are none either, pictures have no words, which is said on standard error, once.
void find_fonts();

}  // namespace tapline::cli
