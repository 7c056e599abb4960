/* SPDX-License-Identifier: MIT */
#ifndef PF_XRAY_ELF_MAP_H
#define PF_XRAY_ELF_MAP_H

#include <stdbool.h>

#include "formats/xray/names.h"

/*
 * The instrumentation map in a program: section xray_instr_map of an ELF file, of 32 or 64 bits and either
 * byte order. The file is read in pieces; memory is bounded by the map's functions.
 */

/* Whether the file is ELF and has such a section: *has. 0, or -1 with *error filled if it cannot be read. */
int xray_elf_has_map(struct pf_input *input, bool *has, struct pf_error *error);

/* Adds the functions and their symbols to *names, and notes what is wrong with them. -1 with *error filled if
 * the file cannot be read. */
int xray_elf_map_read(struct xray_names *names, struct pf_input *input, struct pf_pass *pass,
                      struct pf_error *error);

#endif
