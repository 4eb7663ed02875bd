"""Scores on the test examples: of each trained model, of what it writes, and of what a cell is compared with.

Also what is looked at without having been declared: models under masks that they were not trained with, and their layers.
"""


rule evaluate:
    input:
        test=f"{DATA}/test.parquet",
        model=f"{RUN}/model.safetensors",
        cost=f"{RUN}/cost.json",
    output:
        metrics=f"{RUN}/metrics.json",
        examples=f"{RUN}/examples.parquet",
    log:
        f"{RESULTS}/logs/evaluate/{{task}}/{{mask}}/seed-{{seed}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2048,
    params:
        source=lambda wildcards: task_source("evaluate", wildcards.task),
        settings=lambda wildcards: cell_settings(wildcards, "model"),
        data=subpath(input.test, parent=True),
        run=subpath(output.metrics, parent=True),
    message:
        "evaluate {wildcards.task} under {wildcards.mask}, seed {wildcards.seed}"
    shell:
        "maskstudy evaluate --settings {params.settings:q} --seed {wildcards.seed}"
        " --data {params.data} --run {params.run} > {log} 2>&1"


rule generate:
    input:
        train=f"{DATA}/train.parquet",
        test=f"{DATA}/test.parquet",
        model=f"{RUN}/model.safetensors",
    output:
        generated=f"{RUN}/generated.json",
    log:
        f"{RESULTS}/logs/generate/{{task}}/{{mask}}/seed-{{seed}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2048,
    params:
        source=lambda wildcards: task_source("generate", wildcards.task),
        settings=lambda wildcards: cell_settings(wildcards, "model"),
        data=subpath(input.test, parent=True),
        run=subpath(output.generated, parent=True),
    message:
        "generate {wildcards.task} under {wildcards.mask}, seed {wildcards.seed}: what does the model write by itself?"
    shell:
        "maskstudy generate --settings {params.settings:q} --seed {wildcards.seed}"
        " --data {params.data} --run {params.run} > {log} 2>&1"


if SUPERVISED:

    rule supervision:
        input:
            test=expand(f"{DATA}/test.parquet", task=SUPERVISED),
            models=every_run(f"{RUN}/model.safetensors", SUPERVISED_CELLS),
            metrics=every_run(f"{RUN}/metrics.json", SUPERVISED_CELLS),
            references=every_cell(f"{RESULTS}/references/{{task}}/{{mask}}.json", SUPERVISED_CELLS),
        output:
            scores=f"{RESULTS}/supervision.parquet",
        log:
            f"{RESULTS}/logs/supervision.log",
        conda:
            "../../environment.yml"
        threads: 1
        resources:
            mem_mb=2048,
        params:
            source=source_digest("supervision", "tasks.next_byte", "tasks.final_byte"),
            settings=supervision_settings(),
            results=subpath(output.scores, parent=True),
        message:
            "supervision: the same final bytes, answered by models that trained on all bytes and on the last alone"
        shell:
            "maskstudy supervision --settings {params.settings:q} --results {params.results} > {log} 2>&1"


rule swaps:
    input:
        test=f"{DATA}/test.parquet",
        audits=lambda wildcards: every_cell(AUDIT, TRANSFORMERS[wildcards.task]),
        models=lambda wildcards: every_run(f"{RUN}/model.safetensors", TRANSFORMERS[wildcards.task]),
        metrics=lambda wildcards: every_run(f"{RUN}/metrics.json", TRANSFORMERS[wildcards.task]),
    output:
        scores=f"{RESULTS}/swaps/{{task}}.parquet",
    log:
        f"{RESULTS}/logs/swaps/{{task}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2048,
    params:
        source=lambda wildcards: task_source("swaps", wildcards.task),
        settings=lambda wildcards: models_settings(wildcards.task),
        results=subpath(output.scores, ancestor=2),
    message:
        "swaps {wildcards.task}: each model under every other mask of the task"
    shell:
        "maskstudy swaps --settings {params.settings:q} --results {params.results} > {log} 2>&1"


rule representations:
    input:
        test=f"{DATA}/test.parquet",
        models=lambda wildcards: every_run(f"{RUN}/model.safetensors", TRANSFORMERS[wildcards.task]),
    output:
        measures=f"{RESULTS}/representations/{{task}}.parquet",
    log:
        f"{RESULTS}/logs/representations/{{task}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2048,
    params:
        source=lambda wildcards: task_source("representations", wildcards.task),
        settings=lambda wildcards: models_settings(wildcards.task),
        results=subpath(output.measures, ancestor=2),
    message:
        "representations {wildcards.task}: what each layer of its models holds"
    shell:
        "maskstudy representations --settings {params.settings:q} --results {params.results} > {log} 2>&1"


rule decode:
    input:
        test=f"{DATA}/test.parquet",
        summary=f"{DATA}/summary.json",
        model=f"{RUN}/model.safetensors",
    output:
        decoding=f"{RUN}/decoding.json",
    log:
        f"{RESULTS}/logs/decode/{{task}}/{{mask}}/seed-{{seed}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2048,
    params:
        source=lambda wildcards: task_source("decode", wildcards.task),
        settings=lambda wildcards: cell_settings(wildcards, "model"),
        data=subpath(input.test, parent=True),
        run=subpath(output.decoding, parent=True),
    message:
        "decode {wildcards.task} under {wildcards.mask}, seed {wildcards.seed}: answers by greedy choice and by beam"
    shell:
        "maskstudy decode --settings {params.settings:q} --seed {wildcards.seed}"
        " --data {params.data} --run {params.run} > {log} 2>&1"


rule reference:
    input:
        train=f"{DATA}/train.parquet",
        test=f"{DATA}/test.parquet",
    output:
        metrics=f"{RESULTS}/references/{{task}}/{{mask}}.json",
        scores=f"{RESULTS}/references/{{task}}/{{mask}}.parquet",
    log:
        f"{RESULTS}/logs/reference/{{task}}/{{mask}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=2048,
    params:
        source=lambda wildcards: task_source("reference", wildcards.task),
        settings=cell_settings,
        data=subpath(input.test, parent=True),
        stem=subpath(output.metrics, strip_suffix=".json"),
    message:
        "reference {wildcards.task} under {wildcards.mask}: baseline and ideal observer"
    shell:
        "maskstudy reference --settings {params.settings:q} --data {params.data} --out {params.stem} > {log} 2>&1"
