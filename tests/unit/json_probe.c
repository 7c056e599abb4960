/* SPDX-License-Identifier: MIT */
/* Drivers need not parse JSON files to recognise them. A probe lists the members of the top-level object once for all drivers. */
#include "formats/json/probe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/tap.h"

static unsigned char head[PF_HEAD_MAX];

/* Returns a probe of a file with this text. */
static struct pf_probe probe_of(const char *name, const char *text, size_t size)
{
    struct pf_probe probe = {
        .name = name, .size = size, .fd = memfd_create(name, MFD_CLOEXEC), .bytes = head};
    if (probe.fd < 0 || write(probe.fd, text, size) != (ssize_t)size)
        abort();
    return probe;
}

/* True if a driver has to parse the first `scan` bytes (0: the head) to learn whether they have the member. */
static bool is_parsed(struct pf_probe *probe, const char *member, unsigned flags, uint64_t scan)
{
    const char *const names[] = {"another", member, NULL};
    struct pf_json_look look;
    struct pf_error error = {0};
    bool parsed = pf_json_look(probe, &look, flags, scan, names);
    pf_json_look_end(probe, &look, &error);
    return parsed;
}

static void test_members(void)
{
    static const char text[] = "\n{\"name\": 1, \"nodes\": [{\"inner\": 2}], \"t\\u0061il\": {}}";
    struct pf_probe probe = probe_of("members", text, strlen(text));
    ok(is_parsed(&probe, "name", 0, 0) && is_parsed(&probe, "nodes", 0, 0),
       "an object with the member is parsed");
    ok(is_parsed(&probe, "tail", 0, 0),
       "an object with the member is parsed if the name is written with an escape");
    ok(!is_parsed(&probe, "inner", 0, 0) && !is_parsed(&probe, "absent", 0, 0),
       "an object with the member in an inner object is not parsed");
    ok(!is_parsed(&probe, "absent", 0, PF_PROBE_SCAN),
       "an object without the member that ends in the head is not parsed");
    close(probe.fd);
}

static void test_texts(void)
{
    static const char damaged[] = "{\"name\": 1, ]", comma[] = "{\"name\": 1,}", list[] = "[{\"ph\": \"X\"}]";
    struct pf_probe probe = probe_of("damaged", damaged, strlen(damaged));
    ok(is_parsed(&probe, "absent", 0, 0), "malformed text is parsed by the driver");
    close(probe.fd);
    probe = probe_of("comma", comma, strlen(comma));
    ok(is_parsed(&probe, "absent", PF_JSON_LAST_COMMAS, 0),
       "text that only some drivers accept is parsed by the driver");
    close(probe.fd);
    probe = probe_of("list", list, strlen(list));
    ok(is_parsed(&probe, "absent", 0, 0), "an array is parsed by the driver");
    close(probe.fd);
}

static void test_cut(const char *name, bool head_only)
{
    size_t size = 2 * PF_HEAD_MAX;
    char *text = malloc(size + 64);
    if (!text)
        abort();
    memset(text, ' ', size);
    memcpy(text, "{\"first\": 1, ", 13);
    size += (size_t)sprintf(text + size, "\"last\": 2}");
    struct pf_probe probe = probe_of(name, text, size);
    ok(is_parsed(&probe, "first", 0, 0) && (is_parsed(&probe, "last", 0, 0) != head_only),
       "members %s of a file named %s are listed", head_only ? "in the head" : "in and after the head", name);
    ok(is_parsed(&probe, "last", 0, PF_PROBE_SCAN) &&
           is_parsed(&probe, "absent", 0, PF_PROBE_SCAN) == head_only,
       "a driver that examines more than the head %s", head_only ? "parses it" : "need not parse it");
    close(probe.fd);
    free(text);
}

int main(void)
{
    test_members();
    test_texts();
    test_cut("cut.txt", true);
    test_cut("cut.json", false);
    return done();
}
