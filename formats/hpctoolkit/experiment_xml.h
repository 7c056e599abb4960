/* SPDX-License-Identifier: MIT */
#ifndef PF_HPC_EXPERIMENT_XML_H
#define PF_HPC_EXPERIMENT_XML_H

#include "formats/hpctoolkit/hpctoolkit.h"
#include "formats/xml/xml.h"

/* What the readers of experiment.xml share. */

/* Elements; what is none of these is passed over. */
enum hpc_element {
    HPC_X_OTHER,
    HPC_X_EXPERIMENT,
    HPC_X_PATH_PROFILE,
    HPC_X_IDENTIFIER,
    HPC_X_METRIC,
    HPC_X_FORMULA,
    HPC_X_METRIC_DB,
    HPC_X_TRACE_DB,
    HPC_X_MODULES,
    HPC_X_MODULE,
    HPC_X_FILE,
    HPC_X_PROCEDURE,
    HPC_X_DATA, /* the root of the tree */
    HPC_X_PF,
    HPC_X_PR,
    HPC_X_C,
    HPC_X_L,
    HPC_X_S,
    HPC_X_M,
    HPC_X_ELEMENTS
};
enum hpc_element hpc_element(const char *name);

/* The value of an attribute; absent if there is none. */
struct pf_cell hpc_attribute(const struct pf_xml *xml, const char *name);

/* An attribute as a number, decimal or `0x` hex, perhaps negative. False if there is none. */
bool hpc_number(const struct pf_xml *xml, const char *name, int64_t *value);

/* Feeds the description's bytes up to `end` to the events. 0: all is read; 1: an event or a fault has ended it; -1: *error
 * filled. */
int hpc_read_xml(struct hpc_state *state, uint64_t end, struct pf_xml *xml, struct pf_pass *pass,
                 struct pf_error *error);

#endif
