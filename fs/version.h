/* SPDX-License-Identifier: MIT */
#ifndef PF_VERSION_H
#define PF_VERSION_H

#define PF_VERSION "0.1.0"

/* Raised whenever the rendering of unchanged data changes. Part of the heads in the cache, so that older data are not used. */
enum { PF_RENDERER_VERSION = 21 };

#endif
