"""All runs and tasks into tables; masks against masks over paired seeds, models against their ceilings."""


rule gather:
    input:
        metrics=every_run(f"{RUN}/metrics.json"),
        timing=every_run(f"{RUN}/timing.json"),
        audits=every_cell(AUDIT),
        tuning=every_cell(TUNING),
        references=every_cell(f"{RESULTS}/references/{{task}}/{{mask}}.json"),
    output:
        metrics=f"{RESULTS}/metrics.parquet",
        timing=f"{RESULTS}/timing.parquet",
        audit=f"{RESULTS}/audit.parquet",
        tuning=f"{RESULTS}/tuning.parquet",
    log:
        f"{RESULTS}/logs/gather.log",
    localrule: True
    conda:
        "../../environment.yml"
    params:
        source=source_digest("gather"),
        settings=study_settings(),
        results=subpath(output.metrics, parent=True),
    message:
        "gather: all runs into metrics, timing, audit and tuning.parquet"
    shell:
        "maskstudy gather --settings {params.settings:q} --results {params.results} > {log} 2>&1"


rule compare:
    input:
        metrics=f"{RESULTS}/metrics.parquet",
        audits=every_cell(AUDIT),
        examples=every_run(f"{RUN}/examples.parquet"),
        references=every_cell(f"{RESULTS}/references/{{task}}/{{mask}}.parquet"),
    output:
        comparisons=f"{RESULTS}/comparisons.parquet",
        effects=f"{RESULTS}/effects.parquet",
        gaps=f"{RESULTS}/ceiling_gaps.parquet",
    log:
        f"{RESULTS}/logs/compare.log",
    conda:
        "../../environment.yml"
    params:
        source=source_digest("compare"),
        settings=study_settings("comparisons", "statistics", "confirmatory"),
        results=subpath(output.comparisons, parent=True),
    message:
        "compare: masks over paired seeds, models with their ceilings"
    shell:
        "maskstudy compare --settings {params.settings:q} --results {params.results} > {log} 2>&1"


rule samples:
    input:
        tests=expand(f"{DATA}/test.parquet", task=TASKS),
        summaries=expand(f"{DATA}/summary.json", task=TASKS),
        examples=every_run(f"{RUN}/examples.parquet"),
    output:
        examples=f"{RESULTS}/examples.parquet",
    log:
        f"{RESULTS}/logs/samples.log",
    conda:
        "../../environment.yml"
    params:
        source=source_digest("samples", *(f"tasks.{kind}" for kind in KINDS)),
        settings=study_settings(tasks={task: study.task_settings(config, task) for task in TASKS}),
        results=subpath(output.examples, parent=True),
    message:
        "samples: some questions in words, and what the models of every mask answered"
    shell:
        "maskstudy samples --settings {params.settings:q} --results {params.results} > {log} 2>&1"


for table, tasks in (("swaps", SWAPPED), ("representations", list(TRANSFORMERS))):

    rule:
        name:
            f"stack_{table}"
        input:
            parts=expand(f"{RESULTS}/{table}/{{task}}.parquet", task=tasks),
        output:
            table=f"{RESULTS}/{table}.parquet",
        log:
            f"{RESULTS}/logs/stack/{table}.log",
        localrule: True
        conda:
            "../../environment.yml"
        params:
            name=table,
            source=source_digest("stack"),
            settings=json.dumps({"tasks": tasks}),
            results=subpath(output.table, parent=True),
        message:
            "stack {params.name}: all tasks into {output.table}"
        shell:
            "maskstudy stack {params.name} --settings {params.settings:q} --results {params.results} > {log} 2>&1"
