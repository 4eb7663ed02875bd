"""Does any scored position see its own answer? Nothing trains before its cell has passed."""


rule audit:
    input:
        train=f"{DATA}/train.parquet",
        validation=f"{DATA}/validation.parquet",
        test=f"{DATA}/test.parquet",
    output:
        verdict=AUDIT,
    log:
        f"{RESULTS}/logs/audit/{{task}}/{{mask}}.log",
    conda:
        "../../environment.yml"
    threads: 1
    params:
        source=lambda wildcards: task_source("audit", wildcards.task),
        settings=lambda wildcards: cell_settings(wildcards, "model"),
        data=subpath(input.test, parent=True),
    message:
        "audit {wildcards.task} under {wildcards.mask}: does any scored position see its answer?"
    shell:
        "maskstudy audit --settings {params.settings:q} --data {params.data} --out {output.verdict} > {log} 2>&1"
