"""What was measured, as a Markdown table and as JSON."""

import statistics


def shown(value, unit):
    """A figure with as many digits as mean something."""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{digits}f} {unit}"


class Comparison:
    """A program's figures in a row, and how ours compare: `ratio` is that of the medians, `pairs` those of the rounds."""

    def __init__(self, row, program):
        ours = row.programs[0]
        self.program = program
        self.values = [row.figure(program, sample) for sample in program.samples]
        self.median = statistics.median(self.values) if self.values else None
        # The least disturbed run, on a machine that does other things as well.
        self.best = (max if row.unit.endswith("/s") else min)(
            (row.figure(program, {**sample, "wall": sample["least"]}) for sample in program.samples), default=None)
        self.cpu = statistics.median(sample["cpu"] for sample in program.samples) if self.values else None
        # Memory is compared with a bound, so the largest counts.
        self.rss, self.pss, self.processes = (
            max((sample[name] for sample in program.samples), default=0) for name in ("rss", "pss", "processes"))
        own = [row.figure(ours, sample) for sample in ours.samples]
        comparable = program is not ours and self.values and own and all(self.values)
        self.ratio = statistics.median(own) / self.median if comparable else None
        # Of CPU time a busy machine takes less away.
        spent = statistics.median(sample["cpu"] for sample in ours.samples) if comparable else None
        self.cpu_ratio = spent / self.cpu * program.count / ours.count if comparable and self.cpu else None
        self.pairs = [a / b for a, b in zip(own, self.values)] if comparable else []


def comparisons(row):
    return [Comparison(row, program) for program in row.programs]


def verdicts(row, compared):
    """(program's name, aim, whether it is met; None where it cannot be said)."""
    for aim in row.aims:
        if not aim.concerns(compared[0].processes):
            continue
        found = next((item for item in compared if item.program.name == (aim.against or row.programs[0].name)), None)
        if not found:
            continue
        value = found.ratio if aim.against else found.median
        yield found.program.name, aim, None if value is None else aim.met(value)


def heading(machine, place, rounds):
    return "\n".join([
        f"`Tests/Benchmarks/run`: {machine}.",
        f"Spool on {place}. Medians of {rounds} rounds in turn; the ratio is of medians, in brackets its spread over the",
        "rounds; CPU (in brackets ours ÷ this, for each operation) and memory are of all processes of a program together",
        "(– ended too soon to be seen).", "",
        "| what | program | median | best | ours ÷ this | CPU s | RSS MB | target | met |",
        "|---|---|---:|---:|---:|---:|---:|---|---|"])


def lines(rows):
    """The part of the table that is these rows."""
    lines = []
    for row in rows:
        compared = comparisons(row)
        told = {}
        for name, aim, met in verdicts(row, compared):
            told.setdefault(name, []).append((aim.text, {None: "?", True: "yes", False: "**no**"}[met]))
        for index, item in enumerate(compared):
            name = item.program.name
            cells = [f"**{row.title}**" if index == 0 else "", f"**{name}**" if index == 0 else name]
            if item.program.missing:
                cells += [f"missing: {', '.join(item.program.missing)}", "", "", "", ""]
            elif not item.values:
                cells += [f"failed: {item.program.failure}", "", "", "", ""]
            else:
                ratio = f"{item.ratio:.2f} ({min(item.pairs):.2f}–{max(item.pairs):.2f})" if item.pairs else ""
                cells += [shown(item.median, row.unit), shown(item.best, row.unit), ratio, f"{item.cpu:.4f}" + (f" ({item.cpu_ratio:.2f})" if item.cpu_ratio else ""),
                          f"{item.rss / 1024:.0f}" if item.rss else "–"]
            aims = told.get(name, [])
            cells += ["; ".join(text for text, _ in aims), "; ".join(met for _, met in aims)]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def document(rows, machine, place, rounds):
    """Everything, for another program."""
    return {
        "machine": machine, "place": place, "rounds": rounds,
        "rows": [
            {
                "row": row.key, "title": row.title, "unit": row.unit,
                "aims": [
                    {"program": name, "aim": aim.text, "met": met}
                    for name, aim, met in verdicts(row, comparisons(row))],
                "programs": [
                    {
                        "name": item.program.name, "missing": item.program.missing, "median": item.median, "best": item.best,
                        "values": item.values, "ratio": item.ratio, "pairs": item.pairs, "cpu": item.cpu, "cpuRatio": item.cpu_ratio,
                        "rss": item.rss, "pss": item.pss, "processes": item.processes,
                        "samples": item.program.samples,
                    }
                    for item in comparisons(row)],
            }
            for row in rows],
    }
