/* Berth: kube-scheduler's decision as a library.
 *
 * - Every function but berth_abi_version returns a berth_result_t; nothing unwinds, aborts or
 *   prints.
 * - Where the result is not BERTH_RESULT_OK, nothing was changed, and nothing written but the size
 *   that BERTH_RESULT_SMALL_BUFFER asks for; berth_last_error has the reason in words.
 * - Pointers are checked for NULL, and must else be valid for what their function says. Results
 *   are written through pointers that come last.
 * - Strings are a pointer and a length in bytes, UTF-8, without a terminator.
 * - Structs begin with their size, which the caller sets, also of those that are written.
 * - A handle may be used by any thread, by one at a time: a second one gets BERTH_RESULT_BUSY.
 */

#ifndef BERTH_H
#define BERTH_H

/* Written by ffi/tests/header.rs from the crate berth-ffi; not to be edited. */

#include <stddef.h>
#include <stdint.h>

/*
 The pod was placed, or would be.
 */
#define BERTH_OUTCOME_SCHEDULED 1

/*
 The pod fits nowhere now.
 */
#define BERTH_OUTCOME_UNSCHEDULABLE 2

/*
 The pod has a scheduling gate.
 */
#define BERTH_OUTCOME_GATED 3

/*
 The pod uses a field that Berth does not implement yet; the record names it.
 */
#define BERTH_OUTCOME_UNSUPPORTED 4

/*
 The attempt failed; the record has the error.
 */
#define BERTH_OUTCOME_ERROR 5

/*
 The id of nothing.
 */
#define BERTH_ID_NONE UINT32_MAX

/*
 The object is new.
 */
#define BERTH_CHANGE_ADDED 1

/*
 The object that is there has changed to this.
 */
#define BERTH_CHANGE_MODIFIED 2

/*
 The object is gone.
 */
#define BERTH_CHANGE_DELETED 3

/*
 Version of the C ABI that this header describes. It rises when a function or struct changes in
 a way that a compiled caller notices.
 */
#define BERTH_ABI_VERSION 1

/*
 Sampling, rotation and ties as kube-scheduler with `parallelism: 1`.
 */
#define BERTH_FIDELITY_EXACT 0

/*
 Every node is looked at; ties go to the first node at or after the rotation index.
 */
#define BERTH_FIDELITY_BEST 1

/*
 Ties as the fidelity has them.
 */
#define BERTH_TIES_DEFAULT 0

/*
 Of equally good nodes the root of upstream's heap.
 */
#define BERTH_TIES_HEAP 1

/*
 Of equally good nodes the first by name.
 */
#define BERTH_TIES_FIRST_NAME 2

/*
 Of equally good nodes the first one met by the search.
 */
#define BERTH_TIES_FIRST 3

/*
 Of equally good nodes one that is drawn by a seeded generator.
 */
#define BERTH_TIES_RANDOM 4

/*
 As many nodes are looked at as the fidelity has it.
 */
#define BERTH_NODE_SEARCH_DEFAULT 0

/*
 All nodes are looked at.
 */
#define BERTH_NODE_SEARCH_ALL 1

/*
 As many nodes are looked at as `percentageOfNodesToScore` says.
 */
#define BERTH_NODE_SEARCH_SAMPLED 2

/*
 How a call ended. Numbers are never used again for something else.
 */
typedef enum {
    /*
     Done.
     */
    BERTH_RESULT_OK = 0,
    /*
     A pointer that must not be NULL is.
     */
    BERTH_RESULT_NULL_POINTER = 1,
    /*
     A pointer is not aligned for its type, or a length is beyond what memory can hold.
     */
    BERTH_RESULT_BAD_POINTER = 2,
    /*
     A struct's size is smaller than that of its first version: it was not set.
     */
    BERTH_RESULT_BAD_SIZE = 3,
    /*
     A number is none of its enumeration, or an id is that of nothing.
     */
    BERTH_RESULT_BAD_VALUE = 4,
    /*
     A string is not UTF-8.
     */
    BERTH_RESULT_BAD_UTF8 = 5,
    /*
     The handle is none, or was destroyed. Not detected once a new one has its address.
     */
    BERTH_RESULT_BAD_HANDLE = 6,
    /*
     Another thread is using the handle.
     */
    BERTH_RESULT_BUSY = 7,
    /*
     A bug in Berth. The handle can only be destroyed.
     */
    BERTH_RESULT_PANIC = 8,
    /*
     The configuration does not parse, or kube-scheduler would refuse it.
     */
    BERTH_RESULT_BAD_CONFIG = 9,
    /*
     A text is no JSON, or an API server would refuse an object in it.
     */
    BERTH_RESULT_BAD_OBJECT = 10,
    /*
     A table is full.
     */
    BERTH_RESULT_CAPACITY = 11,
    /*
     An object of this kind and name is there already.
     */
    BERTH_RESULT_ALREADY_EXISTS = 12,
    /*
     No object of this kind and name is there.
     */
    BERTH_RESULT_NOT_FOUND = 13,
    /*
     A buffer is too small. The size that is needed was written.
     */
    BERTH_RESULT_SMALL_BUFFER = 14,
} berth_result_t;

/*
 A scheduler with its cluster. Made by `berth_scheduler_create`, freed by
 `berth_scheduler_destroy`; a handle may be used by any thread, by one at a time.
 */
typedef struct berth_scheduler_t berth_scheduler_t;

/*
 A pod, until it is deleted; its id may then become another's.
 */
typedef uint32_t berth_pod_id_t;

/*
 What an evaluation came to.
 */
typedef struct {
    /*
     `sizeof(berth_counts_t)`, set by the caller.
     */
    uintptr_t size;
    /*
     One of BERTH_OUTCOME_.
     */
    int32_t outcome;
    /*
     One more than the largest id of a node: scores that are written, one of 64 of the words of
     bits.
     */
    uint32_t rows;
    /*
     Nodes that passed every filter.
     */
    uint32_t feasible;
    /*
     Nodes that were looked at; those outside were ruled out before, by the pod's node affinity.
     */
    uint32_t evaluated;
    /*
     1 if the feasible nodes have scores, 0 if not: one alone is not scored.
     */
    uint32_t scored;
} berth_counts_t;

/*
 A node, until it is deleted; its id may then become another's. Bit and score arrays are indexed
 by it.
 */
typedef uint32_t berth_node_id_t;

/*
 What one attempt at a pod came to.
 */
typedef struct {
    /*
     `sizeof(berth_decision_t)`, set by the caller.
     */
    uintptr_t size;
    /*
     One of BERTH_OUTCOME_.
     */
    int32_t outcome;
    /*
     Where the pod was placed, else BERTH_ID_NONE.
     */
    berth_node_id_t node;
    /*
     Nodes that passed every filter, of those that were looked at.
     */
    uint32_t feasible;
    /*
     Nodes that were looked at.
     */
    uint32_t evaluated;
} berth_decision_t;

/*
 What a load came to.
 */
typedef struct {
    /*
     `sizeof(berth_loaded_t)`, set by the caller.
     */
    uintptr_t size;
    /*
     Pods that wait for a node, those made of workloads included.
     */
    uint32_t pending;
    /*
     Pending pods that were left out: another scheduler's, or being deleted.
     */
    uint32_t skipped;
} berth_loaded_t;

/*
 Choices of `berth_scheduler_create`. All 0 but the size is the default.
 */
typedef struct {
    /*
     `sizeof(berth_options_t)`.
     */
    uintptr_t size;
    /*
     One of BERTH_FIDELITY_.
     */
    int32_t fidelity;
    /*
     One of BERTH_TIES_.
     */
    int32_t ties;
    /*
     One of BERTH_NODE_SEARCH_.
     */
    int32_t node_search;
    /*
     Seed of BERTH_TIES_RANDOM.
     */
    uint64_t seed;
    /*
     Most nodes at a time, with `pods`; 0 for both: what the first `berth_load_json` holds, a
     quarter more, and some (512 nodes and 16,384 pods without a load).
     */
    uint32_t nodes;
    /*
     Most pods at a time.
     */
    uint32_t pods;
} berth_options_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Judges a pod on every node, with nothing changed; a pod that has a node is judged as if it had
 none.

 @param out_bits       bit n % 64 of word n / 64 is whether node n is feasible; the caller's, may
                       be NULL with length 0
 @param out_scores     by node the sum of all plugins' normalised scores times weight, 0 for
                       nodes that are not feasible; the caller's, may be NULL with length 0
 @param out_counts     the caller's, with its size set; `rows` is written also with
                       BERTH_RESULT_SMALL_BUFFER

 Words of bits and scores beyond those of `rows` are left alone.

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no pod has
 the id), SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_evaluate(berth_scheduler_t *scheduler,
                              berth_pod_id_t pod,
                              uint64_t *out_bits,
                              uintptr_t bits_length,
                              int64_t *out_scores,
                              uintptr_t scores_length,
                              berth_counts_t *out_counts);

/*
 One attempt at a pod: decides, and counts it on the chosen node from then on. A pod that has a
 node already keeps it, and the outcome is an error.

 @param out_decision   the caller's, with its size set

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no pod has
 the id), BAD_HANDLE, BUSY, PANIC.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_schedule_pod(berth_scheduler_t *scheduler,
                                  berth_pod_id_t pod,
                                  berth_decision_t *out_decision);

/*
 The whole decision record of `berth_evaluate`, as JSON: the node that would be chosen, every
 feasible node's scores by plugin, why each of the others is refused.

 @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
                       for the length, which the same question has until the cluster changes
 @param out_length     bytes of the text, written also with BERTH_RESULT_SMALL_BUFFER

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
 SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_explain_json(berth_scheduler_t *scheduler,
                                  berth_pod_id_t pod,
                                  char *buffer,
                                  uintptr_t buffer_length,
                                  uintptr_t *out_length);

/*
 Takes in a whole `List`, a list of one kind or a single object: validates and defaults the
 objects as an API server does, and makes the pods of workloads that have none in the text.
 Kinds that scheduling does not read are left out, and counted in `berth_notes`.

 All goes in, or nothing. A scheduler without a given size that nothing was put into yet gets
 that of the load, a quarter more, and some.

 @param json           the caller's
 @param out_loaded     the caller's, with its size set; may be NULL

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_UTF8, BAD_OBJECT,
 CAPACITY, ALREADY_EXISTS, BAD_HANDLE, BUSY, PANIC.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_load_json(berth_scheduler_t *scheduler,
                               const char *json,
                               uintptr_t json_length,
                               berth_loaded_t *out_loaded);

/*
 Takes in what happened to one object, as a watch tells of it. It is validated and defaulted; of
 a workload no pods are made. Kinds that scheduling does not read change nothing.

 @param change     one of BERTH_CHANGE_
 @param json       the object, the caller's; of a deleted one kind and metadata are enough
 @param out_id     the id of a node or pod that is there now, else BERTH_ID_NONE; may be NULL

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE, BAD_UTF8, BAD_OBJECT,
 CAPACITY, ALREADY_EXISTS (added), NOT_FOUND (modified, deleted; a pod that has finished counts
 as deleted), BAD_HANDLE, BUSY, PANIC.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_apply_json(berth_scheduler_t *scheduler,
                                int32_t change,
                                const char *json,
                                uintptr_t json_length,
                                uint32_t *out_id);

/*
 What the last load or change had to say beside its result, one sentence a line: what was left
 out, which default was taken for want of an object.

 @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
                       for the length
 @param out_length     bytes of the text

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
 PANIC.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_notes(berth_scheduler_t *scheduler,
                           char *buffer,
                           uintptr_t buffer_length,
                           uintptr_t *out_length);

/*
 Finds a pod.

 @param name       `NAMESPACE/NAME`, or `NAME` in the namespace `default`; the caller's
 @param out_id     its id

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_UTF8, NOT_FOUND, BAD_HANDLE,
 BUSY, PANIC.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_find_pod(berth_scheduler_t *scheduler,
                              const char *name,
                              uintptr_t name_length,
                              berth_pod_id_t *out_id);

/*
 Finds a node.

 @param name       the caller's
 @param out_id     its id

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_UTF8, NOT_FOUND, BAD_HANDLE,
 BUSY, PANIC.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_find_node(berth_scheduler_t *scheduler,
                               const char *name,
                               uintptr_t name_length,
                               berth_node_id_t *out_id);

/*
 The name of a node.

 @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
                       for the length
 @param out_length     bytes of the name

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no node has the id),
 SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_node_name(berth_scheduler_t *scheduler,
                               berth_node_id_t node,
                               char *buffer,
                               uintptr_t buffer_length,
                               uintptr_t *out_length);

/*
 The library's BERTH_ABI_VERSION, to be compared with the header's. From any thread.
 */
uint32_t berth_abi_version(void);

/*
 Makes a scheduler of an empty cluster.

 @param options    the caller's; NULL for the default
 @param config     KubeSchedulerConfiguration v1 as JSON or YAML, the caller's; NULL with length
                   0 for the default
 @param out        the handle, to be freed by `berth_scheduler_destroy`

 From any thread. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE, BAD_UTF8,
 BAD_CONFIG, CAPACITY (more than 131,072 nodes or 2,097,152 pods), PANIC; the reason in words is
 the thread's, by `berth_last_error(NULL, ...)`.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_scheduler_create(const berth_options_t *options,
                                      const char *config,
                                      uintptr_t config_length,
                                      berth_scheduler_t **out);

/*
 Frees a scheduler. The handle must not be used afterwards.

 From any thread. BERTH_RESULT_NULL_POINTER, BAD_HANDLE, BUSY (then it is not freed), PANIC.

 # Safety
 None is asked for: a handle that is none is found out.
 */
berth_result_t berth_scheduler_destroy(berth_scheduler_t *scheduler);

/*
 Why the last call of this handle that failed did, also after BERTH_RESULT_PANIC. Failures that
 a result tells whole have none (BERTH_RESULT_BUSY, BAD_HANDLE, a handle that is NULL).

 @param scheduler      NULL: why the last failed `berth_scheduler_create` of this thread did
 @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
                       for the length
 @param out_length     bytes of the text

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_HANDLE, BUSY, SMALL_BUFFER.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_last_error(const berth_scheduler_t *scheduler,
                                char *buffer,
                                uintptr_t buffer_length,
                                uintptr_t *out_length);

/*
 Hash of all objects and placements: the same for the same content on every machine, whatever
 the history that led to it.

 One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_HANDLE, BUSY, PANIC.

 # Safety
 Pointers are NULL or valid as described.
 */
berth_result_t berth_state_hash(berth_scheduler_t *scheduler, uint64_t *out_hash);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BERTH_H */
