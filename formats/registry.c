/* SPDX-License-Identifier: MIT */
#include "formats/driver.h"
#include "formats/recognise.h"

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
 * All drivers, each with the evidence for its format. The driver with the highest confidence wins; among equal confidences, the first
 * driver. To add a format, add its driver here.
 */
const struct pf_driver *const pf_drivers[] = {
    &pf_afperf_driver,          /* 16 bytes of magic */
    &pf_cube_driver,            /* tar's magic and the first member's name */
    &pf_cubedir_driver,         /* a folder whose subfolders are named like measurement points and have Cube files */
    &pf_otf2_driver,            /* a folder with a *.otf2 file and its magic */
    &pf_hpctoolkit_driver,      /* a folder: magic of meta.db, or the root element of experiment.xml */
    &pf_xray_driver,            /* magic, or 4 bytes of header and a record's kind */
    &pf_nsight_driver,          /* SQLite's magic and names in the schema */
    &pf_nsight_folder_driver,   /* a folder whose subfolders are named like measurement points and have Nsight files */
    &pf_extrap_binary_driver,   /* a byte-order field and a word of 17 letters */
    &pf_extrap_saved_driver,    /* ZIP's magic and the name of a member */
    &pf_callgrind_driver,       /* a known first line, or a header of known lines and one line of the body */
    &pf_cachegrind_driver,      /* as callgrind, without any keyword that only Callgrind has */
    &pf_massif_driver,          /* a first snapshot and its time */
    &pf_perun_index_driver,     /* four bytes of magic; a store's folder is not recognised, only its files */
    &pf_perun_driver,           /* the first word of a stored object, or top-level members of JSON */
    &pf_speedscope_driver,      /* the URL of its schema, or the members `shared` and `profiles` */
    &pf_chrome_trace_driver,    /* the member traceEvents, or an array of objects with ph and ts */
    &pf_cpuprofile_driver,      /* nodes with a callFrame; must follow Chrome traces, which may contain such nodes */
    &pf_extrap_json_old_driver, /* two top-level members; likewise the next three */
    &pf_extrap_json_driver,
    &pf_extrap_talpas_driver,
    &pf_extrap_jsonl_driver,
    &pf_pprof_driver,       /* no magic: valid protobuf messages */
    &pf_extrap_text_driver, /* keywords in plain text; must follow all formats with a magic number */
    &pf_perf_script_driver, /* lines of a pattern, some of which end in a number; must precede collapsed stacks */
    &pf_collapsed_driver,   /* lines that end in a number; must follow all other text formats */
    NULL,
};
