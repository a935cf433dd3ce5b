/* A scheduler inside a program: nodes, pods and time are the program's own, no JSON, no cluster.
 *
 *     scheduler_loop
 *
 * Jobs arrive every ten seconds and run for a while; one node fails half way, and an urgent job pushes
 * others aside. What a real program does over the network (binding, evicting) is a line of output
 * here; the calls around it are the same.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "berth.h"

#define SECOND UINT64_C(1000000000)
#define JOBS 12
#define STRING(text) {text, sizeof(text) - 1}

/* Ends the program with Berth's words if a call failed. */
static void check(berth_scheduler_t *scheduler, const char *call, berth_result_t result) {
    char text[1024];
    size_t length = 0;

    if (result == BERTH_RESULT_OK) {
        return;
    }
    if (berth_last_error(scheduler, text, sizeof text, &length) != BERTH_RESULT_OK) {
        length = 0;
    }
    fprintf(stderr, "%s: result %d: %.*s\n", call, (int)result, (int)length, text);
    exit(2);
}
#define CHECK(function, ...) check(scheduler, #function, function(scheduler, __VA_ARGS__))

static berth_string_t string(const char *text) {
    berth_string_t made = {text, strlen(text)};
    return made;
}

typedef struct {
    char name[32];
    berth_pod_id_t pod;
    int32_t priority;
    uint64_t ends; /* 0: not running */
    int is_there;
} job_t;

static job_t jobs[JOBS];

static job_t *job_of(berth_pod_id_t pod) {
    for (size_t i = 0; i < JOBS; i++) {
        if (jobs[i].is_there && jobs[i].pod == pod) {
            return &jobs[i];
        }
    }
    return NULL;
}

static void add_node(berth_scheduler_t *scheduler, const char *name) {
    const berth_amount_t allocatable[] = {
        {STRING("cpu"), 4000}, {STRING("memory"), INT64_C(16) << 30}, {STRING("pods"), 110}};
    const berth_label_t labels[] = {{STRING("kubernetes.io/hostname"), string(name)}};
    berth_node_t node = {.size = sizeof node,
                         .name = string(name),
                         .allocatable = allocatable,
                         .allocatable_length = 3,
                         .labels = labels,
                         .labels_length = 1};
    CHECK(berth_node_upsert, &node, NULL);
}

/* One class for all jobs of a size. */
static berth_class_id_t job_class(berth_scheduler_t *scheduler, int64_t cpu_milli) {
    const berth_amount_t requests[] = {{STRING("cpu"), cpu_milli},
                                       {STRING("memory"), INT64_C(1) << 30}};
    berth_class_t spec = {.size = sizeof spec, .requests = requests, .requests_length = 2};
    berth_class_id_t id;
    CHECK(berth_class_create, &spec, &id);
    return id;
}

static void remove_job(berth_scheduler_t *scheduler, job_t *job) {
    CHECK(berth_pod_remove, job->pod);
    job->is_there = 0;
}

/* Every pod that can be tried is tried; what comes of it is done at once. */
static void schedule(berth_scheduler_t *scheduler, uint64_t now) {
    for (;;) {
        berth_decision_t decision = {.size = sizeof decision};
        CHECK(berth_schedule_one, now, &decision);
        if (decision.outcome == BERTH_OUTCOME_NONE) {
            return;
        }
        job_t *job = job_of(decision.pod);
        if (decision.outcome == BERTH_OUTCOME_SCHEDULED) {
            char node[64];
            size_t length;
            CHECK(berth_node_name, decision.node, node, sizeof node, &length);
            printf("%3" PRIu64 " s: %s runs on %.*s\n", now / SECOND, job->name, (int)length, node);
            /* A real program writes the binding here, and says what became of it. */
            CHECK(berth_bound, decision.pod, BERTH_BIND_BOUND, now);
            job->ends = now + 40 * SECOND;
            continue;
        }
        printf("%3" PRIu64 " s: %s waits, attempt %" PRIu32 "\n", now / SECOND, job->name,
               decision.attempt);
        berth_victim_t victims[JOBS];
        size_t count;
        CHECK(berth_victims, victims, JOBS, &count);
        for (size_t i = 0; i < count; i++) {
            job_t *victim = job_of(victims[i].pod);
            if (victim != NULL && victims[i].kind == BERTH_VICTIM_EVICT) {
                printf("%3" PRIu64 " s: %s has to go for it\n", now / SECOND, victim->name);
                remove_job(scheduler, victim);
            }
        }
    }
}

int main(void) {
    berth_options_t options = {.size = sizeof options, .abi_version = BERTH_ABI_VERSION};
    berth_scheduler_t *scheduler = NULL;
    int placed = 0;

    check(NULL, "berth_scheduler_create",
          berth_scheduler_create(&options, NULL, 0, &scheduler));
    add_node(scheduler, "a");
    add_node(scheduler, "b");
    berth_class_id_t small = job_class(scheduler, 1500), large = job_class(scheduler, 3000);

    for (uint64_t now = SECOND; now <= 200 * SECOND; now += SECOND) {
        for (size_t i = 0; i < JOBS; i++) {
            if (jobs[i].is_there && jobs[i].ends != 0 && jobs[i].ends <= now) {
                remove_job(scheduler, &jobs[i]);
                placed++;
            }
        }
        if (now % (10 * SECOND) == 0 && now / (10 * SECOND) <= JOBS) {
            size_t number = (size_t)(now / (10 * SECOND)) - 1;
            job_t *job = &jobs[number];
            int urgent = number == 8;
            snprintf(job->name, sizeof job->name, "%s-%zu", urgent ? "urgent" : "job", number);
            job->priority = urgent ? 100 : 0;
            berth_pod_t pod = {.size = sizeof pod,
                               .class_id = urgent ? large : small,
                               .priority = job->priority,
                               .name = string(job->name)};
            CHECK(berth_pod_upsert, &pod, &job->pod);
            job->is_there = 1;
        }
        if (now == 60 * SECOND) {
            berth_node_id_t failed;
            printf(" 60 s: node b fails\n");
            CHECK(berth_find_node, "b", 1, &failed);
            for (size_t i = 0; i < JOBS; i++) {
                berth_node_id_t node = BERTH_ID_NONE;
                if (jobs[i].is_there) {
                    CHECK(berth_pod_node, jobs[i].pod, &node);
                }
                if (node == failed) {
                    printf(" 60 s: %s is lost with it\n", jobs[i].name);
                    remove_job(scheduler, &jobs[i]);
                }
            }
            CHECK(berth_node_remove, failed);
        }
        schedule(scheduler, now);
    }
    printf("%d jobs ran to their end\n", placed);
    check(NULL, "berth_scheduler_destroy", berth_scheduler_destroy(scheduler));
    return 0;
}
