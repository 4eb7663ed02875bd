"""One job trains one model: one (task, mask, seed), on one thread or on one graphics processor."""


rule train:
    input:
        train=f"{DATA}/train.parquet",
        validation=f"{DATA}/validation.parquet",
        audit=AUDIT,
        tuning=TUNING,
    output:
        model=f"{RUN}/model.safetensors",
        history=f"{RUN}/history.parquet",
        cost=f"{RUN}/cost.json",
        timing=f"{RUN}/timing.json",
    log:
        f"{RESULTS}/logs/train/{{task}}/{{mask}}/seed-{{seed}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    resources:
        mem_mb=1024,
        gpu=0 if config["device"] == "cpu" else 1,
    params:
        source=lambda wildcards: task_source("train", wildcards.task),
        settings=lambda wildcards: cell_settings(wildcards, "model", "training", "device"),
        data=subpath(input.train, parent=True),
        run=subpath(output.model, parent=True),
    message:
        "train {wildcards.task} under {wildcards.mask}, seed {wildcards.seed}; follow it in {log}"
    shell:
        "maskstudy train --settings {params.settings:q} --seed {wildcards.seed}"
        " --data {params.data} --audit {input.audit} --tuning {input.tuning} --run {params.run} > {log} 2>&1"
