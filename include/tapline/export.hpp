// Marks what the shared library exports; everything else is hidden.
#pragma once

#define TAPLINE_EXPORT __attribute__((visibility("default")))
