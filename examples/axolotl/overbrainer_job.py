"""What a training job tells overbrainer, and hears from it. Copy this file
beside yours and upload it with the job; it needs the standard library only.

In a loop of your own:

    import overbrainer_job as job

    first = 0
    if job.resume_dir():
        first = load(job.resume_dir())
    job.begin(max_steps=steps)
    for step in range(first + 1, steps + 1):
        job.log(step=step, loss=train(step))
        if job.asked() and step < steps:
            save(f"output/checkpoint-{step}")
            job.saved(f"output/checkpoint-{step}", step)
            sys.exit(0)
    job.end(step=steps)

With the Trainer of Hugging Face's transformers, whose output_dir has to be
below the job's directory:

    trainer = Trainer(..., callbacks=[job.TrainerCallback()])
    trainer.train(resume_from_checkpoint=job.resume_dir())

Run by hand, away from a pod, it writes metrics.jsonl and is never asked.

What a job reports never ends it: a line that cannot be written, on a full disk
say, is told of once on the standard error. Only saved() raises: a job that then
ended with 0 would count as finished.
"""

import json
import math
import operator
import os
import sys
import time
from pathlib import Path

try:
    from transformers import TrainerCallback as _Base
except ImportError:  # the callback is only for those who have it
    _Base = object


# The job's directory: it is started there, and may go elsewhere later.
_DIR = os.getcwd()


def resume_dir():
    """The checkpoint to go on from, None for a start from nothing."""
    return os.environ.get("OVERBRAINER_RESUME_DIR") or None


def asked():
    """Whether the job should save itself and end: because somebody stops it, or
    because its money, its time or its disk is nearly used up."""
    try:
        return _request().exists()
    except OSError as error:
        _warn(error)
        return False


def saved(checkpoint, step):
    """Says that the directory checkpoint, below the job's directory, is whole.
    The job has to end with 0 after that."""
    text = _request().read_text().strip() if asked() else ""
    proof = {
        "checkpoint": Path(os.path.relpath(checkpoint, _DIR)).as_posix(),
        "step": int(step), "time": time.time(), "reason": text or "requested",
    }
    part = Path(_DIR, "snapshot.json.part")
    part.write_text(json.dumps(proof) + "\n")
    part.replace(Path(_DIR, "snapshot.json"))  # a reader sees all of it or nothing


def begin(**values):
    """The job begins; max_steps makes its progress known."""
    _tell("begin", values)


def log(**values):
    """One step: step, and any numbers, such as loss and learning_rate."""
    _tell("log", values)


def end(**values):
    """The job has reached its end; what is given stands in run.NAME.metrics."""
    _tell("end", values)


def _request():
    return Path(_DIR, os.environ.get("OVERBRAINER_SNAPSHOT_REQUEST", "snapshot.request"))


def _tell(event, values):
    global _torn
    try:
        told = {k: _plain(v) for k, v in values.items()}
        # JSON knows no infinity and no "not a number".
        told = {k: v for k, v in told.items() if not isinstance(v, float) or math.isfinite(v)}
        line = json.dumps({"event": event, "time": time.time(), **told}, default=str, allow_nan=False) + "\n"
        with open(Path(_DIR, os.environ.get("OVERBRAINER_METRICS", "metrics.jsonl")), "a") as file:
            file.write("\n" + line if _torn else line)
        _torn = False
    except Exception as error:  # whatever it is, the job is worth more
        _torn = True
        _warn(error)


_torn = False  # the last line may be there in part
_warned = False


def _warn(error):
    global _warned
    if _warned:
        return
    _warned = True
    try:
        print(f"overbrainer: the job's progress is not told: {error!r}", file=sys.stderr, flush=True)
    except Exception:
        pass


def _plain(value):
    """What JSON knows of a value: a number of another kind, such as a scalar of
    numpy or torch, becomes one of Python's, anything else its text."""
    if value is None or isinstance(value, (bool, int, float, str, list, dict)):
        return value
    for number in (operator.index, float):
        try:
            return number(value)
        except Exception:
            pass
    return str(value)


class TrainerCallback(_Base):
    """Tells a Trainer's progress, and lets it save itself and end when asked."""

    def __init__(self):
        self.stopping = False

    def on_train_begin(self, args, state, control, **_):
        if state.is_world_process_zero:
            begin(max_steps=state.max_steps)

    def on_log(self, args, state, control, logs=None, **_):
        if state.is_world_process_zero:
            numbers = {k: v for k, v in (logs or {}).items() if hasattr(v, "__float__")}
            log(**{**numbers, "step": state.global_step, "max_steps": state.max_steps})

    def on_step_end(self, args, state, control, **_):
        if state.global_step < state.max_steps and self._agreed(args):
            self.stopping = control.should_save = control.should_training_stop = True
        return control

    def on_save(self, args, state, control, **_):
        # Called once the checkpoint is written.
        if self.stopping and state.is_world_process_zero:
            saved(Path(args.output_dir) / f"checkpoint-{state.global_step}", state.global_step)

    def on_train_end(self, args, state, control, **_):
        if state.is_world_process_zero and not self.stopping:
            end(step=state.global_step)

    @staticmethod
    def _agreed(args):
        """Whether the first process was asked. On several GPUs all have to end
        after the same step, so the first one's answer counts for all."""
        if getattr(args, "world_size", 1) <= 1:
            return asked()
        import torch

        answer = torch.tensor([int(asked())], device=args.device)
        torch.distributed.broadcast(answer, src=0)
        return bool(answer.item())
