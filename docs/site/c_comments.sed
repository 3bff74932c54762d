# For Doxygen, which reads tapline.h through it: comments before and behind a declaration describe it.
1 s#^/\* #/** @file\n * #
2,$ s#^( *)/\* ([^-])#\1/** \2#
s#([;,}0-9]) +/\* #\1 /**< #
