"""Raw data or a synthetic source -> train, validation and test examples, split by group."""


rule prepare:
    input:
        raw=lambda wildcards: RAW_FILES[wildcards.task],
    output:
        multiext(f"{DATA}/", train="train.parquet", validation="validation.parquet", test="test.parquet"),
        summary=f"{DATA}/summary.json",
    log:
        f"{RESULTS}/logs/prepare/{{task}}.log",
    conda:
        "../../environment.yml"
    params:
        source=lambda wildcards: task_source("prepare", wildcards.task),
        settings=lambda wildcards: json.dumps(study.task_settings(config, wildcards.task)),
        raw=RAW,
        folder=subpath(output.summary, parent=True),
    message:
        "prepare {wildcards.task}: examples, split by group before anything is cut"
    shell:
        "maskstudy prepare --settings {params.settings:q} --raw {params.raw} --out {params.folder} > {log} 2>&1"
