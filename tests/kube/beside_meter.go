package main

import (
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// stage is what the run is at.
type stage int

const (
	queueing stage = iota
	attempting
	changing
	idle
)

// spent is what a stage has taken.
type spent struct {
	count             int
	wall, cpu         time.Duration
	allocated, number uint64
}

// meter adds up what counts, by stage: a run may end before all pods that it queued are tried.
type meter struct {
	counts bool
	at     stage
	stages [idle + 1]spent
	placed int
	times  []time.Duration
	cpu    time.Duration
	memory goruntime.MemStats
}

// enter ends a stage and begins another.
func (m *meter) enter(next stage) {
	if !m.counts || next == m.at {
		return
	}
	before := m.memory
	cpu := m.cpu
	m.cpu = processorTime()
	goruntime.ReadMemStats(&m.memory)
	own := &m.stages[m.at]
	own.cpu += m.cpu - cpu
	own.allocated += m.memory.TotalAlloc - before.TotalAlloc
	own.number += m.memory.Mallocs - before.Mallocs
	m.at = next
	// Without what reading that took.
	m.cpu = processorTime()
}

// took counts so much time of a stage.
func (m *meter) took(at stage, count int, time time.Duration) {
	if m.counts {
		m.stages[at].count += count
		m.stages[at].wall += time
	}
}

func (m *meter) begin() {
	m.counts = true
	m.at = idle
	goruntime.GC()
	goruntime.ReadMemStats(&m.memory)
	m.cpu = processorTime()
}

// end sums up: of the queued pods as many count as were tried.
func (m *meter) end() *figures {
	m.enter(idle)
	slices.Sort(m.times)
	attempts := float64(max(len(m.times), 1))
	each := func(value func(own *spent) float64) float64 {
		queued := value(&m.stages[queueing]) / float64(max(m.stages[queueing].count, 1))
		return queued + (value(&m.stages[attempting])+value(&m.stages[changing]))/attempts
	}
	micros := func(time time.Duration) float64 { return float64(time.Nanoseconds()) / 1e3 }
	mean := each(func(own *spent) float64 { return micros(own.wall) })
	queued := micros(m.stages[queueing].wall) / float64(max(m.stages[queueing].count, 1))
	part := func(hundredths int) float64 {
		if len(m.times) == 0 {
			return 0
		}
		return micros(m.times[(len(m.times)-1)*hundredths/100]) + queued
	}
	return &figures{
		Attempts: len(m.times), Placed: m.placed,
		Wall:     mean * attempts / 1e6,
		CPU:      each(func(own *spent) float64 { return own.cpu.Seconds() }) * attempts,
		Mean:     mean,
		Queueing: queued, Changes: micros(m.stages[changing].wall) / attempts,
		P50: part(50), P99: part(99),
		Allocations: each(func(own *spent) float64 { return float64(own.number) }),
		Bytes:       each(func(own *spent) float64 { return float64(own.allocated) }),
		Peak:        peakMemory(),
	}
}

func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// peakMemory is the most that this process has had, in bytes; 0 where Linux does not tell.
func peakMemory() uint64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	var kib uint64
	for line := range strings.Lines(string(text)) {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			fmt.Sscan(rest, &kib)
		}
	}
	return kib * 1024
}

// figures are what a run took: `benches/beside/figures.rs` says what each is.
type figures struct {
	Attempts    int     `json:"attempts"`
	Placed      int     `json:"placed"`
	Wall        float64 `json:"wall"`
	CPU         float64 `json:"cpu"`
	Mean        float64 `json:"mean"`
	Queueing    float64 `json:"queueing"`
	Changes     float64 `json:"changes"`
	P50         float64 `json:"p50"`
	P99         float64 `json:"p99"`
	Allocations float64 `json:"allocations"`
	Bytes       float64 `json:"bytes"`
	Peak        uint64  `json:"peak"`
}
