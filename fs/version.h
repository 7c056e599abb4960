/* SPDX-License-Identifier: MIT */
#ifndef PF_VERSION_H
#define PF_VERSION_H

#define PF_VERSION "0.1.0"

/* Raised whenever the rendering of unchanged tables changes: part of every cache key. */
enum { PF_RENDERER_VERSION = 20 };

#endif
