/* What the C tests share: expectations, a small cluster, and every call with good arguments. */
#ifndef EXPECT_H
#define EXPECT_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "berth.h"

static int failures = 0;

#define EXPECT(call, expected)                                                                  \
    do {                                                                                        \
        long long result_ = (long long)(call);                                                  \
        if (result_ != (long long)(expected)) {                                                 \
            failures++;                                                                         \
            fprintf(stderr, "%s:%d: %s: %lld, expected %s\n", __FILE__, __LINE__, #call,        \
                    result_, #expected);                                                        \
        }                                                                                       \
    } while (0)

/* A text and its length, and a string of a struct. */
#define TEXT(text) text, strlen(text)
#define STRING(value) {value, sizeof(value) - 1}

#define NODE                                                                                    \
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"},"                  \
    "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}}}"
#define POD                                                                                     \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},"                    \
    "\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}"

/* Good arguments. */
typedef struct {
    berth_pod_id_t pod;
    berth_node_id_t node;
    berth_class_id_t class_id;
    berth_node_t node_struct;
    berth_class_t class_struct;
    berth_pod_t pod_struct;
    berth_filter_t filter;
    berth_score_t score;
    berth_reserve_t reserve;
    berth_decision_t decision;
    berth_counts_t counts;
    berth_loaded_t loaded;
    berth_victim_t victims[4];
    uint32_t ids[4];
    uint64_t bits[8];
    int64_t scores[512];
    char text[4096];
    size_t length;
    uint32_t id;
    int32_t progress;
    uint64_t number;
} arguments_t;

/* Every function with a handle, with good arguments: `s` is the handle, `a` the arguments. */
#define EVERY_CALL(CALL)                                                                        \
    CALL(berth_load_json, (s, TEXT(NODE), &a->loaded))                                          \
    CALL(berth_apply_json, (s, BERTH_CHANGE_MODIFIED, TEXT(NODE), &a->id))                      \
    CALL(berth_notes, (s, a->text, sizeof a->text, &a->length))                                 \
    CALL(berth_find_pod, (s, TEXT("a"), &a->id))                                                \
    CALL(berth_find_node, (s, TEXT("n1"), &a->id))                                              \
    CALL(berth_node_upsert, (s, &a->node_struct, &a->id))                                       \
    CALL(berth_node_remove, (s, a->node))                                                       \
    CALL(berth_node_name, (s, a->node, a->text, sizeof a->text, &a->length))                    \
    CALL(berth_class_create, (s, &a->class_struct, &a->id))                                     \
    CALL(berth_class_release, (s, a->class_id))                                                 \
    CALL(berth_pod_upsert, (s, &a->pod_struct, &a->id))                                         \
    CALL(berth_pod_remove, (s, a->pod))                                                         \
    CALL(berth_node_list, (s, a->ids, 4, &a->length))                                           \
    CALL(berth_pod_forget, (s, a->pod))                                                         \
    CALL(berth_pod_list, (s, a->ids, 4, &a->length))                                            \
    CALL(berth_pod_name, (s, a->pod, a->text, sizeof a->text, &a->length))                      \
    CALL(berth_pod_node, (s, a->pod, &a->id))                                                   \
    CALL(berth_pod_class, (s, a->pod, &a->id))                                                  \
    CALL(berth_evaluate, (s, a->pod, a->bits, 8, a->scores, 512, &a->counts))                   \
    CALL(berth_schedule_pod, (s, a->pod, &a->decision))                                         \
    CALL(berth_schedule_one, (s, 1, &a->decision))                                              \
    CALL(berth_schedule_all, (s, 1, &a->decision, 1, sizeof a->decision, &a->length))           \
    CALL(berth_bound, (s, a->pod, BERTH_BIND_BOUND, 1))                                         \
    CALL(berth_advance, (s, 1, &a->number))                                                     \
    CALL(berth_victims, (s, a->victims, 4, &a->length))                                         \
    CALL(berth_preemption_failed, (s, a->pod))                                                  \
    CALL(berth_volumes_json, (s, a->pod, a->text, sizeof a->text, &a->length))                  \
    CALL(berth_volumes_bound, (s, a->pod, 1, &a->progress))                                     \
    CALL(berth_bind_volumes, (s, a->pod, &a->id))                                               \
    CALL(berth_bind_claims, (s))                                                                \
    CALL(berth_explain_json, (s, a->pod, a->text, sizeof a->text, &a->length))                  \
    CALL(berth_fork, (s))                                                                       \
    CALL(berth_rollback, (s))                                                                   \
    CALL(berth_commit, (s))                                                                     \
    CALL(berth_state_size, (s, &a->length))                                                     \
    CALL(berth_state_save, (s, (uint8_t *)a->text, sizeof a->text, &a->length))                 \
    CALL(berth_state_load, (s, (uint8_t *)a->text, sizeof a->text))                             \
    CALL(berth_state_hash, (s, &a->number))                                                     \
    CALL(berth_register_filter, (s, &a->filter))                                                \
    CALL(berth_register_score, (s, &a->score))                                                  \
    CALL(berth_register_reserve, (s, &a->reserve))                                              \
    CALL(berth_scheduler_destroy, (s))

static int32_t keep_all(void *context, berth_class_id_t class_id, const uint64_t *feasible,
                        uint64_t *kept, size_t words_length) {
    (void)context, (void)class_id, (void)feasible, (void)kept, (void)words_length;
    return BERTH_PLUGIN_OK;
}

static int32_t score_none(void *context, berth_class_id_t class_id, const uint64_t *feasible,
                          size_t words_length, int64_t *scores, size_t scores_length) {
    (void)context, (void)class_id, (void)feasible, (void)words_length, (void)scores;
    (void)scores_length;
    return BERTH_PLUGIN_OK;
}

static int32_t reserve_all(void *context, berth_pod_id_t pod, berth_node_id_t node) {
    (void)context, (void)pod, (void)node;
    return BERTH_PLUGIN_OK;
}

/* A scheduler with the node n1 and the pod a, and good arguments for it. */
static berth_scheduler_t *start(arguments_t *a) {
    static const berth_string_t n2 = STRING("n2"), b = STRING("b"), plugin = STRING("Mine");
    berth_scheduler_t *s = NULL;

    memset(a, 0, sizeof *a);
    a->node_struct.size = sizeof a->node_struct;
    a->node_struct.name = n2;
    a->class_struct.size = sizeof a->class_struct;
    a->pod_struct.size = sizeof a->pod_struct;
    a->pod_struct.name = b;
    a->filter.size = sizeof a->filter;
    a->filter.name = plugin;
    a->filter.callback = keep_all;
    a->score.size = sizeof a->score;
    a->score.name = plugin;
    a->score.weight = 1;
    a->score.callback = score_none;
    a->reserve.size = sizeof a->reserve;
    a->reserve.reserve = reserve_all;
    a->decision.size = sizeof a->decision;
    a->counts.size = sizeof a->counts;
    a->loaded.size = sizeof a->loaded;
    EXPECT(berth_scheduler_create(NULL, NULL, 0, &s), BERTH_RESULT_OK);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_ADDED, TEXT(NODE), &a->node), BERTH_RESULT_OK);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_ADDED, TEXT(POD), &a->pod), BERTH_RESULT_OK);
    EXPECT(berth_class_create(s, &a->class_struct, &a->class_id), BERTH_RESULT_OK);
    a->pod_struct.class_id = a->class_id;
    return s;
}

#endif
