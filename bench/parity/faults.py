"""Plausible faults in a dict rewrite of RUNNING, and harmless changes beside them: what a proof must tell apart.

Each is a change of whole lines of the generated `dict` source. `bench.parity.mutants` puts them on and hunts them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """Whole lines and what replaces them, both without their common indentation; nothing at all becomes `pass`."""

    before: str
    after: str = ""


@dataclass(frozen=True)
class Mutant:
    """One fault, or with `harmless` one change that no decision depends on."""

    name: str
    fault: str
    edits: tuple[Edit, ...]
    harmless: bool = False


_RESTART = "unvisited = itertools.islice(self.running, req_index + 1, None)"
_POP_TAIL = "preempted_req = self.running.popitem()[0]"
_TAKE_TAIL = f"{_POP_TAIL}\n{_RESTART}"
_PEEK = "preempted_req = next(reversed(self.running))"
_MAX = "preempted_req = max(\n    self.running,\n    key=lambda r: (r.priority, r.arrival_time),\n)"
_SHIFT = "if preempted_req in itertools.islice(self.running, req_index):\n    req_index -= 1"
_DELETE = f"del self.running[preempted_req]\n{_RESTART}"
_START = "unvisited = iter(self.running)"
_WALK = "while token_budget > 0 and (request := next(unvisited, None)) is not None:"
_OWN = "if preempted_req == request:"
_ADMIT = "self.running[request] = None"
_STOPPED = "for req in stopped_running_reqs:\n    self.running.pop(req, None)"
_ABORTED = "for req in running_requests_to_remove:\n    self.running.pop(req, None)"
_RESET = "while self.running:\n    request = self.running.popitem()[0]"
_CAP = "if num_running >= self.max_num_active_reqs:"
_PASSED = "self.running, invalid_block_ids, num_scheduled_tokens, evict_blocks=True"
_FINAL_STEP = (
    "# Async scheduling: Avoid scheduling an extra step when we are sure that\n"
    "# the previous step has reached request.max_tokens. We don't schedule\n"
    "# partial draft tokens since this prevents uniform decode optimizations.\n"
    "req_index += 1\ncontinue"
)
_NO_TOKENS = (
    "# NOTE(woosuk): Here, by doing `continue` instead of `break`,\n"
    "# we do not strictly follow the FCFS scheduling policy and\n"
    "# allow the lower-priority requests to be scheduled.\n"
    "req_index += 1\ncontinue"
)
_FINAL_COMMENT, _NO_TOKENS_COMMENT = (text.rsplit("\n", 2)[0] for text in (_FINAL_STEP, _NO_TOKENS))


def _one(name: str, fault: str, before: str, after: str = "") -> Mutant:
    return Mutant(name, fault, (Edit(before, after),))


def _restarts(name: str, change: str, restart: str, *, harmless: bool = False) -> Mutant:
    """One that goes on in another way after an eviction, under both policies."""
    edits = tuple(Edit(before, before.replace(_RESTART, restart)) for before in (_TAKE_TAIL, _DELETE))
    return Mutant(name, change, edits, harmless=harmless)


def _harmless(name: str, change: str, before: str, after: str) -> Mutant:
    return Mutant(name, change, (Edit(before, after),), harmless=True)


_VICTIMS = (
    _one("victim-kept", "FCFS victim is looked at and stays in RUNNING", _TAKE_TAIL, _RESTART),
    _one(
        "victim-from-head",
        "FCFS victim is the first key",
        _TAKE_TAIL,
        f"preempted_req = next(iter(self.running))\n{_DELETE}",
    ),
    _one(
        "victim-before-last",
        "FCFS victim is the last but one",
        _TAKE_TAIL,
        f"preempted_req = [*self.running][-2:][0]\n{_DELETE}",
    ),
    _one(
        "victim-never-requester",
        "FCFS victim is the last key beside the requester",
        _TAKE_TAIL,
        "preempted_req = next((r for r in reversed(self.running) if r is not request), request)\n" + _DELETE,
    ),
    _one(
        "victim-peeked-at-head",
        "whether blocks can be freed is asked of the first key",
        _PEEK,
        "preempted_req = next(iter(self.running))",
    ),
    Mutant(
        "victim-taken-at-peek",
        "the FCFS victim is removed before it is known that its blocks can be freed",
        (Edit(_TAKE_TAIL), Edit(_PEEK, _TAKE_TAIL)),
    ),
    _one("priority-min", "PRIORITY victim is the most urgent", _MAX, _MAX.replace("max(", "min(")),
    _one("priority-tail", "PRIORITY victim is the last key", _MAX, _PEEK),
    _one("priority-no-arrival", "PRIORITY ties go to the first", _MAX, _MAX.replace(", r.arrival_time", ", 0")),
    _one("priority-early-arrival", "PRIORITY ties go to the oldest", _MAX, _MAX.replace("r.arr", "-r.arr")),
    _one("priority-arrival-only", "PRIORITY victim is the youngest", _MAX, _MAX.replace("r.priority, ", "")),
    _one("priority-kept", "PRIORITY victim stays in RUNNING", _DELETE, _RESTART),
    _one("own-victim-missed", "a requester that was its own victim goes on", _OWN, "if False:"),
    _one("own-victim-always", "any victim ends the walk", _OWN, "if True:"),
    _one(
        "victims-not-noted", "waiting requests are admitted after a preemption", "preempted_reqs.append(preempted_req)"
    ),
)

_ROLLBACKS = (
    _one(
        "keeps-place-in-step",
        "a rolled-back victim counts as scheduled",
        "scheduled_running_reqs.remove(preempted_req)",
    ),
    _one(
        "keeps-tokens",
        "a rolled-back victim keeps its tokens in the step",
        "restored = num_scheduled_tokens.pop(preempted_req_id)",
        "restored = num_scheduled_tokens[preempted_req_id]",
    ),
    _one("keeps-token-budget", "a rolled-back victim's token budget is lost", "token_budget += restored"),
    _one("keeps-input-budget", "a rolled-back victim's input budget is lost", "input_budget += restored + draft_slots"),
    _one(
        "keeps-drafts",
        "a rolled-back victim keeps its drafts",
        "scheduled_spec_decode_tokens.pop(preempted_req_id, None)",
    ),
    _one(
        "keeps-encoder-budget",
        "a rolled-back victim's encoder budget is lost",
        "encoder_compute_budget += num_embeds_to_restore",
    ),
    _one(
        "keeps-encoder-inputs",
        "a rolled-back victim keeps its encoder inputs",
        "preempted_encoder_inputs = scheduled_encoder_inputs.pop(\n    preempted_req_id, None\n)",
        "preempted_encoder_inputs = scheduled_encoder_inputs.get(\n    preempted_req_id, None\n)",
    ),
    _one(
        "running-loras-lost",
        "adapters of running requests do not count",
        "scheduled_loras = set(\n    req.lora_request.lora_int_id\n    for req in scheduled_running_reqs",
        "scheduled_loras = set(\n    req.lora_request.lora_int_id\n    for req in scheduled_new_reqs",
    ),
)

_WALKS = (
    _one("iterator-kept-fcfs", "the iterator outlives a FCFS eviction", _TAKE_TAIL, _POP_TAIL),
    _one("iterator-kept-priority", "the iterator outlives a PRIORITY eviction", _DELETE, _DELETE.splitlines()[0]),
    _one("cursor-not-shifted", "the cursor stays after an earlier one left", _SHIFT),
    _one("cursor-always-shifted", "the cursor moves for any victim", _SHIFT, "req_index -= 1"),
    _one(
        "cursor-shifted-if-scheduled",
        "the cursor moves only for victims scheduled in this step",
        _SHIFT,
        "if preempted_req in scheduled_running_reqs:\n    req_index -= 1",
    ),
    _one(
        "cursor-asked-late", "the cursor is asked after the victim left", f"{_SHIFT}\n{_DELETE}", f"{_DELETE}\n{_SHIFT}"
    ),
    _one(
        "cursor-misses-last",
        "the victim visited last does not move the cursor",
        _SHIFT,
        _SHIFT.replace("req_index)", "max(0, req_index - 1))"),
    ),
    _restarts("restart-late", "a new iterator skips one", _RESTART.replace("+ 1", "+ 2")),
    _restarts("restart-early", "a new iterator begins at the current request", _RESTART.replace(" + 1", "")),
    _restarts("restart-at-head", "a new iterator begins at the head", _RESTART.replace("req_index + 1", "0")),
    Mutant(
        "snapshot",
        "the walk visits a snapshot of RUNNING, its victims too",
        (
            Edit(_START, "unvisited = iter([*self.running])"),
            Edit(_TAKE_TAIL, _POP_TAIL),
            Edit(_DELETE, _DELETE.splitlines()[0]),
        ),
    ),
    _one(
        "walk-stops-early",
        "the last of RUNNING is not visited",
        _WALK,
        _WALK.replace("while ", "while req_index < len(self.running) - 1 and "),
    ),
    _one(
        "walk-backwards",
        "the walk begins at the tail",
        _START,
        "unvisited = reversed(self.running)",
    ),
    _one(
        "final-step-ends-walk", "a request past its last token ends the walk", _FINAL_STEP, f"{_FINAL_COMMENT}\nbreak"
    ),
    _one(
        "final-step-slips", "a request past its last token is not counted", _FINAL_STEP, f"{_FINAL_COMMENT}\ncontinue"
    ),
    _one(
        "no-tokens-ends-walk",
        "a request without tokens ends the walk",
        _NO_TOKENS,
        f"{_NO_TOKENS_COMMENT}\nbreak",
    ),
    _one(
        "deferral-asks-first",
        "prefills are deferred if the first of RUNNING decodes",
        ") and any(not r.is_prefill_chunk for r in self.running)",
        ") and any(not r.is_prefill_chunk for r in [*self.running][:1])",
    ),
)

_ADMISSIONS = (
    _one(
        "admit-at-front", "admitted requests go to the front", _ADMIT, "self.running = {request: None, **self.running}"
    ),
    _one(
        "resume-at-front",
        "resumed requests go to the front, new ones to the tail",
        _ADMIT,
        "if request.num_preemptions:\n    self.running = {request: None, **self.running}\nelse:\n    " + _ADMIT,
    ),
    _one(
        "admit-by-id",
        "RUNNING is kept in order of ids",
        _ADMIT,
        _ADMIT + "\nself.running = dict.fromkeys(sorted(self.running, key=lambda r: r.request_id))",
    ),
    _one(
        "admit-by-priority",
        "RUNNING is kept in order of priority",
        _ADMIT,
        _ADMIT + "\nself.running = dict.fromkeys(sorted(self.running))",
    ),
    _one("cap-above", "one more than the limit is admitted", _CAP, _CAP.replace(">=", ">")),
    _one("cap-below", "one fewer than the limit is admitted", _CAP, _CAP.replace("num_running >", "num_running + 1 >")),
    _one(
        "preempted-to-back",
        "a victim goes to the back of WAITING",
        "self.waiting.prepend_request(request)",
        "self.waiting.add_request(request)",
    ),
)

_REMOVALS = (
    _one("stopped-kept", "stopped requests stay in RUNNING", _STOPPED),
    _one("stopped-one", "one of several stopped requests is removed", _STOPPED, _STOPPED + "\n    break"),
    _one(
        "stopped-from-tail",
        "as many as stopped leave at the tail",
        _STOPPED,
        _STOPPED.replace("pop(req, None)", "popitem()"),
    ),
    _one(
        "stopped-in-set-order",
        "survivors are taken from a set",
        _STOPPED,
        "self.running = dict.fromkeys(set(self.running) - stopped_running_reqs)",
    ),
    _one(
        "stopped-swap-with-last",
        "the last takes the place of a stopped one",
        _STOPPED,
        "queue = [*self.running]\n"
        "for req in stopped_running_reqs:\n"
        "    queue[queue.index(req)] = queue[-1]\n"
        "    queue.pop()\n"
        "self.running = dict.fromkeys(queue)",
    ),
    _one(
        "stopped-reversed",
        "survivors are turned round",
        _STOPPED,
        "self.running = {r: None for r in reversed(self.running) if r not in stopped_running_reqs}",
    ),
    _one("aborted-kept", "aborted requests stay in RUNNING", _ABORTED),
    _one("aborted-one", "one of several aborted requests is removed", _ABORTED, _ABORTED + "\n    break"),
    _one(
        "aborted-from-head",
        "as many as aborted leave at the head",
        _ABORTED,
        _ABORTED.replace("pop(req, None)", "pop(next(iter(self.running)))"),
    ),
    _one(
        "aborted-in-live-loop",
        "aborted requests are deleted while RUNNING is iterated over",
        _ABORTED,
        "for req in self.running:\n    if req in running_requests_to_remove:\n        del self.running[req]",
    ),
    _one(
        "aborted-by-status",
        "those with a finished status are removed, which is set later",
        _ABORTED,
        "self.running = {r: None for r in self.running if not r.is_finished()}",
    ),
    _one(
        "session-kept",
        "a stopped session that waits for input stays in RUNNING",
        _STOPPED,
        "for req in stopped_running_reqs:\n    if req.is_finished():\n        self.running.pop(req, None)",
    ),
    _one(
        "reset-from-front",
        "a forced reset preempts from the front",
        _RESET,
        "while self.running:\n    request = next(iter(self.running))\n    del self.running[request]",
    ),
    _one(
        "reset-keeps-running",
        "a forced reset leaves RUNNING as it was",
        _RESET,
        "for request in self.running:",
    ),
    _one(
        "bad-blocks-backwards",
        "owners of a block that never came are scanned from the tail",
        _PASSED,
        _PASSED.replace("self.running,", "reversed(self.running),"),
    ),
)

_HARMLESS = (
    _restarts(
        "control-iterate-a-copy",
        "the rest of the walk is copied at each restart",
        "unvisited = iter([*self.running][req_index + 1 :])",
        harmless=True,
    ),
    _harmless(
        "control-strict-stop",
        "a stopped request is deleted strictly",
        _STOPPED,
        _STOPPED.replace("self.running.pop(req, None)", "del self.running[req]"),
    ),
    _harmless(
        "control-rebuild-after-stop",
        "survivors of a stop are copied in order",
        _STOPPED,
        "self.running = {r: None for r in self.running if r not in stopped_running_reqs}",
    ),
    _harmless(
        "control-rebuild-after-abort",
        "survivors of an abort are copied in order",
        _ABORTED,
        "self.running = {r: None for r in self.running if r not in running_requests_to_remove}",
    ),
    _harmless(
        "control-own-cursor",
        "a requester that is its own victim moves the cursor, and the walk ends",
        _SHIFT,
        _SHIFT.replace("req_index)", "req_index + 1)"),
    ),
    _harmless("control-admit-by-update", "admission by another call", _ADMIT, "self.running.update({request: None})"),
)

MUTANTS: dict[str, Mutant] = {
    mutant.name: mutant for mutant in (*_VICTIMS, *_ROLLBACKS, *_WALKS, *_ADMISSIONS, *_REMOVALS, *_HARMLESS)
}
"""Every mutant by name, the harmless ones last."""
