/* SPDX-License-Identifier: MIT */
#include "formats/driver.h"

extern const struct pf_driver pf_cube_driver;
extern const struct pf_driver pf_cubedir_driver;
extern const struct pf_driver pf_hpctoolkit_driver;
extern const struct pf_driver pf_afperf_driver;
extern const struct pf_driver pf_xray_driver;
extern const struct pf_driver pf_extrap_text_driver;
extern const struct pf_driver pf_extrap_saved_driver;
extern const struct pf_driver pf_extrap_binary_driver;
extern const struct pf_driver pf_extrap_talpas_driver;
extern const struct pf_driver pf_extrap_jsonl_driver;
extern const struct pf_driver pf_extrap_json_driver;
extern const struct pf_driver pf_extrap_json_old_driver;
extern const struct pf_driver pf_perun_driver;
extern const struct pf_driver pf_perun_index_driver;
extern const struct pf_driver pf_callgrind_driver;
extern const struct pf_driver pf_cachegrind_driver;
extern const struct pf_driver pf_massif_driver;
extern const struct pf_driver pf_otf2_driver;
extern const struct pf_driver pf_nsight_driver;
extern const struct pf_driver pf_nsight_folder_driver;
extern const struct pf_driver pf_pprof_driver;
extern const struct pf_driver pf_perf_script_driver;
extern const struct pf_driver pf_collapsed_driver;
extern const struct pf_driver pf_chrome_trace_driver;
extern const struct pf_driver pf_speedscope_driver;
extern const struct pf_driver pf_cpuprofile_driver;

/*
 * Magic before heuristics: the driver of the highest confidence wins, and of equals the first. Adding a format is one line here.
 */
const struct pf_driver *const pf_drivers[] = {
    &pf_afperf_driver,          /* 16 bytes that nothing else begins with */
    &pf_cube_driver,            /* tar's magic and the first member's name */
    &pf_cubedir_driver,         /* beside: folders named like points that hold Cube files */
    &pf_otf2_driver,            /* a folder with a file *.otf2 and its magic */
    &pf_hpctoolkit_driver,      /* a folder: magic of meta.db, or the root element of experiment.xml */
    &pf_xray_driver,            /* four bytes of header and the first record's kind */
    &pf_nsight_driver,          /* SQLite's magic and names in the schema */
    &pf_nsight_folder_driver,   /* beside folders that are named like points and hold such files */
    &pf_extrap_binary_driver,   /* a byte order and a word of 17 letters */
    &pf_extrap_saved_driver,    /* ZIP's magic and the name of a member */
    &pf_callgrind_driver,       /* its first line, or nothing but lines of a header up to one of the body */
    &pf_cachegrind_driver,      /* the same without any word that only Callgrind has */
    &pf_massif_driver,          /* a first snapshot and its time */
    &pf_perun_index_driver,     /* four bytes; the folders of a store are no sign, its files are */
    &pf_perun_driver,           /* a stored object's first word, or keys of the top level of JSON */
    &pf_speedscope_driver,      /* the address of its schema, or the members shared and profiles */
    &pf_chrome_trace_driver,    /* the member traceEvents, or an array of objects with ph and ts */
    &pf_cpuprofile_driver,      /* nodes with a callFrame; behind trace events, which may hold such */
    &pf_extrap_json_old_driver, /* two members of the object that the file is; so are the next three */
    &pf_extrap_json_driver,
    &pf_extrap_talpas_driver,
    &pf_extrap_jsonl_driver,
    &pf_pprof_driver,       /* no magic, but messages that fit their numbers and types */
    &pf_extrap_text_driver, /* words in plain text: only what nothing with a magic number wants */
    &pf_perf_script_driver, /* lines of a form; those of samples may end in a number, so before the next */
    &pf_collapsed_driver,   /* no word at all, but lines that end in a number: after all other texts */
    NULL,
};
