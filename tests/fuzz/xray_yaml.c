/* SPDX-License-Identifier: MIT */
/* Reads any bytes as a map of XRay's functions in YAML. */
#include "tests/fuzz/xray_maps.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int read_yaml(struct xray_names *names, struct pf_input *input, struct pf_error *error)
{
    bool is;
    return xray_yaml_is_map(input, &is, error) ? -1 : xray_yaml_map_read(names, input, error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_bytes(data, size, read_yaml);
    return 0;
}
