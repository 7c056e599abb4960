/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "fs/profile/profile_private.h"
#include "fs/sums/spill_guard.h"

/* Accessors of the current state of a profile. No function here opens the profile or starts a job. */

struct pf_profile *pf_profile_hold(struct pf_profile *profile)
{
    atomic_fetch_add(&profile->owner.references, 1);
    return profile;
}

void pf_profile_release(struct pf_profile *profile)
{
    if (profile && atomic_fetch_sub(&profile->owner.references, 1) == 1)
        profile->end(profile);
}

struct pf_model *pf_profile_model(struct pf_profile *profile)
{
    return &profile->model;
}

uint32_t pf_profile_context_count(struct pf_profile *profile)
{
    pf_lock_take(&profile->lock);
    const struct pf_tree *tree = profile->stage >= PF_MODELLED ? profile->model.contexts : NULL;
    uint32_t contexts = tree ? tree->count : 0;
    pf_lock_drop(&profile->lock);
    return contexts;
}

bool pf_profile_busy(struct pf_profile *profile)
{
    return pf_owner_is_busy(&profile->owner);
}

struct pf_access pf_profile_access(struct pf_profile *profile)
{
    struct pf_access access = pf_source_access(profile->source);
    pf_access_restrict(&access, &profile->access, profile->env->reader);
    return access;
}

int pf_profile_hold_files(struct pf_profile *profile, struct pf_error *error)
{
    return pf_source_hold_files(profile->source, error);
}

void pf_profile_release_files(struct pf_profile *profile)
{
    pf_source_release_files(profile->source);
}

void pf_profile_close_files(struct pf_profile *profile)
{
    pf_source_close_files(profile->source);
}

int pf_profile_check(struct pf_profile *profile, struct pf_error *error)
{
    return pf_source_check(profile->source, error);
}

const struct pf_dirnames *pf_profile_names(const struct pf_profile *profile, enum pf_named named)
{
    return profile->names[named];
}

size_t pf_profile_context_dir(const struct pf_profile *profile, uint32_t context, char *out)
{
    const struct pf_tree *tree = profile->model.contexts;
    size_t size = profile->context_dir_size[context];
    if (size == UINT16_MAX)
        return 0;
    char name[PF_NAME_MAX + 1];
    for (size_t end = size; context != PF_NO_CONTEXT; context = tree->parent[context]) {
        size_t n = pf_dirname(profile->names[PF_NAMED_CONTEXTS], context, name);
        memcpy(out + end - n, name, n);
        end -= n;
        if (end)
            out[--end] = '/';
    }
    out[size] = 0;
    return size;
}

/* ---- sums --------------------------------------------------------------------------------------- */

void pf_profile_free_aggregates(struct pf_profile *profile)
{
    pf_aggregate_free(profile->aggregate);
    for (size_t m = 0; profile->of_metric && m < profile->model.n_metrics; m++) {
        struct pf_aggregate *aggregate = profile->of_metric[m];
        for (size_t same = m; aggregate && same < profile->model.n_metrics; same++)
            if (profile->of_metric[same] == aggregate)
                profile->of_metric[same] = NULL;
        pf_aggregate_free(aggregate);
    }
    free(profile->of_metric);
    free(profile->of_metric_stored);
    profile->of_metric_stored = NULL;
    profile->aggregate = NULL;
    profile->of_metric = NULL;
}

bool pf_are_partners(const struct pf_profile *profile, int a, int b)
{
    return a >= 0 && b >= 0 && pf_partner_of(&profile->model, (unsigned)a) == b &&
           pf_partner_of(&profile->model, (unsigned)b) == a;
}

int pf_put_aggregate(struct pf_profile *profile, int metric, struct pf_aggregate *aggregate, bool stored,
                     struct pf_error *error)
{
    pf_assert_held(&profile->lock);
    size_t n = profile->model.n_metrics;
    if (metric < 0) {
        profile->aggregate = aggregate;
        profile->sums_stored = stored;
        return 0;
    }
    if (!profile->of_metric && !(profile->of_metric = calloc(n, sizeof *profile->of_metric)))
        return pf_fail_memory(error);
    if (!profile->of_metric_stored && !(profile->of_metric_stored = calloc(n, sizeof(bool))))
        return pf_fail_memory(error);
    int partner = pf_partner_of(&profile->model, (unsigned)metric);
    profile->of_metric[metric] = aggregate;
    profile->of_metric_stored[metric] = stored;
    if (pf_are_partners(profile, metric, partner) && !profile->of_metric[partner]) {
        profile->of_metric[partner] = aggregate;
        profile->of_metric_stored[partner] = stored;
    }
    return 0;
}

struct pf_aggregate *pf_aggregate_now(const struct pf_profile *profile, int metric)
{
    pf_assert_held(&profile->lock);
    return profile->aggregate || metric < 0 || !profile->of_metric ? profile->aggregate
                                                                   : profile->of_metric[metric];
}

/* True if aggregates that were spilled to disk are lost: the profile must be loaded again. Called with profile->lock held. */
static bool has_lost_sums(const struct pf_profile *profile)
{
    pf_assert_held(&profile->lock);
    struct pf_error error;
    if (!pf_guard_any_lost())
        return false;
    bool lost = profile->aggregate && pf_aggregate_check(profile->aggregate, &error);
    for (size_t m = 0; profile->of_metric && m < profile->model.n_metrics && !lost; m++)
        lost = profile->of_metric[m] && pf_aggregate_check(profile->of_metric[m], &error);
    return lost;
}

struct pf_aggregate *pf_profile_aggregate_now(struct pf_profile *profile, int metric)
{
    pf_lock_take(&profile->lock);
    struct pf_aggregate *aggregate = pf_aggregate_now(profile, metric);
    pf_lock_drop(&profile->lock);
    return aggregate;
}

/* ---- sizes -------------------------------------------------------------------------------------- */

bool pf_put_size(struct pf_profile *profile, struct pf_node node, uint64_t size)
{
    pf_assert_held(&profile->lock);
    /* Stored as a pointer value; + 1 because NULL means absent. */
    return pf_map_put(&profile->sizes, pf_node_key(node), (void *)(uintptr_t)(size + 1));
}

bool pf_find_size(const struct pf_profile *profile, struct pf_node node, uint64_t *size)
{
    pf_assert_held(&profile->lock);
    uintptr_t value = (uintptr_t)pf_map_get(&profile->sizes, pf_node_key(node));
    if (value)
        *size = value - 1;
    return value != 0;
}

static bool text_size_now(struct pf_profile *profile, struct pf_node node, uint64_t *size)
{
    pf_assert_held(&profile->lock);
    struct pf_file_text *text = pf_map_get(&profile->texts, pf_node_key(node));
    return (text && pf_text_is_sized(&text->text, size)) || pf_find_size(profile, node, size);
}

uint64_t pf_size_in_table(const struct pf_table_sizes *sizes, struct pf_node node)
{
    unsigned base = pf_table_base(node.kind);
    if (base == PF_TABLE_OF_CONTEXT)
        return node.item < sizes->contexts
                   ? atomic_load_explicit(&sizes->context[node.item], memory_order_relaxed)
                   : 0;
    if (base == PF_TABLE_OF_PARTITION)
        return node.item < sizes->partitions ? sizes->partition[node.item] : 0;
    return sizes->whole;
}

bool pf_cached_size(struct pf_profile *profile, struct pf_node node, uint64_t *size)
{
    const char *target = pf_hidden_target(node.kind);
    if (target)
        *size = strlen(target);
    return target || pf_cached_get_file(&profile->cached, node, size, NULL);
}

bool pf_profile_size_now(struct pf_profile *profile, struct pf_node node, uint64_t *size)
{
    int table = pf_table_of(node.kind);
    bool in_table = table >= 0 && pf_table_base(node.kind) < PF_TABLE_OF_METRIC;
    if (pf_cached_size(profile, node, size))
        return true;
    pf_lock_take(&profile->lock);
    const struct pf_table_sizes *sizes = in_table ? profile->table_sizes[table] : NULL;
    bool known = sizes || text_size_now(profile, node, size);
    if (sizes)
        *size = pf_size_in_table(sizes, node);
    pf_lock_drop(&profile->lock);
    return known;
}

/* ---- validity and the cache --------------------------------------------------------------------- */

bool pf_profile_must_reload(struct pf_profile *profile, bool *success)
{
    pf_lock_take(&profile->lock);
    bool must_reload = pf_failure_is_over(&profile->failure) || has_lost_sums(profile);
    *success = !profile->failure.error && profile->stage > PF_OPENED;
    pf_lock_drop(&profile->lock);
    return must_reload;
}

bool pf_profile_intact(struct pf_profile *profile)
{
    bool intact = pf_source_intact(profile->source);
    if (intact && pf_guard_any_lost()) {
        pf_lock_take(&profile->lock);
        intact = !has_lost_sums(profile);
        pf_lock_drop(&profile->lock);
    }
    return intact;
}

bool pf_profile_may_cache(struct pf_profile *profile)
{
    return atomic_load(&profile->env->ending) || pf_source_intact(profile->source);
}
