package berth

// #include "berth.h"
import "C"

import (
	"encoding/json"
	"time"
)

// VolumeProgress is how far the claims of a placed pod are.
type VolumeProgress int32

const (
	// VolumesBound: all are bound, or none had to be.
	VolumesBound VolumeProgress = C.BERTH_VOLUMES_BOUND
	// VolumesPending: some are not yet; ask again when objects have changed, or a second has passed.
	VolumesPending VolumeProgress = C.BERTH_VOLUMES_PENDING
	// VolumesFailed: they will not be; say Bound with BindFailed.
	VolumesFailed VolumeProgress = C.BERTH_VOLUMES_FAILED
	// VolumesTimedOut: the profile's bindTimeoutSeconds are over; as VolumesFailed.
	VolumesTimedOut VolumeProgress = C.BERTH_VOLUMES_TIMED_OUT
)

// BoundClaim is a claim that gets a volume because its pod was placed.
type BoundClaim struct {
	// Claim is NAMESPACE/NAME.
	Claim string `json:"claim"`
	// Volume is empty where it is Provisioned and not there yet.
	Volume      string `json:"volume,omitempty"`
	Provisioned bool   `json:"provisioned,omitempty"`
}

// Volumes are the claims that have to be bound before a pod that was placed can be, in the order of the
// calls to the API server: one with a volume by the volume's spec.claimRef, one that is provisioned by
// the claim's annotation volume.kubernetes.io/selected-node. The caller makes these calls and tells the
// changes that it hears of, until VolumesBound says that all are bound; in a simulation BindVolumes does
// all that.
func (s *Scheduler) Volumes(pod PodID) ([]BoundClaim, error) {
	told, err := s.text("Volumes", func(b *C.char, size C.size_t, length *C.size_t) C.berth_result_t {
		return C.berth_volumes_json(s.handle, C.uint32_t(pod), b, size, length)
	})
	if err != nil {
		return nil, err
	}
	var volumes []BoundClaim
	return volumes, json.Unmarshal([]byte(told), &volumes)
}

// VolumesBound is how far the claims of a placed pod are, by the objects that were told.
func (s *Scheduler) VolumesBound(pod PodID, now time.Time) (VolumeProgress, error) {
	var progress C.int32_t
	result := C.berth_volumes_bound(s.handle, C.uint32_t(pod), nanos(now), &progress)
	return VolumeProgress(progress), s.done("VolumesBound", result)
}

// BindVolumes is for a simulation: it binds the claims of a placed pod at once, as scheduler, volume
// controllers and provisioners do together, and returns them. Bound follows.
func (s *Scheduler) BindVolumes(pod PodID) ([]BoundClaim, error) {
	result := C.berth_bind_volumes(s.handle, C.uint32_t(pod), nil)
	if err := s.done("BindVolumes", result); err != nil {
		return nil, err
	}
	return s.Volumes(pod)
}

// BindClaims is for a simulation: it binds the claims without a phase that no pod has to wait for, as the
// volume controllers do. LoadJSON does it by itself; this is for what came by ApplyJSON.
func (s *Scheduler) BindClaims() error {
	return s.done("BindClaims", C.berth_bind_claims(s.handle))
}
