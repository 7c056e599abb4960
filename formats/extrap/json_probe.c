/* SPDX-License-Identifier: MIT */
#include "formats/extrap/json_probe.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The head is 64 KB, which a list of call paths may fill. */
#define SCAN ((uint64_t)16 << 20)

/* Where the JSON reader gets its bytes: the head, and the file itself beyond it. */
struct source {
    const unsigned char *head;
    size_t have;
    int fd;
    uint64_t end; /* nothing from here on is looked at */
};

static ssize_t read_source(void *arg, void *buffer, size_t size, uint64_t offset, struct pf_error *error)
{
    const struct source *source = arg;
    if (offset >= source->end)
        return 0;
    if (size > source->end - offset)
        size = (size_t)(source->end - offset);
    if (offset + size <= source->have) {
        memcpy(buffer, source->head + offset, size);
        return (ssize_t)size;
    }
    ssize_t got = pread(source->fd, buffer, size, (off_t)offset);
    return got < 0 ? pf_fail(error, errno, "%s", strerror(errno)) : got;
}

/* Most files are no JSON at all. */
static bool begins_object(const unsigned char *head, size_t size)
{
    size_t at = size >= 3 && !memcmp(head, "\xef\xbb\xbf", 3) ? 3 : 0;
    while (at < size && (head[at] == ' ' || head[at] == '\t' || head[at] == '\r' || head[at] == '\n'))
        at++;
    return at < size && head[at] == '{';
}

static unsigned find_member(const struct pf_member *members, const struct pf_json_token *name)
{
    unsigned i = 0;
    while (members[i].name && !pf_json_is(name, members[i].name))
        i++;
    return i;
}

static bool fits(const struct pf_member *member, const struct pf_json_token *value)
{
    return member->event == PF_JSON_END || member->event == value->event;
}

/* A member counts as soon as its value begins: it may be longer than what is looked at. */
static bool has_members(struct pf_json *json, const struct pf_member *members, struct pf_error *error)
{
    struct pf_json_token token;
    unsigned wanted = 0, found = 0;
    while (members[wanted].name)
        wanted++;
    if (pf_json_next(json, &token, error) != PF_JSON_OBJECT)
        return false;
    while (pf_json_next(json, &token, error) == PF_JSON_NAME) {
        unsigned i = find_member(members, &token);
        int event = pf_json_next(json, &token, error);
        if (event > 0 && members[i].name && fits(&members[i], &token))
            found |= 1u << i;
        if (found == (1u << wanted) - 1)
            return true;
        if (event < 0 ||
            ((event == PF_JSON_OBJECT || event == PF_JSON_ARRAY) && pf_json_leave(json, error) < 0))
            return false;
    }
    return false;
}

bool pf_probe_members(struct pf_probe *probe, const struct pf_member *members, unsigned flags, uint64_t scan)
{
    size_t have;
    if (probe->directory)
        return false;
    const unsigned char *head = pf_probe_head(probe, PF_HEAD_MAX, &have);
    if (!begins_object(head, have))
        return false;
    struct source source = {.head = head, .have = have, .fd = probe->fd, .end = scan ? scan : have};
    struct pf_json *json = pf_json_new_reading(read_source, &source, flags, 0);
    struct pf_error error = {.code = json ? 0 : ENOMEM};
    bool found = json && has_members(json, members, &error);
    if (!found)
        pf_probe_failed(probe, error.code);
    pf_json_free(json);
    return found;
}

uint64_t pf_probe_scan(const struct pf_probe *probe)
{
    const char *dot = strrchr(probe->name, '.');
    return dot && !strcasecmp(dot, ".json") ? SCAN : 0;
}
