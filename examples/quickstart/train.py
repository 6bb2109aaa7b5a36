"""Softmax regression on Fisher's Iris measurements, standard library only.

A small but complete training job, as overbrainer likes them: it tells its
progress, can be asked to save itself and stop, can go on from what it saved,
and leaves what it learned in output/.

    EPOCHS   how many passes over the data (200)
    PAUSE    seconds to sleep after each, to be watched at leisure (0.02)
    RATE     how large a step to take down the gradient (0.5)
"""

import csv
import json
import math
import os
import sys
import time
from pathlib import Path

FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
SPECIES = ["setosa", "versicolor", "virginica"]

# Set by overbrainer on a pod; the defaults are for running this by hand.
METRICS = Path(os.environ.get("OVERBRAINER_METRICS", "metrics.jsonl"))
REQUEST = Path(os.environ.get("OVERBRAINER_SNAPSHOT_REQUEST", "snapshot.request"))
RESUME = os.environ.get("OVERBRAINER_RESUME_DIR", "")
OUTPUT = Path("output")


def read(path):
    """The rows of the file as (features, class), split into training and test:
    every fifth flower of each species is kept for the test."""
    train, test = [], []
    with open(path, newline="") as file:
        for n, row in enumerate(csv.DictReader(file)):
            pair = ([float(row[f]) for f in FEATURES], SPECIES.index(row["species"]))
            (test if n % 5 == 4 else train).append(pair)
    return train, test


def scale(rows):
    """Mean and standard deviation of each feature."""
    columns = list(zip(*(x for x, _ in rows)))
    mean = [sum(c) / len(c) for c in columns]
    deviation = [
        math.sqrt(sum((v - m) ** 2 for v in c) / len(c)) for c, m in zip(columns, mean)
    ]
    return mean, deviation


class Model:
    """One row of weights for each species, the last of them its bias."""

    def __init__(self, mean, deviation, weights=None):
        self.mean, self.deviation = mean, deviation
        self.weights = weights or [[0.0] * (len(FEATURES) + 1) for _ in SPECIES]

    def inputs(self, x):
        return [(v - m) / d for v, m, d in zip(x, self.mean, self.deviation)] + [1.0]

    def probabilities(self, z):
        scores = [sum(w * v for w, v in zip(row, z)) for row in self.weights]
        top = max(scores)
        exps = [math.exp(s - top) for s in scores]
        return [e / sum(exps) for e in exps]

    def train(self, rows, rate):
        """One step down the gradient over all rows; gives loss and its norm."""
        gradient = [[0.0] * len(row) for row in self.weights]
        loss = 0.0
        for x, label in rows:
            z = self.inputs(x)
            p = self.probabilities(z)
            loss -= math.log(max(p[label], 1e-12))
            for k, row in enumerate(gradient):
                error = p[k] - (k == label)
                for i, v in enumerate(z):
                    row[i] += error * v / len(rows)
        for row, grad in zip(self.weights, gradient):
            for i, g in enumerate(grad):
                row[i] -= rate * g
        return loss / len(rows), math.sqrt(sum(g * g for row in gradient for g in row))

    def accuracy(self, rows):
        hits = 0
        for x, label in rows:
            p = self.probabilities(self.inputs(x))
            hits += p.index(max(p)) == label
        return hits / len(rows)

    def save(self, path, step):
        write(path, {
            "step": step, "features": FEATURES, "species": SPECIES,
            "mean": self.mean, "deviation": self.deviation, "weights": self.weights,
        })


def write(path, value):
    """Writes JSON so that a reader sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(value, indent=2) + "\n")
    part.replace(path)


def tell(**event):
    with open(METRICS, "a") as file:
        file.write(json.dumps(event) + "\n")


def snapshot(model, step):
    """Saves a checkpoint, then the proof that it is whole."""
    reason = REQUEST.read_text().strip() or "requested"
    checkpoint = OUTPUT / f"checkpoint-{step}"
    model.save(checkpoint / "model.json", step)
    write(Path("snapshot.json"), {
        "checkpoint": checkpoint.as_posix(), "step": step,
        "time": time.time(), "reason": reason,
    })
    print(f"saved {checkpoint} and stopping: {reason}", flush=True)


def main():
    epochs = int(os.environ.get("EPOCHS", "200"))
    pause = float(os.environ.get("PAUSE", "0.02"))
    rate = float(os.environ.get("RATE", "0.5"))
    train, test = read("data/iris.csv")
    model, first = Model(*scale(train)), 0
    if RESUME:
        saved = json.loads((Path(RESUME) / "model.json").read_text())
        model, first = Model(saved["mean"], saved["deviation"], saved["weights"]), saved["step"]
        print(f"going on after epoch {first}", flush=True)

    print(f"{len(train)} flowers to learn from, {len(test)} to be tested on", flush=True)
    tell(event="begin", time=time.time(), max_steps=epochs)
    for step in range(first + 1, epochs + 1):
        loss, norm = model.train(train, rate)
        tell(event="log", time=time.time(), step=step, epoch=step, max_steps=epochs,
             loss=round(loss, 6), grad_norm=round(norm, 6), learning_rate=rate,
             accuracy=round(model.accuracy(test), 6))
        if step % 20 == 0 or step == epochs:
            print(f"epoch {step}/{epochs}: loss {loss:.4f}", flush=True)
        if REQUEST.exists() and step < epochs:
            return snapshot(model, step)
        time.sleep(pause)

    accuracy = model.accuracy(test)
    model.save(OUTPUT / "model.json", epochs)
    write(OUTPUT / "report.json", {
        "accuracy": accuracy, "train_accuracy": model.accuracy(train),
        "train_rows": len(train), "test_rows": len(test), "epochs": epochs,
        "python": sys.version.split()[0],
    })
    tell(event="end", time=time.time(), step=epochs, accuracy=round(accuracy, 6))
    print(f"accuracy on the test flowers: {accuracy:.3f}", flush=True)


if __name__ == "__main__":
    main()
