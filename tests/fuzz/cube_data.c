/* SPDX-License-Identifier: MIT */
/* Reads any bytes as index and data of a metric. The first byte is the size of the index; the second chooses the metric and thus the type. */
#include "tests/fuzz/cube_fuzz.h"

#define METRIC(n, kind, dtype)                                                                               \
    "<metric id=\"" #n "\" type=\"" kind "\"><uniq_name>" dtype "</uniq_name><dtype>" dtype                  \
    "</dtype></metric>"

static const char anchor[] = "<cube version=\"4.4\"><metrics>" METRIC(0, "EXCLUSIVE", "DOUBLE") METRIC(
    1, "INCLUSIVE", "DOUBLE") METRIC(2, "EXCLUSIVE", "MINDOUBLE") METRIC(3, "INCLUSIVE", "MAXDOUBLE")
    METRIC(4, "EXCLUSIVE", "UINT64") METRIC(5, "INCLUSIVE", "UINT64") METRIC(6, "INCLUSIVE", "INT16") METRIC(
        7, "EXCLUSIVE", "INT8") METRIC(8, "EXCLUSIVE", "RATE") METRIC(9, "INCLUSIVE", "COMPLEX")
        METRIC(10, "EXCLUSIVE", "TAU_ATOMIC") METRIC(11, "EXCLUSIVE", "HISTOGRAM(3)") METRIC(12, "INCLUSIVE",
                                                                                             "NDOUBLES(2)")
            METRIC(13, "EXCLUSIVE", "SCALE_FUNC") METRIC(14, "EXCLUSIVE", "INT32") METRIC(
                15, "EXCLUSIVE",
                "UINT32") "</metrics><program><region id=\"0\"><name>f</name></region>"
                          "<cnode id=\"0\" calleeId=\"0\"><cnode id=\"1\" calleeId=\"0\"><cnode id=\"2\" "
                          "calleeId=\"0\"/></cnode>"
                          "<cnode id=\"3\" calleeId=\"0\"/></cnode><cnode id=\"4\" "
                          "calleeId=\"0\"/></program><system>"
                          "<process Id=\"0\"><thread Id=\"0\"/><thread Id=\"1\"/></process></system></cube>";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char name[32];
    if (size < 2)
        return 0;
    size_t index = data[0] < size - 2 ? data[0] : size - 2;
    struct fuzz_file file = create();
    snprintf(name, sizeof name, "%d.index", data[1] % 16);
    put_member(file, name, data + 2, index);
    snprintf(name, sizeof name, "%d.data", data[1] % 16);
    put_member(file, name, data + 2 + index, size - 2 - index);
    put_member(file, "anchor.xml", anchor, sizeof anchor - 1);
    return read_cube(file, data, size);
}
