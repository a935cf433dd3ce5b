/* Berth: kube-scheduler's decision as a library.
 *
 * - Every function but berth_abi_version returns a berth_result_t; nothing unwinds, aborts or
 *   prints.
 * - Where the result is not BERTH_RESULT_OK, nothing was changed, and nothing written but the size
 *   that BERTH_RESULT_SMALL_BUFFER asks for; berth_last_error has the reason in words.
 * - Pointers are checked for NULL, and must else be valid for what their function says, until it
 *   returns; none is kept but the context and the functions of plugins. Results are written through
 *   pointers that come last.
 * - Strings are a pointer and a length in bytes, UTF-8, without a terminator.
 * - Structs begin with their size, which the caller sets, also of those that are written. Elements
 *   of arrays have none: they never change under one BERTH_ABI_VERSION.
 * - Numbers of enumerations are int32_t, flags are 0 or 1; others are BERTH_RESULT_BAD_VALUE.
 * - A handle may be used by any thread, by one at a time: a second one gets BERTH_RESULT_BUSY.
 */

#ifndef BERTH_H
#define BERTH_H

/* Written by ffi/tests/header.rs from the crate berth-ffi; not to be edited. */

#include <stddef.h>
#include <stdint.h>

/**
 * Done, or allowed.
 */
#define BERTH_PLUGIN_OK 0

/**
 * Of Reserve: not now; any event may change that.
 */
#define BERTH_PLUGIN_REJECTED 1

/**
 * The plugin failed. So is every other number read, too.
 */
#define BERTH_PLUGIN_FAILED 2

/**
 * The value is among those that are listed.
 */
#define BERTH_OPERATOR_IN 1

/**
 * The label is absent or its value is not among those that are listed.
 */
#define BERTH_OPERATOR_NOT_IN 2

/**
 * The label is there.
 */
#define BERTH_OPERATOR_EXISTS 3

/**
 * The label is absent.
 */
#define BERTH_OPERATOR_DOES_NOT_EXIST 4

/**
 * Of node labels: the value is a greater number than the one that is listed.
 */
#define BERTH_OPERATOR_GT 5

/**
 * Of node labels: the value is a smaller number than the one that is listed.
 */
#define BERTH_OPERATOR_LT 6

/**
 * The taint has this key and value.
 */
#define BERTH_TOLERATION_EQUAL 0

/**
 * The taint has this key; an empty key tolerates every taint.
 */
#define BERTH_TOLERATION_EXISTS 1

/**
 * Tolerations of taints of every effect.
 */
#define BERTH_EFFECT_ANY 0

/**
 * A host port of TCP.
 */
#define BERTH_PROTOCOL_TCP 0

/**
 * A host port of UDP.
 */
#define BERTH_PROTOCOL_UDP 1

/**
 * A host port of SCTP.
 */
#define BERTH_PROTOCOL_SCTP 2

/**
 * A node that would break the constraint is refused.
 */
#define BERTH_SPREAD_DO_NOT_SCHEDULE 0

/**
 * A node that would break the constraint has a lower score.
 */
#define BERTH_SPREAD_SCHEDULE_ANYWAY 1

/**
 * No pod can be tried now.
 */
#define BERTH_OUTCOME_NONE 0

/**
 * The pod was placed, or would be.
 */
#define BERTH_OUTCOME_SCHEDULED 1

/**
 * The pod fits nowhere now, or a plugin of the caller refused the chosen node.
 */
#define BERTH_OUTCOME_UNSCHEDULABLE 2

/**
 * The pod has a scheduling gate.
 */
#define BERTH_OUTCOME_GATED 3

/**
 * The pod uses a field that Berth does not implement yet; the record names it.
 */
#define BERTH_OUTCOME_UNSUPPORTED 4

/**
 * The attempt failed; the record has the error.
 */
#define BERTH_OUTCOME_ERROR 5

/**
 * Refuses pods that do not tolerate it.
 */
#define BERTH_EFFECT_NO_SCHEDULE 1

/**
 * Costs the node score for pods that do not tolerate it.
 */
#define BERTH_EFFECT_PREFER_NO_SCHEDULE 2

/**
 * Refuses pods that do not tolerate it, and evicts them.
 */
#define BERTH_EFFECT_NO_EXECUTE 3

/**
 * The id of nothing.
 */
#define BERTH_ID_NONE UINT32_MAX

/**
 * The object is new.
 */
#define BERTH_CHANGE_ADDED 1

/**
 * The object that is there has changed to this.
 */
#define BERTH_CHANGE_MODIFIED 2

/**
 * The object is gone.
 */
#define BERTH_CHANGE_DELETED 3

/**
 * Version of the C ABI that this header describes. It rises when a function or struct changes in
 * a way that a compiled caller notices.
 */
#define BERTH_ABI_VERSION 2

/**
 * Sampling, rotation and ties as kube-scheduler with `parallelism: 1`.
 */
#define BERTH_FIDELITY_EXACT 0

/**
 * Every node is looked at; ties go to the first node at or after the rotation index.
 */
#define BERTH_FIDELITY_BEST 1

/**
 * Ties as the fidelity has them.
 */
#define BERTH_TIES_DEFAULT 0

/**
 * Of equally good nodes the root of upstream's heap.
 */
#define BERTH_TIES_HEAP 1

/**
 * Of equally good nodes the first by name.
 */
#define BERTH_TIES_FIRST_NAME 2

/**
 * Of equally good nodes the first one met by the search.
 */
#define BERTH_TIES_FIRST 3

/**
 * Of equally good nodes one that is drawn by a seeded generator.
 */
#define BERTH_TIES_RANDOM 4

/**
 * As many nodes are looked at as the fidelity has it.
 */
#define BERTH_NODE_SEARCH_DEFAULT 0

/**
 * All nodes are looked at.
 */
#define BERTH_NODE_SEARCH_ALL 1

/**
 * As many nodes are looked at as `percentageOfNodesToScore` says.
 */
#define BERTH_NODE_SEARCH_SAMPLED 2

/**
 * Pods of higher priority may evict others.
 */
#define BERTH_PREEMPTION_DEFAULT 0

/**
 * Pods of higher priority may evict others.
 */
#define BERTH_PREEMPTION_ON 1

/**
 * Nobody is evicted.
 */
#define BERTH_PREEMPTION_OFF 2

/**
 * The binding is written; the pod stays, and comes again with its node.
 */
#define BERTH_BIND_BOUND 1

/**
 * A rule refused it, before or at the write; the pod is tried again.
 */
#define BERTH_BIND_REJECTED 2

/**
 * It failed; the pod is tried again.
 */
#define BERTH_BIND_FAILED 3

/**
 * Nobody knows, as when no answer came; the pod keeps its room until more is known.
 */
#define BERTH_BIND_UNKNOWN 4

/**
 * The caller evicts it.
 */
#define BERTH_VICTIM_EVICT 1

/**
 * It is being deleted already.
 */
#define BERTH_VICTIM_TERMINATING 2

/**
 * It was not bound yet: its place was taken back, and it is in the queue again.
 */
#define BERTH_VICTIM_IN_MEMORY 3

/**
 * All claims are bound, or none had to be.
 */
#define BERTH_VOLUMES_BOUND 1

/**
 * Some are not yet: ask again when objects have changed, or a second has passed.
 */
#define BERTH_VOLUMES_PENDING 2

/**
 * They will not be: `berth_bound` with BERTH_BIND_FAILED follows.
 */
#define BERTH_VOLUMES_FAILED 3

/**
 * The profile's `bindTimeoutSeconds` are over: as BERTH_VOLUMES_FAILED.
 */
#define BERTH_VOLUMES_TIMED_OUT 4

/**
 * How a call ended. Numbers are never used again for something else.
 */
typedef enum {
    /**
     * Done.
     */
    BERTH_RESULT_OK = 0,
    /**
     * A pointer that must not be NULL is.
     */
    BERTH_RESULT_NULL_POINTER = 1,
    /**
     * A pointer is not aligned for its type, or a length is beyond what memory can hold.
     */
    BERTH_RESULT_BAD_POINTER = 2,
    /**
     * A struct's size was not set, or it sets a field that this version of the library lacks.
     */
    BERTH_RESULT_BAD_SIZE = 3,
    /**
     * A number is none of its enumeration, or an id is that of nothing.
     */
    BERTH_RESULT_BAD_VALUE = 4,
    /**
     * A string is not UTF-8.
     */
    BERTH_RESULT_BAD_UTF8 = 5,
    /**
     * The handle is none, or was destroyed.
     */
    BERTH_RESULT_BAD_HANDLE = 6,
    /**
     * Another thread is using the handle.
     */
    BERTH_RESULT_BUSY = 7,
    /**
     * A bug in Berth. The handle can only be destroyed.
     */
    BERTH_RESULT_PANIC = 8,
    /**
     * The configuration does not parse, or kube-scheduler would refuse it.
     */
    BERTH_RESULT_BAD_CONFIG = 9,
    /**
     * A text is no JSON, or an API server would refuse an object in it.
     */
    BERTH_RESULT_BAD_OBJECT = 10,
    /**
     * A table is full.
     */
    BERTH_RESULT_CAPACITY = 11,
    /**
     * An object of this kind and name is there already.
     */
    BERTH_RESULT_ALREADY_EXISTS = 12,
    /**
     * No object of this kind and name is there.
     */
    BERTH_RESULT_NOT_FOUND = 13,
    /**
     * A buffer is too small. The size that is needed was written.
     */
    BERTH_RESULT_SMALL_BUFFER = 14,
    /**
     * The program's header has another BERTH_ABI_VERSION than the library.
     */
    BERTH_RESULT_BAD_VERSION = 15,
    /**
     * The call does not fit the present state: there is no fork to end, no binding to hear of.
     */
    BERTH_RESULT_BAD_STATE = 16,
    /**
     * Bytes are no saved state, or one that was cut or changed or is of another version.
     */
    BERTH_RESULT_BAD_FILE = 17,
} berth_result_t;

/**
 * A scheduler with its cluster. Made by `berth_scheduler_create`, freed by
 * `berth_scheduler_destroy`; a handle may be used by any thread, by one at a time.
 */
typedef struct berth_scheduler_t berth_scheduler_t;

/**
 * Limits of a scheduler's tables, which do not grow: what does not fit is refused with
 * BERTH_RESULT_CAPACITY, which names the field. A field that is 0 is what is usual for so many
 * nodes and pods; `berth_capacities_default` shows it.
 */
typedef struct {
    /**
     * `sizeof(berth_capacities_t)`.
     */
    size_t size;
    /**
     * Nodes at a time; 0: 512.
     */
    uint32_t nodes;
    /**
     * Pods at a time, pending ones included; 0: 16,384.
     */
    uint32_t pods;
    /**
     * Different pod specs at a time.
     */
    uint32_t classes;
    /**
     * Classes whose verdict on every node is kept between pods.
     */
    uint32_t live_classes;
    /**
     * Words of the compiled form of classes.
     */
    uint64_t class_words;
    /**
     * Words of the live classes' lists of terms.
     */
    uint32_t live_words;
    /**
     * Different texts: names, label keys and values, images.
     */
    uint32_t texts;
    /**
     * Bytes of them.
     */
    uint64_t text_bytes;
    /**
     * Words of node labels and taints.
     */
    uint64_t node_words;
    /**
     * Words of the largest single object.
     */
    uint32_t record_words;
    /**
     * Resources beside cpu, memory, ephemeral-storage and pods.
     */
    uint32_t resources;
    /**
     * Topology keys in use by constraints and terms.
     */
    uint32_t topology_keys;
    /**
     * Values of those keys on nodes, keys counted apart.
     */
    uint32_t domains;
    /**
     * Selectors that are counted: spread constraints and affinity terms.
     */
    uint32_t terms;
    /**
     * Non-zero counts of pods by term and domain or node.
     */
    uint32_t term_counts;
    /**
     * Words of terms.
     */
    uint64_t term_words;
    /**
     * Pairs of class and term, and of class and host port.
     */
    uint32_t links;
    /**
     * Image names on nodes.
     */
    uint32_t images;
    /**
     * Image names on nodes, as often as they are listed.
     */
    uint64_t image_words;
    /**
     * Pairs of image name and node.
     */
    uint32_t image_counts;
    /**
     * Different host ports, by protocol and address.
     */
    uint32_t ports;
    /**
     * Pairs of host port and node.
     */
    uint32_t port_counts;
    /**
     * Namespaces, Services, and owners of pods that default spreading reads.
     */
    uint32_t objects;
    /**
     * Words of their labels and selectors.
     */
    uint64_t object_words;
    /**
     * Events kept for pods that are being decided on.
     */
    uint32_t in_flight_events;
    /**
     * Words of the nodes in them.
     */
    uint32_t event_words;
} berth_capacities_t;

/**
 * A string: UTF-8 without a terminator. NULL with length 0 is empty.
 */
typedef struct {
    /**
     * Its first byte.
     */
    const char *text;
    /**
     * Its bytes.
     */
    size_t length;
} berth_string_t;

/**
 * An amount of a resource.
 */
typedef struct {
    /**
     * As Kubernetes names it: `cpu`, `memory`, `pods`, `nvidia.com/gpu`.
     */
    berth_string_t resource;
    /**
     * Thousandths of a cpu; all else in whole units: bytes, devices, pods.
     */
    int64_t amount;
} berth_amount_t;

/**
 * A label, or a pair of a selector.
 */
typedef struct {
    /**
     * Its key.
     */
    berth_string_t key;
    /**
     * Its value; may be empty.
     */
    berth_string_t value;
} berth_label_t;

/**
 * An expression of a selector.
 */
typedef struct {
    /**
     * The label's key.
     */
    berth_string_t key;
    /**
     * One of BERTH_OPERATOR_.
     */
    int32_t op;
    /**
     * Values that are listed.
     */
    const berth_string_t *values;
    /**
     * Their number.
     */
    size_t values_length;
} berth_requirement_t;

/**
 * A term of node affinity: all its requirements must hold.
 */
typedef struct {
    /**
     * Of node labels.
     */
    const berth_requirement_t *requirements;
    /**
     * Their number.
     */
    size_t requirements_length;
    /**
     * 0: required, of which terms one must hold; 1 to 100: preferred with this weight.
     */
    int32_t weight;
} berth_node_term_t;

/**
 * A toleration.
 */
typedef struct {
    /**
     * The taint's key; empty with BERTH_TOLERATION_EXISTS: every key.
     */
    berth_string_t key;
    /**
     * The taint's value; empty with BERTH_TOLERATION_EXISTS.
     */
    berth_string_t value;
    /**
     * One of BERTH_TOLERATION_.
     */
    int32_t op;
    /**
     * One of BERTH_EFFECT_.
     */
    int32_t effect;
} berth_toleration_t;

/**
 * A term of pod affinity or anti-affinity.
 */
typedef struct {
    /**
     * Pods with all these labels are meant.
     */
    const berth_label_t *labels;
    /**
     * Their number; 0 without requirements: every pod.
     */
    size_t labels_length;
    /**
     * Pods whose labels also fulfil these are meant.
     */
    const berth_requirement_t *requirements;
    /**
     * Their number.
     */
    size_t requirements_length;
    /**
     * Pods of these namespaces are meant; none: of the pod's own.
     */
    const berth_string_t *namespaces;
    /**
     * Their number.
     */
    size_t namespaces_length;
    /**
     * Nodes with the same value of this label are near each other.
     */
    berth_string_t topology_key;
    /**
     * 0: required; 1 to 100: preferred with this weight.
     */
    int32_t weight;
    /**
     * 0: near such pods; 1: away from them.
     */
    uint32_t is_anti;
} berth_pod_term_t;

/**
 * A topology spread constraint.
 */
typedef struct {
    /**
     * Pods with all these labels are counted.
     */
    const berth_label_t *labels;
    /**
     * Their number.
     */
    size_t labels_length;
    /**
     * Nodes with the same value of this label are one domain.
     */
    berth_string_t topology_key;
    /**
     * By how many pods domains may differ; at least 1.
     */
    int32_t max_skew;
    /**
     * Domains that must be there; 0: as many as there are.
     */
    int32_t min_domains;
    /**
     * One of BERTH_SPREAD_.
     */
    int32_t when_unsatisfiable;
} berth_spread_t;

/**
 * A port of the host that a pod takes.
 */
typedef struct {
    /**
     * Its number.
     */
    int32_t port;
    /**
     * One of BERTH_PROTOCOL_.
     */
    int32_t protocol;
    /**
     * The address; empty: every one.
     */
    berth_string_t host_ip;
} berth_port_t;

/**
 * What decides the placement of pods, as far as structs say it; the rest is said by JSON. Its pods
 * have one container. All 0 but the size is a pod of the namespace `default` that asks for nothing.
 */
typedef struct {
    /**
     * `sizeof(berth_class_t)`.
     */
    size_t size;
    /**
     * Namespace of the pods; empty: `default`.
     */
    berth_string_t namespace_name;
    /**
     * The profile's; empty: `default-scheduler`.
     */
    berth_string_t scheduler_name;
    /**
     * What they ask for; may be NULL with length 0, as the other arrays.
     */
    const berth_amount_t *requests;
    /**
     * Their number.
     */
    size_t requests_length;
    /**
     * Their labels.
     */
    const berth_label_t *labels;
    /**
     * Their number.
     */
    size_t labels_length;
    /**
     * Labels that a node must have.
     */
    const berth_label_t *node_selector;
    /**
     * Their number.
     */
    size_t node_selector_length;
    /**
     * Node affinity.
     */
    const berth_node_term_t *node_terms;
    /**
     * Their number.
     */
    size_t node_terms_length;
    /**
     * Tolerations.
     */
    const berth_toleration_t *tolerations;
    /**
     * Their number.
     */
    size_t tolerations_length;
    /**
     * Pod affinity and anti-affinity.
     */
    const berth_pod_term_t *pod_terms;
    /**
     * Their number.
     */
    size_t pod_terms_length;
    /**
     * Topology spread constraints.
     */
    const berth_spread_t *spread;
    /**
     * Their number.
     */
    size_t spread_length;
    /**
     * Host ports.
     */
    const berth_port_t *ports;
    /**
     * Their number.
     */
    size_t ports_length;
    /**
     * The container's image; may be empty.
     */
    berth_string_t image;
} berth_class_t;

/**
 * Pods that are equal in everything that decides their placement, until no pod is of it and nobody
 * holds it; its id may then become another's.
 */
typedef uint32_t berth_class_id_t;

/**
 * A pod, until it is deleted; its id may then become another's.
 */
typedef uint32_t berth_pod_id_t;

/**
 * What an evaluation came to.
 */
typedef struct {
    /**
     * `sizeof(berth_counts_t)`, set by the caller.
     */
    size_t size;
    /**
     * One of BERTH_OUTCOME_.
     */
    int32_t outcome;
    /**
     * One more than the largest id of a node: scores that are written, one of 64 of the words of
     * bits.
     */
    uint32_t rows;
    /**
     * Nodes that passed every filter.
     */
    uint32_t feasible;
    /**
     * Nodes that were looked at; those outside were ruled out before, by the pod's node affinity.
     */
    uint32_t evaluated;
    /**
     * 1 if the feasible nodes have scores, 0 if not: one alone is not scored.
     */
    uint32_t scored;
} berth_counts_t;

/**
 * A node, until it is deleted; its id may then become another's. Bit and score arrays are indexed
 * by it.
 */
typedef uint32_t berth_node_id_t;

/**
 * What one attempt at a pod came to.
 */
typedef struct {
    /**
     * `sizeof(berth_decision_t)`, set by the caller.
     */
    size_t size;
    /**
     * One of BERTH_OUTCOME_.
     */
    int32_t outcome;
    /**
     * The pod, else BERTH_ID_NONE.
     */
    berth_pod_id_t pod;
    /**
     * Where the pod was placed, else BERTH_ID_NONE.
     */
    berth_node_id_t node;
    /**
     * The node that the pod is nominated to, as its victims make room there, else BERTH_ID_NONE.
     */
    berth_node_id_t nominated_node;
    /**
     * Pods that are to go for it: see `berth_victims`.
     */
    uint32_t victims;
    /**
     * Which attempt at the pod it was; 0: not one of the queue's.
     */
    uint32_t attempt;
    /**
     * Nodes that passed every filter, of those that were looked at.
     */
    uint32_t feasible;
    /**
     * Nodes that were looked at.
     */
    uint32_t evaluated;
} berth_decision_t;

/**
 * A taint of a node.
 */
typedef struct {
    /**
     * Its key.
     */
    berth_string_t key;
    /**
     * Its value; may be empty.
     */
    berth_string_t value;
    /**
     * One of BERTH_EFFECT_.
     */
    int32_t effect;
} berth_taint_t;

/**
 * An image that a node holds.
 */
typedef struct {
    /**
     * One of its names; an image of several names is listed with each.
     */
    berth_string_t name;
    /**
     * Its size.
     */
    int64_t bytes;
} berth_image_t;

/**
 * A node, as far as scheduling reads it. All 0 but size and name is a node without room.
 */
typedef struct {
    /**
     * `sizeof(berth_node_t)`.
     */
    size_t size;
    /**
     * Its name.
     */
    berth_string_t name;
    /**
     * What it has for pods; may be NULL with length 0, as the other arrays.
     */
    const berth_amount_t *allocatable;
    /**
     * Their number.
     */
    size_t allocatable_length;
    /**
     * Its labels. `kubernetes.io/hostname` is not added.
     */
    const berth_label_t *labels;
    /**
     * Their number.
     */
    size_t labels_length;
    /**
     * Its taints.
     */
    const berth_taint_t *taints;
    /**
     * Their number.
     */
    size_t taints_length;
    /**
     * Images that it holds.
     */
    const berth_image_t *images;
    /**
     * Their number.
     */
    size_t images_length;
    /**
     * Features that it declares.
     */
    const berth_string_t *declared_features;
    /**
     * Their number.
     */
    size_t declared_features_length;
    /**
     * 1 if it is cordoned, else 0.
     */
    uint32_t unschedulable;
} berth_node_t;

/**
 * What a load came to.
 */
typedef struct {
    /**
     * `sizeof(berth_loaded_t)`, set by the caller.
     */
    size_t size;
    /**
     * Pods that wait for a node, those made of workloads included.
     */
    uint32_t pending;
    /**
     * Pending pods that were left out: another scheduler's, or being deleted.
     */
    uint32_t skipped;
} berth_loaded_t;

/**
 * Takes the nodes that it refuses out of `kept`, which begins as `feasible`, by clearing their
 * bits: bit n % 64 of word n / 64 is node n. Returns one of BERTH_PLUGIN_.
 *
 * Asked once an attempt about all nodes that other filters keep, and about a nominated node or a
 * candidate of preemption alone. The answer may depend on the class and on the node, not on the
 * other nodes.
 */
typedef int32_t (*berth_filter_callback_t)(void *context,
                                           berth_class_id_t class_id,
                                           const uint64_t *feasible,
                                           uint64_t *kept,
                                           size_t words_length);

/**
 * A plugin at Filter. It comes after all filters of the profile, in every profile.
 *
 * Its callback, as all callbacks, is called from the thread that calls the library; it must not
 * throw, longjmp or keep a pointer that it is given, and calls of the same handle get
 * BERTH_RESULT_BUSY. One that fails, or says what it may not, ends the attempt with
 * BERTH_OUTCOME_ERROR.
 */
typedef struct {
    /**
     * `sizeof(berth_filter_t)`.
     */
    size_t size;
    /**
     * Its name in records; not that of another plugin.
     */
    berth_string_t name;
    /**
     * Why it refuses nodes, as a message says it: `node(s) had no licence`.
     */
    berth_string_t reason;
    /**
     * What is asked.
     */
    berth_filter_callback_t callback;
    /**
     * What the callback gets first.
     */
    void *context;
} berth_filter_t;

/**
 * Sets the score, 0 to 100, of each node whose bit is set in `feasible`; scores are 0 at first.
 * Returns one of BERTH_PLUGIN_.
 *
 * Asked once an attempt, if more than one node is feasible.
 */
typedef int32_t (*berth_score_callback_t)(void *context,
                                          berth_class_id_t class_id,
                                          const uint64_t *feasible,
                                          size_t words_length,
                                          int64_t *scores,
                                          size_t scores_length);

/**
 * A plugin at Score, in every profile; see `berth_filter_t` for callbacks.
 */
typedef struct {
    /**
     * `sizeof(berth_score_t)`.
     */
    size_t size;
    /**
     * Its name in records; not that of another plugin.
     */
    berth_string_t name;
    /**
     * The factor of its scores, 1 to 1,000,000.
     */
    uint32_t weight;
    /**
     * What is asked.
     */
    berth_score_callback_t callback;
    /**
     * What the callback gets first.
     */
    void *context;
} berth_score_t;

/**
 * Hears that a pod is assumed on a node, and may refuse it. Returns one of BERTH_PLUGIN_.
 */
typedef int32_t (*berth_reserve_callback_t)(void *context, berth_pod_id_t pod, berth_node_id_t node);

/**
 * Hears that a pod is assumed no more and was not bound: its place is forgotten. Also told of the
 * pod that was refused.
 */
typedef void (*berth_unreserve_callback_t)(void *context, berth_pod_id_t pod, berth_node_id_t node);

/**
 * A plugin at Reserve: hears which pods are assumed, and which are so no more; see
 * `berth_filter_t` for callbacks. Pods that come with their node are not told.
 */
typedef struct {
    /**
     * `sizeof(berth_reserve_t)`.
     */
    size_t size;
    /**
     * Told of a pod that is assumed, and may refuse it; may be NULL.
     */
    berth_reserve_callback_t reserve;
    /**
     * Told of a pod that is forgotten; may be NULL. A rollback tells the opposite of what was told
     * since the fork.
     */
    berth_unreserve_callback_t unreserve;
    /**
     * What the callbacks get first.
     */
    void *context;
} berth_reserve_t;

/**
 * A pod of a class.
 */
typedef struct {
    /**
     * `sizeof(berth_pod_t)`.
     */
    size_t size;
    /**
     * Of `berth_class_create`.
     */
    berth_class_id_t class_id;
    /**
     * Its priority.
     */
    int32_t priority;
    /**
     * Its name, in the namespace of its class.
     */
    berth_string_t name;
    /**
     * Its UID; may be empty. Another UID under the same name is another pod.
     */
    berth_string_t uid;
    /**
     * Name of the node that it is on; empty: it waits for one, or keeps the one that it is assumed
     * on.
     */
    berth_string_t node_name;
    /**
     * 1 if no pod is to be evicted for it, else 0.
     */
    uint32_t never_preempts;
} berth_pod_t;

/**
 * Choices of `berth_scheduler_create`. All 0 but the size is the default.
 */
typedef struct {
    /**
     * `sizeof(berth_options_t)`.
     */
    size_t size;
    /**
     * `BERTH_ABI_VERSION`: a library of another version refuses to make a scheduler. 0: the program
     * has compared `berth_abi_version()` itself.
     */
    uint32_t abi_version;
    /**
     * One of BERTH_FIDELITY_.
     */
    int32_t fidelity;
    /**
     * One of BERTH_TIES_.
     */
    int32_t ties;
    /**
     * One of BERTH_NODE_SEARCH_.
     */
    int32_t node_search;
    /**
     * One of BERTH_PREEMPTION_.
     */
    int32_t preemption;
    /**
     * Seed of BERTH_TIES_RANDOM.
     */
    uint64_t seed;
    /**
     * How much fits, the caller's. NULL: what the first `berth_load_json` holds, a quarter more, and
     * some (512 nodes and 16,384 pods without a load); a table that fills is made anew at twice its
     * size, which for that moment takes memory of both. Where all but nodes and pods is 0, a first
     * load may take more of the rest.
     */
    const berth_capacities_t *capacities;
} berth_options_t;

/**
 * A pod that goes for another one.
 */
typedef struct {
    /**
     * The pod.
     */
    berth_pod_id_t pod;
    /**
     * One of BERTH_VICTIM_.
     */
    int32_t kind;
} berth_victim_t;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Fills in the fields that are 0: nodes and pods as a scheduler has them that is told nothing, the
 * rest as is usual for so many nodes and pods.
 *
 * @param out_capacities the caller's, with its size set
 *
 * From any thread. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, PANIC.
 */
berth_result_t berth_capacities_default(berth_capacities_t *out_capacities);

/**
 * Bytes that a scheduler of these capacities takes, all of it when it is made, its configuration
 * aside; each fork takes as much again until it ends.
 *
 * @param capacities the caller's; NULL for the default
 * @param out_bytes  the bytes
 *
 * From any thread. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, CAPACITY (more than a scheduler
 * may take), PANIC.
 */
berth_result_t berth_memory_needed(const berth_capacities_t *capacities,
                                   uint64_t *out_bytes);

/**
 * Compiles a pod's spec, for `berth_pod_upsert` and to know it again in callbacks. Equal specs have
 * one id, also those of pods that came as JSON. It is held until `berth_class_release` was called as
 * often.
 *
 * @param spec       the caller's, with all that it points to
 * @param out_id     its id
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE, BAD_UTF8,
 * BAD_OBJECT, CAPACITY, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_class_create(berth_scheduler_t *scheduler,
                                  const berth_class_t *spec,
                                  berth_class_id_t *out_id);

/**
 * Gives back a class of `berth_class_create`; pods of it stay.
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE (no such class was created),
 * BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_class_release(berth_scheduler_t *scheduler, berth_class_id_t class_id);

/**
 * Judges a pod on every node, with nothing changed; a pod that has a node is judged as if it had
 * none.
 *
 * @param out_bits       bit n % 64 of word n / 64 is whether node n is feasible; the caller's, may
 *                       be NULL with length 0
 * @param out_scores     by node the sum of all plugins' normalised scores times weight, 0 for
 *                       nodes that are not feasible; the caller's, may be NULL with length 0
 * @param out_counts     the caller's, with its size set; `rows` is written also with
 *                       BERTH_RESULT_SMALL_BUFFER
 *
 * Words of bits and scores beyond those of `rows` are left alone.
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no pod has
 * the id), SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_evaluate(berth_scheduler_t *scheduler,
                              berth_pod_id_t pod,
                              uint64_t *out_bits,
                              size_t bits_length,
                              int64_t *out_scores,
                              size_t scores_length,
                              berth_counts_t *out_counts);

/**
 * One attempt at a pod that the caller picks: decides, and counts it on the chosen node from then
 * on. Nobody is evicted for it. A pod that has a node already keeps it, and the outcome is an error.
 * The loop over the queue is `berth_schedule_one`.
 *
 * @param out_decision   the caller's, with its size set
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no pod has
 * the id), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_schedule_pod(berth_scheduler_t *scheduler,
                                  berth_pod_id_t pod,
                                  berth_decision_t *out_decision);

/**
 * The whole decision record of `berth_evaluate`, as JSON: the node that would be chosen, every
 * feasible node's scores by plugin, why each of the others is refused.
 *
 * @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
 *                       for the length, which the same question has until the cluster changes
 * @param out_length     bytes of the text, written also with BERTH_RESULT_SMALL_BUFFER
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
 * SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_explain_json(berth_scheduler_t *scheduler,
                                  berth_pod_id_t pod,
                                  char *buffer,
                                  size_t buffer_length,
                                  size_t *out_length);

/**
 * Remembers the present state, to which `berth_rollback` returns. Forks nest, 64 deep. Each takes
 * as much memory as the scheduler, until it ends, and time in proportion to it.
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, CAPACITY, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_fork(berth_scheduler_t *scheduler);

/**
 * Takes back everything since the last fork, and ends it: ids, queue, time and the next random
 * number are what they were.
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_STATE (there is no fork), BAD_HANDLE, BUSY,
 * PANIC.
 */
berth_result_t berth_rollback(berth_scheduler_t *scheduler);

/**
 * Keeps everything since the last fork, and ends it.
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_STATE (there is no fork), BAD_HANDLE, BUSY,
 * PANIC.
 */
berth_result_t berth_commit(berth_scheduler_t *scheduler);

/**
 * Takes in a node, or its change if a node of its name is there, as `berth_apply_json` does without
 * a text. Of the node that is there nothing stays that the struct does not say.
 *
 * @param node       the caller's, with all that it points to
 * @param out_id     its id; may be NULL
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE, BAD_UTF8,
 * BAD_OBJECT, CAPACITY, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_node_upsert(berth_scheduler_t *scheduler,
                                 const berth_node_t *node,
                                 berth_node_id_t *out_id);

/**
 * Takes a node out. Its pods stay, without a node, as if their deletion followed.
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE (no node has the id), CAPACITY (of
 * kept events), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_node_remove(berth_scheduler_t *scheduler, berth_node_id_t node);

/**
 * The nodes there are, ascending.
 *
 * @param out_nodes      the caller's; NULL with length 0 to ask for the number
 * @param out_count      nodes there are, written also with BERTH_RESULT_SMALL_BUFFER
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
 * PANIC.
 */
berth_result_t berth_node_list(berth_scheduler_t *scheduler,
                               berth_node_id_t *out_nodes,
                               size_t nodes_length,
                               size_t *out_count);

/**
 * The name of a node.
 *
 * @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
 *                       for the length
 * @param out_length     bytes of the name
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no node has the id),
 * SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_node_name(berth_scheduler_t *scheduler,
                               berth_node_id_t node,
                               char *buffer,
                               size_t buffer_length,
                               size_t *out_length);

/**
 * Takes in a whole `List`, a list of one kind or a single object: validates and defaults the
 * objects as an API server does, and makes the pods of workloads that have none in the text.
 * Kinds that scheduling does not read are left out, and counted in `berth_notes`.
 *
 * All goes in, or nothing. A scheduler without a given size that nothing was put into yet gets
 * that of the load, a quarter more, and some.
 *
 * @param json           the caller's
 * @param out_loaded     the caller's, with its size set; may be NULL
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_UTF8, BAD_OBJECT,
 * CAPACITY, ALREADY_EXISTS, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_load_json(berth_scheduler_t *scheduler,
                               const char *json,
                               size_t json_length,
                               berth_loaded_t *out_loaded);

/**
 * Takes in what happened to one object, as a watch tells of it. It is validated and defaulted; of
 * a workload no pods are made. Kinds that scheduling does not read change nothing.
 *
 * @param change     one of BERTH_CHANGE_
 * @param json       the object, the caller's; of a deleted one kind and metadata are enough
 * @param out_id     the id of a node or pod that is there now, else BERTH_ID_NONE; may be NULL
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE, BAD_UTF8, BAD_OBJECT,
 * CAPACITY, ALREADY_EXISTS (added), NOT_FOUND (modified, deleted; a pod that has finished counts
 * as deleted), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_apply_json(berth_scheduler_t *scheduler,
                                int32_t change,
                                const char *json,
                                size_t json_length,
                                uint32_t *out_id);

/**
 * What the last load or change had to say beside its result, one sentence a line: what was left
 * out, which default was taken for want of an object.
 *
 * @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
 *                       for the length
 * @param out_length     bytes of the text
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
 * PANIC.
 */
berth_result_t berth_notes(berth_scheduler_t *scheduler,
                           char *buffer,
                           size_t buffer_length,
                           size_t *out_length);

/**
 * Finds a pod.
 *
 * @param name       `NAMESPACE/NAME`, or `NAME` in the namespace `default`; the caller's
 * @param out_id     its id
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_UTF8, NOT_FOUND, BAD_HANDLE,
 * BUSY, PANIC.
 */
berth_result_t berth_find_pod(berth_scheduler_t *scheduler,
                              const char *name,
                              size_t name_length,
                              berth_pod_id_t *out_id);

/**
 * Finds a node.
 *
 * @param name       the caller's
 * @param out_id     its id
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_UTF8, NOT_FOUND, BAD_HANDLE,
 * BUSY, PANIC.
 */
berth_result_t berth_find_node(berth_scheduler_t *scheduler,
                               const char *name,
                               size_t name_length,
                               berth_node_id_t *out_id);

/**
 * Adds a plugin at Filter, until the handle is destroyed. Pods are not batched from then on.
 *
 * @param filter     the caller's, with the strings that it points to
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no name),
 * BAD_UTF8, ALREADY_EXISTS, CAPACITY (more than 8), BAD_STATE (in a fork), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_register_filter(berth_scheduler_t *scheduler, const berth_filter_t *filter);

/**
 * Adds a plugin at Score, until the handle is destroyed. Pods are not batched from then on.
 *
 * @param score      the caller's, with the string that it points to
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no name, a
 * weight out of its range), BAD_UTF8, ALREADY_EXISTS, CAPACITY (more than 8), BAD_STATE (in a
 * fork), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_register_score(berth_scheduler_t *scheduler, const berth_score_t *score);

/**
 * Adds a plugin at Reserve, until the handle is destroyed.
 *
 * @param reserve    the caller's
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, CAPACITY (more than 8),
 * BAD_STATE (in a fork), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_register_reserve(berth_scheduler_t *scheduler, const berth_reserve_t *reserve);

/**
 * Takes in a pod, or its change if a pod of its name is there, as `berth_apply_json` does without a
 * text.
 *
 * @param pod        the caller's, with all that it points to
 * @param out_id     its id; may be NULL
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VALUE (no such class
 * was created), BAD_UTF8, BAD_OBJECT, CAPACITY, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_pod_upsert(berth_scheduler_t *scheduler,
                                const berth_pod_t *pod,
                                berth_pod_id_t *out_id);

/**
 * Takes a pod out, and frees its room.
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE (no pod has the id), CAPACITY (of kept
 * events), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_pod_remove(berth_scheduler_t *scheduler, berth_pod_id_t pod);

/**
 * Takes back a pod's place: it waits again, and is in the queue. Of a pod that runs this is a
 * what-if, as its next update brings it back to its node.
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE (no pod has the id), BAD_STATE (it has
 * no place), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_pod_forget(berth_scheduler_t *scheduler, berth_pod_id_t pod);

/**
 * The pods there are, ascending: bound, assumed, waiting.
 *
 * @param out_pods       the caller's; NULL with length 0 to ask for the number
 * @param out_count      pods there are, written also with BERTH_RESULT_SMALL_BUFFER
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
 * PANIC.
 */
berth_result_t berth_pod_list(berth_scheduler_t *scheduler,
                              berth_pod_id_t *out_pods,
                              size_t pods_length,
                              size_t *out_count);

/**
 * `NAMESPACE/NAME` of a pod.
 *
 * @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
 *                       for the length
 * @param out_length     bytes of the name
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
 * SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_pod_name(berth_scheduler_t *scheduler,
                              berth_pod_id_t pod,
                              char *buffer,
                              size_t buffer_length,
                              size_t *out_length);

/**
 * The node that a pod is on or assumed on.
 *
 * @param out_node   BERTH_ID_NONE: it has none
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
 * BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_pod_node(berth_scheduler_t *scheduler,
                              berth_pod_id_t pod,
                              berth_node_id_t *out_node);

/**
 * The class of a pod.
 *
 * @param out_class  its id
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
 * BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_pod_class(berth_scheduler_t *scheduler,
                               berth_pod_id_t pod,
                               berth_class_id_t *out_class);

/**
 * The library's BERTH_ABI_VERSION, to be compared with the header's. From any thread.
 */
uint32_t berth_abi_version(void);

/**
 * Makes a scheduler of an empty cluster.
 *
 * @param options    the caller's; NULL for the default
 * @param config     KubeSchedulerConfiguration v1 as JSON or YAML, the caller's; NULL with length
 *                   0 for the default
 * @param out        the handle, to be freed by `berth_scheduler_destroy`
 *
 * From any thread. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_VERSION, BAD_VALUE,
 * BAD_UTF8, BAD_CONFIG, CAPACITY (more than 131,072 nodes or 2,097,152 pods, or 16 GiB), PANIC; the
 * reason in words is the thread's, by `berth_last_error(NULL, ...)`.
 */
berth_result_t berth_scheduler_create(const berth_options_t *options,
                                      const char *config,
                                      size_t config_length,
                                      berth_scheduler_t **out);

/**
 * Frees a scheduler. The handle must not be used afterwards.
 *
 * From any thread. BERTH_RESULT_NULL_POINTER, BAD_HANDLE, BUSY (then it is not freed), PANIC.
 */
berth_result_t berth_scheduler_destroy(berth_scheduler_t *scheduler);

/**
 * Why the last call of this handle that failed did, also after BERTH_RESULT_PANIC. Failures that
 * a result tells whole have none (BERTH_RESULT_BUSY, BAD_HANDLE, a handle that is NULL).
 *
 * @param scheduler      NULL: why this thread's last failed call without a handle did, such as
 *                       `berth_scheduler_create`
 * @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
 *                       for the length
 * @param out_length     bytes of the text
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_HANDLE, BUSY, SMALL_BUFFER.
 */
berth_result_t berth_last_error(const berth_scheduler_t *scheduler,
                                char *buffer,
                                size_t buffer_length,
                                size_t *out_length);

/**
 * Hash of all objects and placements: the same for the same content on every machine, whatever
 * the history that led to it. The queue and the time are not part of it.
 *
 * @param out_hash   the hash
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_state_hash(berth_scheduler_t *scheduler, uint64_t *out_hash);

/**
 * Bytes that `berth_state_save` would write now.
 *
 * @param out_size   the bytes
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_state_size(berth_scheduler_t *scheduler, size_t *out_size);

/**
 * Writes down objects, placements, queue, time and the next random number, for `berth_state_load` on
 * any machine. Configuration, options, capacities, plugins and forks are not part of it.
 *
 * @param buffer         the caller's; NULL with length 0 to ask for the length
 * @param out_length     bytes of the state, written also with BERTH_RESULT_SMALL_BUFFER
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
 * PANIC.
 */
berth_result_t berth_state_save(berth_scheduler_t *scheduler,
                                uint8_t *buffer,
                                size_t buffer_length,
                                size_t *out_length);

/**
 * Takes a saved state in the place of everything that is there. With the configuration and options of
 * the scheduler that was saved, this one decides as it would have; ids are the same. Classes of
 * `berth_class_create` have to be created anew, plugins stay.
 *
 * @param bytes      what `berth_state_save` wrote, the caller's
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_FILE, CAPACITY, BAD_STATE (in a
 * fork), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_state_load(berth_scheduler_t *scheduler,
                                const uint8_t *bytes,
                                size_t bytes_length);

/**
 * One turn: timers that are due, then an attempt at the first pod of the queue. A pod that is placed
 * is assumed; the caller binds it and says `berth_bound`. One that is not is back in the queue; the
 * caller sets its nomination, if there is one, and evicts `berth_victims`.
 *
 * @param now_ns         nanoseconds since 1970; a time before the last one is taken for the last
 * @param out_decision   the caller's, with its size set; BERTH_OUTCOME_NONE if no pod can be tried
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_schedule_one(berth_scheduler_t *scheduler,
                                  uint64_t now_ns,
                                  berth_decision_t *out_decision);

/**
 * Turns until no pod can be tried, the array is full, or pods are to be evicted. Called again until
 * it fills less than the array, it empties the queue.
 *
 * @param now_ns             as for `berth_schedule_one`
 * @param out_decisions      the caller's; one element a turn, with its size
 * @param decisions_length   elements of the array, at least 1
 * @param decision_size      `sizeof(berth_decision_t)`
 * @param out_count          turns made
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_SIZE (of an element),
 * SMALL_BUFFER (an array of length 0), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_schedule_all(berth_scheduler_t *scheduler,
                                  uint64_t now_ns,
                                  berth_decision_t *out_decisions,
                                  size_t decisions_length,
                                  size_t decision_size,
                                  size_t *out_count);

/**
 * Says what became of the binding of a pod that `berth_schedule_one` or `berth_schedule_all` placed.
 *
 * @param outcome    one of BERTH_BIND_
 * @param now_ns     as for `berth_schedule_one`
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE, BAD_STATE (the pod is not being
 * bound), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_bound(berth_scheduler_t *scheduler,
                           berth_pod_id_t pod,
                           int32_t outcome,
                           uint64_t now_ns);

/**
 * Lets time pass: pods whose backoff is over can be tried again, and those that waited too long.
 *
 * @param now_ns         as for `berth_schedule_one`
 * @param out_next_ns    when the next timer is due if nothing else happens, UINT64_MAX: none is;
 *                       may be NULL
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_advance(berth_scheduler_t *scheduler, uint64_t now_ns, uint64_t *out_next_ns);

/**
 * Pods that go for the one of the last turn, in the order in which they are to be evicted; the next
 * turn clears them. The pod waits until the last one is removed.
 *
 * @param out_victims    the caller's; NULL with length 0 to ask for the number
 * @param out_count      victims there are, written also with BERTH_RESULT_SMALL_BUFFER
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, SMALL_BUFFER, BAD_HANDLE, BUSY,
 * PANIC.
 */
berth_result_t berth_victims(berth_scheduler_t *scheduler,
                             berth_victim_t *out_victims,
                             size_t victims_length,
                             size_t *out_count);

/**
 * Says that the evictions for a pod did not all succeed: it waits for them no more.
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_VALUE (no pod has the id), BAD_HANDLE, BUSY,
 * PANIC.
 */
berth_result_t berth_preemption_failed(berth_scheduler_t *scheduler, berth_pod_id_t pod);

/**
 * The claims that have to be bound before a pod that was placed can be, as JSON:
 * `[{"claim":"NAMESPACE/NAME","volume":"NAME"},{"claim":"NAMESPACE/NAME","provisioned":true}]`, in the
 * order of the calls to the API server. For the first kind the caller sets the volume's
 * `spec.claimRef` to the claim; for the second the claim's annotation
 * `volume.kubernetes.io/selected-node` to the pod's node, and the volume's name is there once the claim
 * is bound. Then it tells the changes that it hears of, until `berth_volumes_bound` says that all are
 * bound. In a simulation `berth_bind_volumes` does all that.
 *
 * @param buffer         the caller's, for UTF-8 without a terminator; NULL with length 0 to ask
 *                       for the length
 * @param out_length     bytes of the text, written also with BERTH_RESULT_SMALL_BUFFER
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
 * SMALL_BUFFER, BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_volumes_json(berth_scheduler_t *scheduler,
                                  berth_pod_id_t pod,
                                  char *buffer,
                                  size_t buffer_length,
                                  size_t *out_length);

/**
 * How far the claims of a placed pod are, by the objects that were told.
 *
 * @param now_ns         nanoseconds since 1970, for the timeout
 * @param out_progress   one of BERTH_VOLUMES_
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
 * BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_volumes_bound(berth_scheduler_t *scheduler,
                                   berth_pod_id_t pod,
                                   uint64_t now_ns,
                                   int32_t *out_progress);

/**
 * For a simulation: binds the claims of a placed pod at once, as scheduler, volume controllers and
 * provisioners do together. `berth_bound` follows.
 *
 * A provisioned volume is called `dyn-NAMESPACE-CLAIM`; it is of the claim's class, size and access
 * modes, and in the zone of the pod's node by label and required node affinity if that has the label
 * `topology.kubernetes.io/zone`.
 *
 * @param out_count      claims that are bound now for the pod; may be NULL
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, BAD_POINTER, BAD_VALUE (no pod has the id),
 * CAPACITY (what was bound stays bound), BAD_HANDLE, BUSY, PANIC.
 */
berth_result_t berth_bind_volumes(berth_scheduler_t *scheduler,
                                  berth_pod_id_t pod,
                                  uint32_t *out_count);

/**
 * For a simulation: binds the claims that no pod has to wait for, as the volume controllers do. They
 * are those without a `status.phase`, which no API server has seen yet: of classes that bind at once,
 * those that name a volume, and those that a volume is kept for. Each gets the smallest volume that
 * fits, or one is provisioned. `berth_load_json` does it by itself; this is for what came by
 * `berth_apply_json`.
 *
 * One thread at a time. BERTH_RESULT_NULL_POINTER, CAPACITY (what was bound stays bound), BAD_HANDLE,
 * BUSY, PANIC.
 */
berth_result_t berth_bind_claims(berth_scheduler_t *scheduler);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* BERTH_H */

#if UINTPTR_MAX == UINT64_MAX
/* The structs are as the library has them. */
typedef char berth_string_t_has_its_size[sizeof(berth_string_t) == 16 ? 1 : -1];
typedef char berth_label_t_has_its_size[sizeof(berth_label_t) == 32 ? 1 : -1];
typedef char berth_amount_t_has_its_size[sizeof(berth_amount_t) == 24 ? 1 : -1];
typedef char berth_taint_t_has_its_size[sizeof(berth_taint_t) == 40 ? 1 : -1];
typedef char berth_image_t_has_its_size[sizeof(berth_image_t) == 24 ? 1 : -1];
typedef char berth_node_t_has_its_size[sizeof(berth_node_t) == 112 ? 1 : -1];
typedef char berth_toleration_t_has_its_size[sizeof(berth_toleration_t) == 40 ? 1 : -1];
typedef char berth_requirement_t_has_its_size[sizeof(berth_requirement_t) == 40 ? 1 : -1];
typedef char berth_node_term_t_has_its_size[sizeof(berth_node_term_t) == 24 ? 1 : -1];
typedef char berth_pod_term_t_has_its_size[sizeof(berth_pod_term_t) == 72 ? 1 : -1];
typedef char berth_spread_t_has_its_size[sizeof(berth_spread_t) == 48 ? 1 : -1];
typedef char berth_port_t_has_its_size[sizeof(berth_port_t) == 24 ? 1 : -1];
typedef char berth_class_t_has_its_size[sizeof(berth_class_t) == 184 ? 1 : -1];
typedef char berth_pod_t_has_its_size[sizeof(berth_pod_t) == 72 ? 1 : -1];
typedef char berth_capacities_t_has_its_size[sizeof(berth_capacities_t) == 136 ? 1 : -1];
typedef char berth_options_t_has_its_size[sizeof(berth_options_t) == 48 ? 1 : -1];
typedef char berth_loaded_t_has_its_size[sizeof(berth_loaded_t) == 16 ? 1 : -1];
typedef char berth_counts_t_has_its_size[sizeof(berth_counts_t) == 32 ? 1 : -1];
typedef char berth_decision_t_has_its_size[sizeof(berth_decision_t) == 40 ? 1 : -1];
typedef char berth_victim_t_has_its_size[sizeof(berth_victim_t) == 8 ? 1 : -1];
typedef char berth_filter_t_has_its_size[sizeof(berth_filter_t) == 56 ? 1 : -1];
typedef char berth_score_t_has_its_size[sizeof(berth_score_t) == 48 ? 1 : -1];
typedef char berth_reserve_t_has_its_size[sizeof(berth_reserve_t) == 32 ? 1 : -1];
#endif
