package berth

/*
#include "berth.h"

extern int32_t berthGoFilter(uintptr_t, uint32_t, uint64_t *, uint64_t *, size_t);
extern int32_t berthGoScore(uintptr_t, uint32_t, uint64_t *, size_t, int64_t *, size_t);
extern int32_t berthGoReserve(uintptr_t, uint32_t, uint32_t);
extern void berthGoUnreserve(uintptr_t, uint32_t, uint32_t);

static int32_t filter_(void *context, berth_class_id_t class_id, const uint64_t *feasible,
                       uint64_t *kept, size_t words) {
    return berthGoFilter((uintptr_t)context, class_id, (uint64_t *)feasible, kept, words);
}

static int32_t score_(void *context, berth_class_id_t class_id, const uint64_t *feasible,
                      size_t words, int64_t *scores, size_t length) {
    return berthGoScore((uintptr_t)context, class_id, (uint64_t *)feasible, words, scores, length);
}

static int32_t reserve_(void *context, berth_pod_id_t pod, berth_node_id_t node) {
    return berthGoReserve((uintptr_t)context, pod, node);
}

static void unreserve_(void *context, berth_pod_id_t pod, berth_node_id_t node) {
    berthGoUnreserve((uintptr_t)context, pod, node);
}

static berth_result_t register_filter(berth_scheduler_t *scheduler, const char *name, size_t length,
                                      const char *reason, size_t reason_length, uintptr_t context) {
    berth_filter_t plugin = {sizeof plugin, {name, length}, {reason, reason_length}, filter_,
                             (void *)context};
    return berth_register_filter(scheduler, &plugin);
}

static berth_result_t register_score(berth_scheduler_t *scheduler, const char *name, size_t length,
                                     uint32_t weight, uintptr_t context) {
    berth_score_t plugin = {sizeof plugin, {name, length}, weight, score_, (void *)context};
    return berth_register_score(scheduler, &plugin);
}

static berth_result_t register_reserve(berth_scheduler_t *scheduler, uintptr_t context) {
    berth_reserve_t plugin = {sizeof plugin, reserve_, unreserve_, (void *)context};
    return berth_register_reserve(scheduler, &plugin);
}
*/
import "C"

// RegisterFilter adds a plugin at Filter, after all filters of the profiles, until the scheduler is
// closed. The reason is what a refused node is told, as in "node(s) had no licence".
//
// It fails with ErrExists (the name), ErrCapacity (more than 8), ErrArgument, or ErrState in a fork.
func (s *Scheduler) RegisterFilter(name, reason string, filter FilterFunc) error {
	return s.register("RegisterFilter", &plugin{name: name, filter: filter}, filter == nil,
		func(context C.uintptr_t) C.berth_result_t {
			start, length := bytesOf(name)
			reasonStart, reasonLength := bytesOf(reason)
			return C.register_filter(s.handle, start, length, reasonStart, reasonLength, context)
		})
}

// RegisterScore adds a plugin at Score with a weight of at least 1; errors are those of RegisterFilter.
func (s *Scheduler) RegisterScore(name string, weight uint32, score ScoreFunc) error {
	return s.register("RegisterScore", &plugin{name: name, score: score}, score == nil,
		func(context C.uintptr_t) C.berth_result_t {
			start, length := bytesOf(name)
			return C.register_score(s.handle, start, length, C.uint32_t(weight), context)
		})
}

// RegisterReserve adds a plugin that hears which pods are assumed, and which are so no more; either
// function may be nil. Errors are those of RegisterFilter.
func (s *Scheduler) RegisterReserve(reserve ReserveFunc, unreserve UnreserveFunc) error {
	own := &plugin{name: "at Reserve", reserve: reserve, unreserve: unreserve}
	return s.register("RegisterReserve", own, reserve == nil && unreserve == nil,
		func(context C.uintptr_t) C.berth_result_t {
			return C.register_reserve(s.handle, context)
		})
}

func (s *Scheduler) register(call string, own *plugin, missing bool,
	register func(C.uintptr_t) C.berth_result_t) error {
	if missing {
		return &Error{Call: call, Text: "the plugin has no function", kind: ErrArgument}
	}
	if err := s.done(call, register(s.plugins.add(own))); err != nil {
		s.plugins.forget()
		return err
	}
	return nil
}
