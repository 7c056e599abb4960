/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_YAML_MAP_H
#define PF_XRAY_YAML_MAP_H

#include <stdbool.h>

#include "formats/xray/names.h"

/*
 * The instrumentation map as `llvm-xray extract` prints it, a YAML list of flow mappings:
 *   - { id: 1, address: 0x11D00, function: 0x11D00, kind: function-enter, function-name: 'f(int)', ... }
 * One stands for each entry of the map, so a function has several. Read are `id`, `function` (its address) and
 * `function-name`; a mapping may go over several lines.
 */

/* Whether the file looks like one: *is. 0, or -1 with *error filled if it cannot be read. */
int xray_yaml_is_map(struct pf_input *input, bool *is, struct pf_error *error);

/* Adds the functions to *names. What is no such list ends the reading, and is noted. -1 with *error filled if
 * the file cannot be read. */
int xray_yaml_map_read(struct xray_names *names, struct pf_input *input, struct pf_pass *pass,
                       struct pf_error *error);

#endif
