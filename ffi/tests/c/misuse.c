/* Every function with NULL, wrong sizes, wrong numbers and stale handles: each says so, and
 * nothing is written. Ends with 0 if all did.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "berth.h"

static int failures = 0;

#define EXPECT(call, expected)                                                          \
    do {                                                                                \
        int result_ = (int)(call);                                                      \
        if (result_ != (int)(expected)) {                                               \
            failures++;                                                                 \
            fprintf(stderr, "line %d: %s: result %d, expected %s\n", __LINE__, #call,   \
                    result_, #expected);                                                \
        }                                                                               \
    } while (0)

#define TEXT(text) text, strlen(text)

static const char *NODE =
    "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"},"
    "\"status\":{\"allocatable\":{\"cpu\":\"4\",\"memory\":\"8Gi\",\"pods\":\"110\"}}}";
static const char *POD =
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"},"
    "\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}";

static void nulls(berth_scheduler_t *s, berth_pod_id_t pod, berth_node_id_t node) {
    char text[8];
    size_t length = 77;
    uint32_t id = 77;
    uint64_t hash = 77;
    berth_decision_t decision = {.size = sizeof decision};
    berth_counts_t counts = {.size = sizeof counts};

    EXPECT(berth_scheduler_create(NULL, NULL, 0, NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_scheduler_create(NULL, NULL, 1, &s), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_scheduler_destroy(NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_last_error(s, NULL, 0, NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_last_error(s, NULL, 1, &length), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_load_json(NULL, TEXT(NODE), NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_load_json(s, NULL, 0, NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_load_json(s, NULL, 1, NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_apply_json(NULL, BERTH_CHANGE_ADDED, TEXT(NODE), &id), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_ADDED, NULL, 0, &id), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_notes(NULL, NULL, 0, &length), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_notes(s, NULL, 1, &length), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_notes(s, NULL, 0, NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_find_pod(NULL, TEXT("a"), &id), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_find_pod(s, NULL, 0, &id), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_find_pod(s, TEXT("a"), NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_find_node(NULL, TEXT("n1"), &id), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_find_node(s, NULL, 0, &id), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_find_node(s, TEXT("n1"), NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_node_name(NULL, node, text, sizeof text, &length), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_node_name(s, node, NULL, 1, &length), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_node_name(s, node, text, sizeof text, NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_evaluate(NULL, pod, NULL, 0, NULL, 0, &counts), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_evaluate(s, pod, NULL, 1, NULL, 0, &counts), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_evaluate(s, pod, NULL, 0, NULL, 1, &counts), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_evaluate(s, pod, NULL, 0, NULL, 0, NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_schedule_pod(NULL, pod, &decision), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_schedule_pod(s, pod, NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_explain_json(NULL, pod, NULL, 0, &length), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_explain_json(s, pod, NULL, 1, &length), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_explain_json(s, pod, NULL, 0, NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_state_hash(NULL, &hash), BERTH_RESULT_NULL_POINTER);
    EXPECT(berth_state_hash(s, NULL), BERTH_RESULT_NULL_POINTER);
    EXPECT(length, 77);
    EXPECT(id, 77);
    EXPECT(hash, 77);
}

static void sizes_and_numbers(berth_scheduler_t *s, berth_pod_id_t pod) {
    berth_options_t options = {.size = sizeof options};
    berth_decision_t decision = {.size = sizeof decision - 1};
    berth_counts_t counts = {0};
    berth_loaded_t loaded = {0};
    berth_scheduler_t *other = NULL;
    struct {
        berth_decision_t known;
        uint64_t unknown;
    } later = {{.size = sizeof later}, 77};
    uint64_t unaligned[2] = {0, 0};
    uint64_t *astray = (uint64_t *)((char *)unaligned + 1);

    EXPECT(berth_schedule_pod(s, pod, &decision), BERTH_RESULT_BAD_SIZE);
    EXPECT(berth_evaluate(s, pod, NULL, 0, NULL, 0, &counts), BERTH_RESULT_BAD_SIZE);
    EXPECT(berth_load_json(s, TEXT(NODE), &loaded), BERTH_RESULT_BAD_SIZE);
    options.size = 8;
    EXPECT(berth_scheduler_create(&options, NULL, 0, &other), BERTH_RESULT_BAD_SIZE);
    options.size = sizeof options;
    options.fidelity = 2;
    EXPECT(berth_scheduler_create(&options, NULL, 0, &other), BERTH_RESULT_BAD_VALUE);
    options.fidelity = BERTH_FIDELITY_BEST;
    options.ties = -1;
    EXPECT(berth_scheduler_create(&options, NULL, 0, &other), BERTH_RESULT_BAD_VALUE);
    options.ties = BERTH_TIES_RANDOM;
    options.node_search = 3;
    EXPECT(berth_scheduler_create(&options, NULL, 0, &other), BERTH_RESULT_BAD_VALUE);
    options.node_search = BERTH_NODE_SEARCH_SAMPLED;
    options.nodes = 5;
    EXPECT(berth_scheduler_create(&options, NULL, 0, &other), BERTH_RESULT_BAD_VALUE);
    options.pods = UINT32_MAX;
    EXPECT(berth_scheduler_create(&options, NULL, 0, &other), BERTH_RESULT_CAPACITY);
    EXPECT(berth_scheduler_create(NULL, TEXT("kind: Nothing"), &other), BERTH_RESULT_BAD_CONFIG);
    EXPECT(berth_scheduler_create(NULL, "\xff", 1, &other), BERTH_RESULT_BAD_UTF8);
    EXPECT(berth_scheduler_create(NULL, "x", SIZE_MAX, &other), BERTH_RESULT_BAD_POINTER);
    EXPECT(other == NULL, 1);
    EXPECT(berth_apply_json(s, 0, TEXT(NODE), NULL), BERTH_RESULT_BAD_VALUE);
    EXPECT(berth_apply_json(s, 4, TEXT(NODE), NULL), BERTH_RESULT_BAD_VALUE);
    EXPECT(berth_schedule_pod(s, BERTH_ID_NONE, &later.known), BERTH_RESULT_BAD_VALUE);
    EXPECT(berth_evaluate(s, 7, NULL, 0, NULL, 0, &counts), BERTH_RESULT_BAD_SIZE);
    counts.size = sizeof counts;
    EXPECT(berth_evaluate(s, 7, NULL, 0, NULL, 0, &counts), BERTH_RESULT_BAD_VALUE);
    EXPECT(berth_explain_json(s, 7, NULL, 0, &later.known.size), BERTH_RESULT_BAD_VALUE);
    EXPECT(berth_node_name(s, 7, NULL, 0, &later.known.size), BERTH_RESULT_BAD_VALUE);
    EXPECT(berth_state_hash(s, astray), BERTH_RESULT_BAD_POINTER);
    EXPECT(berth_evaluate(s, pod, astray, 1, NULL, 0, &counts), BERTH_RESULT_BAD_POINTER);

    /* A struct of a later version is filled as far as it is known. */
    EXPECT(berth_schedule_pod(s, pod, &later.known), BERTH_RESULT_OK);
    EXPECT(later.known.outcome, BERTH_OUTCOME_SCHEDULED);
    EXPECT(later.known.size, sizeof later);
    EXPECT(later.unknown, 77);
}

static void buffers(berth_scheduler_t *s, berth_pod_id_t pod) {
    char text[2] = {'x', 'y'};
    size_t length = 0;
    int64_t score = 77;
    berth_counts_t counts = {.size = sizeof counts};

    EXPECT(berth_node_name(s, 0, text, 1, &length), BERTH_RESULT_SMALL_BUFFER);
    EXPECT(length, 2);
    EXPECT(text[0], 'x');
    EXPECT(berth_node_name(s, 0, text, 2, &length), BERTH_RESULT_OK);
    EXPECT(text[0] == 'n' && text[1] == '1', 1);
    EXPECT(berth_explain_json(s, pod, text, 2, &length), BERTH_RESULT_SMALL_BUFFER);
    EXPECT(length > 50, 1);
    EXPECT(berth_evaluate(s, pod, NULL, 0, &score, 0, &counts), BERTH_RESULT_SMALL_BUFFER);
    EXPECT(counts.rows, 1);
    EXPECT(score, 77);
    EXPECT(berth_evaluate(s, pod, NULL, 0, &score, 1, &counts), BERTH_RESULT_OK);
}

static void objects(berth_scheduler_t *s) {
    char text[256];
    size_t length = 0;
    uint32_t id = 77;
    const char *alien = "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"x\"}}";

    EXPECT(berth_load_json(s, TEXT("{"), NULL), BERTH_RESULT_BAD_OBJECT);
    EXPECT(berth_load_json(s, TEXT(POD), NULL), BERTH_RESULT_ALREADY_EXISTS);
    EXPECT(berth_last_error(s, text, sizeof text, &length), BERTH_RESULT_OK);
    EXPECT(length > 13 && memcmp(text, "Pod default/a", 13) == 0, 1);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_ADDED, TEXT(NODE), &id), BERTH_RESULT_ALREADY_EXISTS);
    EXPECT(berth_find_node(s, TEXT("n2"), &id), BERTH_RESULT_NOT_FOUND);
    EXPECT(berth_find_pod(s, TEXT("b"), &id), BERTH_RESULT_NOT_FOUND);
    EXPECT(id, 77);
    EXPECT(berth_load_json(s, TEXT(alien), NULL), BERTH_RESULT_OK);
    EXPECT(berth_notes(s, text, sizeof text, &length), BERTH_RESULT_OK);
    EXPECT(length > 0, 1);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_DELETED, TEXT(POD), &id), BERTH_RESULT_OK);
    EXPECT(id, BERTH_ID_NONE);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_DELETED, TEXT(POD), &id), BERTH_RESULT_NOT_FOUND);
}

static void stale(berth_scheduler_t *s) {
    size_t length = 0;
    uint32_t id;
    uint64_t hash;
    berth_decision_t decision = {.size = sizeof decision};
    berth_counts_t counts = {.size = sizeof counts};

    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_OK);
    EXPECT(berth_scheduler_destroy(s), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_last_error(s, NULL, 0, &length), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_load_json(s, TEXT(NODE), NULL), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_ADDED, TEXT(NODE), &id), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_notes(s, NULL, 0, &length), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_find_pod(s, TEXT("a"), &id), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_find_node(s, TEXT("n1"), &id), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_node_name(s, 0, NULL, 0, &length), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_evaluate(s, 0, NULL, 0, NULL, 0, &counts), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_schedule_pod(s, 0, &decision), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_explain_json(s, 0, NULL, 0, &length), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_state_hash(s, &hash), BERTH_RESULT_BAD_HANDLE);
    EXPECT(berth_scheduler_destroy((berth_scheduler_t *)&length), BERTH_RESULT_BAD_HANDLE);
}

int main(void) {
    berth_scheduler_t *s = NULL;
    berth_node_id_t node = BERTH_ID_NONE;
    berth_pod_id_t pod = BERTH_ID_NONE;

    EXPECT(berth_abi_version(), BERTH_ABI_VERSION);
    EXPECT(berth_scheduler_create(NULL, NULL, 0, &s), BERTH_RESULT_OK);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_ADDED, TEXT(NODE), &node), BERTH_RESULT_OK);
    EXPECT(berth_apply_json(s, BERTH_CHANGE_ADDED, TEXT(POD), &pod), BERTH_RESULT_OK);
    nulls(s, pod, node);
    sizes_and_numbers(s, pod);
    buffers(s, pod);
    objects(s);
    stale(s);
    return failures == 0 ? 0 : 1;
}
